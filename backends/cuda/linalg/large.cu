/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Kernels beside cuSOLVER and cuBLAS of one dtype, CUDA_DTYPE; large.h describes them. */
#include "linalg/large.h"
#include <ndock/plugin.h>
#include "linalg/eigen.cuh"
#include "linalg/types.cuh"

/* ---- moving: tiles go through shared memory, so that both sides are met along their rows or
 * columns, whichever is nearer ---- */

template <class T, class S> LIN_FN T lin_converted(S e)
{
    return lin_make<T>(lin_re(e), lin_im(e));
}

LIN_FN bool lin_has(int part, int64_t i, int64_t j)
{
    return part == LIN_ALL || (part == LIN_LOWER ? i >= j : i <= j);
}

LIN_FN bool lin_is_across(const lin_side &s)
{
    return (s.column < 0 ? -s.column : s.column) <= (s.row < 0 ? -s.row : s.row);
}

/* Calls f(row, column) in the tile for what this thread has of it. */
template <class F> LIN_FN void lin_tile_each(bool across, int64_t rows, int64_t columns, F f)
{
    for (int t = (int)threadIdx.x; t < LIN_TILE * LIN_TILE; t += LIN_MOVE_THREADS) {
        const int slow = t / LIN_TILE, fast = t % LIN_TILE;
        const int i = across ? slow : fast, j = across ? fast : slow;
        if (i < rows && j < columns)
            f(i, j);
    }
}

template <class T, class S>
LIN_FN void lin_move_tile(const lin_moving &p, int64_t item, int64_t tile,
                          T (*shared)[LIN_TILE + 1])
{
    const int64_t across = (p.columns + LIN_TILE - 1) / LIN_TILE;
    const int64_t row = tile / across * LIN_TILE, column = tile % across * LIN_TILE;
    const bool bad = (p.info && ((const int32_t *)p.info)[item] != 0) ||
                     (p.also && ((const int32_t *)p.also)[item] != 0);
    const S *from = lin_item<const S>(p.from, item) + row * p.from.row + column * p.from.column;
    T *to = lin_item<T>(p.to, item) + row * p.to.row + column * p.to.column;
    if (!bad && !p.in_place)
        lin_tile_each(lin_is_across(p.from), p.rows - row, p.columns - column, [&](int i, int j) {
            T e = lin_make<T>(0, 0);
            if (lin_has(p.part, row + i, column + j))
                e = lin_converted<T>(from[i * p.from.row + j * p.from.column]);
            if (p.real_diagonal && row + i == column + j)
                e = lin_make<T>(lin_re(e), 0);
            shared[i][j] = p.conj ? lin_conj(e) : e;
        });
    __syncthreads();
    lin_tile_each(lin_is_across(p.to), p.rows - row, p.columns - column, [&](int i, int j) {
        const bool kept = lin_has(p.part, row + i, column + j);
        if (p.in_place && kept && !bad)
            return;
        const T rest =
            bad && p.nan ? lin_nan<T>() : lin_make<T>(bad && row + i == column + j ? 1 : 0, 0);
        const T e = bad || !kept ? rest : shared[i][j];
        to[i * p.to.row + j * p.to.column] = e;
    });
    __syncthreads();
}

template <class T, class S> LIN_FN void lin_move_all(const lin_moving &p)
{
    __shared__ T shared[LIN_TILE][LIN_TILE + 1];
    for (int64_t item = blockIdx.y; item < p.count; item += gridDim.y)
        lin_move_tile<T, S>(p, item, blockIdx.x, shared);
}

/* ---- looking ---- */

template <class T> LIN_FN bool lin_is_finite(T e)
{
    const LIN_R re = lin_abs(lin_re(e)), im = lin_abs(lin_im(e));
    return re <= lin_limits<LIN_R>::huge && im <= lin_limits<LIN_R>::huge;
}
template <class T> LIN_FN bool lin_is_nan(T e)
{
    return lin_re(e) != lin_re(e) || lin_im(e) != lin_im(e);
}

/* Calls f(element) for this block's share of a matrix's part, by lines in the nearer direction. */
template <class T, class F> LIN_FN void lin_look(const lin_looking &p, int64_t item, F f)
{
    const bool across = lin_is_across(p.from);
    const int64_t lines = across ? p.rows : p.columns, n = across ? p.columns : p.rows;
    const T *from = lin_item<const T>(p.from, item);
    for (int64_t line = blockIdx.x; line < lines; line += gridDim.x)
        for (int64_t k = threadIdx.x; k < n; k += blockDim.x) {
            const int64_t i = across ? line : k, j = across ? k : line;
            if (lin_has(p.part, i, j))
                f(from[i * p.from.row + j * p.from.column]);
        }
}

/* ---- pivots ---- */

/* Which row is at a place after all exchanges: back from the last to the first, so that each thread
 * finds its own, and all read the same pivot. */
LIN_FN int64_t lin_row_at(int64_t place, int64_t least, const int64_t *from)
{
    for (int64_t i = least - 1; i >= 0; i--) {
        const int64_t other = from[i] - 1;
        place = place == i ? other : place == other ? i : place;
    }
    return place;
}

extern "C" __global__ void __launch_bounds__(LIN_COLUMN_THREADS)
    LIN_NAME(lin_pivots)(const __grid_constant__ lin_pivoting p)
{
    const int64_t item = blockIdx.x, step = (int64_t)gridDim.y * blockDim.x;
    const int64_t *from = (const int64_t *)p.library + item * p.least;
    int64_t *pivots = lin_item<int64_t>(p.pivots, item), *out = lin_item<int64_t>(p.perm, item);
    for (int64_t i = (int64_t)blockIdx.y * blockDim.x + threadIdx.x; i < p.m; i += step) {
        if (i < p.least)
            pivots[i * p.pivots.row] = from[i] - 1;
        out[i * p.perm.row] = lin_row_at(i, p.least, from);
    }
}

/* A pivot that is no row counts as its own. */
extern "C" __global__ void __launch_bounds__(LIN_COLUMN_THREADS)
    LIN_NAME(lin_pivots_back)(const __grid_constant__ lin_pivoting p)
{
    const int64_t item = blockIdx.x;
    const int64_t *given = lin_item<const int64_t>(p.pivots, item);
    int64_t *to = (int64_t *)p.library + item * p.least;
    for (int64_t i = threadIdx.x; i < p.least; i += blockDim.x) {
        const int64_t row = given[i * p.pivots.row];
        to[i] = 1 + (row >= 0 && row < p.m ? row : i);
    }
}

/* The first zero on the diagonal of each matrix, from 1, goes to info. */
extern "C" __global__ void __launch_bounds__(LIN_COLUMN_THREADS)
    LIN_NAME(lin_zeros)(const __grid_constant__ lin_looking p)
{
    __shared__ int32_t first;
    const int64_t item = blockIdx.x;
    const lin_element *from = lin_item<const lin_element>(p.from, item);
    if (threadIdx.x == 0)
        first = INT32_MAX;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < p.rows; i += blockDim.x) {
        const lin_element e = from[i * (p.from.row + p.from.column)];
        if (lin_re(e) == 0 && lin_im(e) == 0)
            atomicMin(&first, (int32_t)i + 1);
    }
    __syncthreads();
    if (threadIdx.x == 0)
        ((int32_t *)p.info)[item] = first == INT32_MAX ? 0 : first;
}

/* ---- vectors: a block has a column ---- */

template <class R> LIN_FN R lin_block_most(R mine, R *shared)
{
    shared[threadIdx.x] = mine;
    __syncthreads();
    for (int half = LIN_COLUMN_THREADS / 2; half > 0; half /= 2) {
        if ((int)threadIdx.x < half && shared[threadIdx.x + half] > shared[threadIdx.x])
            shared[threadIdx.x] = shared[threadIdx.x + half];
        __syncthreads();
    }
    const R most = shared[0];
    __syncthreads();
    return most;
}

template <class T> LIN_FN void lin_normalize_column(int64_t n, T *x)
{
    __shared__ LIN_R sizes[LIN_COLUMN_THREADS];
    __shared__ int first;
    LIN_R most = 0;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x)
        most = lin_square(x[i]) > most ? lin_square(x[i]) : most;
    most = lin_block_most(most, sizes) * (1 - lin_root(lin_limits<LIN_R>::eps));
    if (threadIdx.x == 0)
        first = INT32_MAX;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x)
        if (lin_square(x[i]) >= most) {
            atomicMin(&first, (int)i);
            break;
        }
    __syncthreads();
    const int at = first;
    if (at == INT32_MAX) /* NaN */
        return;
    const T head = x[at];
    const LIN_R size = lin_magnitude(head);
    const bool right = !(size > 0) || (lin_re(head) > 0 && lin_im(head) == 0);
    const T phase = right ? lin_make<T>(1, 0) : lin_over(lin_conj(head), size);
    __syncthreads();
    for (int64_t i = threadIdx.x; i < n && !right; i += blockDim.x)
        x[i] = i == at ? lin_make<T>(size, 0) : lin_times(x[i], phase);
    __syncthreads();
}

/* ---- the kernels ---- */
extern "C" __global__ void __launch_bounds__(LIN_MOVE_THREADS)
    LIN_NAME(lin_move)(const __grid_constant__ lin_moving p)
{
    lin_move_all<lin_element, lin_element>(p);
}

/* Real matrices become complex ones. */
extern "C" __global__ void __launch_bounds__(LIN_MOVE_THREADS)
    LIN_NAME(lin_widen)(const __grid_constant__ lin_moving p)
{
    lin_move_all<lin_pair<lin_of<lin_element>::real>, lin_element>(p);
}

extern "C" __global__ void __launch_bounds__(LIN_MOVE_THREADS)
    LIN_NAME(lin_double)(const __grid_constant__ lin_moving p)
{
    lin_move_all<lin_precise<lin_element>::type, lin_element>(p);
}

extern "C" __global__ void __launch_bounds__(LIN_MOVE_THREADS)
    LIN_NAME(lin_single)(const __grid_constant__ lin_moving p)
{
    lin_move_all<lin_element, lin_precise<lin_element>::type>(p);
}

extern "C" __global__ void __launch_bounds__(LIN_COLUMN_THREADS)
    LIN_NAME(lin_roots)(const __grid_constant__ lin_rooting p)
{
    typedef lin_of<lin_element>::real R;
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < p.columns; i += step) {
        const int64_t from = i / p.n * p.n + p.n - 1 - i % p.n;
        const R value = ((const R *)p.values)[from];
        ((R *)p.roots)[i] = value < 0 ? 0 : lin_root(value); /* NaN stays */
    }
}

extern "C" __global__ void __launch_bounds__(LIN_COLUMN_THREADS)
    LIN_NAME(lin_flip)(const __grid_constant__ lin_rooting p)
{
    for (int64_t column = blockIdx.x; column < p.columns; column += gridDim.x) {
        const int64_t j = column % p.n;
        const lin_element *r = lin_item<const lin_element>(p.r, column / p.n);
        lin_element *v = (lin_element *)p.v + column * p.n;
        if (lin_re(r[j * (p.r.row + p.r.column)]) < 0)
            for (int64_t i = threadIdx.x; i < p.n; i += blockDim.x)
                v[i] = lin_scaled(v[i], (lin_of<lin_element>::real) - 1);
    }
}

extern "C" __global__ void __launch_bounds__(LIN_MOVE_THREADS)
    LIN_NAME(lin_examine)(const __grid_constant__ lin_looking p)
{
    for (int64_t item = blockIdx.y; item < p.count; item += gridDim.y) {
        int32_t *info = (int32_t *)p.info + item;
        lin_look<lin_element>(p, item, [&](lin_element e) {
            if (!lin_is_finite(e))
                *info = LIN_HAS_NAN;
        });
    }
}

extern "C" __global__ void __launch_bounds__(LIN_MOVE_THREADS)
    LIN_NAME(lin_excuse)(const __grid_constant__ lin_looking p)
{
    for (int64_t item = blockIdx.y; item < p.count; item += gridDim.y) {
        int32_t *info = (int32_t *)p.info + item;
        if (*info <= 0)
            continue;
        lin_look<lin_element>(p, item, [&](lin_element e) {
            if (lin_is_nan(e))
                *info = LIN_HAS_NAN;
        });
    }
}

extern "C" __global__ void __launch_bounds__(LIN_COLUMN_THREADS)
    LIN_NAME(lin_normalize)(const __grid_constant__ lin_normalizing p)
{
    for (int64_t column = blockIdx.x; column < p.columns; column += gridDim.x)
        lin_normalize_column(p.n, (lin_element *)p.at + column * p.n);
}

/* One block: the first matrix at fault claims the stream's status words, if nobody has. */
extern "C" __global__ void __launch_bounds__(LIN_MOVE_THREADS)
    LIN_NAME(lin_report)(const __grid_constant__ lin_reporting p)
{
    __shared__ unsigned long long first;
    const int32_t *info = (const int32_t *)p.info;
    if (threadIdx.x == 0)
        first = ~0ull;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < p.count; i += blockDim.x)
        if (info[i] > 0 || info[i] == LIN_NOT_CONVERGED) {
            atomicMin(&first, (unsigned long long)i);
            break;
        }
    __syncthreads();
    if (threadIdx.x != 0 || first == ~0ull)
        return;
    unsigned long long *word = (unsigned long long *)p.status;
    if (atomicCAS(word, 0ull, (unsigned long long)NDP_ERR_LINALG) != 0ull)
        return;
    const int32_t found = info[first];
    word[1] = (unsigned long long)p.op;
    word[2] = first;
    word[3] = (unsigned long long)(int64_t)(p.iteration || found < 0 ? -1 : found - 1);
    word[4] = (unsigned long long)p.n;
}
