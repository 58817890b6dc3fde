/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients of attention of wide heads by products of warpgroups, for compute capability 9.0: what
 * flash_wide_grad.cuh does in one pass has no room in registers there. A block has 64 rows of its own, queries
 * or keys (KEYS), and goes over those of the other side, 64 at a time (flash_grad_rows.cuh says what is
 * computed). Of two warpgroups the first makes scores and weights, the second their gradients and slopes; each
 * hands the other in shared memory what it lacks. Of keys, the first then adds to the gradient of values, the
 * second to that of keys; of queries, each adds to one half of the columns. A third copies a step ahead; gates
 * open when copies are there, as in flash_wide.cuh. Seven products in place of five, and no sums between
 * blocks. */
#ifndef NDOCK_CUDA_FLASH_WIDE_SPLIT_CUH
#define NDOCK_CUDA_FLASH_WIDE_SPLIT_CUH
#include "neural/flash_grad_rows.cuh"
#include "neural/wide_tile.cuh"

/* PLAIN: without masks and dropout, and of scales that are no trouble. */
template <class T, int D, bool KEYS, bool PLAIN>
struct flash_wide_split : flash_grad_rows<T, KEYS ? D : D / 2, 1, 64, 64, KEYS> {
    enum {
        STEP = 64, /* queries or keys of the other side, and of the block */
        SLABS = D / WGMMA_COLUMNS,
        SLAB = STEP * WGMMA_ROW,
        TILE = SLABS * SLAB, /* bytes of 64 rows */
        STAGES = 2,
        GROUPS = 2,
        HANDED = STEP * STEP * 6,   /* weights in f32, slopes as left operands */
        COLUMNS = KEYS ? D : D / 2, /* of a result that a warpgroup has */
        SUMS = 2 * STEP * 4         /* logsumexp and delta of a step's queries */
    };
    enum { FIRST_FULL, SECOND_FULL = STAGES, STEP_FREE = 2 * STAGES };
    /* Weights, or slopes, are there; they have been read. Each step's is one phase. */
    enum { WEIGHTS_FULL = 3 * STAGES, WEIGHTS_FREE, SLOPES_FULL, SLOPES_FREE, GATES };
    typedef flash_grad_rows<T, KEYS ? D : D / 2, 1, 64, 64, KEYS> base;
    typedef typename base::scores scores;
    using base::first;
    using base::h;
    using base::kh;
    using base::p;
    using base::steps;
    using base::y;
    scores s = {};               /* of the second warpgroup gradients of weights, then slopes */
    uint32_t left[STEP / 16][4]; /* weights or slopes as left operands */
    mma_address own, stages, handed, sums, gates;
    int group, thread;

    __device__ __forceinline__ explicit flash_wide_split(const attention_params &params)
        : base(params)
    {
        MMA_SHARED(memory);
        own = wide_begin(mma_address_of(memory));
        stages = own + 2 * TILE;
        handed = stages + 2 * STAGES * TILE;
        sums = handed + HANDED;
        gates = sums + STAGES * SUMS;
        group = __shfl_sync(0xffffffffu, (int)threadIdx.x / WGMMA_THREADS, 0);
        thread = (int)threadIdx.x % WGMMA_THREADS;
        base::row += base::warp % 4 * 16;
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
        return stages + (mma_address)((step % STAGES * 2 + which) * TILE);
    }
    __device__ __forceinline__ mma_address sums_of(int step) const
    {
        return sums + (mma_address)(step % STAGES * SUMS);
    }
    __device__ __forceinline__ void set_gates() const
    {
        if (threadIdx.x == 0)
            for (int i = 0; i < GATES; i++)
                wgmma_gate_set(gates + (mma_address)(i * 8), i < STEP_FREE || i >= WEIGHTS_FULL
                                                                 ? (int)WGMMA_THREADS
                                                                 : GROUPS * 4);
        __syncthreads();
    }

    /* ---- the warpgroup that copies ---- */
    __device__ __forceinline__ void announce(int which, int step) const
    {
        wide_announce(gate(which, step), p.whole);
    }
    __device__ __forceinline__ tile_source<T> other(int which, int head) const
    {
        return which == 0 ? KEYS ? base::source(p.q, head, p.d) : base::source(p.k, kh, p.d)
               : KEYS ? base::source(p.g, head, p.e)
                          : base::source(p.v, kh, p.e);
    }
    __device__ __forceinline__ void copy() const
    {
        const int64_t end = KEYS ? p.m : p.n;
        if (steps > 0) {
            wide_fetch<STEP, D>(own, KEYS ? base::source(p.k, kh, p.d) : base::source(p.q, h, p.d),
                                first, p.rows, thread);
            wide_fetch<STEP, D>(own + TILE,
                                KEYS ? base::source(p.v, kh, p.e) : base::source(p.g, h, p.e),
                                first, p.rows, thread);
        }
        for (int i = 0; i < steps; i++) {
            const int head = base::head_of(i), from = base::from_of(i);
            if (i >= STAGES)
                wgmma_gate_wait(gate(STEP_FREE, i), parity(i - STAGES));
            wide_fetch<STEP, D>(stage(i, 0), other(0, head), from, end, thread);
            if (KEYS)
                base::fetch_sum(sums_of(i), head, from, thread);
            announce(FIRST_FULL, i);
            wide_fetch<STEP, D>(stage(i, 1), other(1, head), from, end, thread);
            announce(SECOND_FULL, i);
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
    __device__ __forceinline__ void await_own(int i) const
    {
        await(group == 0 ? FIRST_FULL : SECOND_FULL, i);
    }
    /* Begins scores, or gradients of weights. */
    __device__ __forceinline__ void begin(int i)
    {
        wide_multiply<T, D, STEP>(s[0], wgmma_operand(own + (mma_address)(group * TILE), 0), SLAB,
                                  wgmma_operand(stage(i, group), 0), SLAB);
    }
    /* What one warpgroup wrote, or read, before it hands over, the other one may read, or write, when it has taken.
     * All threads arrive: racecheck orders what each did by its own arrival alone, and reports hazards where one arrives
     * for its warp after __syncwarp(), or where bar.arrive meets bar.sync. */
    __device__ __forceinline__ void hand(int which) const
    {
        wgmma_gate_arrive(gates + (mma_address)(which * 8));
    }
    __device__ __forceinline__ void take(int which, int step) const
    {
        wgmma_gate_wait(gates + (mma_address)(which * 8), step & 1);
    }
    /* Four numbers at a time, those of a thread in pieces that are as far apart as warpgroups are wide. */
    __device__ __forceinline__ mma_address place(int k) const
    {
        return handed + (mma_address)((k * WGMMA_THREADS + thread) * 16);
    }
    __device__ __forceinline__ void put_weights() const
    {
#pragma unroll
        for (int k = 0; k < STEP / 8; k++)
            mma_store(place(k), {__float_as_uint(s[0][k][0]), __float_as_uint(s[0][k][1]),
                                 __float_as_uint(s[0][k][2]), __float_as_uint(s[0][k][3])});
    }
    __device__ __forceinline__ void take_weights(scores &w) const
    {
#pragma unroll
        for (int k = 0; k < STEP / 8; k++)
            mma_four(w[0][k], place(k));
    }
    /* Slopes, which lie behind the weights. */
    __device__ __forceinline__ void put_slopes() const
    {
#pragma unroll
        for (int k = 0; k < STEP / 16; k++)
            mma_store(place(STEP / 8 + k), left[k]);
    }
    __device__ __forceinline__ void take_slopes()
    {
#pragma unroll
        for (int k = 0; k < STEP / 16; k++) {
            float four[4];
            mma_four(four, place(STEP / 8 + k));
#pragma unroll
            for (int i = 0; i < 4; i++)
                left[k][i] = __float_as_uint(four[i]);
        }
    }
    /* Weights, from scores; of keys as left operands too, without those that dropout takes. */
    __device__ __forceinline__ void weigh(int i)
    {
        const int head = base::head_of(i), from = base::from_of(i);
        uint64_t gone[1] = {};
        if (!PLAIN)
            base::finish(s, head, from);
        else if (base::is_edge(from))
            base::hide(s, from);
        base::template weigh<false>(s, sums_of(i));
        if (i > 0)
            take(WEIGHTS_FREE, i - 1);
        put_weights();
        hand(WEIGHTS_FULL);
        if (!KEYS)
            return;
        if (!PLAIN && p.least) {
            base::choose(gone, head, from);
            base::drop(s, gone);
        }
        wide_pack<T, STEP>(left, s[0]);
    }
    /* Slopes, from gradients of weights. */
    __device__ __forceinline__ void derive(int i)
    {
        scores w;
        uint64_t gone[1] = {};
        if (!PLAIN && p.least) {
            base::choose(gone, base::head_of(i), base::from_of(i));
            base::drop(s, gone);
        }
        take(WEIGHTS_FULL, i);
        take_weights(w);
        hand(WEIGHTS_FREE);
        base::derive(w, s, sums_of(i));
        wide_pack<T, STEP>(left, s[0]);
    }
    /* Slopes for the first warpgroup too, which has the other half of the gradients of queries. */
    __device__ __forceinline__ void share_slopes(int i)
    {
        if (group == 0) {
            take(SLOPES_FULL, i);
            take_slopes();
            hand(SLOPES_FREE);
        } else {
            if (i > 0)
                take(SLOPES_FREE, i - 1);
            put_slopes();
            hand(SLOPES_FULL);
        }
    }
    /* Begins the product that is added to a result. */
    __device__ __forceinline__ void add(int i)
    {
        const int which = KEYS && group == 0 ? 1 : 0;
        const mma_address rows =
            stage(i, which) + (mma_address)(KEYS ? 0 : group * SLABS / 2 * SLAB);
        wide_add<T, COLUMNS, STEP>(y[0][0], left, wgmma_operand(rows, SLAB));
    }
    __device__ __forceinline__ void step(int i)
    {
        wgmma_wait<0>();
        wgmma_settle(s[0]);
        if (group == 0) {
            weigh(i);
            if (KEYS)
                await(SECOND_FULL, i);
        } else {
            await(FIRST_FULL, i);
            derive(i);
        }
        if (!KEYS)
            share_slopes(i);
        if (i + 1 < steps)
            await_own(i + 1);
        wgmma_settle(y[0][0]);
        wgmma_settle(s[0]);
        wgmma_begin();
        add(i);
        begin(i + 1); /* after the last step of nothing, for nobody: no branch while products run */
        wgmma_wait<1>();
        wgmma_settle(y[0][0]);
        if (base::lane == 0)
            wgmma_gate_arrive(gate(STEP_FREE, i));
    }
    __device__ __forceinline__ void write_all() const
    {
        attention_view to = p.out[KEYS ? 2 - group : 0];
        const int64_t skipped = KEYS ? 0 : group * COLUMNS;
        to.at += (uint64_t)(skipped * to.stride[3]) * sizeof(T);
        base::write(to, 0, KEYS ? kh : h, (KEYS && group == 0 ? p.e : p.d) - skipped,
                    KEYS && group == 0 ? 1.0f : (float)p.scale);
    }
    __device__ __forceinline__ void run()
    {
        set_gates();
        if (group == GROUPS) {
            wgmma_give_registers<24>();
            copy();
            return;
        }
        wgmma_take_registers<240>();
        base::hold_sums();
        if (steps > 0) {
            await_own(0);
            wgmma_settle(s[0]);
            wgmma_begin();
            begin(0);
        }
        for (int i = 0; i < steps; i++)
            step(i);
        wgmma_wait<0>();
        write_all();
    }
};

#endif
