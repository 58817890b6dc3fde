/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What index/select.c has of each SIMD level. */
#ifndef NDOCK_CPU_INDEX_SELECT_H
#define NDOCK_CPU_INDEX_SELECT_H
#include "host/cpu.h"

/* Writes the elements of a, `stride` elements apart, where the mask is true, `step` elements apart, from
 * to[position*step] on, up to position end. */
typedef void compress_fn(const char *a, int64_t stride, const uint8_t *mask, int64_t mask_stride,
                         int64_t n, char *to, int64_t step, int64_t position, int64_t end);

/* By the size of an element, functions for strides and steps of 1; NULL: there is none. */
typedef struct {
    compress_fn *compress[17];
} select_moves;
CPU_ISA_DECLARE(extern const select_moves, select_dense);
#endif
