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

#endif
