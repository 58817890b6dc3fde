/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Singular values of a matrix, which is not wide, by the blocks of a cluster: rotations of columns as
 * in block_svd.cuh, where each block rotates its rows of a and of v. What a rotation is, the blocks
 * find together, and each for itself by the same numbers, so that all go the same way. */
#ifndef NDOCK_CUDA_LINALG_CLUSTER_SVD_CUH
#define NDOCK_CUDA_LINALG_CLUSTER_SVD_CUH
#include "linalg/block_svd.cuh"
#include "linalg/cluster.cuh"

/* What a block has: its rows of a and v, each column after column, v NULL where values alone are
 * wanted; numbers of columns. */
template <class T> struct lin_cluster_svd {
    T *a, *v, *part;
    LIN_R *length, *line; /* line: of a's columns before they were divided by those of v's */
    int *order, *moved;
    int n;
    lin_share rows, rows_v;
    lin_post<LIN_R> post;
    __device__ __forceinline__ T *column(int c) const { return a + c * rows.pitch; }
    __device__ __forceinline__ T *column_v(int c) const { return v + c * rows_v.pitch; }
};

template <class T>
LIN_FN void lin_cluster_turn(const lin_rotation<T> &r, lin_share rows, T *p, T *q)
{
    for (int i = lin_cluster_lane(); i < rows.count; i += LIN_LANES) {
        T x = p[i], y = q[i];
        lin_svd_rotate(r, x, y);
        p[i] = x;
        q[i] = y;
    }
}

template <class T> LIN_FN void lin_cluster_svd_round(lin_cluster_svd<T> &s, int m, int round)
{
    typedef LIN_R R;
    constexpr int PARTS = lin_of<T>::is_complex ? 4 : 3;
    const int players = s.n + s.n % 2;
    const auto local = [&](int k, R(&x)[PARTS]) {
        int p, q;
        lin_pairing(players, round, k, &p, &q);
        T sum = lin_make<T>(0, 0);
        for (int i = lin_cluster_lane(); i < s.rows.count && q < s.n; i += LIN_LANES) {
            const T a = s.column(p)[i], b = s.column(q)[i];
            x[0] = lin_plus_square(x[0], a);
            x[1] = lin_plus_square(x[1], b);
            sum = lin_plus(sum, lin_conj(a), b);
        }
        x[2] = lin_re(sum);
        x[PARTS - 1] = PARTS > 3 ? lin_im(sum) : x[2];
    };
    lin_together<PARTS, lin_sum>(s.post, players / 2, local, [&](int k, const R(&x)[PARTS]) {
        int p, q;
        lin_pairing(players, round, k, &p, &q);
        lin_rotation<T> r;
        if (q >= s.n || !lin_svd_judge(m, x[0], x[1], lin_make<T>(x[2], x[PARTS - 1]), &r))
            return;
        lin_cluster_turn(r, s.rows, s.column(p), s.column(q));
        if (s.v)
            lin_cluster_turn(r, s.rows_v, s.column_v(p), s.column_v(q));
        *s.moved = 1;
    });
}

template <class T> LIN_FN bool lin_cluster_svd_of(lin_cluster_svd<T> &s, int m)
{
    for (int sweep = 0; sweep < LIN_BLOCK_SWEEPS; sweep++) {
        if (threadIdx.x == 0)
            *s.moved = 0;
        __syncthreads();
        for (int round = 0; round < s.n + s.n % 2 - 1; round++)
            lin_cluster_svd_round(s, m, round);
        const int again = *s.moved;
        __syncthreads();
        if (!again)
            return true;
    }
    return false;
}

/* The largest magnitude of each column, or NaN, in every block. */
template <class T> LIN_FN void lin_cluster_mosts(lin_cluster_svd<T> &s, LIN_R *to)
{
    typedef LIN_R R;
    const auto local = [&](int c, R(&x)[1]) {
        for (int i = lin_cluster_lane(); i < s.rows.count; i += LIN_LANES)
            x[0] = lin_most::of(x[0], lin_size(s.column(c)[i]));
    };
    lin_together<1, lin_most>(s.post, s.n, local, [&](int c, const R(&x)[1]) { to[c] = x[0]; });
}

/* The 2-norms of columns, by what their largest elements, in `to`, say of their range. */
template <class T>
LIN_FN void lin_cluster_norms(lin_post<LIN_R> &post, int n, const T *a, lin_share rows, LIN_R *to)
{
    typedef LIN_R R;
    const auto local = [&](int c, R(&x)[1]) {
        const int power = lin_power_for(to[c]);
        for (int i = lin_cluster_lane(); i < rows.count; i += LIN_LANES)
            x[0] = lin_plus_square(x[0], lin_times_two_to(a[c * rows.pitch + i], -power));
    };
    lin_together<1, lin_sum>(post, n, local, [&](int c, const R(&x)[1]) {
        if (lin_cluster_lane() == 0) /* alone: others of a column may not have come so far */
            to[c] = lin_times_power(lin_root(x[0]), lin_power_for(to[c]));
    });
}

template <class T>
LIN_FN void lin_cluster_over(int n, T *a, lin_share rows, const LIN_R *sizes, const int *order)
{
    for (int j = (int)threadIdx.x / LIN_LANES; j < n; j += (int)blockDim.x / LIN_LANES) {
        const int c = order ? order[j] : j;
        for (int i = lin_cluster_lane(); i < rows.count; i += LIN_LANES)
            a[c * rows.pitch + i] = lin_over(a[c * rows.pitch + i], sizes[c]);
    }
    __syncthreads();
}

/* Where the longest column is, and the second ... */
template <class T> LIN_FN void lin_cluster_order(const lin_cluster_svd<T> &s)
{
    for (int c = (int)threadIdx.x; c < s.n; c += (int)blockDim.x) {
        int rank = 0;
        for (int j = 0; j < s.n; j++)
            rank += s.length[j] > s.length[c] || (s.length[j] == s.length[c] && j < c);
        s.order[rank] = c;
    }
    __syncthreads();
}

/* The lengths of a's columns; what many rotations have changed of them they have of v's as well. */
template <class T> LIN_FN void lin_cluster_lengths(lin_cluster_svd<T> &s)
{
    lin_cluster_mosts(s, s.line);
    lin_cluster_norms(s.post, s.n, s.a, s.rows, s.line);
    for (int c = (int)threadIdx.x; c < s.n; c += (int)blockDim.x)
        s.length[c] = 1; /* what the largest element of a column of v is about */
    __syncthreads();
    if (s.v) {
        lin_cluster_norms(s.post, s.n, s.v, s.rows_v, s.length);
        lin_cluster_over(s.n, s.v, s.rows_v, s.length, NULL);
    }
    for (int c = (int)threadIdx.x; c < s.n; c += (int)blockDim.x)
        s.length[c] = s.line[c] / s.length[c];
    __syncthreads();
    lin_cluster_order(s);
}

/* The number of the row that has the least in the first j columns of u. */
template <class T> LIN_FN int lin_cluster_emptiest(lin_cluster_svd<T> &s, int j)
{
    typedef LIN_R R;
    R *const have = s.line + s.n; /* of this block's rows */
    for (int i = (int)threadIdx.x; i < s.rows.count; i += (int)blockDim.x) {
        have[i] = 0;
        for (int k = 0; k < j; k++)
            have[i] += lin_square(s.column(s.order[k])[i]);
    }
    __syncthreads();
    R *const found = s.line; /* nobody asks for the columns' own any more */
    const auto least = [&](int, R(&x)[1]) {
        x[0] = lin_limits<R>::huge;
        for (int i = lin_cluster_lane(); i < s.rows.count; i += LIN_LANES)
            x[0] = lin_least::of(x[0], have[i]);
    };
    const auto keep = [&](int, const R(&x)[1]) { found[0] = x[0]; };
    lin_together<1, lin_least>(s.post, 1, least, keep);
    const R of = found[0];
    __syncthreads();
    const auto first = [&](int, R(&x)[1]) {
        x[0] = lin_limits<R>::huge;
        for (int i = lin_cluster_lane(); i < s.rows.count; i += LIN_LANES)
            if (have[i] == of)
                x[0] = lin_least::of(x[0], (R)(s.rows.first + i));
    };
    lin_together<1, lin_least>(s.post, 1, first, keep);
    const int row = (int)found[0];
    __syncthreads();
    return row;
}

/* Column j of u loses what it has of those before it, and becomes a unit vector. */
template <class T> LIN_FN void lin_cluster_project(lin_cluster_svd<T> &s, int j)
{
    typedef LIN_R R;
    constexpr int PARTS = lin_of<T>::is_complex ? 2 : 1;
    T *const x = s.column(s.order[j]);
    const auto local = [&](int k, R(&sums)[PARTS]) {
        T sum = lin_make<T>(0, 0);
        for (int i = lin_cluster_lane(); i < s.rows.count; i += LIN_LANES)
            sum = lin_plus(sum, lin_conj(s.column(s.order[k])[i]), x[i]);
        sums[PARTS - 1] = lin_im(sum);
        sums[0] = lin_re(sum);
    };
    lin_together<PARTS, lin_sum>(s.post, j, local, [&](int k, const R(&sums)[PARTS]) {
        s.part[k] = lin_make<T>(sums[0], sums[PARTS - 1]);
    });
    for (int i = (int)threadIdx.x; i < s.rows.count; i += (int)blockDim.x)
        for (int k = 0; k < j; k++)
            x[i] = lin_minus(x[i], s.part[k], s.column(s.order[k])[i]);
    __syncthreads();
    if (threadIdx.x == 0)
        s.line[0] = 1;
    __syncthreads();
    lin_cluster_norms(s.post, 1, x, s.rows, s.line);
    for (int i = (int)threadIdx.x; i < s.rows.count; i += (int)blockDim.x)
        x[i] = lin_over(x[i], s.line[0]);
    __syncthreads();
}

/* lin_complete by the cluster. */
template <class T> LIN_FN void lin_cluster_complete(lin_cluster_svd<T> &s, int j)
{
    T *const x = s.column(s.order[j]);
    const int at = lin_cluster_emptiest(s, j);
    for (int i = (int)threadIdx.x; i < s.rows.count; i += (int)blockDim.x)
        x[i] = lin_make<T>(s.rows.first + i == at, 0);
    __syncthreads();
    for (int turn = 0; turn < 3; turn++)
        lin_cluster_project(s, j);
}

template <class T> LIN_FN void lin_cluster_left_vectors(lin_cluster_svd<T> &s)
{
    int good = 0;
    while (good < s.n && s.length[s.order[good]] > lin_short<LIN_R>())
        good++;
    lin_cluster_over(good, s.a, s.rows, s.line, s.order);
    for (int j = good; j < s.n; j++)
        lin_cluster_complete(s, j);
}

/* Rows of a result (.., n): of column j those of the block's column order[j]; NULL: NaN. */
template <class T>
LIN_FN void lin_cluster_store(const lin_side &to, int64_t item, lin_share rows, int n, const T *from,
                              const int *order, bool conj)
{
    T *at = lin_item<T>(to, item);
    lin_block_each(to, rows.count, n, [&](int i, int j) {
        const T e = from ? from[order[j] * rows.pitch + i] : lin_nan<T>();
        at[(rows.first + i) * to.row + j * to.column] = conj ? lin_conj(e) : e;
    });
}

template <class T>
LIN_FN void lin_cluster_load(const lin_small &p, int64_t item, lin_cluster_svd<T> &s)
{
    const T *from = lin_item<const T>(p.in[0], item);
    lin_block_each(p.in[0], s.rows.count, s.n, [&](int i, int j) {
        const T e = from[(s.rows.first + i) * p.in[0].row + j * p.in[0].column];
        s.column(j)[i] = p.conj ? lin_conj(e) : e;
    });
    for (int c = lin_warp(); c < s.n && s.v; c += lin_warps())
        for (int i = lin_lane(); i < s.rows_v.count; i += 32)
            s.column_v(c)[i] = lin_make<T>(s.rows_v.first + i == c, 0);
    lin_cluster_sync(); /* all blocks are there to be told */
}

template <class T> LIN_FN lin_cluster_svd<T> lin_cluster_begin(const lin_small &p, char *room)
{
    typedef LIN_R R;
    const lin_share rows = lin_share_of(p.m), rows_v = lin_share_of(p.n);
    lin_cluster_svd<T> s = {.n = p.n, .rows = rows, .rows_v = rows_v};
    s.a = lin_carve<T>(room, p.n * rows.pitch);
    s.v = p.vectors ? lin_carve<T>(room, p.n * rows_v.pitch) : NULL;
    s.part = lin_carve<T>(room, p.n);
    s.post.place[0] = lin_carve<R>(room, LIN_CLUSTER_POST(p.n));
    s.post.place[1] = lin_carve<R>(room, LIN_CLUSTER_POST(p.n));
    s.length = lin_carve<R>(room, p.n);
    s.line = lin_carve<R>(room, p.n + rows.pitch);
    s.order = lin_carve<int>(room, p.n);
    s.moved = lin_carve<int>(room, 1);
    return s;
}

template <class T> LIN_FN int lin_cluster_svd_item(const lin_small &p, int64_t item, char *room)
{
    typedef LIN_R R;
    lin_cluster_svd<T> s = lin_cluster_begin<T>(p, room);
    R *values = lin_item<R>(p.out[1], item), largest = 0;
    lin_cluster_load(p, item, s);
    lin_cluster_mosts(s, s.line);
    for (int c = 0; c < s.n; c++)
        largest = lin_most::of(largest, s.line[c]);
    const bool finite = largest <= lin_limits<R>::huge;
    const int power = finite ? lin_power_for(largest) : 0;
    for (int c = lin_warp(); c < s.n && power != 0; c += lin_warps())
        for (int i = lin_lane(); i < s.rows.count; i += 32)
            s.column(c)[i] = lin_times_two_to(s.column(c)[i], -power);
    __syncthreads();
    const bool done = finite && lin_cluster_svd_of(s, p.m);
    if (done)
        lin_cluster_lengths(s);
    for (int i = (int)threadIdx.x; i < s.n && lin_rank() == 0; i += (int)blockDim.x)
        values[i * p.out[1].row] = done ? lin_times_power(s.length[s.order[i]], power) : (R)NAN;
    if (done && s.v)
        lin_cluster_left_vectors(s);
    if (s.v) {
        lin_cluster_store(p.out[0], item, s.rows, s.n, done ? s.a : NULL, s.order, p.conj_out == 0);
        lin_cluster_store(p.out[2], item, s.rows_v, s.n, done ? s.v : NULL, s.order,
                          p.conj_out == 2);
    }
    return finite && !done ? LIN_NOT_CONVERGED : 0;
}

#endif
