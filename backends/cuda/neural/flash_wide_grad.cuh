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
 * turn has come. The gradients' sums of that many heads stay in the second-level cache. */
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

/* PLAIN: without masks and dropout, and of scales that are no trouble. */
template <class T, int D, int STEP, bool PLAIN>
struct flash_wide_grad : flash_grad_rows<T, D, 1, 128, 64, true> {
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
        COPIERS = 96           /* threads that copy; the warp after them adds parts */
    };
    enum { QUERIES_FULL, GRADS_FULL = 2, STEP_FREE = 4, PART_FULL = 6, PART_FREE, GATES };
    typedef flash_grad_rows<T, D, 1, ROWS, PIECE, true> base;
    using base::b;
    using base::h;
    using base::kh;
    using base::p;
    using base::per_head;
    using base::steps;
    using base::y;
    typename base::scores s[PIECES] = {}, dp[PIECES] = {};
    uint32_t weight[PIECES][PIECE / 16][4], slope[PIECES][PIECE / 16][4]; /* as left operands */
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
        group = __shfl_sync(0xffffffffu, (int)threadIdx.x / WGMMA_THREADS, 0);
        base::row += base::warp * 16;
        base::template set_steps<STEP>((int)(p.heads / p.key_heads));
        if (PLAIN)
            base::scaled = false;
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
    /* The last queries first: those are what all blocks of a head see. */
    __device__ __forceinline__ int from_of(int step) const
    {
        return base::begin + (per_head - 1 - step % per_head) * STEP;
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
    /* The gate opens when all copies that were begun are there; nobody waits for that here. */
    __device__ __forceinline__ void announce(int which, int step) const
    {
        if (p.whole) {
            wgmma_gate_arrive_copied(gate(which, step));
        } else {
            mma_commit();
            mma_wait<0>(); /* those of sums */
            wgmma_publish();
            wgmma_gate_arrive(gate(which, step));
        }
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
            const int head = base::head_of(i), from = from_of(i);
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
        wgmma_publish(); /* what copies wrote is read by products */
    }
    /* Begins scores (0), or gradients of weights (1), of a piece of a step. */
    __device__ __forceinline__ void multiply_rows(typename base::scores &to, int which, int step,
                                                  int piece)
    {
        const mma_address mine =
            own + (mma_address)(which * SLABS * OWN_SLAB + group * 64 * WGMMA_ROW);
        wide_multiply<T, D, PIECE>(to[0], wgmma_operand(mine, 0), OWN_SLAB,
                                   piece_of(step, which, piece), SLAB);
    }
    __device__ __forceinline__ uint64_t piece_of(int step, int which, int piece) const
    {
        return wgmma_operand(stage(step, which) + (mma_address)(piece * PIECE * WGMMA_ROW), SLAB);
    }
    __device__ __forceinline__ void settle()
    {
        wgmma_settle(y[0][0]);
        wgmma_settle(y[1][0]);
    }
    /* Weights of a piece, from its scores. */
    __device__ __forceinline__ void weigh(int i, int piece, uint64_t (&gone)[1])
    {
        const int head = base::head_of(i), from = from_of(i) + piece * PIECE;
        if (!PLAIN)
            base::finish(s[piece], head, from);
        else if (base::is_edge(from))
            base::hide(s[piece], from);
        base::template weigh<true>(s[piece], sums_of(i, piece));
        if (!PLAIN && p.least)
            base::choose(gone, head, from);
    }
    /* Its slopes, from the gradients of weights. */
    __device__ __forceinline__ void derive(int i, int piece, const uint64_t (&gone)[1])
    {
        if (!PLAIN && p.least)
            base::drop(dp[piece], gone);
        base::derive(s[piece], dp[piece], sums_of(i, piece));
    }
    /* The gradient of values. */
    __device__ __forceinline__ void add_values(int i, int piece, const uint64_t (&gone)[1])
    {
        if (!PLAIN && p.least)
            base::drop(s[piece], gone);
        wide_pack<T, PIECE>(weight[piece], s[piece][0]);
        wgmma_begin();
        wide_add<T, D, PIECE>(y[1][0], weight[piece], piece_of(i, 1, piece));
    }
    __device__ __forceinline__ void add_keys(int i, int piece)
    {
        wide_add<T, D, PIECE>(y[0][0], slope[piece], piece_of(i, 0, piece));
    }
    /* Slopes as slabs of 64 queries, a row of which is a key's. */
    __device__ __forceinline__ mma_address slopes_of(int step) const
    {
        return slopes + (mma_address)(step % 2 * SLOPES);
    }
    __device__ __forceinline__ void put_slopes(int i, int piece)
    {
        const int row = base::warp * 16 + base::lane % 16, right = base::lane / 16;
        const mma_address at = slopes_of(i) + (mma_address)(piece * SLOPE_SLAB);
        wide_pack<T, PIECE>(slope[piece], dp[piece][0]);
#pragma unroll
        for (int k = 0; k < PIECE / 16; k++)
            wgmma_put_pieces(at + wgmma_chunk(row, k * 2 + right), slope[piece][k]);
    }
    /* Both warpgroups' slopes are there. */
    __device__ __forceinline__ void meet() const
    {
        wgmma_publish();
        wgmma_turn_wait<GROUPS * WGMMA_THREADS>(1);
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
        if (i > 0)
            wgmma_gate_wait(gates + PART_FREE * 8, (i - 1) & 1);
#pragma unroll
        for (int e = 0; e < PART_COLUMNS / 8; e++)
            if (BY_ROWS || group == 0 || e < D / 8 - 8)
                mma_store(part + (mma_address)(((group * PART_COLUMNS / 8 + e) * WGMMA_THREADS + thread) * 16),
                          {__float_as_uint(dq[e][0]), __float_as_uint(dq[e][1]),
                           __float_as_uint(dq[e][2]), __float_as_uint(dq[e][3])});
        wgmma_publish();
        wgmma_gate_arrive(gates + PART_FULL * 8);
    }
    /* What comes first of a step: the scores of its first piece, and its gradients of weights. */
    __device__ __forceinline__ void begin(int i)
    {
        await(QUERIES_FULL, i);
        await(GRADS_FULL, i);
#pragma unroll
        for (int piece = 0; piece < PIECES; piece++) {
            wgmma_settle(s[piece][0]);
            wgmma_settle(dp[piece][0]);
        }
        settle();
        wgmma_begin();
        multiply_rows(s[0], 0, i, 0);
        multiply_rows(dp[0], 1, i, 0);
    }
    /* And last: gradients of queries, of all slopes, and what the last piece adds to those of keys. */
    __device__ __forceinline__ void end(int i)
    {
        meet();
        wgmma_begin();
        multiply_slopes(i);
        add_keys(i, PIECES - 1);
        wgmma_wait<1>();
        wgmma_settle(dq);
        give_part(i);
        wgmma_wait<0>();
        settle();
        if (base::lane == 0)
            wgmma_gate_arrive(gate(STEP_FREE, i));
    }
    /* One piece: values are added to while slopes are made. */
    __device__ __forceinline__ void step_whole(int i)
    {
        uint64_t gone[1] = {};
        begin(i);
        wgmma_wait<1>();
        wgmma_settle(s[0][0]);
        weigh(i, 0, gone);
        wgmma_wait<0>();
        wgmma_settle(dp[0][0]);
        derive(i, 0, gone);
        add_values(i, 0, gone);
        put_slopes(i, 0);
        end(i);
    }
    /* Two pieces: each one's products run while weights and slopes of the other are made. */
    __device__ __forceinline__ void step_halves(int i)
    {
        enum { LAST = PIECES - 1 };
        uint64_t gone[2][1] = {};
        begin(i);
        multiply_rows(s[LAST], 0, i, LAST);
        multiply_rows(dp[LAST], 1, i, LAST);
        wgmma_wait<3>();
        wgmma_settle(s[0][0]);
        weigh(i, 0, gone[0]);
        wgmma_wait<2>();
        wgmma_settle(dp[0][0]);
        derive(i, 0, gone[0]);
        add_values(i, 0, gone[0]);
        put_slopes(i, 0);
        wgmma_begin();
        add_keys(i, 0);
        wgmma_wait<3>();
        wgmma_settle(s[LAST][0]);
        weigh(i, LAST, gone[1]);
        wgmma_wait<2>();
        wgmma_settle(dp[LAST][0]);
        derive(i, LAST, gone[1]);
        wgmma_wait<0>();
        settle();
        add_values(i, LAST, gone[1]);
        put_slopes(i, LAST);
        end(i);
    }
    __device__ __forceinline__ void step(int i)
    {
        if (PIECES == 1)
            step_whole(i);
        else
            step_halves(i);
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
            for (int i = 0; i < steps; i++)
                step(i);
            base::write_all();
        }
    }
};

/* Eight columns of a row: of a lane's four numbers, two of row `half`. */
template <class T>
MMA_FN void flash_wide_put(const attention_params &p, T *row, int column, int half,
                           const float4 (&x)[4])
{
    const int64_t step = p.out[0].stride[3];
    const float by = (float)p.scale;
    float y[8];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        y[2 * k] = (half ? x[k].z : x[k].x) * by;
        y[2 * k + 1] = (half ? x[k].w : x[k].y) * by;
    }
    if (step == 1 && (uint64_t)(row + column) % 16 == 0 && column + 8 <= p.d) {
        *(uint4 *)(row + column) = {mma_pack<T>(y[0], y[1]), mma_pack<T>(y[2], y[3]),
                                    mma_pack<T>(y[4], y[5]), mma_pack<T>(y[6], y[7])};
        return;
    }
#pragma unroll
    for (int k = 0; k < 8; k++)
        if (column + k < p.d)
            neural_narrow(row + (column + k) * step, y[k]);
}
/* Gradients of queries of a tile, from sums: as f32 of registers of warpgroups, eight rows beside
 * each other, to rows. What no key sees was never summed. */
template <class T> MMA_FN void flash_wide_finish(const attention_params &p)
{
    const int64_t tile = blockIdx.x, i = tile % p.tiles, h = tile / p.tiles % p.heads,
                  b = tile / p.tiles / p.heads;
    const bool any = ((const uint32_t *)p.turns)[tile] > 0;
    const int units = p.tile_columns / 8, pairs = p.tile_rows / 2;
    const float4 *from = (const float4 *)p.sums + tile * p.tile_rows * p.tile_columns / 4;
    for (int at = (int)threadIdx.x; at < units * pairs; at += FLASH_THREADS) {
        const int unit = at % units, pair = at / units, lane = pair % 8, warp = pair / 8 % 4,
                  half = pair / 32;
        float4 x[4];
#pragma unroll
        for (int k = 0; k < 4; k++)
            x[k] = any ? from[(half * units + unit) * WGMMA_THREADS + warp * 32 + lane * 4 + k]
                       : float4{0, 0, 0, 0};
        const int64_t row = i * p.tile_rows + half * 64 + warp * 16 + lane;
#pragma unroll
        for (int k = 0; k < 2; k++)
            if (row + 8 * k < p.m)
                flash_wide_put(p,
                               (T *)p.out[0].at + b * p.out[0].stride[0] + h * p.out[0].stride[1] +
                                   (row + 8 * k) * p.out[0].stride[2],
                               unit * 8, k, x);
    }
}

#endif
