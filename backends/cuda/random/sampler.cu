/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The samplers of random_real_tmpl.h, random_count_tmpl.h and random_urn_tmpl.h, an element a thread:
 * gamma_f32, poisson_i64 and so on. The same bits as on the CPU. */
#include "random/sampler.h"
#include "copy/convert.cuh"
#include "walk/walk.cuh"
#define ND_FN static __device__ inline
#include <ndock/random_real_tmpl.h>
#include <ndock/random_urn_tmpl.h>

/* ---- each op: what its parameters come to, and one element ---- */

struct sample_gamma {
    enum { params = 2 };
    ndr_gamma of;
    double scale;
    __device__ void set(const double *p)
    {
        of = ndr_gamma_of(p[0]);
        scale = p[1];
    }
    __device__ double get(const ndr_place *at, const uint32_t *first) const
    {
        return scale * ndr_gamma_draw(&of, at, first);
    }
};
struct sample_log_gamma {
    enum { params = 1 };
    ndr_gamma of;
    __device__ void set(const double *p) { of = ndr_gamma_of(p[0]); }
    __device__ double get(const ndr_place *at, const uint32_t *first) const
    {
        return ndr_log_gamma_draw(&of, at, 0, first);
    }
};
struct sample_geometric {
    enum { params = 1 };
    double of;
    __device__ void set(const double *p) { of = ndr_geometric_of(p[0]); }
    __device__ double get(const ndr_place *, const uint32_t *first) const
    {
        return ndr_geometric_draw(of, first);
    }
};
#define SAMPLE(name, n, ...)                                                        \
    struct sample_##name {                                                          \
        enum { params = n };                                                        \
        ndr_##name of;                                                              \
        __device__ void set(const double *p) { of = ndr_##name##_of(__VA_ARGS__); } \
        __device__ double get(const ndr_place *at, const uint32_t *first) const     \
        {                                                                           \
            return ndr_##name##_draw(&of, at, first);                               \
        }                                                                           \
    };
SAMPLE(beta, 2, p[0], p[1])
SAMPLE(truncated, 4, p[0], p[1], p[2], p[3])
SAMPLE(poisson, 1, p[0])
SAMPLE(binomial, 2, p[0], p[1])
SAMPLE(hypergeometric, 3, p[0], p[1], p[2])

/* ---- the loop ---- */

/* Where element i of the piece is in each operand. */
template <int OPERANDS>
static __device__ __forceinline__ void locate(const sampler_params &p, uint32_t i, int64_t *at)
{
#pragma unroll
    for (int k = 0; k < OPERANDS; k++)
        at[k] = 0;
    cuda_walk_from<4>(p.walk.extent, 0, p.walk.ndim, i, [&](int d, uint32_t x) {
#pragma unroll
        for (int k = 0; k < OPERANDS; k++)
            at[k] += x * p.stride[k][d];
    });
}

template <class S, class T> static __device__ __forceinline__ void sample(const sampler_params &p)
{
    const int N = S::params;
    S s;
    double param[SAMPLER_PARAMS];
    if (p.same)
        s.set(p.value);
    for (uint64_t i = cuda_thread(); i < p.n; i += cuda_threads()) {
        int64_t at[1 + SAMPLER_PARAMS];
        locate<1 + N>(p, (uint32_t)i, at);
        if (!p.same) {
#pragma unroll
            for (int k = 0; k < N; k++)
                param[k] = p.at[1 + k] ? ((const double *)p.at[1 + k])[at[1 + k]] : p.value[k];
            s.set(param);
        }
        const ndr_place place = ndr_place_of(p.key, p.counter, p.first + i);
        const ndr_block first = ndr_block_at(&place, 0);
        T value;
        convert_real(s.get(&place, first.w), &value);
        ((T *)p.at[0])[at[0]] = value;
    }
}

#define KERNEL(name, dtype, T)                                    \
    extern "C" __global__ void __launch_bounds__(SAMPLER_THREADS) \
        name##_##dtype(const __grid_constant__ sampler_params p)  \
    {                                                             \
        sample<sample_##name, T>(p);                              \
    }
#define REAL(name)                    \
    KERNEL(name, f16, __half)         \
    KERNEL(name, bf16, __nv_bfloat16) \
    KERNEL(name, f32, float)          \
    KERNEL(name, f64, double)
#define COUNT(name)             \
    KERNEL(name, i8, int8_t)    \
    KERNEL(name, i16, int16_t)  \
    KERNEL(name, i32, int32_t)  \
    KERNEL(name, i64, int64_t)  \
    KERNEL(name, u8, uint8_t)   \
    KERNEL(name, u16, uint16_t) \
    KERNEL(name, u32, uint32_t) \
    KERNEL(name, u64, uint64_t)
REAL(gamma)
REAL(log_gamma)
REAL(beta)
REAL(truncated)
COUNT(poisson)
COUNT(binomial)
COUNT(geometric)
COUNT(hypergeometric)
