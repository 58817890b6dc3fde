/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Hurwitz's and Riemann's zeta function and the derivatives of digamma: floating formulas, included
 * by scalar_special_tmpl.h. */

/* exp(e - s log(x + low)), its exponent carried in two parts. */
ND_FN ND_W ND_NAME(w_zeta_term)(ND_W s, ND_W x, ND_W low, ND_W e, ND_W e_low)
{
    ND_W l_low, p_low, sum_low, l = ND_NAME(w_log_parts)(x, low / x, &l_low);
    ND_W p = ND_NAME(w_product)(-s, l, &p_low), sum = ND_NAME(w_sum)(e, p, &sum_low);
    sum_low += e_low + p_low - s * l_low;
    return ND_NAME(w_exp)(sum, sum_low);
}
/* exp(e + e_low) times the sum of (q + k)^-s, k = 0, 1 ..., for q > 0, where s1 is s - 1: ten terms
 * and the Euler-Maclaurin formula (DLMF 2.10.1), whose B_2j/(2j)! are written down. */
ND_FN_APART ND_W ND_NAME(w_zeta)(ND_W s, ND_W s1, ND_W q, ND_W e, ND_W e_low)
{
    ND_W sum = 0, w = q + 10, v = 1 / (w * w), h = ND_C(-1.39544647e-19), last, term[12];
    int k;
    for (k = 0; k < 12; k++) {
        ND_W low, x = ND_NAME(w_sum)(q, ND_C(k < 10 ? k : 10), &low);
        term[k] = ND_NAME(w_zeta_term)(k < 10 ? s : s1, x, low, e, e_low);
    }
    for (k = 9; k >= 0; k--)
        sum += term[k];
    last = term[10]; /* the integral, times s - 1; the twelfth fills a vector */
    h = ND_C(5.5090028283602295e-18) + h * ((s + 21) * (s + 22) * v);
    h = ND_C(-2.1748686985580619e-16) + h * ((s + 19) * (s + 20) * v);
    h = ND_C(8.5860620562778446e-15) + h * ((s + 17) * (s + 18) * v);
    h = ND_C(-3.3896802963225829e-13) + h * ((s + 15) * (s + 16) * v);
    h = ND_C(1.3382536530684679e-11) + h * ((s + 13) * (s + 14) * v);
    h = ND_C(-5.2841901386874932e-10) + h * ((s + 11) * (s + 12) * v);
    h = ND_C(2.0876756987868099e-8) + h * ((s + 9) * (s + 10) * v);
    h = ND_C(-8.2671957671957672e-7) + h * ((s + 7) * (s + 8) * v);
    h = ND_C(3.3068783068783069e-5) + h * ((s + 5) * (s + 6) * v);
    h = ND_C(-0.0013888888888888889) + h * ((s + 3) * (s + 4) * v);
    h = ND_C(0.083333333333333333) + h * ((s + 1) * (s + 2) * v);
    last *= 1 / s1 + (ND_C(0.5) + h * (s / w)) / w;
    int counts = last == last && sum < ND_NAME(w_inf)(); /* not where 0 meets a large s */
    return sum + (counts ? last : ND_C(0));
}
/* The same for any q and integers s > 1, if q is not an integer below 1: what lies below zero is a
 * sum over the distances to it. */
ND_FN ND_W ND_NAME(w_zeta_any)(ND_W s, ND_W s1, ND_W q, ND_W e, ND_W e_low)
{
    ND_W above, below, rest, f = q - ND_NAME(w_rint)(q), halved = s * ND_C(0.5);
    if (q > 0)
        return ND_NAME(w_zeta)(s, s1, q, e, e_low);
    above = ND_NAME(w_zeta)(s, s1, f < 0 ? 1 + f : f, e, e_low);
    below = ND_NAME(w_zeta)(s, s1, f < 0 ? -f : 1 - f, e, e_low);
    rest = ND_NAME(w_zeta)(s, s1, 1 - q, e, e_low);
    if (ND_NAME(w_rint)(halved) == halved)
        return above < ND_NAME(w_inf)() ? (above + below) - rest : above;
    if (above == below && ND_MW(fabs)(f) != ND_C(0.5)) /* infinite, both */
        return f > 0 ? above : -above;
    return above == below ? rest : (above - below) + rest;
}
/* Riemann's function below 0 by its reflection (DLMF 25.4.1): 2 (2 pi)^(s-1) sin(pi s/2)
 * gamma(1 - s) zeta(1 - s). */
ND_FN ND_W ND_NAME(w_zeta_reflected)(ND_W s)
{
    ND_W t = 1 - s, t_low = (1 - t) - s, e = 0, e_low = 0, p_low, low, more, c, r;
    ND_W p = ND_NAME(w_product)(-t, ND_C(1.83787706640934548356), &p_low);
    p_low -= t * ND_BY_WIDTH(-7.756588316134483e-17, 3.12683543e-8) + t_low * ND_C(1.8378770664);
    if (t >= 3)
        e = ND_NAME(w_stirling)(t, t_low, &e_low);
    e = ND_NAME(w_sum)(e, p, &low);
    e = ND_NAME(w_sum)(e, -3, &more); /* for the sine may bring what overflows back */
    r = ND_NAME(w_zeta)(t, -s, 1, e, e_low + p_low + (low + more));
    r *= t >= 3 ? ND_C(1) : ND_NAME(w_gamma_near)(t);
    r *= 2 * ND_NAME(w_sinpi)(s * ND_C(0.5), &c);
    return r * ND_C(20.085536923187667741) + 0; /* no -0 */
}
ND_FN_APART ND_T ND_NAME(zeta)(ND_T a, ND_T b)
{
    ND_W s = (ND_W)a, q = (ND_W)b;
    if (a != a || b != b)
        return a + b;
    if (a == 1)
        return (ND_T)ND_NAME(w_inf)();
    if (a < 0 && b == 1)
        return (ND_T)(s > ND_C(-1e-20) ? ND_C(-0.5) : ND_NAME(w_zeta_reflected)(s));
    if (a < 1 && b == 1)
        return (ND_T)(ND_NAME(fit_zeta)(s) - 1 / (1 - s));
    if (a < 1 && b != 1)
        return (ND_T)ND_NAME(w_nan)();
    if (b <= 0 && ND_M(floor)(b) == b)
        return (ND_T)ND_NAME(w_inf)();
    if (b <= 0 && ND_M(floor)(a) != a)
        return (ND_T)ND_NAME(w_nan)();
    if (q == ND_NAME(w_inf)())
        return (ND_T)0;
    s = s > ND_BY_WIDTH(1e290, 1e35) ? ND_BY_WIDTH(1e290, 1e35) : s;
    return (ND_T)ND_NAME(w_zeta_any)(s, s - 1, q, 0, 0);
}
/* (-1)^(n + 1) n! zeta(n + 1, x), the factorial in the exponent of each term (DLMF 5.15.2 and
 * 25.11.12); a is n. */
ND_FN_APART ND_T ND_NAME(polygamma)(ND_T a, ND_T b)
{
    ND_W n = (ND_W)a, x = (ND_W)b, e = 0, e_low = 0, halved = n * ND_C(0.5), r;
    if (a == 0)
        return ND_NAME(digamma)(b);
    if (a != a || b != b)
        return a + b;
    if (a < 0 || ND_M(floor)(a) != a || a - a != 0)
        return (ND_T)ND_NAME(w_nan)();
    if (n > 1)
        e = ND_NAME(w_stirling)(n + 1, 0, &e_low);
    if (x <= 0 && ND_M(floor)(b) == b)
        r = ND_NAME(w_inf)();
    else if (x == ND_NAME(w_inf)())
        r = 0;
    else
        r = ND_NAME(w_zeta_any)(n + 1, n, x, e, e_low);
    return (ND_T)(ND_NAME(w_rint)(halved) == halved ? -r : r);
}
