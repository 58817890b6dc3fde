/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * logsumexp of dense rows whose threads hold a few vectors each: a row is read once, its largest element
 * is known before the first exponential, and lanes are joined once. */
#ifndef NDOCK_CUDA_REDUCE_LSE_ROWS_CUH
#define NDOCK_CUDA_REDUCE_LSE_ROWS_CUH
#include "reduce/ops.cuh"

/* The largest of all lanes of a row, in every one of them; a NaN wins. */
LINE_FN float lse_largest(float v, int lanes)
{
    __shared__ float warps[REDUCE_THREADS / 32];
    const int width = lanes < 32 ? lanes : 32, first = ((int)threadIdx.x & -lanes) / 32;
    for (int h = width / 2; h; h /= 2)
        v = cm_larger(v, __shfl_xor_sync(0xffffffffu, v, h, width));
    if (lanes <= 32)
        return v;
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = v;
    __syncthreads();
    for (int w = 0; w < lanes / 32; w++)
        v = cm_larger(v, warps[first + w]);
    return v;
}

/* The sums of two numbers over the lanes of a row, in order, in its first lane. */
LINE_FN void lse_join(double (&s)[2], int lanes)
{
    __shared__ double warps[REDUCE_THREADS / 32][2];
    const int width = lanes < 32 ? lanes : 32, first = ((int)threadIdx.x & -lanes) / 32;
    for (int h = width / 2; h; h /= 2)
        for (int k = 0; k < 2; k++)
            s[k] += __shfl_down_sync(0xffffffffu, s[k], h, width);
    if (lanes <= 32)
        return;
    if (threadIdx.x % 32 == 0)
        for (int k = 0; k < 2; k++)
            warps[threadIdx.x / 32][k] = s[k];
    __syncthreads(); /* between here and the next row there is that of lse_largest */
    for (int k = 0; k < 2; k++) {
        s[k] = warps[first][k];
        for (int w = 1; w < lanes / 32; w++)
            s[k] += warps[first + w][k];
    }
}

/* A row's vectors of a thread; `items` 0: it has no row. */
template <class T> struct lse_row {
    enum { V = 16 / sizeof(T), K = REDUCE_HELD_VECTORS };
    typedef cuda_vector<T, V> vector;
    vector x[K];
    uint32_t items;
    int64_t to;
    LINE_MEMBER void load(const reduce_params &p, uint64_t o, uint32_t lane)
    {
        int64_t from = 0;
        items = o < p.results ? (uint32_t)p.items : 0;
        if (items)
            line_offsets(p.dim, p.n_kept, o, &from, &to);
        const vector *line = (const vector *)((const T *)p.in + from);
#pragma unroll
        for (int k = 0; k < K; k++)
            if (lane + k * p.lanes < items)
                x[k] = line[lane + k * p.lanes];
    }
    LINE_MEMBER void finish(const reduce_params &p, uint32_t lane) const
    {
        float largest = __int_as_float(0xff800000);
#pragma unroll
        for (int k = 0; k < K; k++)
#pragma unroll
            for (int i = 0; i < V; i++)
                if (lane + k * p.lanes < items)
                    largest = cm_larger(largest, (float)sums_double(x[k].at[i]));
        largest = lse_largest(largest, p.lanes);
        double s[2] = {0.0, 0.0}; /* below the largest; equal to it */
#pragma unroll
        for (int k = 0; k < K; k++) {
            float v[V];
            int met = 0;
            if (lane + k * p.lanes >= items)
                continue;
#pragma unroll
            for (int i = 0; i < V; i++) {
                v[i] = (float)sums_double(x[k].at[i]);
                met += v[i] == largest;
            }
            s[0] += lse_below<V>(v, largest, x[k].at);
            s[1] += (double)met;
        }
        lse_join(s, p.lanes);
        if (lane == 0 && items)
            reduce_logsumexp<T, float>::store(p, to, {(double)largest, s[0], 0.0, s[1]});
    }
};

/* A block loads its next rows while it computes these. */
template <class T> LINE_FN void reduce_held(const reduce_params &p)
{
    const uint32_t lane = threadIdx.x & (uint32_t)(p.lanes - 1);
    const uint64_t step = (uint64_t)gridDim.x * p.width;
    uint64_t row = (uint64_t)blockIdx.x * p.width, o = row + threadIdx.x / (uint32_t)p.lanes;
    lse_row<T> now, next;
    next.load(p, o, lane);
    for (; row < p.results; row += step) {
        now = next;
        o += step;
        next.load(p, o, lane);
        now.finish(p, lane);
    }
}

#endif
