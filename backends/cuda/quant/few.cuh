/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Products of few rows of a with rows of blocks, bound by the reading of these. There are as many blocks of
 * threads as fit at once. Each rounds a's rows to 8 bits into shared memory, while the first blocks are on their
 * way; then each warp takes pairs of rows in turns, whose pieces come through shared memory, several at once. */
#ifndef NDOCK_CUDA_QUANT_FEW_CUH
#define NDOCK_CUDA_QUANT_FEW_CUH
#include "quant/round.cuh"
#include "quant/unit.cuh"

/* ---- a's rows in shared memory ---- */

/* Units of a row, as many as there are, take turns: piece k of 16 codes of the i-th group of unit u is at place
 * (i*pieces + k)*units + u, so that threads of a warp read one line. Behind the codes are d and the sum of
 * codes of each unit's part of each of its groups; where the format has minima, d times that sum. */
struct few_sum {
    float d;
    int sum; /* bits of a float where the format has minima */
};
template <typename F> struct few_row {
    using U = unit<F>;
    static constexpr int elements = 16 * U::groups * U::pieces; /* of a unit */
    const unsigned char *codes;
    int units;
    __device__ __forceinline__ few_row() : codes(nullptr), units(0) {}
    __device__ __forceinline__ few_row(const unsigned char *at, int64_t n)
        : codes(at), units((int)(n / elements))
    {
    }
    __device__ __forceinline__ int4 *piece(int u, int group, int k) const
    {
        return (int4 *)codes + (group * U::pieces + k) * units + u;
    }
    __device__ __forceinline__ few_sum *sum(int u, int group) const
    {
        return (few_sum *)((int4 *)codes + U::groups * U::pieces * units) + group * units + u;
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
    const bool halves = U::pieces == 1;
    const int u = halves ? g / 8 * 4 + g / 4 % 2 * 2 + h : g / U::groups, group = g % U::groups;
    if (!halves)
        sum += __shfl_xor_sync(~0u, sum, 1);
#pragma unroll
    for (int w = 0; w < (U::mixed ? 4 : 0); w++) {
        const unsigned other = __shfl_xor_sync(~0u, codes[w], 1);
        codes[w] = h ? __byte_perm(other, codes[w], 0x7362) : __byte_perm(codes[w], other, 0x5140);
    }
    if (!inside)
        return;
#pragma unroll
    for (int w = 0; w < (U::mixed ? 4 : 0); w++)
        ((unsigned *)row.piece(u, group, w / 2))[w % 2 * 2 + h] = codes[w];
    if (!U::mixed)
        *row.piece(u, group, halves ? 0 : h) =
            int4{(int)codes[0], (int)codes[1], (int)codes[2], (int)codes[3]};
    if (halves || h == 0)
        *row.sum(u, group) = few_sum{d, F::has_min ? __float_as_int(d * (float)sum) : sum};
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
static __device__ __forceinline__ void few_values(const quant_params &p, const uint4 (&raw)[4],
                                                  float (&x)[16])
{
#pragma unroll
    for (int k = 0; k < 16; k++) {
        const uint4 four = raw[k / 4], eight = raw[k / 8];
        const unsigned word = k % 4 == 0   ? four.x
                              : k % 4 == 1 ? four.y
                              : k % 4 == 2 ? four.z
                                           : four.w;
        const unsigned pair = k / 2 % 4 == 0   ? eight.x
                              : k / 2 % 4 == 1 ? eight.y
                              : k / 2 % 4 == 2 ? eight.z
                                               : eight.w;
        const unsigned bits = k % 2 ? pair >> 16 : pair & 0xffff;
        x[k] = p.dtype == NDP_F16    ? __half2float(__ushort_as_half((unsigned short)bits))
               : p.dtype == NDP_BF16 ? __uint_as_float(bits << 16)
                                     : __uint_as_float(word);
    }
}

/* A thread rounds 16 elements. */
template <typename F>
static __device__ __forceinline__ void few_round_half(const quant_params &p, const uint4 (&raw)[4],
                                                      int half, const few_row<F> &row)
{
    float x[16], most = 0;
    int bad = 0, sum = 0;
    few_values(p, raw, x);
#pragma unroll
    for (int k = 0; k < 16; k++) {
        most = fmaxf(most, fabsf(x[k]));
        bad |= !(fabsf(x[k]) < INFINITY);
    }
    most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
    bad |= __shfl_xor_sync(~0u, bad, 1);
    const float d = bad ? NAN : most / 127, inverse = d > 0 ? 1 / d : 0;
    unsigned codes[4];
#pragma unroll
    for (int w = 0; w < 4; w++) {
        codes[w] = 0;
#pragma unroll
        for (int k = 0; k < 4; k++)
            codes[w] |= (unsigned)(code_of(x[4 * w + k] * inverse) & 255) << 8 * k;
        sum = __dp4a((int)codes[w], 0x01010101, sum);
    }
    few_place<F>(row, half, codes, d, sum, half * 16 < p.n);
}

/* Rounds M rows of a, of which `raw` has a thread's first elements; the next ones are read meanwhile. */
template <typename F, int M>
static __device__ __forceinline__ void few_round(const quant_params &p, int64_t first,
                                                 const unsigned char *rounded, uint4 (&raw)[4])
{
    const int turns = (int)((p.n / 16 + QUANT_THREADS - 1) / QUANT_THREADS);
#pragma unroll 1
    for (int turn = 0; turn < M * turns; turn++) {
        const int m = turn / turns, half = turn % turns * QUANT_THREADS + (int)threadIdx.x,
                  next = (turn + 1) / turns,
                  after = (turn + 1) % turns * QUANT_THREADS + (int)threadIdx.x;
        uint4 then[4] = {};
        if (turn + 1 < M * turns)
            few_load(p, first + next < p.m ? first + next : p.m - 1, after, then);
        few_round_half<F>(p, raw, half, few_row<F>(rounded + m * p.rounded, p.n));
#pragma unroll
        for (int k = 0; k < 4; k++)
            raw[k] = then[k];
    }
}

/* ---- pieces of rows of blocks ---- */

/* The pieces of a warp's pairs of rows one after another: those to fetch next. A piece is one unit for each
 * thread and each row, or two small ones. */
template <typename F> struct few_pieces {
    static constexpr int each = unit<F>::units == 1 && F::nbytes <= 24 ? 2 : 1,
                         once = 32 / unit<F>::units * F::nbytes, bytes = each * once,
                         pair = FEW_ROWS * bytes, most = FEW_STAGED / pair;
    static_assert(most > 1, "one piece arrives while another is used");
    const quant_params &p;
    unsigned char *staged; /* the warp's */
    int64_t at, pairs, step, done;
    int place;
    __device__ __forceinline__ few_pieces(const quant_params &params, unsigned char *mine)
        : p(params), staged(mine), at((int64_t)(threadIdx.x / 32) * gridDim.x + blockIdx.x),
          pairs((params.rows + FEW_ROWS - 1) / FEW_ROWS), step((int64_t)gridDim.x * QUANT_WARPS),
          done(0), place(0)
    {
    }
    __device__ __forceinline__ void fetch(void)
    {
        if (at < pairs) {
            const int64_t left = p.row_bytes - done;
#pragma unroll
            for (int r = 0; r < FEW_ROWS; r++) {
                const int64_t row = at * FEW_ROWS + r < p.rows ? at * FEW_ROWS + r : p.rows - 1;
                const unsigned char *from =
                    (const unsigned char *)p.blocks + row * p.row_bytes + done;
#pragma unroll
                for (int i = 0; i < bytes; i += 32 * 16) {
                    const int mine = i + threadIdx.x % 32 * 16;
                    if (mine < bytes && mine < left)
                        copy_16(staged + place * pair + r * bytes + mine, from + mine);
                }
            }
            done += bytes;
            if (done >= p.row_bytes) {
                done = 0;
                at += step;
            }
        }
        copies_end();
        place = place + 1 < most ? place + 1 : 0;
    }
};

/* ---- products ---- */

template <typename F, int M, int I> struct few_groups {
    /* What elements of groups I and on of a unit add. */
    static __device__ __forceinline__ void add(const unit<F> (&w)[FEW_ROWS],
                                               const few_row<F> (&x)[M], int u,
                                               float (&sum)[FEW_ROWS][M], float (&low)[FEW_ROWS][M])
    {
        using U = unit<F>;
#pragma unroll
        for (int m = 0; m < M; m++) {
            int4 codes[U::pieces];
#pragma unroll
            for (int k = 0; k < U::pieces; k++)
                codes[k] = *x[m].piece(u, I, k);
            const few_sum all = *x[m].sum(u, I);
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
            few_groups<F, M, I + 1>::add(w, x, u, sum, low);
    }
};

template <typename F, int M> struct few_rows {
    static __device__ __forceinline__ void unit_add(const unsigned char *piece, int64_t bytes,
                                                    const few_row<F> (&x)[M], int u,
                                                    float (&sum)[FEW_ROWS][M])
    {
        const int lane = threadIdx.x % 32;
        const unsigned char *block = piece + lane / unit<F>::units * F::nbytes;
        float all[FEW_ROWS][M] = {}, low[FEW_ROWS][M] = {};
        const unit<F> w[FEW_ROWS] = {unit<F>(block, lane % unit<F>::units),
                                     unit<F>(block + bytes, lane % unit<F>::units)};
        few_groups<F, M, 0>::add(w, x, u, all, low);
#pragma unroll
        for (int r = 0; r < FEW_ROWS; r++)
#pragma unroll
            for (int m = 0; m < M; m++) {
                sum[r][m] = __fmaf_rn(w[r].d, all[r][m], sum[r][m]);
                if constexpr (F::has_min)
                    sum[r][m] = __fmaf_rn(w[r].low, low[r][m], sum[r][m]);
            }
    }
    static __device__ __forceinline__ void finish(const quant_params &p, int64_t first, int64_t row,
                                                  float (&sum)[FEW_ROWS][M])
    {
#pragma unroll
        for (int r = 0; r < FEW_ROWS; r++)
#pragma unroll
            for (int m = 0; m < M; m++) {
                const float all = sum_of_warp(sum[r][m]);
                if (threadIdx.x % 32 == 0 && row + r < p.rows && first + m < p.m)
                    store(p.out, p.dtype, (first + m) * p.rows + row + r, all);
            }
    }
    static __device__ __forceinline__ void run(const quant_params &p)
    {
        extern __shared__ uint4 few_shared[];
        using pieces = few_pieces<F>;
        const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        const int64_t first = (int64_t)blockIdx.y * M;
        unsigned char *mine = (unsigned char *)few_shared + warp * FEW_STAGED,
                      *rounded = (unsigned char *)few_shared + QUANT_WARPS * FEW_STAGED;
        uint4 raw[4];
        few_load(p, first, (int)threadIdx.x, raw); /* before blocks, behind which it would arrive */
        pieces next(p, mine);
        for (int i = 0; i < pieces::most; i++)
            next.fetch();
        few_row<F> x[M];
#pragma unroll
        for (int m = 0; m < M; m++)
            x[m] = few_row<F>(rounded + m * p.rounded, p.n);
        few_round<F, M>(p, first, rounded, raw);
        __syncthreads();
        int place = 0;
        const int64_t step = next.step, pairs = next.pairs;
        for (int64_t pair = (int64_t)warp * gridDim.x + blockIdx.x; pair < pairs; pair += step) {
            float sum[FEW_ROWS][M] = {};
            for (int u = lane; u - lane < x[0].units; u += 32 * pieces::each) {
                const unsigned char *piece = mine + place * pieces::pair;
                copies_wait<pieces::most - 1>();
#pragma unroll
                for (int k = 0; k < pieces::each; k++)
                    if (u + 32 * k < x[0].units)
                        unit_add(piece + k * pieces::once, pieces::bytes, x, u + 32 * k, sum);
                place = place + 1 < pieces::most ? place + 1 : 0;
                __syncwarp();
                next.fetch();
            }
            finish(p, first, pair * FEW_ROWS, sum);
        }
    }
};
#endif
