/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Reflectors of a block's matrix, and the orthogonal factor that they make in its place. */
#ifndef NDOCK_CUDA_LINALG_BLOCK_QR_CUH
#define NDOCK_CUDA_LINALG_BLOCK_QR_CUH
#include "linalg/block.cuh"

/* Column c less its part along the reflector of column j, by a warp. */
template <class T> LIN_FN void lin_warp_reflect(int m, int j, const T *v, T turn, T *c)
{
    T sum = lin_make<T>(0, 0);
    for (int i = j + 1 + lin_lane(); i < m; i += 32)
        sum = lin_plus(sum, lin_conj(v[i]), c[i]);
    const T factor = lin_times(turn, lin_plus(lin_warp_sum(sum), c[j]));
    __syncwarp();
    if (lin_lane() == 0)
        c[j] = lin_plus(c[j], lin_make<T>(-lin_re(factor), -lin_im(factor)));
    for (int i = j + 1 + lin_lane(); i < m; i += 32)
        c[i] = lin_minus(c[i], v[i], factor);
}

/* The reflector of column j, by a warp: lin_reflect_of has the formulas. */
template <class T> LIN_FN void lin_warp_reflector(int m, int j, T *v, T *tau)
{
    const T head = v[j];
    const LIN_R rest = lin_warp_norm(j + 1, m, v), re = lin_re(head), im = lin_im(head);
    const bool none = rest == 0 && im == 0;
    const LIN_R size = lin_length(lin_length(re, im), rest);
    const LIN_R beta = re >= 0 ? -size : size;
    const T scale = lin_make<T>(re - beta, im);
    __syncwarp();
    for (int i = j + 1 + lin_lane(); i < m && !none; i += 32)
        v[i] = lin_divided(v[i], scale);
    if (lin_lane() == 0) {
        tau[j] = none ? lin_make<T>(0, 0) : lin_make<T>((beta - re) / beta, -im / beta);
        v[j] = none ? head : lin_make<T>(beta, 0);
    }
}

template <class T> LIN_FN void lin_block_reflect_of(int m, int n, T *a, int pitch, T *tau)
{
    const int least = m < n ? m : n;
    for (int j = 0; j < least; j++) {
        if (lin_warp() == 0)
            lin_warp_reflector(m, j, a + j * pitch, tau);
        __syncthreads();
        const T turn = lin_conj(tau[j]);
        for (int c = j + 1 + lin_warp(); c < n; c += lin_warps())
            lin_warp_reflect(m, j, a + j * pitch, turn, a + c * pitch);
        __syncthreads();
    }
}

/* q (m, k), in the place of what lin_block_reflect_of has left in a, as LAPACK's xORG2R. */
template <class T> LIN_FN void lin_block_reflected_of(int m, int n, int k, T *a, int pitch, T *tau)
{
    const int least = m < n ? m : n, made = least < k ? least : k;
    for (int c = made + lin_warp(); c < k; c += lin_warps())
        for (int i = lin_lane(); i < m; i += 32)
            a[c * pitch + i] = lin_make<T>(i == c, 0);
    __syncthreads();
    for (int j = made - 1; j >= 0; j--) {
        T *v = a + j * pitch;
        for (int c = j + 1 + lin_warp(); c < k; c += lin_warps())
            lin_warp_reflect(m, j, v, tau[j], a + c * pitch);
        __syncthreads();
        const T turn = lin_make<T>(-lin_re(tau[j]), -lin_im(tau[j]));
        for (int i = (int)threadIdx.x; i < m; i += (int)blockDim.x)
            v[i] = i < j    ? lin_make<T>(0, 0)
                   : i == j ? lin_make<T>(1 + lin_re(turn), lin_im(turn))
                            : lin_times(turn, v[i]);
        __syncthreads();
    }
}

template <class T> LIN_FN int lin_block_qr_item(const lin_small &p, int64_t item, char *room)
{
    const int m = p.m, n = p.n, k = (int)p.k, pitch = LIN_PITCH(m);
    T *a = lin_carve<T>(room, (p.vectors && k > n ? k : n) * pitch);
    T *tau = lin_carve<T>(room, m < n ? m : n);
    lin_block_load(p.in[0], item, m, n, LIN_ALL, false, a, pitch);
    __syncthreads();
    lin_block_reflect_of(m, n, a, pitch, tau);
    lin_block_store(p.out[1], item, k, n, LIN_UPPER, a, pitch);
    if (!p.vectors)
        return 0;
    __syncthreads();
    lin_block_reflected_of(m, n, k, a, pitch, tau);
    lin_block_store(p.out[0], item, m, k, LIN_ALL, a, pitch);
    return 0;
}

#endif
