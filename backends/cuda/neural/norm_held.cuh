/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients of layer_norm and rms_norm of dense rows that the threads of a warp or a block hold in
 * registers: x and g are read once. A thread sums its part of a row around that part's own mean, so that
 * statistics need one pass, and doubles join the parts. */
#ifndef NDOCK_CUDA_NORM_HELD_CUH
#define NDOCK_CUDA_NORM_HELD_CUH
#include "neural/group.h"
#include "neural/neural.cuh"
#include "neural/neural.h"
#include "neural/row_sum.cuh"

/* What the gradients for weights need of a row. */
NEURAL_FN void neural_row_known(const neural_norm &p, int64_t number, double mean, double factor)
{
    if (p.rows_at == 0)
        return;
    double *to = (double *)p.rows_at + number * GROUP_ROW;
    to[GROUP_MEAN] = mean;
    to[GROUP_FACTOR] = factor;
}

/* Hides from the compiler where 16 bytes came from, so that what follows from them is computed
 * again. */
template <class V> NEURAL_FN void held_forget(V &x)
{
#ifdef __CUDA_ARCH__
    uint32_t(&word)[4] = (uint32_t(&)[4])x;
    asm volatile("" : "+r"(word[0]), "+r"(word[1]), "+r"(word[2]), "+r"(word[3]));
#else
    (void)x;
#endif
}

/* A row's first number. The compiler must not see that all threads have the same: in a register of a whole warp it would be
 * waited for before the loads that follow begin. */
template <class T> NEURAL_FN float held_first(const neural_norm &p, const T *row)
{
    return neural_widen(row[p.items < 0 ? threadIdx.x : 0]);
}

/* Sums of d = x - shift and d*d, of v and v*d (of rms_norm d*d and v*d alone) over `count` elements of a thread, from those of
 * u = x less the thread's mean, which is `away` from the shift. rest: what rounding left in the sum of u. */
template <bool CENTRED>
NEURAL_FN void held_shifted(double (&s)[CENTRED ? 4 : 2], float count, double away, float rest,
                            float squares, float gs, float both)
{
    if constexpr (CENTRED) {
        const double n = (double)count, r = (double)rest, all = (double)gs;
        s[0] = __fma_rn(n, away, r);
        s[1] = __fma_rn(away, __fma_rn(n, away, 2 * r), (double)squares);
        s[2] = all;
        s[3] = __fma_rn(away, all, (double)both);
    } else {
        s[0] = (double)squares;
        s[1] = (double)both;
    }
}

/* What follows from a row's sums: the mean less the shift, the mean of v and that of v times the normalised x, 1/sqrt(variance). The
 * normalised x is u*factor + rest, `away` being what the thread's mean is away from the shift. */
template <class T, bool CENTRED> struct held_known {
    double d;
    float a, b, factor, rest;
    __device__ __forceinline__ held_known(const double (&s)[CENTRED ? 4 : 2], const neural_norm &p,
                                          double away)
    {
        d = CENTRED ? s[0] * p.inverse : 0.0;
        double variance = __fma_rn(-d, d, s[CENTRED ? 1 : 0] * p.inverse);
        variance = (variance < 0 ? 0.0 : variance) + p.eps;
        const double mean = CENTRED ? s[CENTRED ? 2 : 0] * p.inverse : 0.0;
        const double both = __fma_rn(-d, mean, s[CENTRED ? 3 : 1] * p.inverse);
        a = (float)mean;
        if (sizeof(T) == 2 && variance > 1e-30 && variance < 1e30) {
            factor = row_rsqrt((float)variance); /* enough for 11 bits */
            rest = (float)(away - d) * factor;
            b = (float)both * factor;
            return;
        }
        const double f = held_rsqrt(variance);
        factor = (float)f;
        rest = (float)((away - d) * f);
        b = (float)(both * f);
    }
};

/* Vectors lane, lane + lanes ... of a row; K of them at most. */
template <class T, int K, bool CENTRED, bool WARP> struct held_row {
    enum { V = 16 / sizeof(T), N = CENTRED ? 4 : 2 };
    typedef neural_raw<T, V> vector;
    const neural_norm &p;
    const unsigned lane, lanes;
    vector x[K], g[K];
    float count, inverse; /* of the thread's elements, and 1 over that */

    __device__ __forceinline__ held_row(const neural_norm &params)
        : p(params), lane(WARP ? threadIdx.x % 32 : threadIdx.x), lanes(WARP ? 32 : blockDim.x)
    {
        int n = 0;
#pragma unroll
        for (int k = 0; k < K; k++)
            n += has(k) ? V : 0;
        count = (float)n;
        inverse = n ? 1.0f / (float)n : 0.0f;
    }
    __device__ __forceinline__ bool has(int k) const
    {
        return lane + k * lanes < p.items;
    }
    __device__ __forceinline__ const T *row(int o, int64_t i) const
    {
        return (const T *)p.at[o] + i * p.dim[0].stride[o];
    }
    __device__ __forceinline__ void load(int64_t i)
    {
        const vector *const from = (const vector *)row(NEURAL_X, i);
        const vector *const by = (const vector *)row(NEURAL_G, i);
#pragma unroll
        for (int k = 0; k < K; k++)
            if (has(k))
                x[k] = from[lane + k * lanes];
#pragma unroll
        for (int k = 0; k < K; k++)
            if (has(k))
                g[k] = by[lane + k * lanes];
    }
    /* The mean of the thread's part, from what is left beside the shift: so that of equal numbers is exact, and no sum of
     * large ones overflows. */
    __device__ __forceinline__ float part(float shift) const
    {
        float sum = 0;
#pragma unroll
        for (int k = 0; CENTRED && k < K; k++) {
            float u[V], half[2] = {0, 0};
            if (!has(k))
                continue;
            neural_widen(x[k], u);
#pragma unroll
            for (int i = 0; i < V; i++)
                half[i % 2] = __fmaf_rn(u[i] - shift, inverse, half[i % 2]);
            sum += half[0] + half[1];
        }
        return shift + sum;
    }
    /* Numbers are widened anew in each pass: kept, they would need twice the registers, and fewer rows would be underway. */
    __device__ __forceinline__ void forget()
    {
#pragma unroll
        for (int k = 0; k < K; k++) {
            held_forget(x[k]);
            held_forget(g[k]);
        }
    }
    /* u: x less the mean of the part; v: g times the scale, rounded only where it is summed. */
    __device__ __forceinline__ void widen(int k, float mean, float (&u)[V], float (&v)[V]) const
    {
        neural_widen(x[k], u);
        neural_widen(g[k], v);
#pragma unroll
        for (int i = 0; CENTRED && i < V; i++)
            u[i] -= mean;
        if (!p.at[NEURAL_SCALE])
            return;
        const vector scale = ((const vector *)p.at[NEURAL_SCALE])[lane + k * lanes];
        float by[V];
        neural_widen(scale, by);
#pragma unroll
        for (int i = 0; i < V; i++)
            v[i] *= by[i];
    }
    /* s: what held_shifted says. What rounding took from the part's mean is in the sum of u. */
    __device__ __forceinline__ void sum(float mean, double away, double (&s)[N]) const
    {
        float rest = 0, squares[2] = {0, 0}, gs[2] = {0, 0}, both[2] = {0, 0};
#pragma unroll
        for (int k = 0; k < K; k++) {
            float u[V], v[V];
            if (!has(k))
                continue;
            widen(k, mean, u, v);
#pragma unroll
            for (int i = 0; i < V; i++) {
                if (CENTRED && sizeof(T) == 4)
                    rest += u[i];
                squares[i % 2] = __fmaf_rn(u[i], u[i], squares[i % 2]);
                if (CENTRED)
                    gs[i % 2] += v[i];
                both[i % 2] = __fmaf_rn(v[i], u[i], both[i % 2]);
            }
        }
        held_shifted<CENTRED>(s, count, away, rest, squares[0] + squares[1], gs[0] + gs[1],
                              both[0] + both[1]);
    }
    /* The gradient (v - a - t*b)*f, t = u*f + rest being the normalised x. */
    __device__ __forceinline__ void write(T *out, float mean,
                                          const held_known<T, CENTRED> &known) const
    {
        const float f = known.factor, rest = known.rest, a = known.a, b = known.b;
        const float of_u = -b * f * f, then = -__fmaf_rn(b, rest, a) * f;
#pragma unroll
        for (int k = 0; k < K; k++) {
            float u[V], v[V], r[V];
            if (!has(k))
                continue;
            widen(k, mean, u, v);
#pragma unroll
            for (int i = 0; i < V; i++)
                if (sizeof(T) == 2) /* has few enough digits for these products */
                    r[i] = __fmaf_rn(v[i], f, __fmaf_rn(u[i], of_u, then));
                else
                    r[i] = __fmaf_rn(-b, __fmaf_rn(u[i], f, rest), v[i] - a) * f;
            neural_store<T, V>(out, lane + k * lanes, r);
        }
    }
    __device__ __forceinline__ void run(int64_t i, int slot)
    {
        const float shift = CENTRED ? held_first(p, row(NEURAL_X, i)) : 0.0f;
        double s[N];
        load(i);
        const float mean = part(shift);
        const double away = (double)mean - (double)shift;
        forget();
        sum(mean, away, s);
        forget();
        row_join<N, WARP>(s, slot);
        const held_known<T, CENTRED> known(s, p, away);
        if (lane == 0)
            neural_row_known(p, i, (double)shift + known.d, known.factor);
        write((T *)row(NEURAL_OUT, i), mean, known);
    }
};

template <class T, int K, bool CENTRED, bool WARP> NEURAL_FN void held_rows(const neural_norm &p)
{
    const int64_t beside = WARP ? blockDim.x / 32 : 1, step = (int64_t)gridDim.x * beside;
    int64_t i = blockIdx.x * beside + (WARP ? threadIdx.x / 32 : 0);
    held_row<T, K, CENTRED, WARP> row(p);
    for (int slot = 0; i < p.rows; i += step, slot ^= 1)
        row.run(i, slot);
}

#endif
