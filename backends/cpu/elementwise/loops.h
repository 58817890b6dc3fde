/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * How rows of op.def become loops and table cells: for the files that include loops_tmpl.h. */
#ifndef NDOCK_CPU_ELEMENTWISE_LOOPS_H
#define NDOCK_CPU_ELEMENTWISE_LOOPS_H
#include "elementwise/elementwise.h"
#include "math/half.h"
#include "math/vmath.h"

#define EW_INLINE static inline __attribute__((always_inline, unused))
/* clang tests for overlap at run time, and warns where it is told not to and cannot vectorise. */
#if defined(__GNUC__) && !defined(__clang__)
#define EW_IVDEP _Pragma("GCC ivdep")
#else
#define EW_IVDEP
#endif

#define EW_KIND_BOOL 1
#define EW_KIND_INT 2
#define EW_KIND_UINT 3
#define EW_KIND_FLOAT 4
#define EW_KIND_COMPLEX 5
#define EW_KIND_HALF 6

/* EW_PICK(probe, yes) is yes where the macro probe exists (as "~,"), else EW_NOTHING. So a row of
 * op.def expands only where its class is elementwise and its domain holds the dtype's kind. */
#define EW_SECOND_(a, b, ...) b
#define EW_SECOND(...) EW_SECOND_(__VA_ARGS__)
#define EW_PICK(probe, yes) EW_SECOND(probe yes, EW_NOTHING, ~)
#define EW_NOTHING(name, RESULT)
#define EW_IS_UNARY ~,
#define EW_IS_BINARY ~,
#define EW_IS_TERNARY ~,
#define EW_MASKED_where ~, masked, /* the one with a bool operand */

#define EW_OP_LOOP(name, CLASS, DOMAIN, RESULT, ulp, doc) \
    EW_PICK(EW_HAS_##DOMAIN, EW_PICK(EW_IS_##CLASS, EW_##CLASS))(name, RESULT)
#define EW_WRAP(name, loop)                              \
    static void EW_LOOP(name)(char *const *p, int64_t n) \
    {                                                    \
        EW_FN(loop)(ND_NAME(name), p, n);                \
    }
#define EW_UNARY(name, RESULT) EW_WRAP(name, unary_##RESULT)
#define EW_BINARY(name, RESULT) EW_WRAP(name, binary_##RESULT)
#define EW_TERNARY(name, RESULT) EW_WRAP(name, EW_SECOND(EW_MASKED_##name, ternary, ~))

#define EW_OP_CELL(name, CLASS, DOMAIN, RESULT, ulp, doc) \
    EW_PICK(EW_HAS_##DOMAIN, EW_PICK(EW_IS_##CLASS, EW_CELL))(name, RESULT)
#define EW_CELL(name, RESULT) \
    [NDP_OP_##name] = EW_SECOND(EW_OVERRIDE_##name, CPU_CAT(loop, CPU_CAT(name, EW_LOOPS_OF)), ~),
#define EW_LOOPS_OF EW_DTYPE

/* The rows of the table, by dtype. */
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) \
    extern const ew_loop CPU_ISA_FN(ew_row_##name)[NDP_OP_END];
#include <ndock/dtype.def>

#endif
