/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Decimal to binary and back by one multiplication with a power of ten of 128 bits. Powers from
 * 10^0 to 10^55 are exact; others are cut, so that a product lies between two bounds that are
 * known. Where both round to the same number, it is the right one; where they do not, the caller
 * takes the C library, which computes with all digits. The idea of a product with a table of powers
 * is that of D. Lemire, "Number parsing at a gigabyte per second" (2021); the bounds make a proof
 * unnecessary. */
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/io/decimal.h"

enum {
    LOWEST = -342, /* 10^18 times this is below half of the smallest subnormal number */
    HIGHEST = 342, /* scales that smallest one to 19 digits */
    EXACT = 55,    /* 5^55 is below 2^128 */
    LIMBS = 26,    /* 32 bits each: 5^342 has 795 */
};
typedef unsigned __int128 wide;

/* A power is mantissa * 2^(e - 127) with the highest bit of the mantissa set. */
static wide power[HIGHEST - LOWEST + 1];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static locale_t plain;

/* floor(log2(10^q)), by Lemire's approximation, exact for |q| up to 1000. */
static int power_exponent(int q)
{
    return (217706 * q) >> 16;
}

static void times(uint32_t *limbs, uint32_t factor)
{
    uint64_t carry = 0;
    for (int i = 0; i < LIMBS; i++) {
        carry += (uint64_t)limbs[i] * factor;
        limbs[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static int bit_length(const uint32_t *limbs)
{
    int i = LIMBS - 1;
    while (i > 0 && !limbs[i])
        i--;
    return limbs[i] ? 32 * i + 32 - __builtin_clz(limbs[i]) : 0;
}

/* The highest 128 bits. */
static wide highest(const uint32_t *limbs)
{
    wide v = 0;
    const int n = bit_length(limbs);
    for (int i = 1; i <= 128; i++) {
        const int bit = n - i;
        v = v << 1 | (bit >= 0 ? limbs[bit / 32] >> bit % 32 & 1 : 0);
    }
    return v;
}

static bool subtract_if_less(uint32_t *from, const uint32_t *limbs)
{
    int64_t borrow = 0;
    int i = LIMBS - 1;
    while (i > 0 && from[i] == limbs[i])
        i--;
    if (from[i] < limbs[i])
        return false;
    for (i = 0; i < LIMBS; i++) {
        borrow += (int64_t)from[i] - limbs[i];
        from[i] = (uint32_t)borrow;
        borrow >>= 32;
    }
    return true;
}

/* The highest 128 bits of 1 / limbs: long division, bit by bit. */
static wide reciprocal(const uint32_t *limbs)
{
    uint32_t rest[LIMBS] = {0};
    wide v = 0;
    const int bit = bit_length(limbs) - 1;
    rest[bit / 32] = UINT32_C(1) << bit % 32;
    for (int i = 0; i < 128; i++) {
        times(rest, 2);
        v = v << 1 | subtract_if_less(rest, limbs);
    }
    return v;
}

static void make_powers(void)
{
    uint32_t limbs[LIMBS] = {1};
    for (int q = 0; q <= HIGHEST; q++, times(limbs, 5)) {
        power[q - LOWEST] = highest(limbs);
        if (q > 0 && -q >= LOWEST)
            power[-q - LOWEST] = reciprocal(limbs);
    }
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* A product of 192 bits. */
typedef struct {
    uint64_t high, middle, low;
} product;

static product multiply(uint64_t w, wide p)
{
    const wide low = (wide)w * (uint64_t)p;
    const wide high = (wide)w * (uint64_t)(p >> 64) + (uint64_t)(low >> 64);
    return (product){(uint64_t)(high >> 64), (uint64_t)high, (uint64_t)low};
}

static product doubled(const product *p)
{
    return (product){p->high << 1 | p->middle >> 63, p->middle << 1 | p->low >> 63, p->low << 1};
}

/* Adds; false beyond 192 bits. */
static bool add(product *p, wide v)
{
    const wide low = (wide)p->low + (uint64_t)v;
    const wide middle = (wide)p->middle + (uint64_t)(v >> 64) + (uint64_t)(low >> 64);
    p->low = (uint64_t)low;
    p->middle = (uint64_t)middle;
    return !__builtin_add_overflow(p->high, (uint64_t)(middle >> 64), &p->high);
}

/* p without its lowest cut bits, 128 to 192, rounded to even. */
static uint64_t rounded(const product *p, int cut)
{
    if (cut == 128) {
        const bool up = p->middle >> 63 && (p->middle << 1 || p->low || (p->high & 1));
        return p->high + up;
    }
    const int shift = cut - 128;
    const uint64_t kept = shift < 64 ? p->high >> shift : 0;
    const uint64_t half = p->high >> (shift - 1) & 1;
    const uint64_t below = p->high & ((UINT64_C(1) << (shift - 1)) - 1);
    return kept + (half && (below || p->middle || p->low || (kept & 1)));
}

/* p * 2^e in the format. */
static double in_format(const product *p, int e, nd_float_format format)
{
    const int top = p->high >> 63 ? 191 : 190; /* the highest bit that is set */
    const int lowest = 1 - format.bias;
    int bits = format.digits;
    if (e + top < lowest)
        bits -= lowest - (e + top);
    if (bits < 0)
        return 0;
    const double x = ldexp((double)rounded(p, top + 1 - bits), e + top + 1 - bits);
    return x >= nd__format_end(format) ? (double)INFINITY : x;
}

/* From the lower bound of w * 10^q to the upper one; zeros, unless negative: the number may be up
 * to 2^zeros larger than w. */
static bool raise_bound(product *p, int q, uint64_t w, int zeros)
{
    const bool exact = q >= 0 && q <= EXACT;
    const uint64_t spread = zeros < 0 ? 0 : UINT64_C(1) << zeros;
    if (spread > 16)
        return false;
    for (uint64_t i = 0; i < spread; i++)
        if (!add(p, power[q - LOWEST]))
            return false;
    return exact || add(p, (wide)w + spread);
}

bool nd__decimal_value(const nd__decimal *d, nd_float_format format, double *out)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const int q = d->exponent;
    const int small = q < 0 ? -q : q;
    *out = 0;
    if (d->digits == 0 && !d->more)
        return true;
    /* One operation on two exact numbers is rounded once. */
    if (format.digits == 53 && d->digits <= UINT64_C(1) << 53 && small <= 22 && !d->more) {
        *out = q < 0 ? (double)d->digits / tens[small] : (double)d->digits * tens[small];
        return true;
    }
    if (q < LOWEST)
        return true;
    if (q > 308) {
        *out = (double)INFINITY;
        return true;
    }
    (void)pthread_once(&once, make_powers);
    const int zeros = __builtin_clzll(d->digits);
    const uint64_t w = d->digits << zeros;
    product low = multiply(w, power[q - LOWEST]), high = low;
    if (!raise_bound(&high, q, w, d->more ? zeros : -1))
        return false;
    const int e = power_exponent(q) - 127 - zeros;
    *out = in_format(&low, e, format);
    return *out == in_format(&high, e, format);
}

static const uint64_t tens[ND__DIGITS + 1] = {UINT64_C(1),
                                              UINT64_C(10),
                                              UINT64_C(100),
                                              UINT64_C(1000),
                                              UINT64_C(10000),
                                              UINT64_C(100000),
                                              UINT64_C(1000000),
                                              UINT64_C(10000000),
                                              UINT64_C(100000000),
                                              UINT64_C(1000000000),
                                              UINT64_C(10000000000),
                                              UINT64_C(100000000000),
                                              UINT64_C(1000000000000),
                                              UINT64_C(10000000000000),
                                              UINT64_C(100000000000000),
                                              UINT64_C(1000000000000000),
                                              UINT64_C(10000000000000000),
                                              UINT64_C(100000000000000000),
                                              UINT64_C(1000000000000000000),
                                              UINT64_C(10000000000000000000)};

/* round(w * 2^e * 10^s) into *v: 1, or 0 where the bounds differ, or -1 where it has more than 64
 * bits. */
static int scaled(uint64_t w, int e, int s, uint64_t *v)
{
    product low = multiply(w, power[s - LOWEST]), high = low;
    int cut = 127 - power_exponent(s) - e;
    if (!raise_bound(&high, s, w, -1) || cut > 192)
        return 0;
    if (cut < 127 || (cut == 127 && high.high >> 63))
        return -1;
    if (cut == 127) {
        low = doubled(&low);
        high = doubled(&high);
        cut++;
    }
    *v = rounded(&low, cut);
    return *v == rounded(&high, cut);
}

bool nd__decimal_digits(double x, int n, uint64_t *digits, int *exponent)
{
    int e;
    (void)pthread_once(&once, make_powers);
    const uint64_t w = (uint64_t)ldexp(frexp(x, &e), 64); /* x = w * 2^(e - 64) */
    /* Where x has its first digit, or one place below, since 2^(e - 1) is the least that x can be.
     * */
    int k = (int)floor((e - 1) * 0.30102999566398120);
    for (int tries = 0; tries < 2; tries++, k++) {
        const int s = n - 1 - k; /* x * 10^s has n digits */
        if (s < LOWEST || s > HIGHEST)
            return false;
        const int known = scaled(w, e - 64, s, digits);
        if (known == 0)
            return false;
        if (known < 0 || *digits >= tens[n])
            continue;
        *exponent = -s;
        return *digits >= tens[n - 1];
    }
    return false;
}

/* Through text, by the C library. */
static void slow_digits(double x, int n, uint64_t *digits, int *exponent)
{
    char text[64], *point;
    (void)nd__snprintf(text, sizeof text, "%.*e", n - 1, x);
    *digits = 0;
    for (point = text; *point != 'e'; point++)
        if (*point >= '0' && *point <= '9')
            *digits = *digits * 10 + (uint64_t)(*point - '0');
    *exponent = (int)strtol(point + 1, NULL, 10) - (n - 1);
}

static bool reads_as(uint64_t digits, int exponent, nd_float_format format, double x)
{
    const nd__decimal d = {.digits = digits, .exponent = exponent};
    double y;
    return nd__decimal_value(&d, format, &y) && y == x;
}

void nd__decimal_shortest(double x, nd_float_format format, uint64_t *digits, int *exponent)
{
    /* Any decimal number of `fewest` digits survives the format, where it has all its digits; any
     * number of the format `most` digits: IEEE 754-2008, 5.12.2. */
    const bool subnormal = x < ldexp(1, 1 - format.bias);
    const int sure = (int)floor((format.digits - 1) * 0.30102999566398120);
    const int fewest = subnormal || sure < 1 ? 1 : sure; /* 8-bit floats are sure of none */
    const int most = 1 + (int)ceil(format.digits * 0.30102999566398120);
    int e;
    const bool uneven = frexp(x, &e) == 0.5; /* twice as far to the next number as to the last */
    for (int n = fewest; n <= most; n++) {
        if (!nd__decimal_digits(x, n, digits, exponent))
            slow_digits(x, n, digits, exponent);
        if (n == most || reads_as(*digits, *exponent, format, x))
            break;
        if (uneven && reads_as(*digits + 1, *exponent, format, x)) {
            ++*digits;
            break;
        }
    }
    while (*digits % 10 == 0) {
        *digits /= 10;
        ++*exponent;
    }
}

char *nd__put_digits(char *to, uint64_t digits, int n)
{
    for (int i = n - 1; i >= 0; i--, digits /= 10)
        to[i] = (char)('0' + digits % 10);
    return to + n;
}

double nd__strtod(const char *text)
{
    (void)pthread_once(&once, make_powers);
    return plain ? strtod_l(text, NULL, plain) : strtod(text, NULL);
}

float nd__strtof(const char *text)
{
    (void)pthread_once(&once, make_powers);
    return plain ? strtof_l(text, NULL, plain) : strtof(text, NULL);
}

int nd__snprintf(char *to, size_t room, const char *format, ...)
{
    va_list arguments;
    (void)pthread_once(&once, make_powers);
    const locale_t before = plain ? uselocale(plain) : (locale_t)0;
    va_start(arguments, format);
    const int n = vsnprintf(to, room, format, arguments);
    va_end(arguments);
    if (plain)
        (void)uselocale(before);
    return n;
}
