/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Singular values of the matrix of a cluster, in double precision, by rotations of its columns as in
 * block_svd.cuh.
 *
 * Many rotations leave v as far from orthogonal as they have rounded. So v, once the columns of a v
 * are nearly orthogonal, is made orthogonal by a step of Newton's method (Bjorck and Bowie, SIAM
 * Journal on Numerical Analysis 8, 1971), a v is computed anew, and what few rotations are left are
 * made on that. Of operands in single precision the first part is precise enough.
 * Kernels are there from compute capability 9.0 on. */
#ifndef NDOCK_CUDA_LINALG_CLUSTER_SVD_CUH
#define NDOCK_CUDA_LINALG_CLUSTER_SVD_CUH
#include "linalg/cluster_seats.cuh"

/* ---- before rotations, and between them ---- */

/* The largest magnitude of all blocks' columns, or NaN, where each pair's warp has its own. */
template <class P>
LIN_FN typename lin_of<P>::real lin_cluster_most(const lin_seats<P> &g,
                                                 typename lin_of<P>::real own)
{
    lin_cluster_say(g.lengths + g.pair, lin_warp_most(own));
    lin_cluster_sync();
    auto most = own;
    for (int k = lin_lane(); k < g.pairs; k += 32)
        most = g.lengths[k] > most || g.lengths[k] != g.lengths[k] ? g.lengths[k] : most;
    most = lin_warp_most(most);
    lin_cluster_sync();
    return most;
}

/* Columns of the operand, which is not scaled yet; seats beyond the last have zeros. */
template <class T, int EACH, class P>
LIN_FN typename lin_of<P>::real lin_column_read(const lin_small &p, int64_t item, int column,
                                                lin_column_part<P, EACH> &x)
{
    const T *from = lin_item<const T>(p.in[0], item) + column * p.in[0].column;
    typename lin_of<P>::real most = 0;
    LIN_UNROLL
    for (int k = 0; k < EACH; k++) {
        const int i = 32 * k + lin_lane();
        x.at[k] = lin_make<P>(0, 0);
        if (i < p.m && column < p.n) {
            const T e = from[i * p.in[0].row];
            x.at[k] = lin_make<P>(lin_re(e), p.conj ? -lin_im(e) : lin_im(e));
        }
        const auto size = lin_size(x.at[k]);
        most = size > most || size != size ? size : most;
    }
    return most;
}

/* a comes into the seats and, scaled as there, into scratch memory; v is the identity. false: a has
 * elements that are not finite. */
template <class T, int EACH, class P>
LIN_FN bool lin_cluster_begin(const lin_small &p, int64_t item, lin_seats<P> &g, int *power)
{
    typedef typename lin_of<P>::real R;
    lin_column_part<P, EACH> x[2];
    R most = 0;
    LIN_UNROLL
    for (int side = 0; side < 2; side++) {
        const R size = lin_column_read<T>(p, item, 2 * g.pair + side, x[side]);
        most = size > most || size != size ? size : most;
    }
    const R largest = lin_cluster_most(g, most);
    if (!(largest <= lin_limits<R>::huge))
        return false;
    *power = lin_power_for(largest);
    LIN_UNROLL
    for (int side = 0; side < 2; side++) {
        const int column = 2 * g.pair + side;
        P *kept = lin_item<P>(p.in[1], item) + column * p.in[1].column; /* if it is there */
        LIN_UNROLL
        for (int k = 0; k < EACH; k++) {
            const int i = 32 * k + lin_lane();
            x[side].at[k] = lin_times_two_to(x[side].at[k], -*power);
            g.mine[side][i] = x[side].at[k];
            g.mine[side][32 * EACH + i] = lin_make<P>(i == column && column < p.n, 0);
            if (i < p.m && column < p.n && p.in[1].at)
                kept[i] = x[side].at[k];
        }
    }
    lin_cluster_sync();
    return true;
}

/* x + v (1 - v^H v) x / 2 for the warp's columns x of v. */
template <int EACH, class P>
LIN_FN void lin_cluster_orthogonal(const lin_seats<P> &g, int from,
                                   lin_column_part<P, EACH> (&x)[2])
{
    const int seats = 2 * g.pairs;
    lin_column_part<P, EACH> more[2];
    LIN_UNROLL
    for (int side = 0; side < 2; side++)
        for (int k = 0; k < EACH; k++)
            more[side].at[k] = lin_make<P>(0, 0);
    /* All warps begin with their own seats, and so with different ones. */
    for (int i = 0; i < seats; i++) {
        const int seat = (2 * g.pair + i) % seats;
        lin_column_part<P, EACH> y;
        lin_seat_load(y, lin_seat_at<EACH>(g, seat) + from + 32 * EACH);
        LIN_UNROLL
        for (int side = 0; side < 2; side++) {
            P have = lin_make<P>(0, 0);
            LIN_UNROLL
            for (int k = 0; k < EACH; k++)
                have = lin_plus(have, lin_conj(y.at[k]), x[side].at[k]);
            have = lin_warp_sum(have);
            const P lacks =
                lin_plus(lin_make<P>(i == side, 0), lin_make<P>(-lin_re(have), -lin_im(have)));
            LIN_UNROLL
            for (int k = 0; k < EACH; k++)
                more[side].at[k] = lin_plus(more[side].at[k], y.at[k], lacks);
        }
    }
    LIN_UNROLL
    for (int side = 0; side < 2; side++)
        LIN_UNROLL
    for (int k = 0; k < EACH; k++)
        x[side].at[k] =
            lin_plus(x[side].at[k], lin_scaled(more[side].at[k], (typename lin_of<P>::real)0.5));
}

/* a v for the warp's columns x of v. */
template <int EACH, class P>
LIN_FN void lin_cluster_product(const lin_seats<P> &g, const P *a, int64_t apart,
                                const lin_column_part<P, EACH> (&x)[2],
                                lin_column_part<P, EACH> (&product)[2])
{
    LIN_UNROLL
    for (int side = 0; side < 2; side++)
        for (int k = 0; k < EACH; k++)
            product[side].at[k] = lin_make<P>(0, 0);
    LIN_UNROLL
    for (int part = 0; part < EACH; part++)
        for (int lane = 0; lane < 32 && 32 * part + lane < g.n; lane++) {
            const P *column = a + (32 * part + lane) * apart;
            const P left = lin_shuffle(x[0].at[part], lane),
                    right = lin_shuffle(x[1].at[part], lane);
            LIN_UNROLL
            for (int k = 0; k < EACH; k++) {
                const int i = 32 * k + lin_lane();
                const P e = i < g.m ? column[i] : lin_make<P>(0, 0);
                product[0].at[k] = lin_plus(product[0].at[k], e, left);
                product[1].at[k] = lin_plus(product[1].at[k], e, right);
            }
        }
}

/* v becomes orthogonal, and a v is computed anew. */
template <int EACH, class P>
LIN_FN void lin_cluster_renew(const lin_small &p, int64_t item, lin_seats<P> &g)
{
    const int from = g.turn % 2 * g.apart, to = g.apart - from;
    lin_column_part<P, EACH> x[2], product[2];
    LIN_UNROLL
    for (int side = 0; side < 2; side++)
        lin_seat_load(x[side], g.mine[side] + from + 32 * EACH);
    lin_cluster_orthogonal(g, from, x);
    lin_cluster_product(g, lin_item<const P>(p.in[1], item), p.in[1].column, x, product);
    LIN_UNROLL
    for (int side = 0; side < 2; side++) {
        lin_seat_store(product[side], g.mine[side] + to);
        lin_seat_store(x[side], g.mine[side] + to + 32 * EACH);
    }
    g.turn++;
    lin_cluster_sync();
}

/* ---- results ---- */

/* The sum of the lanes' counts. */
LIN_FN int lin_warp_count(int x)
{
    for (int apart = 16; apart > 0; apart /= 2)
        x += lin_shuffle_xor(x, apart);
    return x;
}

/* Of column `rank` of u or v. */
template <class T, class P>
LIN_FN void lin_column_write(const lin_side &s, int64_t item, int rank, int rows, bool conj, P size,
                             const P *from)
{
    T *to = lin_item<T>(s, item) + rank * s.column;
    for (int i = lin_lane(); i < rows; i += 32) {
        const P e = lin_over(from[i], lin_re(size));
        to[i * s.row] = lin_make<T>((LIN_R)lin_re(e), (LIN_R)(conj ? -lin_im(e) : lin_im(e)));
    }
}

/* Columns of u from `good` on, which a has no direction for: by one warp, in scratch memory, where
 * those before them are. */
template <class T, class P>
LIN_FN void lin_cluster_complete(const lin_small &p, int64_t item, int good, char *room)
{
    typedef typename lin_of<P>::real R;
    P *part = lin_carve<P>(room, LIN_BLOCK_ROWS), *u = lin_item<P>(p.in[2], item);
    R *line = lin_carve<R>(room, LIN_BLOCK_ROWS);
    for (int j = good; j < p.n; j++) {
        lin_warp_complete(p.m, 0, j, u, (int)p.in[2].column, (const int *)NULL, part, line);
        __syncwarp();
        lin_column_write<T>(p.out[0], item, j, p.m, p.conj_out == 0, lin_make<P>(1, 0),
                            u + j * p.in[2].column);
    }
}

/* A seat's column, which is the rank-th by its length. */
template <class T, class P>
LIN_FN void lin_seat_results(const lin_small &p, int64_t item, const P *a, const P *v, int rank,
                             bool has_direction, bool kept)
{
    typedef typename lin_of<P>::real R;
    const R own = lin_warp_norm(0, p.m, a), length = lin_warp_norm(0, p.n, v);
    __syncwarp();
    lin_column_write<T>(p.out[2], item, rank, p.n, p.conj_out == 2, lin_make<P>(length, 0), v);
    if (!has_direction)
        return;
    lin_column_write<T>(p.out[0], item, rank, p.m, p.conj_out == 0, lin_make<P>(own, 0), a);
    if (kept)
        lin_column_write<P>(p.in[2], item, rank, p.m, false, lin_make<P>(own, 0), a);
}

template <class T, int EACH, class P>
LIN_FN void lin_cluster_finish(const lin_small &p, int64_t item, lin_seats<P> &g, int power,
                               char *room)
{
    typedef typename lin_of<P>::real R;
    const int from = g.turn % 2 * g.apart, seats = 2 * g.pairs;
    LIN_UNROLL
    for (int side = 0; side < 2; side++) {
        const P *a = g.mine[side] + from, *v = a + 32 * EACH;
        const R own = lin_warp_norm(0, g.m, a), length = lin_warp_norm(0, g.n, v);
        lin_cluster_say(g.lengths + 2 * g.pair + side, length > 0 ? own / length : (R)-1);
    }
    lin_cluster_sync();
    int good = 0;
    for (int k = lin_lane(); k < seats; k += 32)
        good += g.lengths[k] > lin_short<R>();
    good = lin_warp_count(good);
    LIN_UNROLL
    for (int side = 0; side < 2; side++) {
        const int seat = 2 * g.pair + side;
        const R length = g.lengths[seat];
        int rank = 0;
        for (int k = lin_lane(); k < seats; k += 32)
            rank += g.lengths[k] > length || (g.lengths[k] == length && k < seat);
        rank = lin_warp_count(rank);
        if (length < 0) /* beyond the last column */
            continue;
        if (lin_lane() == 0)
            lin_item<LIN_R>(p.out[1], item)[rank * p.out[1].row] =
                (LIN_R)lin_times_power(length, power);
        if (p.vectors)
            lin_seat_results<T>(p, item, g.mine[side] + from, g.mine[side] + from + 32 * EACH, rank,
                                rank < good, good < p.n);
    }
    if (!p.vectors || good == p.n)
        return;
    lin_cluster_sync();
    if (g.pair == 0)
        lin_cluster_complete<T, P>(p, item, good, room);
}

template <class T> LIN_FN void lin_cluster_fill(const lin_small &p, int64_t item)
{
    const int block = (int)blockIdx.x % LIN_CLUSTER;
    for (int i = (int)threadIdx.x; i < p.n && block == 0; i += (int)blockDim.x)
        lin_item<LIN_R>(p.out[1], item)[i * p.out[1].row] = (LIN_R)NAN;
    if (p.vectors && block == 0)
        lin_block_fill(p.out[0], item, p.m, (int)p.k, lin_nan<T>());
    if (p.vectors && block == 1)
        lin_block_fill(p.out[2], item, p.n, p.n, lin_nan<T>());
}

template <int EACH, class T>
LIN_FN int lin_cluster_svd_of(const lin_small &p, int64_t item, char *room)
{
    typedef typename lin_precise<T>::type P;
    const bool precise = sizeof(T) == sizeof(P);
    lin_seats<P> g;
    int power = 0;
    lin_take_seats<EACH>(p, g, room);
    lin_cluster_sync(); /* all blocks are there */
    const bool finite = lin_cluster_begin<T, EACH>(p, item, g, &power);
    bool done = finite;
    for (int step = 0; step < 1 + precise && done; step++) {
        if (step == 1)
            lin_cluster_renew<EACH>(p, item, g);
        done = lin_cluster_sweeps<EACH>(g, !precise    ? LIN_NEAR_SINGLE
                                           : step == 0 ? LIN_NEARLY
                                                       : LIN_NEAR_DOUBLE);
    }
    if (done)
        lin_cluster_finish<T, EACH>(p, item, g, power, room);
    else
        lin_cluster_fill<T>(p, item);
    return finite && !done ? LIN_NOT_CONVERGED : 0;
}

template <class T> LIN_FN int lin_cluster_svd_item(const lin_small &p, int64_t item, char *room)
{
    static_assert(LIN_BLOCK_ROWS == 128, "there are up to four parts");
    if (p.m <= 64)
        return lin_cluster_svd_of<2, T>(p, item, room);
    return p.m <= 96 ? lin_cluster_svd_of<3, T>(p, item, room)
                     : lin_cluster_svd_of<4, T>(p, item, room);
}

#endif
