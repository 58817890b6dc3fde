/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Math functions of double (cuda_f64_X), within the bounds of op.def. CUDA's own serve where their
 * documented bound suffices: exp, expm1, log, log1p, log2 (1 ulp), log10, sinh, cosh, tanh, atanh
 * (2 ulp). */
#ifndef NDOCK_CUDA_MATH_F64_CUH
#define NDOCK_CUDA_MATH_F64_CUH
#include "math_angle.cuh"

/* The tail of the normal distribution below -t, without its factor exp(-t^2/2). */
CM_FN cm_pair<double> cm_tail(double t)
{
    double u = (t - 4) * cm_rcp(t + 4), d = fma(1.25, t, 1.0);
    cm_pair<double> p = cm_fast_sum(0.56646384781181358, u * cm_tail_poly(u));
    return cm_quotient(p, cm_two(d, fma(1.25, t, 1.0 - d)));
}
CM_FN double cuda_f64_erf(double x)
{
    double a = fabs(x);
    if (!(a > 1))
        return fma(x, cm_erf_poly(x * x), x);
    a = a < 6 ? a : 6; /* 1 from 5.93 on */
    cm_pair<double> s = cm_product(a, a), t = cm_tail(a * 1.4142135623730951);
    double e = exp(-s.hi) * (1 - s.lo);
    return copysign(fma(-2 * e, t.hi + t.lo, 1.0), x);
}
/* x Phi(x). The exponential of a large negative number is kept clear of the subnormals, whose error
 * x would magnify: the last factor is exp(-64). */
CM_FN double cm_f64_gelu(double x)
{
    double a = fabs(x);
    if (!(a < 39)) /* Phi(-39) is 2^-1104 */
        return x > 0 ? x : x * 0.0;
    cm_pair<double> s = cm_product(a, a), t = cm_product(cm_tail(a), cm_two(x, 0.0));
    const bool far = a > 36;
    double e = exp(fma(-0.5, s.hi, far ? 64.0 : 0.0));
    double v = fma(e, t.hi, e * fma(-0.5 * s.lo, t.hi, t.lo));
    return copysign(x < 0 ? v * (far ? 1.603810890548637853e-28 : 1.0) : x - v, x);
}

#define CM_LIBM_F64(fn)                  \
    CM_FN double cuda_f64_##fn(double x) \
    {                                    \
        return fn(x);                    \
    }
#define CM_CORE_F64(fn)                  \
    CM_FN double cuda_f64_##fn(double x) \
    {                                    \
        return cm_##fn(x);               \
    }
CM_LIBM_F64(fabs)
CM_LIBM_F64(floor)
CM_LIBM_F64(ceil)
CM_LIBM_F64(trunc)
CM_LIBM_F64(rint)
CM_LIBM_F64(sqrt)
CM_LIBM_F64(exp)
CM_LIBM_F64(expm1)
CM_LIBM_F64(log)
CM_LIBM_F64(log1p)
CM_LIBM_F64(log2)
CM_LIBM_F64(log10)
CM_LIBM_F64(sinh)
CM_LIBM_F64(cosh)
CM_LIBM_F64(tanh)
CM_LIBM_F64(erfc)
CM_CORE_F64(sin)
CM_CORE_F64(cos)
CM_CORE_F64(tan)
CM_CORE_F64(asin)
CM_CORE_F64(acos)
CM_CORE_F64(atan)
CM_CORE_F64(asinh)
CM_CORE_F64(acosh)
CM_CORE_F64(atanh)
#undef CM_LIBM_F64
#undef CM_CORE_F64
CM_FN double cuda_f64_copysign(double x, double y)
{
    return copysign(x, y);
}
CM_FN int cuda_f64_signbit(double x)
{
    return cm_is_negative(x);
}
CM_FN double cuda_f64_fma(double a, double b, double c)
{
    return fma(a, b, c);
}
CM_FN double cuda_f64_nextafter(double x, double y)
{
    return nextafter(x, y);
}
CM_FN double cuda_f64_fmod(double x, double y)
{
    return fmod(x, y);
}
CM_FN double cuda_f64_ldexp(double x, int n)
{
    return ldexp(x, n);
}
CM_FN int cuda_f64_ilogb(double x)
{
    return ilogb(x);
}
CM_FN double cuda_f64_pow(double x, double y)
{
    return cm_pow(x, y);
}
CM_FN double cuda_f64_atan2(double y, double x)
{
    return cm_atan2(y, x);
}
CM_FN double cuda_f64_hypot(double x, double y)
{
    return cm_hypot(x, y);
}
#endif
