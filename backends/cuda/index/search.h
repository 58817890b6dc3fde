/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters of the kernel of searchsorted. */
#ifndef NDOCK_CUDA_SEARCH_H
#define NDOCK_CUDA_SEARCH_H
#include "walk/walk.h"

typedef struct {
    cuda_walk walk;               /* over values and out */
    uint64_t sorted, values, out; /* values 0: the scalar */
    int64_t n, stride;            /* of sorted */
    int32_t dtype, right;
    uint64_t scalar[2];
    int64_t value_stride[CUDA_WALK_NDIM], out_stride[CUDA_WALK_NDIM];
} search_params;

#endif
