/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Attention by products of warpgroups, for compute capability 9.0. Of a block, GROUPS warpgroups
 * have 64 rows of queries each, and one more copies keys and values, KEYS at a time, up to STAGES
 * steps ahead. A warpgroup has the scores of a step made while it weighs those of the step before,
 * and warpgroups take turns, so that one weighs while another multiplies (Shah et al., arXiv
 * 2407.08608). Gates tell who may read or write a stage of shared memory; copies open theirs when
 * they are there, so that no warpgroup waits for what another one has yet to do. */
#ifndef NDOCK_CUDA_FLASH_WIDE_CUH
#define NDOCK_CUDA_FLASH_WIDE_CUH
#include "neural/flash_rows.cuh"
#include "neural/wide_tile.cuh"

/* PLAIN: without masks and dropout, and of scales that are no trouble. */
template <class T, int D, int GROUPS, int KEYS, int STAGES, bool PLAIN>
struct flash_wide : flash_rows<T, D, 1, KEYS> {
    enum {
        ROWS = 64 * GROUPS,
        SLABS = (D + WGMMA_COLUMNS - 1) / WGMMA_COLUMNS,
        QUERY_SLAB = ROWS * WGMMA_ROW,
        SLAB = KEYS * WGMMA_ROW,
        STAGE = SLABS * SLAB /* bytes of keys, or values */
    };
    /* Gates, of which each stage has one. */
    enum { KEYS_FULL, VALUES_FULL = STAGES, KEYS_FREE = 2 * STAGES, VALUES_FREE = 3 * STAGES };
    enum { GATES = 4 * STAGES };
    typedef flash_rows<T, D, 1, KEYS> base;
    using base::b;
    using base::from;
    using base::h0;
    using base::kh;
    using base::p;
    using base::y;
    typename base::scores x = {};
    uint32_t weight[KEYS / 16][4]; /* as left operands */
    mma_address queries, stages, gates;
    int group, steps, mine; /* steps of the block; those after which the group's rows see nothing */
    int clear;              /* all rows of the group see the keys below */

    __device__ __forceinline__ explicit flash_wide(const attention_params &params)
        : base(params, ROWS)
    {
        MMA_SHARED(memory);
        queries = wide_begin(mma_address_of(memory));
        stages = queries + SLABS * QUERY_SLAB;
        gates = stages + 2 * STAGES * STAGE;
        group = __shfl_sync(0xffffffffu, (int)threadIdx.x / WGMMA_THREADS, 0);
        steps = steps_to(base::to);
        if (PLAIN)
            base::scaled = false;
        base::own += base::warp * 16;
    }
    __device__ __forceinline__ int steps_to(int end) const
    {
        return end > from ? (end - from + KEYS - 1) / KEYS : 0;
    }
    __device__ __forceinline__ mma_address gate(int which, int step) const
    {
        return gates + (mma_address)((which + step % STAGES) * 8);
    }
    __device__ __forceinline__ static int parity(int step) { return step / STAGES & 1; }
    __device__ __forceinline__ mma_address stage(int step, int values) const
    {
        return stages + (mma_address)((step % STAGES * 2 + values) * STAGE);
    }
    __device__ __forceinline__ void set_gates() const
    {
        if (threadIdx.x == 0)
            for (int i = 0; i < GATES; i++)
                wgmma_gate_set(gates + (mma_address)(i * 8),
                               i < KEYS_FREE ? (int)WGMMA_THREADS : GROUPS * 4);
        __syncthreads();
    }

    /* ---- the warpgroup that copies ---- */
    __device__ __forceinline__ tile_source<T> source(const attention_view &v, int head,
                                                     int64_t columns) const
    {
        return {(const T *)v.at + b * v.stride[0] + head * v.stride[1], v.stride[2], v.stride[3],
                (int)columns, p.whole};
    }
    __device__ __forceinline__ void announce(int which, int step) const
    {
        wide_announce(gate(which, step), p.whole);
    }
    __device__ __forceinline__ void copy_step(int values, int step,
                                              const tile_source<T> &rows) const
    {
        if (step >= STAGES)
            wgmma_gate_wait(gate(values ? VALUES_FREE : KEYS_FREE, step), parity(step - STAGES));
        wide_fetch<KEYS, D>(stage(step, values), rows, from + step * KEYS, p.n,
                            (int)threadIdx.x - GROUPS * WGMMA_THREADS);
        announce(values ? VALUES_FULL : KEYS_FULL, step);
    }
    /* Keys of a step go before values of the step before, which are needed, and have room, later. */
    __device__ __forceinline__ void copy() const
    {
        const tile_source<T> k = source(p.k, kh, p.d), v = source(p.v, kh, p.e);
        if (steps == 0)
            return;
        wide_fetch<ROWS, D>(queries, source(p.q, h0, p.d), base::first, p.rows,
                            (int)threadIdx.x - GROUPS * WGMMA_THREADS);
        copy_step(0, 0, k);
        for (int i = 0; i < steps; i++) {
            if (i + 1 < steps)
                copy_step(0, i + 1, k);
            copy_step(1, i, v);
        }
        mma_commit();
        mma_wait<0>();
    }

    /* ---- those that multiply ---- */
    __device__ __forceinline__ void await(int which, int step) const
    {
        wgmma_gate_wait(gate(which, step), parity(step));
        wgmma_publish(); /* what copies wrote is read by products */
    }
    __device__ __forceinline__ void free(int which, int step) const
    {
        if (base::lane == 0)
            wgmma_gate_arrive(gate(which, step));
    }
    __device__ __forceinline__ void multiply_keys(int step)
    {
        wide_multiply<T, D, KEYS>(x[0],
                                  wgmma_operand(queries + (mma_address)(group * 64 * WGMMA_ROW), 0),
                                  QUERY_SLAB, wgmma_operand(stage(step, 0), 0), SLAB);
    }
    __device__ __forceinline__ void add_values(int step)
    {
        wide_add<T, D, KEYS>(y[0], weight, wgmma_operand(stage(step, 1), SLAB));
    }
    /* Weights of the scores of a step; returns whether results are to be multiplied by `down`. */
    template <bool EDGE> __device__ __forceinline__ bool weigh(int step, float (&down)[1][2])
    {
        const int key = from + step * KEYS;
        if (!PLAIN)
            base::finish(x, key, true);
        else if (EDGE && key + KEYS > clear)
            base::hide(x, key);
        const bool moved = base::weigh(x, down);
        if (!PLAIN && p.least)
            base::drop(x, key);
        return moved;
    }
    __device__ __forceinline__ void begin()
    {
        float down[1][2];
        await(KEYS_FULL, 0);
        wgmma_settle(x[0]);
        wgmma_begin();
        multiply_keys(0);
        wgmma_wait<0>();
        wgmma_settle(x[0]);
        free(KEYS_FREE, 0);
        weigh<true>(0, down);
        wide_pack<T, KEYS>(weight, x[0]);
    }
    __device__ __forceinline__ void take_turn() const
    {
        wgmma_turn_wait<2 * WGMMA_THREADS>(1 + group);
    }
    __device__ __forceinline__ void end_turn(int i) const
    {
        if (i + 1 < steps || group + 1 < GROUPS)
            wgmma_turn_give<2 * WGMMA_THREADS>(group + 1 < GROUPS ? 2 + group : 1);
    }
    /* Scores of a step, while the values of the one before are added. */
    template <bool EDGE> __device__ __forceinline__ void step(int i)
    {
        float down[1][2];
        await(KEYS_FULL, i);
        take_turn();
        wgmma_settle(y[0]);
        wgmma_settle(x[0]);
        wgmma_begin();
        multiply_keys(i);
        await(VALUES_FULL, i - 1);
        add_values(i - 1);
        end_turn(i);
        wgmma_wait<1>();
        wgmma_settle(x[0]);
        free(KEYS_FREE, i);
        const bool moved = weigh<EDGE>(i, down);
        wgmma_wait<0>();
        wgmma_settle(y[0]);
        free(VALUES_FREE, i - 1);
        if (moved)
            base::scale_down(down);
        wide_pack<T, KEYS>(weight, x[0]);
    }
    /* Values of the last step. */
    __device__ __forceinline__ void end()
    {
        await(VALUES_FULL, mine - 1);
        wgmma_settle(y[0]);
        wgmma_begin();
        add_values(mine - 1);
        wgmma_wait<0>();
        wgmma_settle(y[0]);
        free(VALUES_FREE, mine - 1);
    }
    /* Steps that only rows of other groups need. */
    __device__ __forceinline__ void pass()
    {
        for (int i = mine; i < steps; i++) {
            await(KEYS_FULL, i);
            if (i > 0) {
                take_turn();
                end_turn(i);
            }
            free(KEYS_FREE, i);
            await(VALUES_FULL, i);
            free(VALUES_FREE, i);
        }
    }
    __device__ __forceinline__ void multiply()
    {
        const int top = base::first + group * 64,
                  bottom = top + 63 < p.rows ? top + 63 : p.rows - 1,
                  seen = top < p.rows ? base::seen_by(bottom) : 0;
        clear = base::seen_by(top);
        mine = steps_to(seen < base::to ? seen : base::to);
        if (group + 1 == GROUPS && steps > 1)
            wgmma_turn_give<2 * WGMMA_THREADS>(1);
        if (mine > 0) {
            int i = 1;
            begin();
            for (; PLAIN && from + (i + 1) * KEYS <= clear && i < mine; i++)
                step<false>(i);
            for (; i < mine; i++)
                step<true>(i);
            end();
        }
        pass();
        base::write();
    }
    __device__ __forceinline__ void run()
    {
        set_gates();
        if (group == GROUPS) {
            wgmma_give_registers<GROUPS == 3 ? 32 : 40>();
            copy();
        } else {
            wgmma_take_registers<GROUPS == 3 ? 160 : 232>();
            multiply();
        }
    }
};

#endif
