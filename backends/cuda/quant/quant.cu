/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Quantised blocks: their elements, rows rounded to 8 bits, and products of these with blocks by
 * integer instructions of four products. A warp computes one row of blocks; its lanes take groups
 * of 32 elements in turns and add up in a fixed order. */
#include "quant/format.cuh"
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

/* A warp rounds 32 elements. */
extern "C" __global__ void __launch_bounds__(QUANT_THREADS)
    activate(const __grid_constant__ quant_params p)
{
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

template <typename F> static __device__ __forceinline__ void unpack(const quant_params &p,
                                                                    const unsigned char *b, int g,
                                                                    int w[8])
{
    if (packed<F>::align > 1 && p.word < packed<F>::align) {
        struct plain : F {}; /* without the specialisation */
        packed<plain>::slow(b, g, w);
    } else {
        packed<F>::codes(b, g, w);
    }
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
        int w[8];
        unpack<F>(p, b, g, w);
        const float scale[2] = {F::scale(b, 2 * g), F::scale(b, 2 * g + 1)};
        float min[2] = {0, 0};
        if (F::has_min) {
            min[0] = F::min(b, 2 * g);
            min[1] = F::min(b, 2 * g + 1);
        }
#pragma unroll
        for (int t = 0; t < TILE; t++) {
            const int64_t i = first + t < p.m ? first + t : p.m - 1, place = i * groups + at;
            const int4 *x = (const int4 *)p.codes + 2 * place;
            const float d = ((const float *)p.d)[place];
            const float2 low = ((const float2 *)p.sums)[place];
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const int4 four = x[h];
                int dot = __dp4a(w[4 * h], four.x, 0);
                dot = __dp4a(w[4 * h + 1], four.y, dot);
                dot = __dp4a(w[4 * h + 2], four.z, dot);
                dot = __dp4a(w[4 * h + 3], four.w, dot);
                sum[t] += scale[h] * d * (float)dot;
                if (F::has_min)
                    sum[t] += min[h] * (h ? low.y : low.x);
            }
        }
    }
#pragma unroll
    for (int t = 0; t < TILE; t++) {
        for (int k = 16; k > 0; k /= 2)
            sum[t] += __shfl_xor_sync(~0u, sum[t], k);
        if (lane == 0 && first + t < p.m)
            store(p.out, p.dtype, (first + t) * p.rows + row, sum[t]);
    }
}

template <typename F> struct one_row {
    static __device__ __forceinline__ void run(const quant_params &p)
    {
        product<F, 1>(p);
    }
};
template <typename F> struct many_rows {
    static __device__ __forceinline__ void run(const quant_params &p)
    {
        product<F, QUANT_TILE>(p);
    }
};

extern "C" __global__ void __launch_bounds__(QUANT_THREADS)
    product_one(const __grid_constant__ quant_params p)
{
    by_format<one_row>(p);
}

extern "C" __global__ void __launch_bounds__(QUANT_THREADS)
    product_many(const __grid_constant__ quant_params p)
{
    by_format<many_rows>(p);
}
