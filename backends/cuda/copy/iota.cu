/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Ramps: start + i*step, modulo 2^width for integers, in f64 and rounded once for the rest. A
 * kernel iota_f32 for each dtype. */
#include "copy/iota.h"
#include "copy/convert.cuh"

enum { IOTA_THREADS = 256 };

static __device__ __forceinline__ double floating(double start, double step, uint64_t i)
{
    return start + (double)(int64_t)i * step;
}

template <class T>
static __device__ __forceinline__ void value(const iota_params &p, uint64_t i, T *r)
{
    *r = (T)(p.start + i * p.step);
}
static __device__ __forceinline__ void value(const iota_params &p, uint64_t i, __half *r)
{
    convert_half(floating(p.start_f, p.step_f, i), r);
}
static __device__ __forceinline__ void value(const iota_params &p, uint64_t i, __nv_bfloat16 *r)
{
    convert_half(floating(p.start_f, p.step_f, i), r);
}
static __device__ __forceinline__ void value(const iota_params &p, uint64_t i, float *r)
{
    *r = (float)floating(p.start_f, p.step_f, i);
}
static __device__ __forceinline__ void value(const iota_params &p, uint64_t i, double *r)
{
    *r = floating(p.start_f, p.step_f, i);
}
static __device__ __forceinline__ void value(const iota_params &p, uint64_t i, cuda_c64 *r)
{
    r->re = (float)floating(p.start_f, p.step_f, i);
    r->im = (float)floating(p.start_im, p.step_im, i);
}
static __device__ __forceinline__ void value(const iota_params &p, uint64_t i, cuda_c128 *r)
{
    r->re = floating(p.start_f, p.step_f, i);
    r->im = floating(p.start_im, p.step_im, i);
}

template <class T> static __device__ __forceinline__ void ramp(const iota_params &p)
{
    const int N = 16 / sizeof(T);
    uint64_t step = (uint64_t)gridDim.x * IOTA_THREADS * N;
    uint64_t i = ((uint64_t)blockIdx.x * IOTA_THREADS + threadIdx.x) * N;
    for (; i < p.n; i += step) {
        cuda_vector<T, N> v;
        T *at = (T *)p.dst + (int64_t)i * p.stride;
        for (int k = 0; k < N; k++)
            value(p, i + k, &v.at[k]);
        if (p.dense && p.n - i >= N)
            *(cuda_vector<T, N> *)at = v;
        else
#pragma unroll
            for (int k = 0; k < N; k++)
                if (i + k < p.n)
                    at[k * p.stride] = v.at[k];
    }
}

#define IOTA_KERNEL(name, id)                                  \
    extern "C" __global__ void __launch_bounds__(IOTA_THREADS) \
        iota_##name(const __grid_constant__ iota_params p)     \
    {                                                          \
        ramp<cuda_dtype<id>::stored>(p);                       \
    }
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) \
    CUDA_OF_KIND(KIND, IOTA_KERNEL)(name, id)
#include <ndock/dtype.def>
