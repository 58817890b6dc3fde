/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Math functions of double precision, and the wider types of scalar_tmpl.h. */
#ifndef NDOCK_CPU_MATH_DOUBLE_H
#define NDOCK_CPU_MATH_DOUBLE_H
#include <math.h>
#include "math/approx.h"
#include "math/exp.h"

#define VM_F64(fn)                             \
    static inline double vm_f64_##fn(double x) \
    {                                          \
        return fn(x);                          \
    }
VM_F64(expm1)
VM_F64(log)
VM_F64(log1p)
VM_F64(log2)
VM_F64(log10)
VM_F64(sin)
VM_F64(cos)
VM_F64(tan)
VM_F64(asin)
VM_F64(acos)
VM_F64(atan)
VM_F64(sinh)
VM_F64(cosh)
VM_F64(asinh)
VM_F64(atanh)
#undef VM_F64
static inline double vm_f64_fabs(double x)
{
    return __builtin_fabs(x);
}
static inline double vm_f64_sqrt(double x)
{
    return __builtin_sqrt(x);
}
static inline double vm_f64_copysign(double x, double y)
{
    return __builtin_copysign(x, y);
}
static inline int vm_f64_signbit(double x)
{
    return (int64_t)vm_bits(x) < 0;
}
static inline double vm_f64_nextafter(double x, double y)
{
    return nextafter(x, y);
}
static inline double vm_f64_pow(double x, double y)
{
    return pow(x, y);
}
static inline double vm_f64_atan2(double y, double x)
{
    return atan2(y, x);
}
static inline double vm_f64_hypot(double x, double y)
{
    return hypot(x, y);
}
/* The rounded quotient of less than 2^53 is at most one too large, and what fma leaves is exact. */
static inline double vm_f64_fmod(double x, double y)
{
#ifdef __FMA__
    double q = vm_f64_trunc(x / y);
    if (__builtin_fabs(q) < 0x1p53 && y - y == 0) {
        double r = __builtin_fma(-q, y, x);
        r += ((r < 0) != (x < 0)) & (r != 0) ? __builtin_copysign(y, x) : 0;
        return __builtin_copysign(r, x);
    }
#endif
    return fmod(x, y);
}
static inline double vm_f64_fma(double a, double b, double c)
{
    return fma(a, b, c);
}
static inline double vm_f64_ldexp(double x, int n)
{
    return ldexp(x, n);
}
static inline int vm_f64_ilogb(double x)
{
    return ilogb(x);
}
static inline double vm_f64_exp(double x)
{
    return cpu_exp_below(x > 710 ? 710 : x);
}
/* glibc is off by up to 2.3 ulp (acosh) and 1.4 ulp (erf); long double has bits to spare. */
static inline double vm_f64_acosh(double x)
{
    return (double)acoshl(x);
}
static inline double vm_f64_erf(double x)
{
    return (double)erfl(x);
}
/* glibc is off by up to 2.2 ulp. t / (t + 2) of t = expm1(2|x|): what t and t + 2 lose in rounding is
 * put back. */
static inline double vm_f64_tanh(double x)
{
    double a = __builtin_fabs(x), less, t = cpu_expm1_of(a > 22 ? 44 : a * 2, &less), s = t + 2;
    double lost = t > 2 ? 2 - (s - t) : t - (s - 2), q = t / s;
    return __builtin_copysign(q + (less - q * (lost + less)) / s, x);
}

/* ---- the wider types of scalar_tmpl.h ---- */
static inline double vm_x32_exp(double x)
{
    return exp(x);
}
static inline double vm_x32_log1p(double x)
{
    return log1p(x);
}
static inline double vm_x32_erfc(double x)
{
    return vm_erfc(x);
}
static inline long double vm_x64_exp(long double x)
{
    return expl(x);
}
static inline long double vm_x64_log1p(long double x)
{
    return log1pl(x);
}
static inline long double vm_x64_erfc(long double x)
{
    return erfcl(x);
}
#endif
