/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Math functions of single and half precision. */
#ifndef NDOCK_CPU_MATH_SINGLE_H
#define NDOCK_CPU_MATH_SINGLE_H
#include <math.h>
#include "math/approx.h"
#include "math/half.h"

#define VM_F32(fn)                           \
    static inline float vm_f32_##fn(float x) \
    {                                        \
        return (float)vm_##fn((double)x);    \
    }
VM_F32(exp)
VM_F32(expm1)
VM_F32(log1p)
VM_F32(log2)
VM_F32(log10)
VM_F32(sinh)
VM_F32(cosh)
VM_F32(tanh)
VM_F32(asinh)
VM_F32(acosh)
VM_F32(atanh)
VM_F32(asin)
VM_F32(acos)
VM_F32(atan)
VM_F32(erf)
#undef VM_F32
/* Loops over blocks without large arguments take the first form; see elementwise_isa.c. */
static inline int vm_trig_is_near(float x)
{
    return __builtin_fabsf(x) <= VM_TRIG_MAX;
}
#define VM_TRIG(fn)                                                              \
    static inline float vm_f32_near_##fn(float x)                                \
    {                                                                            \
        return (float)vm_##fn((double)x);                                        \
    }                                                                            \
    static inline float vm_f32_##fn(float x)                                     \
    {                                                                            \
        return (float)(vm_trig_is_near(x) ? vm_##fn((double)x) : fn((double)x)); \
    }
VM_TRIG(sin)
VM_TRIG(cos)
VM_TRIG(tan)
#undef VM_TRIG

static inline float vm_f32_fabs(float x)
{
    return __builtin_fabsf(x);
}
static inline float vm_f32_sqrt(float x)
{
    return __builtin_sqrtf(x);
}
static inline float vm_f32_copysign(float x, float y)
{
    return __builtin_copysignf(x, y);
}
static inline int vm_f32_signbit(float x)
{
    return (int32_t)cpu_bits_of_f32(x) < 0;
}
static inline float vm_f32_nextafter(float x, float y)
{
    return nextafterf(x, y);
}
/* In single precision, whose vectors hold twice as many, within 0.85 ulp: log(1 + f) = f - (f^2/2 -
 * s*(f^2/2 + R)), s = f/(2 + f), where R = s^2 (2/3 + ...) comes of the series of atanh. What is
 * subtracted from f last is small beside it, and so are the errors that it has. */
static inline float vm_log_of_normal(float x, int32_t less)
{
    uint32_t bits = cpu_bits_of_f32(x);
    int32_t k = (int32_t)(bits - 0x3f3504f3u) >> 23;
    float f = cpu_f32_of_bits(bits - ((uint32_t)k << 23)) - 1, s = f / (f + 2), z = s * s;
    float rest = z * (0.66666779767326378f + z * (0.39977079400723603f + z * 0.29885186969392458f));
    float half = f * f * 0.5f, power = (float)(k - less);
    float low = s * (half + rest) + power * 0x1.2fefa2p-17f;
    return power * 0x1.62e3p-1f - ((half - low) - f);
}
static inline int vm_log_is_near(float x)
{
    return cpu_bits_of_f32(x) - 0x00800000u < 0x7f000000u; /* normal and positive */
}
static inline float vm_f32_near_log(float x)
{
    return vm_log_of_normal(x, 0);
}
static inline float vm_f32_log(float x)
{
    int small = x < 0x1p-126f;
    float r = vm_log_of_normal(small ? x * 0x1p25f : x, small ? 25 : 0);
    r = x == 0 ? -INFINITY : r;
    r = x < 0 ? NAN : r;
    return x < INFINITY ? r : x; /* infinity and NaN are their own logarithms */
}

static inline float vm_f32_atan2(float y, float x)
{
    return (float)vm_atan2((double)y, (double)x);
}
static inline float vm_f32_ldexp(float x, int n)
{
    return ldexpf(x, n);
}
static inline int vm_f32_ilogb(float x)
{
    return ilogbf(x);
}
static inline float vm_f32_hypot(float x, float y)
{
    double a = (double)x * x, b = (double)y * y, r = __builtin_sqrt(a + b);
    return (float)(((a == (double)INFINITY) | (b == (double)INFINITY)) ? (double)INFINITY : r);
}
/* A quotient below 2^29 of two floats cannot round up to an integer in double, and its product with
 * the divisor is exact. */
static inline float vm_f32_fmod(float x, float y)
{
    double q = vm_f64_trunc((double)x / (double)y);
    if (__builtin_fabs(q) < 0x1p29 && y - y == 0)
        return __builtin_copysignf((float)((double)x - q * (double)y), x);
    return fmodf(x, y);
}

/* a*b + c rounded to odd in double: what its further rounding to fewer bits gives is as if rounded
 * once (Boldo and Melquiond, IEEE Trans. Comput. 57, 2008). The product of floats is exact. */
static inline double vm_fma_odd(float a, float b, float c)
{
    double p = (double)a * (double)b, s = p + (double)c, part = s - p;
    double lost = (p - (s - part)) + ((double)c - part);
    uint64_t u = vm_bits(s), even = ~u & 1, toward_zero = (uint64_t)((lost < 0) ^ (s < 0));
    return ((lost < 0) | (lost > 0)) ? vm_of_bits(u + even - 2 * (even & toward_zero)) : s;
}
static inline float vm_f32_fma(float a, float b, float c)
{
#if defined(__FMA__) || defined(__aarch64__)
    return __builtin_fmaf(a, b, c);
#else
    return (float)vm_fma_odd(a, b, c);
#endif
}
/* For f16 and bf16: 13 bits, rounded to odd. */
static inline float vm_half_fma(float a, float b, float c)
{
    const uint64_t rest = ((uint64_t)1 << 40) - 1;
    double s = vm_fma_odd(a, b, c);
    uint64_t u = vm_bits(s), kept = u & ~rest;
    return (float)(s - s == 0 ? vm_of_bits(kept | ((u & rest) != 0 ? rest + 1 : 0)) : s);
}
/* Neighbours among 16-bit patterns, whose order is that of the magnitudes. */
static inline uint16_t vm_half_step(uint16_t x, float a, float b)
{
    uint16_t smallest = (uint16_t)(b < 0 ? 0x8001 : 1);
    uint16_t away = (uint16_t)((a < b) == (a > 0) ? x + 1 : x - 1);
    return a == 0 ? smallest : away;
}
static inline float vm_f16_nextafter(float a, float b)
{
    float r = cpu_f16_to_f32(vm_half_step(cpu_f16_from_f32(a), a, b));
    return a != a || b != b ? a + b : a == b ? b : r;
}
static inline float vm_bf16_nextafter(float a, float b)
{
    float r = cpu_bf16_to_f32(vm_half_step(cpu_bf16_from_f32(a), a, b));
    return a != a || b != b ? a + b : a == b ? b : r;
}
#endif
