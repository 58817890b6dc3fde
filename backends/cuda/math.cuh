/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Mathematical functions of kernels, under one name for float and double. */
#ifndef NDOCK_CUDA_MATH_CUH
#define NDOCK_CUDA_MATH_CUH
#include "types.cuh"

#define CUDA_MATH_1(fn)                                              \
    static __device__ __forceinline__ float cuda_f32_##fn(float x)   \
    {                                                                \
        return fn##f(x);                                             \
    }                                                                \
    static __device__ __forceinline__ double cuda_f64_##fn(double x) \
    {                                                                \
        return fn(x);                                                \
    }
#define CUDA_MATH_2(fn)                                                        \
    static __device__ __forceinline__ float cuda_f32_##fn(float x, float y)    \
    {                                                                          \
        return fn##f(x, y);                                                    \
    }                                                                          \
    static __device__ __forceinline__ double cuda_f64_##fn(double x, double y) \
    {                                                                          \
        return fn(x, y);                                                       \
    }
CUDA_MATH_1(fabs)
CUDA_MATH_1(floor)
CUDA_MATH_1(ceil)
CUDA_MATH_1(trunc)
CUDA_MATH_1(rint)
CUDA_MATH_1(sqrt)
CUDA_MATH_1(exp)
CUDA_MATH_1(expm1)
CUDA_MATH_1(log)
CUDA_MATH_1(log1p)
CUDA_MATH_1(log2)
CUDA_MATH_1(log10)
CUDA_MATH_1(sin)
CUDA_MATH_1(cos)
CUDA_MATH_1(tan)
CUDA_MATH_1(asin)
CUDA_MATH_1(acos)
CUDA_MATH_1(atan)
CUDA_MATH_1(sinh)
CUDA_MATH_1(cosh)
CUDA_MATH_1(tanh)
CUDA_MATH_1(asinh)
CUDA_MATH_1(acosh)
CUDA_MATH_1(atanh)
CUDA_MATH_1(erf)
CUDA_MATH_1(erfc)
CUDA_MATH_2(copysign)
CUDA_MATH_2(fmod)
CUDA_MATH_2(hypot)
CUDA_MATH_2(atan2)
CUDA_MATH_2(pow)
#undef CUDA_MATH_1
#undef CUDA_MATH_2
static __device__ __forceinline__ int cuda_f32_signbit(float x)
{
    return __float_as_int(x) < 0;
}
static __device__ __forceinline__ int cuda_f64_signbit(double x)
{
    return __double_as_longlong(x) < 0;
}
static __device__ __forceinline__ float cuda_f32_fma(float a, float b, float c)
{
    return __fmaf_rn(a, b, c);
}
static __device__ __forceinline__ double cuda_f64_fma(double a, double b, double c)
{
    return __fma_rn(a, b, c);
}
static __device__ __forceinline__ int cuda_f32_ilogb(float x)
{
    return ilogbf(x);
}
static __device__ __forceinline__ int cuda_f64_ilogb(double x)
{
    return ilogb(x);
}
static __device__ __forceinline__ float cuda_f32_ldexp(float x, int n)
{
    return ldexpf(x, n);
}
static __device__ __forceinline__ double cuda_f64_ldexp(double x, int n)
{
    return ldexp(x, n);
}

/* The next value in the format S, and a*b + c such that rounding it to S rounds once. */
template <class S, class C> static __device__ __forceinline__ C cuda_nextafter_stored(C a, C b)
{
    return nextafter(a, b);
}
template <class S, class C> static __device__ __forceinline__ C cuda_fma_stored(C a, C b, C c)
{
    return fma(a, b, c);
}

#endif
