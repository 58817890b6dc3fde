/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What scalar_complex_tmpl.h asks for, of the complex dtype T. Parts of c64 take OpenCL's functions
 * of f64 where there is one. */
#define ND_FN static
#define ND_NAME(op) nd_##op
#define ND_T CAT(computed_, T)
#define ND_BOOL_T uchar
#define ND_M(fn) part_##fn
#if T_BITS == 64
typedef float part;
#define ND_R_MANT_DIG 24
#define ND_R_MAX FLT_MAX
#define ND_R_MIN FLT_MIN
#define ND_R_EPSILON FLT_EPSILON
#define ND_INFINITY INFINITY
#define ND_NAN_VALUE NAN
#else
typedef double part;
#define ND_R_MANT_DIG 53
#define ND_R_MAX DBL_MAX
#define ND_R_MIN DBL_MIN
#define ND_R_EPSILON DBL_EPSILON
#define ND_INFINITY ((double)INFINITY)
#define ND_NAN_VALUE ((double)NAN)
#endif
#define ND_R part
#define BY_WIDE_1(fn)                     \
    static part part_##fn(part x)         \
    {                                     \
        return (part)fn((wide)x);         \
    }
#define BY_WIDE_2(fn)                       \
    static part part_##fn(part x, part y)   \
    {                                       \
        return (part)fn((wide)x, (wide)y);  \
    }
BY_WIDE_1(atan)
BY_WIDE_1(asin)
BY_WIDE_1(acos)
BY_WIDE_1(cos)
BY_WIDE_1(sin)
BY_WIDE_1(exp)
BY_WIDE_1(expm1)
BY_WIDE_1(log)
BY_WIDE_1(log10)
BY_WIDE_1(log1p)
BY_WIDE_1(log2)
BY_WIDE_1(sqrt)
BY_WIDE_2(atan2)
BY_WIDE_2(hypot)
#undef BY_WIDE_1
#undef BY_WIDE_2
static inline part part_fabs(part x)
{
    return fabs(x);
}
static inline part part_rint(part x)
{
    return rint(x);
}
static inline part part_copysign(part x, part y)
{
    return copysign(x, y);
}
static inline part part_fma(part a, part b, part c)
{
    return fma(a, b, c);
}
static inline part part_ldexp(part x, int n)
{
    return ldexp(x, n);
}
static inline int part_ilogb(part x)
{
    return ilogb(x);
}
