/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The columns of the matrix of a cluster, LIN_CLUSTER blocks: each warp has a pair of columns, rotates
 * it, and hands both on to the warps that have them in the next round, in the shared memory of its
 * block or of a neighbouring one. */
#ifndef NDOCK_CUDA_LINALG_CLUSTER_SEATS_CUH
#define NDOCK_CUDA_LINALG_CLUSTER_SEATS_CUH
#include "linalg/block_svd.cuh"

#ifdef __CUDACC__
LIN_FN void lin_cluster_sync()
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
/* Where in the shared memory of another block of the cluster lies what is here in that of this one. */
template <class X> LIN_FN X *lin_cluster_at(X *here, int block)
{
    uint64_t there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"((uint64_t)here), "r"(block));
    return (X *)there;
}
#endif

/* When rotations end, as the sum of two powers of two of the last sweep: of the largest cosine
 * between two columns, and of the largest tangent of a rotation. The cosines that are left are
 * about their product. */
enum { LIN_NEARLY = -16, LIN_NEAR_SINGLE = -28, LIN_NEAR_DOUBLE = -56 };
enum { LIN_POWER_BIAS = 128 }; /* what powers have added where 0 says that there is none */

/* The columns of the cluster: seats 2 k and 2 k + 1 are pair k's, whose warp is the k-th of the
 * cluster. A seat has EACH times 32 elements of a column of a, and as many of v's, and is there twice:
 * one round reads where the round before has written. */
template <class P> struct lin_seats {
    P *mine[2], *next[2]; /* the warp's seats, and where their columns are in the next round */
    P *first;             /* the first seat of this block */
    int apart;            /* elements from one of the two places of a seat to the other */
    int pairs, pair, turn, sweeps;
    int m, n;
    typename lin_of<P>::real *lengths; /* a number a seat, in each block */
    uint32_t *far;                     /* two powers a pair, in each block */
};

/* Who sits in a seat sits there in the next round: one stays, and all others go round (Brent and
 * Luk, SIAM Journal on Scientific and Statistical Computing 6, 1985). */
LIN_FN int lin_next_seat(int seat, int pairs)
{
    const int pair = seat / 2;
    if (seat % 2 == 0)
        return seat == 0 ? 0 : pair + 1 < pairs ? seat + 2 : seat + 1;
    return pair == 0 ? 2 : seat - 2;
}

/* The first of the two places of a seat. */
template <int EACH, class P> LIN_FN P *lin_seat_at(const lin_seats<P> &g, int seat)
{
    const int each = 2 * lin_warps(), block = seat / each;
    P *here = g.first + seat % each * (64 * EACH);
    return block == (int)blockIdx.x % LIN_CLUSTER ? here : lin_cluster_at(here, block);
}

template <int EACH, class P>
LIN_FN void lin_take_seats(const lin_small &p, lin_seats<P> &g, char *room)
{
    const int warps = lin_warps();
    g.pairs = LIN_CLUSTER * warps;
    g.pair = (int)blockIdx.x % LIN_CLUSTER * warps + lin_warp();
    g.turn = g.sweeps = 0;
    g.m = p.m;
    g.n = p.n;
    g.apart = 2 * warps * 64 * EACH;
    g.first = lin_carve<P>(room, 2 * g.apart);
    g.lengths = lin_carve<typename lin_of<P>::real>(room, 2 * g.pairs);
    g.far = lin_carve<uint32_t>(room, 2 * g.pairs);
    LIN_UNROLL
    for (int side = 0; side < 2; side++) {
        g.mine[side] = lin_seat_at<EACH>(g, 2 * g.pair + side);
        g.next[side] = lin_seat_at<EACH>(g, lin_next_seat(2 * g.pair + side, g.pairs));
    }
}

/* Tells all blocks of the cluster; they know after the next barrier. */
template <class X> LIN_FN void lin_cluster_say(X *place, X x)
{
    if (lin_lane() < LIN_CLUSTER)
        *lin_cluster_at(place, lin_lane()) = x;
}

template <class P, int EACH> LIN_FN void lin_seat_load(lin_column_part<P, EACH> &x, const P *from)
{
    LIN_UNROLL
    for (int k = 0; k < EACH; k++)
        x.at[k] = from[32 * k + lin_lane()];
}
template <class P, int EACH> LIN_FN void lin_seat_store(const lin_column_part<P, EACH> &x, P *to)
{
    LIN_UNROLL
    for (int k = 0; k < EACH; k++)
        to[32 * k + lin_lane()] = x.at[k];
}

/* ---- sweeps ---- */

/* Of a pair that is rotated. */
LIN_FN void lin_note_power(int power, uint32_t *most)
{
    const int kept = power + LIN_POWER_BIAS < 1 ? 1 : power + LIN_POWER_BIAS;
    *most = (uint32_t)kept > *most ? (uint32_t)kept : *most;
}

template <int EACH, class P>
LIN_FN void lin_cluster_round(lin_seats<P> &g, uint32_t *cosine, uint32_t *tangent)
{
    const int from = g.turn % 2 * g.apart, to = g.apart - from;
    lin_column_part<P, EACH> x, y, p, q;
    lin_seat_load(x, g.mine[0] + from);
    lin_seat_load(y, g.mine[1] + from);
    lin_seat_load(p, g.mine[0] + from + 32 * EACH);
    lin_seat_load(q, g.mine[1] + from + 32 * EACH);
    const lin_products<P> products = lin_products_of<32>(x, y);
    lin_rotation<P> r;
    const auto whole = lin_svd_turns(g.m, products, &r);
    if (whole > 0) {
        lin_part_rotate(r, x, y);
        lin_part_rotate(r, p, q);
        lin_note_power(lin_exponent(lin_magnitude(products.apq)) - lin_exponent(whole), cosine);
        lin_note_power(lin_exponent(r.s), tangent);
    }
    lin_seat_store(x, g.next[0] + to);
    lin_seat_store(y, g.next[1] + to);
    lin_seat_store(p, g.next[0] + to + 32 * EACH);
    lin_seat_store(q, g.next[1] + to + 32 * EACH);
    g.turn++;
    lin_cluster_sync();
}

/* The largest of the powers that the pairs' warps have told. */
LIN_FN uint32_t lin_far_most(const uint32_t *far, int pairs)
{
    uint32_t most = 0;
    for (int k = lin_lane(); k < pairs; k += 32)
        most = far[2 * k] > most ? far[2 * k] : most;
    return lin_lanes_most(most);
}

/* Rounds in which every pair meets, until as much is reached; false: they do not come to an end. */
template <int EACH, class P> LIN_FN bool lin_cluster_sweeps(lin_seats<P> &g, int near)
{
    while (g.sweeps++ < LIN_BLOCK_SWEEPS) {
        uint32_t cosine = 0, tangent = 0;
        for (int round = 0; round < 2 * g.pairs - 1; round++)
            lin_cluster_round<EACH>(g, &cosine, &tangent);
        lin_cluster_say(g.far + 2 * g.pair, cosine);
        lin_cluster_say(g.far + 2 * g.pair + 1, tangent);
        lin_cluster_sync();
        cosine = lin_far_most(g.far, g.pairs);
        tangent = lin_far_most(g.far + 1, g.pairs);
        if (cosine == 0 || (int)(cosine + tangent) - 2 * LIN_POWER_BIAS <= near)
            return true;
    }
    return false;
}

#endif
