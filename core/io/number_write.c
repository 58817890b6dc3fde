/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A number as the text of one cell. What savetxt writes most, %.18e and the shortest text, is made
 * here; the rest is printf's. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "core/io/number.h"

static char *put_exponent(char *to, int e)
{
    *to++ = 'e';
    *to++ = e < 0 ? '-' : '+';
    e = e < 0 ? -e : e;
    return nd__put_digits(to, (uint64_t)e, e < 100 ? 2 : 3);
}

/* n digits as d.ddde+xx, of which the last has the weight 10^exponent. */
static char *put_scientific(char *to, uint64_t digits, int n, int exponent)
{
    nd__put_digits(to + 1, digits, n);
    to[0] = to[1];
    to[1] = '.';
    return put_exponent(to + n + (n > 1), exponent + n - 1);
}

static int count_digits(uint64_t v)
{
    int n = 1;
    for (; v >= 10; v /= 10)
        n++;
    return n;
}

/* As Python writes it: positional from 1e-4 to below 1e16. */
static char *put_shortest(char *to, double x, nd_float_format format)
{
    uint64_t digits;
    int exponent;
    nd__decimal_shortest(x, format, &digits, &exponent);
    const int n = count_digits(digits), first = exponent + n - 1;
    if (first < -4 || first >= 16)
        return put_scientific(to, digits, n, exponent);
    if (first < 0) { /* 0.00123 */
        memset(to, '0', 6);
        to[1] = '.';
        return nd__put_digits(to + 1 - first, digits, n);
    }
    if (exponent >= 0) { /* 12300.0 */
        to = nd__put_digits(to, digits, n);
        memset(to, '0', (size_t)exponent);
        memcpy(to + exponent, ".0", 2);
        return to + exponent + 2;
    }
    nd__put_digits(to + 1, digits, n); /* 1.23 */
    memmove(to, to + 1, (size_t)first + 1);
    to[first + 1] = '.';
    return to + n + 1;
}

static char *put_real(char *to, double x, nd_float_format format)
{
    if (signbit(x) && !isnan(x))
        *to++ = '-';
    x = fabs(x);
    const char *word = isnan(x) ? "nan" : isinf(x) ? "inf" : x == 0 ? "0.0" : NULL;
    if (!word)
        return put_shortest(to, x, format);
    memcpy(to, word, 3);
    return to + 3;
}

/* The text of %s. */
static int put_text(const nd__spec *spec, const nd__number *x, char *to)
{
    char text[64], *end = text;
    if (spec->signs && x->kind == ND__NUMBER_REAL && (isnan(x->real) || !signbit(x->real)))
        *end++ = '+';
    if (x->kind == ND__NUMBER_REAL)
        end = put_real(end, x->real, x->format);
    else if (x->kind == ND__NUMBER_BOOL)
        end += snprintf(end, 8, "%s", x->u ? "True" : "False");
    else if (x->kind == ND__NUMBER_INT)
        end += snprintf(end, 24, "%" PRId64, x->i);
    else
        end += snprintf(end, 24, "%" PRIu64, x->u);
    *end = 0;
    int n = (int)(end - text);
    if (spec->precision >= 0 && spec->precision < n)
        n = spec->precision;
    const int width = strchr(spec->flags, '-') ? -spec->width : spec->width;
    return snprintf(to, ND__NUMBER_ROOM, "%*.*s", spec->width < 0 ? 0 : width, n, text);
}

static double as_real(const nd__number *x)
{
    return x->kind == ND__NUMBER_REAL  ? x->real
           : x->kind == ND__NUMBER_INT ? (double)x->i
                                       : (double)x->u;
}

/* The conversion for printf, with another letter or a modifier. */
static void spec_text(const nd__spec *spec, const char *letter, bool precision, char *to)
{
    int n = snprintf(to, ND__SPEC_ROOM, "%%%s", spec->flags);
    if (spec->width >= 0)
        n += snprintf(to + n, ND__SPEC_ROOM - (size_t)n, "%d", spec->width);
    if (precision && spec->precision >= 0)
        n += snprintf(to + n, ND__SPEC_ROOM - (size_t)n, ".%d", spec->precision);
    snprintf(to + n, ND__SPEC_ROOM - (size_t)n, "%s", letter);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

/* %d of a float drops what is behind the point, as Python does. */
static int put_whole(const nd__spec *spec, double x, char *to, const char **why)
{
    char format[ND__SPEC_ROOM];
    if (!isfinite(x)) {
        *why = "no integer: write it by %g, or %s";
        return -1;
    }
    spec_text(spec, ".0f", false, format);
    x = trunc(x);
    return nd__snprintf(to, ND__NUMBER_ROOM, format, x == 0 ? 0.0 : x);
}

static int put_integer(const nd__spec *spec, const nd__number *x, char *to, const char **why)
{
    char format[ND__SPEC_ROOM];
    const bool decimal = strchr("diu", spec->conversion);
    if (x->kind == ND__NUMBER_REAL) {
        *why = "no integer, as %x, %X and %o want";
        return decimal ? put_whole(spec, x->real, to, why) : -1;
    }
    if (x->kind == ND__NUMBER_INT && decimal) {
        spec_text(spec, PRId64, true, format);
        return nd__snprintf(to, ND__NUMBER_ROOM, format, x->i);
    }
    if (x->kind == ND__NUMBER_INT && x->i < 0) {
        *why = "negative: write it by %d";
        return -1;
    }
    const char *letter = decimal                   ? PRIu64
                         : spec->conversion == 'x' ? PRIx64
                         : spec->conversion == 'X' ? PRIX64
                                                   : PRIo64;
    spec_text(spec, letter, true, format);
    return nd__snprintf(to, ND__NUMBER_ROOM, format,
                        x->kind == ND__NUMBER_INT ? (uint64_t)x->i : x->u);
}

static int put_float(const nd__spec *spec, double x, char *to)
{
    char format[ND__SPEC_ROOM], letter[2] = {spec->conversion, 0};
    const int n = spec->precision < 0 ? 7 : spec->precision + 1;
    uint64_t digits;
    int exponent;
    char *begin = to;
    const double magnitude = fabs(x);
    if (spec->plain && spec->conversion == 'e' && n <= ND__DIGITS && magnitude > 0 && isfinite(x) &&
        nd__decimal_digits(magnitude, n, &digits, &exponent)) {
        if (x < 0)
            *to++ = '-';
        return (int)(put_scientific(to, digits, n, exponent) - begin);
    }
    spec_text(spec, letter, true, format);
    return nd__snprintf(to, ND__NUMBER_ROOM, format, isnan(x) ? (double)NAN : x);
}
#pragma GCC diagnostic pop

int nd__number_write(const nd__spec *spec, const nd__number *x, char *to, const char **why)
{
    int n;
    switch (spec->conversion) {
    case 's':
    case 'r':
        n = put_text(spec, x, to);
        break;
    case 'd':
    case 'i':
    case 'u':
        if (x->kind == ND__NUMBER_INT && spec->plain && spec->precision < 0) {
            const uint64_t v = x->i < 0 ? 0 - (uint64_t)x->i : (uint64_t)x->i;
            *to = '-';
            return (int)(nd__put_digits(to + (x->i < 0), v, count_digits(v)) - to);
        }
        n = put_integer(spec, x, to, why);
        break;
    case 'x':
    case 'X':
    case 'o':
        n = put_integer(spec, x, to, why);
        break;
    default:
        n = put_float(spec, as_real(x), to);
    }
    if (n >= ND__NUMBER_ROOM) {
        *why = "longer than 511 bytes in this format";
        return -1;
    }
    return n;
}
