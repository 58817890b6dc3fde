/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Singular values of a block's matrix, which is not wide, by rotations of its columns as in svd.cuh:
 * half a warp has a pair of columns in registers, and all pairs of a round are rotated between two
 * barriers. v, which each round reads and writes as a, but only once, is in shared memory beside it,
 * or, where that has no room for both, in scratch memory, which then is the second-level cache. */
#ifndef NDOCK_CUDA_LINALG_BLOCK_SVD_CUH
#define NDOCK_CUDA_LINALG_BLOCK_SVD_CUH
#include "linalg/block.cuh"
#include "linalg/svd.cuh"

enum {
    LIN_PAIR_LANES = 16,   /* which have a pair of columns */
    LIN_BLOCK_SWEEPS = 120 /* most of them; 128 rows that fall off by 10^-20 take 39 */
};

/* The sum of x over so many lanes that have a pair, the same bits for each of them. */
template <int LANES, class T> LIN_FN T lin_pair_sum(T x)
{
    for (int apart = LANES / 2; apart > 0; apart /= 2)
        x = lin_plus(x, lin_shuffle_xor(x, apart));
    return x;
}

/* What of a column its lanes have: row LIN_PAIR_LANES k + lane in at[k], and zero beyond the last. */
template <class T, int EACH> struct lin_column_part {
    T at[EACH];
};
template <class T, int EACH>
LIN_FN void lin_part_load(lin_column_part<T, EACH> &x, int m, const T *from)
{
    LIN_UNROLL
    for (int k = 0; k < EACH; k++) {
        const int i = LIN_PAIR_LANES * k + (int)threadIdx.x % LIN_PAIR_LANES;
        x.at[k] = i < m ? from[i] : lin_make<T>(0, 0);
    }
}
template <class T, int EACH>
LIN_FN void lin_part_store(const lin_column_part<T, EACH> &x, int m, T *to)
{
    LIN_UNROLL
    for (int k = 0; k < EACH; k++) {
        const int i = LIN_PAIR_LANES * k + (int)threadIdx.x % LIN_PAIR_LANES;
        if (i < m)
            to[i] = x.at[k];
    }
}
template <class T, int EACH>
LIN_FN void lin_part_rotate(const lin_rotation<T> &r, lin_column_part<T, EACH> &x,
                            lin_column_part<T, EACH> &y)
{
    LIN_UNROLL
    for (int k = 0; k < EACH; k++) { /* lin_rotate's formula, with fewer roundings */
        const T p = x.at[k], q = y.at[k], down = lin_plus(lin_scaled(p, r.half), lin_conj(r.u), q),
                up = lin_minus(lin_scaled(q, r.half), r.u, p);
        x.at[k] = lin_minus_scaled(p, down, r.s);
        y.at[k] = lin_minus_scaled(q, up, r.s);
    }
}

/* The squares of the lengths of two columns, and what they have in common. */
template <class T> struct lin_products {
    LIN_R app, aqq;
    T apq;
};
/* Of columns that LANES lanes have. All lanes of a warp take part. */
template <int LANES, class T, int EACH>
LIN_FN lin_products<T> lin_products_of(const lin_column_part<T, EACH> &x,
                                       const lin_column_part<T, EACH> &y)
{
    lin_products<T> g = {0, 0, lin_make<T>(0, 0)};
    LIN_UNROLL
    for (int k = 0; k < EACH; k++) {
        g.app = lin_plus_square(g.app, x.at[k]);
        g.aqq = lin_plus_square(g.aqq, y.at[k]);
        g.apq = lin_plus(g.apq, lin_conj(x.at[k]), y.at[k]);
    }
    g.app = lin_pair_sum<LANES>(g.app);
    g.aqq = lin_pair_sum<LANES>(g.aqq);
    g.apq = lin_pair_sum<LANES>(g.apq);
    return g;
}

/* The product of the columns' lengths where they are to be rotated, *r: how; else 0. */
template <class T> LIN_FN LIN_R lin_svd_turns(int m, const lin_products<T> &g, lin_rotation<T> *r)
{
    const LIN_R size = lin_magnitude(g.apq), shorter = g.app < g.aqq ? g.app : g.aqq;
    /* A quarter of what dgesvj takes for rows that are no fewer: u is as far from orthogonal as
     * the columns are left, and within twice of what bidiagonal forms leave. */
    const LIN_R units = lin_root((LIN_R)m) / 4, whole = lin_root(g.app * g.aqq);
    const LIN_R least = (units > 2 ? units : 2) * lin_limits<LIN_R>::eps * whole;
    if (!(size > least && shorter > lin_short<LIN_R>() * lin_short<LIN_R>()))
        return 0;
    lin_rotation_of(g.app, g.aqq, g.apq, size, lin_wide_tangent(g.aqq - g.app, size), r);
    return whole;
}

/* Two columns of v. */
template <int EACH, class T> LIN_FN void lin_svd_turn(int n, const lin_rotation<T> &r, T *p, T *q)
{
    lin_column_part<T, EACH> x, y;
    lin_part_load(x, n, p);
    lin_part_load(y, n, q);
    lin_part_rotate(r, x, y);
    lin_part_store(x, n, p);
    lin_part_store(y, n, q);
}

/* A round on a (m, n), and on v (n, n) if it is there; m <= LIN_PAIR_LANES EACH. *moved becomes 1
 * where columns were rotated. */
template <int EACH, class T>
LIN_FN void lin_block_svd_round(int m, int n, int round, T *a, int pitch, T *v, int pitch_v,
                                int *moved)
{
    const int players = n + n % 2, pairs = players / 2, group = (int)threadIdx.x / LIN_PAIR_LANES;
    const int groups = (int)blockDim.x / LIN_PAIR_LANES, others = 32 / LIN_PAIR_LANES - 1;
    for (int k = group; k < ((pairs + others) & ~others); k += groups) {
        int p = 0, q = n;
        if (k < pairs)
            lin_pairing(players, round, k, &p, &q);
        const int have = q < n ? m : 0; /* rows of the pair, if there is one */
        lin_column_part<T, EACH> x, y;
        lin_part_load(x, have, a + p * pitch);
        lin_part_load(y, have, a + q * pitch);
        lin_rotation<T> r;
        if (lin_svd_turns(m, lin_products_of<LIN_PAIR_LANES>(x, y), &r) > 0) {
            lin_part_rotate(r, x, y);
            lin_part_store(x, m, a + p * pitch);
            lin_part_store(y, m, a + q * pitch);
            if (v)
                lin_svd_turn<EACH>(n, r, v + p * pitch_v, v + q * pitch_v);
            *moved = 1;
        }
        __syncwarp();
    }
    __syncthreads();
}

/* Rounds in which every pair meets, until none has to be rotated; false: they do not come to an
 * end. */
template <int EACH, class T>
LIN_FN bool lin_block_svd_of(int m, int n, T *a, int pitch, T *v, int pitch_v, int *moved)
{
    for (int sweep = 0; sweep < LIN_BLOCK_SWEEPS; sweep++) {
        if (threadIdx.x == 0)
            *moved = 0;
        __syncthreads();
        for (int round = 0; round < n + n % 2 - 1; round++)
            lin_block_svd_round<EACH>(m, n, round, a, pitch, v, pitch_v, moved);
        const int again = *moved;
        __syncthreads();
        if (!again)
            return true;
    }
    return false;
}

/* The largest magnitude, or NaN, the same for all threads. line: a number a column. */
template <class T> LIN_FN LIN_R lin_block_largest(int m, int n, const T *a, int pitch, LIN_R *line)
{
    for (int c = lin_warp(); c < n; c += lin_warps()) {
        LIN_R most = 0;
        for (int i = lin_lane(); i < m; i += 32) {
            const LIN_R size = lin_size(a[c * pitch + i]);
            most = size > most || size != size ? size : most;
        }
        most = lin_warp_most(most);
        if (lin_lane() == 0)
            line[c] = most;
    }
    __syncthreads();
    LIN_R most = 0;
    for (int c = 0; c < n; c++)
        most = line[c] > most || line[c] != line[c] ? line[c] : most;
    __syncthreads();
    return most;
}

/* a times a power of two; v becomes the identity. */
template <class T>
LIN_FN void lin_block_svd_begin(int m, int n, int power, T *a, int pitch, T *v, int pitch_v)
{
    for (int c = lin_warp(); c < n; c += lin_warps()) {
        for (int i = lin_lane(); i < m && power != 0; i += 32)
            a[c * pitch + i] = lin_times_two_to(a[c * pitch + i], -power);
        for (int i = lin_lane(); i < n && v; i += 32)
            v[c * pitch_v + i] = lin_make<T>(i == c, 0);
    }
    __syncthreads();
}

template <class T> LIN_FN void lin_warp_over(int n, T *x, LIN_R size)
{
    for (int i = lin_lane(); i < n; i += 32)
        x[i] = lin_over(x[i], size);
    __syncwarp();
}

/* The lengths of a's columns, and which is the longest, the second ... What many rotations have
 * changed of them they have of v's as well. */
template <class T>
LIN_FN void lin_block_lengths(int m, int n, const T *a, int pitch, T *v, int pitch_v, LIN_R *line,
                              int *order)
{
    for (int c = lin_warp(); c < n; c += lin_warps()) {
        const LIN_R own = lin_warp_norm(0, m, a + c * pitch);
        const LIN_R length = v ? lin_warp_norm(0, n, v + c * pitch_v) : 1;
        __syncwarp();
        if (lin_lane() == 0)
            line[c] = own / length;
        if (v)
            lin_warp_over(n, v + c * pitch_v, length);
    }
    __syncthreads();
    for (int c = (int)threadIdx.x; c < n; c += (int)blockDim.x) {
        int rank = 0;
        for (int j = 0; j < n; j++)
            rank += line[j] > line[c] || (line[j] == line[c] && j < c);
        order[rank] = c;
    }
    __syncthreads();
}

/* lin_complete for more rows, by a warp. part, line: a number each for columns and rows. */
template <class T>
LIN_FN void lin_warp_complete(int m, int n, int j, T *u, int pitch, const int *order, T *part,
                              LIN_R *line)
{
    T *x = u + lin_column(order, n, j) * pitch;
    for (int i = lin_lane(); i < m; i += 32) {
        LIN_R have = 0;
        for (int k = 0; k < j; k++)
            have += lin_square(u[lin_column(order, n, k) * pitch + i]);
        line[i] = have;
    }
    __syncwarp();
    int at = 0;
    for (int i = 1; i < m; i++)
        at = line[i] < line[at] ? i : at;
    for (int i = lin_lane(); i < m; i += 32)
        x[i] = lin_make<T>(i == at, 0);
    __syncwarp();
    for (int turn = 0; turn < 3; turn++) {
        for (int k = lin_lane(); k < j; k += 32) {
            const T *y = u + lin_column(order, n, k) * pitch;
            T sum = lin_make<T>(0, 0);
            for (int i = 0; i < m; i++)
                sum = lin_plus(sum, lin_conj(y[i]), x[i]);
            part[k] = sum;
        }
        __syncwarp();
        for (int i = lin_lane(); i < m; i += 32)
            for (int k = 0; k < j; k++)
                x[i] = lin_minus(x[i], part[k], u[lin_column(order, n, k) * pitch + i]);
        __syncwarp();
        const LIN_R size = lin_warp_norm(0, m, x);
        __syncwarp();
        lin_warp_over(m, x, size);
    }
}

template <class T>
LIN_FN void lin_block_left_vectors(int m, int n, int k, T *a, int pitch, const int *order, T *part,
                                   const LIN_R *length, LIN_R *line)
{
    int good = 0;
    while (good < n && length[order[good]] > lin_short<LIN_R>())
        good++;
    for (int j = lin_warp(); j < good; j += lin_warps()) {
        T *x = a + order[j] * pitch;
        const LIN_R size = lin_warp_norm(0, m, x);
        __syncwarp();
        lin_warp_over(m, x, size);
    }
    __syncthreads();
    for (int j = good; j < k && lin_warp() == 0; j++)
        lin_warp_complete(m, n, j, a, pitch, order, part, line);
    __syncthreads();
}

template <class T>
LIN_FN void lin_block_svd_store(const lin_small &p, int64_t item, const T *u, int pitch, const T *v,
                                int pitch_v, const int *order)
{
    const int m = p.m, n = p.n, k = (int)p.k;
    T *to_u = lin_item<T>(p.out[0], item), *to_v = lin_item<T>(p.out[2], item);
    lin_block_each(p.out[0], m, k, [&](int i, int j) {
        const T e = u[lin_column(order, n, j) * pitch + i];
        to_u[i * p.out[0].row + j * p.out[0].column] = p.conj_out == 0 ? lin_conj(e) : e;
    });
    lin_block_each(p.out[2], n, n, [&](int i, int j) {
        const T e = v[order[j] * pitch_v + i];
        to_v[i * p.out[2].row + j * p.out[2].column] = p.conj_out == 2 ? lin_conj(e) : e;
    });
}

/* Where v is, if it is asked for: in scratch memory, or what is next in shared memory. */
template <class T>
LIN_FN T *lin_block_svd_v(const lin_small &p, int64_t item, char *&room, int *pitch)
{
    *pitch = p.in[1].at ? (int)p.in[1].column : LIN_PITCH(p.n);
    if (p.in[1].at)
        return lin_item<T>(p.in[1], item);
    return p.vectors ? lin_carve<T>(room, p.n * *pitch) : NULL;
}

template <class T> LIN_FN int lin_block_svd_item(const lin_small &p, int64_t item, char *room)
{
    typedef LIN_R R;
    const int m = p.m, n = p.n, k = (int)p.k, thread = (int)threadIdx.x;
    const int pitch = LIN_PITCH(m), most = k > n ? k : n;
    int pitch_v;
    T *a = lin_carve<T>(room, most * pitch);
    T *v = lin_block_svd_v<T>(p, item, room, &pitch_v);
    T *part = lin_carve<T>(room, LIN_BLOCK_ROWS);
    R *length = lin_carve<R>(room, LIN_BLOCK_ROWS), *line = lin_carve<R>(room, LIN_BLOCK_ROWS);
    int *order = lin_carve<int>(room, LIN_BLOCK_ROWS), *moved = lin_carve<int>(room, 1);
    R *s = lin_item<R>(p.out[1], item);
    lin_block_load(p.in[0], item, m, n, LIN_ALL, p.conj != 0, a, pitch);
    __syncthreads();
    const R largest = lin_block_largest(m, n, a, pitch, line);
    const bool finite = largest <= lin_limits<R>::huge;
    const int power = finite ? lin_power_for(largest) : 0;
    bool done = false;
    if (finite) {
        lin_block_svd_begin(m, n, power, a, pitch, v, pitch_v);
        lin_by_parts(m, [&](auto parts) {
            constexpr int EACH = 32 / LIN_PAIR_LANES * decltype(parts)::count;
            done = lin_block_svd_of<EACH>(m, n, a, pitch, v, pitch_v, moved);
        });
    }
    if (!done) {
        for (int i = thread; i < n; i += (int)blockDim.x)
            s[i * p.out[1].row] = (R)NAN;
        if (v) {
            lin_block_fill(p.out[0], item, m, k, lin_nan<T>());
            lin_block_fill(p.out[2], item, n, n, lin_nan<T>());
        }
        return finite ? LIN_NOT_CONVERGED : 0;
    }
    lin_block_lengths(m, n, a, pitch, v, pitch_v, length, order);
    for (int i = thread; i < n; i += (int)blockDim.x)
        s[i * p.out[1].row] = lin_times_power(length[order[i]], power);
    if (!v)
        return 0;
    lin_block_left_vectors(m, n, k, a, pitch, order, part, length, line);
    lin_block_svd_store(p, item, a, pitch, v, pitch_v, order);
    return 0;
}

#endif
