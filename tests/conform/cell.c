/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elements as exact values, and when a result is close enough. */
#include <math.h>
#include "tests/conform/conform.h"

cell_format cell_format_of(nd_dtype dtype)
{
    switch (dtype) {
    case ND_F16:
        return (cell_format){10, 15, 16, false, false};
    case ND_BF16:
        return (cell_format){7, 127, 16, false, false};
    case ND_F8_E4M3:
        return (cell_format){3, 7, 8, true, true};
    case ND_F8_E5M2:
        return (cell_format){2, 15, 8, false, true};
    case ND_F32:
    case ND_C64:
        return (cell_format){23, 127, 32, false, false};
    default:
        return (cell_format){52, 1023, 64, false, false};
    }
}

uint64_t cell_code_end(cell_format f)
{
    uint64_t infinity = (uint64_t)(2 * f.bias + 1) << f.fraction;
    return f.finite ? infinity | (((uint64_t)1 << f.fraction) - 1) : infinity;
}

int cell_kind(nd_dtype dtype)
{
    int kind = nd_dtype_get(dtype)->kind;
    return kind & (ND_KIND_STORED | ND_KIND_FLOAT8) ? ND_KIND_FLOAT : kind;
}

int64_t cell_whole(nd_dtype dtype)
{
    int digits = cell_format_of(dtype).fraction + 1;
    return cell_kind(dtype) == ND_KIND_FLOAT && digits < 7 ? (int64_t)1 << digits : 100;
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

static long double decode(int code, cell_format f)
{
    int top = 2 * f.bias + 1, e = code >> f.fraction & top, m = code & ((1 << f.fraction) - 1);
    bool nan = f.finite ? m == (1 << f.fraction) - 1 : m != 0;
    long double x = e == top && nan         ? NAN
                    : e == top && !f.finite ? INFINITY
                    : e                     ? ldexpl((1 << f.fraction) + m, e - f.bias - f.fraction)
                                            : ldexpl(m, 1 - f.bias - f.fraction);
    return code >> (f.bits - 1) & 1 ? -x : x;
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
    case ND_F32:
        return cell_real(v.f[0]);
    case ND_F64:
        return cell_real(v.d[0]);
    case ND_C64:
        return cell_complex(v.f[0], v.f[1]);
    case ND_C128:
        return cell_complex(v.d[0], v.d[1]);
    default: /* a floating format of 8 or 16 bits */
        return cell_real(decode(nd_dtype_size(dtype) == 1 ? v.u8 : v.u16, cell_format_of(dtype)));
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

/* Without the bits that a narrow format has not, which makes another moderate value. */
static int truncated(float x, cell_format f)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    int sign = (int)(bits >> 31) << (f.bits - 1), top = 2 * f.bias + 1,
        e = (int)(bits >> 23 & 0xff) - 127 + f.bias;
    if (e <= 0)
        return sign;
    int end = (int)cell_code_end(f);
    if (isnan(x))
        return sign | end | (f.finite ? 0 : 1 << (f.fraction - 1));
    if (e > top || (e == top && !f.finite))
        return sign | (end - f.finite);
    int code = e << f.fraction | (int)((bits & 0x7fffff) >> (23 - f.fraction));
    return sign | (code < end ? code : end - 1);
}

static void store_code(int code, cell_format f, void *element)
{
    const uint8_t byte = (uint8_t)code;
    const uint16_t half = (uint16_t)code;
    memcpy(element, f.bits == 8 ? (const void *)&byte : &half, (size_t)f.bits / 8);
}

static void random_float(nd_dtype dtype, bool tame, void *element)
{
    static const double specials[] = {0.0,      -0.0,      1,    -1,     0.5,    -0.5,     2,
                                      INFINITY, -INFINITY, NAN,  1e-310, 5e-324, 1.79e308, 65504,
                                      1e-7,     100,       -700, 710,    88.9,   -104};
    cell_format f = cell_format_of(dtype);
    double d = moderate();
    if (!tame && random_below(4) == 0) {
        /* A signaling NaN becomes quiet: what functions make of it is nobody's promise. */
        uint64_t bits = random_bits();
        memcpy(element, &bits, nd_dtype_size(dtype));
        if (isnan(cell_read(dtype, element).re))
            bits |= (uint64_t)1 << (f.fraction - 1);
        memcpy(element, &bits, nd_dtype_size(dtype));
        return;
    }
    if (!tame && random_below(4) == 0)
        d = specials[random_below(sizeof specials / sizeof *specials)];
    const float single = (float)d;
    if (dtype == ND_F64)
        memcpy(element, &d, 8);
    else if (dtype == ND_F32)
        memcpy(element, &single, 4);
    else
        store_code(truncated(single, f), f, element);
}

void cell_random(nd_dtype dtype, bool tame, void *element)
{
    uint64_t bits = random_bits();
    size_t n = nd_dtype_size(dtype);
    switch (cell_kind(dtype)) {
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
    cell_format f = cell_format_of(dtype);
    return ldexpl(2 - ldexpl(1 + f.finite, -f.fraction), f.bias + f.finite);
}

long double cell_ulp(nd_dtype dtype, long double x)
{
    cell_format f = cell_format_of(dtype);
    int least = 1 - f.bias, e = x == 0 || !isfinite(x) ? least : ilogbl(x);
    e = e < least ? least : e > f.bias + f.finite ? f.bias + f.finite : e;
    return ldexpl(1, e - f.fraction);
}

static bool real_close(nd_dtype dtype, long double got, long double want, double ulp, bool zeros)
{
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got);
    if (cell_format_of(dtype).saturates && fabsl(want) > cell_max(dtype))
        want = copysignl(cell_max(dtype), want);
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
    int kind = cell_kind(dtype);
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
    int kind = cell_kind(dtype);
    if (kind & (ND_KIND_BOOL | ND_KIND_INT | ND_KIND_UINT))
        return got.i == want.i;
    return real_within(dtype, got.re, want.re, tolerance) &&
           (kind == ND_KIND_FLOAT || real_within(dtype, got.im, want.im, tolerance));
}

double op_ulp(nd_op op, nd_dtype dtype)
{
    const float *ulp = nd_op_get(op)->ulp;
    if (cell_kind(dtype) != ND_KIND_FLOAT)
        return ulp[3];
    return dtype == ND_F32 ? ulp[1] : dtype == ND_F64 ? ulp[2] : ulp[0];
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
