/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Where a row and its results begin, of parameters of sorts and of order statistics alike. */
#ifndef NDOCK_CUDA_SORT_PLACE_CUH
#define NDOCK_CUDA_SORT_PLACE_CUH
#include "walk/walk.cuh"

struct row_place {
    int64_t a, values, positions;
};

template <class PARAMS>
static __device__ __forceinline__ row_place place_of(const PARAMS &p, uint64_t row)
{
    row_place r = {0, 0, 0};
    cuda_walk_indices(p.rows, row, [&](int d, int64_t x) {
        r.a += x * p.row_stride[d];
        r.values += x * p.row_values_stride[d];
        r.positions += x * p.row_positions_stride[d];
    });
    return r;
}

#endif
