/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Products of few rows of a with rows of blocks, bound by the reading of these. A multiprocessor has one block of
 * threads, with as many warps as fit. It rounds a's rows to 8 bits into shared memory, while the first blocks are
 * on their way; then each warp takes pairs of rows in turns, whose pieces come through shared memory, several at once. */
#ifndef NDOCK_CUDA_QUANT_FEW_CUH
#define NDOCK_CUDA_QUANT_FEW_CUH
#include "quant/staged.cuh"
#include "walk/earlier.cuh"

/* ---- a's rows in shared memory ---- */

/* 32 units of a row, which a warp takes at once, are a turn: piece k of 16 codes of the i-th group of each, so that
 * the warp reads one line, and then, group by group, d and the sum of codes of each unit's part of the group: times
 * offset(i), and where the format has minima, d times it. */
struct few_sum {
    float d;
    int sum; /* bits of a float where the format has minima */
};
template <typename F> struct few_row {
    using U = unit<F>;
    static constexpr int pieces = U::groups * U::pieces, elements = 16 * pieces, /* of a unit */
        sums = 512 * pieces, turn = sums + 256 * U::groups;                      /* bytes */
    unsigned char *const at;
    __device__ __forceinline__ explicit few_row(unsigned char *codes) : at(codes) {}
    /* Of unit u. */
    __device__ __forceinline__ int4 *codes(int u) const
    {
        return (int4 *)(at + u / 32 * turn) + u % 32;
    }
    __device__ __forceinline__ few_sum *first_sum(int u) const
    {
        return (few_sum *)(at + u / 32 * turn + sums) + u % 32;
    }
};

/* 16 codes of a thread, as bytes of words, to where they belong: of elements 16*half and on. The other half of
 * their group of 32 is the next thread's, or that before. */
template <typename F>
static __device__ __forceinline__ void few_place(const few_row<F> &row, int half,
                                                 unsigned (&codes)[4], float d, int sum,
                                                 bool inside)
{
    using U = unit<F>;
    const int g = half / 2, h = half % 2;
    constexpr bool halves = U::pieces == 1;
    const int u = U::units == 2 ? g / 8 * 2 + h
                  : halves      ? g / 8 * 4 + g / 4 % 2 * 2 + h
                                : g / U::groups,
              group = g % U::groups;
    if (!halves)
        sum += __shfl_xor_sync(~0u, sum, 1);
#pragma unroll
    for (int w = 0; w < (U::mixed ? 4 : 0); w++) {
        const unsigned other = __shfl_xor_sync(~0u, codes[w], 1);
        codes[w] = h ? __byte_perm(other, codes[w], 0x7362) : __byte_perm(codes[w], other, 0x5140);
    }
    if (!inside)
        return;
    int4 *const to = row.codes(u) + group * U::pieces * 32;
#pragma unroll
    for (int w = 0; w < (U::mixed ? 4 : 0); w++)
        ((unsigned *)(to + w / 2 * 32))[w % 2 * 2 + h] = codes[w];
    if (!U::mixed)
        to[halves ? 0 : h * 32] = int4{(int)codes[0], (int)codes[1], (int)codes[2], (int)codes[3]};
    if (halves || h == 0)
        row.first_sum(u)[group * 32] =
            few_sum{d * U::share(group),
                    F::has_min ? __float_as_int(d * (float)sum) : sum * U::offset(group)};
}

/* Elements 16*half and on of row m of a, zeros beyond its end: as they lie in memory, of f64 as f32, so that
 * nothing waits for them here. */
static __device__ __forceinline__ void few_load(const quant_params &p, int64_t m, int half,
                                                uint4 (&raw)[4])
{
    const int64_t i = m * p.n + half * 16;
#pragma unroll
    for (int k = 0; k < 4; k++)
        raw[k] = uint4{0, 0, 0, 0};
    if (half * 16 >= p.n)
        return;
    if (p.dtype == NDP_F64) {
#pragma unroll
        for (int k = 0; k < 4; k++)
            raw[k] = uint4{__float_as_uint(load(p.a, p.dtype, i + 4 * k)),
                           __float_as_uint(load(p.a, p.dtype, i + 4 * k + 1)),
                           __float_as_uint(load(p.a, p.dtype, i + 4 * k + 2)),
                           __float_as_uint(load(p.a, p.dtype, i + 4 * k + 3))};
        return;
    }
    const bool half_type = p.dtype != NDP_F32;
    const uint4 *from = (const uint4 *)(p.a + (uint64_t)i * (half_type ? 2 : 4));
    raw[0] = from[0];
    raw[1] = from[1];
    if (half_type)
        return;
    raw[2] = from[2];
    raw[3] = from[3];
}
/* Halves of four words as floats. */
template <bool BRAIN> static __device__ __forceinline__ void few_halves(const uint4 &raw, float *x)
{
    const unsigned word[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const float2 pair =
            BRAIN ? float2{__uint_as_float(word[k] << 16), __uint_as_float(word[k] & 0xffff0000u)}
                  : __half22float2(*(const __half2 *)&word[k]);
        x[2 * k] = pair.x;
        x[2 * k + 1] = pair.y;
    }
}
static __device__ __forceinline__ void few_values(int32_t dtype, const uint4 (&raw)[4],
                                                  float (&x)[16])
{
    if (dtype == NDP_F16) {
        few_halves<false>(raw[0], x);
        few_halves<false>(raw[1], x + 8);
    } else if (dtype == NDP_BF16) {
        few_halves<true>(raw[0], x);
        few_halves<true>(raw[1], x + 8);
    } else {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            x[4 * k] = __uint_as_float(raw[k].x);
            x[4 * k + 1] = __uint_as_float(raw[k].y);
            x[4 * k + 2] = __uint_as_float(raw[k].z);
            x[4 * k + 3] = __uint_as_float(raw[k].w);
        }
    }
}

/* A thread rounds 16 elements. */
template <typename F>
static __device__ __forceinline__ void few_round_half(const quant_params &p, const uint4 (&raw)[4],
                                                      int half, const few_row<F> &row)
{
    float x[16], most = 0, finite = 0; /* NaN where one element is not finite */
    few_values(p.dtype, raw, x);
#pragma unroll
    for (int k = 0; k < 16; k++) {
        most = fmaxf(most, fabsf(x[k]));
        finite = __fmaf_rn(x[k], 0, finite);
    }
    most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
    finite += __shfl_xor_sync(~0u, finite, 1);
    const float d = finite == 0 ? most / 127 : NAN, inverse = inverse_of(d);
    unsigned codes[4];
    int sum = 0;
#pragma unroll
    for (int w = 0; w < 4; w++) {
        const int c[4] = {code_of(x[4 * w] * inverse), code_of(x[4 * w + 1] * inverse),
                          code_of(x[4 * w + 2] * inverse), code_of(x[4 * w + 3] * inverse)};
        codes[w] = __byte_perm(__byte_perm((unsigned)c[0], (unsigned)c[1], 0x0040),
                               __byte_perm((unsigned)c[2], (unsigned)c[3], 0x0040), 0x5410);
        sum = __dp4a((int)codes[w], 0x01010101, sum);
    }
    few_place<F>(row, half, codes, d, sum, half * 16 < p.n);
}

/* Rounds M rows of a, of which `raw` has a thread's first elements; the next ones are read meanwhile. */
template <typename F, int M>
static __device__ __forceinline__ void few_round(const quant_params &p, int64_t first,
                                                 unsigned char *rounded, uint4 (&raw)[4])
{
    const int threads = (int)blockDim.x, turns = ((int)(p.n / 16) + threads - 1) / threads;
    int m = 0, half = (int)threadIdx.x;
#pragma unroll 1
    for (int turn = M * turns; turn > 0; turn--) {
        const bool last = half + threads >= turns * threads;
        const int next = last ? m + 1 : m, after = last ? (int)threadIdx.x : half + threads;
        uint4 then[4] = {};
        if (turn > 1)
            few_load(p, first + next < p.m ? first + next : p.m - 1, after, then);
        /* A warp without elements rounds nothing. */
        if (half / 32 * 512 < p.n)
            few_round_half<F>(p, raw, half, few_row<F>(rounded + m * p.rounded));
#pragma unroll
        for (int k = 0; k < 4; k++)
            raw[k] = then[k];
        m = next;
        half = after;
    }
}

/* ---- products ---- */

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

template <typename F, int M, bool EVEN> struct few_products {
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
    /* The same where a is one row of at most HELD_MOST elements, whose codes stay in registers. */
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
    template <bool HELD> static __device__ __forceinline__ void run(const quant_params &p)
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
            few_products<F, M, true>::template run<false>(p);
        else if (M == 1 && p.row_bytes % 16 == 0) /* worth code of its own */
            few_products<F, 1, true>::template run<false>(p);
        else
            few_products<F, M, false>::template run<false>(p);
    }
};
/* One row of at most HELD_MOST elements, and rows of blocks that begin at multiples of 16 bytes. */
template <typename F> struct held_row {
    static __device__ __forceinline__ void run(const quant_params &p)
    {
        few_products<F, 1, true>::template run<true>(p);
    }
};
#endif
