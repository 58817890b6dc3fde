/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * In place of math/types.cuh and what CUDA has of functions, for kernels that emulate.h runs: f32, f64
 * and bf16. No f16 is computed, so that the function that rounds to it is declared alone. */
#ifndef NDOCK_TESTS_CUDA_EMULATE_TYPES_H
#define NDOCK_TESTS_CUDA_EMULATE_TYPES_H
#define NDOCK_CUDA_TYPES_CUH
#define NDOCK_CUDA_MATH_HW_CUH
#include <math.h>
#include <ndock/plugin.h>
#include <string.h>
#include "tests/cuda/emulate.h"

struct alignas(16) longlong2 {
    long long x, y;
};
struct __half {
    uint16_t bits;
};
static inline __half __ushort_as_half(unsigned short bits)
{
    return {bits};
}
/* A half's fraction and exponent as those of a float, whose exponents reach 112 further down. */
static inline float __half2float(__half x)
{
    const uint32_t size = (uint32_t)(x.bits & 0x7fff) << 13, sign = (uint32_t)(x.bits & 0x8000)
                                                                    << 16;
    const uint32_t bits = size >= 0x0f800000 ? size | 0x7f800000 : size;
    float f;
    memcpy(&f, &bits, 4);
    f = size >= 0x0f800000 ? f : f * 0x1p112f;
    return sign ? -f : f;
}
__half __float2half_rn(float);
struct __nv_bfloat16 {
    uint16_t bits;
};
static inline float __bfloat162float(__nv_bfloat16 x)
{
    const uint32_t bits = (uint32_t)x.bits << 16;
    float f;
    memcpy(&f, &bits, 4);
    return f;
}
static inline __nv_bfloat16 __float2bfloat16_rn(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    if (x != x)
        return {0x7fff};
    return {(uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
template <int DTYPE> struct cuda_dtype;
template <> struct cuda_dtype<NDP_F32> {
    typedef float stored;
};
template <> struct cuda_dtype<NDP_F64> {
    typedef double stored;
};
template <> struct cuda_dtype<NDP_BF16> {
    typedef __nv_bfloat16 stored;
};

static inline float __fmaf_rn(float a, float b, float c)
{
    return fmaf(a, b, c);
}
static inline double __fma_rn(double a, double b, double c)
{
    return fma(a, b, c);
}
template <class C> static inline C cm_larger(C a, C b)
{
    return b > a || b != b ? b : a;
}
/* NaNs become one, as on the device. */
static inline float __fadd_rn(float a, float b)
{
    const float sum = a + b;
    return sum == sum ? sum : __uint_as_float(0x7fffffff);
}
static inline float __fdiv_rn(float a, float b)
{
    return a / b;
}
static inline double __ddiv_rn(double a, double b)
{
    return a / b;
}
#endif
