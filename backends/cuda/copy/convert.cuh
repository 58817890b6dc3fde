/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * One value from one dtype to another, as the op copy says: floating to integer truncates and
 * saturates, NaN gives 0; integers wrap; all else is rounded once, to nearest even. */
#ifndef NDOCK_CUDA_CONVERT_CUH
#define NDOCK_CUDA_CONVERT_CUH
#include "math/types.cuh"

#define CONVERT_FN static __device__ __forceinline__

/* ---- floating to integer: the instructions saturate, but differ about NaN ---- */
CONVERT_FN void convert_truncate(float x, int32_t *r)
{
    *r = x == x ? __float2int_rz(x) : 0;
}
CONVERT_FN void convert_truncate(float x, uint32_t *r)
{
    *r = x == x ? __float2uint_rz(x) : 0;
}
CONVERT_FN void convert_truncate(float x, int64_t *r)
{
    *r = x == x ? __float2ll_rz(x) : 0;
}
CONVERT_FN void convert_truncate(float x, uint64_t *r)
{
    *r = x == x ? __float2ull_rz(x) : 0;
}
CONVERT_FN void convert_truncate(double x, int32_t *r)
{
    *r = x == x ? __double2int_rz(x) : 0;
}
CONVERT_FN void convert_truncate(double x, uint32_t *r)
{
    *r = x == x ? __double2uint_rz(x) : 0;
}
CONVERT_FN void convert_truncate(double x, int64_t *r)
{
    *r = x == x ? __double2ll_rz(x) : 0;
}
CONVERT_FN void convert_truncate(double x, uint64_t *r)
{
    *r = x == x ? __double2ull_rz(x) : 0;
}
template <class F> CONVERT_FN int32_t convert_clamp(F x, int32_t low, int32_t high)
{
    int32_t r;
    convert_truncate(x, &r);
    return r < low ? low : r > high ? high : r;
}
template <class F> CONVERT_FN void convert_truncate(F x, int8_t *r)
{
    *r = (int8_t)convert_clamp(x, -128, 127);
}
template <class F> CONVERT_FN void convert_truncate(F x, uint8_t *r)
{
    *r = (uint8_t)convert_clamp(x, 0, 255);
}
template <class F> CONVERT_FN void convert_truncate(F x, int16_t *r)
{
    *r = (int16_t)convert_clamp(x, -32768, 32767);
}
template <class F> CONVERT_FN void convert_truncate(F x, uint16_t *r)
{
    *r = (uint16_t)convert_clamp(x, 0, 65535);
}

/* ---- to the 16-bit formats, as bits ---- */

/* f64 to a format with that many fraction bits, rounded once. */
CONVERT_FN uint16_t convert_f64_16(double x, int fraction, uint64_t bias)
{
    int shift = 52 - fraction;
    uint64_t u = (uint64_t)__double_as_longlong(x), a = u & 0x7fffffffffffffffull;
    uint64_t infinity = (2 * bias + 1) << fraction, quiet = 1ull << (fraction - 1);
    uint64_t smallest_normal = (1023 - bias + 1) << 52;
    /* Halfway between the largest finite value and the next power of two. */
    uint64_t overflow = ((1023 + bias) << 52) | (((2ull << fraction) - 1) << (shift - 1));
    /* Normal results: rebias, and round by an addition that may carry into the exponent. */
    uint64_t half = (1ull << (shift - 1)) - 1 + ((a >> shift) & 1);
    uint64_t r = (a - ((1023 - bias) << 52) + half) >> shift;
    /* Subnormal results: added to a value whose last place is the smallest subnormal. */
    uint64_t aligner = (1023 - bias + 1 + (uint64_t)shift) << 52;
    double sum = __longlong_as_double((long long)a) + __longlong_as_double((long long)aligner);
    if (a < smallest_normal)
        r = (uint64_t)__double_as_longlong(sum) - aligner;
    if (a >= overflow)
        r = infinity;
    if (a > 0x7ff0000000000000ull)
        r = infinity | quiet | ((a >> shift) & (quiet - 1));
    return (uint16_t)(((u >> 48) & 0x8000u) | r);
}
CONVERT_FN uint16_t convert_f32_f16(float x)
{
    uint32_t u = __float_as_uint(x), nan = ((u >> 16) & 0x8000u) | 0x7e00u | ((u >> 13) & 0x3ffu);
    return x == x ? __half_as_ushort(__float2half_rn(x)) : (uint16_t)nan;
}
CONVERT_FN uint16_t convert_f32_bf16(float x)
{
    uint32_t u = __float_as_uint(x);
    return (uint16_t)(x == x ? (u + 0x7fffu + ((u >> 16) & 1)) >> 16 : (u >> 16) | 0x40u);
}

/* Large integers to f64 rounded to odd, so that the second rounding sees on which side of a tie
 * the integer was (Boldo and Melquiond, 2008). f16 is infinite long before. */
CONVERT_FN double convert_odd(int64_t x)
{
    int64_t odd = (x & ~0x7ffll) | ((x & 0x7ff) ? 0x800 : 0);
    return (double)(x >= -(1ll << 53) && x <= 1ll << 53 ? x : odd);
}
CONVERT_FN double convert_odd(uint64_t x)
{
    uint64_t odd = (x & ~0x7ffull) | ((x & 0x7ff) ? 0x800 : 0);
    return (double)(x <= 1ull << 53 ? x : odd);
}

/* What the 16-bit formats are rounded from: f32 where it holds the value, else f64. */
template <class T> struct convert_via {
    typedef float type;
};
template <> struct convert_via<double> {
    typedef double type;
};
template <> struct convert_via<int32_t> {
    typedef double type;
};
template <> struct convert_via<uint32_t> {
    typedef double type;
};
template <class T> CONVERT_FN typename convert_via<T>::type convert_wide(T x)
{
    return (typename convert_via<T>::type)x;
}
CONVERT_FN double convert_wide(int64_t x)
{
    return convert_odd(x);
}
CONVERT_FN double convert_wide(uint64_t x)
{
    return convert_odd(x);
}
CONVERT_FN void convert_half(float x, __half *r)
{
    *r = __ushort_as_half(convert_f32_f16(x));
}
CONVERT_FN void convert_half(double x, __half *r)
{
    *r = __ushort_as_half(convert_f64_16(x, 10, 15));
}
CONVERT_FN void convert_half(float x, __nv_bfloat16 *r)
{
    *r = __ushort_as_bfloat16(convert_f32_bf16(x));
}
CONVERT_FN void convert_half(double x, __nv_bfloat16 *r)
{
    *r = __ushort_as_bfloat16(convert_f64_16(x, 7, 127));
}

/* ---- any computed real value to any stored type ---- */
template <class D, class T> CONVERT_FN void convert_real(T x, D *r)
{
    *r = (D)x; /* integers wrap; to f32 and f64 one rounding */
}
#define CONVERT_TRUNCATES(D)                     \
    CONVERT_FN void convert_real(float x, D *r)  \
    {                                            \
        convert_truncate(x, r);                  \
    }                                            \
    CONVERT_FN void convert_real(double x, D *r) \
    {                                            \
        convert_truncate(x, r);                  \
    }
CONVERT_TRUNCATES(int8_t)
CONVERT_TRUNCATES(int16_t)
CONVERT_TRUNCATES(int32_t)
CONVERT_TRUNCATES(int64_t)
CONVERT_TRUNCATES(uint8_t)
CONVERT_TRUNCATES(uint16_t)
CONVERT_TRUNCATES(uint32_t)
CONVERT_TRUNCATES(uint64_t)
#undef CONVERT_TRUNCATES
template <class T> CONVERT_FN void convert_real(T x, __half *r)
{
    convert_half(convert_wide(x), r);
}
template <class T> CONVERT_FN void convert_real(T x, __nv_bfloat16 *r)
{
    convert_half(convert_wide(x), r);
}

/* ---- by dtype ---- */
template <class C> struct convert_parts {
    typedef C part;
    CONVERT_FN C re(C x) { return x; }
    CONVERT_FN C im(C) { return 0; }
};
template <> struct convert_parts<cuda_c64> {
    typedef float part;
    CONVERT_FN float re(cuda_c64 x) { return x.re; }
    CONVERT_FN float im(cuda_c64 x) { return x.im; }
};
template <> struct convert_parts<cuda_c128> {
    typedef double part;
    CONVERT_FN double re(cuda_c128 x) { return x.re; }
    CONVERT_FN double im(cuda_c128 x) { return x.im; }
};

/* Stored to computed; any byte but 0 is true. */
template <int FROM> struct convert_source {
    typedef typename cuda_dtype<FROM>::stored source;
    typedef convert_parts<typename cuda_dtype<FROM>::computed> parts;
    CONVERT_FN typename parts::part re(source s)
    {
        return FROM == NDP_BOOL ? parts::re(cuda_widen(s)) != 0 : parts::re(cuda_widen(s));
    }
    CONVERT_FN typename parts::part im(source s) { return parts::im(cuda_widen(s)); }
};

/* A stored element of dtype FROM as one of dtype TO. */
template <int FROM, int TO> struct convert {
    typedef typename cuda_dtype<FROM>::stored source;
    typedef typename cuda_dtype<TO>::stored target;
    CONVERT_FN target of(source s)
    {
        target r;
        convert_real(convert_source<FROM>::re(s), &r);
        return r;
    }
};
template <int FROM> struct convert<FROM, NDP_BOOL> {
    typedef typename cuda_dtype<FROM>::stored source;
    CONVERT_FN uint8_t of(source s)
    {
        return convert_source<FROM>::re(s) != 0 || convert_source<FROM>::im(s) != 0;
    }
};
template <int FROM, class D> struct convert_complex {
    typedef typename cuda_dtype<FROM>::stored source;
    CONVERT_FN D of(source s)
    {
        D r;
        convert_real(convert_source<FROM>::re(s), &r.re);
        convert_real(convert_source<FROM>::im(s), &r.im);
        return r;
    }
};
template <int FROM> struct convert<FROM, NDP_C64> : convert_complex<FROM, cuda_c64> {
};
template <int FROM> struct convert<FROM, NDP_C128> : convert_complex<FROM, cuda_c128> {
};

#endif
