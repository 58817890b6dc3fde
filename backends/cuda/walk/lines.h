/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Dimensions of reductions, scans and norms in kernel parameters: kept ones, which number the lines
 * of elements, and those along a line. For host C and device C++. */
#ifndef NDOCK_CUDA_LINES_H
#define NDOCK_CUDA_LINES_H
#include <ndock/plugin.h>
#include "walk/divisor.h"

enum { LINE_MAX_NDIM = NDP_MAX_NDIM };

/* Strides count elements. magic and shift divide by the extent; of an extent that does not fit 31
 * bits, shift is LINE_WIDE. */
enum { LINE_WIDE = 255 };
typedef struct {
    int64_t extent, in, out;
    uint32_t magic, shift;
} line_dim;

static inline line_dim line_dim_of(int64_t extent, int64_t in, int64_t out)
{
    line_dim d = {extent, in, out, 0, LINE_WIDE};
    if (extent > 0 && extent < INT32_MAX) {
        cuda_divisor by = cuda_divisor_of((uint32_t)extent);
        d.magic = by.magic;
        d.shift = by.shift;
    }
    return d;
}

#endif
