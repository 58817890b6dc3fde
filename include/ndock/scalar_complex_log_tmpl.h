/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The second half of the complex formulas: logarithms, inverse functions and pow. Text that follows
 * scalar_complex_tmpl.h at once, under the macros described there.
 *
 * asin, acos: Hull, Fairgrieve and Tang, "Implementing the complex arcsine and arccosine functions
 * using exception handling", ACM TOMS 23 (1997). Branch cuts and special values: Kahan, "Branch
 * cuts for complex elementary functions" (1987), and C99 Annex G. Unevaluated sums of two numbers:
 * Dekker, Numer. Math. 18 (1971). */

/* ---- sums of two numbers, hi + lo with |lo| <= ulp(hi)/2 ---- */

typedef struct {
    ND_R hi, lo;
} ND_NAME(dd);

ND_FN ND_NAME(dd) ND_NAME(two)(ND_R hi, ND_R lo)
{
    ND_NAME(dd) r;
    r.hi = hi;
    r.lo = lo;
    return r;
}

/* a + b, exactly. */
ND_FN ND_NAME(dd) ND_NAME(two_sum)(ND_R a, ND_R b)
{
    const ND_R s = a + b, t = s - a;
    return ND_NAME(two)(s, (a - (s - t)) + (b - t));
}

/* a + b, exactly, for |a| >= |b|. */
ND_FN ND_NAME(dd) ND_NAME(fast_sum)(ND_R a, ND_R b)
{
    const ND_R s = a + b;
    return ND_NAME(two)(s, b - (s - a));
}

/* a * b, exactly unless it underflows. */
ND_FN ND_NAME(dd) ND_NAME(two_prod)(ND_R a, ND_R b)
{
    const ND_R p = a * b;
    return ND_NAME(two)(p, ND_M(fma)(a, b, -p));
}

ND_FN ND_NAME(dd) ND_NAME(dd_add)(ND_NAME(dd) a, ND_NAME(dd) b)
{
    ND_NAME(dd) s = ND_NAME(two_sum)(a.hi, b.hi), t = ND_NAME(two_sum)(a.lo, b.lo);
    s = ND_NAME(fast_sum)(s.hi, s.lo + t.hi);
    return ND_NAME(fast_sum)(s.hi, s.lo + t.lo);
}

ND_FN ND_NAME(dd) ND_NAME(dd_mul)(ND_NAME(dd) a, ND_NAME(dd) b)
{
    const ND_NAME(dd) p = ND_NAME(two_prod)(a.hi, b.hi);
    return ND_NAME(fast_sum)(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

ND_FN ND_NAME(dd) ND_NAME(dd_scale)(ND_NAME(dd) a, ND_R b)
{
    const ND_NAME(dd) p = ND_NAME(two_prod)(a.hi, b);
    return ND_NAME(fast_sum)(p.hi, p.lo + a.lo * b);
}

ND_FN ND_NAME(dd) ND_NAME(dd_neg)(ND_NAME(dd) a)
{
    return ND_NAME(two)(-a.hi, -a.lo);
}

ND_FN ND_NAME(dd) ND_NAME(dd_div)(ND_NAME(dd) a, ND_NAME(dd) b)
{
    const ND_R q = a.hi / b.hi;
    const ND_NAME(dd) rest = ND_NAME(dd_add)(a, ND_NAME(dd_scale)(b, -q));
    return ND_NAME(fast_sum)(q, rest.hi / b.hi);
}

ND_FN ND_NAME(dd) ND_NAME(dd_sqrt)(ND_NAME(dd) a)
{
    const ND_R s = ND_M(sqrt)(a.hi);
    const ND_NAME(dd) rest = ND_NAME(dd_add)(a, ND_NAME(dd_neg)(ND_NAME(two_prod)(s, s)));
    return ND_NAME(fast_sum)(s, rest.hi / (2 * s));
}

/* ---- logarithms ---- */

/* c + x^2 + y^2, accurate where the terms cancel. */
ND_FN ND_R ND_NAME(sum_squares)(ND_R c, ND_R x, ND_R y)
{
    const ND_NAME(dd) p = ND_NAME(two_prod)(x, x), q = ND_NAME(two_prod)(y, y);
    const ND_NAME(dd) s = ND_NAME(two_sum)(c, x < y ? q.hi : p.hi);
    const ND_NAME(dd) t = ND_NAME(two_sum)(s.hi, x < y ? p.hi : q.hi);
    const ND_NAME(dd) u = ND_NAME(two_sum)(p.lo, q.lo);
    const ND_NAME(dd) v = ND_NAME(two_sum)(s.lo, u.hi), w = ND_NAME(two_sum)(t.lo, v.hi);
    const ND_NAME(dd) r = ND_NAME(two_sum)(t.hi, w.hi);
    return r.hi + (r.lo + (w.lo + (v.lo + u.lo)));
}

/* (log(x^2 + y^2)/2 within a factor 2 of 1, else 0; whether it was so near) for x, y >= 0. */
ND_FN ND_T ND_NAME(log_near_one)(ND_R x, ND_R y)
{
    const ND_R m = x < y ? y : x;
    ND_R t;
    if (!(m > ND_Z_K(0.35) && m < 2))
        return ND_Z(0, 0);
    t = ND_NAME(sum_squares)(-1, x, y);
    return t < ND_Z_K(-0.75) || t > 3 ? ND_Z(0, 0) : ND_Z(ND_M(log1p)(t) / 2, 1);
}

/* The magnitude m and an exponent n, |a| = m 2^n, with m neither overflowed nor subnormal. */
ND_FN ND_T ND_NAME(scaled_abs)(ND_T a)
{
    const int n = ND_NAME(abs_shift)(a);
    const ND_R s = n == 0 ? ND_Z_K(1) : ND_M(ldexp)(ND_Z_K(1), -n);
    return ND_Z(ND_M(hypot)(a.re * s, a.im * s), (ND_R)n);
}

/* log|a| for any a, by Annex G where it is not finite. */
ND_FN ND_R ND_NAME(log_abs)(ND_T a)
{
    ND_T h = ND_NAME(log_near_one)(ND_M(fabs)(a.re), ND_M(fabs)(a.im));
    if (h.im != 0)
        return h.re;
    h = ND_NAME(scaled_abs)(a);
    return h.im == 0 ? ND_M(log)(h.re) : ND_M(log)(h.re) + h.im * ND_Z_LN2;
}

ND_FN ND_T ND_NAME(log)(ND_T a)
{
    return ND_Z(ND_NAME(log_abs)(a), ND_M(atan2)(a.im, a.re));
}

/* t * (hi + lo); a zero keeps its sign, whatever that of lo. */
ND_FN ND_R ND_NAME(times)(ND_R t, ND_R hi, ND_R lo)
{
    return t == 0 ? t : ND_M(fma)(t, hi, t * lo);
}

ND_FN ND_T ND_NAME(log2)(ND_T a)
{
    const ND_R t = ND_M(atan2)(a.im, a.re);
    ND_T h = ND_NAME(log_near_one)(ND_M(fabs)(a.re), ND_M(fabs)(a.im));
    if (h.im != 0) {
        h.re = ND_NAME(times)(h.re, ND_Z_LOG2E, ND_Z_LOG2E_LO);
    } else {
        h = ND_NAME(scaled_abs)(a);
        h.re = ND_M(log2)(h.re) + h.im;
    }
    return ND_Z(h.re, ND_NAME(times)(t, ND_Z_LOG2E, ND_Z_LOG2E_LO));
}

ND_FN ND_T ND_NAME(log10)(ND_T a)
{
    const ND_R t = ND_M(atan2)(a.im, a.re);
    ND_T h = ND_NAME(log_near_one)(ND_M(fabs)(a.re), ND_M(fabs)(a.im));
    if (h.im != 0) {
        h.re = ND_NAME(times)(h.re, ND_Z_LOG10E, ND_Z_LOG10E_LO);
    } else {
        h = ND_NAME(scaled_abs)(a);
        h.re = ND_M(log10)(h.re) + h.im * ND_Z_K(0.30102999566398119521);
    }
    return ND_Z(h.re, ND_NAME(times)(t, ND_Z_LOG10E, ND_Z_LOG10E_LO));
}

/* |1 + a|^2 - 1 = 2x + x^2 + y^2, which log1p takes as it is. */
ND_FN ND_T ND_NAME(log1p)(ND_T a)
{
    const ND_R x = 1 + a.re;
    ND_R t;
    if (ND_NAME(larger)(a) < 3) {
        t = ND_NAME(sum_squares)(2 * a.re, ND_M(fabs)(a.re), ND_M(fabs)(a.im));
        if (t > ND_Z_K(-0.75) && t < 3 && a.re == a.re)
            return ND_Z(ND_M(log1p)(t) / 2, ND_M(atan2)(a.im, x));
    }
    return ND_Z(ND_NAME(log_abs)(ND_Z(x, a.im)), ND_M(atan2)(a.im, x));
}

/* ---- inverse functions ---- */

/* (asin_re or acos_re, |asin_im|) where a part of x + iy, x and y >= 0 finite, is so small or so
 * large that a square of Hull, Fairgrieve and Tang's formula would leave the range of ND_R. */
ND_FN ND_T ND_NAME(arc_far)(ND_R x, ND_R y, int is_acos)
{
    ND_R t;
    if (x == 1 && y < ND_Z_SAFE_MIN) {
        t = ND_M(sqrt)(y);
        return ND_Z(is_acos ? t : ND_Z_PI / 2 - t, t);
    }
    if (y <= ND_R_EPSILON * ND_M(fabs)(x - 1)) {
        if (x < 1)
            return ND_Z(is_acos ? ND_M(acos)(x) : ND_M(asin)(x), y / ND_M(sqrt)((1 - x) * (1 + x)));
        if (x < ND_Z_SAFE_MAX) {
            t = ND_M(sqrt)((x - 1) * (x + 1));
            return ND_Z(is_acos ? y / t : ND_Z_PI / 2, ND_M(log1p)((x - 1) + t));
        }
        return ND_Z(is_acos ? y / x : ND_Z_PI / 2, ND_Z_LN2 + ND_M(log)(x));
    }
    if (ND_R_EPSILON * y - 1 >= x)
        return ND_Z(is_acos ? ND_Z_PI / 2 : x / y, ND_Z_LN2 + ND_M(log)(y));
    if (x > 1) {
        t = x / y;
        return ND_Z(is_acos ? ND_M(atan)(y / x) : ND_M(atan)(t),
                    ND_Z_LN2 + ND_M(log)(y) + ND_M(log1p)(t * t) / 2);
    }
    t = ND_M(sqrt)(1 + y * y);
    return ND_Z(is_acos ? ND_Z_PI / 2 : x / t, ND_M(log1p)(y + y * (y / (1 + t))));
}

/* (asin_re or acos_re, |asin_im|) of x + iy for finite x, y >= 0. */
ND_FN ND_T ND_NAME(arc)(ND_R x, ND_R y, int is_acos)
{
    ND_R r, s, a, b, t, im;
    if (!(x < ND_Z_SAFE_MAX && y < ND_Z_SAFE_MAX && x > ND_Z_SAFE_MIN && y > ND_Z_SAFE_MIN))
        return ND_NAME(arc_far)(x, y, is_acos);
    r = ND_M(hypot)(x + 1, y);
    s = ND_M(hypot)(x - 1, y);
    a = (r + s) / 2;
    b = x / a;
    if (a <= ND_Z_K(1.5)) {
        t = x < 1 ? y * y / (s + (1 - x)) : s + (x - 1);
        t = (y * y / (r + (x + 1)) + t) / 2;
        im = ND_M(log1p)(t + ND_M(sqrt)(t * (a + 1)));
    } else {
        im = ND_M(log)(a + ND_M(sqrt)((a - 1) * (a + 1)));
    }
    if (b <= ND_Z_K(0.6417))
        return ND_Z(is_acos ? ND_M(acos)(b) : ND_M(asin)(b), im);
    /* t = sqrt(a^2 - x^2) */
    if (x <= 1)
        t = ND_M(sqrt)((a + x) / 2 * (y * y / (r + (x + 1)) + (s + (1 - x))));
    else
        t = y * ND_M(sqrt)(((a + x) / (r + (x + 1)) + (a + x) / (s + (x - 1))) / 2);
    return ND_Z(is_acos ? ND_M(atan)(t / x) : ND_M(atan)(x / t), im);
}

ND_FN ND_T ND_NAME(asinh)(ND_T a)
{
    const ND_R x = a.re, y = a.im;
    ND_T w;
    if (ND_Z_BOTH_FINITE(a)) {
        w = ND_NAME(arc)(ND_M(fabs)(y), ND_M(fabs)(x), 0);
        return ND_Z(ND_M(copysign)(w.im, x), ND_M(copysign)(w.re, y));
    }
    if (ND_Z_INF(x))
        return ND_Z(x, ND_Z_INF(y) ? ND_M(copysign)(ND_Z_PI / 4, y) : 0 * y);
    if (ND_Z_INF(y))
        return ND_Z(ND_M(copysign)(ND_INFINITY, x),
                    ND_Z_NAN(x) ? x : ND_M(copysign)(ND_Z_PI / 2, y));
    return ND_Z(ND_NAN_VALUE, ND_Z_NAN(x) && y == 0 ? y : ND_NAN_VALUE);
}
ND_FN ND_T ND_NAME(asin)(ND_T a)
{
    return ND_NAME(swap)(ND_NAME(asinh)(ND_NAME(swap)(a)));
}

ND_FN ND_T ND_NAME(acos)(ND_T a)
{
    const ND_R x = a.re, y = a.im;
    ND_T w;
    if (ND_Z_BOTH_FINITE(a)) {
        w = ND_NAME(arc)(ND_M(fabs)(x), ND_M(fabs)(y), 1);
        return ND_Z(x < 0 ? ND_Z_PI - w.re : w.re, ND_M(copysign)(w.im, -y));
    }
    if (ND_Z_INF(x) && ND_Z_NAN(y))
        return ND_Z(y, x);
    if (ND_Z_INF(x))
        return ND_Z(ND_Z_INF(y) ? (x < 0 ? 3 : 1) * (ND_Z_PI / 4)
                    : x < 0     ? ND_Z_PI
                                : ND_Z_K(0),
                    ND_M(copysign)(x, -y));
    if (ND_Z_INF(y))
        return ND_Z(ND_Z_NAN(x) ? x : ND_Z_PI / 2, -y);
    return ND_Z(x == 0 ? ND_Z_PI / 2 : ND_NAN_VALUE, ND_NAN_VALUE);
}

ND_FN ND_T ND_NAME(acosh)(ND_T a)
{
    const ND_T w = ND_NAME(acos)(a);
    return ND_Z(ND_M(fabs)(w.im), ND_M(copysign)(w.re, a.im));
}

/* (log1p(4x / ((1-x)^2 + y^2)) / 4, atan2(2y, (1-x)(1+x) - y^2) / 2), x >= 0 */
ND_FN ND_T ND_NAME(atanh)(ND_T a)
{
    const ND_R x = ND_M(fabs)(a.re), y = ND_M(fabs)(a.im), d = 1 - x;
    ND_R re, im, h;
    if (!ND_Z_BOTH_FINITE(a)) {
        if (ND_Z_INF(y) || (ND_Z_INF(x) && !ND_Z_NAN(y)))
            return ND_Z(ND_M(copysign)(ND_Z_K(0), a.re), ND_M(copysign)(ND_Z_PI / 2, a.im));
        re = ND_Z_INF(x) ? ND_M(copysign)(ND_Z_K(0), a.re) : x == 0 ? a.re : ND_NAN_VALUE;
        return ND_Z(re, ND_NAN_VALUE);
    }
    if (x > ND_Z_SAFE_MAX || y > ND_Z_SAFE_MAX) { /* 1/a, of which only the real part is seen */
        h = ND_M(hypot)(x / 4, y / 4);
        re = x / 4 / h / h / 4;
        im = ND_Z_PI / 2;
    } else if (x == 1 && y < ND_Z_SAFE_MIN) {
        re = y == 0 ? ND_INFINITY : (ND_Z_LN2 - ND_M(log)(y)) / 2;
        im = y == 0 ? 0 : ND_Z_PI / 4;
    } else {
        re = ND_M(log1p)(4 * x / (d * d + y * y)) / 4;
        im = ND_M(atan2)(2 * y, d * (1 + x) - y * y) / 2;
    }
    return ND_Z(ND_M(copysign)(re, a.re), ND_M(copysign)(im, a.im));
}
ND_FN ND_T ND_NAME(atan)(ND_T a)
{
    return ND_NAME(swap)(ND_NAME(atanh)(ND_NAME(swap)(a)));
}

/* ---- powers: carried in sums of two numbers until the end, since an error of the logarithm is
 * multiplied by the exponent ---- */

typedef struct {
    ND_NAME(dd) re, im;
} ND_NAME(ddz);

ND_FN ND_NAME(ddz) ND_NAME(ddz_mul)(ND_NAME(ddz) a, ND_NAME(ddz) b)
{
    ND_NAME(ddz) r;
    r.re =
        ND_NAME(dd_add)(ND_NAME(dd_mul)(a.re, b.re), ND_NAME(dd_neg)(ND_NAME(dd_mul)(a.im, b.im)));
    r.im = ND_NAME(dd_add)(ND_NAME(dd_mul)(a.re, b.im), ND_NAME(dd_mul)(a.im, b.re));
    return r;
}

/* a^n for a finite nonzero a = m 2^e with |m| near 1 and 0 < |n| < 100, by repeated squaring. */
ND_FN ND_T ND_NAME(pow_small)(ND_T m, int e, int n)
{
    ND_NAME(ddz) power, r;
    ND_NAME(dd) d;
    int bits = n < 0 ? -n : n;
    power.re = ND_NAME(two)(m.re, 0);
    power.im = ND_NAME(two)(m.im, 0);
    for (; (bits & 1) == 0; bits >>= 1)
        power = ND_NAME(ddz_mul)(power, power);
    r = power;
    for (bits >>= 1; bits != 0; bits >>= 1) {
        power = ND_NAME(ddz_mul)(power, power);
        if (bits & 1)
            r = ND_NAME(ddz_mul)(r, power);
    }
    if (n < 0) {
        d = ND_NAME(dd_add)(ND_NAME(dd_mul)(r.re, r.re), ND_NAME(dd_mul)(r.im, r.im));
        r.re = ND_NAME(dd_div)(r.re, d);
        r.im = ND_NAME(dd_neg)(ND_NAME(dd_div)(r.im, d));
    }
    return ND_Z(ND_M(ldexp)(r.re.hi, e * n), ND_M(ldexp)(r.im.hi, e * n));
}

/* t (1 + w/3 + w^2/5 + ...) for w = t^2 or -t^2, |w| < 0.04: atanh or atan of t. */
ND_FN ND_NAME(dd) ND_NAME(odd_series)(ND_NAME(dd) t, ND_NAME(dd) w)
{
    const ND_R v = w.hi;
    ND_NAME(dd) r;
    ND_R p = v / 31 + ND_Z_K(0.034482758620689655);
    p = p * v + ND_Z_K(0.037037037037037037);
    p = p * v + ND_Z_K(0.04);
    p = p * v + ND_Z_K(0.043478260869565216);
    p = p * v + ND_Z_K(0.047619047619047616);
    p = p * v + ND_Z_K(0.05263157894736842);
    p = p * v + ND_Z_K(0.058823529411764705);
    p = p * v + ND_Z_K(0.066666666666666667);
    p = p * v + ND_Z_K(0.076923076923076923);
    p = p * v + ND_Z_K(0.090909090909090909);
    p = p * v + ND_Z_K(0.11111111111111111);
    p = p * v + ND_Z_K(0.14285714285714285);
    p = p * v + ND_Z_K(0.2);
    r = ND_NAME(dd_div)(w, ND_NAME(two)(3, 0));
    r = ND_NAME(dd_add)(r, ND_NAME(two)(p * v * v, 0));
    return ND_NAME(dd_add)(t, ND_NAME(dd_mul)(t, r));
}

/* log(|m|^2) for |m| from 0.7 to 1.5: twice atanh((q - 1)/(q + 1)) of q near 1. */
ND_FN ND_NAME(dd) ND_NAME(log_norm)(ND_T m)
{
    ND_NAME(dd) q = ND_NAME(dd_add)(ND_NAME(two_prod)(m.re, m.re), ND_NAME(two_prod)(m.im, m.im));
    ND_NAME(dd) k = ND_NAME(two)(0, 0), t;
    if (q.hi > ND_Z_K(1.4142)) {
        q = ND_NAME(two)(q.hi / 2, q.lo / 2);
        k = ND_NAME(two)(ND_Z_LN2, ND_Z_LN2_LO);
    } else if (q.hi < ND_Z_K(0.7071)) {
        q = ND_NAME(two)(q.hi * 2, q.lo * 2);
        k = ND_NAME(two)(-ND_Z_LN2, -ND_Z_LN2_LO);
    }
    t = ND_NAME(dd_div)(ND_NAME(dd_add)(q, ND_NAME(two)(-1, 0)),
                        ND_NAME(dd_add)(q, ND_NAME(two)(1, 0)));
    t = ND_NAME(odd_series)(t, ND_NAME(dd_mul)(t, t));
    return ND_NAME(dd_add)(k, ND_NAME(two)(2 * t.hi, 2 * t.lo));
}

/* atan2(m.im, m.re): the tangent in the first half quadrant, its angle halved twice. */
ND_FN ND_NAME(dd) ND_NAME(angle)(ND_T m)
{
    const ND_R x = ND_M(fabs)(m.re), y = ND_M(fabs)(m.im);
    const ND_NAME(dd) one = ND_NAME(two)(1, 0), pi = ND_NAME(two)(ND_Z_PI, ND_Z_PI_LO);
    ND_NAME(dd) t, w;
    int i;
    t = ND_NAME(dd_div)(ND_NAME(two)(x < y ? x : y, 0), ND_NAME(two)(x < y ? y : x, 0));
    for (i = 0; i < 2; i++) {
        w = ND_NAME(dd_sqrt)(ND_NAME(dd_add)(one, ND_NAME(dd_mul)(t, t)));
        t = ND_NAME(dd_div)(t, ND_NAME(dd_add)(one, w));
    }
    t = ND_NAME(odd_series)(t, ND_NAME(dd_neg)(ND_NAME(dd_mul)(t, t)));
    t = ND_NAME(two)(4 * t.hi, 4 * t.lo);
    if (x < y)
        t = ND_NAME(dd_add)(ND_NAME(two)(pi.hi / 2, pi.lo / 2), ND_NAME(dd_neg)(t));
    if (m.re < 0)
        t = ND_NAME(dd_add)(pi, ND_NAME(dd_neg)(t));
    return ND_M(copysign)(ND_Z_K(1), m.im) < 0 ? ND_NAME(dd_neg)(t) : t;
}

/* exp(b log a) for a finite b and a finite nonzero a = m 2^e; NaN where b log a overflows. */
ND_FN ND_T ND_NAME(pow_general)(ND_T m, int e, ND_T b)
{
    const ND_NAME(dd) ln2 = ND_NAME(two)(ND_Z_LN2, ND_Z_LN2_LO), arg = ND_NAME(angle)(m);
    ND_NAME(dd) mod = ND_NAME(log_norm)(m), u, v;
    ND_R c, s, dc, ds;
    mod = ND_NAME(dd_add)(ND_NAME(dd_scale)(ln2, (ND_R)e), ND_NAME(two)(mod.hi / 2, mod.lo / 2));
    u = ND_NAME(dd_add)(ND_NAME(dd_scale)(mod, b.re), ND_NAME(dd_scale)(arg, -b.im));
    v = ND_NAME(dd_add)(ND_NAME(dd_scale)(mod, b.im), ND_NAME(dd_scale)(arg, b.re));
    c = ND_M(cos)(v.hi);
    s = ND_M(sin)(v.hi);
    dc = ND_M(cos)(v.lo);
    ds = ND_M(sin)(v.lo);
    return ND_NAME(exp_times)(u.hi, u.lo, 1, c * dc - s * ds, s * dc + c * ds);
}

/* NumPy's repeated multiplication, for what an infinite or NaN base gives: 0 < |n| < 100. */
ND_FN ND_T ND_NAME(pow_special)(ND_T a, int n)
{
    ND_T r = ND_Z(1, 0);
    int bits = n < 0 ? -n : n;
    for (;;) {
        if (bits & 1)
            r = ND_NAME(multiply)(r, a);
        bits >>= 1;
        if (bits == 0)
            break;
        a = ND_NAME(multiply)(a, a);
    }
    return n < 0 ? ND_NAME(divide)(ND_Z(1, 0), r) : r;
}

ND_FN ND_T ND_NAME(pow)(ND_T a, ND_T b)
{
    const int is_small = b.im == 0 && ND_M(fabs)(b.re) < 100 && ND_M(rint)(b.re) == b.re;
    const int n = is_small ? (int)b.re : 0;
    ND_T m, r;
    int e;
    if (b.re == 0 && b.im == 0)
        return ND_Z(1, 0);
    if (a.re == 0 && a.im == 0)
        return b.re > 0 ? ND_Z(0, 0) : ND_Z(ND_NAN_VALUE, ND_NAN_VALUE);
    if (n == 1)
        return a;
    if (n == 2)
        return ND_NAME(square)(a);
    if (!ND_Z_BOTH_FINITE(a) && n != 0)
        return ND_NAME(pow_special)(a, n);
    r = ND_Z(ND_NAN_VALUE, ND_NAN_VALUE);
    if (ND_Z_BOTH_FINITE(a) && ND_Z_BOTH_FINITE(b)) {
        e = ND_M(ilogb)(ND_NAME(larger)(a));
        m = ND_Z(ND_M(ldexp)(a.re, -e), ND_M(ldexp)(a.im, -e));
        if (ND_M(hypot)(m.re, m.im) > ND_Z_K(1.4142135)) {
            m = ND_Z(m.re / 2, m.im / 2);
            e++;
        }
        r = n != 0 ? ND_NAME(pow_small)(m, e, n) : ND_NAME(pow_general)(m, e, b);
    }
    return ND_NAME(isnan)(r) ? ND_NAME(exp)(ND_NAME(multiply)(b, ND_NAME(log)(a))) : r;
}

#undef ND_Z
#undef ND_Z_FINITE
#undef ND_Z_INF
#undef ND_Z_NAN
#undef ND_Z_BOTH_FINITE
#undef ND_Z_K
#undef ND_Z_PI
#undef ND_Z_LN2
#undef ND_Z_LOG2E
#undef ND_Z_LOG10E
#undef ND_Z_PI_LO
#undef ND_Z_LN2_LO
#undef ND_Z_LOG2E_LO
#undef ND_Z_LOG10E_LO
#undef ND_Z_SAFE_MIN
#undef ND_Z_SAFE_MAX
#undef ND_Z_EXP_FAR
#undef ND_Z_EXP_END
#undef ND_Z_EXP_ONLY
#undef ND_Z_DIV_FAR
#undef ND_Z_DIV_SCALE
