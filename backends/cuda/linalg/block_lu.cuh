/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * LU of a block's matrix, by panels of columns. */
#ifndef NDOCK_CUDA_LINALG_BLOCK_LU_CUH
#define NDOCK_CUDA_LINALG_BLOCK_LU_CUH
#include "linalg/panel.cuh"

/* The row from j on of the largest magnitude in column k. */
template <int PARTS, class T>
LIN_FN int lin_held_pivot(const lin_held<T, PARTS> &h, int k, int j, int m)
{
    LIN_R most = -1;
    int at = m;
    LIN_UNROLL
    for (int q = 0; q < PARTS; q++) {
        const int i = 32 * q + lin_lane();
        const LIN_R size = lin_size(h.at[k][q]);
        if (i >= j && i < m && most == most && !(size <= most)) {
            most = size;
            at = i;
        }
    }
    return lin_place_of_most(most, at);
}

/* Rows j and p of column k are exchanged; what is in row j then is returned. */
template <int PARTS, class T> LIN_FN T lin_held_exchange(lin_held<T, PARTS> &h, int k, int j, int p)
{
    const T down = lin_held_row(h, k, j), up = lin_held_row(h, k, p);
    LIN_UNROLL
    for (int q = 0; q < PARTS; q++) {
        const int i = 32 * q + lin_lane();
        h.at[k][q] = i == j ? up : i == p ? down : h.at[k][q];
    }
    return up;
}

/* Column k below its pivot, which is in row j, by the pivot. */
template <int PARTS, class T>
LIN_FN void lin_held_divide(lin_held<T, PARTS> &h, int k, int j, T pivot)
{
    const T inverse = lin_inverse(pivot);
    if (lin_re(pivot) == 0 && lin_im(pivot) == 0)
        return;
    LIN_UNROLL
    for (int q = 0; q < PARTS; q++)
        if (32 * q + lin_lane() > j)
            h.at[k][q] = lin_divided_by(h.at[k][q], pivot, inverse);
}

/* Column k, whose row is j, and the columns after it: the pivot's row comes up, and what it makes of
 * the rows below. */
template <int K, int PARTS, class T>
LIN_FN void lin_held_step(lin_held<T, PARTS> &h, int first, int end, int m, int *pivots, int *order)
{
    const int j = first + K;
    if (j >= end)
        return;
    const int p = lin_held_pivot(h, K, j, m);
    if (lin_lane() == 0) {
        const int row = order[p];
        order[p] = order[j];
        order[j] = row;
        pivots[j] = p;
    }
    T top[lin_held<T, PARTS>::count];
    LIN_UNROLL
    for (int k = 0; k < (lin_held<T, PARTS>::count); k++)
        top[k] = lin_held_exchange(h, k, j, p);
    lin_held_divide(h, K, j, top[K]);
    LIN_UNROLL
    for (int k = K + 1; k < (lin_held<T, PARTS>::count); k++)
        LIN_UNROLL
    for (int q = 0; q < PARTS; q++)
        if (32 * q + lin_lane() > j)
            h.at[k][q] = lin_minus(h.at[k][q], h.at[K][q], top[k]);
}

template <int K, int PARTS, class T>
LIN_FN void lin_held_steps(lin_held<T, PARTS> &h, int first, int end, int m, int *pivots,
                           int *order)
{
    if constexpr (K < lin_held<T, PARTS>::count) {
        lin_held_step<K>(h, first, end, m, pivots, order);
        lin_held_steps<K + 1>(h, first, end, m, pivots, order);
    }
}

/* Factors columns `first` to `end` from row `first` on, by a warp. order: which row of the given
 * matrix is where. */
template <int PARTS, class T>
LIN_FN void lin_panel_lu(int first, int end, int m, T *a, int pitch, int *pivots, int *order)
{
    lin_held<T, PARTS> h;
    const lin_columns<T> columns = {a, pitch};
    lin_held_load(h, first, end, m, columns);
    lin_held_steps<0>(h, first, end, m, pivots, order);
    lin_held_store(h, first, end, m, columns);
}

/* The other columns, of n, change rows as a panel did; those after it become rows of u. */
template <class T>
LIN_FN void lin_panel_rows(int first, int end, int n, T *a, int pitch, const int *pivots)
{
    constexpr int COUNT = lin_panel<T>::count;
    for (int c = (int)threadIdx.x; c < n; c += (int)blockDim.x) {
        if (c >= first && c < end)
            continue;
        T *column = a + c * pitch, top[COUNT];
        for (int j = first; j < end; j++) {
            const int p = pivots[j];
            const T t = column[j];
            column[j] = column[p];
            column[p] = t;
        }
        if (c < end)
            continue;
        LIN_UNROLL
        for (int k = 0; k < COUNT; k++)
            top[k] = first + k < end ? column[first + k] : lin_make<T>(0, 0);
        LIN_UNROLL
        for (int j = 0; j < COUNT - 1; j++)
            LIN_UNROLL
        for (int i = j + 1; i < COUNT; i++)
            if (first + i < end)
                top[i] = lin_minus(top[i], a[(first + j) * pitch + first + i], top[j]);
        LIN_UNROLL
        for (int k = 1; k < COUNT; k++)
            if (first + k < end)
                column[first + k] = top[k];
    }
}

/* What lin_lu_of is for a warp, by panels of columns. */
template <int PARTS, class T>
LIN_FN void lin_block_lu_of(int m, int n, T *a, int pitch, int *pivots, int *order)
{
    const int least = m < n ? m : n;
    for (int first = 0; first < least; first += lin_panel<T>::count) {
        const int end = first + lin_panel<T>::count < least ? first + lin_panel<T>::count : least;
        if (lin_warp() == 0)
            lin_panel_lu<PARTS>(first, end, m, a, pitch, pivots, order);
        __syncthreads();
        lin_panel_rows(first, end, n, a, pitch, pivots);
        __syncthreads();
        lin_panel_subtract<PARTS, T>(first, end, m, n, lin_columns<T>{a, pitch},
                                     [&](int k, int c) { return a[c * pitch + first + k]; });
        __syncthreads();
    }
}

template <int PARTS, class T>
LIN_FN int lin_block_lu_item(const lin_small &p, int64_t item, char *room)
{
    const int m = p.m, n = p.n, pitch = LIN_PITCH(m), least = m < n ? m : n;
    T *a = lin_carve<T>(room, n * pitch);
    int *pivots = lin_carve<int>(room, least), *order = lin_carve<int>(room, m);
    lin_block_load(p.in[0], item, m, n, LIN_ALL, false, a, pitch);
    for (int i = (int)threadIdx.x; i < m; i += (int)blockDim.x)
        order[i] = i;
    __syncthreads();
    lin_block_lu_of<PARTS>(m, n, a, pitch, pivots, order);
    lin_block_store(p.out[0], item, m, n, LIN_ALL, a, pitch);
    for (int i = (int)threadIdx.x; i < m; i += (int)blockDim.x) {
        if (i < least)
            lin_store_integer(p.out[1], item, i, pivots[i]);
        lin_store_integer(p.out[2], item, i, order[i]);
    }
    return lin_zero_of(least, a, pitch);
}

#endif
