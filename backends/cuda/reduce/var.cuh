/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Variances and standard deviations, as ops.cuh has reductions. */
#ifndef NDOCK_CUDA_REDUCE_VAR_CUH
#define NDOCK_CUDA_REDUCE_VAR_CUH
#include "reduce/reduce.h"
#include "reduce/sums.cuh"

/* Sums of the distances from a first element and of their squares. Elements of f32 leave a double
 * enough bits: what cancels at the end is at most as many ulp of a double as there are elements. */
struct var_shifted {
    double n, first, sum, squares;
};
template <class T> struct var_single {
    typedef T element;
    typedef T result;
    typedef var_shifted state;
    LINE_FN state zero() { return {0.0, 0.0, 0.0, 0.0}; }
    template <int N> LINE_FN void add(state &s, const double *x)
    {
        if (s.n == 0)
            s.first = x[0];
#pragma unroll
        for (int i = 0; i < N; i++) {
            double d = x[i] - s.first;
            s.sum += d;
            s.squares = __fma_rn(d, d, s.squares);
        }
        s.n += N;
    }
    LINE_FN double centre(state s)
    {
        return s.first + s.sum / s.n;
    }
    LINE_FN state from(state s, double first)
    {
        const double d = s.first - first;
        s.squares = __fma_rn(d, __fma_rn(s.n, d, 2 * s.sum), s.squares);
        s.sum = __fma_rn(s.n, d, s.sum);
        s.first = first;
        return s;
    }
    /* Lanes of a warp measure from the same element, the first lane's, so that joining them divides
     * nothing. */
    LINE_FN state level(state s, int width)
    {
        return from(s, __shfl_sync(0xffffffffu, s.first, 0, width));
    }
    LINE_FN state join(state a, state b)
    {
        return {a.n + b.n, a.first, a.sum + b.sum, a.squares + b.squares};
    }
    LINE_FN state settle(state s)
    {
        if (s.sum == 0 && s.squares >= 0) /* as every state that was merged: no need to divide */
            return s;
        double shift = s.sum / s.n, squares = s.squares - s.sum * shift;
        return {s.n, s.first + shift, 0.0, squares < 0 ? 0.0 : squares};
    }
    /* Chan, Golub and LeVeque, Am. Stat. 37 (1983). */
    LINE_FN state merge(state a, state b)
    {
        if (b.n == 0)
            return a;
        if (a.n == 0)
            return b;
        a = settle(a);
        b = settle(b);
        double delta = b.first - a.first, n = a.n + b.n, w = b.n / n;
        return {n, a.first + delta * w, 0.0, a.squares + b.squares + delta * delta * (a.n * w)};
    }
    LINE_FN double squares(state s)
    {
        return s.n == 0 ? 0.0 : settle(s).squares;
    }
};

/* Each run of elements finds its own mean, then the squares of the distances from it; runs are
 * joined by the same formula. What rounding lost of mean and squares is kept beside them. */
struct var_exact {
    double n, mean, error, squares, squares_error;
};
struct var_double {
    typedef double element, result;
    typedef var_exact state;
    LINE_FN state zero() { return {0.0, 0.0, 0.0, 0.0, 0.0}; }
    LINE_FN state merge(state a, state b)
    {
        if (b.n == 0)
            return a;
        if (a.n == 0)
            return b;
        double n = a.n + b.n, w = b.n / n;
        double delta = (b.mean - a.mean) + (b.error - a.error), step = a.error + delta * w;
        sum_pair mean = sum_pair_merge({a.mean, 0.0}, {step, 0.0});
        sum_pair squares =
            sum_pair_merge({a.squares, a.squares_error}, {b.squares, b.squares_error});
        squares = sum_pair_merge(squares, {delta * delta * (a.n * w), 0.0});
        return {n, mean.sum, mean.error, squares.sum, squares.error};
    }
    template <int N> LINE_FN void add(state &s, const double *x)
    {
        double total = x[0], sum = 0.0, squares = 0.0;
#pragma unroll
        for (int i = 1; i < N; i++)
            total += x[i];
        double mean = total / N;
#pragma unroll
        for (int i = 0; i < N; i++) {
            double d = x[i] - mean;
            sum += d;
            squares = __fma_rn(d, d, squares);
        }
        double error = sum / N;
        s = merge(s, {(double)N, mean, error, squares - sum * error, 0.0});
    }
    LINE_FN double centre(state)
    {
        return 0.0;
    }
    LINE_FN state from(state s, double)
    {
        return s;
    }
    LINE_FN state level(state s, int)
    {
        return s;
    }
    LINE_FN state join(state a, state b)
    {
        return merge(a, b);
    }
    LINE_FN double squares(state s)
    {
        return s.squares + s.squares_error;
    }
};

template <class R> LINE_FN void reduce_store_var(const reduce_params &p, R *to, double squares)
{
    double v = p.divisor > 0 ? squares / p.divisor : __longlong_as_double(0x7ff8000000000000ll);
    state_store(to, p.finish == REDUCE_SQRT ? sqrt(v) : v);
}

template <class A> struct reduce_var {
    typedef typename A::element element;
    typedef typename A::state state;
    typedef void levels;
    typedef void centres;
    LINE_FN state level(state s, int width) { return A::level(s, width); }
    LINE_FN double centre(state s) { return A::centre(s); }
    LINE_FN state from(state s, double c) { return A::from(s, c); }
    LINE_FN state join(state a, state b, const reduce_params &) { return A::join(a, b); }
    LINE_FN state zero() { return A::zero(); }
    template <int N, int V>
    LINE_FN void add(state &s, const element *x, int64_t, int64_t, const reduce_params &)
    {
        double v[N];
#pragma unroll
        for (int i = 0; i < N; i++)
            v[i] = sums_double(x[i]);
        A::template add<N>(s, v);
    }
    LINE_FN state merge(state a, state b, const reduce_params &)
    {
        return A::merge(a, b);
    }
    LINE_FN void store(const reduce_params &p, int64_t at, state s)
    {
        reduce_store_var(p, (typename A::result *)p.out + at, A::squares(s));
    }
};
template <class T, class A> struct reduce_var_complex {
    typedef T element;
    struct state {
        typename A::state re, im;
    };
    LINE_FN state zero() { return {A::zero(), A::zero()}; }
    template <int N, int V>
    LINE_FN void add(state &s, const T *x, int64_t, int64_t, const reduce_params &)
    {
        double re[N], im[N];
#pragma unroll
        for (int i = 0; i < N; i++) {
            re[i] = (double)x[i].re;
            im[i] = (double)x[i].im;
        }
        A::template add<N>(s.re, re);
        A::template add<N>(s.im, im);
    }
    LINE_FN state merge(state a, state b, const reduce_params &)
    {
        return {A::merge(a.re, b.re), A::merge(a.im, b.im)};
    }
    LINE_FN void store(const reduce_params &p, int64_t at, state s)
    {
        reduce_store_var(p, (typename A::result *)p.out + at, A::squares(s.re) + A::squares(s.im));
    }
};

#endif
