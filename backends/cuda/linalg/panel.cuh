/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Panels of columns of a block's matrix: one warp factors a panel, in which all depends on all, in
 * registers, and the block takes the panel's products from the rest at once, so that each element of
 * that is read and written once a panel. */
#ifndef NDOCK_CUDA_LINALG_PANEL_CUH
#define NDOCK_CUDA_LINALG_PANEL_CUH
#include "linalg/block.cuh"

/* Where the columns of a matrix are in shared memory: at(j)[i] is the element of row i. least(j): the
 * first row that column j has. */
template <class T> struct lin_columns {
    T *a;
    int pitch;
    __device__ __forceinline__ T *at(int j) const { return a + j * pitch; }
    __device__ __forceinline__ int least(int) const { return 0; }
};

/* Columns of a lower triangle of n rows, which take half the room: the last column, of one element,
 * is before the first one, the last but one before the second ... pitch: LIN_PITCH(n + 1). */
template <class T> struct lin_folded {
    T *a;
    int n, pitch;
    __device__ __forceinline__ T *at(int j) const
    {
        return 2 * j < n ? a + j * pitch + 1 : a + (n - 1 - j) * pitch - j;
    }
    __device__ __forceinline__ int least(int j) const { return j; }
};

/* Columns that are factored before the others are touched: what a warp has of them is in
 * registers. */
template <class T> struct lin_panel {
    static constexpr int count = sizeof(T) > 8 ? 4 : 8;
};

/* A warp's panel in registers: lane l has row 32 q + l of column `first` + k in at[k][q]. */
template <class T, int PARTS> struct lin_held {
    static constexpr int count = lin_panel<T>::count;
    T at[count][PARTS];
};

/* Row i of column k, which is lane i mod 32's, for all lanes. */
template <int PARTS, class T> LIN_FN T lin_held_row(const lin_held<T, PARTS> &h, int k, int i)
{
    T mine = h.at[k][0];
    LIN_UNROLL
    for (int q = 1; q < PARTS; q++)
        mine = i == 32 * q + lin_lane() ? h.at[k][q] : mine;
    return lin_shuffle(mine, i & 31);
}

/* Columns `first` to `end` of a (m, .), by a warp; what is beyond them is zero. */
template <int PARTS, class T, class COLUMNS>
LIN_FN void lin_held_load(lin_held<T, PARTS> &h, int first, int end, int m, const COLUMNS &a)
{
    LIN_UNROLL
    for (int k = 0; k < (lin_held<T, PARTS>::count); k++)
        LIN_UNROLL
    for (int q = 0; q < PARTS; q++) {
        const int i = 32 * q + lin_lane();
        const bool is_there = i >= a.least(first + k) && i < m && first + k < end;
        h.at[k][q] = is_there ? a.at(first + k)[i] : lin_make<T>(0, 0);
    }
}

/* The same back, from row `first` on. */
template <int PARTS, class T, class COLUMNS>
LIN_FN void lin_held_store(const lin_held<T, PARTS> &h, int first, int end, int m, const COLUMNS &a)
{
    LIN_UNROLL
    for (int k = 0; k < (lin_held<T, PARTS>::count); k++)
        LIN_UNROLL
    for (int q = 0; q < PARTS; q++) {
        const int i = 32 * q + lin_lane();
        if (i >= first && i >= a.least(first + k) && i < m && first + k < end)
            a.at(first + k)[i] = h.at[k][q];
    }
}

/* From the columns from `end` on, rows from `end` on, the panel's products are subtracted, in the
 * order of its columns, column first + k times factor(k, c) from column c; a warp has some columns. */
template <int PARTS, class T, class COLUMNS, class FACTOR>
LIN_FN void lin_panel_subtract(int first, int end, int m, int n, const COLUMNS &a, FACTOR factor)
{
    constexpr int COUNT = lin_panel<T>::count;
    T panel[COUNT][PARTS];
    LIN_UNROLL
    for (int k = 0; k < COUNT; k++)
        LIN_UNROLL
    for (int q = 0; q < PARTS; q++) {
        const int i = 32 * q + lin_lane();
        panel[k][q] = i >= end && i < m && first + k < end ? a.at(first + k)[i] : lin_make<T>(0, 0);
    }
    for (int c = end + lin_warp(); c < n; c += lin_warps()) {
        T *column = a.at(c), e[PARTS];
        const int least = a.least(c) > end ? a.least(c) : end;
        LIN_UNROLL
        for (int q = 0; q < PARTS; q++) {
            const int i = 32 * q + lin_lane();
            e[q] = i >= least && i < m ? column[i] : lin_make<T>(0, 0);
        }
        LIN_UNROLL
        for (int k = 0; k < COUNT; k++) {
            if (first + k >= end)
                break;
            const T by = factor(k, c);
            LIN_UNROLL
            for (int q = 0; q < PARTS; q++)
                e[q] = lin_minus(e[q], panel[k][q], by);
        }
        LIN_UNROLL
        for (int q = 0; q < PARTS; q++) {
            const int i = 32 * q + lin_lane();
            if (i >= least && i < m)
                column[i] = e[q];
        }
    }
}

#endif
