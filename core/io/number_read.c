/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The text of one cell as a number. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/io/number.h"

static const char not_a_number[] = "no number";

nd_dtype nd__number_held(nd_dtype dtype)
{
    const nd_dtype_info *info = nd_dtype_get(dtype);
    const bool narrow =
        info->kind & ND__KINDS_STORED || (info->kind == ND_KIND_FLOAT && info->nbytes == 2);
    return narrow ? ND_F32 : dtype;
}

static bool is_digit(const char *p, const char *end)
{
    return p < end && *p >= '0' && *p <= '9';
}

/* Whether the text begins with the word, in small or capital letters. */
static bool has_word(const char *p, const char *end, const char *word)
{
    for (; *word; word++, p++)
        if (p == end || (*p | 0x20) != *word)
            return false;
    return true;
}

/* Digits, of which 19 count; *places: how many of them were counted. */
static const char *read_digits(const char *p, const char *end, nd__decimal *d, int *places)
{
    for (; is_digit(p, end); p++) {
        if (d->digits < UINT64_C(1000000000000000000)) {
            d->digits = d->digits * 10 + (uint64_t)(*p - '0');
            ++*places;
        } else {
            d->more |= *p != '0';
        }
    }
    return p;
}

static const char *read_exponent(const char *p, const char *end, int32_t *exponent)
{
    const char *q = p + 1;
    int32_t e = 0;
    if (p == end || (*p | 0x20) != 'e')
        return p;
    const bool negative = q < end && *q == '-';
    q += q < end && (*q == '-' || *q == '+');
    if (!is_digit(q, end))
        return p;
    for (; is_digit(q, end); q++)
        e = e < 1000000 ? e * 10 + (*q - '0') : e;
    *exponent += negative ? -e : e;
    return q;
}

/* Digits, a point, an exponent; where they end, or NULL without a digit. */
static const char *read_decimal(const char *p, const char *end, nd__decimal *d)
{
    int whole = 0, parts = 0;
    const char *begin = p;
    p = read_digits(p, end, d, &whole);
    const int64_t dropped = (p - begin) - whole;
    bool any = p > begin;
    d->exponent = dropped > 100000 ? 100000 : (int32_t)dropped;
    if (p < end && *p == '.') {
        const char *point = ++p;
        p = read_digits(p, end, d, &parts);
        any |= p > point;
        d->exponent -= parts;
    }
    return any ? read_exponent(p, end, &d->exponent) : NULL;
}

/* With all digits, by the C library. */
static double slow_value(const char *p, const char *end, nd_float_format format)
{
    char room[128], *text = room;
    const size_t n = (size_t)(end - p);
    if (n >= sizeof room && !(text = malloc(n + 1)))
        return (double)NAN;
    memcpy(text, p, n);
    text[n] = 0;
    const double x = format.digits == 53 ? nd__strtod(text) : (double)nd__strtof(text);
    if (text != room)
        free(text);
    return x;
}

/* One real number at p; where it ends, or NULL. */
static const char *read_real(const char *p, const char *end, nd_float_format format, double *x)
{
    nd__decimal d = {0};
    d.negative = p < end && *p == '-';
    p += p < end && (*p == '-' || *p == '+');
    const char *begin = p;
    if (has_word(p, end, "nan")) {
        *x = (double)NAN;
        p += 3;
    } else if (has_word(p, end, "inf")) {
        *x = (double)INFINITY;
        p += has_word(p, end, "infinity") ? 8 : 3;
    } else {
        p = read_decimal(p, end, &d);
        if (p && !nd__decimal_value(&d, format, x))
            *x = slow_value(begin, p, format);
    }
    if (p && d.negative)
        *x = -*x;
    return p;
}

static const char *read_float(const char *p, const char *end, nd_dtype dtype, void *to)
{
    double x;
    if (read_real(p, end, nd__float_format(dtype), &x) != end)
        return not_a_number;
    if (dtype == ND_F64)
        memcpy(to, &x, sizeof x);
    else
        memcpy(to, &(float){(float)x}, sizeof(float));
    return NULL;
}

/* A real part, an imaginary part, or both, in brackets or not; savetxt may have written +-. */
static const char *read_complex(const char *p, const char *end, nd_dtype dtype, void *to)
{
    const nd_float_format format = nd__float_format(dtype);
    double part[2] = {0, 0}, x = 0;
    if (p < end && *p == '(' && end[-1] == ')') {
        p++;
        end--;
    }
    p = read_real(p, end, format, &x);
    if (p && p < end && (*p == '+' || *p == '-')) {
        part[0] = x;
        p = read_real(p + (end - p > 1 && p[0] == '+' && p[1] == '-'), end, format, &part[1]);
        p = p && p < end && *p == 'j' ? p + 1 : NULL;
    } else if (p && p < end && *p == 'j') {
        part[1] = x;
        p++;
    } else {
        part[0] = x;
    }
    if (p != end)
        return "no complex number such as 1+2j";
    if (dtype == ND_C128)
        memcpy(to, part, sizeof part);
    else
        memcpy(to, (float[]){(float)part[0], (float)part[1]}, 2 * sizeof(float));
    return NULL;
}

/* An integer's magnitude; *large: it does not fit 64 bits. */
static bool read_magnitude(const char *p, const char *end, uint64_t *v, bool *large)
{
    *v = 0;
    *large = false;
    if (!is_digit(p, end))
        return false;
    for (; is_digit(p, end); p++)
        *large |= __builtin_mul_overflow(*v, UINT64_C(10), v) ||
                  __builtin_add_overflow(*v, (uint64_t)(*p - '0'), v);
    return p == end;
}

static const char *store_integer(nd_dtype dtype, bool negative, uint64_t v, void *to)
{
    const nd_dtype_info *info = nd_dtype_get(dtype);
    const int bits = 8 * (int)info->nbytes;
    const bool is_signed = info->kind == ND_KIND_INT;
    const uint64_t most = is_signed    ? (UINT64_C(1) << (bits - 1)) - !negative
                          : negative   ? 0
                          : bits == 64 ? UINT64_MAX
                                       : (UINT64_C(1) << bits) - 1;
    if (v > most)
        return "out of range";
    const uint64_t value = negative ? 0 - v : v;
    switch (bits) {
    case 8:
        memcpy(to, &(uint8_t){(uint8_t)value}, 1);
        break;
    case 16:
        memcpy(to, &(uint16_t){(uint16_t)value}, 2);
        break;
    case 32:
        memcpy(to, &(uint32_t){(uint32_t)value}, 4);
        break;
    default:
        memcpy(to, &value, 8);
    }
    return NULL;
}

static const char *read_integer(const char *p, const char *end, nd_dtype dtype, void *to)
{
    uint64_t v;
    bool large;
    double x;
    const char *begin = p;
    const bool negative = p < end && *p == '-';
    p += p < end && (*p == '-' || *p == '+');
    if (!read_magnitude(p, end, &v, &large))
        return read_real(begin, end, nd__float_format(ND_F64), &x) == end && begin < end
                   ? "no integer; read it as f64 and convert it with nd_astype"
                   : "no integer";
    if (dtype == ND_BOOL)
        *(unsigned char *)to = v != 0 || large;
    else
        return large ? "out of range" : store_integer(dtype, negative, v, to);
    return NULL;
}

static const char *read_bool(const char *p, const char *end, void *to)
{
    const bool yes = end - p == 4 && has_word(p, end, "true");
    if (!yes && !(end - p == 5 && has_word(p, end, "false")))
        return read_integer(p, end, ND_BOOL, to) ? "no truth value: true, false or an integer"
                                                 : NULL;
    *(unsigned char *)to = yes;
    return NULL;
}

const char *nd__number_read(const char *text, const char *end, nd_dtype dtype, void *to)
{
    switch (nd_dtype_get(dtype)->kind) {
    case ND_KIND_BOOL:
        return read_bool(text, end, to);
    case ND_KIND_FLOAT:
    case ND_KIND_STORED:
    case ND_KIND_FLOAT8:
        return read_float(text, end, dtype, to);
    case ND_KIND_COMPLEX:
        return read_complex(text, end, dtype, to);
    default:
        return read_integer(text, end, dtype, to);
    }
}
