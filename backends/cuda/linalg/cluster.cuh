/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the blocks of a cluster, each of which has some rows of a matrix in its shared memory, find
 * out together: sums, and largest and least numbers, over all rows. Code for clusters is there from
 * compute capability 9.0 on. */
#ifndef NDOCK_CUDA_LINALG_CLUSTER_CUH
#define NDOCK_CUDA_LINALG_CLUSTER_CUH
#include "linalg/block.cuh"

#ifdef __CUDACC__
LIN_FN void lin_cluster_sync()
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
/* What lies at the same place in the shared memory of another block of the cluster. */
template <class X> LIN_FN X *lin_there(X *here, int rank)
{
    X *there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(here), "r"(rank));
    return there;
}
#endif

/* A column is the work of as many lanes as there are blocks: each tells one of these. */
enum { LIN_LANES = LIN_CLUSTER };

LIN_FN int lin_rank()
{
    return (int)(blockIdx.x % LIN_CLUSTER);
}
LIN_FN int lin_cluster_lane()
{
    return (int)threadIdx.x % LIN_LANES;
}

/* Rows of a matrix that a block has. */
struct lin_share {
    int first, count, pitch;
};
LIN_FN lin_share lin_share_of(int rows)
{
    const int each = (rows + LIN_CLUSTER - 1) / LIN_CLUSTER, first = lin_rank() * each;
    const int left = rows - first;
    return {first, left < 0 ? 0 : left < each ? left : each, LIN_CLUSTER_PITCH(rows)};
}

/* Numbers on their way: the blocks' own, of each column side by side. Two places are used by turns,
 * so that a block may tell the next ones while others still read: between two uses of a place lies
 * the barrier of the other. */
template <class R> struct lin_post {
    R *place[2];
    int turn;
};

struct lin_sum {
    template <class R> static __device__ __forceinline__ R of(R x, R y) { return x + y; }
};
struct lin_most { /* NaN where there is one */
    template <class R> static __device__ __forceinline__ R of(R x, R y)
    {
        return y > x || y != y ? y : x;
    }
};
struct lin_least {
    template <class R> static __device__ __forceinline__ R of(R x, R y) { return y < x ? y : x; }
};

/* Of the lanes that have a column, the same bits for each of them. */
template <class OP, class R> LIN_FN R lin_lanes_join(R x)
{
    for (int apart = LIN_LANES / 2; apart > 0; apart /= 2)
        x = OP::of(x, lin_shuffle_xor(x, apart));
    return x;
}

/* For each k below count: local(k, x) has what a lane's rows say; done(k, x) what all rows of the
 * matrix do, the same bits in every lane and block. The lanes of a column call both; all blocks have
 * the same count. Ends behind a barrier of the block. */
template <int PARTS, class OP, class R, class LOCAL, class DONE>
LIN_FN void lin_together(lin_post<R> &post, int count, LOCAL local, DONE done)
{
    const int lane = lin_cluster_lane(), groups = (int)blockDim.x / LIN_LANES;
    const int first = (int)threadIdx.x / LIN_LANES, whole = 32 / LIN_LANES - 1;
    const int end = (count + whole) & ~whole; /* the lanes of a warp shuffle together */
    R *const place = post.place[post.turn & 1];
    post.turn++;
    for (int k = first; k < end; k += groups) {
        R x[PARTS] = {};
        if (k < count)
            local(k, x);
        LIN_UNROLL
        for (int part = 0; part < PARTS; part++) {
            x[part] = lin_lanes_join<OP>(x[part]);
            if (k < count)
                *lin_there(place + (k * PARTS + part) * LIN_CLUSTER + lin_rank(), lane) = x[part];
        }
    }
    lin_cluster_sync();
    for (int k = first; k < end; k += groups) {
        R x[PARTS] = {};
        LIN_UNROLL
        for (int part = 0; part < PARTS; part++) {
            if (k < count)
                x[part] = place[(k * PARTS + part) * LIN_CLUSTER + lane];
            x[part] = lin_lanes_join<OP>(x[part]);
        }
        if (k < count)
            done(k, x);
    }
    __syncthreads();
}

#endif
