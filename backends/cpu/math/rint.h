/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Bits of doubles, and rounding of floats and doubles to integers, without calls that end a loop's vectors. */
#ifndef NDOCK_CPU_MATH_RINT_H
#define NDOCK_CPU_MATH_RINT_H
#include <stdint.h>
#include <string.h>

static inline uint64_t vm_bits(double x)
{
    uint64_t u;
    memcpy(&u, &x, 8);
    return u;
}
static inline double vm_of_bits(uint64_t u)
{
    double x;
    memcpy(&x, &u, 8);
    return x;
}

/* ---- rounding to integers ---- */
/* Adding and subtracting 2^52 rounds to nearest even; machines with an instruction for it give the
 * same. The sign is kept on zeros. */
#if defined(__SSE4_1__) || defined(__aarch64__)
static inline double vm_f64_rint(double x)
{
    return __builtin_rint(x);
}
static inline double vm_f64_floor(double x)
{
    return __builtin_floor(x);
}
static inline double vm_f64_ceil(double x)
{
    return __builtin_ceil(x);
}
static inline double vm_f64_trunc(double x)
{
    return __builtin_trunc(x);
}
static inline float vm_f32_rint(float x)
{
    return __builtin_rintf(x);
}
static inline float vm_f32_floor(float x)
{
    return __builtin_floorf(x);
}
static inline float vm_f32_ceil(float x)
{
    return __builtin_ceilf(x);
}
static inline float vm_f32_trunc(float x)
{
    return __builtin_truncf(x);
}
#else
static inline double vm_f64_rint(double x)
{
    double a = __builtin_fabs(x), r = (a + 0x1p52) - 0x1p52;
    return __builtin_copysign(a < 0x1p52 ? r : a, x);
}
static inline float vm_f32_rint(float x)
{
    float a = __builtin_fabsf(x), r = (a + 0x1p23f) - 0x1p23f;
    return __builtin_copysignf(a < 0x1p23f ? r : a, x);
}
static inline double vm_f64_floor(double x)
{
    double r = vm_f64_rint(x);
    return __builtin_copysign(r > x ? r - 1 : r, x);
}
static inline float vm_f32_floor(float x)
{
    float r = vm_f32_rint(x);
    return __builtin_copysignf(r > x ? r - 1 : r, x);
}
static inline double vm_f64_ceil(double x)
{
    return -vm_f64_floor(-x);
}
static inline float vm_f32_ceil(float x)
{
    return -vm_f32_floor(-x);
}
static inline double vm_f64_trunc(double x)
{
    return __builtin_copysign(vm_f64_floor(__builtin_fabs(x)), x);
}
static inline float vm_f32_trunc(float x)
{
    return __builtin_copysignf(vm_f32_floor(__builtin_fabsf(x)), x);
}
#endif
#endif
