/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Attention by products of warpgroups, for compute capability 9.0. Of a block, GROUPS warpgroups
 * have 64 rows of queries each, and one more copies keys and values, KEYS at a time, two steps
 * ahead. A warpgroup has the scores of a step made while it weighs those of the step before, and
 * warpgroups take turns, so that one weighs while another multiplies (Shah et al., arXiv
 * 2407.08608). Gates tell who may read or write a stage of shared memory. */
#ifndef NDOCK_CUDA_FLASH_WIDE_CUH
#define NDOCK_CUDA_FLASH_WIDE_CUH
#include "neural/flash_rows.cuh"
#include "neural/wide_tile.cuh"

template <class T, int D, int GROUPS, int KEYS> struct flash_wide : flash_rows<T, D, 1, KEYS> {
    enum {
        ROWS = 64 * GROUPS,
        SLABS = (D + WGMMA_COLUMNS - 1) / WGMMA_COLUMNS,
        QUERY_SLAB = ROWS * WGMMA_ROW,
        SLAB = KEYS * WGMMA_ROW,
        STAGE = SLABS * SLAB, /* bytes of keys, or values */
        STAGES = 2
    };
    enum { KEYS_FULL, KEYS_FREE = 2, VALUES_FULL = 4, VALUES_FREE = 6, GATES = 8 };
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
    int group, steps;

    __device__ __forceinline__ explicit flash_wide(const attention_params &params)
        : base(params, ROWS)
    {
        MMA_SHARED(memory);
        queries = wide_begin(mma_address_of(memory));
        stages = queries + SLABS * QUERY_SLAB;
        gates = stages + 2 * STAGES * STAGE;
        group = (int)threadIdx.x / WGMMA_THREADS;
        steps = base::to > from ? (base::to - from + KEYS - 1) / KEYS : 0;
        base::own += base::warp * 16;
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
                               i % 4 < 2 ? (int)WGMMA_THREADS : GROUPS * 4);
        __syncthreads();
    }

    /* ---- the warpgroup that copies ---- */
    __device__ __forceinline__ tile_source<T> source(const attention_view &v, int head,
                                                     int64_t columns) const
    {
        return {(const T *)v.at + b * v.stride[0] + head * v.stride[1], v.stride[2], v.stride[3],
                (int)columns, p.whole};
    }
    /* All copies but those of the latest group are there. */
    template <int LATEST> __device__ __forceinline__ void announce(int which, int step) const
    {
        mma_wait<LATEST>();
        wgmma_publish();
        wgmma_gate_arrive(gate(which, step));
    }
    __device__ __forceinline__ void copy() const
    {
        const int thread = (int)threadIdx.x - GROUPS * WGMMA_THREADS;
        const tile_source<T> k = source(p.k, kh, p.d), v = source(p.v, kh, p.e);
        if (steps > 0)
            wide_fetch<ROWS, D>(queries, source(p.q, h0, p.d), base::first, p.rows, thread);
        for (int i = 0; i < steps; i++) {
            if (i >= STAGES)
                wgmma_gate_wait(gate(KEYS_FREE, i), parity(i - STAGES));
            wide_fetch<KEYS, D>(stage(i, 0), k, from + i * KEYS, p.n, thread);
            mma_commit();
            if (i > 0)
                announce<1>(VALUES_FULL, i - 1);
            if (i >= STAGES)
                wgmma_gate_wait(gate(VALUES_FREE, i), parity(i - STAGES));
            wide_fetch<KEYS, D>(stage(i, 1), v, from + i * KEYS, p.n, thread);
            mma_commit();
            announce<1>(KEYS_FULL, i);
        }
        if (steps > 0)
            announce<0>(VALUES_FULL, steps - 1);
    }

    /* ---- those that multiply ---- */
    __device__ __forceinline__ void await(int which, int step) const
    {
        wgmma_gate_wait(gate(which, step), parity(step));
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
        if (EDGE)
            base::finish(x, key, true);
        const bool moved = base::weigh(x, down);
        if (EDGE && p.least)
            base::drop(x, key);
        return moved;
    }
    template <bool EDGE> __device__ __forceinline__ void begin()
    {
        float down[1][2];
        await(KEYS_FULL, 0);
        wgmma_settle(x[0]);
        wgmma_begin();
        multiply_keys(0);
        wgmma_wait<0>();
        wgmma_settle(x[0]);
        free(KEYS_FREE, 0);
        weigh<EDGE>(0, down);
        wide_pack<T, KEYS>(weight, x[0]);
    }
    /* Scores of a step, while the values of the one before are added. */
    template <bool EDGE> __device__ __forceinline__ void step(int i)
    {
        float down[1][2];
        await(VALUES_FULL, i - 1);
        await(KEYS_FULL, i);
        wgmma_turn_wait<2 * WGMMA_THREADS>(1 + group);
        wgmma_settle(y[0]);
        wgmma_settle(x[0]);
        wgmma_begin();
        multiply_keys(i);
        add_values(i - 1);
        if (i + 1 < steps || group + 1 < GROUPS)
            wgmma_turn_give<2 * WGMMA_THREADS>(1 + (group + 1) % GROUPS);
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
    __device__ __forceinline__ void multiply()
    {
        const bool plain = !base::scaled && !p.mask_kind && !p.least;
        const int clear = plain && base::clear > from ? (base::clear - from) / KEYS : 0,
                  whole = clear < steps ? clear : steps;
        if (steps > 0) {
            if (group + 1 == GROUPS && steps > 1)
                wgmma_turn_give<2 * WGMMA_THREADS>(1);
            if (whole > 0)
                begin<false>();
            else
                begin<true>();
            int i = 1;
            for (; i < whole; i++)
                step<false>(i);
            for (; i < steps; i++)
                step<true>(i);
            await(VALUES_FULL, steps - 1);
            wgmma_settle(y[0]);
            wgmma_begin();
            add_values(steps - 1);
            wgmma_wait<0>();
            wgmma_settle(y[0]);
        }
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
