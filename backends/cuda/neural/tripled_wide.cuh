/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Attention of f32 by products of warpgroups, for compute capability 9.0: three products of TF32 for one, as tripled.cuh
 * has them, of which warpgroups multiply more than twice as many as warps do. For calls without masks and dropout.
 *
 * Two warpgroups have 64 rows of queries each, whose parts they make in registers for each product. Two more read keys
 * and values and write both of their parts to shared memory, since what products read there is TF32 already, and values
 * turned, since TF32's operands have the columns that are summed side by side. They do so in pieces of 2,048 numbers:
 * KEYS keys by some columns, or 64 columns of 32 values. Gates tell who may read or write the place of a piece.
 *
 * Tensor cores cut sums off where they should round them: they sum 32 columns, or values, at a time, the small products
 * first, and these sums are added to what came before by additions that round. The others that a lane has are its columns of
 * a left operand, which turned values follow: of eight, those with even numbers first.
 *
 * Numbers that can not be split (tripled.cuh) are looked for by those who read them: a block that has met one begins
 * again, by tripled.cuh, whose multiply-adds serve them. */
#ifndef NDOCK_CUDA_TRIPLED_WIDE_CUH
#define NDOCK_CUDA_TRIPLED_WIDE_CUH
#include "neural/tiled_forward.cuh"
#include "neural/tripled_wide_feed.cuh"

template <int D, int KEYS> struct tripled_wide : tripled_wide_feed<D, KEYS> {
    typedef tripled_wide_feed<D, KEYS> base;
    using base::arrive;
    using base::b;
    using base::first;
    using base::free;
    using base::full;
    using base::group;
    using base::GROUPS;
    using base::h;
    using base::KEY_COLUMNS;
    using base::KEY_PIECES;
    using base::lane;
    using base::p;
    using base::phase;
    using base::PITCH;
    using base::queries;
    using base::rough;
    using base::stage;
    using base::VALUE_CHUNKS;
    using base::VALUE_COLUMNS;
    using base::warp;
    enum {
        DEPTH = TRIPLED_WIDE_DEEP / 8,
        /* Registers of a thread that multiplies: of two times 128 a thread that reads has what it leaves. */
        TAKEN = D > 128 ? 216 : 200
    };
    typedef tripled_piece left[DEPTH];
    float top[2], sum[2]; /* of rows lane/4 and 8 below; sum: of the keys that the thread has */
    float y[D / 8][4];

    __device__ __forceinline__ explicit tripled_wide(const attention_params &params) : base(params)
    {
    }
    __device__ __forceinline__ int row(int i) const
    {
        return group * 64 + warp * 16 + lane / 4 + 8 * i;
    }

    __device__ __forceinline__ void fetch_queries() const
    {
        const tiled_source from = base::source(p.q, b, h, p.d);
        const int t = warp * 32 + lane;
#pragma unroll 4
        for (int i = t; i < 64 * D / 4; i += WGMMA_THREADS) {
            const int r = group * 64 + i / (D / 4), c = i % (D / 4) * 4;
            const float4 x = base::read(from, first + r, c, p.m);
            base::look(x);
            *(float4 *)(queries + r * PITCH + c) = x;
        }
        mma_meet<WGMMA_THREADS>(1 + group);
    }
    /* Begins x = a times the others whose parts lie at a place: low*high, high*low, high*high. */
    template <int N>
    __device__ __forceinline__ static void begin_product(float (&x)[N / 8][4], const left &a,
                                                         mma_address at)
    {
        const uint64_t high = wgmma_operand(at, 0), low = wgmma_after(high, TRIPLED_WIDE_PART);
        wgmma_settle(x);
        wgmma_begin();
#pragma unroll
        for (int k = 0; k < DEPTH; k++)
            wgmma_tf32<N>::held(x, a[k].low, wgmma_after(high, k * 32), k > 0);
#pragma unroll
        for (int k = 0; k < DEPTH; k++)
            wgmma_tf32<N>::held(x, a[k].high, wgmma_after(low, k * 32), true);
#pragma unroll
        for (int k = 0; k < DEPTH; k++)
            wgmma_tf32<N>::held(x, a[k].high, wgmma_after(high, k * 32), true);
        wgmma_commit();
    }
    template <int N> __device__ __forceinline__ static void end_product(float (&x)[N][4])
    {
        wgmma_wait<0>();
        wgmma_settle(x);
    }
    /* Columns of the warp's queries, in two parts. */
    __device__ __forceinline__ void load_queries(left &a, int column) const
    {
        const mma_address mine = mma_address_of(
            queries + (group * 64 + warp * 16 + lane % 16) * PITCH + lane / 16 * 4 + column);
#pragma unroll
        for (int k = 0; k < DEPTH; k++)
            a[k].load(mine + (mma_address)(8 * k * 4));
    }
    typedef float products[KEYS / 8][4];

    /* s = the group's queries times the keys of a step. */
    __device__ __forceinline__ void multiply(products &s)
    {
        base::clear(s);
#pragma unroll 1
        for (int i = 0; i < KEY_PIECES; i++) {
            wgmma_gate_wait(full(stage), phase);
#pragma unroll
            for (int c = 0; c < KEY_COLUMNS; c += TRIPLED_WIDE_DEEP) {
                products x;
                left a;
                load_queries(a, i * KEY_COLUMNS + c);
                begin_product<KEYS>(x, a,
                                    base::place(stage) +
                                        (mma_address)(c / TRIPLED_WIDE_DEEP * KEYS * WGMMA_ROW));
                end_product(x);
#pragma unroll
                for (int j = 0; j < KEYS / 8; j++)
#pragma unroll
                    for (int e = 0; e < 4; e++)
                        s[j][e] += x[j][e];
            }
            arrive(free(stage));
            base::go_on();
        }
    }
    /* y += weights times the values of a step. */
    __device__ __forceinline__ void add(const products &s)
    {
#pragma unroll
        for (int half = 0; half < KEYS / TRIPLED_WIDE_DEEP; half++) {
            left a;
#pragma unroll
            for (int k = 0; k < DEPTH; k++)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    a[k].split(e, s[half * DEPTH + k][e % 2 * 2 + e / 2]);
#pragma unroll
            for (int c = 0; c < VALUE_CHUNKS; c++) {
                float x[VALUE_COLUMNS / 8][4];
                wgmma_gate_wait(full(stage), phase);
                begin_product<VALUE_COLUMNS>(x, a, base::place(stage));
                end_product(x);
                arrive(free(stage));
                base::go_on();
#pragma unroll
                for (int j = 0; j < VALUE_COLUMNS / 8; j++)
#pragma unroll
                    for (int e = 0; e < 4; e++)
                        y[c * (VALUE_COLUMNS / 8) + j][e] += x[j][e];
            }
        }
    }
    /* Scores from products, those of keys that a row does not see hidden. */
    __device__ __forceinline__ void finish(products &s, int key) const
    {
        base::multiply_by(s, (float)p.scale);
        if (key + KEYS <= base::seen_by(first))
            return;
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const int seen = base::seen_by(first + row(i)) - key - lane % 4 * 2;
#pragma unroll
            for (int j = 0; j < KEYS / 8; j++)
#pragma unroll
                for (int e = 0; e < 2; e++)
                    s[j][2 * i + e] = 8 * j + e < seen ? s[j][2 * i + e] : TILED_NOTHING;
        }
    }
    /* Weights of row i; what results so far are to be multiplied by. */
    __device__ __forceinline__ float weigh(products &s, int i)
    {
        float most = top[i], all = 0;
#pragma unroll
        for (int j = 0; j < KEYS / 8; j++)
            most = fmaxf(most, fmaxf(s[j][2 * i], s[j][2 * i + 1]));
#pragma unroll
        for (int w = 1; w < 4; w *= 2)
            most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, w));
        const float shift = most > TILED_NOTHING ? most : 0.0f, down = neural_exp(top[i] - shift);
#pragma unroll
        for (int j = 0; j < KEYS / 8; j++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                s[j][2 * i + e] = neural_exp(s[j][2 * i + e] - shift);
                all += s[j][2 * i + e];
            }
        top[i] = most;
        sum[i] = __fmaf_rn(sum[i], down, all);
        return down;
    }
    __device__ __forceinline__ void scale_down(const float (&down)[2])
    {
        if (!__any_sync(0xffffffffu, down[0] != 1 || down[1] != 1))
            return;
#pragma unroll
        for (int j = 0; j < D / 8; j++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                y[j][e] *= down[e / 2];
    }
    __device__ __forceinline__ void step(int i)
    {
        products s;
        multiply(s);
        finish(s, i * KEYS);
        const float down[2] = {weigh(s, 0), weigh(s, 1)};
        scale_down(down);
        add(s);
    }
    __device__ __forceinline__ void write(int i) const
    {
        const int at = first + row(i);
        float all = sum[i];
#pragma unroll
        for (int w = 1; w < 4; w *= 2)
            all += __shfl_xor_sync(0xffffffffu, all, w);
        if (at >= p.m)
            return;
        const int64_t *o = p.out[0].stride, *l = p.out[1].stride;
        float *const to = (float *)p.out[0].at + b * o[0] + h * o[1] + at * o[2];
        const float by = all == 0 ? 0.0f : 1.0f / all;
#pragma unroll
        for (int j = 0; j < D / 8; j++) {
            const int column = 8 * j + lane % 4 * 2;
            if (p.whole_result) {
                if (column < p.e)
                    *(float2 *)(to + column) = float2{y[j][2 * i] * by, y[j][2 * i + 1] * by};
                continue;
            }
#pragma unroll
            for (int e = 0; e < 2; e++)
                if (column + e < p.e)
                    to[(column + e) * o[3]] = y[j][2 * i + e] * by;
        }
        if (lane % 4 == 0)
            ((float *)p.out[1].at)[b * l[0] + h * l[1] + at * l[2]] =
                all == 0 ? TILED_NOTHING : top[i] + (float)log((double)all);
    }
    __device__ __forceinline__ void multiply_all()
    {
        base::clear(y);
        top[0] = top[1] = TILED_NOTHING;
        sum[0] = sum[1] = 0;
        fetch_queries();
#pragma unroll 1
        for (int i = 0; i < base::steps; i++)
            step(i);
        /* Then it is known of all queries whether they can be split. */
        mma_meet<GROUPS * WGMMA_THREADS>(1 + GROUPS);
        if (*(volatile int *)rough) {
            again();
            return;
        }
        write(0);
        write(1);
    }
    /* By the warpgroups that multiply alone: barriers of a block do not wait for threads that have ended. What the others
     * have still to read of `rough` is not written over. */
    __device__ __forceinline__ void again() const
    {
        enum { OTHERS = 32 };
        typedef tripled<D, 1, OTHERS, TRIPLED_WIDE_ROWS / 16> slow;
        static_assert(((slow::ROWS + 2 * OTHERS) * PITCH + 2 * slow::ROWS) * 4 <=
                          base::STAGES * 2 * TRIPLED_WIDE_PART + TRIPLED_WIDE_ROWS * PITCH * 4,
                      "the flag lies beyond");
        tiled_forward<slow>(p).run();
    }
    __device__ __forceinline__ void run()
    {
        base::set_gates();
        if (group >= GROUPS) {
            wgmma_give_registers<256 - TAKEN>();
            base::feed();
        } else {
            wgmma_take_registers<TAKEN>();
            multiply_all();
        }
    }
};

#endif
