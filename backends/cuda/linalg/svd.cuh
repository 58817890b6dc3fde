/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Singular values of small matrices, which are not wide, by rotations of their columns. */
#ifndef NDOCK_CUDA_LINALG_SVD_CUH
#define NDOCK_CUDA_LINALG_SVD_CUH
#include "linalg/eigen.cuh"

/* Columns shorter than this, of a matrix whose largest element is about one, count as zero: they
 * are what rounding has left of dependent columns, and have no direction. */
template <class R> LIN_FN R lin_short()
{
    return lin_limits<R>::eps / 1024;
}

/* One round on a (m, n) and, if it is there, v (n, n). */
template <class T>
LIN_FN void lin_svd_round(int m, int n, int round, T *a, int pitch, T *v, int pitch_v,
                          lin_rotation<T> *r, int *moved)
{
    const int lane = (int)(threadIdx.x & 31), players = n + n % 2, pairs = players / 2;
    if (lane < pairs) {
        int p, q;
        lin_pairing(players, round, lane, &p, &q);
        r[lane].p = -1;
        if (q < n) {
            LIN_R app = 0, aqq = 0;
            T apq = lin_make<T>(0, 0);
            for (int i = 0; i < m; i++) {
                const T x = a[p * pitch + i], y = a[q * pitch + i];
                app += lin_square(x);
                aqq += lin_square(y);
                apq = lin_plus(apq, lin_conj(x), y);
            }
            const LIN_R size = lin_magnitude(apq);
            const LIN_R least = lin_root((LIN_R)(m > 16 ? m : 16)) * lin_limits<LIN_R>::eps *
                                lin_root(app) * lin_root(aqq);
            const LIN_R shorter = app < aqq ? app : aqq;
            if (size > least && shorter > lin_short<LIN_R>() * lin_short<LIN_R>()) {
                r[lane].p = p;
                r[lane].q = q;
                lin_rotation_of(app, aqq, apq, size, lin_wide_tangent(aqq - app, size), &r[lane]);
                *moved = 1;
            }
        }
    }
    __syncwarp();
    lin_rotate_columns(r, pairs, a, pitch, m);
    if (v)
        lin_rotate_columns(r, pairs, v, pitch_v, n);
    __syncwarp();
}

template <class T>
LIN_FN bool lin_svd_of(int m, int n, T *a, int pitch, T *v, int pitch_v, lin_rotation<T> *r,
                       int *moved)
{
    const int lane = (int)(threadIdx.x & 31), rounds = n + n % 2 - 1;
    for (int sweep = 0; sweep < LIN_SWEEPS; sweep++) {
        if (lane == 0)
            *moved = 0;
        __syncwarp();
        for (int round = 0; round < rounds; round++)
            lin_svd_round(m, n, round, a, pitch, v, pitch_v, r, moved);
        const int again = *moved;
        __syncwarp();
        if (!again)
            return true;
    }
    return false;
}

/* Columns of u in order: those of a matrix's n by `order`, and then what follows them. */
LIN_FN int lin_column(const int *order, int n, int j)
{
    return j < n ? order[j] : j;
}

/* Column j of u (m, ...) becomes a unit vector orthogonal to those before it: of the unit vector
 * that they contain least of, what is left of it, twice (Kahan's rule; Parlett, The Symmetric
 * Eigenvalue Problem, 6.9). */
template <class T>
LIN_FN void lin_complete(int m, int n, int j, T *u, int pitch, const int *order, T *part,
                         LIN_R *line)
{
    const int lane = (int)(threadIdx.x & 31);
    T *x = u + lin_column(order, n, j) * pitch;
    if (lane < m) {
        LIN_R have = 0;
        for (int k = 0; k < j; k++)
            have += lin_square(u[lin_column(order, n, k) * pitch + lane]);
        line[lane] = have;
    }
    __syncwarp();
    int at = 0;
    for (int i = 1; i < m; i++)
        at = line[i] < line[at] ? i : at;
    if (lane < m)
        x[lane] = lin_make<T>(lane == at, 0);
    __syncwarp();
    for (int turn = 0; turn < 3; turn++) {
        if (lane < j) {
            const T *y = u + lin_column(order, n, lane) * pitch;
            T sum = lin_make<T>(0, 0);
            for (int i = 0; i < m; i++)
                sum = lin_plus(sum, lin_conj(y[i]), x[i]);
            part[lane] = sum;
        }
        __syncwarp();
        for (int k = 0; k < j && lane < m; k++)
            x[lane] = lin_minus(x[lane], part[k], u[lin_column(order, n, k) * pitch + lane]);
        __syncwarp();
        const LIN_R size = lin_norm_of(m, x);
        __syncwarp();
        if (lane < m)
            x[lane] = lin_over(x[lane], size);
        __syncwarp();
    }
}

/* u's columns of a's, whose lengths are about those in line. Those too short to have a direction
 * are made. */
template <class T>
LIN_FN void lin_left_vectors(int m, int n, int k, T *a, int pitch, const int *order, T *part,
                             LIN_R *line)
{
    const int lane = (int)(threadIdx.x & 31);
    int good = 0;
    while (good < n && line[order[good]] > lin_short<LIN_R>())
        good++;
    for (int j = lane; j < good; j += 32) {
        T *x = a + order[j] * pitch;
        const LIN_R size = lin_norm_of(m, x);
        for (int i = 0; i < m; i++)
            x[i] = lin_over(x[i], size);
    }
    __syncwarp();
    for (int j = good; j < k; j++)
        lin_complete(m, n, j, a, pitch, order, part, line);
}

template <class T>
LIN_FN void lin_svd_store(const lin_small &p, int64_t item, const T *u, int pitch, const T *v,
                          int pitch_v, const int *order)
{
    const int m = p.m, n = p.n, k = (int)p.k;
    T *to_u = lin_item<T>(p.out[0], item), *to_v = lin_item<T>(p.out[2], item);
    lin_each(p.out[0], m, k, [&](int i, int j) {
        const T e = u[lin_column(order, n, j) * pitch + i];
        to_u[i * p.out[0].row + j * p.out[0].column] = p.conj_out == 0 ? lin_conj(e) : e;
    });
    lin_each(p.out[2], n, n, [&](int i, int j) {
        const T e = v[order[j] * pitch_v + i];
        to_v[i * p.out[2].row + j * p.out[2].column] = p.conj_out == 2 ? lin_conj(e) : e;
    });
}

template <class T> LIN_FN int lin_svd_item(const lin_small &p, int64_t item, char *room)
{
    typedef LIN_R R;
    const int m = p.m, n = p.n, k = (int)p.k, lane = (int)(threadIdx.x & 31);
    const int pitch = LIN_PITCH(m), pitch_v = LIN_PITCH(n), most = k > n ? k : n;
    T *a = lin_carve<T>(room, most * pitch);
    T *v = p.vectors ? lin_carve<T>(room, n * pitch_v) : NULL;
    lin_rotation<T> *r = lin_carve<lin_rotation<T>>(room, LIN_PAIRS);
    T *part = lin_carve<T>(room, LIN_SMALL);
    R *line = lin_carve<R>(room, LIN_SMALL), *s = lin_item<R>(p.out[1], item);
    int *order = lin_carve<int>(room, LIN_SMALL), *moved = lin_carve<int>(room, 1);
    lin_load(p.in[0], lin_item<const T>(p.in[0], item), m, n, LIN_ALL, p.conj != 0, a, pitch);
    __syncwarp();
    const R largest = lin_largest(a, pitch, m, n, line);
    const bool finite = largest <= lin_limits<R>::huge;
    const int power = finite ? lin_power_for(largest) : 0;
    bool done = false;
    if (finite) {
        lin_scale_columns(m, n, a, pitch, -power);
        if (v)
            lin_identity(n, v, pitch_v);
        __syncwarp();
        done = lin_svd_of(m, n, a, pitch, v, pitch_v, r, moved);
    }
    if (!done) {
        if (lane < n)
            s[lane * p.out[1].row] = (R)NAN;
        if (v) {
            lin_store_all(p.out[0], lin_item<T>(p.out[0], item), m, k, lin_nan<T>());
            lin_store_all(p.out[2], lin_item<T>(p.out[2], item), n, n, lin_nan<T>());
        }
        return finite ? LIN_NOT_CONVERGED : 0;
    }
    if (lane < n) { /* what many rotations have changed of a's lengths they have of v's as well */
        const R length = v ? lin_norm_of(n, v + lane * pitch_v) : 1;
        line[lane] = lin_norm_of(m, a + lane * pitch) / length;
        for (int i = 0; i < n && v; i++)
            v[lane * pitch_v + i] = lin_over(v[lane * pitch_v + i], length);
    }
    __syncwarp();
    lin_order(n, line, true, order);
    if (lane < n)
        s[lane * p.out[1].row] = lin_times_power(line[order[lane]], power);
    if (!v)
        return 0;
    __syncwarp();
    lin_left_vectors(m, n, k, a, pitch, order, part, line);
    lin_svd_store(p, item, a, pitch, v, pitch_v, order);
    return 0;
}

#endif
