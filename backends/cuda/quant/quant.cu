/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Quantised blocks: their elements, rows rounded to 8 bits, and products of these with blocks by
 * integer instructions of four products. A warp computes one row of blocks; its lanes take groups
 * of 32 elements in turns and add up in a fixed order. */
#include "quant/staged.cuh"
#include <ndock/plugin.h>
#include "quant/quant.h"

static __device__ __forceinline__ float load(uint64_t at, int32_t dtype, int64_t i)
{
    if (dtype == NDP_F16)
        return __half2float(((const __half *)at)[i]);
    if (dtype == NDP_BF16)
        return __bfloat162float(((const __nv_bfloat16 *)at)[i]);
    return dtype == NDP_F64 ? (float)((const double *)at)[i] : ((const float *)at)[i];
}

static __device__ __forceinline__ void store(uint64_t at, int32_t dtype, int64_t i, float x)
{
    if (dtype == NDP_F16)
        ((__half *)at)[i] = __float2half_rn(x);
    else if (dtype == NDP_BF16)
        ((__nv_bfloat16 *)at)[i] = __float2bfloat16_rn(x);
    else if (dtype == NDP_F64)
        ((double *)at)[i] = x;
    else
        ((float *)at)[i] = x;
}

/* The switch over formats, the same for all threads of a kernel. */
#define ND_QUANT(NAME, id, BLOCK, NBYTES, MIN, WRITES, name, doc) \
    case id:                                                      \
        return work<format_##name>::run(p);
template <template <typename> class work>
static __device__ __forceinline__ void by_format(const quant_params &p)
{
    switch (p.format) {
#include <ndock/quant.def>
    }
}

/* ---- elements ---- */

/* Consecutive threads take consecutive elements of one or two halves. */
template <typename F> struct dequantizing {
    static __device__ __forceinline__ void run(const quant_params &p)
    {
        const int64_t count = p.rows * p.n, step = (int64_t)gridDim.x * blockDim.x;
        for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
            /* Rows are whole blocks, so that blocks are counted over all of them. */
            const unsigned char *b = (const unsigned char *)p.blocks + i / F::block * F::nbytes;
            const int j = (int)(i % F::block);
            float x = F::scale(b, j / 16) * (float)F::code(b, j / 16, j % 16);
            if (F::has_min)
                x += F::min(b, j / 16);
            store(p.out, p.dtype, i, x);
        }
    }
};

extern "C" __global__ void __launch_bounds__(QUANT_THREADS)
    dequantize(const __grid_constant__ quant_params p)
{
    by_format<dequantizing>(p);
}

/* ---- a's rows in 8 bits ---- */

static __device__ __forceinline__ int code_of(float v)
{
    const float size = fabsf(v), kept = size < 128 ? size : 0;
    int whole = (int)kept;
    whole += kept - (float)whole >= 0.5f;
    return v < 0 ? -whole : whole;
}

/* What comes next may begin, and fetch what this kernel does not write; it waits for the end of this
 * one before it reads what that writes. */
static __device__ __forceinline__ void next_may_begin(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
static __device__ __forceinline__ void wait_for_earlier(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* A warp rounds 32 elements. */
extern "C" __global__ void __launch_bounds__(QUANT_THREADS)
    activate(const __grid_constant__ quant_params p)
{
    next_may_begin();
    const int lane = threadIdx.x % 32;
    const int64_t groups = p.m * p.n / 32, step = (int64_t)gridDim.x * QUANT_WARPS;
    for (int64_t g = (int64_t)blockIdx.x * QUANT_WARPS + threadIdx.x / 32; g < groups; g += step) {
        const float x = load(p.a, p.dtype, 32 * g + lane);
        float most = fabsf(x);
        const bool bad = __any_sync(~0u, !(most < INFINITY));
        for (int k = 16; k > 0; k /= 2)
            most = fmaxf(most, __shfl_xor_sync(~0u, most, k));
        const float d = bad ? NAN : most / 127, inverse = d > 0 ? 1 / d : 0;
        const int code = code_of(x * inverse);
        int sum = code;
        for (int k = 8; k > 0; k /= 2)
            sum += __shfl_xor_sync(~0u, sum, k);
        ((signed char *)p.codes)[32 * g + lane] = (signed char)code;
        if (lane == 0)
            ((float *)p.d)[g] = d;
        if (lane % 16 == 0)
            ((float *)p.sums)[2 * g + lane / 16] = d * (float)sum;
    }
}

/* ---- products ---- */

template <typename F>
static __device__ __forceinline__ void unpack(const quant_params &p, const unsigned char *b, int g,
                                              int w[8])
{
    if (packed<F>::align > 1 && p.word < packed<F>::align) {
        struct plain : F {
        }; /* without the specialisation */
        packed<plain>::slow(b, g, w);
    } else {
        packed<F>::codes(b, g, w);
    }
}

/* What one group of 32 codes at b adds to a sum: its products with those of a's at place. */
template <typename F> struct group_codes {
    int w[8];
    float scale[2], min[2];
    __device__ __forceinline__ group_codes(const quant_params &p, const unsigned char *b, int g)
    {
        unpack<F>(p, b, g, w);
        for (int h = 0; h < 2; h++) {
            scale[h] = F::scale(b, 2 * g + h);
            min[h] = F::has_min ? F::min(b, 2 * g + h) : 0;
        }
    }
    __device__ __forceinline__ void add(const quant_params &p, int64_t place, float &sum) const
    {
        const int4 *x = (const int4 *)p.codes + 2 * place;
        const float d = ((const float *)p.d)[place];
        const float2 low = F::has_min ? ((const float2 *)p.sums)[place] : float2{0, 0};
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int4 four = x[h];
            int dot = __dp4a(w[4 * h], four.x, 0);
            dot = __dp4a(w[4 * h + 1], four.y, dot);
            dot = __dp4a(w[4 * h + 2], four.z, dot);
            dot = __dp4a(w[4 * h + 3], four.w, dot);
            sum += scale[h] * d * (float)dot;
            if (F::has_min)
                sum += min[h] * (h ? low.y : low.x);
        }
    }
};

static __device__ __forceinline__ float sum_of_warp(float sum)
{
    for (int k = 16; k > 0; k /= 2)
        sum += __shfl_xor_sync(~0u, sum, k);
    return sum;
}

template <typename F, int TILE>
static __device__ __forceinline__ void product(const quant_params &p)
{
    const int lane = threadIdx.x % 32;
    const int64_t row = (int64_t)blockIdx.x * QUANT_WARPS + threadIdx.x / 32;
    const int64_t first = (int64_t)blockIdx.y * TILE, groups = p.n / 32;
    if (row >= p.rows) /* the whole warp */
        return;
    const unsigned char *blocks = (const unsigned char *)p.blocks + row * p.row_bytes;
    float sum[TILE] = {};
    for (int64_t at = lane; at < groups; at += 32) {
        const unsigned char *b = blocks + at / (F::block / 32) * F::nbytes;
        const int g = (int)(at % (F::block / 32));
        const group_codes<F> codes(p, b, g);
#pragma unroll
        for (int t = 0; t < TILE; t++) {
            const int64_t i = first + t < p.m ? first + t : p.m - 1;
            codes.add(p, i * groups + at, sum[t]);
        }
    }
#pragma unroll
    for (int t = 0; t < TILE; t++) {
        const float all = sum_of_warp(sum[t]);
        if (lane == 0 && first + t < p.m)
            store(p.out, p.dtype, (first + t) * p.rows + row, all);
    }
}

/* ---- one row of a: blocks by way of shared memory, whole lines of memory at a time ---- */

static __device__ __forceinline__ void copy_16(unsigned char *to, const unsigned char *from)
{
#if __CUDA_ARCH__ >= 800
    const uint32_t at = (uint32_t)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
#else
    *(uint4 *)to = *(const uint4 *)from;
#endif
}
static __device__ __forceinline__ void copies_end(void)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/* All copies but those of the last group that was ended are there. */
static __device__ __forceinline__ void copies_wait(void)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group 1;" ::: "memory");
#endif
    __syncwarp();
}

/* A row of blocks, a piece at a time, of which there are two at once. Rows begin at multiples of 16
 * bytes, so pieces do, and the last one may be read to such a multiple. */
template <typename F> struct staged_row {
    static constexpr int bytes = QUANT_PIECE / (F::block / 32) * F::nbytes;
    static __device__ __forceinline__ void fetch(unsigned char *to, const unsigned char *row,
                                                 int64_t piece, int64_t row_bytes)
    {
        const int64_t left = row_bytes - piece * bytes;
        for (int i = threadIdx.x % 32 * 16; i < bytes && i < left; i += 32 * 16)
            copy_16(to + i, row + piece * bytes + i);
        copies_end();
    }
    static __device__ __forceinline__ void run(const quant_params &p)
    {
        extern __shared__ uint4 staged[];
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        const int64_t row = (int64_t)blockIdx.x * QUANT_WARPS + warp, groups = p.n / 32;
        unsigned char *mine = (unsigned char *)staged + warp * 2 * bytes;
        if (row >= p.rows) /* the whole warp */
            return;
        const unsigned char *blocks = (const unsigned char *)p.blocks + row * p.row_bytes;
        float sum = 0;
        fetch(mine, blocks, 0, p.row_bytes);
        fetch(mine + bytes, blocks, 1, p.row_bytes);
        wait_for_earlier(); /* a's rows in 8 bits */
        for (int64_t first = 0, piece = 0; first < groups; first += QUANT_PIECE, piece++) {
            unsigned char *now = mine + piece % 2 * bytes;
            copies_wait();
#pragma unroll
            for (int i = lane; i < QUANT_PIECE; i += 32)
                if (first + i < groups) {
                    const int64_t place = first + i;
                    const staged_x x = {{((const int4 *)p.codes)[2 * place],
                                         ((const int4 *)p.codes)[2 * place + 1]},
                                        ((const float *)p.d)[place],
                                        F::has_min ? ((const float2 *)p.sums)[place]
                                                   : float2{0, 0}};
                    staged_group<F>::add(now + i / (F::block / 32) * F::nbytes, i % (F::block / 32),
                                         x, sum);
                }
            __syncwarp();
            fetch(now, blocks, piece + 2, p.row_bytes);
        }
        const float all = sum_of_warp(sum);
        if (lane == 0)
            store(p.out, p.dtype, row, all);
    }
};

template <typename F> struct one_row {
    static __device__ __forceinline__ void run(const quant_params &p) { product<F, 1>(p); }
};
template <typename F> struct many_rows {
    static __device__ __forceinline__ void run(const quant_params &p) { product<F, QUANT_TILE>(p); }
};

extern "C" __global__ void __launch_bounds__(QUANT_THREADS)
    product_one(const __grid_constant__ quant_params p)
{
    by_format<one_row>(p);
}

extern "C" __global__ void __launch_bounds__(QUANT_THREADS)
    product_staged(const __grid_constant__ quant_params p)
{
    by_format<staged_row>(p);
}

extern "C" __global__ void __launch_bounds__(QUANT_THREADS)
    product_many(const __grid_constant__ quant_params p)
{
    by_format<many_rows>(p);
}
