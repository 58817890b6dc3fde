/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Norms by cells: a warp or a block has a part of a cell's items; or a block holds a row of cells. */
#ifndef NDOCK_CUDA_GROUP_CELLS_CUH
#define NDOCK_CUDA_GROUP_CELLS_CUH
#include "neural/group.cuh"

/* ---- items of cells: a warp or a block has a part of a cell ---- */
template <class T, int V, bool GRAD, bool WARP> NEURAL_FN void cell_sums(const group_params &p)
{
    typedef typename neural_computed<T>::type C;
    typedef group_sums<C, GRAD> sums;
    typedef neural_raw<T, V> vector;
    const int64_t beside = WARP ? GROUP_THREADS / 32 : 1, lanes = WARP ? 32 : GROUP_THREADS;
    const int64_t lane = WARP ? threadIdx.x % 32 : threadIdx.x;
    int64_t unit = (int64_t)blockIdx.x * beside + (WARP ? threadIdx.x / 32 : 0);
    for (; unit < p.cells * p.parts; unit += (int64_t)gridDim.x * beside) {
        const int64_t cell = unit / p.parts, part = unit - cell * p.parts;
        const group_at from = group_place(p.dim, p.n_cell, (uint64_t)cell);
        const double shift = group_shift<T>(p, cell);
        const int64_t most = (part + 1) * p.chunk, end = most < p.items ? most : p.items;
        sums all;
        group_walk(p, part * p.chunk + lane, lanes, [&](auto items) {
            for (int64_t i = items.i; i < end; i += GROUP_UNROLL * lanes) {
                vector v[GROUP_UNROLL], w[GRAD ? GROUP_UNROLL : 1];
#pragma unroll
                for (int u = 0; u < GROUP_UNROLL; u++) {
                    if (i + u * lanes < end) {
                        group_read<GRAD>(p, from, items.at, v[u], w[GRAD ? u : 0]);
                    }
                    items.next();
                }
#pragma unroll
                for (int u = 0; u < GROUP_UNROLL; u++)
                    if (i + u * lanes < end) {
                        C x[V], g[V];
                        neural_widen(v[u], x);
                        if (GRAD)
                            neural_widen(w[GRAD ? u : 0], g);
                        all.template take<T, V>(x, g, shift);
                    }
            }
        });
        all.end();
        neural_sum<sums::N, WARP>(all.s);
        double *to = (double *)p.partial + (cell * p.cell_step + part * p.part_step) * sums::N;
        if (lane == 0)
#pragma unroll
            for (int k = 0; k < sums::N; k++)
                to[k] = all.s[k];
    }
}

/* The last parts come first: some of what was read last is in the cache still. */
template <class T, int V, bool GRAD, bool WARP> NEURAL_FN void cell_apply(const group_params &p)
{
    typedef typename neural_computed<T>::type C;
    typedef neural_raw<T, V> vector;
    const int64_t beside = WARP ? GROUP_THREADS / 32 : 1, lanes = WARP ? 32 : GROUP_THREADS;
    const int64_t lane = WARP ? threadIdx.x % 32 : threadIdx.x, units = p.cells * p.parts;
    int64_t turn = (int64_t)blockIdx.x * beside + (WARP ? threadIdx.x / 32 : 0);
    for (; turn < units; turn += (int64_t)gridDim.x * beside) {
        const int64_t unit = units - 1 - turn, cell = unit / p.parts, part = unit - cell * p.parts;
        const group_at from = group_place(p.dim, p.n_cell, (uint64_t)cell);
        const double *row = group_row(p, cell / p.per_row);
        const group_affine<C> affine(row);
        const group_slope<C> slope(row);
        const C scale = p.scale ? neural_widen(((const T *)p.scale)[from.scale]) : (C)1;
        const C bias = p.bias ? neural_widen(((const T *)p.bias)[from.bias]) : (C)0;
        const int64_t most = (part + 1) * p.chunk, end = most < p.items ? most : p.items;
        group_walk(p, part * p.chunk + lane, lanes, [&](auto items) {
            for (int64_t i = items.i; i < end; i += GROUP_UNROLL * lanes) {
                vector v[GROUP_UNROLL], w[GRAD ? GROUP_UNROLL : 1];
                int64_t to[GROUP_UNROLL];
#pragma unroll
                for (int u = 0; u < GROUP_UNROLL; u++) {
                    if (i + u * lanes < end) {
                        to[u] = from.out + items.at.out;
                        group_read<GRAD>(p, from, items.at, v[u], w[GRAD ? u : 0]);
                    }
                    items.next();
                }
#pragma unroll
                for (int u = 0; u < GROUP_UNROLL; u++)
                    if (i + u * lanes < end) {
                        C x[V], g[V];
                        neural_widen(v[u], x);
                        if (GRAD)
                            neural_widen(w[GRAD ? u : 0], g);
#pragma unroll
                        for (int k = 0; k < V; k++) {
                            if (GRAD)
                                x[k] = slope.of(x[k], g[k] * scale);
                            else if (p.bias)
                                x[k] = neural_fma(affine.of(x[k]), scale, bias);
                            else
                                x[k] = affine.of(x[k]) * scale;
                        }
                        neural_store<T, V>((T *)p.out + to[u], 0, x);
                    }
            }
        });
    }
}

/* ---- a block holds a dense row in shared memory, where each vector is its thread's alone ---- */
template <class T, int V>
NEURAL_FN void cell_held_sum(double (&s)[2], const neural_vector<T, V> *stage, int vectors,
                             double shift)
{
    typedef typename neural_computed<T>::type C;
    group_sums<C, false> all;
#pragma unroll 4
    for (int j = (int)threadIdx.x; j < vectors; j += (int)blockDim.x) {
        C x[V], none[V] = {};
        neural_load<T, V>((const T *)(stage + j), 0, x);
        all.template take<T, V>(x, none, shift);
    }
    s[0] = all.s[0];
    s[1] = all.s[1];
    neural_sum<2, false>(s);
}

template <class T, int V> NEURAL_FN void cell_held(const group_params &p)
{
    typedef typename neural_computed<T>::type C;
    typedef neural_vector<T, V> vector;
    GROUP_SHARED(memory);
    vector *stage = (vector *)memory;
    const int vectors = (int)(p.per_row * p.items);
    for (int64_t row = blockIdx.x; row < p.cells / p.per_row; row += gridDim.x) {
        const group_at from = group_place(p.dim, p.n_cell, (uint64_t)(row * p.per_row));
        const T *x = (const T *)p.x + from.x;
        for (int j = (int)threadIdx.x; j < vectors; j += (int)blockDim.x)
            stage_copy(stage + j, (const vector *)x + j);
        double shift = (double)neural_widen(*x), s[2], known[GROUP_ROW];
        stage_wait();
        cell_held_sum<T, V>(s, stage, vectors, shift);
        if (sizeof(C) == 8) {
            shift += s[0] / p.count;
            cell_held_sum<T, V>(s, stage, vectors, shift);
        }
        const double d = s[0] / p.count, mean = shift + d;
        double variance = s[1] / p.count - d * d;
        variance = variance > 0 || !(variance == variance) ? variance : 0.0;
        known[GROUP_MEAN] = mean;
        known[GROUP_FACTOR] = 1.0 / sqrt(variance + p.eps);
        const group_affine<C> affine(known);
        for (int j = (int)threadIdx.x; j < vectors; j += GROUP_UNROLL * (int)blockDim.x) {
            C scale[GROUP_UNROLL], bias[GROUP_UNROLL];
#pragma unroll
            for (int u = 0; u < GROUP_UNROLL; u++) { /* These loads wait for no store. */
                const int at = j + u * (int)blockDim.x;
                const int64_t cell =
                    p.per_row == 1 || at >= vectors ? 0 : cuda_quotient((uint32_t)at, p.by_items);
                scale[u] = (C)1;
                bias[u] = (C)0;
                if (p.scale)
                    scale[u] =
                        neural_widen(((const T *)p.scale)[from.scale + cell * p.dim[0].scale]);
                if (p.bias)
                    bias[u] = neural_widen(((const T *)p.bias)[from.bias + cell * p.dim[0].bias]);
            }
#pragma unroll
            for (int u = 0; u < GROUP_UNROLL; u++) {
                const int at = j + u * (int)blockDim.x;
                C v[V];
                if (at >= vectors)
                    break;
                neural_load<T, V>((const T *)(stage + at), 0, v);
#pragma unroll
                for (int k = 0; k < V; k++)
                    v[k] = p.bias ? neural_fma(affine.of(v[k]), scale[u], bias[u])
                                  : affine.of(v[k]) * scale[u];
                neural_store<T, V>((T *)p.out + from.out, at, v);
            }
        }
    }
}

#endif
