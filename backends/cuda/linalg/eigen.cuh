/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Jacobi's rotations for small matrices (Golub and Van Loan, Matrix Computations, 8.5 and 8.6.3):
 * eigenvalues of Hermitian ones from both sides, singular values from one. A round rotates pairs
 * that have no row in common, as in a tournament, at once. */
#ifndef NDOCK_CUDA_LINALG_EIGEN_CUH
#define NDOCK_CUDA_LINALG_EIGEN_CUH
#include "linalg/factor.cuh"

enum { LIN_SWEEPS = 40, LIN_PAIRS = LIN_SMALL / 2 };

/* Columns p and q become c p - s conj(u) q and s u p + c q, for u of length one; c is one less s
 * times half, the tangent of half the angle. */
template <class T> struct lin_rotation {
    int p, q;                /* p below 0: there is nothing to do */
    LIN_R half, s, app, aqq; /* app, aqq: what the diagonal becomes */
    T u;
};

/* Who meets in a round of an even number of players. */
LIN_FN void lin_pairing(int players, int round, int k, int *p, int *q)
{
    const int others = players - 1;
    int a = k ? (round + k) % others : others, b = k ? (round + others - k) % others : round;
    *p = a < b ? a : b;
    *q = a < b ? b : a;
}

/* The tangent of the angle of the rotation that makes a matrix with `apart` between its diagonal
 * elements, and `size` beside them, diagonal; its magnitude, and where squares may be out of range. */
template <class R> LIN_FN R lin_tangent(R apart, R size)
{
    const R far = lin_abs(apart), twice = 2 * size;
    return twice / (far + lin_root(lin_fma(apart, apart, twice * twice)));
}
template <class R> LIN_FN R lin_wide_tangent(R apart, R size)
{
    const R far = lin_abs(apart / (2 * size));
    return far > 1 / lin_limits<R>::eps ? (R)0.5 / far
                                        : 1 / (far + lin_root(lin_fma(far, far, (R)1)));
}

/* What makes [app, apq; conj(apq), aqq] diagonal; t: its tangent. */
template <class T>
LIN_FN void lin_rotation_of(LIN_R app, LIN_R aqq, T apq, LIN_R size, LIN_R t, lin_rotation<T> *r)
{
    const LIN_R c = lin_inverse_root(lin_fma(t, t, (LIN_R)1)), tangent = aqq < app ? -t : t;
    r->s = tangent * c;
    r->half = r->s / (1 + c);
    r->app = lin_fma(-tangent, size, app);
    r->aqq = lin_fma(tangent, size, aqq);
    r->u = lin_direction(apq, size);
}

/* Two elements of columns p and q, or with `row` of rows, by the adjoint. As differences, so that
 * small angles round little (Rutishauser, Numerische Mathematik 9, 1966). */
template <class T> LIN_FN void lin_rotate(const lin_rotation<T> &r, bool row, T *p, T *q)
{
    const T x = *p, y = *q, u = row ? lin_conj(r.u) : r.u;
    const T down = lin_plus(lin_scaled(x, r.half), lin_conj(u), y),
            up = lin_minus(lin_scaled(y, r.half), u, x);
    *p = lin_plus(x, lin_scaled(down, -r.s));
    *q = lin_plus(y, lin_scaled(up, -r.s));
}

/* The round's rotations of columns of a (rows, ...). */
template <class T>
LIN_FN void lin_rotate_columns(const lin_rotation<T> *r, int pairs, T *a, int pitch, int rows)
{
    const lin_lanes l = lin_lanes_of(rows);
    for (int k = l.group; k < pairs; k += l.groups)
        if (r[k].p >= 0 && l.row < rows)
            lin_rotate(r[k], false, &a[r[k].p * pitch + l.row], &a[r[k].q * pitch + l.row]);
}

template <class T>
LIN_FN void lin_rotate_rows(const lin_rotation<T> *r, int pairs, T *a, int pitch, int columns)
{
    const lin_lanes l = lin_lanes_of(columns);
    for (int k = l.group; k < pairs; k += l.groups)
        if (r[k].p >= 0 && l.row < columns)
            lin_rotate(r[k], true, &a[l.row * pitch + r[k].p], &a[l.row * pitch + r[k].q]);
}

template <class T> LIN_FN void lin_identity(int n, T *v, int pitch)
{
    const int lane = (int)(threadIdx.x & 31);
    for (int i = 0; i < n && lane < n; i++)
        v[lane * pitch + i] = lin_make<T>(i == lane, 0);
}

/* The Frobenius norm, the same for every lane. */
template <class T> LIN_FN LIN_R lin_whole_norm(int n, const T *a, int pitch, LIN_R *line)
{
    const int lane = (int)(threadIdx.x & 31);
    LIN_R sum = 0;
    for (int i = 0; i < n && lane < n; i++)
        sum += lin_square(a[lane * pitch + i]);
    if (lane < n)
        line[lane] = sum;
    __syncwarp();
    sum = 0;
    for (int j = 0; j < n; j++)
        sum += line[j];
    __syncwarp();
    return lin_root(sum);
}

/* One round on a (n, n) and, if it is there, v. A lane looks at a pair. */
template <class T>
LIN_FN void lin_eigh_round(int n, int round, LIN_R least, T *a, T *v, int pitch, lin_rotation<T> *r,
                           int *moved)
{
    const int lane = (int)(threadIdx.x & 31), players = n + n % 2, pairs = players / 2;
    if (lane < pairs) {
        int p, q;
        lin_pairing(players, round, lane, &p, &q);
        r[lane].p = -1;
        if (q < n) {
            const T apq = a[q * pitch + p];
            const LIN_R size = lin_magnitude(apq);
            if (size > least) {
                r[lane].p = p;
                r[lane].q = q;
                const LIN_R app = lin_re(a[p * pitch + p]), aqq = lin_re(a[q * pitch + q]);
                lin_rotation_of(app, aqq, apq, size, lin_tangent(aqq - app, size), &r[lane]);
                *moved = 1;
            }
        }
    }
    __syncwarp();
    lin_rotate_columns(r, pairs, a, pitch, n);
    if (v)
        lin_rotate_columns(r, pairs, v, pitch, n);
    __syncwarp();
    lin_rotate_rows(r, pairs, a, pitch, n);
    __syncwarp();
    if (lane < pairs && r[lane].p >= 0) {
        const int p = r[lane].p, q = r[lane].q;
        a[p * pitch + p] = lin_make<T>(r[lane].app, 0);
        a[q * pitch + q] = lin_make<T>(r[lane].aqq, 0);
        a[p * pitch + q] = a[q * pitch + p] = lin_make<T>(0, 0);
    }
    __syncwarp();
}

/* Whether it converges: a is diagonal but for rounding. */
template <class T>
LIN_FN bool lin_eigh_of(int n, T *a, T *v, int pitch, lin_rotation<T> *r, LIN_R *line, int *moved)
{
    const int lane = (int)(threadIdx.x & 31), rounds = n + n % 2 - 1;
    const LIN_R least = lin_whole_norm(n, a, pitch, line) * (lin_limits<LIN_R>::eps / (4 * n));
    for (int sweep = 0; sweep < LIN_SWEEPS; sweep++) {
        if (lane == 0)
            *moved = 0;
        __syncwarp();
        for (int round = 0; round < rounds; round++)
            lin_eigh_round(n, round, least, a, v, pitch, r, moved);
        const int again = *moved;
        __syncwarp();
        if (!again)
            return true;
    }
    return false;
}

/* order[i] is the place of the i-th of the values in order: ascending, or descending. */
template <class R> LIN_FN void lin_order(int n, const R *value, bool descending, int *order)
{
    const int lane = (int)(threadIdx.x & 31);
    if (lane < n) {
        int rank = 0;
        for (int j = 0; j < n; j++) {
            const bool before = descending ? value[j] > value[lane] : value[j] < value[lane];
            rank += before || (value[j] == value[lane] && j < lane);
        }
        order[rank] = lane;
    }
    __syncwarp();
}

/* The number of length one whose product with x makes x's component of the largest magnitude (the
 * first of those that are as large but for rounding) real and positive; *at: which one. */
template <class T> LIN_FN T lin_phase(int n, const T *x, int *at)
{
    LIN_R most = 0;
    int i = 0;
    for (int k = 0; k < n; k++) {
        const LIN_R square = lin_square(x[k]);
        most = square > most ? square : most;
    }
    most *= 1 - lin_root(lin_limits<LIN_R>::eps);
    while (i < n - 1 && lin_square(x[i]) < most)
        i++;
    *at = i;
    const LIN_R size = lin_magnitude(x[i]);
    return size > 0 ? lin_over(lin_conj(x[i]), size) : lin_make<T>(1, 0);
}

/* The power of two that a matrix is divided by, so that its largest element is about one. */
template <class R> LIN_FN int lin_power_for(R largest)
{
    return largest > 0 ? lin_exponent(largest) : 0;
}

template <class T> LIN_FN void lin_scale_columns(int rows, int columns, T *a, int pitch, int e)
{
    const int lane = (int)(threadIdx.x & 31);
    for (int i = 0; i < rows && lane < columns && e != 0; i++)
        a[lane * pitch + i] = lin_times_two_to(a[lane * pitch + i], e);
    __syncwarp();
}

/* The matrix of its lower triangle. */
template <class T> LIN_FN void lin_mirror(int n, T *a, int pitch)
{
    const int lane = (int)(threadIdx.x & 31);
    for (int i = 0; i <= lane && lane < n; i++) {
        const T e = a[i * pitch + lane];
        if (i == lane)
            a[i * pitch + i] = lin_make<T>(lin_re(e), 0);
        else
            a[lane * pitch + i] = lin_conj(e);
    }
    __syncwarp();
}

#endif
