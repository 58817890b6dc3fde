/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What reductions do with elements: each op folds N of them into a state, merges states, and
 * stores a result. V is how many of the N follow each other in position; step is from one such run
 * to the next. */
#ifndef NDOCK_CUDA_REDUCE_OPS_CUH
#define NDOCK_CUDA_REDUCE_OPS_CUH
#include "math/hw.cuh"
#include "reduce/reduce.h"
#include "reduce/sums.cuh"
#include "reduce/var.cuh"

/* ---- sums and products ---- */
/* Bytes and halfwords are first added in 32 bits, which hold N of them. */
template <int N, class T> LINE_FN uint64_t reduce_sum_small(const T *x)
{
    int32_t sum = 0;
#pragma unroll
    for (int i = 0; i < N; i++)
        sum += (int32_t)x[i];
    return (uint64_t)(int64_t)sum;
}
template <class A> struct reduce_int {
    typedef typename A::element element;
    typedef typename A::state state;
    static constexpr bool small = sizeof(element) <= 2 && A::is_sum;
    LINE_FN state zero() { return A::zero(); }
    template <int N, int V>
    LINE_FN void add(state &s, const element *x, int64_t, int64_t, const reduce_params &)
    {
        if constexpr (small) {
            s += reduce_sum_small<N>(x);
        } else {
#pragma unroll
            for (int i = 0; i < N; i++)
                s = A::merge(s, A::one(x[i]));
        }
    }
    LINE_FN state merge(state a, state b, const reduce_params &)
    {
        return A::merge(a, b);
    }
    LINE_FN void store(const reduce_params &p, int64_t at, state s)
    {
        state_store_int((void *)p.out, at, p.out_nbytes, p.out_is_bool, s);
    }
};

template <class A> struct reduce_float {
    typedef typename A::element element;
    typedef typename A::state state;
    LINE_FN state zero() { return A::zero(); }
    /* Pairs, pairs of pairs: short chains of additions; or A's own way. */
    template <int N, int V>
    LINE_FN void add(state &s, const element *x, int64_t, int64_t, const reduce_params &)
    {
        const int RUN = N < 4 ? N : 4;
        if constexpr (A::has_fold) {
            s = A::template fold<N>(s, x);
        } else {
#pragma unroll
            for (int i = 0; i < N; i += RUN) {
                state t[RUN];
#pragma unroll
                for (int k = 0; k < RUN; k++)
                    t[k] = A::one(x[i + k]);
#pragma unroll
                for (int h = RUN / 2; h; h /= 2)
                    for (int k = 0; k < h; k++)
                        t[k] = A::merge(t[k], t[k + h]);
                s = A::merge(s, t[0]);
            }
        }
    }
    LINE_FN state merge(state a, state b, const reduce_params &)
    {
        return A::merge(a, b);
    }
    LINE_FN void store(const reduce_params &p, int64_t at, state s)
    {
        /* The neutral -0.0 shows in an empty sum only. */
        A::value((typename A::result *)p.out + at, p.count ? s : A::nothing(), p.divisor);
    }
};

/* ---- minima and maxima ---- */
/* Elements become signed keys, the largest of which wins: floating ones by the order of their bits,
 * with +0 above -0 and NaN above all. KEY is the key, T a signed integer of the element's size. */
template <class T, class KEY, bool FLOAT> struct reduce_key {
    static constexpr KEY magnitude = (KEY)(((uint64_t)1 << (8 * sizeof(T) - 1)) - 1);
    static constexpr KEY top = (KEY)(((uint64_t)1 << (8 * sizeof(KEY) - 1)) - 1);
    /* The sum turns -0 to +0 where zero is +0; of a NaN it makes the canonical one, which as a
     * signed integer is the largest. */
    LINE_FN int32_t of_single(int32_t x, float zero, const reduce_params &p)
    {
        float sign = __int_as_float(0x3f800000 | (int32_t)((uint32_t)p.flip & 0x80000000u));
        int32_t s = __float_as_int(__fmaf_rn(__int_as_float(x), sign, zero));
        return s ^ ((s >> 31) & 0x7fffffff);
    }
    LINE_FN KEY of(T x, bool zeros_equal, const reduce_params &p)
    {
        KEY s = x, key;
        if (!FLOAT)
            return s ^ (KEY)p.flip;
        if (sizeof(T) == 4)
            return (KEY)of_single((int32_t)x, zeros_equal ? 0.0f : -0.0f, p);
        KEY size = s & magnitude;
        s = zeros_equal && size == 0 ? 0 : s;
        key = s ^ ((s >> (8 * sizeof(KEY) - 1)) & magnitude) ^ (KEY)p.flip;
        return size > (KEY)p.nan_above ? top : key;
    }
    LINE_FN T element(KEY key, const reduce_params &p)
    {
        if (FLOAT && key == top)
            return (T)p.nan_bits;
        key ^= (KEY)p.flip;
        return (T)(FLOAT ? key ^ ((key >> (8 * sizeof(KEY) - 1)) & magnitude) : key);
    }
};
template <class T, class KEY, bool FLOAT> struct reduce_extreme {
    typedef T element;
    typedef KEY state;
    typedef reduce_key<T, KEY, FLOAT> key;
    LINE_FN state zero() { return (KEY)~key::top; }
    template <int N, int V>
    LINE_FN void add(state &s, const T *x, int64_t, int64_t, const reduce_params &p)
    {
#pragma unroll
        for (int i = 0; i < N; i++) {
            KEY k = key::of(x[i], false, p);
            s = k > s ? k : s;
        }
    }
    LINE_FN state merge(state a, state b, const reduce_params &)
    {
        return a > b ? a : b;
    }
    LINE_FN void store(const reduce_params &p, int64_t at, state s)
    {
        ((T *)p.out)[at] = key::element(s, p);
    }
};
template <class T, class KEY, bool FLOAT> struct reduce_position {
    typedef T element;
    struct alignas(8) state {
        int64_t at;
        KEY key;
        KEY unused;
    };
    typedef reduce_key<T, KEY, FLOAT> key;
    LINE_FN state zero() { return {INT64_MAX, (KEY)~key::top, 0}; }
    LINE_FN state merge(state a, state b, const reduce_params &)
    {
        return b.key > a.key || (b.key == a.key && b.at < a.at) ? b : a;
    }
    /* The first of equals within the run, then against the state. */
    template <int N, int V>
    LINE_FN void add(state &s, const T *x, int64_t pos, int64_t step, const reduce_params &p)
    {
        KEY best = key::of(x[0], true, p);
        int at = 0;
#pragma unroll
        for (int i = 1; i < N; i++) {
            KEY k = key::of(x[i], true, p);
            at = k > best ? i : at;
            best = k > best ? k : best;
        }
        s = merge(s, {pos + at / V * step + at % V, best, 0}, p);
    }
    LINE_FN void store(const reduce_params &p, int64_t at, state s)
    {
        ((int64_t *)p.out)[at] = s.at;
    }
};

/* ---- any, all, count_nonzero ---- */
struct alignas(16) reduce_pair {
    uint64_t at[2];
};
LINE_FN bool reduce_is_nonzero(reduce_pair x, const reduce_params &p)
{
    return ((x.at[0] | x.at[1]) & (uint64_t)p.nonzero) != 0;
}
template <class T> LINE_FN bool reduce_is_nonzero(T x, const reduce_params &p)
{
    return (x & (T)p.nonzero) != 0;
}
template <class T> struct reduce_count {
    typedef T element;
    typedef uint64_t state;
    LINE_FN state zero() { return 0; }
    template <int N, int V>
    LINE_FN void add(state &s, const T *x, int64_t, int64_t, const reduce_params &p)
    {
        uint32_t n = 0;
#pragma unroll
        for (int i = 0; i < N; i++)
            n += reduce_is_nonzero(x[i], p);
        s += n;
    }
    LINE_FN state merge(state a, state b, const reduce_params &)
    {
        return a + b;
    }
    LINE_FN void store(const reduce_params &p, int64_t at, state s)
    {
        if (p.finish == REDUCE_VALUE)
            ((int64_t *)p.out)[at] = (int64_t)s;
        else
            ((uint8_t *)p.out)[at] = p.finish == REDUCE_ANY ? s != 0 : s == (uint64_t)p.count;
    }
};

/* ---- logsumexp ---- */
/* The largest element, the sum of exp(x - largest) over those below it, what rounding lost of the
 * sum, and how many equal it: with those apart, log1p at the end loses nothing where one element
 * outweighs the rest. When the largest is infinite or NaN, it alone is the result. */
LINE_FN double lse_exp(float d)
{
    return (double)expf(d);
}
LINE_FN double lse_exp(double d)
{
    return exp(d);
}
/* The sum of exp(x - largest) over those below it, of which a few are summed in floats. The rounding of
 * d log2(e) adds |d| 2^-24 to the relative error of a power e^d, d <= 0, and so little to the sum. */
template <int N, class T> LINE_FN double lse_below(const float (&x)[N], float largest, const T *)
{
    const int MOST = sizeof(T) == 4 ? 4 : 8, RUN = N < MOST ? N : MOST;
    double sum = 0.0;
#pragma unroll
    for (int i = 0; i < N; i += RUN) {
        float e[RUN];
#pragma unroll
        for (int k = 0; k < RUN; k++) {
            const float y = cm_exp2_flushed((x[i + k] - largest) * 1.44269504f);
            e[k] = x[i + k] == largest ? 0.0f : y;
        }
#pragma unroll
        for (int h = RUN / 2; h; h /= 2)
#pragma unroll
            for (int k = 0; k < h; k++)
                e[k] += e[k + h];
        sum += (double)e[0];
    }
    return sum;
}
template <class T, class C> struct reduce_logsumexp {
    typedef T element;
    typedef void own_unroll;
    enum { row_unroll = sizeof(C) == 8 ? 4 : 2 * sizeof(T) }; /* 32 elements of floats and halves */
    struct state {
        double largest, sum, error, ones;
    };
    LINE_FN state zero()
    {
        return {__longlong_as_double((long long)0xfff0000000000000ull), 0.0, 0.0, 0.0};
    }
    LINE_FN double larger(double a, double b) { return b != b ? b : b > a ? b : a; }
    LINE_FN bool finite(double x) { return x - x == 0; }
    LINE_FN void raise(state &s, double largest)
    {
        if (largest == s.largest)
            return;
        double down = 0.0;
        if (finite(s.largest) && finite(largest))
            down =
                sizeof(T) == 2 ? lse_exp((float)(s.largest - largest)) : exp(s.largest - largest);
        s.sum = (s.sum + s.ones) * down;
        s.error *= down;
        s.ones = 0.0;
        s.largest = largest;
    }
    /* Of lanes that agree on the largest element, so that each computes one exponential and joining
     * them none. */
    typedef void levels;
    LINE_FN state join(state a, state b, const reduce_params &p)
    {
        if (sizeof(C) == 8)
            return merge(a, b, p);
        return {a.largest, a.sum + b.sum, 0.0, a.ones + b.ones};
    }
    LINE_FN state level(state s, int width)
    {
        double largest = s.largest;
        for (int h = width / 2; h; h /= 2)
            largest = larger(largest, __shfl_xor_sync(0xffffffffu, largest, h, width));
        raise(s, largest);
        return s;
    }
    /* A double has enough bits for sums of what was float. */
    template <int N> LINE_FN void add_single(state &s, const T *x)
    {
        float v[N], largest = (float)s.largest;
        int met = 0;
#pragma unroll
        for (int i = 0; i < N; i++) {
            v[i] = (float)sums_double(x[i]);
            largest = cm_larger(largest, v[i]);
        }
        raise(s, (double)largest);
        if (!finite((double)largest))
            return;
#pragma unroll
        for (int i = 0; i < N; i++)
            met += v[i] == largest;
        s.ones += (double)met;
        s.sum += lse_below<N>(v, largest, x);
    }
    template <int N, int V>
    LINE_FN void add(state &s, const T *x, int64_t, int64_t, const reduce_params &)
    {
        if constexpr (sizeof(C) == 4) {
            add_single<N>(s, x);
            return;
        }
        double largest = s.largest;
#pragma unroll
        for (int i = 0; i < N; i++)
            largest = larger(largest, sums_double(x[i]));
        raise(s, largest);
        if (!finite(largest))
            return;
        sum_pair sum = {s.sum, s.error};
#pragma unroll 1
        for (int i = 0; i < N; i++) {
            double v = sums_double(x[i]);
            if (v == largest)
                s.ones += 1.0;
            else
                sum = sum_pair_merge(sum, {lse_exp((C)(v - largest)), 0.0});
        }
        s.sum = sum.sum;
        s.error = sum.error;
    }
    LINE_FN state merge(state a, state b, const reduce_params &)
    {
        double largest = larger(a.largest, b.largest);
        raise(a, largest);
        raise(b, largest);
        sum_pair sum = sum_pair_merge({a.sum, a.error}, {b.sum, b.error});
        return {largest, sum.sum, sum.error, a.ones + b.ones};
    }
    LINE_FN void store(const reduce_params &p, int64_t at, state s)
    {
        double r = s.largest;
        if (finite(r))
            r += log1p((s.ones - 1.0) + (s.sum + s.error));
        state_store((T *)p.out + at, r);
    }
};

#endif
