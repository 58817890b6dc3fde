/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Attention by products of warpgroups, for compute capability 9.0. Of a block, GROUPS warpgroups
 * have 64 rows of queries each, and one more copies keys and values, KEYS at a time, up to STAGES
 * steps ahead. A warpgroup has the scores of a step made while it weighs those of the step before,
 * and warpgroups take turns, so that one weighs while another multiplies (Shah et al., arXiv
 * 2407.08608). Gates tell who may read or write a stage of shared memory. The warpgroup that copies opens the gate of a
 * copy some copies later, when it has made that copy known to products: a warpgroup that multiplies would wait for its own
 * stores of results if it did so itself.
 *
 * A block of threads takes one tile of queries after another. Stages and gates go on from tile to tile, so that operands
 * of the next tile are copied while the last steps of a tile are computed, and the next tile's first scores are made while
 * results are written. */
#ifndef NDOCK_CUDA_FLASH_WIDE_CUH
#define NDOCK_CUDA_FLASH_WIDE_CUH
#include "neural/flash_results.cuh"
#include "neural/wide_tile.cuh"

/* PLAIN: without masks and dropout, and of scales that are no trouble. */
template <class T, int D, int GROUPS, int KEYS, int STAGES, bool PLAIN>
struct flash_wide : flash_results<T, D, 1, KEYS> {
    enum {
        GROUP_COUNT = GROUPS,
        ROWS = 64 * GROUPS,
        SLABS = (D + WGMMA_COLUMNS - 1) / WGMMA_COLUMNS,
        QUERY_SLAB = ROWS * WGMMA_ROW,
        SLAB = KEYS * WGMMA_ROW,
        STAGE = SLABS * SLAB,          /* bytes of keys, or values */
        PLACES = FLASH_WIDE_PLACES(D), /* for queries of tiles */
        QUERIES = SLABS * QUERY_SLAB
    };
    /* Gates, of which each stage has one. */
    enum { KEYS_FULL, VALUES_FULL = STAGES, KEYS_FREE = 2 * STAGES, VALUES_FREE = 3 * STAGES };
    enum { GATES = 4 * STAGES };
    typedef wide_line<STAGES == 2 ? 2 : 3> line;
    typedef flash_results<T, D, 1, KEYS> base;
    using base::b;
    using base::from;
    using base::h0;
    using base::kh;
    using base::p;
    using base::y;
    typename base::scores x = {};
    uint32_t weight[KEYS / 16][4]; /* as left operands */
    mma_address queries, stages, gates;
    int group, steps, mine; /* steps of the tile; those after which the group's rows see nothing */
    int clear;              /* all rows of the group see the keys below */
    int past;               /* steps of the block's tiles before */

    /* Of a tile, the block's number `turn`, before which the block took so many steps. */
    __device__ __forceinline__ flash_wide(const attention_params &params, int tile, int turn,
                                          int steps_before)
        : base(params, tile, ROWS), past(steps_before)
    {
        MMA_SHARED(memory);
        const mma_address begin = wide_begin(mma_address_of(memory));
        stages = begin + PLACES * QUERIES;
        gates = stages + 2 * STAGES * STAGE;
        group = __shfl_sync(0xffffffffu, (int)threadIdx.x / WGMMA_THREADS, 0);
        if (PLAIN)
            base::scaled = false;
        set_place(turn);
    }
    __device__ __forceinline__ void set_place(int turn)
    {
        MMA_SHARED(memory);
        queries = wide_begin(mma_address_of(memory)) + (mma_address)(turn % PLACES * QUERIES);
        steps = steps_to(base::to);
        base::own += base::warp * 16;
        const int top = base::first + group * 64,
                  bottom = top + 63 < p.rows ? top + 63 : p.rows - 1,
                  seen = top < p.rows ? base::seen_by(bottom) : 0;
        clear = base::seen_by(top);
        mine = steps_to(seen < base::to ? seen : base::to);
    }
    __device__ __forceinline__ void go_to(int tile, int turn)
    {
        past += steps;
        base::go_to(tile, ROWS);
        set_place(turn);
    }
    /* At least one, so that a tile always has first scores and last values; a step that nobody sees is hidden whole. */
    __device__ __forceinline__ int steps_to(int end) const
    {
        return end > from + KEYS ? (end - from + KEYS - 1) / KEYS : 1;
    }
    __device__ __forceinline__ mma_address gate(int which, int step) const
    {
        return gates + (mma_address)((which + (past + step) % STAGES) * 8);
    }
    __device__ __forceinline__ int parity(int step) const { return (past + step) / STAGES & 1; }
    __device__ __forceinline__ mma_address stage(int step, int values) const
    {
        return stages + (mma_address)(((past + step) % STAGES * 2 + values) * STAGE);
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
    __device__ __forceinline__ void copy_step(line &begun, int values, int step,
                                              const tile_source<T> &rows) const
    {
        if (past + step >= STAGES)
            wgmma_gate_wait(gate(values ? VALUES_FREE : KEYS_FREE, step), parity(step - STAGES));
        wide_fetch<KEYS, D>(stage(step, values), rows, from + step * KEYS, p.n,
                            (int)threadIdx.x - GROUPS * WGMMA_THREADS);
        begun.announce(gate(values ? VALUES_FULL : KEYS_FULL, step));
    }
    /* The place of the queries is free when the keys of the step before `end`, the last of the tile that had it, are:
     * the gate of that step is waited for, unless it was in order to copy later keys. */
    __device__ __forceinline__ void await_place(int end) const
    {
        const int last = end - 1 - past;
        if (end > 0 && last + STAGES >= 0)
            wgmma_gate_wait(gate(KEYS_FREE, last), parity(last));
    }
    /* Keys of a step go before values of the step before, which are needed, and have room, later. */
    __device__ __forceinline__ void copy(line &begun, int end) const
    {
        const tile_source<T> k = source(p.k, kh, p.d), v = source(p.v, kh, p.e);
        await_place(end);
        wide_fetch<ROWS, D>(queries, source(p.q, h0, p.d), base::first, p.rows,
                            (int)threadIdx.x - GROUPS * WGMMA_THREADS);
        copy_step(begun, 0, 0, k);
        for (int i = 0; i < steps; i++) {
            if (i + 1 < steps)
                copy_step(begun, 0, i + 1, k);
            copy_step(begun, 1, i, v);
        }
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
        if (!PLAIN)
            base::finish(x, key, true);
        else if (EDGE && key + KEYS > clear)
            base::hide(x, key);
        const bool moved = base::weigh(x, down);
        if (!PLAIN && p.least)
            base::drop(x, key);
        return moved;
    }
    /* Begins the scores of the tile's first step. */
    __device__ __forceinline__ void begin()
    {
        await(KEYS_FULL, 0);
        wgmma_settle(x[0]);
        wgmma_begin();
        multiply_keys(0);
    }
    __device__ __forceinline__ void weigh_first()
    {
        float down[1][2];
        wgmma_wait<0>();
        wgmma_settle(x[0]);
        free(KEYS_FREE, 0);
        weigh<true>(0, down);
        wide_pack<T, KEYS>(weight, x[0]);
    }
    /* The first group's turn, which is the last one's to give, even while that has not ended the tile before. */
    __device__ __forceinline__ void begin_turns() const
    {
        if (group + 1 == GROUPS)
            wgmma_turn_give<2 * WGMMA_THREADS>(1);
    }
    __device__ __forceinline__ void end_turns() const
    {
        if (group == 0)
            take_turn();
    }
    __device__ __forceinline__ void take_turn() const
    {
        wgmma_turn_wait<2 * WGMMA_THREADS>(1 + group);
    }
    __device__ __forceinline__ void end_turn() const
    {
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
        end_turn();
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
    /* Begins to add values of the last step. */
    __device__ __forceinline__ void begin_last()
    {
        await(VALUES_FULL, mine - 1);
        wgmma_settle(y[0]);
        wgmma_begin();
        add_values(mine - 1);
    }
    /* Steps that only rows of other groups need. */
    __device__ __forceinline__ void pass()
    {
        for (int i = mine; i < steps; i++) {
            await(KEYS_FULL, i);
            take_turn();
            end_turn();
            free(KEYS_FREE, i);
            await(VALUES_FULL, i);
            free(VALUES_FREE, i);
        }
    }
    /* All but the last values, which are begun to be added. */
    __device__ __forceinline__ void multiply()
    {
        int i = 1;
        weigh_first();
        for (; PLAIN && from + (i + 1) * KEYS <= clear && i < mine; i++)
            step<false>(i);
        for (; i < mine; i++)
            step<true>(i);
        begin_last();
        if (mine < steps) {
            wgmma_wait<0>();
            wgmma_settle(y[0]);
            free(VALUES_FREE, mine - 1);
            pass();
        }
    }
};

/* The tiles of a block of threads, one of each so many as there are blocks: of these in turns from the first and from
 * the last, since earlier tiles are longer where attention is causal. Where there is no room for the queries of two
 * tiles, it is one. */
template <class WIDE> struct flash_wide_tiles {
    static __device__ __forceinline__ int tile_of(int turn)
    {
        const int blocks = (int)gridDim.x, block = (int)blockIdx.x;
        return turn * blocks + (turn % 2 ? blocks - 1 - block : block);
    }
    static __device__ __forceinline__ bool is_there(const attention_params &p, int turn)
    {
        return (turn == 0 || WIDE::PLACES > 1) && tile_of(turn) < p.blocks;
    }
    static __device__ __forceinline__ void copy(const attention_params &p)
    {
        int past = 0, ends[WIDE::PLACES] = {}; /* steps after which places of queries are free */
        typename WIDE::line begun;
        for (int turn = 0; is_there(p, turn); turn++) {
            const WIDE w(p, tile_of(turn), turn, past);
            w.copy(begun, ends[0]);
            past += w.steps;
#pragma unroll
            for (int i = 0; i + 1 < WIDE::PLACES; i++)
                ends[i] = ends[i + 1];
            ends[WIDE::PLACES - 1] = past;
        }
        begun.end();
    }
    /* Scores of the next tile are made while the results of a tile are written. */
    static __device__ __forceinline__ void multiply(const attention_params &p)
    {
        if (!is_there(p, 0))
            return;
        WIDE w(p, tile_of(0), 0, 0);
        w.begin();
        for (int turn = 1; is_there(p, turn); turn++) {
            w.multiply();
            const flash_place place = w;
            const mma_address last = w.gate(WIDE::VALUES_FREE, w.mine - 1);
            const bool ended = w.mine < w.steps;
            w.go_to(tile_of(turn), turn);
            w.begin();
            wgmma_wait<1>();
            wgmma_settle(w.y[0]);
            if (w.lane == 0 && !ended)
                wgmma_gate_arrive(last);
            w.write(place);
            w.clear_sums();
        }
        w.multiply();
        wgmma_wait<0>();
        wgmma_settle(w.y[0]);
        if (w.mine == w.steps)
            w.free(WIDE::VALUES_FREE, w.mine - 1);
        w.write();
    }
    static __device__ __forceinline__ void run(const attention_params &p)
    {
        const WIDE w(p, (int)blockIdx.x, 0, 0);
        w.set_gates();
        if (w.group == WIDE::GROUP_COUNT) {
            wgmma_give_registers<WIDE::GROUP_COUNT == 3 ? 32 : 40>();
            copy(p);
        } else {
            wgmma_take_registers<WIDE::GROUP_COUNT == 3 ? 160 : 232>();
            w.begin_turns();
            multiply(p);
            w.end_turns();
        }
    }
};

#endif
