/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The gamma function, its logarithm and its derivative, and beta: floating formulas, included by
 * scalar_special_tmpl.h. From 3 on by Stirling's formula (DLMF 5.11.1) with a polynomial for its
 * series, below by polynomials and the recurrence (5.5.1), below zero by reflection (5.5.3). */

/* lgamma(y + y_low) in two parts, for y >= 3: (y - 1/2)(log(y) - 1), a constant, the series. */
ND_FN ND_W ND_NAME(w_stirling)(ND_W y, ND_W y_low, ND_W *low)
{
    ND_W l_low, b_low, p_low, e, l = ND_NAME(w_log_parts)(y, 0, &l_low), a = y - ND_C(0.5);
    ND_W b = ND_NAME(w_sum)(l, -1, &b_low), p = ND_NAME(w_product)(a, b, &p_low);
    ND_W rest = ND_NAME(fit_stirling)(1 / (y * y)) / y, s, head;
    s = ND_NAME(w_sum)(p, ND_C(0.41893853320467274178), &e);
    e += p_low + a * (b_low + l_low) +
         (ND_BY_WIDTH(1.6728209650585411e-17, -1.4168145e-8) + rest + y_low * (l - ND_C(0.5) / y));
    head = s + e;
    *low = p < ND_NAME(w_inf)() ? e - (head - s) : ND_C(0);
    return p < ND_NAME(w_inf)() ? head : p;
}
/* gamma(y) for 0 < y < 3. */
ND_FN ND_W ND_NAME(w_gamma_near)(ND_W y)
{
    ND_W n = y >= 2 ? ND_C(2) : y >= 1 ? ND_C(1) : ND_C(0);
    ND_W g = ND_NAME(fit_gamma)((y - n) - ND_C(0.5));
    return g / (n == 2 ? ND_C(1) : n == 1 ? y : y * (y + 1));
}
/* For y >= 3, and where negative its inverse, times what comes with it: below exp(-640) in two
 * steps, for the other factor brings it back from the subnormals. */
ND_FN ND_W ND_NAME(w_gamma_far)(ND_W y, ND_W y_low, int negative, ND_W other)
{
    const ND_W large = ND_BY_WIDTH(640, 64), part = ND_BY_WIDTH(64, 16);
    ND_W low, e = ND_NAME(w_stirling)(y, y_low, &low);
    int tiny = negative && e > large;
    e = negative ? (tiny ? part - e : -e) : e;
    e = ND_NAME(w_exp)(e, negative ? -low : low) * other;
    return e * (tiny ? ND_BY_WIDTH(1.6038108905486379e-28, 1.1253517471925911e-7) : ND_C(1));
}
ND_FN_LONG ND_T ND_NAME(gamma)(ND_T a)
{
    ND_W x = (ND_W)a, y = x > 0 ? x : 1 - x, y_low = x > 0 ? 0 : (1 - y) - x, c;
    ND_W other = x > 0 ? 1 : y == 1 ? 1 / x : ND_PI / ND_NAME(w_sinpi)(x, &c);
    ND_W near = ND_NAME(w_gamma_near)(y < 3 ? y : 2), far;
    far =
        ND_NAME(w_gamma_far)(y > 3 ? y : ND_C(3), y < ND_NAME(w_inf)() ? y_low : 0, x <= 0, other);
    near = x > 0 ? near : other / near;
    far = y < 3 ? near : far;
    far = x < 0 && ND_NAME(w_rint)(x) == x ? ND_NAME(w_nan)() : far;
    far = x == 0 ? ND_NAME(w_copysign)(ND_NAME(w_inf)(), x) : far;
    return (ND_T)(x == x ? far : x);
}

/* lgamma(y) for 0 < y < 3: below 1/2 by that of y + 1, of which the factors are exact. */
ND_FN ND_W ND_NAME(w_lgamma_near)(ND_W y)
{
    int low = y < ND_C(0.5);
    ND_W x = low ? y + 1 : y, t = (x - ND_C(1.22)) / (x + ND_C(1.22));
    ND_W factor = low ? y * (y - 1) : (y - 1) * (y - 2);
    ND_W r = factor * ND_NAME(fit_lgamma)(t) + 0; /* no -0 */
    ND_W below = r - ND_NAME(w_log)(y, 0);
    return low ? below : r;
}
ND_FN_LONG ND_T ND_NAME(lgamma)(ND_T a)
{
    ND_W x = (ND_W)a, y = x > 0 ? x : 1 - x, y_low = x > 0 ? 0 : (1 - y) - x, low, c, l_low;
    ND_W near = ND_NAME(w_lgamma_near)(y < 3 ? y : 2);
    ND_W r = ND_NAME(w_stirling)(y > 3 ? y : ND_C(3), y < ND_NAME(w_inf)() ? y_low : 0, &low);
    low = y < 3 ? 0 : low;
    r = y < 3 ? near : r;
    ND_W sine = ND_MW(fabs)(ND_NAME(w_sinpi)(x > 0 ? ND_C(0.5) : x, &c));
    ND_W l = ND_NAME(w_log_parts)(y == 1 ? ND_MW(fabs)(x) : sine / ND_PI, 0, &l_low);
    ND_W below = -(l + r) - (l_low + low);
    r = x > 0 ? r : below;
    r = sine == 0 ? ND_NAME(w_inf)() : r; /* of positive x it is 1 */
    return (ND_T)(x - x == 0 ? r : x);    /* of -inf -inf, as in SciPy */
}

/* digamma(y) for y > 0 (DLMF 5.11.2, 5.5.2). Near its root the distance has two parts. */
ND_FN ND_W ND_NAME(w_digamma)(ND_W y)
{
    int low = y < ND_C(0.5);
    ND_W x = y < 3 ? (low ? y + 1 : y) : ND_C(2), t = (x - ND_C(1.22)) / (x + ND_C(1.22));
    ND_W from_root =
        (x - ND_C(1.46163214496836234126)) - ND_BY_WIDTH(9.5499954299656977e-17, 1.24381499e-8);
    ND_W near = from_root * ND_NAME(fit_digamma)(t) - (low ? 1 / y : ND_C(0));
    ND_W z = y > 3 ? y : ND_C(3), v = 1 / z;
    ND_W far = ND_NAME(w_log)(z, 0) - (ND_C(0.5) * v + v * v * ND_NAME(fit_digamma_far)(v * v));
    return y < 3 ? near : y == y ? far : y;
}
ND_FN_LONG ND_T ND_NAME(digamma)(ND_T a)
{
    ND_W x = (ND_W)a, c, s = ND_NAME(w_sinpi)(x, &c), r = ND_NAME(w_digamma)(x > 0 ? x : 1 - x);
    ND_W below = r - (1 - x == 1 ? 1 / x : ND_PI * c / s);
    below = s == 0 ? ND_NAME(w_nan)() : below;
    r = x > 0 ? r : below;
    r = x == 0 ? ND_NAME(w_copysign)(ND_NAME(w_inf)(), -x) : r;
    return (ND_T)(x == x ? r : x);
}

/* ---- beta ---- */
/* log(B(a + a_low, b + b_low)) in two parts for a >= b >= 3, and log(a + b) in two:
 * b log(b/a) - (a + b - 1/2) log1p(b/a) - log(b)/2 + a constant + series. */
ND_FN ND_W ND_NAME(w_beta_far)(ND_W a, ND_W a_low, ND_W b, ND_W b_low, ND_W *low, ND_W *log_sum,
                               ND_W *log_sum_low)
{
    ND_W s_low, la_low, lb_low, u_low, l_low, d_low, p_low, r_low, t_low, e;
    ND_W s = ND_NAME(w_sum)(a, b, &s_low), q = b / a, u = ND_NAME(w_sum)(1, q, &u_low);
    ND_W la = ND_NAME(w_log_parts)(a, 0, &la_low), lb = ND_NAME(w_log_parts)(b, 0, &lb_low);
#if !ND_W_WIDER
    u_low += ND_MW(fma)(-q, a, b) / a;
#endif
    ND_W l = ND_NAME(w_log_parts)(u, u_low / u, &l_low), d = ND_NAME(w_sum)(lb, -la, &d_low);
    ND_W t = ND_NAME(w_sum)(s, ND_C(-0.5), &t_low);
    d_low += lb_low - la_low;
    ND_W p = ND_NAME(w_product)(b, d, &p_low), r = ND_NAME(w_product)(t, l, &r_low), head;
    p_low += b * d_low + b_low * (d - l - ND_C(0.5) / b) - a_low * l;
    r_low += t * l_low + (t_low + s_low) * l;
    p_low += ND_NAME(fit_stirling)(1 / (a * a)) / a + ND_NAME(fit_stirling)(1 / (b * b)) / b -
             ND_NAME(fit_stirling)(1 / (s * s)) / s;
    head = ND_NAME(w_sum)(p, -r, &e);
    p_low += e - r_low - ND_C(0.5) * lb_low;
    head = ND_NAME(w_sum)(head, ND_C(-0.5) * lb, &e);
    p_low += e + ND_BY_WIDTH(-3.8782941580672416e-17, 1.5634177e-8);
    head = ND_NAME(w_sum)(head, ND_C(0.91893853320467274178), &e);
    *low = p_low + e;
    *log_sum = ND_NAME(w_sum)(la, l, log_sum_low);
    *log_sum_low += la_low + l_low;
    return head;
}
/* B(a + a_low, b + b_low) = the result times exp(*e + *e_low), for positive a and b: operands below
 * 3 are moved up by 3, which the result undoes. Where a + b overflows the logarithm is as good as
 * proportional to the operands. */
ND_FN_APART ND_W ND_NAME(w_beta_positive)(ND_W a, ND_W a_low, ND_W b, ND_W b_low, ND_W *e,
                                          ND_W *e_low)
{
    ND_W x = a > b ? a : b, y = a > b ? b : a, x_low = a > b ? a_low : b_low;
    ND_W y_low = a > b ? b_low : a_low, factor = 1, s = x + y, low;
    ND_W moved_x = x, moved_y = y, log_sum, log_sum_low;
    if (s == ND_NAME(w_inf)()) {
        *e = 2 * ND_NAME(w_beta_far)(x / 2, 0, y / 2, 0, e_low, &log_sum, &log_sum_low);
        *e_low *= 2;
        return 1;
    }
    if (y < 3) {
        moved_y = ND_NAME(w_sum)(y, 3, &low);
        y_low += low;
        factor = 1 / (y * ((y + 1) * (y + 2)));
    }
    if (x < 3 || (y < 3 && x < 6)) { /* so that they stay in order */
        moved_x = ND_NAME(w_sum)(x, 3, &low);
        x_low += low;
        factor *= s * ((s + 1) * (s + 2)) * ((s + 3) * ((s + 4) * (s + 5)));
        factor /= x * ((x + 1) * (x + 2));
    }
    *e = ND_NAME(w_beta_far)(moved_x, x_low, moved_y, y_low, e_low, &log_sum, &log_sum_low);
    if (y < 3 && x >= 6) {
        ND_W top = s + 3, cube_low, cube = ND_NAME(w_product)(3, log_sum, &cube_low);
        factor *= (s / top) * ((s + 1) / top) * ((s + 2) / top);
        *e = ND_NAME(w_sum)(*e, cube, &low);
        *e_low += low + (cube_low + 3 * log_sum_low);
    }
    return factor;
}
/* The same for a < 0, a <= b: reflection (DLMF 5.5.3) of each gamma function below zero. */
ND_FN_APART ND_W ND_NAME(w_beta_negative)(ND_W a, ND_W b, ND_W *e, ND_W *e_low)
{
    ND_W c, low, l, l_low, f, sa = ND_NAME(w_sinpi)(a, &c), sb = ND_NAME(w_sinpi)(b, &c);
    ND_W s_low, s = ND_NAME(w_sum)(a, b, &s_low), ss = ND_NAME(w_sinpi)(s, &c), rest_low, rest;
    ND_W a1_low, a1 = ND_NAME(w_sum)(1, -a, &a1_low), b1_low, b1 = ND_NAME(w_sum)(1, -b, &b1_low);
    rest = ND_NAME(w_sum)(1, -s, &rest_low);
    rest_low -= s_low;
    ss += s_low * ND_PI * c; /* the sine of the sum as it was before it was rounded */
    if (ss == 0 && s <= 0)
        return 0;
    if (b > 0 && s < 0)
        return ND_NAME(w_beta_positive)(b, 0, rest, rest_low, e, e_low) * ss / sa;
    f = b > 0 ? ND_NAME(w_beta_positive)(s, s_low, a1, a1_low, e, e_low)
              : ND_NAME(w_beta_positive)(a1, a1_low, b1, b1_low, e, e_low) * (sb / ss);
    l = ND_NAME(w_log_parts)(b > 0 ? b : rest, 0, &l_low);
    *e = -ND_NAME(w_sum)(*e, l, &low);
    *e_low = -(*e_low + l_low + low);
    return ND_PI / (sa * f);
}
/* The same for any a <= b that are no integers up to 0; of a tiny one it is 1/a + 1/b. */
ND_FN ND_W ND_NAME(w_beta_finite)(ND_W a, ND_W b, ND_W *e, ND_W *e_low)
{
    int second = ND_MW(fabs)(b) < ND_MW(fabs)(a);
    ND_W small = second ? b : a, large = second ? a : b;
    if (ND_MW(fabs)(small) < ND_C(1e-20)) {
        *e = -ND_NAME(w_log_parts)(ND_MW(fabs)(small), 0, e_low);
        *e_low = -*e_low;
        return ND_NAME(w_copysign)(1, small) * (1 + small / large);
    }
    return a > 0 ? ND_NAME(w_beta_positive)(a, 0, b, 0, e, e_low)
                 : ND_NAME(w_beta_negative)(a, b, e, e_low);
}
/* Of integers a <= 0 only B(a, b) of an integer b in 1 ... -a is finite, as the quotient of the
 * poles: (-1)^b B(1 - a - b, b). */
ND_FN ND_W ND_NAME(w_beta_any)(ND_W a, ND_W b, ND_W *e, ND_W *e_low)
{
    ND_W x = a > b ? b : a, y = a > b ? a : b, f, halved = y * ND_C(0.5);
    *e = 0;
    *e_low = 0;
    if (a != a || b != b)
        return a + b;
    if (x == -ND_NAME(w_inf)())
        return ND_NAME(w_nan)();
    if (y == ND_NAME(w_inf)())
        return x > 0 ? ND_C(0) : ND_NAME(w_nan)();
    if (x > 0 || (ND_NAME(w_rint)(x) != x && (y > 0 || ND_NAME(w_rint)(y) != y)))
        return ND_NAME(w_beta_finite)(x, y, e, e_low);
    if (y <= 0 || x == 0 || ND_NAME(w_rint)(y) != y || 1 - x - y <= 0)
        return ND_NAME(w_inf)();
    f = ND_NAME(w_beta_positive)(1 - x - y, 0, y, 0, e, e_low);
    return ND_NAME(w_rint)(halved) == halved ? f : -f;
}
ND_FN_APART ND_T ND_NAME(beta)(ND_T a, ND_T b)
{
    ND_W e, e_low, f = ND_NAME(w_beta_any)((ND_W)a, (ND_W)b, &e, &e_low);
    return (ND_T)(f - f == 0 ? f * ND_NAME(w_exp)(e, e_low) : f);
}
ND_FN_APART ND_T ND_NAME(betaln)(ND_T a, ND_T b)
{
    ND_W e, e_low, low, f = ND_MW(fabs)(ND_NAME(w_beta_any)((ND_W)a, (ND_W)b, &e, &e_low));
    ND_W l = ND_NAME(w_log)(f, 0), r = ND_NAME(w_sum)(e, l, &low);
    return (ND_T)(r - r == 0 ? r + (low + e_low) : e + l);
}
