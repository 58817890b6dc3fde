/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Beside cuFFT: fft_move_f32 and its like copy elements between any strides, times a scale and
 * perhaps conjugated; fft_pairs_c64, _c128 make of any numbers those that real results have. */
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
