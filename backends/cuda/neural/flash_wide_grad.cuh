/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients of attention by products of warpgroups, for compute capability 9.0, in one pass of five
 * products (flash_grad_rows.cuh says of what). A block has 128 keys, two warpgroups 64 each, and goes
 * over tiles of STEP queries, in pieces of 64, that flash_wide_feed.cuh has copied. Scores are turned
 * (keys are rows), so that weights and slopes are left operands from registers for the gradients of
 * values and keys; slopes go to shared memory too, for the gradient of queries: that of a tile is a
 * sum over blocks, which add their parts in f32 in global memory one after another, first keys first,
 * so that the bits are always the same. Per tile 128*STEP*D*10 operations stand against STEP*D*4 bytes
 * added to the second-level cache: 320 to a byte. */
#ifndef NDOCK_CUDA_FLASH_WIDE_GRAD_CUH
#define NDOCK_CUDA_FLASH_WIDE_GRAD_CUH
#include "neural/flash_wide_feed.cuh"

/* PLAIN: without masks and dropout, and of scales that are no trouble. */
template <class T, int D, int STEP, bool PLAIN>
struct flash_wide_grad : flash_wide_feed<T, D, STEP> {
    typedef flash_wide_feed<T, D, STEP> feed;
    typedef typename feed::base base;
    using feed::add_parts;
    using feed::BY_ROWS;
    using feed::COPIERS;
    using feed::copy;
    using feed::from_of;
    using feed::gate;
    using feed::gates;
    using feed::GRADS_FULL;
    using feed::group;
    using feed::GROUPS;
    using feed::head_of;
    using feed::own;
    using feed::OWN_SLAB;
    using feed::p;
    using feed::parity;
    using feed::part;
    using feed::PART_COLUMNS;
    using feed::PART_FREE;
    using feed::PART_FULL;
    using feed::PIECE;
    using feed::PIECES;
    using feed::QUERIES_FULL;
    using feed::ROWS;
    using feed::set_gates;
    using feed::SLAB;
    using feed::SLABS;
    using feed::SLOPE_SLAB;
    using feed::SLOPES;
    using feed::slopes;
    using feed::stage;
    using feed::STEP_FREE;
    using feed::steps;
    using feed::sums_of;
    using feed::y;
    typename base::scores s[PIECES] = {}, dp[PIECES] = {};
    uint32_t weight[PIECES][PIECE / 16][4], slope[PIECES][PIECE / 16][4]; /* as left operands */
    float dq[PART_COLUMNS / 8][4];

    __device__ __forceinline__ flash_wide_grad(const attention_params &params,
                                               const attention_place &place)
        : feed(params, place)
    {
        if (PLAIN)
            base::scaled = false;
    }
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
        const int head = head_of(i), from = from_of(i) + piece * PIECE;
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
                mma_store(
                    part + (mma_address)(((group * PART_COLUMNS / 8 + e) * WGMMA_THREADS + thread) *
                                         16),
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

#endif
