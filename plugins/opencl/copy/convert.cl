/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * One value to another dtype, as the op copy says: to bool by != 0, floating to integer truncates
 * and saturates with NaN as 0, integers wrap, all else is rounded once. to_D_L, _U, _F and _D take
 * a signed or unsigned integer, an f32 and an f64. What f16 and bf16 are stored from is rounded to
 * odd on its way to f32, so that the store's rounding sees on which side of a tie it was (Boldo and
 * Melquiond, 2008). */
static inline float odd_ulong(ulong x)
{
    int shift = 40 - (int)clz(x | 1);
    if (shift <= 0)
        return (float)x;
    ulong kept = x >> shift | ((x & ((1ul << shift) - 1)) != 0);
    return ldexp((float)kept, shift);
}
static inline float odd_long(long x)
{
    return x < 0 ? -odd_ulong(0ul - (ulong)x) : odd_ulong((ulong)x);
}
#if HAVE_F64
static inline float odd_double(double x)
{
    float f = (float)x;
    uint u = as_uint(f);
    if (x != x || (double)f == x || (u & 1))
        return f;
    return as_float(fabs((double)f) < fabs(x) ? u + 1 : u - 1);
}
#define FROM_DOUBLE(text) text
#else
#define FROM_DOUBLE(text)
#endif

#define TO_INTEGER(name, type)                                       \
    static inline type to_##name##_L(long x)                         \
    {                                                                \
        return (type)x;                                              \
    }                                                                \
    static inline type to_##name##_U(ulong x)                        \
    {                                                                \
        return (type)x;                                              \
    }                                                                \
    static inline type to_##name##_F(float x)                        \
    {                                                                \
        return x == x ? convert_##type##_sat_rtz(x) : (type)0;       \
    }                                                                \
    FROM_DOUBLE(static inline type to_##name##_D(double x) {         \
        return x == x ? convert_##type##_sat_rtz(x) : (type)0;       \
    })
TO_INTEGER(i8, char)
TO_INTEGER(i16, short)
TO_INTEGER(i32, int)
TO_INTEGER(i64, long)
TO_INTEGER(u8, uchar)
TO_INTEGER(u16, ushort)
TO_INTEGER(u32, uint)
TO_INTEGER(u64, ulong)
#define TO_ANY(name, type, L, U, F, D)           \
    static inline type to_##name##_L(long x)     \
    {                                            \
        return L;                                \
    }                                            \
    static inline type to_##name##_U(ulong x)    \
    {                                            \
        return U;                                \
    }                                            \
    static inline type to_##name##_F(float x)    \
    {                                            \
        return F;                                \
    }                                            \
    FROM_DOUBLE(static inline type to_##name##_D(double x) { return D; })
TO_ANY(bool, uchar, x != 0, x != 0, x != 0, x != 0)
TO_ANY(f32, float, (float)x, (float)x, x, (float)x)
TO_ANY(f16, float, odd_long(x), odd_ulong(x), x, odd_double(x))
TO_ANY(bf16, float, odd_long(x), odd_ulong(x), x, odd_double(x))
FROM_DOUBLE(TO_ANY(f64, double, (double)x, (double)x, (double)x, x))

/* T to R, of the program's head. */
#define CONVERT_PART(dtype, x) CAT(CAT3(to_, dtype, _), T_CLASS)(x)
#if R_KIND == KIND_COMPLEX
#if R_BITS == 64
#define R_PART f32
#else
#define R_PART f64
#endif
#endif
static inline CAT(computed_, R) convert_value(CAT(computed_, T) x)
{
#if SAME
    return x;
#elif T_KIND == KIND_COMPLEX && R_KIND == KIND_BOOL
    return x.re != 0 || x.im != 0;
#elif T_KIND == KIND_COMPLEX && R_KIND == KIND_COMPLEX
    CAT(computed_, R) z = {CONVERT_PART(R_PART, x.re), CONVERT_PART(R_PART, x.im)};
    return z;
#elif T_KIND == KIND_COMPLEX
    return CONVERT_PART(R, x.re);
#elif R_KIND == KIND_COMPLEX
    CAT(computed_, R) z = {CONVERT_PART(R_PART, x), 0};
    return z;
#else
    return CONVERT_PART(R, x);
#endif
}
