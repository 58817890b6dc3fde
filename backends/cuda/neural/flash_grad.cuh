/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients of attention by tensor cores. A block has rows of its own, queries or keys, and goes
 * over those of the other side, STEP at a time; weights are computed again from logsumexp
 * (flash_grad_rows.cuh). Warps share out the rows. */
#ifndef NDOCK_CUDA_FLASH_GRAD_CUH
#define NDOCK_CUDA_FLASH_GRAD_CUH
#include "neural/flash_grad_rows.cuh"

template <class T, int D, int M, bool KEYS>
struct flash_grad : flash_grad_rows<T, D, M, FLASH_WARPS * 16 * M, FLASH_GRAD_STEP, KEYS> {
    enum {
        ROWS = FLASH_WARPS * 16 * M,
        STEP = FLASH_GRAD_STEP,
        HELD = M == 1, /* own operands stay in registers */
        PITCH = tile<D>::PITCH,
        STAGE = STEP * PITCH,
        SUMS = 4 * STAGE /* logsumexp and delta of STEP queries, after the stages */
    };
    typedef flash_grad_rows<T, D, M, ROWS, STEP, KEYS> base;
    typedef typename base::scores scores;
    using base::first;
    using base::h;
    using base::kh;
    using base::lane;
    using base::p;
    using base::steps;
    using base::warp;
    using base::y;
    mma_address own, stages;
    tile_left<T, D, M, HELD> left[2];

    __device__ __forceinline__ explicit flash_grad(const attention_params &params) : base(params)
    {
        MMA_SHARED(memory);
        own = mma_address_of(memory);
        stages = own + 2 * ROWS * PITCH;
        base::row += warp * 16 * M;
    }

    /* ---- operands ---- */
    __device__ __forceinline__ void fetch_own() const
    {
        tile_fetch<ROWS, D>(own, KEYS ? base::source(p.k, kh, p.d) : base::source(p.q, h, p.d),
                            first, p.rows);
        tile_fetch<ROWS, D>(own + ROWS * PITCH,
                            KEYS ? base::source(p.v, kh, p.e) : base::source(p.g, h, p.e), first,
                            p.rows);
    }
    __device__ __forceinline__ void fetch(int step, int stage) const
    {
        const int head = base::head_of(step), from = base::from_of(step);
        const mma_address at = stages + (mma_address)(stage * 2 * STAGE);
        const int64_t end = KEYS ? p.m : p.n;
        tile_fetch<STEP, D>(at, KEYS ? base::source(p.q, head, p.d) : base::source(p.k, kh, p.d),
                            from, end);
        tile_fetch<STEP, D>(at + STAGE,
                            KEYS ? base::source(p.g, head, p.e) : base::source(p.v, kh, p.e), from,
                            end);
        if (KEYS && threadIdx.x < 2 * STEP)
            base::fetch_sum(stages + (mma_address)(SUMS + stage * 2 * STEP * 4), head, from,
                            (int)threadIdx.x);
    }
    __device__ __forceinline__ mma_address mine(int which) const
    {
        return tile_down<D>(own + (mma_address)((which * ROWS + warp * 16 * M) * PITCH), lane);
    }

    __device__ __forceinline__ void step(int number, int stage)
    {
        const int head = base::head_of(number), from = base::from_of(number);
        const mma_address at = stages + (mma_address)(stage * 2 * STAGE),
                          sums = stages + (mma_address)(SUMS + stage * 2 * STEP * 4);
        scores s = {}, dp = {};
        uint64_t gone[M] = {};
        left[0].template multiply<STEP>(s, mine(0), tile_along<D>(at, lane));
        left[1].template multiply<STEP>(dp, mine(1), tile_along<D>(at + STAGE, lane));
        base::finish(s, head, from);
        if (p.least) {
            base::choose(gone, head, from);
            base::drop(dp, gone);
        }
        base::template weigh<false>(s, sums);
        base::derive(s, dp, sums);
        tile_add<T, D, M, STEP>(y[0], dp, tile_down<D>(at, lane));
        if (KEYS && p.least)
            base::drop(s, gone);
        if (KEYS)
            tile_add<T, D, M, STEP>(y[base::OUTS - 1], s, tile_down<D>(at + STAGE, lane));
    }
    __device__ __forceinline__ void run()
    {
        fetch_own();
        if (steps > 0)
            fetch(0, 0);
        mma_commit();
        for (int i = 0; i < steps; i++) {
            mma_wait<0>();
            __syncthreads(); /* this step's operands are there, those of the last one are free */
            if (i + 1 < steps)
                fetch(i + 1, (i + 1) % 2);
            mma_commit();
            if (i == 0) {
                left[0].hold(mine(0));
                left[1].hold(mine(1));
                base::hold_sums();
            }
            step(i, i % 2);
        }
        mma_wait<0>();
        base::write_all();
    }
};

#endif
