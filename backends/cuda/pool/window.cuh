/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What kernels of pools, resampling and unfold share: the walk over rows, and spans of elements along
 * the last axis. */
#ifndef NDOCK_CUDA_WINDOW_CUH
#define NDOCK_CUDA_WINDOW_CUH
#include "neural/neural.cuh"
#include "pool/pool.h"
#include "walk/divisor.cuh"

#define WINDOW_FN static __device__ __forceinline__
#define WINDOW_ELEMENT_OF(dtype) cuda_dtype<NDP_##dtype>::stored
#define WINDOW_ELEMENT(dtype) WINDOW_ELEMENT_OF(dtype)
#define WINDOW_JOIN_(name, dtype) name##_##dtype
#define WINDOW_JOIN(name, dtype) WINDOW_JOIN_(name, dtype)
#define WINDOW_NAME(name) WINDOW_JOIN(name, CUDA_DTYPE) /* of a kernel */

/* f(row, item) for all that this thread has; a row's items come to it one after the other last. */
template <class F> WINDOW_FN void window_each(const window_walk &w, F f)
{
    const uint32_t beside = blockDim.x >> w.lane_bits;
    const uint32_t lane = threadIdx.x & (w.lanes - 1), first = threadIdx.x >> w.lane_bits;
    for (uint64_t item = (uint64_t)blockIdx.y * w.lanes + lane; item < w.items;
         item += (uint64_t)gridDim.y * w.lanes)
        for (uint64_t row = (uint64_t)blockIdx.x * beside + first; row < w.rows;
             row += (uint64_t)gridDim.x * beside)
            f((uint32_t)row, (uint32_t)item);
}

/* The coordinates of a row: N divisors give N + 1. */
template <int N>
WINDOW_FN void window_split(const window_walk &w, uint32_t row, int32_t (&at)[N + 1])
{
#pragma unroll
    for (int d = N; d > 0; d--) {
        const uint32_t rest = cuda_quotient(row, w.split[d - 1]);
        at[d] = (int32_t)(row - rest * w.split[d - 1].value);
        row = rest;
    }
    at[0] = (int32_t)row;
}

/* Elements first*STEP - BEFORE + j of a row, for as many j as V windows of KERNEL elements need, STEP
 * apart; where it has none, pad. Those from first*STEP on, V*STEP of them, are there and aligned. */
template <class T, int V, int KERNEL, int STEP, int BEFORE, class C>
WINDOW_FN void window_span(const T *row, int32_t first, int32_t extent, C pad,
                           C (&x)[(V - 1) * STEP + KERNEL])
{
    constexpr int N = (V - 1) * STEP + KERNEL;
    const int32_t base = first * STEP;
#pragma unroll
    for (int j = 0; j < BEFORE; j++)
        x[j] = base + j >= BEFORE ? (C)neural_widen(row[base + j - BEFORE]) : pad;
#pragma unroll
    for (int k = 0; k < STEP; k++) {
        C some[V];
        neural_load<T, V>(row + base + k * V, 0, some);
#pragma unroll
        for (int i = 0; i < V; i++)
            if (k * V + i + BEFORE < N)
                x[k * V + i + BEFORE] = some[i];
    }
#pragma unroll
    for (int j = V * STEP + BEFORE; j < N; j++)
        x[j] = base + j - BEFORE < extent ? (C)neural_widen(row[base + j - BEFORE]) : pad;
}

/* The window along an axis whose tap k is element e; -1: there is none. */
WINDOW_FN int32_t window_with(const cuda_unfolding &p, int d, int32_t e, int32_t k)
{
    const int32_t at = e + p.before[d] - k * p.dilation[d];
    if (at < 0)
        return -1;
    const int32_t window = (int32_t)cuda_quotient((uint32_t)at, p.step[d]);
    return window * p.stride[d] == at && window < p.grid_extent[d] ? window : -1;
}

/* The taps along an axis that may meet element e: from *first on, each step-th. */
WINDOW_FN int32_t window_taps(const cuda_unfolding &p, int d, int32_t e, int32_t *first)
{
    const int32_t at = e + p.before[d];
    *first = 0;
    if (p.dilation[d] != 1)
        return 1;
    *first = at - (int32_t)cuda_quotient((uint32_t)at, p.step[d]) * p.stride[d];
    return p.stride[d];
}

#endif
