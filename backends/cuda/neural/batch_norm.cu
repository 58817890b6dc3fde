/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * batch_norm of one dtype, CUDA_DTYPE: one pass over memory, in the order of memory. A thread finds what its
 * elements' channels have from the given mean and variance itself: between loads there is time for it. */
#include "neural/batch_norm.h"
#include "neural/neural.cuh"
#include "walk/lines.cuh"

template <class C> NEURAL_FN C batch_norm_ratio(C scale, double variance, double eps)
{
    if constexpr (sizeof(C) == 8)
        return scale / sqrt(variance + eps);
    else
        return __fdiv_rn(scale, __fsqrt_rn((float)(variance + eps)));
}

/* (x - mean)*by + bias of a channel, at these offsets of what it has. */
template <class T> struct batch_norm_affine {
    typedef typename neural_computed<T>::type C;
    C mean, by, bias;
    __device__ __forceinline__ batch_norm_affine() {}
    __device__ __forceinline__ batch_norm_affine(const batch_norm_params &p,
                                                 const int64_t (&at)[BATCH_NORM_OF])
    {
        const C *const means = (const C *)p.of[BATCH_NORM_MEAN];
        const C *const variances = (const C *)p.of[BATCH_NORM_VARIANCE];
        const T *const scales = (const T *)p.of[BATCH_NORM_SCALE];
        const T *const biases = (const T *)p.of[BATCH_NORM_BIAS];
        mean = means[at[BATCH_NORM_MEAN]];
        by = batch_norm_ratio(scales ? neural_widen(scales[at[BATCH_NORM_SCALE]]) : (C)1,
                              (double)variances[at[BATCH_NORM_VARIANCE]], p.eps);
        bias = biases ? neural_widen(biases[at[BATCH_NORM_BIAS]]) : (C)-0.0; /* in every bit */
    }
    static __device__ __forceinline__ batch_norm_affine of_channel(const batch_norm_params &p,
                                                                   int64_t c)
    {
        int64_t at[BATCH_NORM_OF];
#pragma unroll
        for (int k = 0; k < BATCH_NORM_OF; k++)
            at[k] = c * p.step[k];
        return batch_norm_affine(p, at);
    }
    __device__ __forceinline__ C of(C x) const
    {
        return neural_fma(x - mean, by, bias);
    }
};

/* The channel of an element, or vector, of dense memory; *rest: how far into the channel it is. */
NEURAL_FN int64_t batch_norm_channel(const batch_norm_params &p, uint64_t i, uint64_t *rest)
{
    const uint64_t run = line_quotient(i, p.inner);
    *rest = i - run * (uint64_t)p.inner.extent;
    return (int64_t)(run - line_quotient(run, p.channels) * (uint64_t)p.channels.extent);
}

/* Each of the block's vectors: all of a thread's loads come before its stores. FN(vector's number, x). */
template <class T, int V, class FN>
NEURAL_FN void batch_norm_vectors(const batch_norm_params &p, uint64_t first, uint64_t apart,
                                  uint64_t end, const FN &fn)
{
    typedef typename neural_computed<T>::type C;
    neural_vector<T, V> x[BATCH_NORM_UNROLL];
#pragma unroll
    for (int u = 0; u < BATCH_NORM_UNROLL; u++)
        if (first + u * apart < end)
            x[u] = ((const neural_vector<T, V> *)p.x)[first + u * apart];
#pragma unroll
    for (int u = 0; u < BATCH_NORM_UNROLL; u++) {
        if (first + u * apart >= end)
            continue;
        C y[V];
#pragma unroll
        for (int k = 0; k < V; k++)
            y[k] = neural_widen(x[u].at[k]);
        fn(first + u * apart, y);
        neural_store<T, V>((T *)p.out, (int64_t)(first + u * apart), y);
    }
}

/* Dense memory, vectors of one channel each. */
template <class T, int V> NEURAL_FN void batch_norm_whole(const batch_norm_params &p)
{
    typedef typename neural_computed<T>::type C;
    const uint64_t first =
        (uint64_t)blockIdx.x * BATCH_NORM_THREADS * BATCH_NORM_UNROLL + threadIdx.x;
    uint64_t end = 0; /* of the channel that a is of */
    batch_norm_affine<T> a;
    batch_norm_vectors<T, V>(p, first, BATCH_NORM_THREADS, p.size / V, [&](uint64_t i, C(&y)[V]) {
        if (i >= end) {
            uint64_t rest;
            a = batch_norm_affine<T>::of_channel(p, batch_norm_channel(p, i, &rest));
            end = i - rest + (uint64_t)p.inner.extent;
        }
#pragma unroll
        for (int k = 0; k < V; k++)
            y[k] = a.of(y[k]);
    });
}

/* Dense memory, where channels begin anywhere in a vector, and the last may be none. */
template <class T, int V> NEURAL_FN void batch_norm_parts(const batch_norm_params &p)
{
    typedef typename neural_computed<T>::type C;
    const uint64_t first =
        (uint64_t)blockIdx.x * BATCH_NORM_THREADS * BATCH_NORM_UNROLL + threadIdx.x;
    batch_norm_vectors<T, V>(p, first, BATCH_NORM_THREADS, p.size / V, [&](uint64_t i, C(&y)[V]) {
        uint64_t rest;
        int64_t c = batch_norm_channel(p, i * V, &rest);
        auto a = batch_norm_affine<T>::of_channel(p, c);
#pragma unroll
        for (int k = 0; k < V; k++) {
            if (k > 0 && ++rest == (uint64_t)p.inner.extent) {
                rest = 0;
                c = c + 1 == p.channels.extent ? 0 : c + 1;
                a = batch_norm_affine<T>::of_channel(p, c);
            }
            y[k] = a.of(y[k]);
        }
    });
    const uint64_t last = p.size / V * V + first;
    if (last < p.size) {
        uint64_t rest;
        const auto a = batch_norm_affine<T>::of_channel(p, batch_norm_channel(p, last, &rest));
        neural_narrow((T *)p.out + last, a.of(neural_widen(((const T *)p.x)[last])));
    }
}

/* Dense memory, channels innermost in whole vectors: a thread keeps its channels. */
template <class T, int V> NEURAL_FN void batch_norm_columns(const batch_norm_params &p)
{
    typedef typename neural_computed<T>::type C;
    const uint64_t first = (uint64_t)blockIdx.x * BATCH_NORM_THREADS + threadIdx.x,
                   end = p.size / V;
    batch_norm_affine<T> a[V];
    if (first >= p.threads || first >= end)
        return;
    const uint64_t line = line_quotient(first, p.inner);
    const int64_t c = (int64_t)(first - line * (uint64_t)p.inner.extent) * V;
#pragma unroll
    for (int k = 0; k < V; k++)
        a[k] = batch_norm_affine<T>::of_channel(p, c + k);
    for (uint64_t i = first; i < end; i += BATCH_NORM_UNROLL * p.threads)
        batch_norm_vectors<T, V>(p, i, p.threads, end, [&](uint64_t, C(&y)[V]) {
#pragma unroll
            for (int k = 0; k < V; k++)
                y[k] = a[k].of(y[k]);
        });
}

/* Any layout, element by element. */
template <class T> NEURAL_FN void batch_norm_any(const batch_norm_params &p)
{
    uint64_t i = (uint64_t)blockIdx.x * BATCH_NORM_THREADS + threadIdx.x;
    for (; i < p.size; i += (uint64_t)gridDim.x * BATCH_NORM_THREADS) {
        uint64_t n = i;
        int64_t x = 0, out = 0, at[BATCH_NORM_OF] = {};
#pragma unroll 1
        for (int d = 0; d < p.ndim; d++) {
            const int64_t j = (int64_t)line_index(p.dim[d].at, d + 1 < p.ndim, n);
            x += j * p.dim[d].at.in;
            out += j * p.dim[d].at.out;
#pragma unroll
            for (int k = 0; k < BATCH_NORM_OF; k++)
                at[k] += j * p.dim[d].of[k];
        }
        neural_narrow((T *)p.out + out,
                      batch_norm_affine<T>(p, at).of(neural_widen(((const T *)p.x)[x])));
    }
}

#define BATCH_NORM_DTYPE_(dtype) cuda_dtype<NDP_##dtype>::stored
#define BATCH_NORM_DTYPE(dtype) BATCH_NORM_DTYPE_(dtype)
typedef BATCH_NORM_DTYPE(CUDA_DTYPE) batch_norm_element;
enum { BATCH_NORM_V = 16 / sizeof(batch_norm_element) };
#define BATCH_NORM_NAME_(name, dtype) batch_norm_##name##_##dtype
#define BATCH_NORM_NAME(name, dtype) BATCH_NORM_NAME_(name, dtype)
#define BATCH_NORM_KERNEL(name, ...)                                                   \
    extern "C" __global__ void __launch_bounds__(BATCH_NORM_THREADS)                   \
        BATCH_NORM_NAME(name, CUDA_DTYPE)(const __grid_constant__ batch_norm_params p) \
    {                                                                                  \
        __VA_ARGS__(p);                                                                \
    }
BATCH_NORM_KERNEL(whole, batch_norm_whole<batch_norm_element, BATCH_NORM_V>)
BATCH_NORM_KERNEL(parts, batch_norm_parts<batch_norm_element, BATCH_NORM_V>)
BATCH_NORM_KERNEL(columns, batch_norm_columns<batch_norm_element, BATCH_NORM_V>)
BATCH_NORM_KERNEL(any, batch_norm_any<batch_norm_element>)
