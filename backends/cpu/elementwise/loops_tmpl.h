/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The loops of one dtype: includes the formulas for it and wraps each in a loop over dense
 * operands; the table row is ew_row_<dtype>. Text included once per dtype after
 * elementwise/loops.h, with EW_DTYPE, EW_KIND, ND_T and, for integers, ND_U and ND_BITS defined,
 * which end here; what the formulas ask for besides belongs to the floating type and stays. f16 and
 * bf16 have the loops of f32 but for what depends on the storage format. EW_OVERRIDE_<op>, as ND_EXPAND_BY(loop),
 * names another loop for the row; EW_EACH_floor_divide and EW_EACH_remainder those of integers whose
 * divisors differ (divide_tmpl.h). */
#define ND_FN EW_INLINE /* a loop with a call in it is not vectorised */
#define ND_FN_APART static __attribute__((noinline, unused))
#define ND_BOOL_T uint8_t
#define ND_NAME(op) CPU_CAT(op, EW_DTYPE)
#define EW_FN(name) CPU_CAT(ew, CPU_CAT(name, EW_DTYPE))
#define EW_LOOP(name) CPU_CAT(loop, CPU_CAT(name, EW_DTYPE))
#define ND_IS_BOOL (EW_KIND == EW_KIND_BOOL)
#define ND_IS_INT (EW_KIND == EW_KIND_INT)
#define ND_IS_UINT (EW_KIND == EW_KIND_UINT)
#define ND_IS_FLOAT ((EW_KIND & EW_KIND_FLOAT) != 0)
#define ND_IS_COMPLEX (EW_KIND == EW_KIND_COMPLEX)
#if !ND_IS_COMPLEX
#define EW_REAL ND_T
#include <ndock/scalar_tmpl.h>
#else
#define EW_REAL ND_R
#include <ndock/scalar_complex_tmpl.h>
#include <ndock/scalar_complex_log_tmpl.h>
#endif

/* What an element counts as: memory from elsewhere may hold any byte, and every byte but 0 is true.
 */
#if ND_IS_BOOL
#define EW_GET(x) ((ND_T)((x) != 0))
#else
#define EW_GET(x) (x)
#endif

/* The function is a constant, so it is inlined and the loop vectorised. An output that is an input
 * carries nothing from one element to the next. */
EW_INLINE void EW_FN(unary_SAME)(ND_T (*f)(ND_T), char *const *p, int64_t n)
{
    const ND_T *a = (const ND_T *)p[0];
    ND_T *out = (ND_T *)p[1];
    EW_IVDEP
    for (int64_t i = 0; i < n; i++)
        out[i] = f(EW_GET(a[i]));
}
EW_INLINE void EW_FN(unary_REAL)(EW_REAL (*f)(ND_T), char *const *p, int64_t n)
{
    const ND_T *a = (const ND_T *)p[0];
    EW_REAL *out = (EW_REAL *)p[1];
    EW_IVDEP
    for (int64_t i = 0; i < n; i++)
        out[i] = f(EW_GET(a[i]));
}
EW_INLINE void EW_FN(unary_BOOL)(uint8_t (*f)(ND_T), char *const *p, int64_t n)
{
    const ND_T *a = (const ND_T *)p[0];
    uint8_t *out = (uint8_t *)p[1];
    EW_IVDEP
    for (int64_t i = 0; i < n; i++)
        out[i] = f(EW_GET(a[i]));
}
EW_INLINE void EW_FN(binary_SAME)(ND_T (*f)(ND_T, ND_T), char *const *p, int64_t n)
{
    const ND_T *a = (const ND_T *)p[0], *b = (const ND_T *)p[1];
    ND_T *out = (ND_T *)p[2];
    EW_IVDEP
    for (int64_t i = 0; i < n; i++)
        out[i] = f(EW_GET(a[i]), EW_GET(b[i]));
}
EW_INLINE void EW_FN(binary_BOOL)(uint8_t (*f)(ND_T, ND_T), char *const *p, int64_t n)
{
    const ND_T *a = (const ND_T *)p[0], *b = (const ND_T *)p[1];
    uint8_t *out = (uint8_t *)p[2];
    EW_IVDEP
    for (int64_t i = 0; i < n; i++)
        out[i] = f(EW_GET(a[i]), EW_GET(b[i]));
}
EW_INLINE void EW_FN(masked)(ND_T (*f)(uint8_t, ND_T, ND_T), char *const *p, int64_t n)
{
    const uint8_t *mask = (const uint8_t *)p[0];
    const ND_T *a = (const ND_T *)p[1], *b = (const ND_T *)p[2];
    ND_T *out = (ND_T *)p[3];
    EW_IVDEP
    for (int64_t i = 0; i < n; i++)
        out[i] = f(mask[i], EW_GET(a[i]), EW_GET(b[i]));
}
#if ND_IS_INT || ND_IS_UINT || ND_IS_FLOAT
EW_INLINE void EW_FN(ternary)(ND_T (*f)(ND_T, ND_T, ND_T), char *const *p, int64_t n)
{
    const ND_T *a = (const ND_T *)p[0], *b = (const ND_T *)p[1], *c = (const ND_T *)p[2];
    ND_T *out = (ND_T *)p[3];
    EW_IVDEP
    for (int64_t i = 0; i < n; i++)
        out[i] = f(a[i], b[i], c[i]);
}
#endif

#if EW_KIND != EW_KIND_HALF
#define ND_EXPAND_UNARY ND_EXPAND_BY(EW_UNARY)
#define ND_EXPAND_BINARY ND_EXPAND_BY(EW_BINARY)
#define ND_EXPAND_TERNARY ND_EXPAND_BY(EW_TERNARY)
#define ND_EXPAND_KIND EW_KIND
#include <ndock/op_expand.h>
#undef ND_EXPAND_UNARY
#undef ND_EXPAND_BINARY
#undef ND_EXPAND_TERNARY
#else
static void EW_LOOP(fma)(char *const *p, int64_t n)
{
    EW_FN(ternary)(ND_NAME(fma), p, n);
}
static void EW_LOOP(nextafter)(char *const *p, int64_t n)
{
    EW_FN(binary_SAME)(ND_NAME(nextafter), p, n);
}
#endif
#if EW_KIND == EW_KIND_FLOAT
#include "elementwise/arith_tmpl.h"
#endif
#if ND_IS_INT || ND_IS_UINT
#ifndef EW_EACH_floor_divide
#define EW_EACH_floor_divide EW_LOOP(floor_divide)
#define EW_EACH_remainder EW_LOOP(remainder)
#endif
#include "elementwise/divide_tmpl.h"
#define EW_OVERRIDE_floor_divide ND_EXPAND_BY(EW_LOOP(quotients))
#define EW_OVERRIDE_remainder ND_EXPAND_BY(EW_LOOP(remainders))
#endif
const ew_loop CPU_ISA_FN(CPU_CAT(ew_row, EW_DTYPE))[NDP_OP_END] = {
#define ND_EXPAND_UNARY ND_EXPAND_BY(EW_CELL)
#define ND_EXPAND_BINARY ND_EXPAND_BY(EW_CELL)
#define ND_EXPAND_TERNARY ND_EXPAND_BY(EW_CELL)
#define ND_EXPAND_KIND EW_KIND
#include <ndock/op_expand.h>
};
#undef ND_EXPAND_UNARY
#undef ND_EXPAND_BINARY
#undef ND_EXPAND_TERNARY

#if ND_IS_INT || ND_IS_UINT
#undef EW_EACH_floor_divide
#undef EW_EACH_remainder
#undef EW_OVERRIDE_floor_divide
#undef EW_OVERRIDE_remainder
#endif
#undef EW_GET
#undef ND_IS_BOOL
#undef ND_IS_INT
#undef ND_IS_UINT
#undef ND_IS_FLOAT
#undef ND_IS_COMPLEX
#undef ND_FN
#undef ND_FN_APART
#undef ND_BOOL_T
#undef ND_NAME
#undef ND_T
#undef ND_U
#undef ND_BITS
#undef EW_REAL
#undef EW_FN
#undef EW_LOOP
#undef EW_DTYPE
#undef EW_KIND
