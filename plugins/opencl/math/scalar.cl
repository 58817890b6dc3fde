/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What scalar_tmpl.h asks for, of the real dtype T. f32 and the 16-bit types take OpenCL's
 * functions of f64 where there is one: those of f32 may be wrong by up to 16 units in the last
 * place. */
#define ND_FN static inline
#define ND_NAME(op) nd_##op
#define ND_T CAT(computed_, T)
#define ND_BOOL_T uchar
#define ND_IS_BOOL (T_KIND == KIND_BOOL)
#define ND_IS_INT (T_KIND == KIND_INT)
#define ND_IS_UINT (T_KIND == KIND_UINT)
#define ND_IS_FLOAT (T_KIND == KIND_FLOAT)

#if !ND_IS_FLOAT
#define ND_BITS T_BITS
#if T_BITS == 64
#define ND_U ulong
#else
#define ND_U uint
#endif
#else

#if T_BITS == 64
#define ND_MANT_DIG 53
#define ND_M(fn) f64_##fn
#define f64_fabs fabs
#define f64_floor floor
#define f64_ceil ceil
#define f64_trunc trunc
#define f64_rint rint
#define f64_sqrt sqrt
#define f64_copysign copysign
#define f64_fmod fmod
#define f64_hypot hypot
#define f64_pow pow
#define f64_exp exp
#define f64_expm1 expm1
#define f64_log log
#define f64_log1p log1p
#define f64_log2 log2
#define f64_log10 log10
#define f64_asin asin
#define f64_acos acos
#define f64_atan atan
#define f64_sinh sinh
#define f64_cosh cosh
#define f64_tanh tanh
#define f64_asinh asinh
#define f64_acosh acosh
#define f64_atanh atanh
#define f64_erf erf
#define f64_fma fma
#define f64_signbit signbit
#define f64_sin sin_f64
#define f64_cos cos_f64
#define f64_tan tan_f64
/* Beside the axis of x the angle is the quotient; a driver's may be wrong there by more than the
 * last bit of a subnormal number. */
static inline double f64_atan2(double y, double x)
{
    double q = y / x;
    return x > 0 && fabs(q) < 0x1p-28 ? q : atan2(y, x);
}
#define ND_W_WIDER 0
#define ND_X_WIDER 0
#define ND_NEXTAFTER(a, b) nextafter(a, b)
#define ND_FMA(a, b, c) fma(a, b, c)
#else
#define ND_MANT_DIG 24
#define ND_M(fn) m_##fn
#define ND_W_WIDER HAVE_F64
#define ND_X_WIDER HAVE_F64
#define BY_WIDE_1(fn)                        \
    static inline float m_##fn(float x)      \
    {                                        \
        return (float)fn((wide)x);           \
    }
#define BY_WIDE_2(fn)                            \
    static inline float m_##fn(float x, float y) \
    {                                            \
        return (float)fn((wide)x, (wide)y);      \
    }
#define EXACT_1(fn)                     \
    static inline float m_##fn(float x) \
    {                                   \
        return fn(x);                   \
    }
BY_WIDE_1(sqrt)
BY_WIDE_1(exp)
BY_WIDE_1(expm1)
BY_WIDE_1(log)
BY_WIDE_1(log1p)
BY_WIDE_1(log2)
BY_WIDE_1(log10)
BY_WIDE_1(sin)
BY_WIDE_1(cos)
BY_WIDE_1(tan)
BY_WIDE_1(asin)
BY_WIDE_1(acos)
BY_WIDE_1(atan)
BY_WIDE_1(sinh)
BY_WIDE_1(cosh)
BY_WIDE_1(tanh)
BY_WIDE_1(asinh)
BY_WIDE_1(acosh)
BY_WIDE_1(atanh)
BY_WIDE_1(erf)
BY_WIDE_2(hypot)
BY_WIDE_2(atan2)
BY_WIDE_2(pow)
EXACT_1(fabs)
EXACT_1(floor)
EXACT_1(ceil)
EXACT_1(trunc)
EXACT_1(rint)
#undef BY_WIDE_1
#undef BY_WIDE_2
#undef EXACT_1
static inline int m_signbit(float x)
{
    return signbit(x) != 0;
}
static inline float m_copysign(float x, float y)
{
    return copysign(x, y);
}
static inline float m_fmod(float x, float y)
{
    return fmod(x, y);
}
static inline float m_fma(float a, float b, float c)
{
    return fma(a, b, c);
}

#if HAVE_F64 && !CORRECT_DIVIDE
/* The formulas' quotients are left aside for those of f64: rounding twice is harmless there. */
#define DIVIDES_WIDE 1
#define ND_FORMULA_divide nd_divide_formula
#define ND_FORMULA_reciprocal nd_reciprocal_formula
#endif

#if T_BITS == 32
#define ND_NEXTAFTER(a, b) nextafter(a, b)
#define ND_FMA(a, b, c) fma(a, b, c)
#else
/* One step of the bits, through zero. */
static inline float half_nextafter(float a, float b)
{
    ushort u = CAT(narrow_, T)(a);
    if (a != a || b != b)
        return a + b;
    if (a == b)
        return b;
    if ((u & 0x7fff) == 0)
        u = b < 0 ? 0x8001 : 1;
    else
        u += ((a < b) == (a > 0)) ? 1 : -1;
    return CAT(widen_, T)(u);
}
/* The product is exact; what the sum loses decides the last bit, rounded to odd. */
static inline float half_fma(float a, float b, float c)
{
    wide p = (wide)a * (wide)b, s = p + (wide)c, t = s - p, lost = (p - (s - t)) + ((wide)c - t);
    float f = (float)s;
    wide rest = lost == lost ? (s - (wide)f) + lost : 0;
    if (rest != 0 && isfinite(f) && !(as_uint(f) & 1))
        f = as_float((rest > 0) == (f > 0) && f != 0 ? as_uint(f) + 1
                     : f == 0                         ? (rest > 0 ? 1u : 0x80000001u)
                                                      : as_uint(f) - 1);
    return f;
}
#define ND_NEXTAFTER(a, b) half_nextafter(a, b)
#define ND_FMA(a, b, c) half_fma(a, b, c)
#endif
#endif
#define ND_W wide
#define ND_MW(fn) fn
#define ND_X wide
#define ND_MX(fn) fn
#endif
