/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Beside cuFFT: fft_move_f32 and its like copy elements between any strides, times a scale and
 * perhaps conjugated; fft_pairs_c64, _c128 make of any numbers those that real results have;
 * fft_paired_c64, _c128 do both at once for dense elements. */
#include "fft/fft.h"
#include "walk/lines.cuh"

/* ---- moving: the product is taken in f64, and rounded once ---- */
static __device__ __forceinline__ float scaled(float x, double scale, bool)
{
    return (float)(x * scale);
}
static __device__ __forceinline__ double scaled(double x, double scale, bool)
{
    return x * scale;
}
static __device__ __forceinline__ float2 scaled(float2 x, double scale, bool conjugate)
{
    return {(float)(x.x * scale), (float)(x.y * (conjugate ? -scale : scale))};
}
static __device__ __forceinline__ double2 scaled(double2 x, double scale, bool conjugate)
{
    return {x.x * scale, x.y * (conjugate ? -scale : scale)};
}

template <class T> struct fft_move {
    typedef T value;
    static __device__ __forceinline__ T load(const line_rows &, uint64_t at, uint32_t)
    {
        return *(const T *)at;
    }
    static __device__ __forceinline__ void store(const line_rows &p, uint64_t at, T v)
    {
        *(T *)at = scaled(v, *(const double *)p.pattern, p.kind != 0);
    }
};

/* ---- pairs: one thread has both elements of one ---- */
template <class C> static __device__ __forceinline__ void pairs(const fft_pairs &p)
{
    const uint64_t rows = p.n1 * p.n2, columns = p.last ? 2 : 1;
    const uint64_t all = p.batch * rows * columns, step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; t < all; t += step) {
        const uint64_t row = t / columns, column = t % columns ? p.m - 1 : 0;
        const uint64_t b = row / rows, i = row % rows / p.n2, j = row % p.n2;
        const uint64_t other = (i ? p.n1 - i : 0) * p.n2 + (j ? p.n2 - j : 0);
        if (other < i * p.n2 + j)
            continue;
        C *x = (C *)p.at + row * p.m + column, *y = (C *)p.at + (b * rows + other) * p.m + column;
        if (x == y) {
            x->y = 0;
            continue;
        }
        const C u = *x, v = *y;
        x->x = y->x = u.x / 2 + v.x / 2;
        x->y = u.y / 2 - v.y / 2;
        y->y = v.y / 2 - u.y / 2;
    }
}

/* Element i, which is in that row and column, of those that real results have. */
template <class C>
static __device__ __forceinline__ C paired_of(const fft_pairs &p, C e, uint32_t row,
                                              uint32_t column)
{
    const bool conjugate = p.conjugate != 0;
    C u = scaled(e, p.scale, conjugate);
    if (column != 0 && !(p.last && column == p.m - 1))
        return u;
    const uint32_t n1 = (uint32_t)p.n1, n2 = (uint32_t)p.n2;
    if (n1 * n2 == 1)
        return {u.x, 0};
    const uint32_t b = row / (n1 * n2), i = row / n2 % n1, j = row % n2;
    const uint32_t other = (b * n1 + (i ? n1 - i : 0)) * n2 + (j ? n2 - j : 0);
    if (other == row)
        return {u.x, 0};
    const C *from = (const C *)p.from;
    const C v = scaled(from[(uint64_t)other * p.m + column], p.scale, conjugate);
    return {u.x / 2 + v.x / 2, u.y / 2 - v.y / 2};
}

template <class C> static __device__ __forceinline__ void paired(const fft_pairs &p)
{
    const C *from = (const C *)p.from;
    C *to = (C *)p.at, e[FFT_ITEMS];
    const uint32_t all = (uint32_t)(p.batch * p.n1 * p.n2 * p.m);
    const uint32_t first = blockIdx.x * (uint32_t)(FFT_THREADS * FFT_ITEMS) + threadIdx.x;
#pragma unroll
    for (uint32_t k = 0; k < FFT_ITEMS; k++)
        if (first + k * FFT_THREADS < all)
            e[k] = from[first + k * FFT_THREADS];
#pragma unroll
    for (uint32_t k = 0; k < FFT_ITEMS; k++) {
        const uint32_t i = first + k * FFT_THREADS, row = cuda_quotient(i, p.columns);
        if (i < all)
            to[i] = paired_of(p, e[k], row, i - row * p.columns.value);
    }
}

/* ---- the kernels ---- */
#define FFT_MOVE(name, T)                                      \
    extern "C" __global__ void __launch_bounds__(LINE_THREADS) \
        fft_move_##name(const __grid_constant__ line_rows p)   \
    {                                                          \
        line_items<fft_move<T>, FFT_ITEMS>(p);                 \
    }
FFT_MOVE(f32, float)
FFT_MOVE(f64, double)
FFT_MOVE(c64, float2)
FFT_MOVE(c128, double2)

#define FFT_PAIRS(name, C)                                    \
    extern "C" __global__ void __launch_bounds__(FFT_THREADS) \
        fft_pairs_##name(const __grid_constant__ fft_pairs p) \
    {                                                         \
        pairs<C>(p);                                          \
    }
FFT_PAIRS(c64, float2)
FFT_PAIRS(c128, double2)

#define FFT_PAIRED(name, C)                                    \
    extern "C" __global__ void __launch_bounds__(FFT_THREADS)  \
        fft_paired_##name(const __grid_constant__ fft_pairs p) \
    {                                                          \
        paired<C>(p);                                          \
    }
FFT_PAIRED(c64, float2)
FFT_PAIRED(c128, double2)
