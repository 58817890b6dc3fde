/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Products of floating T. Significands and exponents are kept apart, so that no order of the
 * factors overflows or underflows on the way: lanes and chunks would otherwise make NaN of infinity
 * times zero where no factor is either. Planes: significand, exponent. */
#define STATE double
#define STATE_BYTES 16
typedef struct {
    double significand, exponent;
} FN(acc);
typedef struct {
    double significand[CPU_LANES], exponent[CPU_LANES];
} FN(lanes);

CPU_INLINE FN(acc) FN(get)(const FN(lanes) * a, int64_t j)
{
    return (FN(acc)){a->significand[j], a->exponent[j]};
}

CPU_INLINE void FN(put)(FN(lanes) * a, int64_t j, FN(acc) v)
{
    a->significand[j] = v.significand;
    a->exponent[j] = v.exponent;
}

CPU_INLINE FN(acc) FN(zero)(void)
{
    return (FN(acc)){1, 0};
}

/* x as a significand in [1, 2) and a power of two; zeros, infinities and NaN keep their value. */
CPU_INLINE FN(acc) FN(split)(double x)
{
    const uint64_t exponent_bits = (uint64_t)0x7ff << 52;
    int tiny = (x < 0x1p-1022) & (x > -0x1p-1022);
    double y = tiny ? x * 0x1p54 : x, significand, exponent;
    uint64_t u, field, one, e;
    memcpy(&u, &y, 8);
    field = u & exponent_bits;
    int normal = (field != 0) & (field != exponent_bits);
    one = (u & ~exponent_bits) | ((uint64_t)1023 << 52);
    one = normal ? one : u;
    memcpy(&significand, &one, 8);
    e = (field >> 52) | ((uint64_t)1075 << 52); /* 2^52 + field as a double */
    memcpy(&exponent, &e, 8);
    exponent = exponent - (0x1p52 + 1023) - (tiny ? 54 : 0);
    return (FN(acc)){significand, normal ? exponent : 0};
}

CPU_INLINE FN(acc) FN(both)(FN(acc) a, FN(acc) b)
{
    FN(acc) p = FN(split)(a.significand * b.significand);
    p.exponent += a.exponent + b.exponent;
    return p;
}

/* Four floats and a significand are far from what overflows a double; doubles are split at once. */
CPU_INLINE FN(acc) FN(step)(FN(acc) a, T x)
{
    FN(acc) b = {(double)x, 0};
    if (sizeof(T) == 8)
        b = FN(split)((double)x);
    return (FN(acc)){a.significand * b.significand, a.exponent + b.exponent};
}

CPU_INLINE FN(acc) FN(settle)(FN(acc) a)
{
    FN(acc) b = FN(split)(a.significand);
    b.exponent += a.exponent;
    return b;
}

CPU_INLINE void FN(flush)(FN(acc) v, double *s, int64_t cap)
{
    FN(acc) p = FN(both)((FN(acc)){s[0], s[cap]}, v);
    s[0] = p.significand;
    s[cap] = p.exponent;
}

CPU_INLINE void FN(begin)(double *s, int64_t cap)
{
    s[0] = 1;
    s[cap] = 0;
}

static void FN(merge)(const cpu_fold *f, const cpu_fold *from, int64_t n)
{
    double *s = f->state, *t = from->state;
    for (int64_t j = 0; j < n; j++)
        FN(flush)((FN(acc)){t[j], t[from->cap + j]}, s + j, f->cap);
}

#include "reduce/lanes_tmpl.h"
#undef STATE
