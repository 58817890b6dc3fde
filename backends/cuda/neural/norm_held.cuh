/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients of layer_norm and rms_norm of dense rows that the threads of a warp or a block hold in
 * registers: x and g are read once. Each thread sums in the type of computation; of f32 lanes are
 * joined in doubles, of halves in floats. */
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

template <class T> struct held_sum {
    typedef float type;
};
template <> struct held_sum<float> {
    typedef double type;
};

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

/* The sums of N values over the lanes of a row, in every thread, in one order. Calls of a block that
 * alternate between two slots need no other barrier. */
template <class S, int N, bool WARP> NEURAL_FN void held_all(S (&s)[N], int slot)
{
    __shared__ S all[2][WARP ? 1 : NEURAL_HELD_THREADS / 32][N];
#pragma unroll
    for (int k = 0; k < N; k++)
        for (int h = 16; h; h /= 2)
            s[k] += __shfl_xor_sync(0xffffffffu, s[k], h);
    if (WARP)
        return;
    if (threadIdx.x % 32 == 0)
        for (int k = 0; k < N; k++)
            all[slot][threadIdx.x / 32][k] = s[k];
    __syncthreads();
    enum { MOST = NEURAL_HELD_THREADS / 32 }; /* warps, whose sums each half of a warp adds up */
    const int w = (int)threadIdx.x % MOST;
#pragma unroll
    for (int k = 0; k < N; k++)
        s[k] = w < (int)blockDim.x / 32 ? all[slot][w][k] : (S)0;
#pragma unroll
    for (int k = 0; k < N; k++)
        for (int h = MOST / 2; h; h /= 2)
            s[k] += __shfl_xor_sync(0xffffffffu, s[k], h);
}

/* Vectors lane, lane + lanes ... of a row; K of them at most. */
template <class T, int K, bool CENTRED, bool WARP> struct held_row {
    enum { V = 16 / sizeof(T) };
    typedef neural_raw<T, V> vector;
    typedef typename held_sum<T>::type S;
    const neural_norm &p;
    int lane, lanes;
    vector x[K], g[K];

    __device__ __forceinline__ held_row(const neural_norm &params)
        : p(params), lane((int)(WARP ? threadIdx.x % 32 : threadIdx.x)),
          lanes((int)(WARP ? 32 : blockDim.x))
    {
    }
    __device__ __forceinline__ bool has(int k) const { return lane + k * lanes < p.items; }
    __device__ __forceinline__ void take(const held_row &other)
    {
#pragma unroll
        for (int k = 0; k < K; k++) {
            x[k] = other.x[k];
            g[k] = other.g[k];
        }
    }
    /* What lies there; g times the scale, rounded only where it is summed. */
    __device__ __forceinline__ void load(const T *from, const T *by)
    {
#pragma unroll
        for (int k = 0; k < K; k++)
            if (has(k))
                x[k] = ((const vector *)from)[lane + k * lanes];
#pragma unroll
        for (int k = 0; k < K; k++)
            if (has(k))
                g[k] = ((const vector *)by)[lane + k * lanes];
    }
    __device__ __forceinline__ void widen(int k, float (&a)[V], float (&b)[V]) const
    {
        const T *scale = (const T *)p.at[NEURAL_SCALE];
        float s[V];
        neural_widen(x[k], a);
        neural_widen(g[k], b);
        if (!scale)
            return;
        neural_load<T, V>(scale, lane + k * lanes, s);
#pragma unroll
        for (int i = 0; i < V; i++)
            b[i] *= s[i];
    }
    /* Numbers are widened anew in each pass: they would need twice the registers. */
    __device__ __forceinline__ void forget()
    {
#pragma unroll
        for (int k = 0; k < K; k++) {
            held_forget(x[k]);
            held_forget(g[k]);
        }
    }
    /* f(x, g times scale) of each element; what it adds to part, those of a vector, goes into s. */
    template <class F> __device__ __forceinline__ void sum(S (&s)[2], const F &f) const
    {
#pragma unroll
        for (int k = 0; k < K; k++) {
            float a[V], b[V], part[2] = {0, 0};
            if (!has(k))
                continue;
            widen(k, a, b);
#pragma unroll
            for (int i = 0; i < V; i++)
                f(a[i], b[i], part);
            s[0] += part[0];
            s[1] += part[1];
        }
    }
    /* What the row's statistics say: the mean in two parts, the factor, and the gradient's sums. */
    float high, low, factor, ca, cb;
    /* first: some element, so that the sum for the mean is of small numbers. */
    __device__ __forceinline__ void know(float first, int64_t number)
    {
        S s[2] = {0, 0}, q[2] = {0, 0};
        double mean = 0, a = 0;
        if (CENTRED) {
            sum(s, [&](float x, float g, float(&part)[2]) {
                part[0] += x - first;
                part[1] += g;
            });
            held_all<S, 2, WARP>(s, 0);
            mean = (double)first + (double)s[0] * p.inverse;
            a = (double)s[1] * p.inverse;
        }
        high = (float)mean;
        low = (float)(mean - (double)high);
        ca = (float)a;
        forget();
        sum(q, [&](float x, float g, float(&part)[2]) {
            const float d = (x - high) - low;
            part[0] = __fmaf_rn(d, d, part[0]);
            part[1] = __fmaf_rn(g, d, part[1]);
        });
        held_all<S, 2, WARP>(q, 1);
        forget();
        const double f = held_rsqrt((double)q[0] * p.inverse + p.eps);
        if (lane == 0)
            neural_row_known(p, number, mean, f);
        cb = (float)((double)q[1] * p.inverse * f * f);
        factor = (float)f;
    }
    __device__ __forceinline__ void write(T *out, int k, const float (&u)[V],
                                          const float (&v)[V]) const
    {
        float r[V];
#pragma unroll
        for (int i = 0; i < V; i++)
            r[i] = ((v[i] - ca) - ((u[i] - high) - low) * cb) * factor;
        neural_store<T, V>(out, lane + k * lanes, r);
    }
    /* The one slot of held_all is free for the next row. */
    __device__ __forceinline__ void end() const
    {
        if (!CENTRED && !WARP)
            __syncthreads();
    }
    __device__ __forceinline__ void run(T *out, float first, int64_t number)
    {
        know(first, number);
#pragma unroll
        for (int k = 0; k < K; k++) {
            float u[V], v[V];
            if (!has(k))
                continue;
            widen(k, u, v);
            write(out, k, u, v);
        }
        end();
    }
};

template <class T, int K, bool CENTRED, bool WARP> NEURAL_FN void held_rows(const neural_norm &p)
{
    const int64_t beside = WARP ? blockDim.x / 32 : 1, step = (int64_t)gridDim.x * beside;
    int64_t i = blockIdx.x * beside + (WARP ? threadIdx.x / 32 : 0);
    for (; i < p.rows; i += step) {
        held_row<T, K, CENTRED, WARP> row(p);
        const T *x = (const T *)p.at[NEURAL_X] + i * p.dim[0].stride[NEURAL_X];
        row.load(x, (const T *)p.at[NEURAL_G] + i * p.dim[0].stride[NEURAL_G]);
        row.run((T *)p.at[NEURAL_OUT] + i * p.dim[0].stride[NEURAL_OUT],
                CENTRED ? held_first(p, x) : 0.0f, i);
    }
}

#endif
