/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Quantised blocks: their elements, rows rounded to 8 bits, and products of these with blocks by
 * integer instructions of four products. A warp computes one row of blocks; its lanes take groups
 * of 32 elements in turns and add up in a fixed order. */
#include "quant/few.cuh"

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
        const float d = bad ? NAN : most / 127, inverse = inverse_of(d);
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
    product_many(const __grid_constant__ quant_params p)
{
    by_format<many_rows>(p);
}

/* One, two or four rows of a at a time. */
template <typename F> using few_rows_1 = few_rows<F, 1>;
template <typename F> using few_rows_2 = few_rows<F, 2>;
template <typename F> using few_rows_4 = few_rows<F, 4>;
#define QUANT_FEW(M)                                                \
    extern "C" __global__ void __launch_bounds__(32 * FEW_WARPS, 1) \
        product_few_##M(const __grid_constant__ quant_params p)     \
    {                                                               \
        by_format<few_rows_##M>(p);                                 \
    }
QUANT_FEW(1)
QUANT_FEW(2)
QUANT_FEW(4)
extern "C" __global__ void __launch_bounds__(32 * FEW_MANY_TURNS, 1)
    product_held(const __grid_constant__ quant_params p)
{
    by_format<held_row>(p);
}
