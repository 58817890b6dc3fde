/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Roots, powers, parts of numbers, activations and the logarithms of entropy: floating formulas,
 * included by scalar_special_tmpl.h. */

/* ---- powers and parts ---- */
ND_FN ND_T ND_NAME(exp2)(ND_T a)
{
    const ND_W most = ND_BY_WIDTH(ND_W_WIDER ? 1000.0 : 1025.0, 130.0);
    const ND_W least = ND_BY_WIDTH(ND_W_WIDER ? -1000.0 : -1077.0, -152.0);
    ND_W x = (ND_W)a;
    x = x > most ? most : x;
    x = x < least ? least : x;
    ND_W shifted = x + ND_MAGIC, r = x - (shifted - ND_MAGIC);
    return (ND_T)ND_NAME(w_exp_scaled)(shifted, r * ND_C(0.6931471805599453),
                                       r * ND_BY_WIDTH(2.3190468138462996e-17, -1.90465430e-9));
}
/* x log2(10) is rounded to an integer; what that leaves of x is exact but for its last bits. */
ND_FN ND_T ND_NAME(exp10)(ND_T a)
{
    const ND_W most = ND_BY_WIDTH(ND_W_WIDER ? 300.0 : 310.0, 40.0);
    const ND_W least = ND_BY_WIDTH(ND_W_WIDER ? -300.0 : -325.0, -47.0);
    const ND_W ln10 = ND_C(2.302585092994045684);
    ND_W x = (ND_W)a;
    x = x > most ? most : x;
    x = x < least ? least : x;
    ND_W shifted = x * ND_C(3.32192809488736234787) + ND_MAGIC, n = shifted - ND_MAGIC;
    ND_W r = x - n * ND_BY_WIDTH(0.30102999560767785, 0.301025390625);
    ND_W rest = n * ND_BY_WIDTH(5.6303348066750680e-11, 4.6050389811952137e-6), s = r - rest;
    ND_W lost = (r - s) - rest, scaled = s * ln10;
    return (ND_T)ND_NAME(w_exp_scaled)(
        shifted, scaled, lost * ln10 + s * ND_BY_WIDTH(-2.1707562233822494e-16, -3.1975437e-8));
}
/* The root of the significand by a polynomial, cut to half the bits so that its square is exact,
 * and one step of Newton's method. */
ND_FN ND_T ND_NAME(cbrt)(ND_T a)
{
    const ND_W_BITS one = (ND_W_BITS)ND_W_BIAS << ND_W_FRACTION;
    const ND_W_BITS rest = ((ND_W_BITS)1 << (ND_W_FRACTION / 2 + 1)) - 1;
    ND_W x = ND_MW(fabs)((ND_W)a), back = 1;
#if !ND_W_WIDER
    int subnormal = x < ND_BY_WIDTH(2.2250738585072014e-308, 1.1754943508222875e-38);
    back = subnormal ? ND_C(3.814697265625e-06) : ND_C(1);
    x = subnormal ? x * ND_C(18014398509481984.0) : x;
#endif
    ND_W_BITS bits = ND_NAME(w_bits)(x), e = bits >> ND_W_FRACTION;
    ND_W power = ND_NAME(w_of)(e | (ND_W_BITS)(ND_W_BIAS + ND_W_FRACTION) << ND_W_FRACTION) -
                 ND_BY_WIDTH(4503599627371519.0, 8388735.0);
    ND_W m = ND_NAME(w_of)((bits & (((ND_W_BITS)1 << ND_W_FRACTION) - 1)) | one);
    ND_W third = (power - 1) * ND_C(0.33333333333333331) + ND_MAGIC;
    ND_W left = power - 3 * (third - ND_MAGIC); /* 0, 1 or 2 */
    ND_W z = left == 0 ? m : left == 1 ? 2 * m : 4 * m;
    ND_W y = ND_NAME(fit_cbrt)(m);
    y *= left == 0 ? ND_C(1) : left == 1 ? ND_C(1.259921049894873) : ND_C(1.5874010519681994);
    y -= y * ((y * y * y - z) / (2 * (y * y * y) + z)); /* Halley's step: all bits but the last */
    y = ND_NAME(w_of)((ND_NAME(w_bits)(y) + (rest >> 1)) & ~rest);
    ND_W q = z / (y * y);
    y += y * ((q - y) / (2 * y + q));
    y = ND_NAME(w_copysign)(y * ND_NAME(w_power_of_two)(third) * back, (ND_W)a);
    return a - a == 0 && a != 0 ? (ND_T)y : a;
}
/* b is cut to an integer. Where a is subnormal or becomes so, only the last product rounds. */
ND_FN ND_T ND_NAME(ldexp)(ND_T a, ND_T b)
{
    const ND_W most = ND_BY_WIDTH(ND_W_WIDER ? 400.0 : 2200.0, 300.0);
    ND_W n = (ND_W)ND_M(trunc)(b), x = (ND_W)a;
    n = n > most ? most : n;
    n = n < -most ? -most : n;
#if !ND_W_WIDER
    const ND_W up = ND_BY_WIDTH(1022, 126), down = ND_BY_WIDTH(969, 102);
    int i;
    for (i = 0; i < 2; i++) {
        ND_W step = n > up ? up : n < -up ? -down : ND_C(0);
        x *= ND_NAME(w_power_of_two)(step + ND_MAGIC);
        n -= step;
    }
    n = n > up ? up : n;
    n = n < -up ? -up : n;
#endif
    x *= ND_NAME(w_power_of_two)(n + ND_MAGIC);
    return b != b ? b : a == 0 || a - a != 0 ? a : (ND_T)x;
}
/* a = m 2^e with m in [1/2, 1); zeros, infinities and NaN are their own m, with an e of 0. */
ND_FN ND_W ND_NAME(w_frexp)(ND_W x, ND_W *exponent)
{
    const ND_W_BITS field = (ND_W_BITS)(2 * ND_W_BIAS + 1) << ND_W_FRACTION;
    ND_W shift = 0;
    int plain = x == 0 || x - x != 0;
#if !ND_W_WIDER
    int subnormal = ND_MW(fabs)(x) < ND_BY_WIDTH(2.2250738585072014e-308, 1.1754943508222875e-38);
    shift = subnormal ? ND_C(54) : ND_C(0);
    x = subnormal ? x * ND_C(18014398509481984.0) : x;
#endif
    ND_W_BITS bits = ND_NAME(w_bits)(x), e = (bits & field) >> ND_W_FRACTION;
    ND_W power = ND_NAME(w_of)(e | (ND_W_BITS)(ND_W_BIAS + ND_W_FRACTION) << ND_W_FRACTION);
    power -= ND_BY_WIDTH(4503599627371518.0, 8388734.0);
    *exponent = plain ? ND_C(0) : power - shift;
    bits = (bits & ~field) | (ND_W_BITS)(ND_W_BIAS - 1) << ND_W_FRACTION;
    return plain ? x : ND_NAME(w_of)(bits);
}
ND_FN ND_T ND_NAME(frexp_mantissa)(ND_T a)
{
    ND_W exponent;
    return (ND_T)ND_NAME(w_frexp)((ND_W)a, &exponent);
}
ND_FN ND_T ND_NAME(frexp_exponent)(ND_T a)
{
    ND_W exponent;
    (void)ND_NAME(w_frexp)((ND_W)a, &exponent);
    return (ND_T)exponent;
}
ND_FN ND_T ND_NAME(modf_fraction)(ND_T a)
{
    ND_T whole = ND_M(trunc)(a), r = a == whole ? (ND_T)0 : a - whole;
    return ND_M(copysign)(r, a);
}
ND_FN ND_T ND_NAME(fmod)(ND_T a, ND_T b)
{
    return ND_M(fmod)(a, b);
}
ND_FN ND_T ND_NAME(heaviside)(ND_T a, ND_T b)
{
    return a > 0 ? (ND_T)1 : a < 0 ? (ND_T)0 : a == 0 ? b : a;
}
ND_FN ND_T ND_NAME(deg2rad)(ND_T a)
{
    return (ND_T)((ND_W)a * ND_C(0.017453292519943296));
}
ND_FN ND_T ND_NAME(rad2deg)(ND_T a)
{
    return (ND_T)((ND_W)a * ND_C(57.295779513082323));
}
/* The sine is reduced exactly, so that integers give zeros, all of them positive. */
ND_FN ND_T ND_NAME(sinc)(ND_T a)
{
    ND_W x = ND_MW(fabs)((ND_W)a), c, r = ND_NAME(w_sinpi)(x, &c) / (x * ND_PI);
    return x == 0 ? (ND_T)1 : (ND_T)(r + 0);
}

/* ---- activations ---- */
/* exp of a negative number only, so that nothing overflows. */
ND_FN ND_T ND_NAME(softplus)(ND_T a)
{
    ND_W x = (ND_W)a, r = ND_NAME(w_log1p)(ND_NAME(w_exp)(-ND_MW(fabs)(x), 0));
    return (ND_T)((x > 0 ? x : ND_C(0)) + (x == x ? r : x));
}
/* tanh(log(1 + exp(x))) as a ratio without cancellation. Where ND_W is not wider the exponential
 * is kept clear of the subnormals, whose error a would magnify: the last factor is exp(-64). */
ND_FN ND_T ND_NAME(mish)(ND_T a)
{
    ND_W x = (ND_W)a, e = ND_NAME(w_exp)(-ND_MW(fabs)(x), 0), top, bottom;
    top = x > 0 ? 1 + 2 * e : e * (e + 2);
    bottom = x > 0 ? top + 2 * (e * e) : top + 2;
#if !ND_W_WIDER
    ND_W far = x * ND_NAME(w_exp)(x + 64, 0) * ND_C(1.603810890548637853e-28);
    return (ND_T)(x < ND_BY_WIDTH(-650, -70) ? far : x * (top / bottom));
#else
    return (ND_T)(x * (top / bottom));
#endif
}
ND_FN ND_T ND_NAME(hardsigmoid)(ND_T a)
{
    ND_W r = ((ND_W)a + 3) / 6;
    return a <= -3 ? (ND_T)0 : a >= 3 ? (ND_T)1 : (ND_T)r;
}
ND_FN ND_T ND_NAME(hardswish)(ND_T a)
{
    ND_W r = (ND_W)a * ((ND_W)a + 3) / 6;
    return a <= -3 ? (ND_T)0 : a >= 3 ? a : (ND_T)r;
}
/* The constants of Klambauer et al., arXiv 1706.02515; the second is scale*alpha. The exponential of a
 * positive number is not used and must not overflow; cut at 0 instead of at 1, LLVM 14, by which PoCL compiles,
 * lost the sign of -0. */
ND_FN ND_T ND_NAME(selu)(ND_T a)
{
    ND_W x = (ND_W)a, r = ND_NAME(w_expm1)(x > 1 ? ND_C(1) : x, 0);
    return (ND_T)(x > 0 ? ND_C(1.05070098735548049342) * x : ND_C(1.75809934084737685994) * r);
}
ND_FN ND_T ND_NAME(leaky_relu)(ND_T a, ND_T b)
{
    return a > 0 ? a : a * b;
}
/* What the quotient lost matters where it is large: for alpha below zero. There the exponential
 * comes in two factors, as alpha may bring it back into the range. */
ND_FN ND_T ND_NAME(celu)(ND_T a, ND_T b)
{
    ND_W x = (ND_W)a, alpha = (ND_W)b, q = x / alpha, low = 0;
#if !ND_W_WIDER
    low = -ND_MW(fma)(q, alpha, -x) / alpha;
    low = low - low == 0 ? low : 0;
#endif
    const ND_W large = ND_BY_WIDTH(600, 80), part = ND_BY_WIDTH(64, 16);
    ND_W r = alpha * ND_NAME(w_expm1)(q, low), far = ND_NAME(w_exp)(q - part, low) * alpha;
    far *= ND_BY_WIDTH(6.2351490808116169e27, 8886110.520507872);
    r = q > large ? far : r;
    r = ND_MW(fabs)(q) < ND_C(1e-18) ? x : r; /* the quotient may have become subnormal, or 0 */
    return a > 0 ? a : (ND_T)(alpha == 0 ? ND_NAME(w_nan)() : r);
}

/* ---- entropy ---- */
ND_FN ND_T ND_NAME(xlogy)(ND_T a, ND_T b)
{
    ND_W r = (ND_W)a * ND_NAME(w_log)((ND_W)b, 0);
    return a == 0 && b == b ? (ND_T)0 : (ND_T)r;
}
ND_FN ND_T ND_NAME(xlog1py)(ND_T a, ND_T b)
{
    ND_W r = (ND_W)a * ND_NAME(w_log1p)((ND_W)b);
    return a == 0 && b == b ? (ND_T)0 : (ND_T)r;
}
ND_FN ND_T ND_NAME(entr)(ND_T a)
{
    ND_W r = -(ND_W)a * ND_NAME(w_log)((ND_W)a, 0);
    r = a < 0 ? -ND_NAME(w_inf)() : r;
    return a == 0 ? (ND_T)0 : (ND_T)r;
}
/* Near 1/2, where 2a - 1 is exact, the logarithm of a quotient near 1 would lose bits. */
ND_FN ND_T ND_NAME(logit)(ND_T a)
{
    ND_W x = (ND_W)a, rest = 1 - x, far = ND_NAME(w_log)(x / rest, 0);
    int near = x > ND_C(0.3) && x < ND_C(0.65);
    ND_W r = near ? ND_NAME(w_log1p)((2 * x - 1) / rest) : far;
    r = x == 1 ? ND_NAME(w_inf)() : r;
    return (ND_T)(x >= 0 && x <= 1 ? r : x == x ? ND_NAME(w_nan)() : x);
}
