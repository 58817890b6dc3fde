/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Products of few rows of a with rows of blocks, bound by the reading of these. A multiprocessor has one block of
 * threads, with as many warps as fit. It rounds a's rows to 8 bits into shared memory, while the first blocks are
 * on their way; then each warp takes pairs of rows in turns, whose pieces come through shared memory, several at once. */
#ifndef NDOCK_CUDA_QUANT_FEW_CUH
#define NDOCK_CUDA_QUANT_FEW_CUH
#include "quant/rounded.cuh"
#include "quant/staged.cuh"
#include "walk/earlier.cuh"

/* a's codes of unit u, and what goes with them, in shared memory: those of M rows. */
template <typename F, int M> struct few_shared {
    using U = unit<F>;
    const unsigned char *const rounded;
    const int32_t bytes; /* of a row */
    const int u;
    template <int I>
    __device__ __forceinline__ void group(int m, int4 (&codes)[U::pieces], few_sum &all) const
    {
        const few_row<F> x((unsigned char *)rounded + m * bytes);
#pragma unroll
        for (int k = 0; k < U::pieces; k++)
            codes[k] = x.codes(u)[(I * U::pieces + k) * 32];
        all = x.first_sum(u)[I * 32];
    }
};

/* The same of one row, in registers. */
template <typename F> struct few_held {
    using U = unit<F>;
    int4 codes[U::groups * U::pieces];
    few_sum sums[U::groups];
    /* Of unit u, zeros where a row has no more than u. */
    __device__ __forceinline__ void get(const unsigned char *rounded, int u, int units)
    {
        const few_row<F> x((unsigned char *)rounded);
#pragma unroll
        for (int k = 0; k < U::groups * U::pieces; k++)
            codes[k] = u < units ? x.codes(u)[k * 32] : int4{};
#pragma unroll
        for (int k = 0; k < U::groups; k++)
            sums[k] = u < units ? x.first_sum(u)[k * 32] : few_sum{};
    }
    template <int I>
    __device__ __forceinline__ void group(int, int4 (&of)[U::pieces], few_sum &all) const
    {
#pragma unroll
        for (int k = 0; k < U::pieces; k++)
            of[k] = codes[I * U::pieces + k];
        all = sums[I];
    }
};

template <typename F, int M, int I> struct few_groups {
    /* What elements of groups I and on of a unit add, whose codes of a are x's. */
    template <typename X>
    static __device__ __forceinline__ void add(const unit<F> (&w)[FEW_ROWS], const X &x,
                                               float (&sum)[FEW_ROWS][M], float (&low)[FEW_ROWS][M])
    {
        using U = unit<F>;
#pragma unroll
        for (int m = 0; m < M; m++) {
            int4 codes[U::pieces];
            few_sum all;
            x.template group<I>(m, codes, all);
#pragma unroll
            for (int r = 0; r < FEW_ROWS; r++) {
                const int dot = w[r].template part<I>(codes, all.sum);
                sum[r][m] = __fmaf_rn(all.d, (float)dot, sum[r][m]);
                if constexpr (F::has_min)
                    low[r][m] =
                        __fmaf_rn(w[r].template least<I>(), __int_as_float(all.sum), low[r][m]);
            }
        }
        if constexpr (I + 1 < U::groups)
            few_groups<F, M, I + 1>::add(w, x, sum, low);
    }
};

/* HELD: a is one row of at most HELD_MOST elements, whose codes stay in registers. */
template <typename F, int M, bool EVEN, bool HELD> struct few_products {
    using pieces = few_pieces<F, EVEN>;
    using lies = staged<F, EVEN>;
    /* Where the lane's block lies in a piece, and how many bits after that it begins, for each row of a pair. */
    struct lane_block {
        int at[FEW_ROWS];
        unsigned shift[FEW_ROWS];
        __device__ __forceinline__ lane_block(const few_pair<EVEN> &rows)
        {
#pragma unroll
            for (int r = 0; r < FEW_ROWS; r++) {
                const int exact = lies::at((int)threadIdx.x % 32 / unit<F>::units) + rows.phase[r];
                at[r] = r * lies::room + exact / 4 * 4;
                shift[r] = (unsigned)exact % 4 * 8;
            }
        }
    };
    /* What a unit of a piece's first or second half adds. */
    template <typename X>
    static __device__ __forceinline__ void unit_add(const unsigned char *piece,
                                                    const lane_block &block, const X &x,
                                                    float (&sum)[FEW_ROWS][M])
    {
        const int number = (int)threadIdx.x % unit<F>::units;
        float all[FEW_ROWS][M] = {}, low[FEW_ROWS][M] = {};
        const unit<F> w[FEW_ROWS] = {unit<F>(piece + block.at[0], number, block.shift[0]),
                                     unit<F>(piece + block.at[1], number, block.shift[1])};
        few_groups<F, M, 0>::add(w, x, all, low);
#pragma unroll
        for (int r = 0; r < FEW_ROWS; r++)
#pragma unroll
            for (int m = 0; m < M; m++) {
                sum[r][m] = __fmaf_rn(w[r].d, all[r][m], sum[r][m]);
                if constexpr (F::has_min)
                    sum[r][m] = __fmaf_rn(w[r].low, low[r][m], sum[r][m]);
            }
    }
    /* Half a warp adds up each row of a pair. */
    static __device__ __forceinline__ void finish(const quant_params &p, int64_t first, int pair,
                                                  const float (&sum)[FEW_ROWS][M])
    {
        const int lane = (int)threadIdx.x % 32;
        const bool upper = lane >= 16;
        const int64_t row = 2 * (int64_t)pair + upper;
#pragma unroll
        for (int m = 0; m < M; m++) {
            float all = upper ? sum[1][m] : sum[0][m];
            all += __shfl_xor_sync(~0u, upper ? sum[0][m] : sum[1][m], 16);
#pragma unroll
            for (int k = 8; k > 0; k /= 2)
                all += __shfl_xor_sync(~0u, all, k);
            if (lane % 16 == 0 && row < p.rows && first + m < p.m)
                store(p.out, p.dtype, (first + m) * p.rows + row, all);
        }
    }
    /* The warp's pairs from one on, while pieces are fetched to `mine`. */
    static __device__ __forceinline__ void multiply(const quant_params &p, pieces &next, int begin,
                                                    const unsigned char *mine,
                                                    const unsigned char *rounded, int64_t first)
    {
        const int lane = (int)threadIdx.x % 32, units = (int)(p.n / few_row<F>::elements);
        const unsigned char *piece = mine;
        for (int pair = begin; pair < next.pairs; pair += next.step) {
            const lane_block block{few_pair<EVEN>(p, pair)};
            float sum[FEW_ROWS][M] = {};
            for (int u = lane; u - lane < units; u += 32 * lies::each) {
                copies_wait<pieces::most - 1>();
#pragma unroll
                for (int k = 0; k < lies::each; k++)
                    if (u + 32 * k < units)
                        unit_add(piece + k * (lies::once / lies::each), block,
                                 few_shared<F, M>{rounded, p.rounded, u + 32 * k}, sum);
                piece = piece == mine + (pieces::most - 1) * pieces::bytes ? mine
                                                                           : piece + pieces::bytes;
                __syncwarp();
                next.fetch();
            }
            finish(p, first, pair, sum);
        }
    }
    /* The same where HELD. */
    static __device__ __forceinline__ void held_multiply(const quant_params &p, pieces &next,
                                                         int begin, const unsigned char *mine,
                                                         const unsigned char *rounded)
    {
        constexpr int turns = HELD_MOST / 32 / few_row<F>::elements;
        const int lane = (int)threadIdx.x % 32, units = (int)(p.n / few_row<F>::elements);
        few_held<F> x[turns];
#pragma unroll
        for (int t = 0; t < turns; t++)
            x[t].get(rounded, lane + 32 * t, units);
        const unsigned char *piece = mine;
#pragma unroll 1
        for (int pair = begin; pair < next.pairs; pair += next.step) {
            const lane_block block{few_pair<EVEN>(p, pair)};
            float sum[FEW_ROWS][M] = {};
#pragma unroll
            for (int t = 0; t < turns && 32 * t < units; t += lies::each) {
                copies_wait<pieces::most - 1>();
#pragma unroll
                for (int k = 0; k < lies::each; k++)
                    if (lane + 32 * (t + k) < units)
                        unit_add(piece + k * (lies::once / lies::each), block, x[t + k], sum);
                piece = piece == mine + (pieces::most - 1) * pieces::bytes ? mine
                                                                           : piece + pieces::bytes;
                __syncwarp();
                next.fetch();
            }
            finish(p, 0, pair, sum);
        }
    }
    static __device__ __forceinline__ void run(const quant_params &p)
    {
        extern __shared__ uint4 few_bytes[];
        const int warps = (int)blockDim.x / 32, warp = (int)threadIdx.x / 32,
                  begin = warp * (int)gridDim.x + (int)blockIdx.x;
        const int64_t first = (int64_t)blockIdx.y * M;
        unsigned char *const mine = (unsigned char *)few_bytes + warp * FEW_STAGED,
                             *const rounded = (unsigned char *)few_bytes + warps * FEW_STAGED;
        uint4 raw[4];
        pieces next(p, mine, begin);
        next_may_begin();
        cuda_after_earlier();
        few_load(p, first, (int)threadIdx.x, raw); /* before blocks, behind which it would arrive */
        for (int i = 0; i < pieces::most; i++)
            next.fetch();
        few_round<F, M>(p, first, rounded, raw);
        __syncthreads();
        if constexpr (HELD)
            held_multiply(p, next, begin, mine, rounded);
        else
            multiply(p, next, begin, mine, rounded, first);
    }
};
template <typename F, int M> struct few_rows {
    static __device__ __forceinline__ void run(const quant_params &p)
    {
        if constexpr (F::nbytes % 16 == 0)
            few_products<F, M, true, false>::run(p);
        else if (M == 1 && p.row_bytes % 16 == 0) /* worth code of its own */
            few_products<F, 1, true, false>::run(p);
        else
            few_products<F, M, false, false>::run(p);
    }
};
/* One row of at most HELD_MOST elements, and rows of blocks that begin at multiples of 16 bytes. */
template <typename F> struct held_row {
    static __device__ __forceinline__ void run(const quant_params &p)
    {
        few_products<F, 1, true, true>::run(p);
    }
};
#endif
