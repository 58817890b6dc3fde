/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Eigenvalues and vectors of small Hermitian matrices, by one warp each. */
#ifndef NDOCK_CUDA_LINALG_EIGH_CUH
#define NDOCK_CUDA_LINALG_EIGH_CUH
#include "linalg/rows.cuh"

/* Whether it converges. The i-th of the values in order is line[order[i]], its vector column order[i]
 * of v. */
template <class T>
LIN_FN bool lin_eigh_in_order(int n, T *a, T *v, int pitch, lin_rotation<T> *r, LIN_R *line,
                              int *order, int *moved)
{
    const int lane = (int)(threadIdx.x & 31);
    if constexpr (sizeof(T) <= 8) /* else there are not as many registers */
        if (n > LIN_SMALL / 2) {
            lin_turn<T> *turns = (lin_turn<T> *)r;
            return v ? lin_rows_eigh<true>(n, a, v, pitch, turns, line, order)
                     : lin_rows_eigh<false>(n, a, v, pitch, turns, line, order);
        }
    if (v)
        lin_identity(n, v, pitch);
    __syncwarp();
    if (!lin_eigh_of(n, a, v, pitch, r, line, moved))
        return false;
    if (lane < n)
        line[lane] = lin_re(a[lane * pitch + lane]);
    __syncwarp();
    lin_order(n, line, false, order);
    return true;
}

/* A vector of length one and with its largest component real and positive, of one with many
 * roundings. */
template <class T> LIN_FN void lin_normal_vector(int n, const T *from, T *to)
{
    int at;
    const T phase = lin_phase(n, from, &at);
    const LIN_R length = lin_norm_of(n, from), size = lin_magnitude(from[at]) / length;
    for (int i = 0; i < n; i++)
        to[i] = lin_over(lin_times(from[i], phase), length);
    to[at] = lin_make<T>(size, 0);
}

template <class T> LIN_FN int lin_eigh_item(const lin_small &p, int64_t item, char *room)
{
    typedef LIN_R R;
    const int n = p.m, pitch = LIN_PITCH(n), lane = (int)(threadIdx.x & 31);
    T *a = lin_carve<T>(room, n * pitch), *v = p.vectors ? lin_carve<T>(room, n * pitch) : NULL;
    lin_rotation<T> *r = lin_carve<lin_rotation<T>>(room, LIN_PAIRS);
    R *line = lin_carve<R>(room, LIN_SMALL), *w = lin_item<R>(p.out[0], item);
    int *order = lin_carve<int>(room, LIN_SMALL), *moved = lin_carve<int>(room, 1);
    T *to = p.vectors ? lin_item<T>(p.out[1], item) : NULL;
    lin_load(p.in[0], lin_item<const T>(p.in[0], item), n, n, LIN_LOWER, p.conj != 0, a, pitch);
    __syncwarp();
    lin_mirror(n, a, pitch);
    const R largest = lin_largest(a, pitch, n, n, line);
    const bool finite = largest <= lin_limits<R>::huge;
    const int power = finite ? lin_power_for(largest) : 0;
    bool done = false;
    if (finite) {
        lin_scale_columns(n, n, a, pitch, -power);
        done = lin_eigh_in_order(n, a, v, pitch, r, line, order, moved);
    }
    if (!done) {
        if (lane < n)
            w[lane * p.out[0].row] = (R)NAN;
        if (v)
            lin_store_all(p.out[1], to, n, n, lin_nan<T>());
        return finite ? LIN_NOT_CONVERGED : 0;
    }
    if (lane < n)
        w[lane * p.out[0].row] = lin_times_power(line[order[lane]], power);
    if (!v)
        return 0;
    if (lane < n) /* the matrix is not needed any more: vectors in order */
        lin_normal_vector(n, v + order[lane] * pitch, a + lane * pitch);
    __syncwarp();
    lin_store(p.out[1], to, n, n, LIN_ALL, a, pitch);
    return 0;
}

#endif
