/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters of the kernels that move elements of one size, whatever they mean. */
#ifndef NDOCK_CUDA_MOVE_H
#define NDOCK_CUDA_MOVE_H
#include "walk/lines.h"

enum { MOVE_FILL_VECTORS = 4 }; /* that a thread stores, a block's width apart */

/* nbytes at dst become pattern over and over; vector is the pattern from the first address on that
 * 16 divides. */
typedef struct {
    uint64_t dst, nbytes;
    alignas(16) unsigned char pattern[16], vector[16];
} move_fill;

enum { MOVE_REPEAT_VECTORS = 4 }; /* of 16 bytes that a thread stores, a block's width apart */

/* n elements that lie side by side at src become `count` each, side by side from dst on, which 16
 * divides. A block takes `each` of them, which make whole vectors. pairs: count is 2, and 8 divides src. */
typedef struct {
    uint64_t dst, src, n;
    uint32_t each, pairs;
    cuda_divisor count;
} move_repeat;

#endif
