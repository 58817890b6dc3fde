/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients of attention by products of warpgroups, for compute capability 9.0, in one pass of five
 * products (flash_grad_rows.cuh says of what). A block has 128 keys, two warpgroups 64 each, and goes
 * over tiles of STEP queries, which a third warpgroup copies ahead. Scores are turned (keys are
 * rows), so that weights and slopes are left operands from registers for the gradients of values and
 * keys; slopes go to shared memory too, for the gradient of queries: that of a tile is a sum over
 * blocks, which add their parts in f32 in global memory one after another, first keys first, so that
 * the bits are always the same. Per tile 128*STEP*D*10 operations stand against STEP*D*4 bytes added
 * to the second-level cache: 320 to a byte.
 *
 * A block waits only for such as begin before it, so that waits end. Blocks of `together` heads
 * alternate, and one block of a head begins later than the other: when it comes to a tile, its
 * turn has come. The gradients' sums of that many heads stay in the second-level cache. On an H100
 * neither adding nor waiting for turns took time that could be measured. */
#ifndef NDOCK_CUDA_FLASH_WIDE_GRAD_CUH
#define NDOCK_CUDA_FLASH_WIDE_GRAD_CUH
#include "neural/flash_grad_rows.cuh"
#include "neural/wide_tile.cuh"

/* Which block of which head a block is. */
struct flash_wide_place {
    int at, head;
    __device__ __forceinline__ explicit flash_wide_place(const attention_params &p)
    {
        const int heads = (int)(p.batch * p.key_heads), block = (int)blockIdx.x,
                  round = block / (p.together * p.row_blocks) * p.together,
                  in = block % (p.together * p.row_blocks),
                  beside = heads - round < p.together ? heads - round : p.together;
        at = in / beside;
        head = round + in % beside;
    }
};

template <class T, int D, int STEP>
struct flash_wide_grad : flash_grad_rows<T, D, 1, 128, STEP, true> {
    enum {
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
    enum { QUERIES_FULL, GRADS_FULL = 2, STEP_FREE = 4, SLOPES_FULL = 6, PART_FULL = 8 };
    enum { PART_FREE = 9, GATES };
    typedef flash_grad_rows<T, D, 1, ROWS, STEP, true> base;
    using base::b;
    using base::h;
    using base::kh;
    using base::p;
    using base::per_head;
    using base::steps;
    using base::y;
    typename base::scores s = {}, dp = {};
    uint32_t weight[STEP / 16][4], slope[STEP / 16][4]; /* as left operands */
    float dq[PART_COLUMNS / 8][4];
    mma_address own, stages, slopes, part, sums, gates;
    int group;

    __device__ __forceinline__ flash_wide_grad(const attention_params &params,
                                               const flash_wide_place &place)
        : base(params, place.at, place.head)
    {
        MMA_SHARED(memory);
        own = wide_begin(mma_address_of(memory));
        stages = own + 2 * SLABS * OWN_SLAB;
        slopes = stages + 2 * STAGES * STAGE;
        part = slopes + 2 * SLOPES;
        sums = part + PART;
        gates = sums + STAGES * SUMS;
        group = (int)threadIdx.x / WGMMA_THREADS;
        base::row += base::warp * 16;
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
    __device__ __forceinline__ mma_address sums_of(int step) const
    {
        return sums + (mma_address)(step % STAGES * SUMS);
    }
    /* The last queries first: those are what all blocks of a head see. */
    __device__ __forceinline__ int from_of(int step) const
    {
        return base::begin + (per_head - 1 - step % per_head) * STEP;
    }
    __device__ __forceinline__ static int arrivals_of(int i)
    {
        if (i < STEP_FREE)
            return COPIERS;
        if (i < SLOPES_FULL)
            return GROUPS * 4;
        return i < PART_FREE ? GROUPS * WGMMA_THREADS : 1;
    }
    __device__ __forceinline__ void set_gates() const
    {
        if (threadIdx.x == 0)
            for (int i = 0; i < GATES; i++)
                wgmma_gate_set(gates + (mma_address)(i * 8), arrivals_of(i));
        __syncthreads();
    }

    /* ---- the warps that copy ---- */
    template <int LATEST> __device__ __forceinline__ void announce(int which, int step) const
    {
        mma_wait<LATEST>();
        wgmma_publish();
        wgmma_gate_arrive(gate(which, step));
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
            const int head = base::head_of(i), from = from_of(i);
            if (i >= STAGES)
                wgmma_gate_wait(gate(STEP_FREE, i), parity(i - STAGES));
            wide_fetch<STEP, D, COPIERS>(stage(i, 0), base::source(p.q, head, p.d), from, p.m,
                                         thread);
            for (int k = thread; k < 2 * STEP; k += COPIERS)
                base::fetch_sum(sums_of(i), head, from, k);
            mma_commit();
            if (i > 0)
                announce<1>(GRADS_FULL, i - 1);
            wide_fetch<STEP, D, COPIERS>(stage(i, 1), base::source(p.g, head, p.e), from, p.m,
                                         thread);
            mma_commit();
            announce<1>(QUERIES_FULL, i);
        }
        if (steps > 0)
            announce<0>(GRADS_FULL, steps - 1);
    }

    /* ---- the thread that adds gradients of queries ---- */
    __device__ __forceinline__ void add_parts() const
    {
        const uint32_t turn = (uint32_t)(base::first / ROWS);
        for (int i = 0; i < steps; i++) {
            const int64_t tile =
                ((int64_t)b * p.heads + base::head_of(i)) * p.tiles + from_of(i) / STEP;
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

    /* ---- those that multiply ---- */
    __device__ __forceinline__ void await(int which, int step) const
    {
        wgmma_gate_wait(gate(which, step), parity(step));
    }
    __device__ __forceinline__ void free(int step) const
    {
        if (base::lane == 0)
            wgmma_gate_arrive(gate(STEP_FREE, step));
    }
    __device__ __forceinline__ void multiply_rows(typename base::scores &to, int which, int step)
    {
        const mma_address mine =
            own + (mma_address)(which * SLABS * OWN_SLAB + group * 64 * WGMMA_ROW);
        wide_multiply<T, D, STEP>(to[0], wgmma_operand(mine, 0), OWN_SLAB,
                                  wgmma_operand(stage(step, which), 0), SLAB);
    }
    __device__ __forceinline__ void settle()
    {
        wgmma_settle(y[0][0]);
        wgmma_settle(y[1][0]);
    }
    /* The gradient of values. */
    __device__ __forceinline__ void pack_weights(const uint64_t (&gone)[1])
    {
        if (p.least) {
            typename base::scores kept;
#pragma unroll
            for (int n = 0; n < STEP / 8; n++)
#pragma unroll
                for (int k = 0; k < 4; k++)
                    kept[0][n][k] = s[0][n][k];
            base::drop(kept, gone);
            wide_pack<T, STEP>(weight, kept[0]);
        } else {
            wide_pack<T, STEP>(weight, s[0]);
        }
    }
    __device__ __forceinline__ void add_values(int i)
    {
        wgmma_begin();
        wide_add<T, D, STEP>(y[1][0], weight, wgmma_operand(stage(i, 1), SLAB));
    }
    /* Slopes as slabs of 64 queries, a row of which is a key's. */
    __device__ __forceinline__ mma_address slopes_of(int step) const
    {
        return slopes + (mma_address)(step % 2 * SLOPES);
    }
    __device__ __forceinline__ void put_slopes(int i) const
    {
        const int row = base::warp * 16 + base::lane % 16, right = base::lane / 16;
        const mma_address at = slopes_of(i);
#pragma unroll
        for (int k = 0; k < STEP / 16; k++)
            wgmma_put_pieces(at + (mma_address)(k / 4 * SLOPE_SLAB) +
                                 wgmma_chunk(row, k % 4 * 2 + right),
                             slope[k]);
        wgmma_publish();
        wgmma_gate_arrive(gate(SLOPES_FULL, i));
    }
    /* Of 64 queries, or 64 columns, a warpgroup; columns beyond D mean nothing. */
    __device__ __forceinline__ void multiply_slopes(int i)
    {
        const mma_address queries = slopes_of(i) + (mma_address)(BY_ROWS ? group * SLOPE_SLAB : 0),
                          keys = own + (mma_address)(BY_ROWS ? 0 : group * OWN_SLAB);
        const uint64_t left = wgmma_operand(queries, SLOPE_SLAB),
                       right = wgmma_operand(keys, OWN_SLAB);
#pragma unroll
        for (int k = 0; k < ROWS / 16; k++)
            wgmma<T, PART_COLUMNS>::turned(dq, wgmma_after(left, k * 16 * WGMMA_ROW),
                                           wgmma_after(right, k * 16 * WGMMA_ROW), k > 0);
        wgmma_commit();
    }
    __device__ __forceinline__ void give_part(int i) const
    {
        const int thread = (int)threadIdx.x % WGMMA_THREADS;
        const mma_address at =
            part + (mma_address)((group * PART_COLUMNS / 8 * WGMMA_THREADS + thread) * 16);
        if (i > 0)
            wgmma_gate_wait(gates + PART_FREE * 8, (i - 1) & 1);
#pragma unroll
        for (int e = 0; e < PART_COLUMNS / 8; e++)
            if (BY_ROWS || group == 0 || e < D / 8 - 8)
                mma_store(at + (mma_address)(e * WGMMA_THREADS * 16),
                          {__float_as_uint(dq[e][0]), __float_as_uint(dq[e][1]),
                           __float_as_uint(dq[e][2]), __float_as_uint(dq[e][3])});
        wgmma_publish();
        wgmma_gate_arrive(gates + PART_FULL * 8);
    }
    /* The gradients of keys and queries, of a step's slopes. */
    __device__ __forceinline__ void multiply_both(int i)
    {
        wide_add<T, D, STEP>(y[0][0], slope, wgmma_operand(stage(i, 0), SLAB));
        await(SLOPES_FULL, i);
        wgmma_begin();
        multiply_slopes(i);
    }
    __device__ __forceinline__ void take_both(int i)
    {
        wgmma_wait<0>();
        wgmma_settle(dq);
        settle();
        free(i);
        give_part(i);
    }
    /* While weights are made, slopes of the step before are multiplied; while slopes are, values are
     * added to. */
    template <bool FIRST> __device__ __forceinline__ void step(int i)
    {
        enum { EARLY = STEP < 128 && D < 128 }; /* there are registers for weights beside scores */
        uint64_t gone[1] = {};
        const int head = base::head_of(i), from = from_of(i);
        await(QUERIES_FULL, i);
        wgmma_settle(s[0]);
        settle();
        wgmma_begin();
        multiply_rows(s, 0, i);
        if (!FIRST)
            multiply_both(i - 1);
        wgmma_wait<FIRST ? 0 : 2>();
        wgmma_settle(s[0]);
        base::finish(s, head, from);
        base::weigh(s, sums_of(i));
        if (p.least)
            base::choose(gone, head, from);
        if (!FIRST)
            take_both(i - 1);
        await(GRADS_FULL, i);
        wgmma_settle(dp[0]);
        wgmma_begin();
        multiply_rows(dp, 1, i);
        if (EARLY) {
            pack_weights(gone);
            add_values(i);
        }
        wgmma_wait<EARLY ? 1 : 0>();
        wgmma_settle(dp[0]);
        if (p.least)
            base::drop(dp, gone);
        base::derive(s, dp, sums_of(i));
        if (!EARLY) {
            pack_weights(gone);
            add_values(i);
        }
        wide_pack<T, STEP>(slope, dp[0]);
        put_slopes(i);
        wgmma_wait<0>();
        settle();
    }
    __device__ __forceinline__ void multiply()
    {
        if (steps > 0) {
            step<true>(0);
            for (int i = 1; i < steps; i++)
                step<false>(i);
            wgmma_begin();
            multiply_both(steps - 1);
            take_both(steps - 1);
        }
        base::write_all();
    }
    __device__ __forceinline__ void run()
    {
        set_gates();
        if (group == GROUPS) {
            wgmma_give_registers<24>();
            const int thread = (int)threadIdx.x - GROUPS * WGMMA_THREADS;
            if (thread < COPIERS)
                copy(thread);
            else if (thread == COPIERS)
                add_parts();
        } else {
            wgmma_take_registers<240>();
            multiply();
        }
    }
};

#endif
