/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the elementwise driver and its per-level loops agree on. */
#ifndef NDOCK_CPU_ELEMENTWISE_H
#define NDOCK_CPU_ELEMENTWISE_H
#include "host/cpu.h"

/* n elements, every operand dense; p holds the inputs in order, then the output, which may be the
 * same memory as an input but may not overlap one otherwise. f16 and bf16 come as float. */
typedef void (*ew_loop)(char *const *p, int64_t n);

typedef struct {
    const ew_loop *loops[NDP_DTYPE_END]; /* by compute dtype, then by op; NULL where illegal */
    void (*load_f16)(float *to, const uint16_t *from, int64_t n);
    void (*load_bf16)(float *to, const uint16_t *from, int64_t n);
    void (*store_f16)(uint16_t *to, const float *from, int64_t n);
    void (*store_bf16)(uint16_t *to, const float *from, int64_t n);
    /* Copies without reading the destination into the cache. */
    void (*stream)(char *to, const char *from, int64_t nbytes);
} ew_isa;
CPU_ISA_DECLARE(extern const ew_isa, elementwise_isa);

#endif
