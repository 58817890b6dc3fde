/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * How rows of op.def become loops and table cells: for the files that include loops_tmpl.h. */
#ifndef NDOCK_CPU_ELEMENTWISE_LOOPS_H
#define NDOCK_CPU_ELEMENTWISE_LOOPS_H
#include "elementwise/elementwise.h"
#include "math/half.h"
#include "math/pow.h"
#include "math/vmath.h"

#ifdef CPU_KEEPS_CALLS /* configure says why */
#define EW_INLINE static inline __attribute__((unused))
#else
#define EW_INLINE static inline __attribute__((always_inline, unused))
#endif
/* clang tests for overlap at run time, and warns where it is told not to and cannot vectorise. */
#if defined(__GNUC__) && !defined(__clang__)
#define EW_IVDEP _Pragma("GCC ivdep")
#else
#define EW_IVDEP
#endif

/* Kinds of dtype, by their bits in opdomain.def; half has one more, as its formulas are float's. */
#define EW_KIND_BOOL 1
#define EW_KIND_INT 2
#define EW_KIND_UINT 4
#define EW_KIND_FLOAT 8
#define EW_KIND_COMPLEX 16
#define EW_KIND_HALF 40

/* What rows of op.def become by <ndock/op_expand.h>: first a loop, which an override may leave unused, */
#define EW_WRAP(name, loop)                                                      \
    static __attribute__((unused)) void EW_LOOP(name)(char *const *p, int64_t n) \
    {                                                                            \
        EW_FN(loop)(ND_NAME(name), p, n);                                        \
    }
#define EW_UNARY(name, DOMAIN, RESULT, ulp, doc) EW_WRAP(name, unary_##RESULT)
#define EW_BINARY(name, DOMAIN, RESULT, ulp, doc) EW_WRAP(name, binary_##RESULT)
#define EW_TERNARY(name, DOMAIN, RESULT, ulp, doc) \
    EW_WRAP(name, ND_EXPAND_CHOOSE(EW_MASKED_##name, ternary))
#define EW_MASKED_where ND_EXPAND_BY(masked) /* the one with a bool operand */

/* of arith_tmpl.h, and their rows of its table, */
#define EW_ARITH_LOOP(name, which, form)                                              \
    static void EW_FN(CPU_CAT(which, CPU_CAT(form, name)))(char *const *p, int64_t n) \
    {                                                                                 \
        EW_FN(which)(ND_NAME(name), p, n, form);                                      \
    }
#define EW_ARITH_LOOPS(name)                       \
    EW_ARITH_LOOP(name, formed, EW_DENSE)          \
    EW_ARITH_LOOP(name, formed, EW_SCALAR_FIRST)   \
    EW_ARITH_LOOP(name, formed, EW_SCALAR_SECOND)  \
    EW_ARITH_LOOP(name, streamed, EW_DENSE)        \
    EW_ARITH_LOOP(name, streamed, EW_SCALAR_FIRST) \
    EW_ARITH_LOOP(name, streamed, EW_SCALAR_SECOND)
#define EW_ARITH_FORM(name, which, form) [form] = EW_FN(CPU_CAT(which, CPU_CAT(form, name)))
#define EW_ARITH_ROW(name)                                             \
    {                                                                  \
        .op = NDP_OP_##name,                                           \
        .loop = {EW_ARITH_FORM(name, formed, EW_DENSE),                \
                 EW_ARITH_FORM(name, formed, EW_SCALAR_FIRST),         \
                 EW_ARITH_FORM(name, formed, EW_SCALAR_SECOND)},       \
        .streamed = {EW_ARITH_FORM(name, streamed, EW_DENSE),          \
                     EW_ARITH_FORM(name, streamed, EW_SCALAR_FIRST),   \
                     EW_ARITH_FORM(name, streamed, EW_SCALAR_SECOND)}, \
    }

/* then a cell of the table of loops. */
#define EW_CELL(name, DOMAIN, RESULT, ulp, doc) \
    [NDP_OP_##name] =                           \
        ND_EXPAND_CHOOSE(EW_OVERRIDE_##name, CPU_CAT(loop, CPU_CAT(name, EW_LOOPS_OF))),
#define EW_LOOPS_OF EW_DTYPE

/* The rows of the table, by dtype. */
#define EW_ROW_DECLARE(name) extern const ew_loop CPU_ISA_FN(ew_row_##name)[NDP_OP_END];
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) \
    CPU_OF_KIND(KIND, EW_ROW_DECLARE)(name)
#include <ndock/dtype.def>

#endif
