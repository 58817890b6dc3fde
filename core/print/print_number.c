/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Numbers as text. Digits come from printf and are checked by reading them back, so they follow the
 * C library's correct rounding; the locale's decimal point never shows. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "core/print/print.h"

/* Value of an element, or of one part of a complex one. */
static double real_value(nd_dtype dtype, int part, const void *element)
{
    nd_scalar s = nd__scalar_load(dtype, element);
    return s.kind == ND_C128  ? s.v.c[part]
           : s.kind == ND_F64 ? s.v.f
           : s.kind == ND_I64 ? (double)s.v.i
                              : (double)s.v.u;
}

/* Significand bits of the (part's) format. */
static int significand_bits(nd_dtype dtype)
{
    return nd__float_format(dtype).digits;
}

static bool is_integral(nd_dtype dtype)
{
    return nd__kind(dtype) & (ND_KIND_BOOL | ND_KIND_INT | ND_KIND_UINT);
}

/* Whether a decimal read as `y` is nearer to x than to its neighbours in a format of `bits`. */
static bool reads_back(double x, double y, nd_dtype dtype)
{
    if (significand_bits(dtype) == 53)
        return x == y;
    ndp_scalar rounded;
    nd_dtype real = dtype == ND_C64 ? ND_F32 : dtype;
    return nd__scalar_to("format", nd_float(y), real, 0, &rounded) == ND_OK && rounded.v.f == x;
}

typedef struct {
    char digits[64];
    int n, exponent;
} decimal; /* 0.d1d2d3... * 10^exponent */

/* Digits of "%.*e" text, whatever its decimal point is. */
static void parse_e(const char *text, decimal *d)
{
    d->n = 0;
    for (; *text && *text != 'e'; text++)
        if (isdigit((unsigned char)*text))
            d->digits[d->n++] = *text;
    d->exponent = (int)strtol(text + 1, NULL, 10) + 1;
    while (d->n > 1 && d->digits[d->n - 1] == '0')
        d->n--;
}

static void shortest(double x, nd_dtype dtype, decimal *d)
{
    char text[64];
    for (int p = 0; p < 17; p++) {
        snprintf(text, sizeof text, "%.*e", p, fabs(x));
        if (reads_back(fabs(x), strtod(text, NULL), dtype))
            break;
    }
    parse_e(text, d);
}

/* At most `precision` digits after the point (positional) or after the first digit (scientific),
 * correctly rounded. */
static void limit(double x, int precision, bool scientific, decimal *d)
{
    char text[ND_NUMBER_TEXT + 320];
    int kept = scientific ? precision + 1 : d->exponent + precision;
    if (d->n <= kept)
        return;
    if (scientific || kept > 0) {
        snprintf(text, sizeof text, "%.*e", kept - 1, fabs(x));
        parse_e(text, d);
    } else { /* it rounds to 0 or to one unit of the last place */
        bool up = kept == 0 && fabs(x) > 0.5 * pow(10, -precision);
        d->digits[0] = up ? '1' : '0';
        d->n = 1;
        d->exponent = up ? 1 - precision : 1;
    }
}

/* Lengths of the parts before and after the point. */
static void positional_widths(const decimal *d, bool negative, int *left, int *right)
{
    *left = (d->exponent > 0 ? d->exponent : 1) + negative;
    *right = d->digits[0] == '0' ? 0 : d->n > d->exponent ? d->n - d->exponent : 0;
}

static int exponent_digits(int exponent)
{
    int e = exponent < 0 ? -exponent : exponent;
    return e >= 100 ? 3 : 2;
}

static void widen(int *width, int needed)
{
    if (needed > *width)
        *width = needed;
}

/* A double rounded to the (part's) format. */
static double rounded_to(nd_dtype dtype, double x)
{
    ndp_scalar r;
    return nd__scalar_to("format", nd_float(x),
                         dtype == ND_C64    ? ND_F32
                         : dtype == ND_C128 ? ND_F64
                                            : dtype,
                         0, &r) == ND_OK
               ? r.v.f
               : INFINITY;
}

/* Scientific where the largest magnitude has more digits than the format (or 8) holds, the smallest
 * is too small, or both are too far apart, as NumPy decides, in the format's own arithmetic. */
static bool wants_scientific(nd_dtype dtype, double smallest, double largest, bool suppress)
{
    int digits = (int)((significand_bits(dtype) - 1) * 0.30103);
    if (largest == 0)
        return false;
    return largest >= pow(10, digits < 8 ? digits : 8) ||
           (!suppress &&
            (smallest < rounded_to(dtype, 1e-4) || rounded_to(dtype, largest / smallest) > 1e3));
}

static void fit_integer(nd_number_format *f, int part, const void *element)
{
    char buf[ND_NUMBER_TEXT];
    nd__number_text(f, part, element, false, buf);
    widen(&f->left, (int)strlen(buf));
}

/* signed_always: an imaginary part, which shows its '+' */
static void fit_float(nd_number_format *f, double x, bool signed_always)
{
    decimal d;
    int left, right;
    shortest(x, f->dtype, &d);
    limit(x, f->precision, f->scientific, &d);
    if (f->scientific) {
        left = 1 + (signed_always || signbit(x));
        right = d.n - 1;
        widen(&f->exponent_width, exponent_digits(x == 0 ? 0 : d.exponent - 1));
    } else {
        positional_widths(&d, signed_always || signbit(x), &left, &right);
    }
    widen(&f->left, left);
    widen(&f->right, right);
}

nd_number_format nd__number_format(nd_dtype dtype, int part, const void *elements, int64_t n,
                                   int precision, bool suppress)
{
    nd_number_format f = {.dtype = dtype, .precision = precision};
    const char *p = elements;
    int64_t item = nd__itemsize(dtype);
    bool floating = !is_integral(dtype);
    double smallest = INFINITY, largest = 0;
    int special = 0;
    for (int64_t i = 0; floating && i < n; i++) {
        double x = fabs(real_value(dtype, part, p + i * item));
        if (isfinite(x) && x != 0) {
            smallest = x < smallest ? x : smallest;
            largest = x > largest ? x : largest;
        }
    }
    f.scientific = floating && wants_scientific(dtype, smallest, largest, suppress);
    for (int64_t i = 0; i < n; i++) {
        double x = floating ? real_value(dtype, part, p + i * item) : 0;
        if (!floating)
            fit_integer(&f, part, p + i * item);
        else if (isfinite(x))
            fit_float(&f, x, part);
        else
            widen(&special, !part && (isnan(x) || !signbit(x)) ? 3 : 4);
    }
    /* nan and inf stand flush right over point, fraction and exponent; the part before the point
     * grows if they need more. */
    int tail = f.right + 1 + (f.scientific ? 2 + f.exponent_width : 0);
    if (special)
        widen(&f.left, special - tail);
    return f;
}

static void integer_text(nd_dtype dtype, const void *element, char *buf)
{
    nd_scalar s = nd__scalar_load(dtype, element);
    if (s.kind == ND_BOOL)
        snprintf(buf, ND_NUMBER_TEXT, "%s", s.v.u ? "True" : "False");
    else if (s.kind == ND_I64)
        snprintf(buf, ND_NUMBER_TEXT, "%lld", (long long)s.v.i);
    else
        snprintf(buf, ND_NUMBER_TEXT, "%llu", (unsigned long long)s.v.u);
}

static int put(char *buf, int at, const char *text, int n)
{
    for (int i = 0; i < n && at < ND_NUMBER_TEXT - 1; i++)
        buf[at++] = text[i];
    buf[at] = 0;
    return at;
}

static int repeat(char *buf, int at, char c, int n)
{
    for (; n > 0; n--)
        at = put(buf, at, &c, 1);
    return at;
}

static int sign_and_pad(const nd_number_format *f, bool negative, bool sign, int own, char *buf)
{
    int at = repeat(buf, 0, ' ', f->left - own - (negative || sign ? 1 : 0));
    return negative ? put(buf, at, "-", 1) : sign ? put(buf, at, "+", 1) : at;
}

static void special_text(const nd_number_format *f, double x, bool sign, char *buf)
{
    const char *text = isnan(x) ? "nan" : signbit(x) ? "-inf" : "inf";
    int width = f->left + 1 + f->right + (f->scientific ? 2 + f->exponent_width : 0);
    bool plus = sign && text[0] != '-';
    int at = repeat(buf, 0, ' ', width - (int)strlen(text) - plus);
    if (plus)
        at = put(buf, at, "+", 1);
    put(buf, at, text, (int)strlen(text));
}

static void float_text(const nd_number_format *f, double x, bool sign, char *buf)
{
    decimal d;
    char exponent[16];
    bool negative = signbit(x);
    shortest(x, f->dtype, &d);
    limit(x, f->precision, f->scientific, &d);
    bool zero = d.digits[0] == '0';
    if (f->scientific) {
        if (d.n - 1 < f->right &&
            !zero) { /* what others need is filled with true digits, not with zeros */
            char text[64];
            snprintf(text, sizeof text, "%.*e", f->right, fabs(x));
            parse_e(text, &d);
        }
        int at = sign_and_pad(f, negative, sign, 1, buf);
        at = put(buf, at, d.digits, 1);
        at = put(buf, at, ".", 1);
        at = put(buf, at, d.digits + 1, d.n - 1);
        at = repeat(buf, at, '0', f->right - (d.n - 1));
        int e = zero ? 0 : d.exponent - 1;
        snprintf(exponent, sizeof exponent, "e%c%0*d", e < 0 ? '-' : '+', f->exponent_width,
                 e < 0 ? -e : e);
        put(buf, at, exponent, (int)strlen(exponent));
        return;
    }
    int whole = d.exponent > 0 ? d.exponent : 1, fraction = 0;
    int at = sign_and_pad(f, negative, sign, whole, buf);
    for (int i = 0; i < whole; i++)
        at = put(buf, at, d.exponent > 0 && i < d.n && !zero ? &d.digits[i] : "0", 1);
    at = put(buf, at, ".", 1);
    for (int i = d.exponent; i < d.n && !zero; i++, fraction++)
        at = put(buf, at, i < 0 ? "0" : &d.digits[i], 1);
    repeat(buf, at, ' ', f->right - fraction);
}

void nd__number_text(const nd_number_format *f, int part, const void *element, bool sign, char *buf)
{
    buf[0] = 0;
    if (is_integral(f->dtype)) {
        char text[ND_NUMBER_TEXT];
        integer_text(f->dtype, element, text);
        int at = repeat(buf, 0, ' ', f->left - (int)strlen(text));
        put(buf, at, text, (int)strlen(text));
        return;
    }
    double x = real_value(f->dtype, part, element);
    if (isfinite(x))
        float_text(f, x, sign, buf);
    else
        special_text(f, x, sign, buf);
}

/* A real number on its own: the fewest digits, scientific where Python's repr would be (for f64;
 * sooner for shorter formats). whole: 3 and not 3.0. */
static int lone_text(nd_dtype dtype, double x, bool sign, bool whole, char *buf, int at)
{
    decimal d;
    char text[32];
    int precision =
        significand_bits(dtype) == 53 ? 16 : (int)((significand_bits(dtype) - 1) * 0.30103);
    at = put(buf, at, signbit(x) && !isnan(x) ? "-" : "+", signbit(x) && !isnan(x) ? 1 : sign);
    if (!isfinite(x))
        return put(buf, at, isnan(x) ? "nan" : "inf", 3);
    shortest(x, dtype, &d);
    bool zero = x == 0, scientific = !zero && (fabs(x) >= pow(10, precision) || fabs(x) < 1e-4);
    if (scientific) {
        at = put(buf, at, d.digits, 1);
        at = put(buf, at, ".", d.n > 1);
        at = put(buf, at, d.digits + 1, d.n - 1);
        snprintf(text, sizeof text, "e%+03d", d.exponent - 1);
        return put(buf, at, text, (int)strlen(text));
    }
    int integer = d.exponent > 0 && !zero ? d.exponent : 1;
    for (int i = 0; i < integer; i++)
        at = put(buf, at, d.exponent > 0 && i < d.n && !zero ? &d.digits[i] : "0", 1);
    bool fraction = !zero && d.n > d.exponent;
    at = put(buf, at, ".0", fraction ? 1 : whole ? 0 : 2);
    for (int i = d.exponent; fraction && i < d.n; i++)
        at = put(buf, at, i < 0 ? "0" : &d.digits[i], 1);
    return at;
}

void nd__lone_text(nd_dtype dtype, const void *element, char *buf)
{
    if (is_integral(dtype)) {
        integer_text(dtype, element, buf);
        return;
    }
    double re = real_value(dtype, 0, element);
    if (nd__kind(dtype) != ND_KIND_COMPLEX) {
        lone_text(dtype, re, false, false, buf, 0);
        return;
    }
    double im = real_value(dtype, 1, element);
    bool imaginary = re == 0 && !signbit(re);
    int at = imaginary ? 0 : lone_text(dtype, re, false, true, buf, put(buf, 0, "(", 1));
    at = lone_text(dtype, im, !imaginary, true, buf, at);
    put(buf, at, "j)", imaginary ? 1 : 2);
}
