/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * From an element's number to its indices. */
#ifndef NDOCK_CUDA_WALK_CUH
#define NDOCK_CUDA_WALK_CUH
#include "walk/divisor.cuh"
#include "walk/walk.h"

/* f(d, x) for every dimension, innermost first: x is the index there of the i-th element. */
template <class F>
static __device__ __forceinline__ void cuda_walk_indices(const cuda_walk &w, uint64_t i, F f)
{
    if (!w.wide) {
        uint32_t rest = (uint32_t)i;
        for (int d = 0; d < w.ndim; d++) {
            uint32_t above = cuda_quotient(rest, w.divisor[d]);
            f(d, (int64_t)(rest - above * w.divisor[d].value));
            rest = above;
        }
    } else {
        for (int d = 0; d < w.ndim; d++) {
            uint64_t above = i / (uint64_t)w.shape[d];
            f(d, (int64_t)(i - above * (uint64_t)w.shape[d]));
            i = above;
        }
    }
}

static __device__ __forceinline__ int64_t cuda_walk_offset(const cuda_walk &w, uint64_t i,
                                                           const int64_t *stride)
{
    int64_t offset = 0;
    cuda_walk_indices(w, i, [&](int d, int64_t x) { offset += x * stride[d]; });
    return offset;
}

/* Elements are shared out among all threads of a grid. */
static __device__ __forceinline__ uint64_t cuda_thread(void)
{
    return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
}
static __device__ __forceinline__ uint64_t cuda_threads(void)
{
    return (uint64_t)gridDim.x * blockDim.x;
}

#endif
