/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * LU of a block's matrix, by panels of columns: one warp factors a panel, in which all depends on
 * all, and the block takes the panel's products from the rest at once, so that each element of that
 * is read and written once a panel. */
#ifndef NDOCK_CUDA_LINALG_BLOCK_LU_CUH
#define NDOCK_CUDA_LINALG_BLOCK_LU_CUH
#include "linalg/block.cuh"

/* Columns that are factored before the others are touched: what a warp has of them is in
 * registers. */
template <class T> struct lin_panel {
    static constexpr int count = sizeof(T) > 8 ? 4 : 8;
};

/* The pivot of column j of columns `first` to `end`, whose rows change places, and the column below
 * it by the pivot, by a warp. order: which row of the given matrix is where. */
template <int PARTS, class T>
LIN_FN void lin_panel_pivot(int j, int first, int end, int m, T *a, int pitch, int *pivots,
                            int *order)
{
    T *column = a + j * pitch;
    const int p = lin_warp_pivot(m, column, j), lane = lin_lane();
    __syncwarp();
    if (lane == 0) {
        const int row = order[p];
        order[p] = order[j];
        order[j] = row;
        pivots[j] = p;
    }
    const int c = first + lane;
    if (c < end && p != j) {
        const T t = a[c * pitch + j];
        a[c * pitch + j] = a[c * pitch + p];
        a[c * pitch + p] = t;
    }
    __syncwarp();
    const T pivot = column[j], inverse = lin_inverse(pivot);
    const bool zero = lin_re(pivot) == 0 && lin_im(pivot) == 0;
    LIN_UNROLL
    for (int q = 0; q < PARTS; q++) {
        const int i = 32 * q + lane;
        if (i > j && i < m && !zero)
            column[i] = lin_divided_by(column[i], pivot, inverse);
    }
    __syncwarp();
}

/* Factors columns `first` to `end` from row `first` on, by a warp. */
template <int PARTS, class T>
LIN_FN void lin_panel_lu(int first, int end, int m, T *a, int pitch, int *pivots, int *order)
{
    for (int j = first; j < end; j++) {
        lin_panel_pivot<PARTS>(j, first, end, m, a, pitch, pivots, order);
        T mine[PARTS];
        LIN_UNROLL
        for (int q = 0; q < PARTS; q++) {
            const int i = 32 * q + lin_lane();
            mine[q] = i > j && i < m ? a[j * pitch + i] : lin_make<T>(0, 0);
        }
        for (int c = j + 1; c < end; c++) {
            const T factor = a[c * pitch + j];
            LIN_UNROLL
            for (int q = 0; q < PARTS; q++) {
                const int i = 32 * q + lin_lane();
                if (i > j && i < m)
                    a[c * pitch + i] = lin_minus(a[c * pitch + i], mine[q], factor);
            }
        }
        __syncwarp();
    }
}

/* The other columns, of n, change rows as a panel did; those after it become rows of u. */
template <class T>
LIN_FN void lin_panel_rows(int first, int end, int n, T *a, int pitch, const int *pivots)
{
    for (int c = (int)threadIdx.x; c < n; c += (int)blockDim.x) {
        if (c >= first && c < end)
            continue;
        T *column = a + c * pitch;
        for (int j = first; j < end; j++) {
            const int p = pivots[j];
            const T t = column[j];
            column[j] = column[p];
            column[p] = t;
        }
        for (int j = first; j < end - 1 && c >= end; j++) {
            const T e = column[j];
            for (int i = j + 1; i < end; i++)
                column[i] = lin_minus(column[i], a[j * pitch + i], e);
        }
    }
}

/* From the columns from `end` on, rows from `end` on, the panel's products are subtracted, in the
 * order of its columns; a warp has some columns. */
template <int PARTS, class T>
LIN_FN void lin_panel_subtract(int first, int end, int m, int n, T *a, int pitch)
{
    constexpr int COUNT = lin_panel<T>::count;
    T panel[COUNT][PARTS];
    LIN_UNROLL
    for (int k = 0; k < COUNT; k++)
        LIN_UNROLL
    for (int q = 0; q < PARTS; q++) {
        const int i = 32 * q + lin_lane();
        panel[k][q] =
            i >= end && i < m && first + k < end ? a[(first + k) * pitch + i] : lin_make<T>(0, 0);
    }
    for (int c = end + lin_warp(); c < n; c += lin_warps()) {
        T *column = a + c * pitch, e[PARTS];
        LIN_UNROLL
        for (int q = 0; q < PARTS; q++) {
            const int i = 32 * q + lin_lane();
            e[q] = i >= end && i < m ? column[i] : lin_make<T>(0, 0);
        }
        LIN_UNROLL
        for (int k = 0; k < COUNT; k++) {
            if (first + k >= end)
                break;
            const T factor = column[first + k];
            LIN_UNROLL
            for (int q = 0; q < PARTS; q++)
                e[q] = lin_minus(e[q], panel[k][q], factor);
        }
        LIN_UNROLL
        for (int q = 0; q < PARTS; q++) {
            const int i = 32 * q + lin_lane();
            if (i >= end && i < m)
                column[i] = e[q];
        }
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
        lin_panel_subtract<PARTS>(first, end, m, n, a, pitch);
        __syncthreads();
    }
}

template <class T> LIN_FN int lin_block_lu_item(const lin_small &p, int64_t item, char *room)
{
    const int m = p.m, n = p.n, pitch = LIN_PITCH(m), least = m < n ? m : n;
    T *a = lin_carve<T>(room, n * pitch);
    int *pivots = lin_carve<int>(room, least), *order = lin_carve<int>(room, m);
    lin_block_load(p.in[0], item, m, n, LIN_ALL, false, a, pitch);
    for (int i = (int)threadIdx.x; i < m; i += (int)blockDim.x)
        order[i] = i;
    __syncthreads();
    lin_by_parts(m, [&](auto parts) {
        lin_block_lu_of<decltype(parts)::count>(m, n, a, pitch, pivots, order);
    });
    lin_block_store(p.out[0], item, m, n, LIN_ALL, a, pitch);
    for (int i = (int)threadIdx.x; i < m; i += (int)blockDim.x) {
        if (i < least)
            lin_store_integer(p.out[1], item, i, pivots[i]);
        lin_store_integer(p.out[2], item, i, order[i]);
    }
    return lin_zero_of(least, a, pitch);
}

#endif
