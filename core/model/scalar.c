/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Single elements as bytes: what nd_item reads and what scalar operands of run-time ops are. */
#include <math.h>
#include "core/model/model.h"

/* A double that is exactly representable in a 16-bit format, as its bits. */
static uint16_t half_bits(double x, int fraction_bits, int bias)
{
    uint16_t sign = signbit(x) ? 0x8000 : 0,
             infinity = (uint16_t)((0x7fff >> fraction_bits) << fraction_bits);
    int e;
    if (isnan(x))
        return (uint16_t)(sign | infinity | 1u << (fraction_bits - 1));
    if (isinf(x))
        return sign | infinity;
    if (x == 0)
        return sign;
    double m = frexp(fabs(x), &e); /* m in [0.5, 1) */
    int biased = e - 1 + bias;
    if (biased <= 0)
        return (uint16_t)(sign | (uint16_t)ldexp(m, e + bias - 1 + fraction_bits));
    return (uint16_t)(sign | (biased << fraction_bits) |
                      ((uint16_t)ldexp(m, fraction_bits + 1) & ((1u << fraction_bits) - 1)));
}

static double half_value(uint16_t h, int fraction_bits, int bias)
{
    int e = (h & 0x7fff) >> fraction_bits, fraction = h & ((1 << fraction_bits) - 1),
        top = 0x7fff >> fraction_bits;
    double m = e == top ? (fraction ? NAN : INFINITY)
               : e == 0 ? ldexp(fraction, 1 - bias - fraction_bits)
                        : ldexp((1 << fraction_bits) + fraction, e - bias - fraction_bits);
    return h & 0x8000 ? -m : m;
}

void nd__scalar_store(const ndp_scalar *s, void *element)
{
    float f[2] = {(float)(s->dtype == ND_C64 ? s->v.c[0] : s->v.f), (float)s->v.c[1]};
    uint16_t half;
    switch (s->dtype) {
    case ND_F16:
        half = half_bits(s->v.f, 10, 15);
        memcpy(element, &half, 2);
        break;
    case ND_BF16:
        half = half_bits(s->v.f, 7, 127);
        memcpy(element, &half, 2);
        break;
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
    default: {
        uint8_t u8 = (uint8_t)s->v.u;
        uint16_t u16 = (uint16_t)s->v.u;
        uint32_t u32 = (uint32_t)s->v.u;
        size_t n = nd_dtype_size(s->dtype);
        memcpy(element,
               n == 1   ? (void *)&u8
               : n == 2 ? (void *)&u16
               : n == 4 ? (void *)&u32
                        : (void *)&s->v.u,
               n);
    }
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
    case ND_F16:
        return nd_float(half_value(v.u16, 10, 15));
    case ND_BF16:
        return nd_float(half_value(v.u16, 7, 127));
    case ND_F32:
        return nd_float(v.f[0]);
    case ND_F64:
        return nd_float(v.d[0]);
    case ND_C64:
        return nd_complex(v.f[0], v.f[1]);
    default:
        return nd_complex(v.d[0], v.d[1]);
    }
}
