/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Products of f32 by tensor cores, which multiply TF32: a number is the sum of two of TF32 (mma_split_tf32), and of the
 * product of two numbers the cores add up low*high, high*low and high*high. They leave out low*low, at most 2^-22 of the
 * product, and the last bit of each low part, at most 2^-23 each: together four units of f32. So errors are bounded sum by
 * sum, and none spreads from one result to another as those of transforms do. Cores cut sums off where they should round
 * them, so they add up GATHER_TERMS terms alone, and additions that round do the rest.
 *
 * A block sums a tile of rows and columns, in pieces of GATHER_K terms that arrive in shared memory while earlier ones
 * are summed. */
#ifndef NDOCK_CUDA_CONV_GATHERED_PRODUCT_CUH
#define NDOCK_CUDA_CONV_GATHERED_PRODUCT_CUH
#include "conv/conv.cuh"
#include "neural/mma.cuh"

enum {
    GATHER_K = CONV_GATHER_DEPTH,
    GATHER_THREADS = CONV_GATHER_THREADS,
    GATHER_TERMS = 8,    /* that tensor cores take at once */
    GATHER_ROWS = 8,     /* of a thread, in fours that are 32 apart */
    GATHER_COLUMNS = 12, /* likewise; two fours lie side by side */
    GATHER_HEIGHT = 64,  /* rows and columns of a warp */
    GATHER_SPAN = 48,
    GATHER_PIECES_M = GATHER_HEIGHT / 16, /* of tensor cores */
    GATHER_PIECES_N = GATHER_SPAN / 8
};

#define WINDOW_MEMBER __device__ __forceinline__

/* A block's tile of ROWS rows and as many columns as make CONV_GATHER_SUMS sums. Shared memory has a piece's rows in
 * lines of one term each, and so the columns, or a line of terms for each column (BY_COLUMNS). Pitches are such that the
 * threads of a warp read different banks. */
template <int ROWS, bool COLUMNS_HAVE_LINES> struct gather_tile {
    enum {
        BY_COLUMNS = COLUMNS_HAVE_LINES,
        M = ROWS,
        N = CONV_GATHER_SUMS / ROWS,
        LEFT = M + 8, /* pitches */
        RIGHT = COLUMNS_HAVE_LINES ? GATHER_K + 4 : N + 8,
        STAGE = GATHER_K * LEFT + N * (GATHER_K + 4),
        ACROSS = N / GATHER_SPAN /* warps */
    };
};

typedef float gather_sums[GATHER_ROWS][GATHER_COLUMNS];

/* The first of four rows or columns of a thread that lie side by side. */
template <class P> WINDOW_FN int32_t gather_row(int four)
{
    const int32_t lane = (int32_t)threadIdx.x % 32, warp = (int32_t)threadIdx.x / 32;
    return warp / P::ACROSS * GATHER_HEIGHT + four * 32 + lane / 4 * 4;
}
template <class P> WINDOW_FN int32_t gather_column(int four)
{
    const int32_t lane = (int32_t)threadIdx.x % 32, warp = (int32_t)threadIdx.x / 32;
    return warp % P::ACROSS * GATHER_SPAN +
           (four == 2 ? 32 + lane % 4 * 4 : lane % 4 * 8 + four * 4);
}

/* Columns have such lines that eight of one piece of tensor cores follow each other: the column of a line. */
WINDOW_FN int32_t gather_column_of(int32_t line)
{
    const int32_t span = line / GATHER_SPAN * GATHER_SPAN, at = line - span, j = at % 8;
    return span + (at < 32 ? j * 4 + at / 8 : 32 + j * 2 + at / 8 - 4);
}

/* What a thread has of GATHER_TERMS terms: of its rows and columns terms lane % 4 and that + 4. */
template <class P> struct gather_operands {
    float a[2][GATHER_ROWS], b[2][GATHER_PIECES_N];

    WINDOW_MEMBER void load(const float *stage, int k)
    {
        const int32_t lane = (int32_t)threadIdx.x % 32;
        const float *left = stage + (k + lane % 4) * P::LEFT;
#pragma unroll
        for (int h = 0; h < 2; h++)
#pragma unroll
            for (int four = 0; four < GATHER_ROWS / 4; four++) {
                float x[4];
                neural_load<float, 4>(left + h * 4 * P::LEFT + gather_row<P>(four), 0, x);
#pragma unroll
                for (int i = 0; i < 4; i++)
                    a[h][four * 4 + i] = x[i];
            }
        if (P::BY_COLUMNS)
            load_lines(stage + GATHER_K * P::LEFT + k);
        else
            load_terms(stage + GATHER_K * P::LEFT + (k + lane % 4) * P::RIGHT);
    }
    WINDOW_MEMBER void load_terms(const float *right)
    {
        const int32_t lane = (int32_t)threadIdx.x % 32, warp = (int32_t)threadIdx.x / 32;
        right += warp % P::ACROSS * GATHER_SPAN;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float x[4], y[2];
            neural_load<float, 4>(right + h * 4 * P::RIGHT + lane / 4 * 4, 0, x);
            neural_load<float, 2>(right + h * 4 * P::RIGHT + 32 + lane / 4 * 2, 0, y);
#pragma unroll
            for (int j = 0; j < GATHER_PIECES_N; j++)
                b[h][j] = j < 4 ? x[j % 4] : y[j % 2];
        }
    }
    WINDOW_MEMBER void load_lines(const float *right)
    {
        const int32_t lane = (int32_t)threadIdx.x % 32, warp = (int32_t)threadIdx.x / 32;
        const int32_t line = warp % P::ACROSS * GATHER_SPAN + lane / 16 * 8 + lane % 8;
        const mma_address at = mma_address_of(right + line * P::RIGHT + lane / 8 % 2 * 4);
#pragma unroll
        for (int j = 0; j < GATHER_PIECES_N; j += 2) {
            uint32_t r[4];
            mma_load(r, at + (mma_address)(j * 8 * P::RIGHT * 4));
#pragma unroll
            for (int i = 0; i < 4; i++)
                b[i % 2][j + i / 2] = __uint_as_float(r[i]);
        }
    }
    /* Two pieces of columns at a time, so that tensor cores have products to compute while others are on their way. */
    WINDOW_MEMBER void add(gather_sums &sum) const
    {
        uint32_t high[GATHER_PIECES_M][4], low[GATHER_PIECES_M][4];
#pragma unroll
        for (int i = 0; i < GATHER_PIECES_M; i++)
#pragma unroll
            for (int r = 0; r < 4; r++)
                mma_split_tf32(a[r / 2][i * 2 + r % 2], &high[i][r], &low[i][r]);
#pragma unroll
        for (int j = 0; j < GATHER_PIECES_N; j += 2)
            add_two(sum, high, low, j);
    }
    WINDOW_MEMBER void add_two(gather_sums &sum, const uint32_t (&high)[GATHER_PIECES_M][4],
                               const uint32_t (&low)[GATHER_PIECES_M][4], int j) const
    {
        enum { PAIRS = 2 * GATHER_PIECES_M };
        uint32_t right[2][2], rest[2][2];
        float x[PAIRS][4];
#pragma unroll
        for (int r = 0; r < 4; r++)
            mma_split_tf32(b[r % 2][j + r / 2], &right[r / 2][r % 2], &rest[r / 2][r % 2]);
#pragma unroll
        for (int i = 0; i < PAIRS; i++)
            mma_begin_tf32(x[i], low[i / 2], right[i % 2][0], right[i % 2][1]);
#pragma unroll
        for (int i = 0; i < PAIRS; i++)
            mma_multiply_tf32(x[i], high[i / 2], rest[i % 2][0], rest[i % 2][1]);
#pragma unroll
        for (int i = 0; i < PAIRS; i++)
            mma_multiply_tf32(x[i], high[i / 2], right[i % 2][0], right[i % 2][1]);
#pragma unroll
        for (int i = 0; i < PAIRS; i++)
#pragma unroll
            for (int o = 0; o < 4; o++) {
                const int piece = j + i % 2, apart = piece < 4 ? 4 : 2;
                sum[i / 2 * 2 + o / 2][piece + (piece < 4 ? 0 : 4) + o % 2 * apart] += x[i][o];
            }
    }
};

template <class P> WINDOW_FN void gather_multiply(const float *stage, gather_sums &sum)
{
    gather_operands<P> terms[GATHER_K / GATHER_TERMS];
#pragma unroll
    for (int i = 0; i < GATHER_K / GATHER_TERMS; i++)
        terms[i].load(stage, i * GATHER_TERMS);
#pragma unroll
    for (int i = 0; i < GATHER_K / GATHER_TERMS; i++)
        terms[i].add(sum);
}

/* All pieces of `loader`, whose fetch(i, to) begins copies of piece i. */
template <class P, class L>
WINDOW_FN void gather_all(L &loader, float *memory, int32_t pieces, gather_sums &sum)
{
    const mma_address first = mma_address_of(memory);
    for (int32_t i = 0; i < CONV_GATHER_STAGES - 1; i++) {
        if (i < pieces)
            loader.fetch(i, first + i * P::STAGE * 4);
        mma_commit();
    }
    int32_t now = 0, next = CONV_GATHER_STAGES - 1;
    for (int32_t i = 0; i < pieces; i++) {
        mma_wait<CONV_GATHER_STAGES - 2>();
        __syncthreads();
        if (i + CONV_GATHER_STAGES - 1 < pieces)
            loader.fetch(i + CONV_GATHER_STAGES - 1, first + next * P::STAGE * 4);
        mma_commit();
        gather_multiply<P>(memory + now * P::STAGE, sum);
        now = now == CONV_GATHER_STAGES - 1 ? 0 : now + 1;
        next = next == CONV_GATHER_STAGES - 1 ? 0 : next + 1;
    }
}

/* ---- what is not finite ---- */

typedef struct {
    float x[4][4]; /* [row][column] */
} gather_square;

/* Sums that are no numbers, or infinite, by multiply-adds: of operands like these the parts make other ones than the
 * definition does. SUM: the sum of a row and a column. */
template <class SUM>
static __device__ __noinline__ gather_square gather_apart(SUM of, int32_t m, int32_t n,
                                                          gather_square sums)
{
#pragma unroll 1
    for (int k = 0; k < 16; k++) {
        const float x = sums.x[k / 4][k % 4];
        if (!(fabsf(x) < INFINITY))
            sums.x[k / 4][k % 4] = of(m + k / 4, n + k % 4);
    }
    return sums;
}

/* The square of rows four `i` and columns four `j` of a thread. */
template <class SUM>
WINDOW_FN gather_square gather_square_of(const gather_sums &sum, int i, int j, const SUM &of,
                                         int32_t m, int32_t n)
{
    gather_square r;
    bool finite = true;
#pragma unroll
    for (int a = 0; a < 4; a++)
#pragma unroll
        for (int b = 0; b < 4; b++) {
            r.x[a][b] = sum[i * 4 + a][j * 4 + b];
            finite = finite && fabsf(r.x[a][b]) < INFINITY;
        }
    return finite ? r : gather_apart(of, m, n, r);
}

#endif
