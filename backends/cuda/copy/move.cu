/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Copies and fills by element size: walk_N and fill_walk_N over any strides, tiles_N for
 * transpositions, fill_dense. */
#include "copy/move.h"
#include "walk/lines.cuh"

enum { WARP = 32, WARPS = LINE_THREADS / WARP };

/* ---- walks ---- */
template <class T> struct move_walk {
    typedef T value;
    static __device__ __forceinline__ T load(const line_rows &, uint64_t at, uint32_t)
    {
        return *(const T *)at;
    }
    static __device__ __forceinline__ void store(const line_rows &, uint64_t at, T v)
    {
        *(T *)at = v;
    }
};
template <class T> struct fill_walk : move_walk<T> {
    static __device__ __forceinline__ T load(const line_rows &p, uint64_t, uint32_t column)
    {
        return ((const T *)p.pattern)[column % (16 / sizeof(T))];
    }
};

/* ---- tiles ---- */

/* PER elements are a word, which is what shared memory holds: word (x, k) has the elements
 * (x, y = PER*k ...). Reads run along y and writes along x, both 32 words wide. */
template <class T, class W, int WORDS> struct move_tile {
    enum { PER = sizeof(W) / sizeof(T), SIDE = WORDS * PER, PITCH = WORDS + 1 };

    static __device__ __forceinline__ W load(uint64_t at, int64_t step, uint32_t left, bool words)
    {
        W w;
        if (PER == 1 || (words && left >= PER))
            return *(const W *)at;
        T *part = (T *)&w;
#pragma unroll
        for (uint32_t j = 0; j < PER; j++)
            part[j] = j < left ? *(const T *)(at + j * step) : T();
        return w;
    }
    static __device__ __forceinline__ void store(uint64_t at, int64_t step, uint32_t left,
                                                 bool words, W w)
    {
        if (PER == 1 || (words && left >= PER)) {
            *(W *)at = w;
            return;
        }
        const T *part = (const T *)&w;
#pragma unroll
        for (uint32_t j = 0; j < PER; j++)
            if (j < left)
                *(T *)(at + j * step) = part[j];
    }
    /* All of a thread's loads are under way before it stores the first to shared memory. WHOLE: all words
     * of the tile exist. */
    template <bool WHOLE>
    static __device__ __forceinline__ void read(const line_planes &p, uint64_t src, uint32_t x0,
                                                uint32_t y0, W *tile)
    {
        enum { ACROSS = WORDS / WARP, COUNT = SIDE / WARPS * ACROSS };
        const uint32_t warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
        const uint32_t x = x0 + warp, y = y0 + lane * PER;
        W word[COUNT];
        src += (uint64_t)(x * p.src_x + y * p.src_y);
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const int dx = i / ACROSS * WARPS, dy = i % ACROSS * WARP * PER;
            const uint64_t at = src + (uint64_t)(dx * p.src_x + dy * p.src_y);
            if (WHOLE)
                word[i] = *(const W *)at;
            else if (x + dx < p.nx && y + dy < p.ny)
                word[i] = load(at, p.src_y, p.ny - y - dy, p.src_words);
        }
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            tile[(warp + i / ACROSS * WARPS) * PITCH + lane + i % ACROSS * WARP] = word[i];
    }
    /* PER words from PER rows of x, transposed: word j has the elements of y = PER*k + j. */
    static __device__ __forceinline__ W column(const W *in, int j)
    {
        if (PER == 1)
            return in[0];
        W w;
        T *part = (T *)&w;
#pragma unroll
        for (int i = 0; i < PER; i++)
            part[i] = ((const T *)&in[i])[j];
        return w;
    }
    template <bool WHOLE>
    static __device__ __forceinline__ void write(const line_planes &p, uint64_t dst, uint32_t x0,
                                                 uint32_t y0, const W *tile)
    {
        const uint32_t warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
        const uint32_t x = x0 + lane * PER, y = y0 + warp * PER;
        dst += (uint64_t)(x * p.dst_x + y * p.dst_y);
#pragma unroll
        for (int down = 0; down < WORDS / WARPS; down++)
#pragma unroll
            for (int across = 0; across < WORDS / WARP; across++) {
                W in[PER];
                const int dx = across * WARP * PER, dy = down * WARPS * PER;
#pragma unroll
                for (int i = 0; i < PER; i++)
                    in[i] = tile[((lane + across * WARP) * PER + i) * PITCH + warp + down * WARPS];
#pragma unroll
                for (int j = 0; j < PER; j++) {
                    const uint64_t at = dst + (uint64_t)(dx * p.dst_x + (dy + j) * p.dst_y);
                    if (WHOLE)
                        *(W *)at = column(in, j);
                    else if (x + dx < p.nx && y + dy + j < p.ny)
                        store(at, p.dst_x, p.nx - x - dx, p.dst_words, column(in, j));
                }
            }
    }
    template <bool WHOLE>
    static __device__ __forceinline__ void move(const line_planes &p, uint64_t dst, uint64_t src,
                                                uint32_t x0, uint32_t y0, W *tile)
    {
        read<WHOLE>(p, src, x0, y0, tile);
        __syncthreads();
        write<WHOLE>(p, dst, x0, y0, tile);
    }
    static __device__ __forceinline__ void run(const line_planes &p, W *tile)
    {
        line_tile t = line_tile_of(blockIdx.x, p.tiles_y, p.tiles_x);
        uint32_t x0 = t.slow * SIDE, y0 = t.fast * SIDE;
        int64_t src, dst;
        line_offsets(p.outer, t.plane, &src, &dst);
        if (x0 + SIDE <= p.nx && y0 + SIDE <= p.ny && (PER == 1 || (p.src_words && p.dst_words)))
            move<true>(p, p.dst + (uint64_t)dst, p.src + (uint64_t)src, x0, y0, tile);
        else
            move<false>(p, p.dst + (uint64_t)dst, p.src + (uint64_t)src, x0, y0, tile);
    }
};

/* ---- elements repeated ---- */
template <class T> struct move_repeated {
    enum { V = 16 / sizeof(T), K = MOVE_REPEAT_VECTORS };
    struct alignas(16) vector {
        T at[V];
    };
    /* Elements e to e + V - 1 of what the block's own ones, from src on, become. */
    static __device__ __forceinline__ vector any(const move_repeat &p, const T *src, uint32_t e)
    {
        vector v;
        const uint32_t count = p.count.value;
        uint32_t from = cuda_quotient(e, p.count), copy = e - from * count;
#pragma unroll
        for (int k = 0; k < V; k++) {
            v.at[k] = src[from];
            copy = copy + 1 == count ? 0 : copy + 1;
            from += copy == 0;
        }
        return v;
    }
    /* Of pairs, whose elements are read at once. */
    static __device__ __forceinline__ vector pairs(const move_repeat &, const T *src, uint32_t e)
    {
        const uint2 half = *(const uint2 *)(src + e / 2);
        T x[8 / sizeof(T) + (V == 1)];
        vector v;
        memcpy(x, &half, 8);
#pragma unroll
        for (int k = 0; k < V; k++)
            v.at[k] = x[k / 2];
        return v;
    }
    /* All of a thread's loads are under way before its first store. */
    template <vector LOAD(const move_repeat &, const T *, uint32_t)>
    static __device__ __forceinline__ void run(const move_repeat &p)
    {
        const uint64_t first = (uint64_t)blockIdx.x * p.each, left = p.n - first;
        const uint32_t size = (left < p.each ? (uint32_t)left : p.each) * p.count.value;
        const T *const src = (const T *)p.src + first;
        T *const dst = (T *)p.dst + first * p.count.value;
        vector v[K];
#pragma unroll
        for (int k = 0; k < K; k++) {
            const uint32_t e = (threadIdx.x + k * LINE_THREADS) * V;
            if (e + V <= size)
                v[k] = LOAD(p, src, e);
        }
#pragma unroll
        for (int k = 0; k < K; k++) {
            const uint32_t e = (threadIdx.x + k * LINE_THREADS) * V;
            if (e + V <= size)
                *(vector *)(dst + e) = v[k];
        }
        if (threadIdx.x < size % V) {
            const uint32_t e = size - size % V + threadIdx.x;
            dst[e] = src[cuda_quotient(e, p.count)];
        }
    }
};

/* ---- the kernels ---- */
/* Blocks of tiles on a multiprocessor that registers must suffice for: as many as data-centre GPUs have
 * threads for. */
#if defined(__CUDA_ARCH__) && \
    (__CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000)
#define MOVE_TILE_BLOCKS 8
#else
#define MOVE_TILE_BLOCKS 1
#endif
#define MOVE_KERNELS(N, T, ITEMS, W, WORDS)                                      \
    extern "C" __global__ void __launch_bounds__(LINE_THREADS)                   \
        walk_##N(const __grid_constant__ line_rows p)                            \
    {                                                                            \
        line_items<move_walk<T>, ITEMS>(p);                                      \
    }                                                                            \
    extern "C" __global__ void __launch_bounds__(LINE_THREADS)                   \
        fill_walk_##N(const __grid_constant__ line_rows p)                       \
    {                                                                            \
        line_items<fill_walk<T>, ITEMS>(p);                                      \
    }                                                                            \
    extern "C" __global__ void __launch_bounds__(LINE_THREADS, MOVE_TILE_BLOCKS) \
        tiles_##N(const __grid_constant__ line_planes p)                         \
    {                                                                            \
        typedef move_tile<T, W, WORDS> tiles;                                    \
        __shared__ W tile[tiles::SIDE * tiles::PITCH];                           \
        tiles::run(p, tile);                                                     \
    }                                                                            \
    extern "C" __global__ void __launch_bounds__(LINE_THREADS)                   \
        repeat_##N(const __grid_constant__ move_repeat p)                        \
    {                                                                            \
        typedef move_repeated<T> repeated;                                       \
        if (repeated::V > 1 && p.pairs)                                          \
            repeated::run<repeated::pairs>(p);                                   \
        else                                                                     \
            repeated::run<repeated::any>(p);                                     \
    }
MOVE_KERNELS(1, uint8_t, 8, uint32_t, 32)
MOVE_KERNELS(2, uint16_t, 8, uint32_t, 32)
MOVE_KERNELS(4, uint32_t, 8, uint32_t, 64)
MOVE_KERNELS(8, uint2, 8, uint2, 32)
MOVE_KERNELS(16, uint4, 4, uint4, 32)

extern "C" __global__ void __launch_bounds__(LINE_THREADS)
    fill_dense(const __grid_constant__ move_fill p)
{
    uint64_t head = (0 - p.dst) % 16, t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (head > p.nbytes)
        head = p.nbytes;
    uint64_t vectors = (p.nbytes - head) / 16, tail = head + vectors * 16;
    uint64_t first = (uint64_t)blockIdx.x * (LINE_THREADS * MOVE_FILL_VECTORS) + threadIdx.x;
    uint4 v = *(const uint4 *)p.vector, *to = (uint4 *)(p.dst + head) + first;
#pragma unroll
    for (int k = 0; k < MOVE_FILL_VECTORS; k++)
        if (first + k * LINE_THREADS < vectors)
            to[k * LINE_THREADS] = v;
    if (t < head)
        ((unsigned char *)p.dst)[t] = p.pattern[t];
    if (t < p.nbytes - tail)
        ((unsigned char *)p.dst)[tail + t] = p.pattern[(tail + t) % 16];
}
