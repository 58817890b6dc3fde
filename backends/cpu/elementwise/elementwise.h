/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the elementwise driver and its per-level loops agree on. */
#ifndef NDOCK_CPU_ELEMENTWISE_H
#define NDOCK_CPU_ELEMENTWISE_H
#include "host/cpu.h"

/* n elements, every operand dense; p holds the inputs in order, then the output, which may be the
 * same memory as an input but may not overlap one otherwise. f16 and bf16 come as float. */
typedef void (*ew_loop)(char *const *p, int64_t n);

/* An operation of a floating type with an operand of one element, and with its results streamed, after
 * which the caller calls ew_stream_end. */
enum { EW_DENSE, EW_SCALAR_FIRST, EW_SCALAR_SECOND, EW_FORMS, EW_ARITH_OPS = 4 };
typedef struct {
    int32_t op;
    ew_loop loop[EW_FORMS], streamed[EW_FORMS];
} ew_arith;

typedef struct {
    const ew_loop *loops[NDP_DTYPE_END]; /* by compute dtype, then by op; NULL where illegal */
    void (*load_f16)(float *to, const uint16_t *from, int64_t n);
    void (*load_bf16)(float *to, const uint16_t *from, int64_t n);
    void (*store_f16)(uint16_t *to, const float *from, int64_t n);
    void (*store_bf16)(uint16_t *to, const float *from, int64_t n);
    const ew_arith *arith[NDP_DTYPE_END]; /* EW_ARITH_OPS; NULL for dtypes without */
    /* Copies without reading the destination into the cache; the caller calls ew_stream_end then. */
    void (*stream)(char *to, const char *from, int64_t nbytes);
} ew_isa;
CPU_ISA_DECLARE(extern const ew_isa, elementwise_isa);

/* Streaming stores are otherwise not ordered before what other threads see next. Waits for memory, so
 * once, behind the last of them. */
static inline void ew_stream_end(void)
{
#ifdef __SSE2__
    __builtin_ia32_sfence();
#endif
}

#endif
