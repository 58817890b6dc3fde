/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Cholesky's factor of a block's matrix, by panels of columns. */
#ifndef NDOCK_CUDA_LINALG_BLOCK_CHOLESKY_CUH
#define NDOCK_CUDA_LINALG_BLOCK_CHOLESKY_CUH
#include "linalg/panel.cuh"

/* Column k of a panel, whose row is j, and the columns after it: the factor's. 0, or what
 * lin_cholesky_of says. */
template <int K, int PARTS, class T>
LIN_FN int lin_held_roots(lin_held<T, PARTS> &h, int first, int end)
{
    if constexpr (K < lin_held<T, PARTS>::count) {
        const int j = first + K;
        if (j >= end)
            return 0;
        const LIN_R pivot = lin_re(lin_held_row(h, K, j));
        if (!(pivot > 0))
            return pivot == pivot ? j + 1 : LIN_HAS_NAN;
        const LIN_R root = lin_root(pivot);
        LIN_UNROLL
        for (int q = 0; q < PARTS; q++) {
            const int i = 32 * q + lin_lane();
            if (i >= j)
                h.at[K][q] = i == j ? lin_make<T>(root, 0) : lin_over(h.at[K][q], root);
        }
        LIN_UNROLL
        for (int k = K + 1; k < (lin_held<T, PARTS>::count); k++) {
            const T factor = lin_conj(lin_held_row(h, K, first + k));
            LIN_UNROLL
            for (int q = 0; q < PARTS; q++)
                if (32 * q + lin_lane() >= first + k)
                    h.at[k][q] = lin_minus(h.at[k][q], h.at[K][q], factor);
        }
        return lin_held_roots<K + 1>(h, first, end);
    }
    return 0;
}

/* What lin_cholesky_of is for a warp, by panels of columns: one warp has a panel in registers, and
 * the block takes its products from the rest at once. `failed`: one place in shared memory. */
template <int PARTS, class T>
LIN_FN int lin_block_cholesky_of(int n, const lin_folded<T> &a, int *failed)
{
    constexpr int COUNT = lin_panel<T>::count;
    if (threadIdx.x == 0)
        *failed = 0;
    __syncthreads();
    for (int first = 0; first < n; first += COUNT) {
        const int end = first + COUNT < n ? first + COUNT : n;
        if (lin_warp() == 0) {
            lin_held<T, PARTS> h;
            lin_held_load(h, first, end, n, a);
            const int at = lin_held_roots<0>(h, first, end);
            lin_held_store(h, first, end, n, a);
            if (lin_lane() == 0)
                *failed = at;
        }
        __syncthreads();
        if (*failed)
            return *failed;
        lin_panel_subtract<PARTS, T>(first, end, n, n, a,
                                     [&](int k, int c) { return lin_conj(a.at(first + k)[c]); });
        __syncthreads();
    }
    return 0;
}

/* The lower triangle alone, which is folded: a matrix takes half the room, and a multiprocessor has
 * more of them. */
template <int PARTS, class T>
LIN_FN int lin_block_cholesky_item(const lin_small &p, int64_t item, char *room)
{
    const int n = p.m, pitch = LIN_PITCH(n + 1);
    const lin_folded<T> a = {lin_carve<T>(room, (n + 1) / 2 * pitch), n, pitch};
    int *place = lin_carve<int>(room, 1);
    T *to = lin_item<T>(p.out[0], item);
    const T *from = lin_item<const T>(p.in[0], item);
    lin_block_each(p.in[0], n, n, [&](int i, int j) {
        if (i >= j)
            a.at(j)[i] = from[i * p.in[0].row + j * p.in[0].column];
    });
    __syncthreads();
    const int failed = lin_block_cholesky_of<PARTS>(n, a, place);
    __syncthreads();
    if (failed)
        lin_block_fill(p.out[0], item, n, n, lin_nan<T>());
    else
        lin_block_each(p.out[0], n, n, [&](int i, int j) {
            to[i * p.out[0].row + j * p.out[0].column] = i >= j ? a.at(j)[i] : lin_make<T>(0, 0);
        });
    return failed;
}

#endif
