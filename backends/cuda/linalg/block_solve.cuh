/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Systems of equations of a block's matrix. Its warps have right sides of their own in registers,
 * some columns at once, and wait for nobody. */
#ifndef NDOCK_CUDA_LINALG_BLOCK_SOLVE_CUH
#define NDOCK_CUDA_LINALG_BLOCK_SOLVE_CUH
#include "linalg/block_lu.cuh"
#include "linalg/solve.cuh"

/* Right sides of a warp: lane l has row 32 q + l of column c in at[q][c]. */
template <class T, int PARTS> struct lin_sides {
    static constexpr int parts = PARTS, count = 16 / PARTS;
    T at[PARTS][count];
};

/* The rows of a block's triangular matrix, but for the diagonal, by the diagonal: the upper triangle
 * of a (n, n) in shared memory, or the lower one; of the transpose, columns. With right sides that
 * were divided as well, a substitution divides nothing more. */
template <class T> LIN_FN void lin_block_divide(int n, T *a, int pitch, bool upper, bool columns)
{
    for (int j = lin_warp(); j < n; j += lin_warps()) {
        const int first = upper ? 0 : j + 1, end = upper ? j : n;
        for (int i = first + lin_lane(); i < end; i += 32)
            a[j * pitch + i] = lin_divided(a[j * pitch + i], a[(columns ? j : i) * (pitch + 1)]);
    }
    __syncthreads();
}

template <class T, int PARTS>
LIN_FN void lin_warp_divide(int n, const lin_triangle<T> &a, lin_sides<T, PARTS> &x)
{
    LIN_UNROLL
    for (int q = 0; q < PARTS; q++) {
        const int i = 32 * q + lin_lane();
        const T pivot = i < n ? a(i, i) : lin_make<T>(1, 0), inverse = lin_inverse(pivot);
        LIN_UNROLL
        for (int c = 0; c < (lin_sides<T, PARTS>::count); c++)
            x.at[q][c] = lin_divided_by(x.at[q][c], pivot, inverse);
    }
}

/* Row p = 32 Q + lane of the solution, and what becomes of the other rows by it. */
template <int Q, class T, int PARTS>
LIN_FN void lin_warp_step(int n, const lin_triangle<T> &a, int lane, lin_sides<T, PARTS> &x)
{
    constexpr int COUNT = lin_sides<T, PARTS>::count;
    const int p = 32 * Q + lane, mine = lin_lane();
    T known[COUNT];
    LIN_UNROLL
    for (int c = 0; c < COUNT; c++)
        known[c] = lin_shuffle(x.at[Q][c], lane);
    LIN_UNROLL
    for (int q = 0; q < PARTS; q++) {
        const int i = 32 * q + mine;
        if (a.upper ? i < p : i > p && i < n) {
            const T e = a(i, p);
            LIN_UNROLL
            for (int c = 0; c < COUNT; c++)
                x.at[q][c] = lin_minus(x.at[q][c], e, known[c]);
        }
    }
}

template <int Q, class T, int PARTS>
LIN_FN void lin_warp_steps(int n, const lin_triangle<T> &a, lin_sides<T, PARTS> &x)
{
    if constexpr (Q < PARTS) {
        const int rows = n - 32 * Q < 32 ? n - 32 * Q : 32;
        for (int step = 0; step < rows; step++)
            lin_warp_step<Q>(n, a, a.upper ? rows - 1 - step : step, x);
    }
}

/* a x = b for a whose rows are divided by its diagonal, if that is not of ones. */
template <class T, int PARTS>
LIN_FN void lin_warp_substitute(int n, const lin_triangle<T> &a, lin_sides<T, PARTS> &x)
{
    static_assert(PARTS <= 4, "there are as many steps");
    if (!a.unit)
        lin_warp_divide(n, a, x);
    if (a.upper) {
        lin_warp_steps<3>(n, a, x);
        lin_warp_steps<2>(n, a, x);
        lin_warp_steps<1>(n, a, x);
        lin_warp_steps<0>(n, a, x);
    } else {
        lin_warp_steps<0>(n, a, x);
        lin_warp_steps<1>(n, a, x);
        lin_warp_steps<2>(n, a, x);
        lin_warp_steps<3>(n, a, x);
    }
}

/* Calls f(sides) for the columns of b, of which each block in y has some, and stores what it makes of
 * them. Row i is read from from[i] and stored to to[i]; NULL: from and to row i. */
template <int PARTS, class T, class F>
LIN_FN void lin_block_each_sides(const lin_small &p, const lin_side &in, int64_t item,
                                 const int *from, const int *to, F f)
{
    constexpr int COUNT = lin_sides<T, PARTS>::count;
    static_assert(
        LIN_BLOCK_THREADS / 32 * 16 / 4 == LIN_BLOCK_SIDES,
        "blocks_of() counts on it: all warps of a block together have LIN_BLOCK_SIDES right sides");
    const lin_side &out = p.out[0];
    const T *b = lin_item<const T>(in, item);
    T *r = lin_item<T>(out, item);
    const int64_t step = (int64_t)gridDim.y * lin_warps() * COUNT,
                  begin = ((int64_t)blockIdx.y * lin_warps() + lin_warp()) * COUNT;
    for (int64_t first = begin; first < p.k; first += step) {
        lin_sides<T, PARTS> x;
        LIN_UNROLL
        for (int q = 0; q < PARTS; q++)
            LIN_UNROLL
        for (int c = 0; c < COUNT; c++) {
            const int i = 32 * q + lin_lane();
            x.at[q][c] = lin_make<T>(0, 0);
            if (i < p.m && first + c < p.k)
                x.at[q][c] = b[(from ? from[i] : i) * in.row + (first + c) * in.column];
        }
        f(x);
        LIN_UNROLL
        for (int q = 0; q < PARTS; q++)
            LIN_UNROLL
        for (int c = 0; c < COUNT; c++) {
            const int i = 32 * q + lin_lane();
            if (i < p.m && first + c < p.k)
                r[(to ? to[i] : i) * out.row + (first + c) * out.column] = x.at[q][c];
        }
    }
}

/* p l u x = b, or op of that. */
template <int PARTS, class T>
LIN_FN void lin_block_solve_factored(const lin_small &p, int64_t item, T *lu, int pitch,
                                     const int *order)
{
    const bool turned = p.trans != NDP_TRANS_N, conj = p.trans == NDP_TRANS_C;
    lin_triangle<T> l = {lu, 1, pitch, conj, false, true}, u = {lu, 1, pitch, conj, true, false};
    if (turned) {
        l.down = u.down = pitch;
        l.across = u.across = 1;
        l.upper = true;
        u.upper = false;
    }
    const lin_triangle<T> &first = turned ? u : l, &second = turned ? l : u;
    lin_block_divide(p.m, lu, pitch, true, turned);
    lin_block_each_sides<PARTS, T>(p, p.in[p.packed ? 2 : 1], item, turned ? NULL : order,
                                   turned ? order : NULL, [&](lin_sides<T, PARTS> &x) {
                                       lin_warp_substitute(p.m, first, x);
                                       lin_warp_substitute(p.m, second, x);
                                   });
}

/* The order that pivots make, by one thread; a pivot that is no row counts as its own. */
LIN_FN void lin_order_of_pivots(const lin_side &s, int64_t item, int n, int *order)
{
    const int64_t *pivots = lin_item<const int64_t>(s, item);
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int i = 0; i < n; i++) {
        const int64_t given = pivots[i * s.row];
        const int other = given >= 0 && given < n ? (int)given : i, row = order[other];
        order[other] = order[i];
        order[i] = row;
    }
}

template <int PARTS, class T>
LIN_FN int lin_block_solve_item(const lin_small &p, int64_t item, char *room)
{
    const int n = p.m, pitch = LIN_PITCH(n);
    T *a = lin_carve<T>(room, n * pitch);
    int *pivots = lin_carve<int>(room, n), *order = lin_carve<int>(room, n);
    lin_block_load(p.in[0], item, n, n, LIN_ALL, false, a, pitch);
    if (!p.packed)
        for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x)
            order[i] = i;
    else if (threadIdx.x == 0)
        lin_order_of_pivots(p.in[1], item, n, order);
    __syncthreads();
    if (!p.packed)
        lin_block_lu_of<PARTS>(n, n, a, pitch, pivots, order);
    lin_block_solve_factored<PARTS>(p, item, a, pitch, order);
    return lin_zero_of(n, a, pitch);
}

template <int PARTS, class T>
LIN_FN int lin_block_triangular_item(const lin_small &p, int64_t item, char *room)
{
    const int n = p.m, pitch = LIN_PITCH(n);
    T *a = lin_carve<T>(room, n * pitch);
    const lin_triangle<T> t = {a, 1, pitch, false, p.upper != 0, p.unit != 0};
    lin_block_load(p.in[0], item, n, n, p.upper ? LIN_UPPER : LIN_LOWER, p.conj != 0, a, pitch);
    __syncthreads();
    if (!t.unit)
        lin_block_divide(n, a, pitch, t.upper, false);
    lin_block_each_sides<PARTS, T>(p, p.in[1], item, NULL, NULL,
                                   [&](lin_sides<T, PARTS> &x) { lin_warp_substitute(n, t, x); });
    return p.unit ? 0 : lin_zero_of(n, a, pitch);
}

#endif
