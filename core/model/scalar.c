/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Single elements as bytes: what nd_item reads and what scalar operands of run-time ops are. */
#include <math.h>
#include "core/model/model.h"

enum { INTEGRAL = ND_KIND_BOOL | ND_KIND_INT | ND_KIND_UINT };

nd_float_format nd__float_format(nd_dtype dtype)
{
    switch (dtype) {
    case ND_F16:
        return (nd_float_format){11, 15, 0, 0};
    case ND_BF16:
        return (nd_float_format){8, 127, 0, 0};
    case ND_F8_E4M3:
        return (nd_float_format){4, 7, 1, 1};
    case ND_F8_E5M2:
        return (nd_float_format){3, 15, 0, 1};
    case ND_F32:
    case ND_C64:
        return (nd_float_format){24, 127, 0, 0};
    default:
        return (nd_float_format){53, 1023, 0, 0};
    }
}

double nd__format_end(nd_float_format format)
{
    const double two = format.finite ? 2 - ldexp(1, 1 - format.digits) : 1;
    return ldexp(two, format.bias + 1);
}

double nd__format_largest(nd_float_format format)
{
    return nd__format_end(format) - ldexp(1, format.bias + 1 - format.digits + format.finite);
}

/* A double that is exactly representable in a format of 16 bits or less, as its bits. */
static uint16_t narrow_bits(double x, nd_dtype dtype)
{
    nd_float_format f = nd__float_format(dtype);
    int fraction_bits = f.digits - 1, e;
    uint16_t infinity = (uint16_t)((2 * f.bias + 1) << fraction_bits),
             sign = signbit(x) ? (uint16_t)(1u << (8 * nd__itemsize(dtype) - 1)) : 0;
    if (isnan(x))
        return (uint16_t)(sign | infinity |
                          (f.finite ? (1u << fraction_bits) - 1 : 1u << (fraction_bits - 1)));
    if (isinf(x))
        return sign | infinity;
    if (x == 0)
        return sign;
    double m = frexp(fabs(x), &e); /* m in [0.5, 1) */
    int biased = e - 1 + f.bias;
    if (biased <= 0)
        return (uint16_t)(sign | (uint16_t)ldexp(m, e + f.bias - 1 + fraction_bits));
    return (uint16_t)(sign | (biased << fraction_bits) |
                      ((uint16_t)ldexp(m, fraction_bits + 1) & ((1u << fraction_bits) - 1)));
}

static double narrow_value(uint16_t bits, nd_dtype dtype)
{
    nd_float_format f = nd__float_format(dtype);
    int fraction_bits = f.digits - 1, fraction = bits & ((1 << fraction_bits) - 1),
        top = 2 * f.bias + 1, e = bits >> fraction_bits & top;
    const bool nan = f.finite ? fraction == (1 << fraction_bits) - 1 : fraction != 0;
    double m = e == top && nan         ? NAN
               : e == top && !f.finite ? INFINITY
               : e == 0                ? ldexp(fraction, 1 - f.bias - fraction_bits)
                        : ldexp((1 << fraction_bits) + fraction, e - f.bias - fraction_bits);
    return bits >> (8 * nd__itemsize(dtype) - 1) & 1 ? -m : m;
}

/* The low bytes of an integer, in the machine's order. */
static void store_low(uint64_t bits, size_t nbytes, void *element)
{
    uint8_t u8 = (uint8_t)bits;
    uint16_t u16 = (uint16_t)bits;
    uint32_t u32 = (uint32_t)bits;
    const void *from = nbytes == 1   ? (void *)&u8
                       : nbytes == 2 ? (void *)&u16
                       : nbytes == 4 ? (void *)&u32
                                     : (void *)&bits;
    memcpy(element, from, nbytes);
}

void nd__scalar_store(const ndp_scalar *s, void *element)
{
    float f[2] = {(float)(s->dtype == ND_C64 ? s->v.c[0] : s->v.f), (float)s->v.c[1]};
    switch (s->dtype) {
    case ND_F32:
        memcpy(element, f, 4);
        break;
    case ND_C64:
        memcpy(element, f, 8);
        break;
    case ND_C128:
        memcpy(element, s->v.c, 16);
        break;
    case ND_F64:
        memcpy(element, &s->v.f, 8);
        break;
    default:
        store_low(nd__kind(s->dtype) & INTEGRAL ? s->v.u : narrow_bits(s->v.f, s->dtype),
                  nd_dtype_size(s->dtype), element);
    }
}

nd_scalar nd__scalar_load(nd_dtype dtype, const void *element)
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
        return nd_bool(v.u8);
    case ND_I8:
        return nd_int(v.i8);
    case ND_I16:
        return nd_int(v.i16);
    case ND_I32:
        return nd_int(v.i32);
    case ND_I64:
        return nd_int(v.i64);
    case ND_U8:
        return nd_uint(v.u8);
    case ND_U16:
        return nd_uint(v.u16);
    case ND_U32:
        return nd_uint(v.u32);
    case ND_U64:
        return nd_uint(v.u64);
    case ND_F32:
        return nd_float(v.f[0]);
    case ND_F64:
        return nd_float(v.d[0]);
    case ND_C64:
        return nd_complex(v.f[0], v.f[1]);
    case ND_C128:
        return nd_complex(v.d[0], v.d[1]);
    default: /* a floating format of 8 or 16 bits */
        return nd_float(narrow_value(nd_dtype_size(dtype) == 1 ? v.u8 : v.u16, dtype));
    }
}
