/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Random numbers: uniform_f32, normal_f32 and so on by dtype, integers_4 by element size. */
#include "random.cuh"
#include "index.cuh"

/* ---- what is computed as what is stored ---- */
template <class V, class T>
static __device__ __forceinline__ void finish(const random_params &, V computed, T *stored)
{
    *stored = (T)computed;
}
/* Rounding to 16 bits may reach high again. */
static __device__ __forceinline__ void finish(const random_params &p, float computed,
                                              __half *stored)
{
    convert_half(computed, stored);
    if (p.half_below && cuda_widen(*stored) >= p.high)
        *stored = __ushort_as_half((uint16_t)p.half_below);
}
static __device__ __forceinline__ void finish(const random_params &p, float computed,
                                              __nv_bfloat16 *stored)
{
    convert_half(computed, stored);
    if (p.half_below && cuda_widen(*stored) >= p.high)
        *stored = __ushort_as_bfloat16((uint16_t)p.half_below);
}

/* ---- the loops: a thread takes one Philox block at a time ---- */
template <int KIND, class V, class T>
static __device__ __forceinline__ void dense(const random_params &p)
{
    const int L = 16 / sizeof(V);
    uint64_t blocks = (p.n + L - 1) / L, step = (uint64_t)gridDim.x * RANDOM_THREADS;
    uint64_t b = (uint64_t)blockIdx.x * RANDOM_THREADS + threadIdx.x;
    for (; b < blocks; b += step) {
        V v[L];
        cuda_vector<T, L> r;
        T *at = (T *)p.dst + b * L;
        random_values<KIND>(p, b, v);
        for (int k = 0; k < L; k++)
            finish(p, v[k], &r.at[k]);
        if (p.n - b * L >= L)
            *(cuda_vector<T, L> *)at = r;
        else
#pragma unroll
            for (int k = 0; k < L; k++)
                if (b * L + k < p.n)
                    at[k] = r.at[k];
    }
}

static __device__ __forceinline__ int64_t strided_offset(const random_params &p, uint32_t i)
{
    int64_t at = 0;
    for (int d = 0; d < p.ndim; d++) {
        uint32_t above = cuda_quotient(i, p.extent[d]);
        at += (i - above * p.extent[d].value) * p.stride[d];
        i = above;
    }
    return at;
}

template <int KIND, class V, class T>
static __device__ __forceinline__ void strided(const random_params &p)
{
    const int L = 16 / sizeof(V);
    uint64_t begin = p.first / L, end = (p.first + p.n + L - 1) / L;
    uint64_t b = begin + (uint64_t)blockIdx.x * RANDOM_THREADS + threadIdx.x;
    for (; b < end; b += (uint64_t)gridDim.x * RANDOM_THREADS) {
        V v[L];
        random_values<KIND>(p, b, v);
#pragma unroll
        for (int k = 0; k < L; k++) {
            uint64_t i = b * L + k - p.first; /* before first it wraps to a large number */
            if (i < p.n)
                finish(p, v[k], (T *)p.dst + strided_offset(p, (uint32_t)i));
        }
    }
}

#define RANDOM_KERNEL(name, KIND, V, T)                          \
    extern "C" __global__ void __launch_bounds__(RANDOM_THREADS) \
        name(const __grid_constant__ random_params p)            \
    {                                                            \
        if (p.dense)                                             \
            dense<KIND, V, T>(p);                                \
        else                                                     \
            strided<KIND, V, T>(p);                              \
    }
RANDOM_KERNEL(uniform_f16, RANDOM_UNIFORM, float, __half)
RANDOM_KERNEL(uniform_bf16, RANDOM_UNIFORM, float, __nv_bfloat16)
RANDOM_KERNEL(uniform_f32, RANDOM_UNIFORM, float, float)
RANDOM_KERNEL(uniform_f64, RANDOM_UNIFORM, double, double)
RANDOM_KERNEL(normal_f16, RANDOM_NORMAL, float, __half)
RANDOM_KERNEL(normal_bf16, RANDOM_NORMAL, float, __nv_bfloat16)
RANDOM_KERNEL(normal_f32, RANDOM_NORMAL, float, float)
RANDOM_KERNEL(normal_f64, RANDOM_NORMAL, double, double)
RANDOM_KERNEL(integers_1, RANDOM_INTEGERS, uint32_t, uint8_t)
RANDOM_KERNEL(integers_2, RANDOM_INTEGERS, uint32_t, uint16_t)
RANDOM_KERNEL(integers_4, RANDOM_INTEGERS, uint32_t, uint32_t)
RANDOM_KERNEL(integers_8, RANDOM_INTEGERS, uint64_t, uint64_t)
