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

/* Four codes of a thread, as bytes of a word, to where they belong: elements i, a multiple of 4, and on. */
template <typename F>
static __device__ __forceinline__ void few_place(const few_row<F> &row, int i, unsigned codes,
                                                 float d, int sum, bool inside)
{
    using U = unit<F>;
    const int g = i / 32, h = i / 16 % 2, word = i / 4 % 4;
    const bool halves = U::pieces == 1;
    const int u = halves ? g / 8 * 4 + g / 4 % 2 * 2 + h : g / U::groups, group = g % U::groups;
    for (int k = 1; k < (halves ? 4 : 8); k *= 2)
        sum += __shfl_xor_sync(~0u, sum, k);
    int at = word, k = halves ? 0 : h;
    if (U::mixed) {
        const unsigned other = __shfl_xor_sync(~0u, codes, 4);
        codes = h ? __byte_perm(other, codes, 0x7362) : __byte_perm(codes, other, 0x5140);
        k = word / 2;
        at = word % 2 * 2 + h;
    }
    if (!inside)
        return;
    ((unsigned *)row.piece(u, group, k))[at] = codes;
    if (i % (halves ? 16 : 32) == 0)
        *row.sum(u, group) = few_sum{d, F::has_min ? __float_as_int(d * (float)sum) : sum};
}

/* A thread rounds four elements, eight threads a group of 32. */
template <typename F>
static __device__ __forceinline__ void few_round_four(const quant_params &p, const float (&x)[4],
                                                      int i, const few_row<F> &row)
{
    float most = fmaxf(fmaxf(fabsf(x[0]), fabsf(x[1])), fmaxf(fabsf(x[2]), fabsf(x[3])));
    int bad = 0;
    for (int k = 0; k < 4; k++)
        bad |= !(fabsf(x[k]) < INFINITY);
    for (int k = 4; k > 0; k /= 2) {
        most = fmaxf(most, __shfl_xor_sync(~0u, most, k));
        bad |= __shfl_xor_sync(~0u, bad, k);
    }
    const float d = bad ? NAN : most / 127, inverse = d > 0 ? 1 / d : 0;
    unsigned codes = 0;
    int sum = 0;
    for (int k = 0; k < 4; k++) {
        const int code = code_of(x[k] * inverse);
        codes |= (unsigned)(code & 255) << 8 * k;
        sum += code;
    }
    few_place<F>(row, i, codes, d, sum, i < p.n);
}

/* Several fours of a thread are read at once. */
template <typename F>
static __device__ __forceinline__ void few_round(const quant_params &p, int64_t m,
                                                 const few_row<F> &row)
{
    enum { FOURS = 4, STEP = QUANT_THREADS * 4 };
    for (int first = threadIdx.x / 32 * 128; first < p.n; first += FOURS * STEP) {
        float x[FOURS][4] = {};
#pragma unroll
        for (int j = 0; j < FOURS; j++) {
            const int i = first + j * STEP + threadIdx.x % 32 * 4;
            if (i < p.n)
                load_four(p.a, p.dtype, m * p.n + i, x[j]);
        }
#pragma unroll
        for (int j = 0; j < FOURS; j++)
            if (first + j * STEP < p.n) /* the whole warp */
                few_round_four<F>(p, x[j], first + j * STEP + threadIdx.x % 32 * 4, row);
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
        pieces next(p, mine);
        for (int i = 0; i < pieces::most; i++)
            next.fetch();
        few_row<F> x[M];
#pragma unroll
        for (int m = 0; m < M; m++)
            x[m] = few_row<F>(rounded + m * p.rounded, p.n);
#pragma unroll 1
        for (int m = 0; m < M; m++)
            few_round(p, first + m < p.m ? first + m : p.m - 1,
                      few_row<F>(rounded + m * p.rounded, p.n));
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
