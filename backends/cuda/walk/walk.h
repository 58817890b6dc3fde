/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A shape that a kernel walks in C order, for any rank and size; for host C and device C++. */
#ifndef NDOCK_CUDA_WALK_H
#define NDOCK_CUDA_WALK_H
#include "walk/divisor.h"

enum { CUDA_WALK_NDIM = 64 };

/* Dimensions innermost first. */
typedef struct {
    uint64_t size;
    int32_t ndim, wide; /* wide: too many elements for 32-bit arithmetic; divisors are not set */
    int64_t shape[CUDA_WALK_NDIM];
    cuda_divisor divisor[CUDA_WALK_NDIM];
} cuda_walk;

static inline void cuda_walk_begin(cuda_walk *w)
{
    w->size = 1;
    w->ndim = w->wide = 0;
}

/* Adds a dimension outside those before; returns its number, where its strides belong. */
static inline int cuda_walk_add(cuda_walk *w, int64_t extent)
{
    w->shape[w->ndim] = extent;
    w->size *= (uint64_t)extent;
    return w->ndim++;
}

static inline void cuda_walk_end(cuda_walk *w)
{
    w->wide = w->size >= ((uint64_t)1 << 31);
    for (int d = 0; d < w->ndim && !w->wide && w->size > 0; d++)
        w->divisor[d] = cuda_divisor_of((uint32_t)w->shape[d]);
}

#endif
