/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The elementwise loops of the complex dtypes, built once per SIMD level. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 13
/* As in elementwise_isa.c. Formulas that end in several places, as logarithms, are moreover put together
 * again before they are made vectors of. */
#pragma GCC optimize("no-thread-jumps", "tree-partial-pre")
#endif
#include <float.h>
#include "elementwise/loops.h"

typedef struct {
    float re, im;
} ew_c64;
typedef struct {
    double re, im;
} ew_c128;
#define ND_M(fn) vm_f32_##fn
#define ND_R float
#define ND_R_MANT_DIG FLT_MANT_DIG
#define ND_R_MAX FLT_MAX
#define ND_R_MIN FLT_MIN
#define ND_R_EPSILON FLT_EPSILON
#define ND_INFINITY ((float)INFINITY)
#define ND_NAN_VALUE ((float)NAN)
#define EW_DTYPE c64
#define EW_KIND EW_KIND_COMPLEX
#define ND_T ew_c64
#include "elementwise/loops_tmpl.h"
#undef ND_M
#undef ND_R
#undef ND_R_MANT_DIG
#undef ND_R_MAX
#undef ND_R_MIN
#undef ND_R_EPSILON
#undef ND_INFINITY
#undef ND_NAN_VALUE
#define ND_M(fn) vm_f64_##fn
#define ND_R double
#define ND_R_MANT_DIG DBL_MANT_DIG
#define ND_R_MAX DBL_MAX
#define ND_R_MIN DBL_MIN
#define ND_R_EPSILON DBL_EPSILON
#define ND_INFINITY ((double)INFINITY)
#define ND_NAN_VALUE ((double)NAN)
#define EW_DTYPE c128
#define EW_KIND EW_KIND_COMPLEX
#define ND_T ew_c128
#include "elementwise/loops_tmpl.h"
