/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What kernels of group.cu share: where cells and items lie, and sums that lose nothing to a mean
 * that is far from zero. */
#ifndef NDOCK_CUDA_GROUP_CUH
#define NDOCK_CUDA_GROUP_CUH
#include "neural/group.h"
#include "neural/neural.cuh"
#include "walk/lines.cuh"
#include "walk/stage.cuh"

enum { GROUP_UNROLL = 4 };

#ifndef GROUP_SHARED
#define GROUP_SHARED(name) extern __shared__ __align__(16) unsigned char name[]
#endif

struct group_at {
    int64_t x, out, g, scale, bias;
};

/* Where number i lies along dimensions innermost first. */
NEURAL_FN group_at group_place(const group_dim *dim, int ndim, uint64_t i)
{
    group_at r = {0, 0, 0, 0, 0};
#pragma unroll 1
    for (int d = 0; d < ndim; d++) {
        const int64_t x = (int64_t)line_index(dim[d].at, d + 1 < ndim, i);
        r.x += x * dim[d].at.in;
        r.out += x * dim[d].at.out;
        r.g += x * dim[d].g;
        r.scale += x * dim[d].scale;
        r.bias += x * dim[d].bias;
    }
    return r;
}

/* Item i of a cell. */
NEURAL_FN group_at group_item(const group_params &p, uint64_t i)
{
    const group_dim *dim = p.dim + p.n_cell;
    if (p.n_item != 1)
        return group_place(dim, p.n_item, i);
    const int64_t n = (int64_t)i;
    return {n * dim->at.in, n * dim->at.out, n * dim->g, n * dim->scale, n * dim->bias};
}

/* Where items of a cell lie, each `step` after the one before. Where they have one dimension, or two whose inner one is as
 * long as a step (WALKS), only the first item needs divisions, by which passes over memory would else be bound. */
template <bool WALKS> struct group_items {
    const group_params &p;
    int64_t i, step, x, out, g; /* x, out, g: from one to the next */
    int32_t inner, most;        /* of two dimensions */
    group_at at;

    __device__ __forceinline__ group_items(const group_params &params, int64_t first, int64_t by)
        : p(params), i(first), step(by), inner(0), most(INT32_MAX)
    {
        const group_dim &in = p.dim[p.n_cell];
        uint64_t n = (uint64_t)first;
        if (WALKS && p.n_item == 2) {
            inner = (int32_t)line_index(in.at, true, n);
            most = (int32_t)in.at.extent;
        }
        x = step * in.at.in;
        out = step * in.at.out;
        g = step * in.g;
        at = group_item(p, (uint64_t)first);
    }
    __device__ __forceinline__ void next()
    {
        if (!WALKS) {
            i += step;
            at = group_item(p, (uint64_t)i);
            return;
        }
        at.x += x;
        at.out += out;
        at.g += g;
        if (most == INT32_MAX)
            return;
        inner += (int32_t)step;
        if (inner >= most) {
            const group_dim &in = p.dim[p.n_cell], &outer = p.dim[p.n_cell + 1];
            inner -= most;
            at.x += outer.at.in - most * in.at.in;
            at.out += outer.at.out - most * in.at.out;
            at.g += outer.g - most * in.g;
        }
    }
};

/* What x and, for gradients, g have at an item, as words, so that loads are underway together. */
template <bool GRAD, class T, int V>
NEURAL_FN void group_read(const group_params &p, const group_at &from, const group_at &item,
                          neural_raw<T, V> &x, neural_raw<T, V> &g)
{
    x = neural_read<T, V>((const T *)p.x + from.x + item.x);
    if (GRAD)
        g = neural_read<T, V>((const T *)p.g + from.g + item.g);
}

/* f(items) for those that follow `first` by so many. WALK: both ways, of which one takes more registers. */
template <bool WALK = true, class F>
NEURAL_FN void group_walk(const group_params &p, int64_t first, int64_t step, F f)
{
    const int64_t inner = p.dim[p.n_cell].at.extent;
    if (!WALK)
        f(group_items<false>(p, first, step));
    else if (p.n_item == 1 || (p.n_item == 2 && inner >= step && inner < INT32_MAX / 2))
        f(group_items<true>(p, first, step));
    else
        f(group_items<false>(p, first, step));
}

NEURAL_FN double *group_row(const group_params &p, int64_t row)
{
    return (double *)p.rows_at + row * GROUP_ROW;
}

/* What is subtracted before squares are summed: the row's first element, or a mean. */
template <class T> NEURAL_FN double group_shift(const group_params &p, int64_t cell)
{
    const int64_t row = cell / p.per_row;
    if (p.shifted)
        return group_row(p, row)[GROUP_SHIFT];
    if (!p.centred)
        return 0;
    const group_at first = group_place(p.dim, p.n_cell, (uint64_t)(row * p.per_row));
    return (double)neural_widen(((const T *)p.x)[first.x]);
}

/* Sums of d = x - shift and of its squares; of g and of g*d, which for doubles carry their errors until end(). */
template <class C, bool GRAD> struct group_sums {
    enum { N = GRAD ? 4 : 2, CARRIES = GRAD && sizeof(C) == 8 };
    double s[N], lost[CARRIES ? 2 : 1];
    __device__ __forceinline__ group_sums()
    {
#pragma unroll
        for (int k = 0; k < N; k++)
            s[k] = 0;
#pragma unroll
        for (int k = 0; k < (CARRIES ? 2 : 1); k++)
            lost[k] = 0;
    }
    __device__ __forceinline__ void end()
    {
#pragma unroll
        for (int k = 0; k < (CARRIES ? 2 : 0); k++)
            s[N - 2 + k] = neural_whole(s[N - 2 + k], lost[k]);
    }
    template <int V>
    __device__ __forceinline__ void add(const C (&x)[V], const C (&g)[V], double by)
    {
#pragma unroll
        for (int k = 0; k < V; k++) {
            const double d = (double)x[k] - by;
            s[0] += d;
            s[1] = __fma_rn(d, d, s[1]);
            if (CARRIES) {
                neural_carry(s[N - 2], lost[0], (double)g[k]);
                neural_carry(s[N - 1], lost[CARRIES ? 1 : 0], (double)g[k] * d);
            } else if (GRAD) {
                s[N - 2] += (double)g[k];
                s[N - 1] = __fma_rn((double)g[k], d, s[N - 1]);
            }
        }
    }
    /* Of halves: in floats around the mean of these few, which are joined in doubles. */
    template <int V>
    __device__ __forceinline__ void add_few(const float (&x)[V], const float (&g)[V], double by)
    {
        float sum = 0, squares = 0, gs = 0, both = 0;
#pragma unroll
        for (int k = 0; k < V; k++) {
            sum += x[k];
            gs += GRAD ? g[k] : 0.0f;
        }
        const float mean = sum * (1.0f / V);
#pragma unroll
        for (int k = 0; k < V; k++) {
            const float d = x[k] - mean;
            squares = __fmaf_rn(d, d, squares);
            both = GRAD ? __fmaf_rn(g[k], d, both) : 0.0f;
        }
        const double d = (double)mean - by;
        s[0] = __fma_rn((double)V, d, s[0]);
        s[1] += __fma_rn(V * d, d, (double)squares);
        if (GRAD) {
            s[N - 2] += (double)gs;
            s[N - 1] += __fma_rn((double)gs, d, (double)both);
        }
    }
    template <class T, int V>
    __device__ __forceinline__ void take(const C (&x)[V], const C (&g)[V], double by)
    {
        if constexpr (sizeof(T) == 2 && V > 1)
            add_few(x, g, by);
        else
            add(x, g, by);
    }
};

/* (x - mean)*factor, each in two parts; in doubles where a float does not hold the factor well. */
template <class C> struct group_affine {
    C high, low, factor, rest;
    double mean, wide;
    bool far;
    __device__ __forceinline__ group_affine(const double *row)
    {
        mean = row[GROUP_MEAN];
        wide = row[GROUP_FACTOR];
        high = (C)mean;
        low = (C)(mean - (double)high);
        factor = (C)wide;
        rest = (C)(wide - (double)factor);
        far = sizeof(C) == 4 && !(wide > 1e-30 && wide < 1e30);
    }
    __device__ __forceinline__ C of(C x) const
    {
        if (far)
            return (C)(((double)x - mean) * wide);
        const C t = (x - high) - low;
        return neural_fma(t, factor, t * rest);
    }
};

template <class C> struct group_slope {
    C high, low, a, b, factor;
    __device__ __forceinline__ group_slope(const double *row)
    {
        high = (C)row[GROUP_MEAN];
        low = (C)(row[GROUP_MEAN] - (double)high);
        a = (C)row[GROUP_A];
        b = (C)row[GROUP_B];
        factor = (C)row[GROUP_FACTOR];
    }
    __device__ __forceinline__ C of(C x, C g) const
    {
        return ((g - a) - ((x - high) - low) * b) * factor;
    }
};

#endif
