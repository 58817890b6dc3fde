/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A kernel of the elementwise operations, and its run by blocks. */
#ifndef NDOCK_CPU_ELEMENTWISE_BLOCKS_H
#define NDOCK_CPU_ELEMENTWISE_BLOCKS_H
#include "elementwise/elementwise.h"

#define EW_OPERANDS 4 /* inputs and the output */
#define EW_COSTLY_GRAIN 4096

typedef struct {
    ndp_kernel base;
    ew_loop loop;
    int32_t op, dtype, out_dtype;
    int32_t widen;  /* f16 and bf16 operands become float */
    int32_t costly; /* slower than memory: small chunks, no streaming */
} ew_kernel;

/* The loops of this processor's level; set before there is a kernel. */
extern const ew_isa *ew_loops;

/* Runs a call in blocks, by all threads; flat: its views are dense, or scalars. */
void ew_run_blocks(const ew_kernel *kernel, const ndp_call *call, int flat);
#endif
