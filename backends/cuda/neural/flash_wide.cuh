/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Attention by products of warpgroups, for compute capability 9.0. Of a block, GROUPS warpgroups
 * have 64 rows of queries each, and one more copies keys and values, KEYS at a time, two steps
 * ahead; a thread block takes blocks of queries one after another, so that copies for the next one
 * go on while results are written. A warpgroup has the scores of a step made while it weighs those of the step before, and
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
    enum { KEYS_FULL, KEYS_FREE = 2, VALUES_FULL = 4, VALUES_FREE = 6, QUERIES_FULL = 8 };
    enum { QUERIES_FREE = 9, GATES };
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
    bool there;     /* there is a block in this round */
    int done, turn; /* steps of earlier blocks, and how many blocks that had steps */

    __device__ __forceinline__ explicit flash_wide(const attention_params &params) : base(params)
    {
        MMA_SHARED(memory);
        queries = wide_begin(mma_address_of(memory));
        stages = queries + SLABS * QUERY_SLAB;
        gates = stages + 2 * STAGES * STAGE;
        group = (int)threadIdx.x / WGMMA_THREADS;
        done = turn = 0;
    }
    /* Block number `round` of those that the thread block takes: every other time in the other
     * direction, since the first of a head are the longest. */
    __device__ __forceinline__ bool take(int round)
    {
        const int beside = (int)gridDim.x, at = (int)blockIdx.x,
                  block = round * beside + (round % 2 ? beside - 1 - at : at);
        if (round * beside >= p.blocks)
            return false;
        steps = 0;
        there = block < p.blocks;
        if (!there)
            return true;
        base::take(block, ROWS);
        base::own += base::warp * 16;
        steps = base::to > from ? (base::to - from + KEYS - 1) / KEYS : 0;
        return true;
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
                               i % 4 < 2 && i != QUERIES_FREE ? (int)WGMMA_THREADS : GROUPS * 4);
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
    template <int LATEST> __device__ __forceinline__ void announce(mma_address at) const
    {
        mma_wait<LATEST>();
        wgmma_publish();
        wgmma_gate_arrive(at);
    }
    /* What was copied last is announced when the next copies have begun. */
    __device__ __forceinline__ void copied(mma_address &last, mma_address at) const
    {
        mma_commit();
        if (last)
            announce<1>(last);
        last = at;
    }
    __device__ __forceinline__ void copy_step(int i, int values, const tile_source<T> &rows,
                                              mma_address &last) const
    {
        const int step = done + i;
        if (step >= STAGES)
            wgmma_gate_wait(gate(values ? VALUES_FREE : KEYS_FREE, step), parity(step - STAGES));
        wide_fetch<KEYS, D>(stage(step, values), rows, from + i * KEYS, p.n,
                            (int)threadIdx.x - GROUPS * WGMMA_THREADS);
        copied(last, gate(values ? VALUES_FULL : KEYS_FULL, step));
    }
    __device__ __forceinline__ void copy_queries(mma_address &last) const
    {
        if (turn > 0)
            wgmma_gate_wait(gates + QUERIES_FREE * 8, (turn - 1) & 1);
        wide_fetch<ROWS, D>(queries, source(p.q, h0, p.d), base::first, p.rows,
                            (int)threadIdx.x - GROUPS * WGMMA_THREADS);
        copied(last, gates + QUERIES_FULL * 8);
    }
    __device__ __forceinline__ void copy()
    {
        mma_address last = 0;
        for (int round = 0; take(round); round++) {
            const tile_source<T> k = source(p.k, kh, p.d), v = source(p.v, kh, p.e);
            for (int i = 0; i < steps; i++) {
                copy_step(i, 0, k, last);
                if (i == 0)
                    copy_queries(last);
                copy_step(i, 1, v, last);
            }
            done += steps;
            turn += steps > 0;
        }
        if (last)
            announce<0>(last);
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
    /* Weights of the scores of step i of the block; returns whether results are to be multiplied by
     * `down`. */
    template <bool EDGE> __device__ __forceinline__ bool weigh(int i, float (&down)[1][2])
    {
        const int key = from + i * KEYS;
        if (EDGE)
            base::finish(x, key, true);
        const bool moved = base::weigh(x, down);
        if (EDGE && p.least)
            base::drop(x, key);
        return moved;
    }
    /* Scores of step i are there. */
    __device__ __forceinline__ void free_keys(int i) const
    {
        free(KEYS_FREE, done + i);
        if (i + 1 == steps && base::lane == 0)
            wgmma_gate_arrive(gates + QUERIES_FREE * 8);
    }
    template <bool EDGE> __device__ __forceinline__ void begin()
    {
        float down[1][2];
        await(KEYS_FULL, done);
        wgmma_gate_wait(gates + QUERIES_FULL * 8, turn & 1);
        wgmma_settle(x[0]);
        wgmma_begin();
        multiply_keys(done);
        wgmma_wait<0>();
        wgmma_settle(x[0]);
        free_keys(0);
        weigh<EDGE>(0, down);
        wide_pack<T, KEYS>(weight, x[0]);
    }
    /* Scores of a step, while the values of the one before are added. */
    template <bool EDGE> __device__ __forceinline__ void step(int i)
    {
        float down[1][2];
        await(VALUES_FULL, done + i - 1);
        await(KEYS_FULL, done + i);
        wgmma_turn_wait<2 * WGMMA_THREADS>(1 + group);
        wgmma_settle(y[0]);
        wgmma_settle(x[0]);
        wgmma_begin();
        multiply_keys(done + i);
        add_values(done + i - 1);
        if (i + 1 < steps || group + 1 < GROUPS)
            wgmma_turn_give<2 * WGMMA_THREADS>(1 + (group + 1) % GROUPS);
        wgmma_wait<1>();
        wgmma_settle(x[0]);
        free_keys(i);
        const bool moved = weigh<EDGE>(i, down);
        wgmma_wait<0>();
        wgmma_settle(y[0]);
        free(VALUES_FREE, done + i - 1);
        if (moved)
            base::scale_down(down);
        wide_pack<T, KEYS>(weight, x[0]);
    }
    __device__ __forceinline__ void multiply_steps()
    {
        const bool plain = !base::scaled && !p.mask_kind && !p.least;
        const int clear = plain && base::clear > from ? (base::clear - from) / KEYS : 0,
                  whole = clear < steps ? clear : steps;
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
        await(VALUES_FULL, done + steps - 1);
        wgmma_settle(y[0]);
        wgmma_begin();
        add_values(done + steps - 1);
        wgmma_wait<0>();
        wgmma_settle(y[0]);
        free(VALUES_FREE, done + steps - 1);
    }
    __device__ __forceinline__ void multiply()
    {
        for (int round = 0; take(round); round++) {
            base::clear_sums();
            if (steps > 0)
                multiply_steps();
            if (there)
                base::write();
            done += steps;
            turn += steps > 0;
        }
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
