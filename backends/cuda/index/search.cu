/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * searchsorted: one thread searches for one value. Keys have the order of the elements, and NaN
 * last, so that one kernel serves every dtype. */
#include "index/search.h"
#include "sort/keys.cuh"
#include "walk/walk.cuh"

static __device__ __forceinline__ int64_t position_of(const search_params &p, uint64_t key)
{
    int64_t low = 0, high = p.n;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        uint64_t there = key_of(p.dtype, p.sorted, middle * p.stride);
        if (there < key || (p.right && there == key))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

extern "C" __global__ void search(const __grid_constant__ search_params p)
{
    for (uint64_t i = cuda_thread(); i < p.walk.size; i += cuda_threads()) {
        int64_t from = 0, to = 0;
        cuda_walk_indices(p.walk, i, [&](int d, int64_t x) {
            from += x * p.value_stride[d];
            to += x * p.out_stride[d];
        });
        uint64_t key = key_of(p.dtype, p.values ? p.values : (uint64_t)p.scalar, from);
        ((int64_t *)p.out)[to] = position_of(p, key);
    }
}
