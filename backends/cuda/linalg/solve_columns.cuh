/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Systems of equations of 17 to 32 rows by a warp each: the factors are in shared memory, and each
 * lane has a right side of its own in registers, so that lanes wait for none of the others. */
#ifndef NDOCK_CUDA_LINALG_SOLVE_COLUMNS_CUH
#define NDOCK_CUDA_LINALG_SOLVE_COLUMNS_CUH
#include "linalg/solve.cuh"

/* Unknown p of a right side x, and what becomes of the other rows by it. */
template <bool UPPER, class T>
LIN_FN void lin_column_step(int n, int p, const T *a, T pivot, T inverse, T *x)
{
    const T *column = a + p * LIN_SMALL_PITCH;
    if (UPPER)
        x[p] = lin_divided_by(x[p], pivot, inverse);
    LIN_UNROLL
    for (int i = 0; i < LIN_SMALL; i++)
        if (UPPER ? i < p : i > p && i < n)
            x[i] = lin_minus(x[i], column[i], x[p]);
}

/* u x = b, or l x = b for l with ones on its diagonal. pivots: u's diagonal and what lin_inverse
 * says of it, a lane's own. */
template <bool UPPER, class T>
LIN_FN void lin_column_substitute(int n, const T *a, T pivot, T inverse, T *x)
{
    LIN_UNROLL
    for (int step = 0; step < LIN_SMALL; step++) {
        const int p = UPPER ? LIN_SMALL - 1 - step : step;
        if (p >= n)
            continue;
        if (UPPER)
            lin_column_step<true>(n, p, a, lin_shuffle(pivot, p), lin_shuffle(inverse, p), x);
        else
            lin_column_step<false>(n, p, a, pivot, inverse, x);
    }
}

/* Which row of b is where when rows i and pivots[i] have been exchanged, for i in order: a lane's. */
LIN_FN int lin_row_of_lane(int n, const int *pivots)
{
    const int lane = (int)(threadIdx.x & 31);
    int row = lane;
    for (int i = 0; i < n; i++) {
        const int other = pivots[i], at = lane == i ? other : lane == other ? i : lane;
        row = lin_shuffle(row, at);
    }
    return row;
}

template <class T> LIN_FN int lin_solve_columns_item(const lin_small &p, int64_t item, char *room)
{
    const int n = p.m, pitch = LIN_SMALL_PITCH, lane = (int)(threadIdx.x & 31);
    const lin_side &in = p.in[1], &out = p.out[0];
    T *a = lin_carve<T>(room, n * pitch);
    int *pivots = lin_carve<int>(room, LIN_SMALL), *order = lin_carve<int>(room, LIN_SMALL);
    lin_load(p.in[0], lin_item<const T>(p.in[0], item), n, n, LIN_ALL, false, a, pitch);
    __syncwarp();
    lin_lu_of(n, n, a, pitch, pivots);
    order[lane] = lin_row_of_lane(n, pivots);
    __syncwarp();
    const T pivot = lane < n ? a[lane * pitch + lane] : lin_make<T>(1, 0),
            inverse = lin_inverse(pivot);
    const T *b = lin_item<const T>(in, item);
    T *r = lin_item<T>(out, item);
    for (int64_t first = 0; first < p.k; first += 32) {
        const bool own = first + lane < p.k;
        T x[LIN_SMALL];
        LIN_UNROLL
        for (int i = 0; i < LIN_SMALL; i++)
            x[i] = own && i < n ? b[order[i] * in.row + (first + lane) * in.column]
                                : lin_make<T>(0, 0);
        lin_column_substitute<false>(n, a, pivot, inverse, x);
        lin_column_substitute<true>(n, a, pivot, inverse, x);
        LIN_UNROLL
        for (int i = 0; i < LIN_SMALL; i++)
            if (own && i < n)
                r[i * out.row + (first + lane) * out.column] = x[i];
    }
    return lin_zero_of(n, a, pitch);
}

#endif
