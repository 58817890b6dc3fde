/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Norms of rows side by side, and gradients for weights of rows: a thread has a vector of columns, and
 * every so many items of each. */
#ifndef NDOCK_CUDA_GROUP_COLUMNS_CUH
#define NDOCK_CUDA_GROUP_COLUMNS_CUH
#include "neural/group.cuh"

struct column_place {
    int64_t cell, end; /* of items */
    int lane, line, lines;
    bool has;
    group_at from;
    __device__ __forceinline__ column_place(const group_params &p, int V)
    {
        lane = (int)threadIdx.x & (p.lanes - 1);
        line = (int)threadIdx.x / p.lanes;
        lines = GROUP_THREADS / p.lanes;
        cell = ((int64_t)blockIdx.x * p.lanes + lane) * V;
        has = cell < p.cells;
        from = group_place(p.dim, p.n_cell, has ? (uint64_t)cell : 0);
        const int64_t most = ((int64_t)blockIdx.y + 1) * p.chunk;
        end = most < p.items ? most : p.items;
    }
};

enum { COLUMN_FEW = 16 }; /* lines that are added up before they are added to the sum */

/* The sums of all lines of a block, by its first one, in order; N of each of V columns. */
template <int V, int N>
NEURAL_FN void column_join(const group_params &p, const column_place &at, double (&s)[V][N])
{
    __shared__ double all[GROUP_THREADS][V * N];
#pragma unroll
    for (int k = 0; k < V * N; k++)
        all[threadIdx.x][k] = s[k / N][k % N];
    __syncthreads();
    if (at.line || !at.has)
        return;
    double *to =
        (double *)p.partial + (at.cell * p.cell_step + (int64_t)blockIdx.y * p.part_step) * N;
#pragma unroll
    for (int k = 0; k < V * N; k++) {
        double sum = 0;
        for (int l = 0; l < at.lines; l += COLUMN_FEW) {
            const int end = l + COLUMN_FEW < at.lines ? l + COLUMN_FEW : at.lines;
            double few = all[l * p.lanes + at.lane][k];
            for (int m = l + 1; m < end; m++)
                few += all[m * p.lanes + at.lane][k];
            sum = l == 0 ? few : sum + few;
        }
        to[(k / N) * p.cell_step * N + k % N] = sum;
    }
}

template <class T, int V, bool GRAD> NEURAL_FN void column_sums(const group_params &p)
{
    typedef typename neural_computed<T>::type C;
    typedef group_sums<C, GRAD> sums;
    typedef neural_raw<T, V> vector;
    enum { U = sizeof(T) == 2 && !GRAD ? 2 * GROUP_UNROLL : GROUP_UNROLL };
    const column_place at(p, V);
    sums all[V];
    double shift[V], s[V][sums::N];
#pragma unroll
    for (int k = 0; k < V; k++)
        shift[k] = at.has ? group_shift<T>(p, at.cell + k) : 0;
    group_walk<sizeof(T) == 2>(
        p, (int64_t)blockIdx.y * p.chunk + at.line, at.lines, [&](auto items) {
            for (int64_t i = items.i; at.has && i < at.end; i += U * at.lines) {
                vector v[U], w[GRAD ? U : 1];
                C x[U][V], g[GRAD ? U : 1][V];
                const bool whole = i + (U - 1) * at.lines < at.end;
#pragma unroll
                for (int u = 0; u < U; u++) {
                    if (i + u * at.lines < at.end) {
                        group_read<GRAD>(p, at.from, items.at, v[u], w[GRAD ? u : 0]);
                    }
                    items.next();
                }
#pragma unroll
                for (int u = 0; u < U; u++) {
                    neural_widen(v[u], x[u]);
                    if (GRAD)
                        neural_widen(w[GRAD ? u : 0], g[GRAD ? u : 0]);
                }
#pragma unroll
                for (int k = 0; k < V; k++) {
                    C down[U], by[U];
#pragma unroll
                    for (int u = 0; u < U; u++) {
                        down[u] = x[u][k];
                        by[u] = GRAD ? g[GRAD ? u : 0][k] : (C)0;
                    }
                    if (whole)
                        all[k].template take<T, U>(down, by, shift[k]);
#pragma unroll
                    for (int u = 0; u < U; u++)
                        if (!whole && i + u * at.lines < at.end) {
                            const C one[1] = {down[u]}, with[1] = {by[u]};
                            all[k].add(one, with, shift[k]);
                        }
                }
            }
        });
#pragma unroll
    for (int k = 0; k < V; k++)
        all[k].end();
#pragma unroll
    for (int k = 0; k < V * sums::N; k++)
        s[k / sums::N][k % sums::N] = all[k / sums::N].s[k % sums::N];
    column_join<V, sums::N>(p, at, s);
}

template <class T, int V, bool GRAD> NEURAL_FN void column_apply(const group_params &p)
{
    typedef typename neural_computed<T>::type C;
    typedef neural_raw<T, V> vector;
    enum { U = sizeof(T) == 2 ? 4 : 2 };
    const column_place at(p, V);
    C high[V], low[V], factor[V], rest[V], a[V], scale[V], bias[V];
    if (!at.has)
        return;
#pragma unroll
    for (int k = 0; k < V; k++) {
        const double *row = group_row(p, (at.cell + k) / p.per_row);
        const group_affine<C> affine(row);
        high[k] = affine.high;
        low[k] = affine.low;
        factor[k] = affine.factor;
        rest[k] = GRAD ? (C)row[GROUP_B] : affine.rest;
        a[k] = GRAD ? (C)row[GROUP_A] : (C)0;
        scale[k] = (C)1;
        bias[k] = (C)0;
        if (p.scale)
            scale[k] = neural_widen(((const T *)p.scale)[at.from.scale + k * p.dim[0].scale]);
        if (p.bias)
            bias[k] = neural_widen(((const T *)p.bias)[at.from.bias + k * p.dim[0].bias]);
    }
    group_walk<sizeof(T) == 2>(
        p, (int64_t)blockIdx.y * p.chunk + at.line, at.lines, [&](auto items) {
            for (int64_t i = items.i; i < at.end; i += U * at.lines) {
                vector v[U], w[GRAD ? U : 1];
                int64_t to[U];
#pragma unroll
                for (int u = 0; u < U; u++) {
                    if (i + u * at.lines < at.end) {
                        to[u] = at.from.out + items.at.out;
                        group_read<GRAD>(p, at.from, items.at, v[u], w[GRAD ? u : 0]);
                    }
                    items.next();
                }
#pragma unroll
                for (int u = 0; u < U; u++)
                    if (i + u * at.lines < at.end) {
                        C x[V], g[V];
                        neural_widen(v[u], x);
                        if (GRAD)
                            neural_widen(w[GRAD ? u : 0], g);
#pragma unroll
                        for (int k = 0; k < V; k++) {
                            const C t = (x[k] - high[k]) - low[k];
                            if (GRAD)
                                x[k] = ((g[k] * scale[k] - a[k]) - t * rest[k]) * factor[k];
                            else if (p.bias)
                                x[k] = neural_fma(neural_fma(t, factor[k], t * rest[k]), scale[k],
                                                  bias[k]);
                            else
                                x[k] = neural_fma(t, factor[k], t * rest[k]) * scale[k];
                        }
                        neural_store<T, V>((T *)p.out + to[u], 0, x);
                    }
            }
        });
}

/* Cells are weights, items are rows whose statistics are known: sums of g times the normalised x,
 * and of g. */
template <class T, int V> NEURAL_FN void column_weights(const group_params &p)
{
    typedef typename neural_computed<T>::type C;
    typedef neural_raw<T, V> vector;
    const column_place at(p, V);
    double s[V][2], lost[V][2]; /* of doubles, what rounding took from the sums */
#pragma unroll
    for (int k = 0; k < V; k++)
        s[k][0] = s[k][1] = lost[k][0] = lost[k][1] = 0;
    group_walk<sizeof(T) == 2>(
        p, (int64_t)blockIdx.y * p.chunk + at.line, at.lines, [&](auto items) {
            for (int64_t i = items.i; at.has && i < at.end; i += GROUP_UNROLL * at.lines) {
                vector v[GROUP_UNROLL], w[GROUP_UNROLL];
                C part[V][2];
                double mean[GROUP_UNROLL], by[GROUP_UNROLL];
#pragma unroll
                for (int k = 0; k < V; k++)
                    part[k][0] = part[k][1] = 0;
#pragma unroll
                for (int u = 0; u < GROUP_UNROLL; u++) {
                    if (i + u * at.lines < at.end) { /* all loads are underway at once */
                        const double *row = group_row(p, i + u * at.lines);
                        mean[u] = row[GROUP_MEAN];
                        by[u] = row[GROUP_FACTOR];
                        group_read<true>(p, at.from, items.at, v[u], w[u]);
                    }
                    items.next();
                }
#pragma unroll
                for (int u = 0; u < GROUP_UNROLL; u++)
                    if (i + u * at.lines < at.end) {
                        const C high = (C)mean[u], factor = (C)by[u],
                                low = (C)(mean[u] - (double)high);
                        C x[V], g[V];
                        neural_widen(v[u], x);
                        neural_widen(w[u], g);
#pragma unroll
                        for (int k = 0; k < V; k++) {
                            const C t = ((x[k] - high) - low) * factor;
                            part[k][0] = neural_fma(g[k], t, part[k][0]);
                            part[k][1] += g[k];
                        }
                    }
#pragma unroll
                for (int k = 0; k < V; k++)
#pragma unroll
                    for (int j = 0; j < 2; j++)
                        if (sizeof(C) == 8)
                            neural_carry(s[k][j], lost[k][j], (double)part[k][j]);
                        else
                            s[k][j] += (double)part[k][j];
            }
        });
#pragma unroll
    for (int k = 0; k < 2 * V; k++)
        s[k / 2][k % 2] = neural_whole(s[k / 2][k % 2], lost[k / 2][k % 2]);
    column_join<V, 2>(p, at, s);
}

#endif
