/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Logarithms, inverse hyperbolic functions and powers of float and double to about half an ulp:
 * each rounds once, at its end, what it computed in sums of two numbers. */
#ifndef NDOCK_CUDA_MATH_CORE_CUH
#define NDOCK_CUDA_MATH_CORE_CUH
#include "math/parts.cuh"

CM_FN bool cm_is_negative(float x)
{
    return (int32_t)cm_bits(x) < 0;
}
CM_FN bool cm_is_negative(double x)
{
    return (int64_t)cm_bits(x) < 0;
}
CM_FN float cm_infinity(float)
{
    return cm_of_bits((uint32_t)0x7f800000);
}
CM_FN double cm_infinity(double)
{
    return cm_of_bits((uint64_t)0x7ff0000000000000);
}
CM_FN float cm_nan(float)
{
    return cm_of_bits((uint32_t)0x7fc00000);
}
CM_FN double cm_nan(double)
{
    return cm_of_bits((uint64_t)0x7ff8000000000000);
}

/* ---- logarithms ---- */

/* x = m 2^k with m in [sqrt(1/2), sqrt(2)), x positive, finite and normal. */
CM_FN float cm_split(float x, int *k)
{
    uint32_t u = cm_bits(x), e = (uint32_t)((int32_t)(u - 0x3f3504f3u) >> 23);
    *k = (int)e;
    return cm_of_bits(u - (e << 23));
}
CM_FN double cm_split(double x, int *k)
{
    uint64_t u = cm_bits(x), e = (uint64_t)((int64_t)(u - 0x3fe6a09e667f3bcdull) >> 52);
    *k = (int)e;
    return cm_of_bits(u - (e << 52));
}
/* The same for subnormals too. */
template <typename R> CM_FN R cm_split_any(R x, int *k)
{
    const R tiny = cm_power_of_two(x, cm_const<R>::mantissa == 23 ? -126 : -1022);
    const R up = cm_power_of_two(x, 64);
    R m = cm_split(x < tiny ? x * up : x, k);
    *k -= x < tiny ? 64 : 0;
    return m;
}
/* k ln 2 + 2 atanh(s), |s| < 0.2. */
template <typename R> CM_FN cm_pair<R> cm_log_of_quotient(cm_pair<R> s, int k)
{
    R w = s.hi * s.hi, e = (R)k;
    cm_pair<R> r = cm_fast_sum(e * cm_const<R>::ln2_short, 2 * s.hi);
    R low = cm_fma(s.hi * w, cm_atanh_poly(w), s.lo);
    r.lo += cm_fma((R)2, low, e * cm_const<R>::ln2_rest);
    return r;
}
/* log((m + low) 2^k), for m as from cm_split: atanh of (m - 1)/(m + 1). */
template <typename R> CM_FN cm_pair<R> cm_log_pair(R m, R low, int k)
{
    R f = m - 1, d = m + 1;
    cm_pair<R> n = cm_two(f, low), s = cm_quotient(n, cm_two(d, (m - (d - 1)) + low));
    return cm_log_of_quotient(s, k);
}
/* Logarithms of what is not positive and finite. */
template <typename R> CM_FN R cm_log_special(R x)
{
    return x == 0 ? -cm_infinity(x) : x < 0 ? cm_nan(x) : x;
}
template <typename R> CM_FN R cm_log(R x)
{
    if (!(x > 0 && x < cm_infinity(x)))
        return cm_log_special(x);
    int k;
    R m = cm_split_any(x, &k);
    cm_pair<R> r = cm_log_pair(m, (R)0, k);
    return r.hi + r.lo;
}
template <typename R> CM_FN R cm_log10(R x)
{
    if (!(x > 0 && x < cm_infinity(x)))
        return cm_log_special(x);
    int k;
    R m = cm_split_any(x, &k);
    cm_pair<R> r = cm_log_pair(m, (R)0, k);
    r = cm_fast_sum(r.hi, r.lo);
    r = cm_product(r, cm_two(cm_const<R>::log10e, cm_const<R>::log10e_low));
    return r.hi + r.lo;
}
/* What 1 + x loses is put back; where 1 + x is near 1, x itself is its distance from 1. */
template <typename R> CM_FN R cm_log1p(R x)
{
    if (!(x > -1 && x < cm_infinity(x)))
        return cm_log_special((R)(x + 1));
    if (cm_abs(x) < (R)0x1p-60)
        return x;
    cm_pair<R> n = cm_sum((R)1, x);
    int k;
    R m = cm_split(n.hi, &k), low = x > (R)0x1p60 ? (R)0 : n.lo * cm_power_of_two(x, -k);
    R d = m + 1;
    n = k == 0 ? cm_two(x, (R)0) : cm_two(m - 1, low);
    n = cm_log_of_quotient(cm_quotient(n, cm_two(d, (m - (d - 1)) + low)), k);
    return n.hi + n.lo;
}
template <typename R> CM_FN R cm_asinh(R x)
{
    R a = cm_abs(x), r;
    if (!(a > (R)0.5)) {
        R w = a * a;
        return cm_sign_of(cm_fma(a * w, cm_asinh_poly(w), a), x);
    }
    if (!(a < cm_infinity(x)))
        return x;
    cm_pair<R> n = cm_two(a, (R)0);
    const bool far = a > (R)0x1p60; /* log(2a) */
    if (!far) {
        cm_pair<R> w = cm_product(a, a);
        cm_pair<R> t = cm_sum(w.hi, (R)1);
        t = cm_root(cm_fast_sum(t.hi, t.lo + w.lo));
        n = cm_fast_sum(t.hi, a);
        n.lo += t.lo;
    }
    int k;
    R m = cm_split(n.hi, &k);
    n = cm_log_pair(m, far ? (R)0 : n.lo * cm_power_of_two(x, -k), k + (far ? 1 : 0));
    r = n.hi + n.lo;
    return cm_sign_of(r, x);
}
template <typename R> CM_FN R cm_acosh(R x)
{
    if (!(x >= 1 && x < cm_infinity(x)))
        return x < 1 ? cm_nan(x) : x;
    cm_pair<R> n = cm_two(x, (R)0);
    const bool far = x > (R)0x1p60;
    if (!far) {
        cm_pair<R> w = cm_product(x, x), t = cm_fast_sum(w.hi, (R)-1);
        t = cm_root(cm_fast_sum(t.hi, t.lo + w.lo));
        n = cm_fast_sum(x, t.hi);
        n.lo += t.lo;
    }
    int k;
    R m = cm_split(n.hi, &k);
    n = cm_log_pair(m, far ? (R)0 : n.lo * cm_power_of_two(x, -k), k + (far ? 1 : 0));
    return n.hi + n.lo;
}
/* log((1 + a)/(1 - a))/2: the exponent of the quotient is guessed from those of its parts. */
CM_FN int cm_quotient_exponent(float n, float d)
{
    return (int32_t)(cm_bits(n) - cm_bits(d) + 0x400000u) >> 23;
}
CM_FN int cm_quotient_exponent(double n, double d)
{
    return (int)((int64_t)(cm_bits(n) - cm_bits(d) + 0x8000000000000ull) >> 52);
}
template <typename R> CM_FN R cm_atanh(R x)
{
    R a = cm_abs(x);
    if (!(a < 1))
        return a == 1 ? cm_sign_of(cm_infinity(x), x) : cm_nan(x);
    cm_pair<R> p = cm_fast_sum((R)1, a), m = cm_fast_sum((R)1, -a);
    int k = cm_quotient_exponent(p.hi, m.hi);
    R b = cm_power_of_two(x, k);
    m = cm_two(m.hi * b, m.lo * b);
    cm_pair<R> n = cm_sum(p.hi, -m.hi), d = cm_sum(p.hi, m.hi);
    n = cm_fast_sum(n.hi, n.lo + (p.lo - m.lo));
    d.lo += p.lo + m.lo;
    n = cm_log_of_quotient(cm_quotient(n, d), k);
    return cm_sign_of((n.hi + n.lo) * (R)0.5, x);
}

/* ---- exponentials ---- */

/* x - k ln 2 in two parts, k being x/ln 2 rounded. */
template <typename R> CM_FN cm_pair<R> cm_exp_reduce(R x, R k)
{
    R far = cm_fma(-k, cm_const<R>::ln2, x), r = cm_fma(-k, cm_const<R>::ln2_low, far);
    return cm_two(r, cm_fma(-k, cm_const<R>::ln2_low, far - r));
}
/* e^x 2^shift; the power of two is in two factors, so that the result may be subnormal. */
CM_FN double cm_exp_shifted(double x, int shift)
{
    x = cm_clamp(x, cm_const<double>::exp_min, cm_const<double>::exp_max + 1);
    double k = cm_rint(x * cm_const<double>::log2e);
    cm_pair<double> r = cm_exp_reduce(x, k);
    int n = (int)k + shift, half = n >> 1;
    double e = 1 + (r.hi + cm_fma(r.hi * r.hi, cm_exp_poly(r.hi), r.lo));
    return e * cm_power_of_two(x, half) * cm_power_of_two(x, n - half);
}
/* (e^x - 1)/2 = 2^(k-1) (e^r - 1) + (2^(k-1) - 1/2), e^x being finite, in two parts. */
template <typename R> CM_FN cm_pair<R> cm_expm1_half(R x)
{
    R k = cm_rint(x * cm_const<R>::log2e);
    cm_pair<R> r = cm_exp_reduce(x, k);
    cm_pair<R> w = cm_product(r.hi, r.hi), p = cm_fast_sum(r.hi, w.hi * (R)0.5);
    p.lo += cm_fma(r.hi * w.hi, cm_exp_tail(r.hi), w.lo * (R)0.5) + cm_fma(r.lo, p.hi, r.lo);
    R up = cm_power_of_two(x, (int)k - 1), rest = up - (R)0.5, v = cm_fma(up, p.hi, rest);
    R lost = (up - rest) - (R)0.5;
    return cm_two(v, cm_fma(up, p.hi, rest - v) + cm_fma(up, p.lo, lost));
}
template <typename R> CM_FN R cm_expm1(R x)
{
    cm_pair<R> h = cm_expm1_half(cm_clamp(x, (R)-40, cm_const<R>::exp_max));
    return cm_abs(x) < (R)0x1p-60 ? x : 2 * (h.hi + h.lo);
}

/* ---- powers ---- */

/* log2 of a positive normal or subnormal number to about 2^-10 ulp of it. */
template <typename R> CM_FN cm_pair<R> cm_log2_pair(R a)
{
    int k;
    R m = cm_split_any(a, &k), f = m - 1, d = m + 1;
    cm_pair<R> q = cm_quotient(cm_two(f, (R)0), cm_two(d, m - (d - 1)));
    R w = q.hi * q.hi, w_low = cm_fma(q.hi, q.hi, -w) + 2 * q.hi * q.lo, u = w * cm_atanh_tail(w);
    cm_pair<R> p = cm_fast_sum(cm_const<R>::third, u), cube = cm_product(q.hi, w);
    p.lo += cm_const<R>::third_low;
    cube.lo += cm_fma(q.lo, w, q.hi * w_low);
    cube = cm_product(cube, p);
    cm_pair<R> g = cm_fast_sum(q.hi, cube.hi);
    g.lo += q.lo + cube.lo;
    g = cm_product(g, cm_two(cm_const<R>::two_over_ln2, cm_const<R>::two_over_ln2_low));
    cm_pair<R> r = cm_fast_sum((R)k, g.hi);
    return cm_two(r.hi, r.lo + g.lo);
}
template <typename R> CM_FN R cm_log2_of(R x)
{
    if (!(x > 0 && x < cm_infinity(x)))
        return cm_log_special(x);
    cm_pair<R> r = cm_log2_pair(x);
    return r.hi + r.lo;
}
/* 2^r for |r| < 0.501 */
template <typename R> CM_FN R cm_exp2_near(R r)
{
    cm_pair<R> t = cm_product(r, cm_const<R>::ln2), e = cm_fast_sum((R)1, t.hi);
    return e.hi + (e.lo + cm_fma(r * r, cm_exp2_poly(r), t.lo));
}
/* 2^(p + low); in two factors, so that it may be subnormal. */
template <typename R> CM_FN R cm_exp2_scaled(R p, R low)
{
    p = p > cm_const<R>::exp2_max ? cm_const<R>::exp2_max : p;
    p = p < cm_const<R>::exp2_min ? cm_const<R>::exp2_min : p;
    R k = cm_rint(p), r = (p - k) + low;
    int n = (int)k, half = n >> 1;
    return cm_exp2_near(r) * cm_power_of_two(p, half) * cm_power_of_two(p, n - half);
}
/* The sign of a power of a negative base, and NaN where it has none: C99 F.9.4.4. */
template <typename R> CM_FN R cm_signed_power(R r, R x, R y)
{
    if (cm_is_negative(x)) {
        R half = y * (R)0.5;
        const bool integer = cm_rint(y) == y, odd = integer && cm_rint(half) != half;
        r = x < 0 && !integer && -x < cm_infinity(x) ? cm_nan(x) : r;
        r = odd ? -r : r;
    }
    return x == 1 || y == 0 ? (R)1 : r;
}
template <typename R> CM_FN R cm_pow(R x, R y)
{
    R a = cm_abs(x), r;
    if (a > 0 && a < cm_infinity(x)) {
        cm_pair<R> l = cm_log2_pair(a), p = cm_product(y, l.hi);
        R low = cm_fma(y, l.lo, p.lo);
        r = cm_exp2_scaled(p.hi, cm_abs(p.hi) < cm_const<R>::exp2_max * 2 ? low : (R)0);
        r = p.hi == p.hi ? r : y != y ? y : (R)1; /* log2 1 times infinity */
    } else {
        r = y * (a == 0 ? -1 : a) < 0 ? (R)0 : cm_infinity(x);
        r = a != a ? a : y != y ? y : r;
    }
    return cm_signed_power(r, x, y);
}
#endif
