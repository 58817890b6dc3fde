/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Copies that convert: parameters of the kernels, and what move.c asks for. */
#ifndef NDOCK_CUDA_CAST_H
#define NDOCK_CUDA_CAST_H
#include "walk/lines.h"

/* Of a thread: elements, or of dense casts vectors of at most so many elements. */
enum { CAST_ITEMS = 2, CAST_VECTORS = 2, CAST_MOST = 8 };

/* Both dense. */
typedef struct {
    uint64_t dst, src, n;
    int32_t from; /* dtype of the source; of strided casts line_rows.kind is it */
} cast_dense;

#if !defined(__CUDACC__)
#include <ndock/plugin.h>
/* The kernel of op copy between two dtypes. Inputs that are scalars too. */
int32_t cuda_cast_find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out);
#endif
#endif
