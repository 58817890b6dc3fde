/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What gradients of attention by products of warpgroups (flash_wide_grad.cuh) work on: which block has
 * which keys, where operands lie in shared memory, the warps that copy them a step ahead, and the
 * thread that adds parts of gradients of queries in global memory. Gates open when copies are there,
 * as in flash_wide.cuh.
 *
 * A block waits only for such as begin before it, so that waits end. Blocks of `together` heads
 * alternate, and one block of a head begins later than the other: when it comes to a tile, its
 * turn has come. The gradients' sums of that many heads stay in the second-level cache. */
#ifndef NDOCK_CUDA_FLASH_WIDE_FEED_CUH
#define NDOCK_CUDA_FLASH_WIDE_FEED_CUH
#include "neural/flash_grad_rows.cuh"
#include "neural/wide_tile.cuh"

template <class T, int D, int STEP>
struct flash_wide_feed : flash_grad_rows<T, D, 1, 128, 64, true> {
    enum {
        PIECE = 64, /* queries whose scores are in registers */
        PIECES = STEP / PIECE,
        GROUPS = 2,
        ROWS = 64 * GROUPS,
        SLABS = (D + WGMMA_COLUMNS - 1) / WGMMA_COLUMNS,
        OWN_SLAB = ROWS * WGMMA_ROW,
        SLAB = STEP * WGMMA_ROW,
        STAGE = SLABS * SLAB, /* bytes of one operand */
        STAGES = 2,
        SLOPE_SLAB = ROWS * WGMMA_ROW, /* 64 queries as columns */
        SLOPES = STEP / WGMMA_COLUMNS * SLOPE_SLAB,
        PART = STEP * D * 4,
        SUMS = 2 * STEP * 4,   /* logsumexp and delta of a step's queries */
        BY_ROWS = STEP == 128, /* warpgroups share out queries for their gradients, else columns */
        PART_COLUMNS = BY_ROWS ? D : 64, /* of a warpgroup */
        COPIERS = 96                     /* threads that copy; the warp after them adds parts */
    };
    enum { QUERIES_FULL, GRADS_FULL = 2, STEP_FREE = 4, PART_FULL = 6, PART_FREE, GATES };
    typedef flash_grad_rows<T, D, 1, ROWS, PIECE, true> base;
    using base::b;
    using base::h;
    using base::kh;
    using base::p;
    using base::per_head;
    using base::steps;
    mma_address own, stages, slopes, part, sums, gates;
    int group, heads; /* heads that share the keys */

    __device__ __forceinline__ flash_wide_feed(const attention_params &params,
                                               const attention_place &place)
        : base(params, place)
    {
        MMA_SHARED(memory);
        own = wide_begin(mma_address_of(memory));
        stages = own + 2 * SLABS * OWN_SLAB;
        slopes = stages + 2 * STAGES * STAGE;
        part = slopes + 2 * SLOPES;
        sums = part + PART;
        gates = sums + STAGES * SUMS;
        group = __shfl_sync(0xffffffffu, (int)threadIdx.x / WGMMA_THREADS, 0);
        base::row += base::warp * 16;
        heads = (int)p.heads / (int)p.key_heads;
        base::template set_steps<STEP>(heads);
    }
    __device__ __forceinline__ mma_address gate(int which, int step) const
    {
        return gates + (mma_address)((which + step % STAGES) * 8);
    }
    __device__ __forceinline__ static int parity(int step) { return step / STAGES & 1; }
    __device__ __forceinline__ mma_address stage(int step, int which) const
    {
        return stages + (mma_address)((step % STAGES * 2 + which) * STAGE);
    }
    /* Of a piece: shifts of its queries, then deltas. */
    __device__ __forceinline__ mma_address sums_of(int step, int piece) const
    {
        return sums + (mma_address)(step % STAGES * SUMS + piece * 2 * PIECE * 4);
    }
    /* The last queries first, of one head after another: those are what all blocks of a head see, so
     * that all blocks come to a tile in the same step, however many steps they have. */
    __device__ __forceinline__ int head_of(int step) const { return h + step % heads; }
    __device__ __forceinline__ int from_of(int step) const
    {
        return base::begin + (per_head - 1 - step / heads) * STEP;
    }
    __device__ __forceinline__ void set_gates() const
    {
        if (threadIdx.x == 0)
            for (int i = 0; i < GATES; i++)
                wgmma_gate_set(gates + (mma_address)(i * 8), i < STEP_FREE   ? (int)COPIERS
                                                             : i < PART_FULL ? GROUPS * 4
                                                             : i == PART_FULL
                                                                 ? GROUPS * (int)WGMMA_THREADS
                                                                 : 1);
        __syncthreads();
    }

    /* ---- the warps that copy ---- */
    __device__ __forceinline__ void announce(int which, int step) const
    {
        wide_announce(gate(which, step), p.whole);
    }
    /* Shifts and deltas of a step's queries. */
    __device__ __forceinline__ void copy_sums(int step, int head, int from, int thread) const
    {
        enum { CHUNKS = PIECE / 4 };
        const int64_t at = ((int64_t)b * p.heads + head) * p.sum_rows + from;
#pragma unroll 1
        for (int k = thread; k < 2 * CHUNKS * PIECES; k += COPIERS)
            mma_fetch(sums_of(step, 0) + (mma_address)(k * 16),
                      (const float *)(k / CHUNKS % 2 ? p.delta.at : p.shift) + at +
                          k / CHUNKS / 2 * PIECE + k % CHUNKS * 4,
                      true);
    }
    __device__ __forceinline__ void copy(int thread) const
    {
        if (steps > 0) {
            wide_fetch<ROWS, D, COPIERS>(own, base::source(p.k, kh, p.d), base::first, p.rows,
                                         thread);
            wide_fetch<ROWS, D, COPIERS>(own + SLABS * OWN_SLAB, base::source(p.v, kh, p.e),
                                         base::first, p.rows, thread);
        }
        for (int i = 0; i < steps; i++) {
            const int head = head_of(i), from = from_of(i);
            if (i >= STAGES)
                wgmma_gate_wait(gate(STEP_FREE, i), parity(i - STAGES));
            wide_fetch<STEP, D, COPIERS>(stage(i, 0), base::source(p.q, head, p.d), from, p.m,
                                         thread);
            copy_sums(i, head, from, thread);
            announce(QUERIES_FULL, i);
            wide_fetch<STEP, D, COPIERS>(stage(i, 1), base::source(p.g, head, p.e), from, p.m,
                                         thread);
            announce(GRADS_FULL, i);
        }
        mma_commit();
        mma_wait<0>();
    }

    /* ---- the thread that adds gradients of queries ---- */
    __device__ __forceinline__ void add_parts() const
    {
        const uint32_t turn = (uint32_t)(base::first / ROWS);
        for (int i = 0; i < steps; i++) {
            const int64_t tile = ((int64_t)b * p.heads + head_of(i)) * p.tiles + from_of(i) / STEP;
            float *to = (float *)p.sums + tile * (PART / 4);
            uint32_t *whose = (uint32_t *)p.turns + tile;
            wgmma_gate_wait(gates + PART_FULL * 8, i & 1);
            if (turn > 0) {
                wgmma_turn_await(whose, turn);
                wgmma_part_add(to, part, PART);
            } else {
                wgmma_part_put(to, part, PART);
            }
            wgmma_parts_read();
            wgmma_gate_arrive(gates + PART_FREE * 8);
            wgmma_parts_wait();
            wgmma_turn_pass(whose, turn + 1);
        }
    }
};

#endif
