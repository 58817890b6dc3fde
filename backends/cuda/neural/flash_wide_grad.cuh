/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients of attention by products of warpgroups, for compute capability 9.0: of a block, GROUPS
 * warpgroups have 64 rows each, queries or keys, and one more copies rows of the other side, STEP at
 * a time, some steps ahead (flash_grad_rows.cuh says what is computed). Weights are made while
 * gradients of weights are multiplied, and those of scores (slopes) while values are. */
#ifndef NDOCK_CUDA_FLASH_WIDE_GRAD_CUH
#define NDOCK_CUDA_FLASH_WIDE_GRAD_CUH
#include "neural/flash_grad_rows.cuh"
#include "neural/wide_tile.cuh"

template <class T, int D, int GROUPS, int STEP, bool KEYS>
struct flash_wide_grad : flash_grad_rows<T, D, 1, 64 * GROUPS, STEP, KEYS> {
    enum {
        ROWS = 64 * GROUPS,
        SLABS = (D + WGMMA_COLUMNS - 1) / WGMMA_COLUMNS,
        OWN_SLAB = ROWS * WGMMA_ROW,
        SLAB = STEP * WGMMA_ROW,
        STAGE = SLABS * SLAB, /* bytes of one operand */
        STAGES = 3,
        /* Slopes wait for the next step where there are registers for them. */
        LATE = !KEYS || (D <= 96 && STEP <= 64),
        SUMS = 2 * STEP * 4 /* logsumexp and delta of a step's queries */
    };
    enum { SCORES_FULL, WEIGHTS_FULL = STAGES, STEP_FREE = 2 * STAGES, GATES = 3 * STAGES };
    typedef flash_grad_rows<T, D, 1, ROWS, STEP, KEYS> base;
    using base::h;
    using base::kh;
    using base::p;
    using base::steps;
    using base::y;
    typename base::scores s = {}, dp = {};
    uint32_t weight[KEYS ? STEP / 16 : 1][4], slope[STEP / 16][4]; /* as left operands */
    mma_address own, stages, sums, gates;
    int group;

    __device__ __forceinline__ explicit flash_wide_grad(const attention_params &params)
        : base(params)
    {
        MMA_SHARED(memory);
        own = wide_begin(mma_address_of(memory));
        stages = own + 2 * SLABS * OWN_SLAB;
        sums = stages + 2 * STAGES * STAGE;
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
    __device__ __forceinline__ void set_gates() const
    {
        if (threadIdx.x == 0)
            for (int i = 0; i < GATES; i++)
                wgmma_gate_set(gates + (mma_address)(i * 8),
                               i < STEP_FREE ? (int)WGMMA_THREADS : GROUPS * 4);
        __syncthreads();
    }

    /* ---- the warpgroup that copies ---- */
    template <int LATEST> __device__ __forceinline__ void announce(int which, int step) const
    {
        mma_wait<LATEST>();
        wgmma_publish();
        wgmma_gate_arrive(gate(which, step));
    }
    __device__ __forceinline__ void copy_own(int thread) const
    {
        wide_fetch<ROWS, D>(own, KEYS ? base::source(p.k, kh, p.d) : base::source(p.q, h, p.d),
                            base::first, p.rows, thread);
        wide_fetch<ROWS, D>(own + SLABS * OWN_SLAB,
                            KEYS ? base::source(p.v, kh, p.e) : base::source(p.g, h, p.e),
                            base::first, p.rows, thread);
    }
    __device__ __forceinline__ void copy() const
    {
        const int thread = (int)threadIdx.x - GROUPS * WGMMA_THREADS;
        const int64_t end = KEYS ? p.m : p.n;
        if (steps > 0)
            copy_own(thread);
        for (int i = 0; i < steps; i++) {
            const int head = base::head_of(i), from = base::from_of(i);
            if (i >= STAGES)
                wgmma_gate_wait(gate(STEP_FREE, i), parity(i - STAGES));
            wide_fetch<STEP, D>(stage(i, 0),
                                KEYS ? base::source(p.q, head, p.d) : base::source(p.k, kh, p.d),
                                from, end, thread);
            for (int k = thread; k < (KEYS ? 2 * STEP : 0); k += WGMMA_THREADS)
                base::fetch_sum(sums_of(i), head, from, k);
            mma_commit();
            if (i > 0)
                announce<1>(WEIGHTS_FULL, i - 1);
            wide_fetch<STEP, D>(stage(i, 1),
                                KEYS ? base::source(p.g, head, p.e) : base::source(p.v, kh, p.e),
                                from, end, thread);
            mma_commit();
            announce<1>(SCORES_FULL, i);
        }
        if (steps > 0)
            announce<0>(WEIGHTS_FULL, steps - 1);
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
#pragma unroll
        for (int o = 0; o < base::OUTS; o++)
            wgmma_settle(y[o][0]);
    }
    /* Weights of the scores, and of keys the gradient of values. */
    __device__ __forceinline__ void weigh(int i, uint64_t (&gone)[1])
    {
        const int head = base::head_of(i), from = base::from_of(i);
        base::finish(s, head, from);
        base::weigh(s, sums_of(i));
        if (p.least)
            base::choose(gone, head, from);
        if constexpr (KEYS) {
            pack_kept(gone);
            wgmma_begin();
            wide_add<T, D, STEP>(y[1][0], weight, wgmma_operand(stage(i, 1), SLAB));
        }
    }
    __device__ __forceinline__ void pack_kept(const uint64_t (&gone)[1])
    {
        typename base::scores kept;
#pragma unroll
        for (int n = 0; n < STEP / 8; n++)
#pragma unroll
            for (int k = 0; k < 4; k++)
                kept[0][n][k] = s[0][n][k];
        if (p.least)
            base::drop(kept, gone);
        wide_pack<T, STEP>(weight, kept[0]);
    }
    /* The gradient of own rows. */
    __device__ __forceinline__ void add_slopes(int i)
    {
        wide_add<T, D, STEP>(y[0][0], slope, wgmma_operand(stage(i, 0), SLAB));
    }
    __device__ __forceinline__ void finish_slopes(int i)
    {
        wgmma_begin();
        add_slopes(i);
        wgmma_wait<0>();
        settle();
        free(i);
    }
    template <bool FIRST> __device__ __forceinline__ void step(int i)
    {
        constexpr bool earlier = LATE && !FIRST; /* slopes of the step before are multiplied */
        uint64_t gone[1] = {};
        await(SCORES_FULL, i);
        await(WEIGHTS_FULL, i);
        wgmma_settle(s[0]);
        wgmma_settle(dp[0]);
        settle();
        wgmma_begin();
        multiply_rows(s, 0, i);
        if (earlier)
            add_slopes(i - 1);
        multiply_rows(dp, 1, i);
        wgmma_wait<earlier ? 2 : 1>();
        wgmma_settle(s[0]);
        weigh(i, gone);
        wgmma_wait<KEYS ? 1 : 0>();
        wgmma_settle(dp[0]);
        if (earlier)
            free(i - 1);
        if (p.least)
            base::drop(dp, gone);
        base::derive(s, dp, sums_of(i));
        if (LATE)
            wgmma_wait<0>();
        wide_pack<T, STEP>(slope, dp[0]);
        if (!LATE)
            finish_slopes(i);
    }
    __device__ __forceinline__ void multiply()
    {
        base::hold_sums();
        if (steps > 0) {
            if (LATE)
                step<true>(0);
            for (int i = LATE; i < steps; i++)
                step<false>(i);
            if (LATE)
                finish_slopes(steps - 1);
        }
        base::write_all();
    }
    __device__ __forceinline__ void run()
    {
        set_gates();
        if (group == GROUPS) {
            wgmma_give_registers<GROUPS == 3 ? 32 : 24>();
            copy();
        } else {
            wgmma_take_registers<GROUPS == 3 ? 160 : 240>();
            multiply();
        }
    }
};

#endif
