/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * compress and nonzero: what is selected depends on the data. A first pass counts and leaves bits, by
 * which warps of a second write; no warp waits for another after it knows where it begins. */
#include "index/select.h"
#include "sort/keys.cuh"
#include "walk/walk.cuh"

/* Floating elements are nonzero when a bit other than the sign is set: NaN is, -0 is not. */
static __device__ __forceinline__ bool is_set(const select_params &p, int64_t at)
{
    switch (p.nbytes) {
    case 1:
        return ((const uint8_t *)p.tested)[at] != 0;
    case 2:
        return (((const uint16_t *)p.tested)[at] & p.low_bits) != 0;
    case 4:
        return (((const uint32_t *)p.tested)[at] & p.low_bits) != 0;
    case 8:
        return (((const uint64_t *)p.tested)[at] & p.low_bits) != 0;
    default: {
        ulonglong2 x = ((const ulonglong2 *)p.tested)[at];
        return ((x.x & p.low_bits) | (x.y & p.high_bits)) != 0;
    }
    }
}

template <bool MASK>
static __device__ __forceinline__ bool element_is_set(const select_params &p, uint64_t i)
{
    if (MASK)
        return ((const uint8_t *)p.tested)[(int64_t)i * p.tested_stride[0]] != 0;
    return is_set(p, p.walk.ndim == 1 ? (int64_t)i * p.tested_stride[0]
                                      : cuda_walk_offset(p.walk, i, p.tested_stride));
}

/* Four bytes, as a bit for each that is not zero. */
static __device__ __forceinline__ uint32_t bits_of_bytes(uint32_t bytes)
{
    uint32_t ones = __vcmpne4(bytes, 0) & 0x01010101u;
    return ones * 0x01020408u >> 24 & 0xfu;
}

static __device__ __forceinline__ uint32_t bits_of_16(uint4 x)
{
    return bits_of_bytes(x.x) | bits_of_bytes(x.y) << 4 | bits_of_bytes(x.z) << 8 |
           bits_of_bytes(x.w) << 12;
}

/* The thread's 16 bits of a tile of n elements in all, by test(i) of each; UNROLL tests are made at once. */
template <int UNROLL, class F>
static __device__ __forceinline__ uint32_t flags_by_votes(uint64_t n, uint64_t tile, F test)
{
    __shared__ uint32_t word[SELECT_TILE / 32];
    __syncthreads();
    for (int first = 0; first < SELECT_EACH; first += UNROLL) {
        bool is[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            const uint64_t i = tile + (first + k) * SELECT_THREADS + threadIdx.x;
            is[k] = i < n && test(i);
        }
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            const uint32_t votes = __ballot_sync(0xffffffffu, is[k]);
            if (threadIdx.x % 32 == 0)
                word[((first + k) * SELECT_THREADS + threadIdx.x) / 32] = votes;
        }
    }
    __syncthreads();
    return word[threadIdx.x / 2] >> 16 * (threadIdx.x % 2) & 0xffffu;
}

/* MASK: a bool array of one dimension is tested. Which of the 16 elements from the tile's
 * 16*threadIdx.x-th on are set, bit by bit. */
template <bool MASK>
static __device__ __forceinline__ uint32_t flags_of(const select_params &p, uint64_t tile)
{
    const uint64_t n = p.walk.size;
    if (MASK && p.dense_bytes && tile + SELECT_TILE <= n) {
        uint4 x = ((const uint4 *)(p.tested + tile))[threadIdx.x];
        return bits_of_16(x);
    }
    if (!MASK && p.dense_words)
        return flags_by_votes<SELECT_EACH>(n, tile, [&](uint64_t i) {
            return (((const uint32_t *)p.tested)[i] & (uint32_t)p.low_bits) != 0;
        });
    return flags_by_votes<4>(n, tile, [&](uint64_t i) { return element_is_set<MASK>(p, i); });
}

/* The sum of x over the block's threads. */
static __device__ __forceinline__ uint32_t sum_of_block(uint32_t x)
{
    __shared__ uint32_t warp[SELECT_WARPS];
    for (uint32_t apart = 16; apart; apart /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, apart);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        warp[threadIdx.x / 32] = x;
    __syncthreads();
    x = 0;
    for (uint32_t w = 0; w < SELECT_WARPS; w++)
        x += warp[w];
    return x;
}

/* The bits of the 16 elements of a tile that flags_of() gave this thread. */
static __device__ __forceinline__ void keep_bits(const select_params &p, uint64_t tile,
                                                 uint32_t flags)
{
    ((uint16_t *)p.bits)[tile / SELECT_EACH + threadIdx.x] = (uint16_t)flags;
}

/* How many bytes of the thread's share of whole tiles are set; begin moves past them. */
template <int N> /* loads under way */
static __device__ __forceinline__ uint64_t count_dense(const select_params &p, uint64_t *begin,
                                                       uint64_t end)
{
    const uint4 *at = (const uint4 *)(p.tested + *begin) + threadIdx.x;
    uint64_t count = 0;
    for (; end - *begin >= N * SELECT_TILE; *begin += N * SELECT_TILE) {
        uint4 x[N];
#pragma unroll
        for (int k = 0; k < N; k++)
            x[k] = at[k * SELECT_THREADS];
#pragma unroll
        for (int k = 0; k < N; k++) {
            const uint32_t flags = bits_of_16(x[k]);
            keep_bits(p, *begin + k * SELECT_TILE, flags);
            count += __popc(flags);
        }
        at += N * SELECT_THREADS;
    }
    return count;
}

template <bool MASK> static __device__ __forceinline__ void count(const select_params &p)
{
    /* Last parts first: who counted before has left them in the cache. */
    const uint64_t part = gridDim.x - 1 - blockIdx.x;
    uint64_t begin = part * p.per_part, end = begin + p.per_part, count = 0;
    end = end < p.walk.size ? end : p.walk.size;
    if (MASK && p.dense_bytes) {
        count = count_dense<8>(p, &begin, end);
        count += count_dense<2>(p, &begin, end);
    }
    for (uint64_t tile = begin; tile < end; tile += SELECT_TILE) {
        const uint32_t flags = flags_of<MASK>(p, tile);
        keep_bits(p, tile, flags);
        count += __popc(flags);
    }
    /* A part may have 2^32 elements; a thread's share is below 2^32 * 16. */
    const uint32_t low = sum_of_block((uint32_t)(count & 0xffffff));
    const uint32_t high = sum_of_block((uint32_t)(count >> 24));
    if (threadIdx.x == 0)
        ((uint64_t *)p.starts)[part] = ((uint64_t)high << 24) + low;
}

extern "C" __global__ void __launch_bounds__(SELECT_THREADS)
    select_count(const __grid_constant__ select_params p)
{
    count<false>(p);
}
extern "C" __global__ void __launch_bounds__(SELECT_THREADS)
    select_count_mask(const __grid_constant__ select_params p)
{
    count<true>(p);
}

/* Counts become the places where parts begin; their sum is the result's. One block, whose warps have
 * neighbouring parts each. */
extern "C" __global__ void __launch_bounds__(SELECT_SCAN_THREADS)
    select_scan(const __grid_constant__ select_params p)
{
    const uint32_t EACH = SELECT_PARTS / SELECT_SCAN_THREADS;
    __shared__ uint64_t sum[SELECT_SCAN_THREADS / 32];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32,
                   first = warp * EACH * 32 + lane;
    uint64_t *start = (uint64_t *)p.starts, part[EACH], upto[EACH], place = 0;
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++)
        upto[k] = part[k] = first + k * 32 < p.parts ? start[first + k * 32] : 0;
#pragma unroll
    for (uint32_t h = 1; h < 32; h *= 2)
#pragma unroll
        for (uint32_t k = 0; k < EACH; k++) {
            const uint64_t other = __shfl_up_sync(0xffffffffu, upto[k], (int)h);
            upto[k] += lane >= h ? other : 0;
        }
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
        part[k] = place + upto[k] - part[k];
        place += __shfl_sync(0xffffffffu, upto[k], 31);
    }
    if (lane == 0)
        sum[warp] = place;
    __syncthreads();
    uint64_t before = 0;
    for (uint32_t w = 0; w < warp; w++)
        before += sum[w];
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++)
        if (first + k * 32 < p.parts)
            start[first + k * 32] = before + part[k];
    if (threadIdx.x == SELECT_SCAN_THREADS - 1)
        *(uint64_t *)p.count = before + place;
}

/* Where the warp's share of the block's part begins among the selected: its bits are the words
 * from `begin` to `end`. */
static __device__ __forceinline__ int64_t place_of_warp(const select_params &p, uint64_t begin,
                                                        uint64_t end)
{
    __shared__ uint64_t counts[SELECT_WARPS];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint64_t count = 0;
    for (uint64_t i = begin + lane; i < end; i += 32)
        count += __popc(((const uint32_t *)p.bits)[i]);
    for (uint32_t apart = 16; apart; apart /= 2)
        count += __shfl_xor_sync(0xffffffffu, count, apart);
    if (lane == 0)
        counts[warp] = count;
    __syncthreads();
    int64_t place = ((const int64_t *)p.starts)[blockIdx.x];
    for (uint32_t w = 0; w < warp; w++)
        place += (int64_t)counts[w];
    return place;
}

/* Which of the 1024 elements whose bits the lanes' words are is selected, one after the other; returns
 * how many. Of few, each lane lists those of its word. Of many that would take as long as the fullest word
 * does, and the lanes would store to the same banks: a lane takes one bit of each word instead. */
static __device__ __forceinline__ uint32_t list_of_bits(uint32_t word, uint16_t *list)
{
    const uint32_t FEW = 768, lane = threadIdx.x % 32, below = (1u << lane) - 1;
    uint32_t upto = __popc(word);
    uint32_t front = 0 - upto;
    for (uint32_t h = 1; h < 32; h *= 2) {
        const uint32_t other = __shfl_up_sync(0xffffffffu, upto, (int)h);
        upto += lane >= h ? other : 0;
    }
    front += upto;
    const uint32_t n = __shfl_sync(0xffffffffu, upto, 31);
    if (n < FEW) {
        for (uint16_t *at = list + front; word; word &= word - 1)
            *at++ = (uint16_t)(lane * 32 + __ffs(word) - 1);
    } else {
#pragma unroll 4
        for (uint32_t w = 0; w < 32; w++) {
            const uint32_t bits = __shfl_sync(0xffffffffu, word, (int)w);
            const uint32_t first = __shfl_sync(0xffffffffu, front, (int)w);
            if (bits >> lane & 1)
                list[first + __popc(bits & below)] = (uint16_t)(w * 32 + lane);
        }
    }
    __syncwarp();
    return n;
}

/* write(list, n, place, first), by warps: the n elements selected, and within the capacity, of the 1024
 * from element `first` on, by their distances from it; the first of them goes to `place`. */
template <class F> static __device__ __forceinline__ void for_lists(const select_params &p, F write)
{
    __shared__ uint16_t lists[SELECT_WARPS][32 * 32];
    const uint64_t share = p.per_part / 32 / SELECT_WARPS, all = p.tiles * (SELECT_TILE / 32);
    const uint64_t begin = blockIdx.x * (p.per_part / 32) + threadIdx.x / 32 * share;
    const uint64_t end = begin + share < all ? begin + share : all;
    const uint32_t *words = (const uint32_t *)p.bits, lane = threadIdx.x % 32;
    uint16_t *list = lists[threadIdx.x / 32];
    int64_t place = place_of_warp(p, begin, end);
    uint32_t next = begin + lane < end ? words[begin + lane] : 0;
    for (uint64_t at = begin; at < end && place < p.capacity; at += 32) {
        const uint32_t word = next, n = list_of_bits(word, list);
        next = at + 32 + lane < end ? words[at + 32 + lane] : 0;
        write(list, (uint32_t)min((int64_t)n, p.capacity - place), place, at * 32);
        place += n;
        __syncwarp();
    }
}

/* write(place, element) for all that is selected in the block's part. */
template <class F>
static __device__ __forceinline__ void for_selected(const select_params &p, F write)
{
    for_lists(p, [&](const uint16_t *list, uint32_t n, int64_t place, uint64_t first) {
        for (uint32_t i = threadIdx.x % 32; i < n; i += 32)
            write(place + i, first + list[i]);
    });
}

/* All of a thread's loads are under way before its first store. */
template <class T> static __device__ __forceinline__ void compress(const select_params &p)
{
    const int N = 4;
    for_lists(p, [&](const uint16_t *list, uint32_t n, int64_t place, uint64_t from) {
        const T *a = (const T *)p.a + (int64_t)from * p.a_stride;
        T *out = (T *)p.out + place * p.out_stride;
        for (uint32_t first = threadIdx.x % 32; first < n; first += N * 32) {
            T x[N];
#pragma unroll
            for (int k = 0; k < N; k++)
                if (first + k * 32 < n)
                    x[k] = a[list[first + k * 32] * p.a_stride];
#pragma unroll
            for (int k = 0; k < N; k++)
                if (first + k * 32 < n)
                    out[(first + k * 32) * p.out_stride] = x[k];
        }
    });
}

/* blocks: on an SM at once, as many as registers suffice for; only data-centre GPUs have threads
 * for eight, Turing for four. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define SELECT_BLOCKS(n) 4
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 800 && __CUDA_ARCH__ != 900 && \
    __CUDA_ARCH__ != 1000
#define SELECT_BLOCKS(n) ((n) < 6 ? (n) : 6)
#else
#define SELECT_BLOCKS(n) (n)
#endif
#define COMPRESS(nbytes, T, blocks)                                                     \
    extern "C" __global__ void __launch_bounds__(SELECT_THREADS, SELECT_BLOCKS(blocks)) \
        compress_##nbytes(const __grid_constant__ select_params p)                      \
    {                                                                                   \
        compress<T>(p);                                                                 \
    }
COMPRESS(1, uint8_t, 8)
COMPRESS(2, uint16_t, 8)
COMPRESS(4, uint32_t, 8)
COMPRESS(8, uint64_t, 6)
COMPRESS(16, ulonglong2, 4)

/* Coordinates, the innermost dimension's in the last column. */
extern "C" __global__ void __launch_bounds__(SELECT_THREADS)
    select_positions(const __grid_constant__ select_params p)
{
    for_selected(p, [&](int64_t place, uint64_t element) {
        int64_t *row = (int64_t *)p.out + place * p.out_stride;
        cuda_walk_indices(p.walk, element, [&](int d, int64_t x) {
            row[(p.walk.ndim - 1 - d) * p.coordinate_stride] = x;
        });
    });
}

/* A warp's n positions to neighbouring places, two at once where 16 divides the address. */
static __device__ __forceinline__ void write_positions(int64_t *out, const uint16_t *list,
                                                       uint32_t n, int64_t first)
{
    const uint32_t lane = threadIdx.x % 32, head = (uint32_t)((uint64_t)out / 8 % 2);
    if (lane == 0 && head && n)
        out[0] = first + list[0];
#pragma unroll 4
    for (uint32_t i = head + 2 * lane; i + 1 < n; i += 64)
        __stcs((longlong2 *)(out + i), make_longlong2(first + list[i], first + list[i + 1]));
    if (lane == 0 && n > head && (n - head) % 2)
        out[n - 1] = first + list[n - 1];
}

extern "C" __global__ void __launch_bounds__(SELECT_THREADS, SELECT_BLOCKS(8))
    select_mask_positions(const __grid_constant__ select_params p)
{
    for_lists(p, [&](const uint16_t *list, uint32_t n, int64_t place, uint64_t first) {
        write_positions((int64_t *)p.out + place, list, n, (int64_t)first);
    });
}

extern "C" __global__ void compress_rows(const __grid_constant__ select_rows_params p)
{
    int64_t count = *(const int64_t *)p.count, rows = count < p.capacity ? count : p.capacity;
    uint64_t n = (uint64_t)rows * p.row.size;
    for (uint64_t i = cuda_thread(); i < n; i += cuda_threads()) {
        uint64_t place = (i >> 32) == 0 && (p.row.size >> 32) == 0
                             ? (uint32_t)i / (uint32_t)p.row.size
                             : i / p.row.size;
        int64_t from = ((const int64_t *)p.positions)[place] * p.a_step;
        int64_t to = (int64_t)place * p.out_step;
        cuda_walk_indices(p.row, i - place * p.row.size, [&](int d, int64_t x) {
            from += x * p.a_stride[d];
            to += x * p.out_stride[d];
        });
        copy_element(p.out, to, p.a, from, p.nbytes);
    }
}
