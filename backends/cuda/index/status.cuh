/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Indices that come from arrays: the check, and what is left behind for one out of range. */
#ifndef NDOCK_CUDA_STATUS_CUH
#define NDOCK_CUDA_STATUS_CUH
#include <ndock/plugin.h>
#include "walk/walk.cuh"

/* Adding the extent maps what is allowed to 0 ... 2*extent - 1 in unsigned arithmetic. */
static __device__ __forceinline__ bool cuda_index_is_bad(int64_t index, int64_t extent)
{
    return (uint64_t)index + (uint64_t)extent >= 2 * (uint64_t)extent;
}

static __device__ __forceinline__ int64_t cuda_index_wrap(int64_t index, int64_t extent)
{
    return index + ((index >> 63) & extent);
}

/* The i-th element of the walk has a bad index. Whoever claims the stream's status word first fills
 * it, so that the first operation that failed is told of, and one index of it. The position counts
 * the indices given: dimensions that repeat them are left out. */
static __device__ __noinline__ void cuda_index_report(uint64_t status, int32_t op,
                                                      const cuda_walk &w, const int64_t *at_stride,
                                                      uint64_t i, int64_t value, int64_t extent)
{
    unsigned long long *word = (unsigned long long *)status;
    if (!word || atomicCAS(word, 0ull, (unsigned long long)NDP_ERR_INDEX) != 0ull)
        return;
    int64_t position = 0, count = 1;
    cuda_walk_indices(w, i, [&](int d, int64_t x) {
        if (at_stride[d] != 0) {
            position += x * count;
            count *= w.shape[d];
        }
    });
    word[1] = (unsigned long long)op;
    word[2] = (unsigned long long)position;
    word[3] = (unsigned long long)value;
    word[4] = (unsigned long long)extent;
}

#endif
