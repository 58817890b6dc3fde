/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Rows up to SORT_SMALL long, sorted by one block each: for order statistics too, which are a part of
 * them. */
#ifndef NDOCK_CUDA_SORT_SMALL_H
#define NDOCK_CUDA_SORT_SMALL_H
#include "host/backend.h"
#include "sort/sort.h"

/* The kernel for elements of the dtype. */
int32_t cuda_sort_small_find(const cuda_kernel *k, int32_t dtype, CUfunction *out);
int32_t cuda_sort_small(const cuda_kernel *k, CUfunction f, ndp_stream *s, const ndp_call *call);

#endif
