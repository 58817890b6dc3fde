/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The error function's relatives and the normal distribution: floating formulas, included by
 * scalar_special_tmpl.h. All come from one function, exp(z^2) erfc(z) of z >= 0, as a polynomial of
 * (z - 3)/(z + 3) over z + 1/2 (after Shepherd and Laframboise, Math. Comp. 36, 1981). */

/* exp(z*z)*erfc(z), z >= 0 or NaN. */
ND_FN ND_W ND_NAME(w_erfcx)(ND_W z)
{
    const ND_W most = ND_BY_WIDTH(1e100, 1e15); /* the polynomial is flat long before */
    ND_W near = z > most ? most : z;
    return ND_NAME(fit_erfcx)((near - 3) / (near + 3)) / (z + ND_C(0.5));
}
/* exp(-s - s_low)*erfc(z)*exp(z*z), so erfc(z) for s + s_low = z*z. */
ND_FN ND_W ND_NAME(w_erfc_tail)(ND_W z, ND_W s, ND_W s_low)
{
    return ND_NAME(w_exp)(-s, -s_low) * ND_NAME(w_erfcx)(z);
}
/* erf(x) for |x| <= 1/2, where 1 - erf(x) is closer than by the way above. */
ND_FN ND_W ND_NAME(w_erf_near)(ND_W x)
{
    ND_W near = ND_MW(fabs)(x) <= ND_C(0.5) ? x : 0;
    return near * ND_NAME(fit_erf)(near * near);
}
ND_FN_LONG ND_T ND_NAME(erfc)(ND_T a)
{
    ND_W low, x = (ND_W)a, z = ND_MW(fabs)(x), near = 1 - ND_NAME(w_erf_near)(x);
    z = z > 30 ? ND_C(30) : z;
    ND_W s = ND_NAME(w_square)(z, &low), r = ND_NAME(w_erfc_tail)(z, s, low);
    r = x < 0 ? 2 - r : r;
    return (ND_T)(z <= ND_C(0.5) ? near : r);
}
ND_FN_LONG ND_T ND_NAME(erfcx)(ND_T a)
{
    ND_W low, x = (ND_W)a, z = ND_MW(fabs)(x), r = ND_NAME(w_erfcx)(z);
    ND_W least = z > 30 ? ND_C(30) : z, s = ND_NAME(w_square)(least, &low);
    ND_W e = ND_NAME(w_exp)(s, low), near = e - e * ND_NAME(w_erf_near)(x);
    r = x < 0 ? 2 * e - r : r;
    return (ND_T)(z <= ND_C(0.5) ? near : r);
}

/* ---- inverses ---- */
/* The x of erfc(x) = q, for 0 <= q <= 1/4; or, with square and root 2 and sqrt(1/2), sqrt(2) times
 * that. */
ND_FN ND_W ND_NAME(w_inverse_far)(ND_W q, ND_W square, ND_W root)
{
    ND_W s = ND_MW(sqrt)(ND_NAME(w_log)(q, 0) * -square), r = s * root;
    ND_W x = s * ND_NAME(fit_inverse_far)((r - 3) / (r + 3));
    return q == 0 ? ND_NAME(w_inf)() : x;
}
/* The x of erf(x) = y, for |y| <= 3/4. */
ND_FN ND_W ND_NAME(w_inverse_near)(ND_W y)
{
    return y * ND_NAME(fit_inverse_near)(y * y);
}
ND_FN_LONG ND_T ND_NAME(erfinv)(ND_T a)
{
    ND_W x = (ND_W)a, size = ND_MW(fabs)(x), rest = 1 - size;
    ND_W far = ND_NAME(w_inverse_far)(rest > ND_C(0.25) ? ND_C(0.25) : rest, 1, 1);
    ND_W r = ND_NAME(w_inverse_near)(size > ND_C(0.75) ? ND_C(0.75) : size);
    r = ND_NAME(w_copysign)(size > ND_C(0.75) ? far : r, x);
    return (ND_T)(size <= 1 ? r : x == x ? ND_NAME(w_nan)() : x);
}
/* 1 - a is exact where it is small. */
ND_FN_LONG ND_T ND_NAME(erfcinv)(ND_T a)
{
    ND_W x = (ND_W)a, q = x > 1 ? 2 - x : x, y = 1 - x;
    int middle = ND_MW(fabs)(y) <= ND_C(0.75);
    ND_W far = ND_NAME(w_copysign)(ND_NAME(w_inverse_far)(middle ? ND_C(0.25) : q, 1, 1), y);
    ND_W r = middle ? ND_NAME(w_inverse_near)(middle ? y : 0) : far;
    return (ND_T)(x >= 0 && x <= 2 ? r : x == x ? ND_NAME(w_nan)() : x);
}
/* -sqrt(2)*erfcinv(2a); for a above 1/2 by 1 - a, which is exact. */
ND_FN_LONG ND_T ND_NAME(ndtri)(ND_T a)
{
    ND_W x = (ND_W)a, q = 2 * (x > ND_C(0.5) ? 1 - x : x), y = 2 * x - 1;
    int middle = ND_MW(fabs)(y) <= ND_C(0.75);
    ND_W far = ND_NAME(w_inverse_far)(middle ? ND_C(0.25) : q, 2, ND_C(0.70710678118654752440));
    ND_W near = ND_C(1.41421356237309504880) * ND_NAME(w_inverse_near)(middle ? y : 0);
    ND_W r = middle ? near : ND_NAME(w_copysign)(far, y);
    return (ND_T)(x >= 0 && x <= 1 ? r : x == x ? ND_NAME(w_nan)() : x);
}

/* ---- the normal distribution ---- */
/* a*a/2 in two parts, and |a|/sqrt(2); beyond 40 nothing is left. */
ND_FN ND_W ND_NAME(w_normal)(ND_W x, ND_W *half_square, ND_W *half_low)
{
    ND_W low, size = ND_MW(fabs)(x), near = size > 40 ? ND_C(40) : size;
    *half_square = ND_NAME(w_square)(near, &low) * ND_C(0.5);
    *half_low = low * ND_C(0.5);
    return near * ND_C(0.70710678118654752440);
}
ND_FN_LONG ND_T ND_NAME(ndtr)(ND_T a)
{
    ND_W s, s_low, z = ND_NAME(w_normal)((ND_W)a, &s, &s_low);
    ND_W tail = ND_C(0.5) * ND_NAME(w_erfc_tail)(z, s, s_low);
    ND_W near = ND_C(0.5) + ND_C(0.5) * ND_NAME(w_erf_near)(a > 0 ? z : -z);
    tail = a > 0 ? 1 - tail : tail;
    return (ND_T)(z <= ND_C(0.5) ? near : tail);
}
/* Far below 0 the exponential's logarithm is taken out of the sum. */
ND_FN_LONG ND_T ND_NAME(log_ndtr)(ND_T a)
{
    ND_W s, s_low, x = (ND_W)a, z = ND_NAME(w_normal)(x, &s, &s_low);
    ND_W above = ND_NAME(w_log1p)(ND_C(-0.5) * ND_NAME(w_erfc_tail)(z, s, s_low));
    ND_W far = ND_MW(fabs)(x) * ND_C(0.70710678118654752440);
    ND_W below = ND_NAME(w_log)(ND_C(0.5) * ND_NAME(w_erfcx)(far), 0);
    int large = far > 20; /* a*a/2 is rounded once, and its rest is below the last place */
    below -= large ? x * (x * ND_C(0.5)) : s;
    below -= large ? ND_C(0) : s_low;
    below = x == -ND_NAME(w_inf)() ? x : below;
    ND_W near = ND_NAME(w_log)(ND_C(0.5) + ND_C(0.5) * ND_NAME(w_erf_near)(x > 0 ? z : -z), 0);
    below = x > 0 ? above : below;
    return (ND_T)(z <= ND_C(0.5) ? near : below);
}
