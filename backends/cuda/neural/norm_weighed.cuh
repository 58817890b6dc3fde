/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients of layer_norm and rms_norm of dense rows with those for weights, in one pass: each thread has
 * the same columns of every so many rows, and adds up in registers what these give their weights. Rows
 * come to shared memory ahead of their turn. A thread sums its part of a row around that part's own mean,
 * so that statistics need one pass, and doubles join the parts. */
#ifndef NDOCK_CUDA_NORM_WEIGHED_CUH
#define NDOCK_CUDA_NORM_WEIGHED_CUH
#include "neural/norm_held.cuh"
#include "neural/row_sum.cuh"
#include "walk/stage.cuh"

enum { WEIGHED_ROWS = 64 }; /* that are summed in floats, before doubles take the sums over */

#ifndef WEIGHED_SHARED
#define WEIGHED_SHARED(name) extern __shared__ __align__(16) unsigned char name[]
#endif

/* A thread's part of rows: vectors lane, lane + lanes ... of each. */
template <class T, bool CENTRED, bool WARP> struct weighed {
    enum {
        V = 16 / sizeof(T),
        K = NEURAL_WEIGHED_EACH / V,
        STAGES = sizeof(T) == 2 ? NEURAL_WEIGHED_STAGES : NEURAL_WEIGHED_STAGES - 1,
        N = CENTRED ? 4 : 2
    };
    typedef neural_raw<T, V> vector;
    const neural_norm &p;
    const unsigned lane, lanes;
    vector *const
        ring; /* of each stage: K vectors of x, then K of g, each of all threads; then K of weights */
    const vector *x, *g; /* the thread's first of the row that is fetched next */
    const T *first;      /* of the row whose turn is next */
    T *out;
    int64_t fetched;               /* the number of the row that is fetched next */
    float scale[K][V], bias[K][V]; /* what the rows give the gradients for weights */
    float count, inverse;          /* of the thread's elements, and 1 over that */
    bool any;

    __device__ __forceinline__ weighed(const neural_norm &params, vector *memory, int64_t row)
        : p(params), lane(WARP ? threadIdx.x % 32 : threadIdx.x), lanes(WARP ? 32 : blockDim.x),
          ring(memory + threadIdx.x), x((const vector *)at(NEURAL_X, row) + lane),
          g((const vector *)at(NEURAL_G, row) + lane), first((const T *)at(NEURAL_X, row)),
          out((T *)at(NEURAL_OUT, row)), fetched(row), any(false)
    {
        int n = 0;
#pragma unroll
        for (unsigned k = 0; k < K; k++) {
            if (has(k) && p.at[NEURAL_SCALE])
                *place(STAGES, k) = ((const vector *)p.at[NEURAL_SCALE])[lane + k * lanes];
            n += has(k) ? V : 0;
        }
        count = (float)n;
        inverse = n ? 1.0f / (float)n : 0.0f;
        clear();
    }
    __device__ __forceinline__ bool has(unsigned k) const
    {
        return lane + k * lanes < p.items;
    }
    __device__ __forceinline__ vector *place(unsigned stage, unsigned k) const
    {
        return ring + (stage * 2 * K + k) * blockDim.x;
    }
    __device__ __forceinline__ uint64_t at(int o, int64_t row) const
    {
        return p.at[o] + (uint64_t)(row * p.dim[0].stride[o]) * sizeof(T);
    }
    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (unsigned k = 0; k < K; k++)
#pragma unroll
            for (unsigned i = 0; i < V; i++)
                scale[k][i] = bias[k][i] = 0;
    }
    /* Lets the next row come, if there is one, by step after the last. Every call is a group of copies, also for none. */
    __device__ __forceinline__ void fetch(unsigned stage, int64_t step)
    {
        if (fetched < p.rows) {
#pragma unroll
            for (unsigned k = 0; k < K; k++)
                if (has(k)) {
                    stage_copy(place(stage, k), x + k * lanes);
                    stage_copy(place(stage, K + k), g + k * lanes);
                }
        }
        stage_group();
        fetched += step;
        x = (const vector *)((const T *)x + step * p.dim[0].stride[NEURAL_X]);
        g = (const vector *)((const T *)g + step * p.dim[0].stride[NEURAL_G]);
    }
    /* u becomes x less the mean of the thread's part, which is returned. */
    __device__ __forceinline__ float part(unsigned stage, float (&u)[K][V]) const
    {
        float sum = 0;
#pragma unroll
        for (unsigned k = 0; k < K; k++) {
            float half[2] = {0, 0};
            if (!has(k))
                continue;
            neural_widen(*place(stage, k), u[k]);
#pragma unroll
            for (unsigned i = 0; CENTRED && i < V; i++)
                half[i % 2] += u[k][i];
            sum += half[0] + half[1];
        }
        const float mean = sum * inverse;
#pragma unroll
        for (unsigned k = 0; CENTRED && k < K; k++)
#pragma unroll
            for (unsigned i = 0; i < V; i++)
                u[k][i] -= mean;
        return mean;
    }
    /* v becomes g times the weight; s: sums of d = x - shift and d*d, of v and v*d; of rms_norm d*d and v*d. What
     * rounding took from the part's mean is in the sum of u. */
    __device__ __forceinline__ void sum(unsigned stage, const float (&u)[K][V], float (&v)[K][V],
                                        double away, double (&s)[N]) const
    {
        float rest = 0, squares = 0, gs = 0, both = 0;
#pragma unroll
        for (unsigned k = 0; k < K; k++) {
            if (!has(k))
                continue;
            neural_widen(*place(stage, K + k), v[k]);
            if (p.at[NEURAL_SCALE]) {
                float by[V];
                neural_widen(*place(STAGES, k), by);
#pragma unroll
                for (unsigned i = 0; i < V; i++)
                    v[k][i] *= by[i];
            }
#pragma unroll
            for (unsigned i = 0; i < V; i++) {
                if (CENTRED && sizeof(T) == 4)
                    rest += u[k][i];
                squares = __fmaf_rn(u[k][i], u[k][i], squares);
                if (CENTRED)
                    gs += v[k][i];
                both = __fmaf_rn(v[k][i], u[k][i], both);
            }
        }
        if (CENTRED) {
            const double n = (double)count, r = (double)rest, all = (double)gs;
            s[0] = __fma_rn(n, away, r);
            s[1] = __fma_rn(away, __fma_rn(n, away, 2 * r), (double)squares);
            s[N - 2] = all;
            s[N - 1] = __fma_rn(away, all, (double)both);
        } else {
            s[0] = (double)squares;
            s[1] = (double)both;
        }
    }
    /* Writes the row's gradient, and adds what it gives the weights. The normalised x is u*factor + rest. */
    __device__ __forceinline__ void write(unsigned stage, const float (&u)[K][V],
                                          const float (&v)[K][V], float factor, float rest, float a,
                                          float b)
    {
#pragma unroll
        for (unsigned k = 0; k < K; k++) {
            float g[V], r[V];
            if (!has(k))
                continue;
            neural_widen(*place(stage, K + k), g);
#pragma unroll
            for (unsigned i = 0; i < V; i++) {
                const float t = CENTRED ? __fmaf_rn(u[k][i], factor, rest) : u[k][i] * factor;
                r[i] = __fmaf_rn(-b, t, CENTRED ? v[k][i] - a : v[k][i]) * factor;
                scale[k][i] = __fmaf_rn(g[i], t, scale[k][i]);
                if (CENTRED) /* rms_norm has no bias */
                    bias[k][i] += g[i];
            }
            neural_store<T, V>(out, lane + k * lanes, r);
        }
    }
    __device__ __forceinline__ void take(unsigned stage, int slot)
    {
        const float shift = CENTRED ? held_first(p, first) : 0.0f;
        float u[K][V], v[K][V];
        double s[N];
        const float mean = part(stage, u);
        const double away = (double)mean - (double)shift;
        sum(stage, u, v, away, s);
        row_join<N, WARP>(s, slot);
        const double d = CENTRED ? s[0] * p.inverse : 0.0;
        double variance = __fma_rn(-d, d, s[CENTRED ? 1 : 0] * p.inverse);
        variance = variance < 0 ? 0.0 : variance;
        const double a = CENTRED ? s[N - 2] * p.inverse : 0.0;
        const double b = __fma_rn(-d, a, s[N - 1] * p.inverse);
        if (sizeof(T) == 2 && variance + p.eps > 1e-30 && variance + p.eps < 1e30) {
            const float f = row_rsqrt((float)(variance + p.eps)); /* enough for 11 bits */
            write(stage, u, v, f, (float)(away - d) * f, (float)a, (float)b * f);
            return;
        }
        const double f = held_rsqrt(variance + p.eps);
        write(stage, u, v, (float)f, (float)((away - d) * f), (float)a, (float)(b * f));
    }
    __device__ __forceinline__ void next(int64_t step)
    {
        first += step * p.dim[0].stride[NEURAL_X];
        out += step * p.dim[0].stride[NEURAL_OUT];
    }
    __device__ __forceinline__ void put(unsigned k, unsigned i, double s, double b) const
    {
        double *to = (double *)p.partial +
                     2 * ((int64_t)blockIdx.x * p.items * V + (lane + k * lanes) * V + i);
        to[0] = any ? to[0] + s : s;
        to[1] = any ? to[1] + b : b;
    }
    /* The block's sums into its place, those of warps in order. */
    __device__ __forceinline__ void flush()
    {
        __shared__ float all[WARP ? NEURAL_THREADS : 1][2];
#pragma unroll
        for (unsigned k = 0; k < K; k++)
#pragma unroll
            for (unsigned i = 0; i < V; i++) {
                if (!WARP) {
                    if (has(k))
                        put(k, i, scale[k][i], bias[k][i]);
                    continue;
                }
                all[threadIdx.x % NEURAL_THREADS][0] = scale[k][i];
                all[threadIdx.x % NEURAL_THREADS][1] = bias[k][i];
                __syncthreads();
                if (threadIdx.x < 32 && has(k)) {
                    double s = 0, b = 0;
                    for (unsigned w = threadIdx.x; w < blockDim.x; w += 32) {
                        s += all[w][0];
                        b += all[w][1];
                    }
                    put(k, i, s, b);
                }
                __syncthreads();
            }
        any = true;
        clear();
    }
};

template <class T, bool CENTRED, bool WARP> NEURAL_FN void weighed_rows(const neural_norm &p)
{
    typedef weighed<T, CENTRED, WARP> rows;
    WEIGHED_SHARED(memory);
    const int64_t beside = WARP ? blockDim.x / 32 : 1, step = (int64_t)gridDim.x * beside;
    const int64_t mine = WARP ? threadIdx.x / 32 : 0;
    int64_t i = (int64_t)blockIdx.x * beside;
    rows all(p, (typename rows::vector *)memory, i + mine);
    unsigned stage = 0, since = 0;
#pragma unroll
    for (unsigned ahead = 0; ahead < rows::STAGES - 1; ahead++)
        all.fetch(ahead, step);
    for (; i < p.rows; i += step) { /* all warps of a block take as many turns */
        all.fetch(stage ? stage - 1 : rows::STAGES - 1, step);
        stage_wait_but<rows::STAGES - 1>();
        if (i + mine < p.rows)
            all.take(stage, since & 1);
        all.next(step);
        if (++since == WEIGHED_ROWS) {
            all.flush();
            since = 0;
        }
        stage = stage + 1 == rows::STAGES ? 0 : stage + 1;
    }
    if (since || !all.any)
        all.flush();
}

#endif
