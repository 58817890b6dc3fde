/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The special functions of the real dtypes: included by scalar_tmpl.h, under its macros and rules,
 * once per dtype. This file has what they are made of; the rows of op.def are in the files that it
 * includes.
 *
 * They are computed in ND_W by additions, products, quotients, square roots, the exact fma and the
 * bits of numbers alone, without branches where that is possible: loops over them can be
 * vectorised, and devices whose ND_W is IEEE 754's double have the same bits. Exponentials and
 * logarithms are this file's own for that reason. Where ND_W is wider than ND_T its last bits are
 * not needed, and polynomials are shorter (scalar_special_fits_tmpl.h); where it is not, what would
 * lose bits is carried in two parts, x and x_low, the latter below the last place of x.
 *
 * The includer may define ND_FN_LONG, the qualifiers of functions that are long, and ND_FN_APART,
 * those of long functions with branches, where they shall not be those of ND_FN: long ones that are
 * inlined are vectorised by compilers, those with branches only grow.
 *
 * Range reduction and the forms of exp, expm1, log and log1p are the classical ones (Cody and
 * Waite, Software Manual for the Elementary Functions, 1980; Tang, ACM TOMS 15, 1989, and 16,
 * 1990). */
#ifndef ND_FN_LONG
#define ND_FN_LONG ND_FN
#endif
#ifndef ND_FN_APART
#define ND_FN_APART ND_FN_LONG
#endif
#define ND_C(x) ((ND_W)(x))
#if ND_MANT_DIG > 24 || ND_W_WIDER
#define ND_W_FRACTION 52
#define ND_W_BIAS 1023
#ifdef __OPENCL_C_VERSION__
#define ND_W_BITS ulong
#else
#define ND_W_BITS uint64_t
#endif
#else
#define ND_W_FRACTION 23
#define ND_W_BIAS 127
#ifdef __OPENCL_C_VERSION__
#define ND_W_BITS uint
#else
#define ND_W_BITS uint32_t
#endif
#endif
/* The double's constant, or float's. */
#define ND_BY_WIDTH(f64, f32) ND_C(ND_W_FRACTION == 52 ? f64 : f32)
/* Adding this leaves the nearest integer in the low bits of the sum, in two's complement. */
#define ND_MAGIC ND_BY_WIDTH(6755399441055744.0, 12582912.0)
#define ND_PI ND_C(3.14159265358979323846)

/* ---- numbers and their bits ---- */
ND_FN ND_W_BITS ND_NAME(w_bits)(ND_W x)
{
#if defined(__OPENCL_C_VERSION__) && ND_W_FRACTION == 52
    return as_ulong(x);
#elif defined(__OPENCL_C_VERSION__)
    return as_uint(x);
#else
    ND_W_BITS u;
#if defined(__GNUC__) && !defined(__CUDACC__)
    __builtin_memcpy(&u, &x, sizeof u);
#else
    memcpy(&u, &x, sizeof u);
#endif
    return u;
#endif
}
ND_FN ND_W ND_NAME(w_of)(ND_W_BITS u)
{
#if defined(__OPENCL_C_VERSION__) && ND_W_FRACTION == 52
    return as_double(u);
#elif defined(__OPENCL_C_VERSION__)
    return as_float(u);
#else
    ND_W x;
#if defined(__GNUC__) && !defined(__CUDACC__)
    __builtin_memcpy(&x, &u, sizeof x);
#else
    memcpy(&x, &u, sizeof x);
#endif
    return x;
#endif
}
ND_FN ND_W ND_NAME(w_inf)(void)
{
    return ND_NAME(w_of)((ND_W_BITS)(2 * ND_W_BIAS + 1) << ND_W_FRACTION);
}
ND_FN ND_W ND_NAME(w_nan)(void)
{
    return ND_NAME(w_of)((ND_W_BITS)(4 * ND_W_BIAS + 3) << (ND_W_FRACTION - 1));
}
/* |x| with the sign of y. */
ND_FN ND_W ND_NAME(w_copysign)(ND_W x, ND_W y)
{
    const ND_W_BITS sign = (ND_W_BITS)(ND_W_BIAS + 1) << (ND_W_FRACTION + 1);
    return ND_NAME(w_of)((ND_NAME(w_bits)(x) & ~sign) | (ND_NAME(w_bits)(y) & sign));
}
/* The nearest integer, halves to even. */
ND_FN ND_W ND_NAME(w_rint)(ND_W x)
{
    const ND_W whole = ND_BY_WIDTH(4503599627370496.0, 8388608.0); /* from here on integers */
    ND_W a = ND_MW(fabs)(x), r = (a + whole) - whole;
    return a < whole ? ND_NAME(w_copysign)(r, x) : x;
}
/* 2^n of shifted = ND_MAGIC + n, for normal results. */
ND_FN ND_W ND_NAME(w_power_of_two)(ND_W shifted)
{
    return ND_NAME(w_of)((ND_NAME(w_bits)(shifted) + ND_W_BIAS) << ND_W_FRACTION);
}

/* ---- two parts ---- */
/* a + b, with what the sum lost (Knuth). */
ND_FN ND_W ND_NAME(w_sum)(ND_W a, ND_W b, ND_W *low)
{
    ND_W s = a + b, part = s - a;
    *low = (a - (s - part)) + (b - part);
    return s;
}
/* x*x for |x| below 2^510 (2^62), with what the product lost: by halves, for machines that have no
 * fma (Dekker, Numer. Math. 18, 1971). */
ND_FN ND_W ND_NAME(w_square)(ND_W x, ND_W *low)
{
#if ND_W_WIDER
    *low = 0;
    return x * x;
#else
    const ND_W_BITS rest = ((ND_W_BITS)1 << (ND_W_FRACTION / 2 + 1)) - 1;
    ND_W high = ND_NAME(w_of)(ND_NAME(w_bits)(x) & ~rest), tail = x - high, s = x * x;
    *low = ((high * high - s) + 2 * high * tail) + tail * tail;
    return s;
#endif
}
ND_FN ND_W ND_NAME(w_product)(ND_W a, ND_W b, ND_W *low)
{
    ND_W p = a * b;
#if ND_W_WIDER
    *low = 0;
#else
    *low = ND_MW(fma)(a, b, -p);
#endif
    return p;
}
#include <ndock/scalar_special_fits_tmpl.h>

/* ---- exponentials ---- */
/* 2^n (1 + s + lost + ...) where shifted = ND_MAGIC + n and s + lost is small. Results at both ends
 * of the range are scaled in two steps, of which the second rounds. */
ND_FN ND_W ND_NAME(w_exp_scaled)(ND_W shifted, ND_W s, ND_W lost)
{
    ND_W p = 1 + (s + (lost + s * s * ND_NAME(fit_exp)(s)));
#if ND_W_WIDER
    return p * ND_NAME(w_power_of_two)(shifted);
#else
    ND_W n = shifted - ND_MAGIC, half_n = n * ND_C(0.5) + ND_MAGIC;
    ND_W rest = (n - (half_n - ND_MAGIC)) + ND_MAGIC;
    return p * ND_NAME(w_power_of_two)(half_n) * ND_NAME(w_power_of_two)(rest);
#endif
}
/* x = n*log(2) + s + lost; returns ND_MAGIC + n. */
ND_FN ND_W ND_NAME(w_exp_parts)(ND_W x, ND_W low, ND_W *s, ND_W *lost)
{
    ND_W shifted = x * ND_C(1.4426950408889634) + ND_MAGIC, n = shifted - ND_MAGIC;
    ND_W r = x - n * ND_BY_WIDTH(0.6931471804855391, 0.693145751953125);
    ND_W rest = n * ND_BY_WIDTH(7.4406171100123967e-11, 1.4286068203094172e-6) - low;
    *s = r - rest;
    *lost = (r - *s) - rest;
    return shifted;
}
/* exp(x + low), within 1 ulp; 0 and infinity at the ends. */
ND_FN ND_W ND_NAME(w_exp)(ND_W x, ND_W low)
{
    const ND_W most = ND_BY_WIDTH(ND_W_WIDER ? 700.0 : 710.0, 89.0);
    const ND_W least = ND_BY_WIDTH(ND_W_WIDER ? -700.0 : -746.0, -104.0);
    ND_W s, lost, top = x > most ? most : x;
    top = top < least ? least : top;
    ND_W shifted = ND_NAME(w_exp_parts)(top, top == x ? low : 0, &s, &lost);
    ND_W r = ND_NAME(w_exp_scaled)(shifted, s, lost);
#if ND_W_WIDER
    r = x > most ? ND_NAME(w_inf)() : r;
    r = x < least ? 0 : r;
#endif
    return r;
}
/* exp(x + low) - 1. Beyond 40 the exponential alone is as good. */
ND_FN ND_W ND_NAME(w_expm1)(ND_W x, ND_W low)
{
    ND_W s, lost, top = x > 40 ? ND_C(40) : x;
    top = top < -50 ? ND_C(-50) : top;
    ND_W shifted = ND_NAME(w_exp_parts)(top, top == x ? low : 0, &s, &lost);
    ND_W q = s + (lost + s * s * ND_NAME(fit_exp)(s)), scale = ND_NAME(w_power_of_two)(shifted);
    ND_W r = (scale - 1) + scale * q, far = ND_NAME(w_exp)(x, low);
    r = x > 40 ? far : r;
    return x == 0 ? x : r;
}

/* ---- logarithms ---- */
/* x = 2^k m with m in [sqrt(1/2), sqrt(2)), for positive x. */
ND_FN ND_W ND_NAME(w_split)(ND_W x, ND_W *k)
{
    const ND_W_BITS one = (ND_W_BITS)ND_W_BIAS << ND_W_FRACTION;
    const ND_W_BITS root = ND_NAME(w_bits)(ND_C(0.70710678118654752));
    ND_W shift = 0;
#if !ND_W_WIDER
    int subnormal = x < ND_BY_WIDTH(2.2250738585072014e-308, 1.1754943508222875e-38);
    shift = subnormal ? ND_C(54) : ND_C(0);
    x = subnormal ? x * ND_C(18014398509481984.0) : x;
#endif
    ND_W_BITS bits = ND_NAME(w_bits)(x), e = (bits - root + one) >> ND_W_FRACTION;
    ND_W power = ND_NAME(w_of)(e | (ND_W_BITS)(ND_W_BIAS + ND_W_FRACTION) << ND_W_FRACTION);
    *k = (power - ND_BY_WIDTH(4503599627371519.0, 8388735.0)) - shift;
    return ND_NAME(w_of)(bits - ((e - ND_W_BIAS) << ND_W_FRACTION));
}
ND_FN ND_W ND_NAME(w_log_edges)(ND_W x, ND_W r)
{
    r = x == 0 ? -ND_NAME(w_inf)() : r;
    r = x < 0 ? ND_NAME(w_nan)() : r;
    return x < ND_NAME(w_inf)() ? r : x; /* infinity and NaN are their own logarithms */
}
/* log(x + x*part), within 1 ulp; part is below the last place of 1. */
ND_FN ND_W ND_NAME(w_log)(ND_W x, ND_W part)
{
    ND_W k, f = ND_NAME(w_split)(x, &k) - 1, s = f / (f + 2), z = s * s, halved = f * f * ND_C(0.5);
    ND_W c = k * ND_BY_WIDTH(7.4406171100123967e-11, 1.4286068203094172e-6) + part;
    ND_W r = (halved - (s * (halved + z * ND_NAME(fit_log)(z)) + c)) - f;
    return ND_NAME(w_log_edges)(x, k * ND_BY_WIDTH(0.6931471804855391, 0.693145751953125) - r);
}
ND_FN ND_W ND_NAME(w_log1p)(ND_W x)
{
    ND_W low, u = ND_NAME(w_sum)(1, x, &low);
    ND_W r = ND_NAME(w_log)(u, u < ND_NAME(w_inf)() ? low / u : ND_C(0));
    return x == 0 ? x : r;
}
/* log(x + x*part) in two parts, for positive finite x, to about 2^-61 of it. */
ND_FN ND_W ND_NAME(w_log_parts)(ND_W x, ND_W part, ND_W *log_low)
{
#if ND_W_WIDER
    *log_low = 0;
    return ND_NAME(w_log)(x, part);
#else
    ND_W k, f = ND_NAME(w_split)(x, &k) - 1, d = f + 2, d_low = f - (d - 2), s = f / d;
    ND_W s_low = (ND_MW(fma)(-s, d, f) - s * d_low) / d, z = s * s, e, head = 2 * s;
    ND_W high = k * ND_BY_WIDTH(0.6931471804855391, 0.693145751953125);
    high = ND_NAME(w_sum)(high, head, &e);
    e += k * ND_BY_WIDTH(7.4406171100123967e-11, 1.4286068203094172e-6) + part;
    e += 2 * s_low + s * z * ND_NAME(fit_log)(z);
    head = high + e;
    *log_low = e - (head - high);
    return head;
#endif
}

/* ---- circular functions of multiples of pi ---- */
/* sin(pi x) and cos(pi x): the reduction is exact. Integers give zero. */
ND_FN ND_W ND_NAME(w_sinpi)(ND_W x, ND_W *cosine)
{
    ND_W even = 2 * ND_NAME(w_rint)(x * ND_C(0.5)), y = x - x == 0 ? x - even : 0;
    ND_W shifted = y * 2 + ND_MAGIC, r = y - (shifted - ND_MAGIC) * ND_C(0.5), w = r * r;
    ND_W_BITS q = ND_NAME(w_bits)(shifted);
    ND_W s = r * ND_PI +
             r * (ND_BY_WIDTH(1.2246467991473532e-16, -8.7422777e-8) + w * ND_NAME(fit_sinpi)(w));
    ND_W c = 1 + w * ND_NAME(fit_cospi)(w), sine = q & 1 ? c : s, other = q & 1 ? s : c;
    sine = q & 2 ? -sine : sine;
    other = (q + 1) & 2 ? -other : other;
    *cosine = x - x == 0 ? other : ND_NAME(w_nan)();
    return x - x == 0 ? sine : ND_NAME(w_nan)();
}

#include <ndock/scalar_special_everyday_tmpl.h>
#include <ndock/scalar_special_erf_tmpl.h>
#include <ndock/scalar_special_gamma_tmpl.h>
#include <ndock/scalar_special_zeta_tmpl.h>
#include <ndock/scalar_special_bessel_tmpl.h>

#undef ND_C
#undef ND_W_FRACTION
#undef ND_W_BIAS
#undef ND_W_BITS
#undef ND_BY_WIDTH
#undef ND_MAGIC
#undef ND_PI
