/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Math functions of double (cuda_f64_X), within the bounds of op.def. CUDA's own serve where their
 * documented bound suffices with room: erfc; and those that are exact. */
#ifndef NDOCK_CUDA_MATH_F64_CUH
#define NDOCK_CUDA_MATH_F64_CUH
#include "math/angle.cuh"

CM_FN double cuda_f64_exp(double x)
{
    return cm_exp_shifted(x, 0);
}
CM_FN double cuda_f64_log2(double x)
{
    return cm_log2_of(x);
}
/* With h = (e^a - 1)/2: sinh a = h + h/(2h + 1), and tanh(a/2) = h/(h + 1). */
CM_FN double cuda_f64_sinh(double x)
{
    double a = fabs(x), far = cm_exp_shifted(a, -1);
    cm_pair<double> h = cm_expm1_half(cm_clamp(a, 0.0, 40.0));
    h = cm_fast_sum(h.hi, h.lo);
    cm_pair<double> d = cm_sum(2 * h.hi, 1.0);
    d.lo += 2 * h.lo;
    d = cm_quotient(h, d);
    h = cm_two(h.hi + d.hi, (d.hi - ((h.hi + d.hi) - h.hi)) + (h.lo + d.lo));
    return a < 0x1p-28 ? x : copysign(a < 40 ? h.hi + h.lo : far, x);
}
CM_FN double cuda_f64_cosh(double x)
{
    double h = cm_exp_shifted(fabs(x), -1);
    return h < 0x1p60 ? cm_fma(0.25, cm_rcp(h), h) : h;
}
CM_FN double cuda_f64_tanh(double x)
{
    double a = fabs(x);
    cm_pair<double> h = cm_expm1_half(cm_clamp(2 * a, 0.0, 40.0));
    h = cm_fast_sum(h.hi, h.lo);
    cm_pair<double> d = cm_sum(h.hi, 1.0);
    d.lo += h.lo;
    h = cm_quotient(h, d);
    return a < 0x1p-28 ? x : copysign(h.hi + h.lo, x);
}

/* The tail of the normal distribution below -t, without its factor exp(-t^2/2). */
CM_FN cm_pair<double> cm_tail(double t)
{
    double u = (t - 4) * cm_rcp(t + 4), d = fma(1.25, t, 1.0);
    cm_pair<double> p = cm_fast_sum(0.56646384781181358, u * cm_tail_poly(u));
    return cm_quotient(p, cm_two(d, fma(1.25, t, 1.0 - d)));
}
CM_FN double cm_erf_near(double x)
{
    double w = x * x;
    cm_pair<double> s = cm_fast_sum(cm_const<double>::erf1, w * cm_erf_tail(w));
    double p = fma(w, s.hi, cm_const<double>::erf0), low = fma(w, s.lo, fma(x, x, -w) * s.hi);
    cm_pair<double> t = cm_product(x, p), e = cm_fast_sum(x, t.hi);
    return copysign(e.hi + (e.lo + fma(x, low, t.lo)), x);
}
CM_FN double cuda_f64_erf(double x)
{
    double a = fabs(x);
    if (!(a > 1.1))
        return cm_erf_near(x);
    a = a < 6 ? a : 6; /* 1 from 5.93 on */
    cm_pair<double> s = cm_product(a, a), t = cm_tail(a * 1.4142135623730951);
    double e = cuda_f64_exp(-s.hi); /* and e^-s.lo is 1 - s.lo */
    return copysign(fma(-2 * e, t.hi + fma(-s.lo, t.hi, t.lo), 1.0), x);
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
    double e = cuda_f64_exp(fma(-0.5, s.hi, far ? 64.0 : 0.0));
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
CM_LIBM_F64(erfc)
CM_CORE_F64(expm1)
CM_CORE_F64(log)
CM_CORE_F64(log1p)
CM_CORE_F64(log10)
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
