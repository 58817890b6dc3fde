/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Factorisations of small matrices in shared memory, column-major, by one warp each. */
#ifndef NDOCK_CUDA_LINALG_FACTOR_CUH
#define NDOCK_CUDA_LINALG_FACTOR_CUH
#include "linalg/lanes.cuh"
#include "linalg/shuffle.cuh"

/* Columns that are read before the first of them is written, so that reads need not wait. */
enum { LIN_AT_ONCE = 4 };

/* The lower triangle becomes l. 0, the pivot that is not positive, from 1, or LIN_HAS_NAN. */
template <class T> LIN_FN int lin_cholesky_of(int n, T *a, int pitch)
{
    const lin_lanes l = lin_lanes_of(n);
    for (int j = 0; j < n; j++) {
        T *column = a + j * pitch;
        const LIN_R pivot = lin_re(column[j]);
        if (!(pivot > 0))
            return pivot == pivot ? j + 1 : LIN_HAS_NAN;
        const LIN_R root = lin_root(pivot);
        __syncwarp();
        if (l.group == 0 && l.row >= j && l.row < n)
            column[l.row] = l.row == j ? lin_make<T>(root, 0) : lin_over(column[l.row], root);
        __syncwarp();
        for (int c = j + 1 + l.group; c < n; c += l.groups)
            if (l.row >= c && l.row < n)
                a[c * pitch + l.row] =
                    lin_minus(a[c * pitch + l.row], column[l.row], lin_conj(column[c]));
        __syncwarp();
    }
    return 0;
}

/* The first row from j on with the largest magnitude; NaN is larger than all numbers, so that it is
 * met instead of a pivot of zero. */
template <class T> LIN_FN int lin_pivot_of(int m, const T *column, int j)
{
    LIN_R most = lin_size(column[j]);
    int at = j;
    for (int i = j + 1; i < m && most == most; i++) {
        const LIN_R size = lin_size(column[i]);
        if (!(size <= most)) {
            most = size;
            at = i;
        }
    }
    return at;
}

/* The row from j on with the largest magnitude, by a warp; lin_pivot_of says which of several. */
template <class T> LIN_FN int lin_warp_pivot(int m, const T *column, int j)
{
    typedef LIN_R R;
    R most = -1;
    int at = m;
    for (int i = j + (int)(threadIdx.x & 31); i < m; i += 32) {
        const R size = lin_size(column[i]);
        if (most == most && !(size <= most)) {
            most = size;
            at = i;
        }
    }
    return lin_place_of_most(most, at);
}

/* From columns first, first + step ... of a row of a (., n), `mine` times factor(column). */
template <class T, class F>
LIN_FN void lin_subtract_from(int first, int step, int n, T *row, int pitch, T mine, F factor)
{
    for (int c = first; c < n; c += LIN_AT_ONCE * step) {
        T e[LIN_AT_ONCE];
        LIN_UNROLL
        for (int k = 0; k < LIN_AT_ONCE; k++)
            if (c + k * step < n)
                e[k] = lin_minus(row[(c + k * step) * pitch], mine, factor(c + k * step));
        LIN_UNROLL
        for (int k = 0; k < LIN_AT_ONCE; k++)
            if (c + k * step < n)
                row[(c + k * step) * pitch] = e[k];
    }
}

/* Packed factors of a (m, n), by the largest pivot of each column. */
template <class T> LIN_FN void lin_lu_of(int m, int n, T *a, int pitch, int *pivots)
{
    const lin_lanes l = lin_lanes_of(m);
    const int least = m < n ? m : n;
    for (int j = 0; j < least; j++) {
        T *column = a + j * pitch;
        const int p = m > LIN_SMALL / 4 ? lin_warp_pivot(m, column, j) : lin_pivot_of(m, column, j);
        __syncwarp();
        if (l.lane == 0)
            pivots[j] = p;
        if (p != j && l.lane < n) {
            const T t = a[l.lane * pitch + j];
            a[l.lane * pitch + j] = a[l.lane * pitch + p];
            a[l.lane * pitch + p] = t;
        }
        __syncwarp();
        const T pivot = column[j];
        const bool zero = lin_re(pivot) == 0 && lin_im(pivot) == 0;
        if (l.group == 0 && l.row > j && l.row < m && !zero)
            column[l.row] = lin_divided(column[l.row], pivot);
        __syncwarp();
        if (l.row > j && l.row < m)
            lin_subtract_from(j + 1 + l.group, l.groups, n, a + l.row, pitch, column[l.row],
                              [&](int c) { return a[c * pitch + j]; });
        __syncwarp();
    }
}

/* The first zero on the diagonal, from 1; 0: there is none. */
template <class T> LIN_FN int lin_zero_of(int n, const T *a, int pitch)
{
    for (int j = 0; j < n; j++) {
        const T e = a[j * pitch + j];
        if (lin_re(e) == 0 && lin_im(e) == 0)
            return j + 1;
    }
    return 0;
}

/* The 2-norm of x (n) without undue overflow or underflow. */
template <class T> LIN_FN LIN_R lin_norm_of(int n, const T *x)
{
    LIN_R sum = 0, most = 0;
    for (int i = 0; i < n; i++)
        sum += lin_square(x[i]);
    if (sum > lin_limits<LIN_R>::tiny / lin_limits<LIN_R>::eps && sum < lin_limits<LIN_R>::huge)
        return lin_root(sum);
    for (int i = 0; i < n; i++) {
        const LIN_R size = lin_size(x[i]);
        if (size != size)
            return size;
        most = size > most ? size : most;
    }
    if (most == 0 || most > lin_limits<LIN_R>::huge)
        return most;
    sum = 0;
    for (int i = 0; i < n; i++)
        sum += lin_square(lin_over(x[i], most));
    return most * lin_root(sum);
}

/* Reflectors 1 - tau v v^H, v[0] = 1, after LAPACK's xLARFG (Golub and Van Loan, Matrix
 * Computations, 5.1), whose signs these are: r on and above the diagonal of a (m, n), the v below
 * it. A lane has a column. */
template <class T> LIN_FN void lin_reflect_of(int m, int n, T *a, int pitch, T *tau)
{
    const int lane = (int)(threadIdx.x & 31), least = m < n ? m : n;
    for (int j = 0; j < least; j++) {
        T *v = a + j * pitch;
        const T head = v[j];
        const LIN_R rest = lin_norm_of(m - j - 1, v + j + 1), re = lin_re(head), im = lin_im(head);
        const bool none = rest == 0 && im == 0;
        const LIN_R size = lin_length(lin_length(re, im), rest);
        const LIN_R beta = re >= 0 ? -size : size;
        const T scale = lin_make<T>(re - beta, im);
        const T turn = none ? lin_make<T>(0, 0) : lin_make<T>((beta - re) / beta, -im / beta);
        __syncwarp();
        if (lane > j && lane < m && !none)
            v[lane] = lin_divided(v[lane], scale);
        if (lane == j) {
            tau[j] = turn;
            v[j] = none ? head : lin_make<T>(beta, 0);
        }
        __syncwarp();
        if (lane > j && lane < n) {
            T *c = a + lane * pitch, sum = c[j];
            for (int i = j + 1; i < m; i++)
                sum = lin_plus(sum, lin_conj(v[i]), c[i]);
            const T factor = lin_times(lin_conj(turn), sum);
            c[j] = lin_plus(c[j], lin_make<T>(-lin_re(factor), -lin_im(factor)));
            for (int i = j + 1; i < m; i++)
                c[i] = lin_minus(c[i], v[i], factor);
        }
        __syncwarp();
    }
}

/* q (m, k) of what lin_reflect_of has left in a (m, n). */
template <class T>
LIN_FN void lin_reflected_of(int m, int n, int k, const T *a, int pitch, const T *tau, T *q)
{
    const int lane = (int)(threadIdx.x & 31), least = m < n ? m : n;
    if (lane < k) {
        T *c = q + lane * pitch;
        for (int i = 0; i < m; i++)
            c[i] = lin_make<T>(i == lane, 0);
        for (int j = least - 1; j >= 0; j--) {
            const T *v = a + j * pitch;
            T sum = c[j];
            for (int i = j + 1; i < m; i++)
                sum = lin_plus(sum, lin_conj(v[i]), c[i]);
            const T factor = lin_times(tau[j], sum);
            c[j] = lin_plus(c[j], lin_make<T>(-lin_re(factor), -lin_im(factor)));
            for (int i = j + 1; i < m; i++)
                c[i] = lin_minus(c[i], v[i], factor);
        }
    }
    __syncwarp();
}

/* ---- a warp's work ---- */

template <class T> LIN_FN int lin_cholesky_item(const lin_small &p, int64_t item, char *room)
{
    const int n = p.m, pitch = LIN_PITCH(n);
    T *a = lin_carve<T>(room, n * pitch), *to = lin_item<T>(p.out[0], item);
    lin_load(p.in[0], lin_item<const T>(p.in[0], item), n, n, LIN_LOWER, false, a, pitch);
    __syncwarp();
    const int failed = lin_cholesky_of(n, a, pitch);
    if (failed)
        lin_store_all(p.out[0], to, n, n, lin_nan<T>());
    else
        lin_store(p.out[0], to, n, n, LIN_LOWER, a, pitch);
    return failed;
}

LIN_FN void lin_store_integer(const lin_side &s, int64_t item, int i, int64_t value)
{
    lin_item<int64_t>(s, item)[i * s.row] = value;
}

template <class T> LIN_FN int lin_lu_item(const lin_small &p, int64_t item, char *room)
{
    const int m = p.m, n = p.n, pitch = LIN_PITCH(m), least = m < n ? m : n;
    const int lane = (int)(threadIdx.x & 31);
    T *a = lin_carve<T>(room, n * pitch);
    int *pivots = lin_carve<int>(room, LIN_SMALL), *perm = lin_carve<int>(room, LIN_SMALL);
    lin_load(p.in[0], lin_item<const T>(p.in[0], item), m, n, LIN_ALL, false, a, pitch);
    if (lane < m)
        perm[lane] = lane;
    __syncwarp();
    lin_lu_of(m, n, a, pitch, pivots);
    for (int i = 0; i < least && lane == 0; i++) {
        const int other = perm[pivots[i]];
        perm[pivots[i]] = perm[i];
        perm[i] = other;
    }
    __syncwarp();
    lin_store(p.out[0], lin_item<T>(p.out[0], item), m, n, LIN_ALL, a, pitch);
    if (lane < least)
        lin_store_integer(p.out[1], item, lane, pivots[lane]);
    if (lane < m)
        lin_store_integer(p.out[2], item, lane, perm[lane]);
    return lin_zero_of(least, a, pitch);
}

template <class T> LIN_FN int lin_qr_item(const lin_small &p, int64_t item, char *room)
{
    const int m = p.m, n = p.n, k = (int)p.k, pitch = LIN_PITCH(m);
    T *a = lin_carve<T>(room, n * pitch), *q = lin_carve<T>(room, k * pitch),
      *tau = lin_carve<T>(room, LIN_SMALL);
    lin_load(p.in[0], lin_item<const T>(p.in[0], item), m, n, LIN_ALL, false, a, pitch);
    __syncwarp();
    lin_reflect_of(m, n, a, pitch, tau);
    if (p.vectors) {
        lin_reflected_of(m, n, k, a, pitch, tau, q);
        lin_store(p.out[0], lin_item<T>(p.out[0], item), m, k, LIN_ALL, q, pitch);
    }
    lin_store(p.out[1], lin_item<T>(p.out[1], item), k, n, LIN_UPPER, a, pitch);
    return 0;
}

#endif
