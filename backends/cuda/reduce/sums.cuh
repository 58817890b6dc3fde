/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What sums and products accumulate in, for reductions and scans. Each has its neutral state
 * zero(), a state of one element, merge() of two states, and value() that stores it; nothing() is
 * the state of no elements at all.
 *
 * Integers wrap in 64 bits. f16, bf16 and f32 are summed in double; f64 with what rounding lost
 * beside it. Floating products keep significand and exponent apart, so that no order of the factors
 * overflows or underflows on the way. The neutral element of floating sums is -0.0, so that a sum
 * of negative zeros stays one. */
#ifndef NDOCK_CUDA_SUMS_CUH
#define NDOCK_CUDA_SUMS_CUH
#include "reduce/states.cuh"

LINE_FN double sums_double(double x)
{
    return x;
}
LINE_FN double sums_double(float x)
{
    return (double)x;
}
LINE_FN double sums_double(__half x)
{
    return (double)__half2float(x);
}
LINE_FN double sums_double(__nv_bfloat16 x)
{
    return (double)__bfloat162float(x);
}

/* ---- integers ---- */
template <class T> struct sum_int {
    static constexpr bool is_sum = true;
    typedef T element;
    typedef uint64_t state;
    LINE_FN state zero() { return 0; }
    LINE_FN state one(T x) { return (uint64_t)x; }
    LINE_FN state merge(state a, state b) { return a + b; }
};
template <class T> struct prod_int {
    static constexpr bool is_sum = false;
    typedef T element;
    typedef uint64_t state;
    LINE_FN state zero() { return 1; }
    LINE_FN state one(T x) { return (uint64_t)x; }
    LINE_FN state merge(state a, state b) { return a * b; }
};

/* ---- sums of floating elements ---- */
template <class T> struct sum_float {
    static constexpr bool has_fold = false;
    typedef T element, result;
    typedef double state;
    LINE_FN state zero() { return -0.0; }
    LINE_FN state one(T x) { return sums_double(x); }
    LINE_FN state merge(state a, state b) { return a + b; }
    LINE_FN state nothing() { return 0.0; }
    LINE_FN void value(T *to, state s, double divisor)
    {
        state_store(to, divisor == 1 ? s : s / divisor);
    }
};

struct sum_pair {
    double sum, error;
};
/* Knuth's two-sum: the error of the rounded sum is exact. */
LINE_FN sum_pair sum_pair_merge(sum_pair a, sum_pair b)
{
    double s = a.sum + b.sum, t = s - a.sum;
    double lost = (a.sum - (s - t)) + (b.sum - t);
    return {s, (a.error + b.error) + lost};
}
/* An infinite sum has a meaningless error; a zero error must not turn -0.0 into +0.0. */
LINE_FN double sum_pair_value(sum_pair s)
{
    return s.error != 0 && s.sum - s.sum == 0 ? s.sum + s.error : s.sum;
}
struct sum_f64 {
    static constexpr bool has_fold = false;
    typedef double element, result;
    typedef sum_pair state;
    LINE_FN state zero() { return {-0.0, 0.0}; }
    LINE_FN state one(double x) { return {x, 0.0}; }
    LINE_FN state merge(state a, state b) { return sum_pair_merge(a, b); }
    LINE_FN state nothing() { return {0.0, 0.0}; }
    LINE_FN void value(double *to, state s, double divisor)
    {
        state_store(to, sum_pair_value(s) / divisor);
    }
};

/* Complex sums: two real ones. */
template <class T, class REAL> struct sum_complex {
    static constexpr bool has_fold = false;
    typedef T element, result;
    struct state {
        typename REAL::state re, im;
    };
    LINE_FN state zero() { return {REAL::zero(), REAL::zero()}; }
    LINE_FN state one(T x) { return {REAL::one(x.re), REAL::one(x.im)}; }
    LINE_FN state merge(state a, state b)
    {
        return {REAL::merge(a.re, b.re), REAL::merge(a.im, b.im)};
    }
    LINE_FN state nothing() { return {REAL::nothing(), REAL::nothing()}; }
    LINE_FN void value(T *to, state s, double divisor)
    {
        REAL::value(&to->re, s.re, divisor);
        REAL::value(&to->im, s.im, divisor);
    }
};

/* ---- products of floating elements ---- */
/* The exponent of x, 0 of zeros, infinities and NaN. */
LINE_FN int prod_exponent(double x)
{
    int field = (int)(__double_as_longlong(x) >> 52) & 0x7ff;
    if (field != 0 && field != 0x7ff)
        return field - 1023;
    if (field == 0 && x != 0) {
        field = (int)(__double_as_longlong(x * 0x1p54) >> 52) & 0x7ff;
        return field - 1023 - 54;
    }
    return 0;
}
/* x * 2^n in two steps, |n| <= 1100; exact where x 2^n is normal. */
LINE_FN double prod_scale(double x, int n)
{
    int half = n / 2, rest = n - half;
    return x * __longlong_as_double((long long)(half + 1023) << 52) *
           __longlong_as_double((long long)(rest + 1023) << 52);
}
/* The power of two is kept as a double: it never overflows, whatever the number of factors. */
struct prod_parts {
    double significand, exponent;
};
LINE_FN prod_parts prod_settle(double x, double exponent)
{
    int e = prod_exponent(x);
    return {prod_scale(x, -e), exponent + e};
}
LINE_FN int prod_power(double exponent)
{
    return (int)(exponent > 4000 ? 4000 : exponent < -4000 ? -4000 : exponent);
}
/* The significand of x from 1 to 2, whose exponent is added to e. x is no subnormal number. */
LINE_FN double prod_part(double x, int &e)
{
    const int high = __double2hiint(x), field = high >> 20 & 0x7ff;
    const bool usual = (unsigned)(field - 1) < 0x7fe; /* neither 0 nor infinite nor NaN */
    e += usual ? field - 1023 : 0;
    return usual ? __hiloint2double((high & (int)0x800fffff) | 0x3ff00000, __double2loint(x)) : x;
}
template <class T> struct prod_float {
    typedef T element, result;
    typedef prod_parts state;
    /* The product of four singles is 0, infinite, NaN or normal in double. Significands of several such
     * products are multiplied before their product is settled: it is below 2^(runs + 1). */
    static constexpr bool has_fold = sizeof(T) <= 4;
    template <int N> LINE_FN state fold(state s, const T *x)
    {
        const int RUN = N < 4 ? N : 4;
        int e = 0;
#pragma unroll
        for (int i = 0; i < N; i += RUN) {
            double product = sums_double(x[i]);
#pragma unroll
            for (int k = 1; k < RUN; k++)
                product *= sums_double(x[i + k]);
            s.significand *= prod_part(product, e);
        }
        double significand = prod_part(s.significand, e);
        return {significand, s.exponent + e};
    }
    LINE_FN state zero()
    {
        return {1.0, 0.0};
    }
    LINE_FN state one(T x)
    {
        return prod_settle(sums_double(x), 0.0);
    }
    LINE_FN state merge(state a, state b)
    {
        return prod_settle(a.significand * b.significand, a.exponent + b.exponent);
    }
    LINE_FN state nothing()
    {
        return zero();
    }
    LINE_FN void value(T *to, state s, double)
    {
        state_store(to, ldexp(s.significand, prod_power(s.exponent)));
    }
};
template <class T> struct prod_complex {
    static constexpr bool has_fold = false;
    typedef T element, result;
    struct state {
        double re, im, exponent;
    };
    LINE_FN state settle(double re, double im, double exponent)
    {
        int a = re != 0 ? prod_exponent(re) : -5000, b = im != 0 ? prod_exponent(im) : -5000;
        int e = a > b ? a : b;
        e = e == -5000 ? 0 : e;
        return {prod_scale(re, -e), prod_scale(im, -e), exponent + e};
    }
    LINE_FN state zero() { return {1.0, 0.0, 0.0}; }
    LINE_FN state one(T x) { return settle((double)x.re, (double)x.im, 0.0); }
    LINE_FN state merge(state a, state b)
    {
        return settle(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re,
                      a.exponent + b.exponent);
    }
    LINE_FN state nothing() { return zero(); }
    LINE_FN void value(T *to, state s, double)
    {
        int e = prod_power(s.exponent);
        state_store(&to->re, ldexp(s.re, e));
        state_store(&to->im, ldexp(s.im, e));
    }
};

#endif
