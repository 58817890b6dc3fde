/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The instructions and bit casts that the math functions are made of. Tests on a host without a GPU
 * define NDOCK_CUDA_MATH_HW_CUH and give functions of the same names. */
#ifndef NDOCK_CUDA_MATH_HW_CUH
#define NDOCK_CUDA_MATH_HW_CUH
#include <stdint.h>

#define CM_FN static __device__ __forceinline__
#define CM_SLOW static __device__ __noinline__
#define CM_UNROLL _Pragma("unroll")

CM_FN uint32_t cm_bits(float x)
{
    return __float_as_uint(x);
}
CM_FN uint64_t cm_bits(double x)
{
    return (uint64_t)__double_as_longlong(x);
}
CM_FN float cm_of_bits(uint32_t u)
{
    return __uint_as_float(u);
}
CM_FN double cm_of_bits(uint64_t u)
{
    return __longlong_as_double((long long)u);
}
CM_FN uint64_t cm_mul_high(uint64_t a, uint64_t b)
{
    return __umul64hi(a, b);
}
CM_FN int cm_leading_zeros(uint64_t u)
{
    return __clzll((long long)u);
}

#define CM_INSTRUCTION(fn, name)                     \
    CM_FN float fn(float x)                          \
    {                                                \
        float r;                                     \
        asm(name ".f32 %0, %1;" : "=f"(r) : "f"(x)); \
        return r;                                    \
    }
/* Approximations with relative errors of about 2^-23; operands and results must be normal. */
CM_INSTRUCTION(cm_rcp, "rcp.approx.ftz")
CM_INSTRUCTION(cm_rsqrt, "rsqrt.approx.ftz")
/* Of any operand: 2^x within 2 ulp; log2 x within 2^-22, absolute in [1/2, 2], relative outside. */
CM_INSTRUCTION(cm_exp2, "ex2.approx")
CM_INSTRUCTION(cm_log2, "lg2.approx")
/* The same where 2^x is normal, or where a smaller one may become 0. */
CM_INSTRUCTION(cm_exp2_flushed, "ex2.approx.ftz")
/* log2 x of a positive normal number; -infinity of a subnormal one. */
CM_INSTRUCTION(cm_log2_flushed, "lg2.approx.ftz")
#undef CM_INSTRUCTION
/* The larger of both; a NaN wins. */
CM_FN float cm_larger(float a, float b)
{
#if __CUDA_ARCH__ >= 800
    float r;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
#else
    return b > a || b != b ? b : a;
#endif
}
CM_FN double cm_larger(double a, double b)
{
    return b > a || b != b ? b : a;
}
/* x within [low, high]; NaN stays NaN. */
CM_FN float cm_clamp(float x, float low, float high)
{
#if __CUDA_ARCH__ >= 800
    asm("max.NaN.f32 %0, %0, %1;" : "+f"(x) : "f"(low));
    asm("min.NaN.f32 %0, %0, %1;" : "+f"(x) : "f"(high));
    return x;
#else
    return x < low ? low : x > high ? high : x;
#endif
}
CM_FN double cm_clamp(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}
/* The instruction gives 20 bits. Two steps of Newton's method make it full precision. */
CM_FN double cm_rcp(double x)
{
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
    r = fma(fma(-x, r, 1.0), r, r);
    return fma(fma(-x, r, 1.0), r, r);
}
CM_FN double cm_rsqrt_rough(double x)
{
    double r;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
    return r;
}
CM_FN double cm_rsqrt(double x)
{
    double r = cm_rsqrt_rough(x);
    r = fma(fma(-x * r, r, 1.0), 0.5 * r, r);
    return fma(fma(-x * r, r, 1.0), 0.5 * r, r);
}
#endif
