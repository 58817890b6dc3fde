/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * From an element's number to its indices and offsets. */
#ifndef NDOCK_CUDA_WALK_CUH
#define NDOCK_CUDA_WALK_CUH
#include "walk/divisor.cuh"
#include "walk/walk.h"

/* f(d, x) for the dimensions from `first` on, innermost first: x is the index there of element
 * `rest`. UNROLL 1 keeps loops short that stand in a kernel several times. */
template <int UNROLL, class F>
static __device__ __forceinline__ void cuda_walk_from(const cuda_divisor *extent, int first,
                                                      int ndim, uint32_t rest, F f)
{
#pragma unroll UNROLL
    for (int d = first; d < ndim; d++) {
        uint32_t above = cuda_quotient(rest, extent[d]);
        f(d, rest - above * extent[d].value);
        rest = above;
    }
}

/* Of the i-th element of a walk of any size. */
template <class F>
static __device__ __forceinline__ void cuda_walk_indices(const cuda_walk &w, uint64_t i, F f)
{
    if (!w.wide) {
        cuda_walk_from<4>(w.divisor, 0, w.ndim, (uint32_t)i,
                          [&](int d, uint32_t x) { f(d, (int64_t)x); });
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
