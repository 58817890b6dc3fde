/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Circular functions, their inverses and hypot, of float and double, made as those of
 * math/core.cuh.
 *
 * Range reduction: Cody and Waite, Software Manual for the Elementary Functions (1980); for large
 * angles Payne and Hanek, ACM SIGNUM Newsletter 18 (1983). */
#ifndef NDOCK_CUDA_MATH_ANGLE_CUH
#define NDOCK_CUDA_MATH_ANGLE_CUH
#include "math/core.cuh"

/* The binary digits of 2/pi, after 64 zeros. */
static __device__ const uint64_t cm_two_over_pi_digits[20] = {0,
                                                              0xa2f9836e4e441529ull,
                                                              0xfc2757d1f534ddc0ull,
                                                              0xdb6295993c439041ull,
                                                              0xfe5163abdebbc561ull,
                                                              0xb7246e3a424dd2e0ull,
                                                              0x06492eea09d1921cull,
                                                              0xfe1deb1cb129a73eull,
                                                              0xe88235f52ebb4484ull,
                                                              0xe99c7026b45f7e41ull,
                                                              0x3991d639835339f4ull,
                                                              0x9c845f8bbdf9283bull,
                                                              0x1ff897ffde05980full,
                                                              0xef2f118b5a0a6d1full,
                                                              0x6d367ecf27cb09b7ull,
                                                              0x4f463f669e5fea2dull,
                                                              0x7527bac7ebe5f17bull,
                                                              0x3d0739f78a5292eaull,
                                                              0x6bfb5fb11f8d5d08ull,
                                                              0x56033046fc7b6babull};

/* x less the nearest multiple of pi/2, for finite |x| >= 2^17: of the product of the significand
 * and 2/pi only the digits from weight 2 downwards are formed, 192 of them. */
CM_SLOW cm_pair<double> cm_reduce_far(double x, int *quadrant)
{
    uint64_t u = cm_bits(x), m = (u & 0xfffffffffffffull) | 0x10000000000000ull, w[3];
    int start = (int)(u >> 52 & 2047) - 1075 + 62, at = start >> 6, shift = start & 63;
    for (int i = 0; i < 3; i++) {
        uint64_t next = at + i + 1 < 20 ? cm_two_over_pi_digits[at + i + 1] : 0;
        w[i] = cm_two_over_pi_digits[at + i] << shift | (shift ? next >> (64 - shift) : 0);
    }
    uint64_t low = m * w[2], mid = m * w[1], high = m * w[0] + cm_mul_high(m, w[1]);
    mid += cm_mul_high(m, w[2]);
    high += mid < m * w[1];
    int q = (int)(high >> 62) + (int)(high >> 61 & 1);
    high = high << 2 | mid >> 62; /* a fraction of pi/2, in two's complement */
    mid = mid << 2 | low >> 62;
    const bool negative = high >> 63 != 0;
    high = negative ? ~high : high;
    mid = negative ? ~mid : mid; /* less one in 2^128: no matter */
    int zeros = cm_leading_zeros(high);
    high = zeros ? high << zeros | mid >> (64 - zeros) : high;
    mid <<= zeros;
    double scale = cm_power_of_two(x, -53 - zeros), h = (double)(int64_t)(high >> 11) * scale;
    double l = (double)(int64_t)((high & 2047) << 42 | mid >> 22) * (scale * 0x1p-53);
    double p = h * cm_const<double>::pio2;
    double e = fma(h, cm_const<double>::pio2, -p) +
               fma(h, cm_const<double>::pio2_low, l * cm_const<double>::pio2);
    const bool flip = negative != cm_is_negative(x);
    *quadrant = cm_is_negative(x) ? -q : q;
    return flip ? cm_two(-p, -e) : cm_two(p, e);
}
CM_FN cm_pair<double> cm_reduce_large(double x, int *quadrant)
{
    return cm_reduce_far(x, quadrant);
}
CM_FN cm_pair<float> cm_reduce_large(float x, int *quadrant)
{
    cm_pair<double> r = cm_reduce_far((double)x, quadrant);
    float high = (float)r.hi;
    return cm_two(high, (float)(r.hi - (double)high));
}
/* x - k pi/2 in two parts. x - k*pio2 is exact: its last digit is that of pio2 or of x. */
template <typename R> CM_FN cm_pair<R> cm_reduce(R x, int *quadrant)
{
    if (!(cm_abs(x) <= cm_const<R>::trig_max)) {
        *quadrant = 0;
        return x - x == 0 ? cm_reduce_large(x, quadrant) : cm_two(x - x, (R)0);
    }
    R k = cm_rint(x * cm_const<R>::two_over_pi);
    cm_pair<R> p = cm_product(-k, cm_const<R>::pio2_low);
    cm_pair<R> r = cm_sum(cm_fma(-k, cm_const<R>::pio2, x), p.hi);
    *quadrant = (int)k;
    return cm_two(r.hi, cm_fma(-k, cm_const<R>::pio2_lowest, r.lo + p.lo));
}
template <typename R> CM_FN cm_pair<R> cm_sin_pair(cm_pair<R> r)
{
    R w = r.hi * r.hi;
    return cm_two(r.hi, cm_fma(r.hi * w, cm_sin_poly(w), cm_fma((R)-0.5 * w, r.lo, r.lo)));
}
template <typename R> CM_FN cm_pair<R> cm_cos_pair(cm_pair<R> r)
{
    R w = r.hi * r.hi, h = (R)0.5 * w, c = 1 - h;
    R lost = (R)-0.5 * cm_fma(r.hi, r.hi, -w) - r.hi * r.lo;
    return cm_two(c, ((1 - c) - h) + cm_fma(w * w, cm_cos_poly(w), lost));
}
template <typename R> CM_FN R cm_turned(cm_pair<R> r, int quadrant)
{
    cm_pair<R> v;
    if (quadrant & 1)
        v = cm_cos_pair(r);
    else
        v = cm_sin_pair(r);
    R y = v.hi + v.lo;
    return quadrant & 2 ? -y : y;
}
template <typename R> CM_FN R cm_sin(R x)
{
    int q;
    cm_pair<R> r = cm_reduce(x, &q);
    R y = cm_turned(r, q);
    return x == 0 ? x : y;
}
template <typename R> CM_FN R cm_cos(R x)
{
    int q;
    cm_pair<R> r = cm_reduce(x, &q);
    return cm_turned(r, q + 1);
}
template <typename R> CM_FN R cm_tan(R x)
{
    int q;
    cm_pair<R> r = cm_reduce(x, &q), s = cm_sin_pair(r), c = cm_cos_pair(r);
    s = cm_fast_sum(s.hi, s.lo);
    c = cm_fast_sum(c.hi, c.lo);
    if (q & 1)
        r = cm_quotient(cm_two(-c.hi, -c.lo), s);
    else
        r = cm_quotient(s, c);
    return x == 0 ? x : r.hi + r.lo;
}

/* asin a for a >= 1/2 is pi/2 - 2 asin(sqrt((1 - a)/2)); the latter doubled. */
template <typename R> CM_FN cm_pair<R> cm_arc_of_rest(R a)
{
    R z = (1 - a) * (R)0.5;
    cm_pair<R> s = cm_root(cm_two(z, (R)0));
    return cm_two(2 * s.hi, 2 * cm_fma(s.hi * z, cm_asin_poly(z), s.lo));
}
template <typename R> CM_FN R cm_asin(R x)
{
    R a = cm_abs(x);
    if (!(a > (R)0.5)) {
        R w = a * a;
        return cm_fma(x * w, cm_asin_poly(w), x);
    }
    if (!(a <= 1))
        return cm_nan(x);
    cm_pair<R> t = cm_arc_of_rest(a), s = cm_fast_sum(cm_const<R>::pio2, -t.hi);
    return cm_sign_of(s.hi + (s.lo + (cm_const<R>::pio2_low - t.lo)), x);
}
template <typename R> CM_FN R cm_acos(R x)
{
    R a = cm_abs(x), turn = a > (R)0.5 ? (R)2 : (R)1;
    cm_pair<R> t;
    if (!(a > (R)0.5)) {
        R w = a * a;
        t = cm_two(x, x * w * cm_asin_poly(w));
    } else if (a <= 1) {
        t = cm_arc_of_rest(a);
        if (x > 0)
            return t.hi + t.lo;
    } else {
        return cm_nan(x);
    }
    cm_pair<R> s = cm_fast_sum(turn * cm_const<R>::pio2, -t.hi);
    return s.hi + (s.lo + (turn * cm_const<R>::pio2_low - t.lo));
}

/* The angle of the point (x, y), x and y >= 0, not both 0, or its supplement: tangents are brought
 * below tan(pi/8) by exchange and by a turn of pi/4. */
template <typename R> CM_FN R cm_angle(R y, R x, bool supplement)
{
    const bool swap = y > x;
    R top = swap ? y : x, low = swap ? x : y, eighths;
    const bool turned = low > top * (R)0.414213562373095;
    R n = turned ? low - top : low, d = turned ? low + top : top;
    cm_pair<R> q = cm_quotient(cm_two(n, turned ? low - (n + top) : (R)0),
                               cm_two(d, turned ? low - (d - top) : (R)0));
    R w = q.hi * q.hi;
    q.lo = cm_fma(q.hi * w, cm_atan_poly(w), cm_fma(-w, q.lo, q.lo));
    eighths = turned ? (R)1 : (R)0;
    if (swap) {
        eighths = 2 - eighths;
        q = cm_two(-q.hi, -q.lo);
    }
    if (supplement) {
        eighths = 4 - eighths;
        q = cm_two(-q.hi, -q.lo);
    }
    cm_pair<R> base = cm_product(eighths, cm_const<R>::pio4), s = cm_fast_sum(base.hi, q.hi);
    return s.hi + (s.lo + (cm_fma(eighths, cm_const<R>::pio4_low, base.lo) + q.lo));
}
template <typename R> CM_FN R cm_atan(R x)
{
    R a = cm_abs(x);
    return cm_sign_of(cm_angle(a > (R)0x1p60 ? (R)0x1p60 : a, (R)1, false), x);
}
/* Scaled so that the larger coordinate is neither huge nor tiny; infinities become 1. */
template <typename R> CM_FN R cm_atan2(R y, R x)
{
    R ay = cm_abs(y), ax = cm_abs(x), top = ay > ax ? ay : ax;
    const R inf = cm_infinity(x);
    if (x != x || y != y)
        return x + y;
    if (ay < ax * (cm_const<R>::mantissa == 23 ? (R)0x1p-13 : (R)0x1p-28) && !cm_is_negative(x))
        return y / x; /* perhaps subnormal */
    if (!(top < (R)0x1p60 && top > (R)0x1p-60)) {
        const int range = cm_const<R>::mantissa == 23 ? 96 : 900;
        R scale = cm_power_of_two(x, top > 1 ? -range : range);
        const bool infinite = top == inf;
        ay = infinite ? (ay == inf ? (R)1 : (R)0) : ay * scale;
        ax = infinite ? (ax == inf ? (R)1 : (R)0) : top == 0 ? (R)1 : ax * scale;
    }
    return cm_sign_of(cm_angle(ay, ax, cm_is_negative(x)), y);
}

template <typename R> CM_FN R cm_hypot(R x, R y)
{
    R ax = cm_abs(x), ay = cm_abs(y), top = ax > ay ? ax : ay, low = ax > ay ? ay : ax, back = 1;
    const R inf = cm_infinity(x);
    if (ax == inf || ay == inf)
        return inf;
    const bool single = cm_const<R>::mantissa == 23;
    if (!(top < (R)(single ? 0x1p60 : 0x1p500) && top > (R)(single ? 0x1p-40 : 0x1p-400))) {
        const int range = single ? 100 : 600;
        R scale = cm_power_of_two(x, top > 1 ? -range : range);
        back = cm_power_of_two(x, top > 1 ? range : -range);
        top *= scale;
        low *= scale;
    }
    cm_pair<R> p = cm_product(top, top), q = cm_product(low, low), s = cm_fast_sum(p.hi, q.hi);
    s = cm_root(cm_two(s.hi, s.lo + (p.lo + q.lo)));
    return x != x || y != y ? x + y : (s.hi + s.lo) * back;
}
#endif
