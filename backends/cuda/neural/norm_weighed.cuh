/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients of layer_norm and rms_norm of dense rows with those for weights, in one pass: each thread has
 * the same columns of every so many rows, and adds up in registers what these give their weights. A block
 * loads its next row while it computes one. */
#ifndef NDOCK_CUDA_NORM_WEIGHED_CUH
#define NDOCK_CUDA_NORM_WEIGHED_CUH
#include "neural/norm_held.cuh"

enum { WEIGHED_ROWS = 64 }; /* that are summed in floats, before doubles take the sums over */

template <class T, int K, bool CENTRED, bool WARP> struct weighed {
    typedef held_row<T, K, CENTRED, WARP> held;
    enum { V = held::V };
    const neural_norm &p;
    float scale[K][V], bias[K][V];
    bool any;

    __device__ __forceinline__ weighed(const neural_norm &params) : p(params), any(false)
    {
        clear();
    }
    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int k = 0; k < K; k++)
#pragma unroll
            for (int i = 0; i < V; i++)
                scale[k][i] = bias[k][i] = 0;
    }
    /* Writes the row's gradient, and adds what it gives the weights. */
    __device__ __forceinline__ void add(const held &row, T *out)
    {
#pragma unroll
        for (int k = 0; k < K; k++) {
            float u[V], v[V], by[V];
            if (!row.has(k))
                continue;
            row.widen(k, u, v);
            row.write(out, k, u, v);
            neural_widen(row.g[k], by);
#pragma unroll
            for (int i = 0; i < V; i++) {
                const float g = by[i];
                scale[k][i] = __fmaf_rn(g, ((u[i] - row.high) - row.low) * row.factor, scale[k][i]);
                bias[k][i] += g;
            }
        }
        row.end();
    }
    __device__ __forceinline__ void put(const held &row, int k, int i, double s, double b) const
    {
        double *to = (double *)p.partial +
                     2 * ((int64_t)blockIdx.x * p.items * V + (row.lane + k * row.lanes) * V + i);
        to[0] = any ? to[0] + s : s;
        to[1] = any ? to[1] + b : b;
    }
    /* The block's sums into its place, those of warps in order. */
    __device__ __forceinline__ void flush(const held &row)
    {
        __shared__ float all[WARP ? NEURAL_THREADS : 1][2];
#pragma unroll
        for (int k = 0; k < K; k++)
#pragma unroll
            for (int i = 0; i < V; i++) {
                if (!WARP) {
                    if (row.has(k))
                        put(row, k, i, scale[k][i], bias[k][i]);
                    continue;
                }
                all[threadIdx.x % NEURAL_THREADS][0] = scale[k][i];
                all[threadIdx.x % NEURAL_THREADS][1] = bias[k][i];
                __syncthreads();
                if (threadIdx.x < 32 && row.has(k)) {
                    double s = 0, b = 0;
                    for (int w = (int)threadIdx.x; w < (int)blockDim.x; w += 32) {
                        s += all[w][0];
                        b += all[w][1];
                    }
                    put(row, k, i, s, b);
                }
                __syncthreads();
            }
        any = true;
        clear();
    }
};

template <class T> NEURAL_FN const T *weighed_at(const neural_norm &p, int o, int64_t row)
{
    return (const T *)p.at[o] + row * p.dim[0].stride[o];
}

template <class T, int K, bool CENTRED, bool WARP> NEURAL_FN void weighed_rows(const neural_norm &p)
{
    const int64_t beside = WARP ? blockDim.x / 32 : 1, step = (int64_t)gridDim.x * beside;
    const int64_t mine = WARP ? threadIdx.x / 32 : 0;
    weighed<T, K, CENTRED, WARP> sums(p);
    held_row<T, K, CENTRED, WARP> row(p), next(p);
    float first = 0, first_next = 0;
    int since = 0;
    int64_t i = (int64_t)blockIdx.x * beside;
    if (!WARP) {
        next.load(weighed_at<T>(p, NEURAL_X, i), weighed_at<T>(p, NEURAL_G, i));
        first_next = CENTRED ? neural_widen(*weighed_at<T>(p, NEURAL_X, i)) : 0.0f;
    }
    for (; i < p.rows; i += step) { /* all warps of a block take as many turns */
        const int64_t at = i + mine, ahead = WARP ? at : i + step;
        if (!WARP) {
            row.take(next);
            first = first_next;
        }
        if (ahead < p.rows) {
            next.load(weighed_at<T>(p, NEURAL_X, ahead), weighed_at<T>(p, NEURAL_G, ahead));
            first_next = CENTRED ? neural_widen(*weighed_at<T>(p, NEURAL_X, ahead)) : 0.0f;
        }
        if (WARP) {
            row.take(next);
            first = first_next;
        }
        if (at < p.rows) {
            row.know(first, at);
            sums.add(row, (T *)p.at[NEURAL_OUT] + at * p.dim[0].stride[NEURAL_OUT]);
        }
        if (++since == WEIGHED_ROWS) {
            sums.flush(row);
            since = 0;
        }
    }
    if (since || !sums.any)
        sums.flush(row);
}

#endif
