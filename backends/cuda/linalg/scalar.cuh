/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Numbers of the kernels of linear algebra: real ones and pairs, by the same names. */
#ifndef NDOCK_CUDA_LINALG_SCALAR_CUH
#define NDOCK_CUDA_LINALG_SCALAR_CUH
#include <float.h>
#include <math.h>
#include <stdint.h>

#define LIN_FN static __device__ __forceinline__
#ifdef __CUDACC__
#define LIN_UNROLL _Pragma("unroll")
#else /* compiled for the host by tests */
#define LIN_UNROLL
#endif

template <class R> struct alignas(2 * sizeof(R)) lin_pair {
    R re, im;
};

template <class T> struct lin_of { /* of real numbers */
    typedef T real;
    static constexpr bool is_complex = false;
};
template <class R> struct lin_of<lin_pair<R>> {
    typedef R real;
    static constexpr bool is_complex = true;
};
#define LIN_R typename lin_of<T>::real

template <class T> struct lin_precise { /* the dtype in double precision */
    typedef double type;
};
template <class R> struct lin_precise<lin_pair<R>> {
    typedef lin_pair<double> type;
};

/* Half an ulp of one twice; the least normal number. */
template <class R> struct lin_limits;
template <> struct lin_limits<float> {
    static constexpr float eps = FLT_EPSILON, tiny = FLT_MIN, huge = FLT_MAX;
};
template <> struct lin_limits<double> {
    static constexpr double eps = DBL_EPSILON, tiny = DBL_MIN, huge = DBL_MAX;
};

/* ---- by the real type ---- */
LIN_FN float lin_root(float x)
{
    return sqrtf(x);
}
LIN_FN double lin_root(double x)
{
    return sqrt(x);
}
/* 1 / sqrt(x), for x of about one. */
LIN_FN float lin_inverse_root(float x)
{
#ifdef __CUDACC__
    const float near = rsqrtf(x); /* two units of the last place */
    return fmaf(fmaf(-x * near, near, 1.0f), 0.5f * near, near);
#else
    return 1 / sqrtf(x);
#endif
}
LIN_FN double lin_inverse_root(double x)
{
#ifdef __CUDACC__
    return rsqrt(x);
#else
    return 1 / sqrt(x);
#endif
}
LIN_FN float lin_abs(float x)
{
    return fabsf(x);
}
LIN_FN double lin_abs(double x)
{
    return fabs(x);
}
LIN_FN float lin_fma(float a, float b, float c)
{
    return fmaf(a, b, c);
}
LIN_FN double lin_fma(double a, double b, double c)
{
    return fma(a, b, c);
}
LIN_FN float lin_times_power(float x, int e)
{
    return scalbnf(x, e);
}
LIN_FN double lin_times_power(double x, int e)
{
    return scalbn(x, e);
}
LIN_FN int lin_exponent(float x)
{
    return ilogbf(x);
}
LIN_FN int lin_exponent(double x)
{
    return ilogb(x);
}
/* sqrt(x^2 + y^2) without undue overflow. */
template <class R> LIN_FN R lin_length(R x, R y)
{
    x = lin_abs(x);
    y = lin_abs(y);
    const R most = x > y ? x : y, least = x > y ? y : x;
    if (most == 0 || most > lin_limits<R>::huge)
        return most;
    const R ratio = least / most;
    return most * lin_root(lin_fma(ratio, ratio, (R)1));
}

/* ---- real numbers ---- */
#define LIN_REAL(R)                                 \
    LIN_FN R lin_re(R a)                            \
    {                                               \
        return a;                                   \
    }                                               \
    LIN_FN R lin_im(R)                              \
    {                                               \
        return 0;                                   \
    }                                               \
    LIN_FN R lin_conj(R a)                          \
    {                                               \
        return a;                                   \
    }                                               \
    LIN_FN R lin_scaled(R a, R s)                   \
    {                                               \
        return a * s;                               \
    }                                               \
    LIN_FN R lin_over(R a, R s)                     \
    {                                               \
        return a / s;                               \
    }                                               \
    LIN_FN R lin_divided(R a, R b)                  \
    {                                               \
        return a / b;                               \
    }                                               \
    LIN_FN R lin_plus(R a, R b)                     \
    {                                               \
        return a + b;                               \
    }                                               \
    LIN_FN R lin_plus(R c, R a, R b) /* c + a b */  \
    {                                               \
        return lin_fma(a, b, c);                    \
    }                                               \
    LIN_FN R lin_minus(R c, R a, R b) /* c - a b */ \
    {                                               \
        return lin_fma(-a, b, c);                   \
    }                                               \
    LIN_FN R lin_minus_scaled(R c, R a, R s)        \
    {                                               \
        return lin_fma(-a, s, c);                   \
    }                                               \
    LIN_FN R lin_plus_square(R c, R a)              \
    {                                               \
        return lin_fma(a, a, c);                    \
    }                                               \
    LIN_FN R lin_times(R a, R b)                    \
    {                                               \
        return a * b;                               \
    }                                               \
    LIN_FN R lin_direction(R a, R) /* a / size */   \
    {                                               \
        return a < 0 ? (R)-1 : (R)1;                \
    }                                               \
    LIN_FN R lin_size(R a)                          \
    {                                               \
        return lin_abs(a);                          \
    }                                               \
    LIN_FN R lin_square(R a) /* of the magnitude */ \
    {                                               \
        return a * a;                               \
    }                                               \
    LIN_FN R lin_magnitude(R a)                     \
    {                                               \
        return lin_abs(a);                          \
    }                                               \
    LIN_FN R lin_times_two_to(R a, int e)           \
    {                                               \
        return lin_times_power(a, e);               \
    }
LIN_REAL(float)
LIN_REAL(double)
#undef LIN_REAL
template <class T> struct lin_maker {
    static __device__ __forceinline__ T make(T re, T) { return re; }
};

/* ---- pairs ---- */
template <class R> struct lin_maker<lin_pair<R>> {
    static __device__ __forceinline__ lin_pair<R> make(R re, R im) { return {re, im}; }
};
template <class T> LIN_FN T lin_make(LIN_R re, LIN_R im)
{
    return lin_maker<T>::make(re, im);
}
template <class R> LIN_FN R lin_re(lin_pair<R> a)
{
    return a.re;
}
template <class R> LIN_FN R lin_im(lin_pair<R> a)
{
    return a.im;
}
template <class R> LIN_FN lin_pair<R> lin_conj(lin_pair<R> a)
{
    return {a.re, -a.im};
}
template <class R> LIN_FN lin_pair<R> lin_scaled(lin_pair<R> a, R s)
{
    return {a.re * s, a.im * s};
}
template <class R> LIN_FN lin_pair<R> lin_over(lin_pair<R> a, R s)
{
    return {a.re / s, a.im / s};
}
template <class R> LIN_FN lin_pair<R> lin_plus(lin_pair<R> a, lin_pair<R> b)
{
    return {a.re + b.re, a.im + b.im};
}
template <class R> LIN_FN lin_pair<R> lin_plus(lin_pair<R> c, lin_pair<R> a, lin_pair<R> b)
{
    return {lin_fma(-a.im, b.im, lin_fma(a.re, b.re, c.re)),
            lin_fma(a.im, b.re, lin_fma(a.re, b.im, c.im))};
}
template <class R> LIN_FN lin_pair<R> lin_minus(lin_pair<R> c, lin_pair<R> a, lin_pair<R> b)
{
    return {lin_fma(a.im, b.im, lin_fma(-a.re, b.re, c.re)),
            lin_fma(-a.im, b.re, lin_fma(-a.re, b.im, c.im))};
}
template <class R> LIN_FN lin_pair<R> lin_minus_scaled(lin_pair<R> c, lin_pair<R> a, R s)
{
    return {lin_fma(-a.re, s, c.re), lin_fma(-a.im, s, c.im)};
}
template <class R> LIN_FN R lin_plus_square(R c, lin_pair<R> a)
{
    return lin_fma(a.re, a.re, lin_fma(a.im, a.im, c));
}
template <class R> LIN_FN lin_pair<R> lin_times(lin_pair<R> a, lin_pair<R> b)
{
    return {lin_fma(-a.im, b.im, a.re * b.re), lin_fma(a.im, b.re, a.re * b.im)};
}
template <class R> LIN_FN lin_pair<R> lin_direction(lin_pair<R> a, R size)
{
    return lin_over(a, size);
}
template <class R> LIN_FN R lin_size(lin_pair<R> a) /* by which LAPACK compares pivots as well */
{
    return lin_abs(a.re) + lin_abs(a.im);
}
template <class R> LIN_FN R lin_square(lin_pair<R> a)
{
    return lin_fma(a.re, a.re, a.im * a.im);
}
template <class R> LIN_FN R lin_magnitude(lin_pair<R> a)
{
    return lin_length(a.re, a.im);
}
template <class R> LIN_FN lin_pair<R> lin_times_two_to(lin_pair<R> a, int e)
{
    return {lin_times_power(a.re, e), lin_times_power(a.im, e)};
}
/* By Smith's way (CACM 5, 1962). */
template <class R> LIN_FN lin_pair<R> lin_divided(lin_pair<R> a, lin_pair<R> b)
{
    if (lin_abs(b.re) >= lin_abs(b.im)) {
        const R ratio = b.im / b.re, below = lin_fma(b.im, ratio, b.re);
        return {lin_fma(a.im, ratio, a.re) / below, lin_fma(-a.re, ratio, a.im) / below};
    }
    const R ratio = b.re / b.im, below = lin_fma(b.re, ratio, b.im);
    return {lin_fma(a.re, ratio, a.im) / below, lin_fma(a.im, ratio, -a.re) / below};
}

/* ---- many quotients of one divisor ---- */
/* lin_inverse: what lin_divided_by wants beside the divisor, whose quotient is the division's but
 * for the last bit, and the division's where that is no number. */
#define LIN_REAL(R)                                               \
    LIN_FN R lin_inverse(R b)                                     \
    {                                                             \
        return 1 / b;                                             \
    }                                                             \
    LIN_FN R lin_divided_by(R a, R b, R inverse)                  \
    {                                                             \
        const R near = a * inverse;                               \
        const R q = lin_fma(lin_fma(-near, b, a), inverse, near); \
        return lin_abs(q) <= lin_limits<R>::huge ? q : a / b;     \
    }
LIN_REAL(float)
LIN_REAL(double)
#undef LIN_REAL
template <class R> LIN_FN lin_pair<R> lin_inverse(lin_pair<R> b)
{
    return b;
}
template <class R> LIN_FN lin_pair<R> lin_divided_by(lin_pair<R> a, lin_pair<R> b, lin_pair<R>)
{
    return lin_divided(a, b);
}

#endif
