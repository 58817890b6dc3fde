/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Cross entropy of rows of scores, and its gradient: a warp or a block serves a row, which it reads
 * once for the maximum and the sum of exponentials kept up to date with it. */
#include "neural/neural.h"
#include "neural/entropy.cuh"

template <class T, int V, bool WARP> struct entropy_row {
    typedef typename neural_computed<T>::type C;
    const neural_entropy &p;
    const T *a;
    int64_t lane, lanes, items;

    __device__ __forceinline__ neural_raw<T, V> read(int64_t i) const
    {
        return neural_read<T, V>(a + i * (V > 1 ? V : p.a_step));
    }
    /* f(i, vector i) of this thread's vectors in turn, of which several are underway. */
    template <class F> __device__ __forceinline__ void each(F f) const
    {
        enum { U = sizeof(C) == 8 ? 2 : 4 };
        for (int64_t i = lane; i < items; i += U * lanes) {
            neural_raw<T, V> v[U];
#pragma unroll
            for (int u = 0; u < U; u++)
                if (i + u * lanes < items)
                    v[u] = read(i + u * lanes);
#pragma unroll
            for (int u = 0; u < U; u++)
                if (i + u * lanes < items) {
                    C x[V];
                    neural_widen(v[u], x);
                    f(i + u * lanes, x);
                }
        }
    }
    __device__ __forceinline__ C weight(int64_t i) const
    {
        return p.weights ? (C)neural_widen(((const T *)p.weights)[i * p.weights_step]) : (C)1;
    }
};

/* The larger number: of x that is none, the other. */
NEURAL_FN float neural_larger(float x, float than)
{
    return fmaxf(x, than);
}
NEURAL_FN double neural_larger(double x, double than)
{
    return fmax(x, than);
}

/* A row's maximum, sum of exponentials below it, weighted scores, weights. */
struct entropy_sums {
    double max, sum, weighted, weights;
};

template <class T, int V, bool WARP>
NEURAL_FN entropy_sums sums_of(const entropy_row<T, V, WARP> &r)
{
    typedef typename neural_computed<T>::type C;
    const C none = (C)__longlong_as_double((long long)0xfff0000000000000ull);
    const bool smooth = r.p.smoothing != 0;
    C most = none, sum = 0;
    double s[3] = {0, 0, 0};
    r.each([&](int64_t i, const C(&x)[V]) {
        C top = most, part = 0, w = 0, all = 0;
#pragma unroll
        for (int k = 0; k < V; k++)
            top = neural_larger(x[k], top);
        if (top > most) {
            sum *= most > none ? neural_exp(most - top) : (C)0;
            most = top;
        }
#pragma unroll
        for (int k = 0; k < V; k++)
            part += neural_exp(x[k] - (most > none ? most : (C)0));
        sum += part;
        if (!smooth)
            return;
#pragma unroll
        for (int k = 0; k < V; k++) {
            C by = r.weight(i * V + k);
            w += by * x[k];
            all += by;
        }
        s[1] += w;
        s[2] += all;
    });
    entropy_sums t;
    t.max = neural_max<WARP>((double)most);
    s[0] = most > none ? (double)sum * exp((double)most - t.max) : (double)sum;
    neural_sum<3, WARP>(s);
    t.sum = s[0];
    t.weighted = s[1];
    t.weights = s[2];
    return t;
}

template <class T, int V, bool WARP>
NEURAL_FN void gradient_of(const entropy_row<T, V, WARP> &r, T *out, int64_t y, double g)
{
    typedef typename neural_computed<T>::type C;
    const neural_entropy &p = r.p;
    entropy_sums t = {0, 1, 0, 0};
    double own = 0, each = p.smoothing / (double)p.n;
    if (y >= 0) {
        t = sums_of(r);
        own = (1 - p.smoothing) * (double)r.weight(y);
    } else {
        g = 0;
    }
    const C factor = (C)((own + each * t.weights) / t.sum * g), less = (C)(each * g),
            at_y = (C)(own * g), max = (C)t.max;
    const int64_t at = y / V; /* of vectors, the target's */
    r.each([&](int64_t i, C(&x)[V]) {
#pragma unroll
        for (int k = 0; k < V; k++)
            x[k] = neural_exp(x[k] - max) * factor;
        if (p.smoothing != 0)
#pragma unroll
            for (int k = 0; k < V; k++)
                x[k] -= less * r.weight(i * V + k);
        if (i == at)
#pragma unroll
            for (int k = 0; k < V; k++)
                x[k] = i * V + k == y ? x[k] - at_y : x[k];
        if (y < 0)
#pragma unroll
            for (int k = 0; k < V; k++)
                x[k] = (C)0;
        if (V > 1)
            neural_store<T, V>(out, i, x);
        else
            neural_narrow(&out[i * p.out_step], x[0]);
    });
}

template <class T, int V, bool WARP, bool GRAD> NEURAL_FN void entropy_rows(const neural_entropy &p)
{
    typedef typename neural_computed<T>::type C;
    const int64_t beside = WARP ? blockDim.x / 32 : 1, step = (int64_t)gridDim.x * beside;
    int64_t row = blockIdx.x * beside + (WARP ? threadIdx.x / 32 : 0);
    for (; row < p.rows; row += step) {
        entropy_row<T, V, WARP> r = {p, (const T *)p.a + row * p.a_row,
                                     WARP ? threadIdx.x % 32 : threadIdx.x, WARP ? 32 : blockDim.x,
                                     p.n / V};
        const int64_t y = entropy_target(p, row, r.lane == 0);
        if (GRAD) {
            gradient_of(r, (T *)p.out + row * p.out_row, y,
                        (double)((const C *)p.g)[row * p.g_step]);
            continue;
        }
        double loss = 0;
        if (y >= 0) {
            entropy_sums t = sums_of(r);
            const double x = (double)neural_widen(r.a[y * p.a_step]), log_sum = log(t.sum);
            loss = (1 - p.smoothing) * (double)r.weight(y) * ((t.max - x) + log_sum);
            if (p.smoothing != 0)
                loss += p.smoothing / (double)p.n * (t.weights * (t.max + log_sum) - t.weighted);
        }
        if (r.lane == 0)
            ((C *)p.out)[row * p.out_row] = (C)loss;
    }
}

#define ENTROPY_KERNEL(name, T, V, WARP, GRAD, THREADS)   \
    extern "C" __global__ void __launch_bounds__(THREADS) \
        name(const __grid_constant__ neural_entropy p)    \
    {                                                     \
        entropy_rows<T, V, WARP, GRAD>(p);                \
    }
#define ENTROPY(name, dtype, T, GRAD)                                                        \
    ENTROPY_KERNEL(name##_##dtype##_warp_vec, T, 16 / sizeof(T), true, GRAD, NEURAL_THREADS) \
    ENTROPY_KERNEL(name##_##dtype##_warp, T, 1, true, GRAD, NEURAL_THREADS)                  \
    ENTROPY_KERNEL(name##_##dtype##_block_vec, T, 16 / sizeof(T), false, GRAD,               \
                   NEURAL_LONG_THREADS)                                                      \
    ENTROPY_KERNEL(name##_##dtype##_block, T, 1, false, GRAD, NEURAL_LONG_THREADS)
#define ENTROPY_OF(dtype, T)                \
    ENTROPY(cross_entropy, dtype, T, false) \
    ENTROPY(cross_entropy_grad, dtype, T, true)
ENTROPY_OF(f16, __half)
ENTROPY_OF(bf16, __nv_bfloat16)
ENTROPY_OF(f32, float)
ENTROPY_OF(f64, double)
