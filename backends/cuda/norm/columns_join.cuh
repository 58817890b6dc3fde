/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * How the blocks of a cluster hand each other one value of each column. */
#ifndef NDOCK_CUDA_NORM_COLUMNS_JOIN_CUH
#define NDOCK_CUDA_NORM_COLUMNS_JOIN_CUH
#include "norm/norm.h"
#include "walk/lines.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
LINE_FN void columns_cluster_sync()
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
/* What lies there in the shared memory of another block of the cluster. */
LINE_FN double columns_read(const double *at, uint32_t block)
{
    uint32_t here = (uint32_t)__cvta_generic_to_shared(at), there;
    double x;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(block));
    asm volatile("ld.shared::cluster.f64 %0, [%1];" : "=d"(x) : "r"(there) : "memory");
    return x;
}

enum { COLUMNS_WARPS = NORM_COLUMN_THREADS / 32 };

/* How the blocks of a cluster hand each other a value of each column: each leaves its own where the
 * others read them behind a barrier, which also waits for what was stored before. Turns are numbered
 * from 0 on. */
struct columns_shared {
    enum { CLUSTER = NORM_CLUSTER };
    double warps[COLUMNS_WARPS][NORM_COLUMNS_MOST], here[3][NORM_COLUMNS_MOST],
        all[NORM_COLUMNS_MOST];
    LINE_MEMBER void say(int column, int, double x, int turn) { here[turn][column] = x; }
    LINE_MEMBER void wait(int, int) const { columns_cluster_sync(); }
    LINE_MEMBER double heard(int column, uint32_t block, int turn) const
    {
        return columns_read(here[turn] + column, block);
    }
};

/* The same where each sends its own to all, whose barrier of the turn counts the bytes that arrive: a
 * tile's results may still be on their way to memory. SLOTS turns alternate: of two, who sends in one has
 * heard all in the last, and they have read the one before; of four, turns may be heard one later. */
template <int BLOCKS, int COLUMNS, int SLOTS> struct columns_post {
    enum { CLUSTER = BLOCKS };
    double warps[COLUMNS_WARPS][COLUMNS], from[SLOTS][BLOCKS][COLUMNS], all[COLUMNS];
    uint64_t arrived[SLOTS];
    LINE_MEMBER void begin()
    {
        if (threadIdx.x == 0) {
            for (int k = 0; k < SLOTS; k++)
                asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&arrived[k]))
                             : "memory");
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        }
        columns_cluster_sync();
    }
    LINE_MEMBER uint32_t at(const void *here) const
    {
        return (uint32_t)__cvta_generic_to_shared(here);
    }
    LINE_MEMBER uint32_t there(const void *here, uint32_t block) const
    {
        uint32_t there;
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at(here)), "r"(block));
        return there;
    }
    LINE_MEMBER void say(int column, int columns, double x, int turn)
    {
        const int k = turn % SLOTS;
        if (column == 0)
            asm volatile(
                "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(&arrived[k])),
                "r"(columns * (int)sizeof(double) * BLOCKS)
                : "memory");
#pragma unroll 1
        for (uint32_t b = 0; b < BLOCKS; b++)
            asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.f64 "
                         "[%0], %1, [%2];" ::"r"(there(&from[k][blockIdx.x % BLOCKS][column], b)),
                         "d"(x), "r"(there(&arrived[k], b))
                         : "memory");
    }
    LINE_MEMBER void wait(int columns, int turn) const
    {
        uint32_t done = (int)threadIdx.x >= columns;
        while (!done)
            asm volatile("{ .reg .pred p;\n"
                         "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                         "selp.u32 %0, 1, 0, p; }"
                         : "=r"(done)
                         : "r"(at(&arrived[turn % SLOTS])), "r"(turn / SLOTS & 1)
                         : "memory");
    }
    LINE_MEMBER double heard(int column, uint32_t block, int turn) const
    {
        return from[turn % SLOTS][block][column];
    }
};

/* One value of each column, of the block's lines, said to the cluster. */
template <class F, int V, class SHARED>
LINE_FN void columns_say(double (&x)[V], int lanes, SHARED &s, int turn)
{
    const int lane = (int)threadIdx.x & (lanes - 1), columns = lanes * V, c = (int)threadIdx.x;
#pragma unroll
    for (int k = 0; k < V; k++)
        for (int h = lanes; h < 32; h *= 2)
            x[k] = F::of(x[k], __shfl_xor_sync(0xffffffffu, x[k], h));
    if ((int)threadIdx.x % 32 < lanes)
#pragma unroll
        for (int k = 0; k < V; k++)
            s.warps[threadIdx.x / 32][lane * V + k] = x[k];
    __syncthreads();
    if (c < columns) {
        double v = s.warps[0][c];
        for (int w = 1; w < COLUMNS_WARPS; w++)
            v = F::of(v, s.warps[w][c]);
        s.say(c, columns, v, turn);
    }
}
/* What all blocks said of a column, in one order. */
template <class F, class SHARED> LINE_FN double columns_heard(int c, const SHARED &s, int turn)
{
    double v = s.heard(c, 0, turn);
    for (uint32_t b = 1; b < SHARED::CLUSTER; b++)
        v = F::of(v, s.heard(c, b, turn));
    return v;
}
/* One value of each column: of the lines of a warp, of a block, of the cluster; in every thread, in
 * one order. */
template <class F, int V, class SHARED>
LINE_FN void columns_join(double (&x)[V], int lanes, SHARED &s, int turn)
{
    const int lane = (int)threadIdx.x & (lanes - 1), columns = lanes * V, c = (int)threadIdx.x;
    columns_say<F>(x, lanes, s, turn);
    s.wait(columns, turn);
    if (c < columns)
        s.all[c] = columns_heard<F>(c, s, turn);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < V; k++)
        x[k] = s.all[lane * V + k];
}
#endif

#endif
