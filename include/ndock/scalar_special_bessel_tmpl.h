/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Modified Bessel functions of orders 0 and 1 (DLMF 10.25): floating formulas, included by
 * scalar_special_tmpl.h. Up to 10 they are polynomials of x*x/4, whose terms are all positive;
 * beyond exp(x)/sqrt(x) times polynomials of 1/x. */

ND_FN ND_W ND_NAME(w_bessel_far)(ND_W size, int order)
{
    ND_W v = 1 / (size > 10 ? size : ND_C(10)), r0 = ND_NAME(fit_i0_far)(v);
    return (order ? ND_NAME(fit_i1_far)(v) : r0) / ND_MW(sqrt)(size);
}
/* What the square lost is made good by the logarithmic derivative, of which some bits suffice. */
ND_FN ND_W ND_NAME(w_bessel_near)(ND_W size, int order)
{
    ND_W low, x = size < 10 ? size : ND_C(10), w = ND_NAME(w_square)(x, &low) * ND_C(0.25);
    ND_W r = order ? x * ND_C(0.5) * ND_NAME(fit_i1_near)(w) : ND_NAME(fit_i0_near)(w);
#if !ND_W_WIDER
    r += r * (low * ND_C(0.25) / ND_MW(sqrt)(w + (order ? 4 : 1)));
#endif
    return r;
}
/* The exponential of more than 512 is taken in two factors, as the root brings it back. */
ND_FN ND_W ND_NAME(w_bessel)(ND_W size, int order)
{
    const ND_W large = ND_BY_WIDTH(512, 80), part = ND_BY_WIDTH(64, 16);
    ND_W e = ND_NAME(w_exp)(size > large ? size - part : size, 0);
    ND_W far = e * ND_NAME(w_bessel_far)(size, order);
    far *= size > large ? ND_BY_WIDTH(6.2351490808116169e27, 8886110.520507872) : ND_C(1);
    far = size < ND_NAME(w_inf)() ? far : size;
    return size > 10 || size != size ? far : ND_NAME(w_bessel_near)(size, order);
}
/* The same times exp(-size). */
ND_FN ND_W ND_NAME(w_bessel_scaled)(ND_W size, int order)
{
    ND_W near = ND_NAME(w_exp)(-size, 0) * ND_NAME(w_bessel_near)(size, order);
    ND_W far = ND_NAME(w_bessel_far)(size, order);
    return size > 10 || size != size ? far : near;
}
ND_FN_LONG ND_T ND_NAME(i0)(ND_T a)
{
    return (ND_T)ND_NAME(w_bessel)(ND_MW(fabs)((ND_W)a), 0);
}
ND_FN_LONG ND_T ND_NAME(i0e)(ND_T a)
{
    return (ND_T)ND_NAME(w_bessel_scaled)(ND_MW(fabs)((ND_W)a), 0);
}
ND_FN_LONG ND_T ND_NAME(i1)(ND_T a)
{
    return (ND_T)ND_NAME(w_copysign)(ND_NAME(w_bessel)(ND_MW(fabs)((ND_W)a), 1), (ND_W)a);
}
ND_FN_LONG ND_T ND_NAME(i1e)(ND_T a)
{
    return (ND_T)ND_NAME(w_copysign)(ND_NAME(w_bessel_scaled)(ND_MW(fabs)((ND_W)a), 1), (ND_W)a);
}
