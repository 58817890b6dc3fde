/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elements as exact values, and when a result is close enough. */
#include <math.h>
#include "tests/conform/conform.h"

typedef struct {
    int digits, least, most;
} format; /* significand bits, exponents of the smallest normal and of the largest */

static format format_of(nd_dtype dtype)
{
    switch (dtype) {
    case ND_F16:
        return (format){11, -14, 15};
    case ND_BF16:
        return (format){8, -126, 127};
    case ND_F32:
    case ND_C64:
        return (format){24, -126, 127};
    default:
        return (format){53, -1022, 1023};
    }
}

cell cell_int(__int128 value)
{
    return (cell){.kind = ND_KIND_INT, .i = value};
}
cell cell_real(long double re)
{
    return (cell){.kind = ND_KIND_FLOAT, .re = re};
}
cell cell_complex(long double re, long double im)
{
    return (cell){.kind = ND_KIND_COMPLEX, .re = re, .im = im};
}
cell cell_bool(bool value)
{
    return (cell){.kind = ND_KIND_BOOL, .i = value};
}

cell cell_wrap(nd_dtype dtype, __int128 value)
{
    int bits = 8 * (int)nd_dtype_size(dtype);
    if (bits > 64) /* no integer dtype: there is nothing to wrap */
        return cell_int(value);
    unsigned __int128 mask = ((unsigned __int128)1 << bits) - 1,
                      low = (unsigned __int128)value & mask;
    bool negative = nd_dtype_get(dtype)->kind == ND_KIND_INT && (low >> (bits - 1) & 1);
    return cell_int(negative ? (__int128)(low | ~mask) : (__int128)low);
}

static long double decode_half(uint16_t h, int fraction, int bias)
{
    int e = (h & 0x7fff) >> fraction, m = h & ((1 << fraction) - 1), top = 0x7fff >> fraction;
    long double x = e == top ? (m ? NAN : INFINITY)
                    : e      ? ldexpl((1 << fraction) + m, e - bias - fraction)
                             : ldexpl(m, 1 - bias - fraction);
    return h & 0x8000 ? -x : x;
}

cell cell_read(nd_dtype dtype, const void *element)
{
    union {
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        uint8_t u8;
        uint16_t u16;
        uint32_t u32;
        uint64_t u64;
        float f[2];
        double d[2];
    } v;
    memset(&v, 0, sizeof v);
    memcpy(&v, element, nd_dtype_size(dtype));
    switch (dtype) {
    case ND_BOOL:
        return (cell){.kind = ND_KIND_BOOL, .i = v.u8};
    case ND_I8:
        return cell_int(v.i8);
    case ND_I16:
        return cell_int(v.i16);
    case ND_I32:
        return cell_int(v.i32);
    case ND_I64:
        return cell_int(v.i64);
    case ND_U8:
        return cell_int(v.u8);
    case ND_U16:
        return cell_int(v.u16);
    case ND_U32:
        return cell_int(v.u32);
    case ND_U64:
        return cell_int(v.u64);
    case ND_F16:
        return cell_real(decode_half(v.u16, 10, 15));
    case ND_BF16:
        return cell_real(decode_half(v.u16, 7, 127));
    case ND_F32:
        return cell_real(v.f[0]);
    case ND_F64:
        return cell_real(v.d[0]);
    case ND_C64:
        return cell_complex(v.f[0], v.f[1]);
    default:
        return cell_complex(v.d[0], v.d[1]);
    }
}

/* A value of moderate size, as double. */
static double moderate(void)
{
    double u = (double)(random_bits() >> 11) * 0x1p-53;
    switch (random_below(4)) {
    case 0:
        return (double)random_below(21) - 10;
    case 1:
        return 2 * u - 1;
    case 2:
        return 20 * u - 10;
    default:
        return ldexp(2 * u - 1, (int)random_below(17) - 8);
    }
}

static void random_float(nd_dtype dtype, bool tame, void *element)
{
    static const double specials[] = {0.0,      -0.0,      1,    -1,     0.5,    -0.5,     2,
                                      INFINITY, -INFINITY, NAN,  1e-310, 5e-324, 1.79e308, 65504,
                                      1e-7,     100,       -700, 710,    88.9,   -104};
    float f;
    double d = moderate();
    if (!tame && random_below(4) == 0) {
        /* A signaling NaN becomes quiet: what functions make of it is nobody's promise. */
        static const uint64_t quiet[ND_DTYPE_END] = {
            [ND_F16] = 0x200, [ND_BF16] = 0x40, [ND_F32] = 0x400000, [ND_F64] = UINT64_C(1) << 51};
        uint64_t bits = random_bits();
        memcpy(element, &bits, nd_dtype_size(dtype));
        if (isnan(cell_read(dtype, element).re))
            bits |= quiet[dtype];
        memcpy(element, &bits, nd_dtype_size(dtype));
        return;
    }
    if (!tame && random_below(4) == 0)
        d = specials[random_below(sizeof specials / sizeof *specials)];
    f = (float)d;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    if (dtype == ND_F64)
        memcpy(element, &d, 8);
    else if (dtype == ND_F32)
        memcpy(element, &f, 4);
    else if (dtype == ND_BF16)
        memcpy(element, (char *)&bits + 2,
               2); /* the upper half; truncation makes another moderate value */
    else {
        int e = (int)(bits >> 23 & 0xff) - 127 + 15;
        uint16_t h =
            (uint16_t)((bits >> 16 & 0x8000) | (e <= 0    ? 0
                                                : e >= 31 ? (isnan(d) ? 0x7e00 : 0x7c00)
                                                          : (e << 10 | (int)(bits >> 13 & 0x3ff))));
        memcpy(element, &h, 2);
    }
}

void cell_random(nd_dtype dtype, bool tame, void *element)
{
    uint64_t bits = random_bits();
    size_t n = nd_dtype_size(dtype);
    switch (nd_dtype_get(dtype)->kind) {
    case ND_KIND_BOOL:
        *(uint8_t *)element = bits & 1;
        return;
    case ND_KIND_FLOAT:
        random_float(dtype, tame, element);
        return;
    case ND_KIND_COMPLEX:
        random_float(dtype == ND_C64 ? ND_F32 : ND_F64, tame, element);
        random_float(dtype == ND_C64 ? ND_F32 : ND_F64, tame, (char *)element + n / 2);
        return;
    default:
        if (tame || bits & 1) { /* small numbers of either sign; for the rest all bits are random,
                                   or all but one */
            int64_t small = random_below(41) - 20;
            bits = nd_dtype_get(dtype)->kind == ND_KIND_UINT && small < 0 ? (uint64_t)-small
                                                                          : (uint64_t)small;
        } else if ((bits & 6) == 6) {
            bits = (bits & 8) ? (uint64_t)1 << (8 * n - 1) : ((uint64_t)1 << (8 * n - 1)) - 1;
        }
        memcpy(element, &bits, n);
    }
}

long double cell_max(nd_dtype dtype)
{
    format f = format_of(dtype);
    return ldexpl(2 - ldexpl(1, 1 - f.digits), f.most);
}

long double cell_ulp(nd_dtype dtype, long double x)
{
    format f = format_of(dtype);
    int e = x == 0 || !isfinite(x) ? f.least : ilogbl(x);
    e = e < f.least ? f.least : e > f.most ? f.most : e;
    return ldexpl(1, e - f.digits + 1);
}

static bool real_close(nd_dtype dtype, long double got, long double want, double ulp, bool zeros)
{
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got);
    if (isinf(want))
        return got == want;
    long double max = cell_max(dtype), spacing = cell_ulp(dtype, want);
    if (isinf(got)) /* right if the exact value rounds there, or is that near */
        return (got > 0) == (want > 0) && fabsl(want) >= max - (ulp - 0.5L) * spacing;
    if (want == 0 && got == 0)
        return !zeros || signbit(want) == signbit(got);
    if (ulp == 0)
        return got == want;
    return fabsl(got - want) <=
           (ulp + 0.004L) *
               spacing; /* the oracle's own error, for f64 a thousandth of a unit or two */
}

bool cell_close(nd_dtype dtype, cell got, cell want, double ulp, bool zeros)
{
    int kind = nd_dtype_get(dtype)->kind;
    if (kind & (ND_KIND_BOOL | ND_KIND_INT | ND_KIND_UINT))
        return got.i == want.i;
    if (kind == ND_KIND_FLOAT)
        return real_close(dtype, got.re, want.re, ulp, zeros);
    long double modulus = hypotl(want.re, want.im);
    if (!isfinite(modulus) || !isfinite(got.re) || !isfinite(got.im) ||
        modulus > cell_max(dtype) / 2)
        return real_close(dtype, got.re, want.re, ulp, zeros) &&
               real_close(dtype, got.im, want.im, ulp, zeros);
    return hypotl(got.re - want.re, got.im - want.im) <=
           (ulp + 0.01L) * cell_ulp(dtype, modulus) * 1.5L;
}

static bool real_within(nd_dtype dtype, long double got, long double want, long double tolerance)
{
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got);
    if (isinf(want))
        return got == want;
    if (isinf(got))
        return (got > 0) == (want > 0) && fabsl(want) + tolerance >= cell_max(dtype);
    return fabsl(got - want) <= tolerance;
}

bool cell_within(nd_dtype dtype, cell got, cell want, long double tolerance)
{
    int kind = nd_dtype_get(dtype)->kind;
    if (kind & (ND_KIND_BOOL | ND_KIND_INT | ND_KIND_UINT))
        return got.i == want.i;
    return real_within(dtype, got.re, want.re, tolerance) &&
           (kind == ND_KIND_FLOAT || real_within(dtype, got.im, want.im, tolerance));
}

double op_ulp(nd_op op, nd_dtype dtype)
{
    const float *ulp = nd_op_get(op)->ulp;
    switch (dtype) {
    case ND_F16:
    case ND_BF16:
        return ulp[0];
    case ND_F32:
        return ulp[1];
    case ND_F64:
        return ulp[2];
    default:
        return ulp[3];
    }
}

const char *cell_text(cell c, char *buf)
{
    if (c.kind == ND_KIND_FLOAT)
        snprintf(buf, 128, "%.21Lg", c.re);
    else if (c.kind == ND_KIND_COMPLEX)
        snprintf(buf, 128, "(%.21Lg, %.21Lg)", c.re, c.im);
    else
        snprintf(buf, 128, "%lld", (long long)c.i);
    return buf;
}
