/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Walks by element: from the number of an element in C order to its offset in each of several
 * operands, by division. Dimensions are innermost first; the operands' strides stand beside the
 * walk in a kernel's parameters. For host C and device C++; plan.h sets them up. */
#ifndef NDOCK_CUDA_WALK_H
#define NDOCK_CUDA_WALK_H
#include "walk/divisor.h"

enum { CUDA_WALK_NDIM = 64, CUDA_WALK_FEW = 6 };

/* Of any rank and size. */
typedef struct {
    uint64_t size;
    int32_t ndim, wide; /* wide: too many elements for 32-bit arithmetic; divisors are not set */
    int64_t shape[CUDA_WALK_NDIM];
    cuda_divisor divisor[CUDA_WALK_NDIM];
} cuda_walk;

/* Of pieces that a plan has cut a call into: fewer than 2^31 elements. */
typedef struct {
    int32_t ndim;
    cuda_divisor extent[CUDA_WALK_FEW];
} cuda_walk_few;

#endif
