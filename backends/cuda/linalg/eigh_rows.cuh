/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Eigenvalues and vectors of Hermitian matrices of up to 16 rows, of which a warp has several. */
#ifndef NDOCK_CUDA_LINALG_EIGH_ROWS_CUH
#define NDOCK_CUDA_LINALG_EIGH_ROWS_CUH
#include "linalg/eigh.cuh"

/* The lane's row of the matrix whose lower triangle is in shared memory; whether the matrix is
 * finite. It is divided by a power of two, so that its largest element is about one. */
template <class T, int ROWS, bool VECTORS>
LIN_FN bool lin_rows_load(int n, const T *a, int pitch, lin_rows<T, ROWS, VECTORS> *x, int *power)
{
    const int row = lin_own_row<ROWS>();
    LIN_R most = 0;
    x->own = 0;
    LIN_UNROLL
    for (int j = 0; j < ROWS; j++) {
        T e = lin_make<T>(0, 0);
        if (row < n && j < n)
            e = j <= row ? a[j * pitch + row] : lin_conj(a[row * pitch + j]);
        if (j == row)
            e = lin_make<T>(lin_re(e), 0);
        x->a[j] = e;
        const LIN_R re = lin_abs(lin_re(e)), im = lin_abs(lin_im(e));
        most = re > most ? re : most;
        most = im > most ? im : most;
        if (!(re <= lin_limits<LIN_R>::huge && im <= lin_limits<LIN_R>::huge))
            most = (LIN_R)INFINITY;
        if (VECTORS)
            x->v[j] = lin_make<T>(j == row, 0);
    }
    most = lin_rows_most<ROWS>(most);
    const bool finite = most <= lin_limits<LIN_R>::huge;
    *power = finite ? lin_power_for(most) : 0;
    LIN_UNROLL
    for (int j = 0; j < ROWS; j++) {
        x->a[j] = finite ? lin_times_two_to(x->a[j], -*power) : lin_make<T>(0, 0);
        x->own = j == row ? lin_re(x->a[j]) : x->own;
    }
    return finite;
}

/* Values and vectors of a warp's matrices, from the one numbered `first` on. */
template <int ROWS, bool VECTORS, class T>
LIN_FN void lin_eigh_rows_of(const lin_small &p, int64_t first, char *room)
{
    typedef LIN_R R;
    constexpr int TOGETHER = 32 / ROWS;
    const int n = p.m, pitch = LIN_PITCH(n), row = lin_own_row<ROWS>(),
              which = lin_first_lane<ROWS>() / ROWS;
    T *all = lin_carve<T>(room, TOGETHER * n * pitch), *a = all + which * n * pitch;
    lin_turn<T> *turns = lin_carve<lin_turn<T>>(room, 16) + which * (ROWS / 2);
    R *line = lin_carve<R>(room, 32) + which * ROWS;
    int *order = lin_carve<int>(room, 32) + which * ROWS, power;
    for (int k = 0; k < TOGETHER && first + k < p.count; k++)
        lin_load(p.in[0], lin_item<const T>(p.in[0], first + k), n, n, LIN_LOWER, p.conj != 0,
                 all + k * n * pitch, pitch);
    __syncwarp();
    lin_rows<T, ROWS, VECTORS> x;
    const bool there = first + which < p.count;
    const bool finite = lin_rows_load(there ? n : 0, a, pitch, &x, &power);
    const R least = lin_rows_least(n, x);
    if (row >= n)
        x.own = (R)LIN_BEYOND;
    __syncwarp();
    const int sweeps = lin_rows_sweep(least * least, x, turns);
    lin_rows_store(x, n, sweeps, a, pitch, line, order);
    const bool open = lin_rows_open(x, least * least), done = finite && !open; /* by all lanes */
    if (there && row < n)
        lin_item<R>(p.out[0], first + which)[row * p.out[0].row] =
            done ? lin_times_power(line[row], power) : (R)NAN;
    if (there && row == 0)
        ((int32_t *)p.info)[first + which] = finite && !done ? LIN_NOT_CONVERGED : 0;
    if (!VECTORS)
        return;
    if (there && row < n)
        lin_normal_vector(n, a + row * pitch, a + row * pitch);
    if (there && row < n && !done)
        for (int i = 0; i < n; i++)
            a[row * pitch + i] = lin_nan<T>();
    __syncwarp();
    for (int k = 0; k < TOGETHER && first + k < p.count; k++)
        lin_store(p.out[1], lin_item<T>(p.out[1], first + k), n, n, LIN_ALL, all + k * n * pitch,
                  pitch);
}

template <int ROWS, class T>
LIN_FN void lin_eigh_rows(const lin_small &p, int64_t first, char *room)
{
    if (p.vectors)
        lin_eigh_rows_of<ROWS, true, T>(p, first, room);
    else
        lin_eigh_rows_of<ROWS, false, T>(p, first, room);
}

#endif
