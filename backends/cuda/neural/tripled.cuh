/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Tiles of registers for products of f32 by tensor cores, as attention and its gradients have them. A number x is
 * split into high, x rounded to TF32, and low, x - high, which is exact; of the product of two numbers tensor cores
 * add up high*low, low*high and high*high, so that what is left out is below 2^-22 of it. Tensor cores cut sums off
 * where they should round them: they sum TRIPLED_DEEP columns at a time, the small products first, and these sums are
 * added to what came before by additions that round. So the errors are those of multiply-adds.
 *
 * A warp has 16*M rows beside N others. Lane l has of each piece of 16 rows l/4 and l/4 + 8, of each eight others
 * 2*(l%4) and the next; of each 32 columns of a result those from 8*(l%4) on. Weights stay in registers: the others that
 * a lane has are its columns of a left operand, in an order in which add() reads rows of the right one too. Of wide
 * operands SPLITS warps have the same rows: each multiplies them by its share of the others, leaves the weights in shared
 * memory, in that order, and has its share of the columns of a result.
 *
 * The lower part of an infinity is NaN, and x rounded may be infinite where x is not: operands in shared memory are
 * looked at when they arrive, and those that hold such numbers are multiplied by multiply-adds. */
#ifndef NDOCK_CUDA_TRIPLED_CUH
#define NDOCK_CUDA_TRIPLED_CUH
#include "neural/tiled_block.cuh"

enum { TRIPLED_DEEP = 16 };
#define TRIPLED_LARGE 0x1p127f /* from here on numbers are not split */

/* A piece of 16x8 of a left operand, or two of 8x8 of right ones, in two parts. */
struct tripled_piece {
    uint32_t high[4], low[4];

    __device__ __forceinline__ void split(int i, float x) { mma_split_tf32(x, &high[i], &low[i]); }
    __device__ __forceinline__ void load(mma_address at)
    {
        uint32_t r[4];
        mma_load(r, at);
#pragma unroll
        for (int i = 0; i < 4; i++)
            split(i, __uint_as_float(r[i]));
    }
};

template <int D, int M, int N, int WARPS, int SPLITS = 1> struct tripled : tiled_block<D, WARPS> {
    typedef tiled_block<D, WARPS> block;
    using block::p;
    using block::PITCH;
    using block::THREADS;
    enum {
        SPLIT = SPLITS,
        ROWS = 16 * M * (WARPS / SPLIT),
        OTHERS = N,
        HELD = 2 * M,          /* rows of a thread */
        OWNED = N / SPLIT / 4, /* others of a thread */
        BESIDE = 4,            /* lanes that have the same rows, one beside another */
        SHARE = D / SPLIT,     /* columns of a result that a warp has */
        SUMS = SHARE / 4,      /* those of a thread */
        ONCE = 1, /* gradients of queries are made with those of keys (tripled_part.cuh) */
        WEIGHT_PITCH = N + 4,
        WEIGHTS = SPLIT > 1 ? ROWS *WEIGHT_PITCH : 0, /* floats of shared memory */
        STEPS = TRIPLED_DEEP / 8,
        /* pieces of right operands that are multiplied at once */
        BESIDE_OTHERS = (M > 1 || N / SPLIT < 32) ? 1 : 2,
        BESIDE_COLUMNS = (M > 1) ? 1 : 2
    };
    typedef float products[HELD][OWNED];
    typedef float sums[HELD][SUMS];
    typedef tripled_piece left[M][STEPS];
    int warp, part, lane, ty,
        tx; /* of warps that have the same rows, which they are, and which of them this is */
    bool seen, own, rough, large; /* what look(), look_own(), arrive() and gather() found */

    __device__ __forceinline__ explicit tripled(const attention_params &params) : block(params)
    {
        warp = (int)threadIdx.x / (32 * SPLIT);
        part = (int)threadIdx.x / 32 % SPLIT;
        lane = (int)threadIdx.x % 32;
        ty = lane / 4;
        tx = lane % 4;
        seen = own = rough = large = false;
    }
    /* The row of the block, and the other of a step, of a product. */
    __device__ __forceinline__ int row_of(int i) const { return warp * 16 * M + ty + 8 * i; }
    __device__ __forceinline__ int other_of(int k) const
    {
        return part * (N / SPLIT) + 2 * tx + apart(k);
    }
    __device__ __forceinline__ static constexpr int apart(int k)
    {
        return k / 2 * 8 + k % 2;
    } /* other k is so far from the first */
    /* Whether the thread is the one that writes what a row has once. */
    __device__ __forceinline__ bool leads() const { return tx == 0 && part == 0; }

    /* ---- numbers that can not be split ---- */
    /* Whether some of what the thread copied to N rows are such. */
    template <int N_ROWS> __device__ __forceinline__ bool exceeds(const float *at) const
    {
        static_assert(N_ROWS * D / 4 % THREADS == 0, "each thread copied as many");
        float most = 0;
        const int whole = p.whole;
#pragma unroll 4
        for (int i = (int)threadIdx.x; i < N_ROWS * D / 4; i += THREADS) {
            if (whole) {
                const float4 x = *(const float4 *)(at + i / (D / 4) * PITCH + i % (D / 4) * 4);
                most = larger(larger(most, x.x), larger(x.y, larger(x.z, x.w)));
            } else {
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    const int e = (i - (int)threadIdx.x) * 4 + k * THREADS + (int)threadIdx.x;
                    most = larger(most, at[e / D * PITCH + e % D]);
                }
            }
        }
        return most >= TRIPLED_LARGE;
    }
    /* The larger magnitude. NaN counts as nothing: its lower part is NaN as well, and so are products. */
    __device__ __forceinline__ static float larger(float a, float b)
    {
        return fmaxf(fabsf(a), fabsf(b));
    }
    template <int N_ROWS> __device__ __forceinline__ void look(const float *at)
    {
        seen = seen || exceeds<N_ROWS>(at);
    }
    template <int N_ROWS> __device__ __forceinline__ void look_own(const float *at)
    {
        own = exceeds<N_ROWS>(at);
    }
    /* Waits for what all threads copied. */
    __device__ __forceinline__ void arrive()
    {
        rough = __syncthreads_or(seen || own);
        seen = false;
    }
    /* Waits for all threads, and looks at the products that add() will take. */
    __device__ __forceinline__ void gather(const products &s)
    {
        float most = 0;
#pragma unroll
        for (int i = 0; i < HELD; i++)
#pragma unroll
            for (int k = 0; k < OWNED; k++)
                most = larger(most, s[i][k]);
        large = __syncthreads_or(most >= TRIPLED_LARGE);
    }

    /* ---- products ---- */
    /* x = the products of the left operand's pieces and of so many halves of right ones. Products that follow each other
     * are of different sums, since one that waits for another's sum takes longer than it. */
    template <int HALVES>
    __device__ __forceinline__ static void multiply_deep(
        float (&x)[M][HALVES][4], const left &a, const tripled_piece (&b)[HALVES / 2][STEPS])
    {
#pragma unroll
        for (int i = 0; i < 3 * STEPS; i++)
#pragma unroll
            for (int j = 0; j < HALVES; j++)
#pragma unroll
                for (int m = 0; m < M; m++) {
                    const int h = i % STEPS, r = j % 2 * 2;
                    const uint32_t(&left_part)[4] = i < STEPS ? a[m][h].low : a[m][h].high;
                    const uint32_t(&right)[4] = i / STEPS == 1 ? b[j / 2][h].low : b[j / 2][h].high;
                    if (i == 0)
                        mma_begin_tf32(x[m][j], left_part, right[r], right[r + 1]);
                    else
                        mma_multiply_tf32(x[m][j], left_part, right[r], right[r + 1]);
                }
    }
    /* s = the warp's rows times its share of the others; `rows` and `others` are the block's. */
    __device__ __forceinline__ void multiply(products &s, const float *rows, const float *others,
                                             float *) const
    {
        const mma_address mine = mma_address_of(rows + (warp * 16 * M + lane % 16) * PITCH +
                                                lane / 16 * 4),
                          theirs = mma_address_of(
                              others + (part * (N / SPLIT) + lane / 16 * 8 + lane % 8) * PITCH +
                              lane / 8 % 2 * 4);
        block::clear(s);
        if (rough) {
            multiply_slowly(s, rows, others);
            return;
        }
#pragma unroll 1
        for (int c = 0; c < D; c += TRIPLED_DEEP) {
            left a;
#pragma unroll
            for (int m = 0; m < M; m++)
#pragma unroll
                for (int h = 0; h < STEPS; h++)
                    a[m][h].load(mine + (mma_address)((m * 16 * PITCH + c + 8 * h) * 4));
#pragma unroll
            for (int n = 0; n < N / SPLIT / 16; n += BESIDE_OTHERS) {
                tripled_piece b[BESIDE_OTHERS][STEPS];
                float x[M][2 * BESIDE_OTHERS][4];
#pragma unroll
                for (int e = 0; e < BESIDE_OTHERS; e++)
#pragma unroll
                    for (int h = 0; h < STEPS; h++)
                        b[e][h].load(theirs +
                                     (mma_address)(((n + e) * 16 * PITCH + c + 8 * h) * 4));
                multiply_deep<2 * BESIDE_OTHERS>(x, a, b);
#pragma unroll
                for (int m = 0; m < M; m++)
#pragma unroll
                    for (int e = 0; e < 8 * BESIDE_OTHERS; e++)
                        s[2 * m + e % 4 / 2][4 * n + e / 4 * 2 + e % 2] += x[m][e / 4][e % 4];
            }
        }
    }
    __device__ __forceinline__ void multiply_slowly(products &s, const float *rows,
                                                    const float *others) const
    {
        rows += row_of(0) * PITCH;
        others += other_of(0) * PITCH;
#pragma unroll 1
        for (int c = 0; c < D; c++)
#pragma unroll
            for (int k = 0; k < OWNED; k++) {
                const float b = others[apart(k) * PITCH + c];
#pragma unroll
                for (int i = 0; i < HELD; i++)
                    s[i][k] = __fmaf_rn(rows[i * 8 * PITCH + c], b, s[i][k]);
            }
    }

    /* A weight as add() takes it. */
    template <bool MARKED> __device__ __forceinline__ static float weight_of(float x)
    {
        return MARKED && (int)__float_as_uint(x) < 0 ? 0.0f : x;
    }
    /* Weights of TRIPLED_DEEP others, the first of which is j, as a left operand: of registers, or what put() left. */
    template <bool MARKED>
    __device__ __forceinline__ void take(left &a, const products &s, const float *weights,
                                         int j) const
    {
        const mma_address mine = mma_address_of(
            weights + (warp * 16 * M + lane % 16) * WEIGHT_PITCH + lane / 16 * 4 + j);
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int h = 0; h < STEPS; h++) {
                uint32_t r[4];
                if constexpr (SPLIT > 1)
                    mma_load(r, mine + (mma_address)((m * 16 * WEIGHT_PITCH + 8 * h) * 4));
#pragma unroll
                for (int i = 0; i < 4; i++)
                    a[m][h].split(
                        i, weight_of<MARKED>(SPLIT > 1 ? __uint_as_float(r[i])
                                                       : s[2 * m + i % 2][j / 4 + 2 * h + i / 2]));
            }
    }
    /* y += weights times rows of others, the block's first of which is at `others`. MARKED: weights below 0 count
     * as 0. */
    template <bool MARKED>
    __device__ __forceinline__ void add(sums &y, const products &s, const float *weights,
                                        const float *others) const
    {
        others += part * SHARE;
        if (rough || large) {
            add_slowly<MARKED>(y, s, weights, others);
            return;
        }
#pragma unroll
        for (int j = 0; j < N; j += TRIPLED_DEEP) {
            left a;
            take<MARKED>(a, s, weights, j);
#pragma unroll
            for (int e = 0; e < SHARE / 32; e++)
                add_deep(y, a, others + (j + 2 * tx) * PITCH + e * 32 + ty * 4, e);
        }
    }
    /* The same of TRIPLED_DEEP others and columns 32*e and on; `others`: the lane's first. */
    __device__ __forceinline__ void add_deep(sums &y, const left &a, const float *others,
                                             int e) const
    {
        float b[STEPS][2][4];
#pragma unroll
        for (int h = 0; h < STEPS; h++)
#pragma unroll
            for (int o = 0; o < 2; o++)
                mma_four(b[h][o], mma_address_of(others + (8 * h + o) * PITCH));
#pragma unroll
        for (int j = 0; j < 4; j += 2 * BESIDE_COLUMNS) {
            tripled_piece piece[BESIDE_COLUMNS][STEPS];
            float x[M][2 * BESIDE_COLUMNS][4];
#pragma unroll
            for (int i = 0; i < 2 * BESIDE_COLUMNS; i++)
#pragma unroll
                for (int h = 0; h < STEPS; h++)
#pragma unroll
                    for (int o = 0; o < 2; o++)
                        piece[i / 2][h].split(i % 2 * 2 + o, b[h][o][j + i]);
            multiply_deep<2 * BESIDE_COLUMNS>(x, a, piece);
#pragma unroll
            for (int m = 0; m < M; m++)
#pragma unroll
                for (int k = 0; k < 2 * BESIDE_COLUMNS; k++)
#pragma unroll
                    for (int i = 0; i < 4; i++)
                        y[2 * m + i / 2][8 * e + i % 2 * 4 + j + k] += x[m][k][i];
        }
    }
    template <bool MARKED>
    __device__ __forceinline__ void add_slowly(sums &y, const products &s, const float *weights,
                                               const float *others) const
    {
        float copy[HELD][OWNED];
#pragma unroll
        for (int i = 0; i < HELD; i++)
#pragma unroll
            for (int k = 0; k < OWNED; k++)
                copy[i][k] = s[i][k];
        others += 8 * tx;
#pragma unroll 1
        for (int j = 0; j < N; j++, others += PITCH) {
            float w[HELD];
#pragma unroll
            for (int i = 0; i < HELD; i++)
                w[i] = weight_of<MARKED>(SPLIT > 1
                                             ? weights[row_of(i) * WEIGHT_PITCH + place_of(j)]
                                             : __shfl_sync(0xffffffffu, copy[i][j / 8 * 2 + j % 2],
                                                           lane - tx + j % 8 / 2));
#pragma unroll
            for (int e = 0; e < SUMS; e++) {
                const float b = others[e / 8 * 32 + e % 8];
#pragma unroll
                for (int i = 0; i < HELD; i++)
                    y[i][e] = __fmaf_rn(w[i], b, y[i][e]);
            }
        }
    }
    /* Where the weight of an other lies in a row of weights: of eight, those with even numbers first. */
    __device__ __forceinline__ static int place_of(int other)
    {
        return other / 8 * 8 + other % 2 * 4 + other % 8 / 2;
    }

    /* ---- results ---- */
    /* Products to where add() finds them, if other warps need them. */
    __device__ __forceinline__ void put(float *weights, const products &s) const
    {
        if constexpr (SPLIT > 1)
            show(weights, s);
    }
    __device__ __forceinline__ void show(float *weights, const products &s) const
    {
#pragma unroll
        for (int i = 0; i < HELD; i++)
#pragma unroll
            for (int k = 0; k < OWNED; k++)
                weights[row_of(i) * WEIGHT_PITCH + place_of(other_of(k))] = s[i][k];
    }
    /* Waits for the warps that have the same rows, and what they wrote. */
    __device__ __forceinline__ void meet() const
    {
        if constexpr (SPLIT > 1)
            mma_meet<32 * SPLIT>(1 + warp);
    }
    /* f(x, row, other) for products, where it is rare: in a loop that needs no registers of theirs. */
    template <class F> __device__ __forceinline__ void edit(products &s, float *, const F &f) const
    {
        products copy;
        block::copy(copy, s);
#pragma unroll 1
        for (int i = 0; i < HELD; i++)
#pragma unroll 1
            for (int k = 0; k < OWNED; k++)
                f(copy[i][k], row_of(i), other_of(k));
        block::copy(s, copy);
    }
    /* A row of a result, multiplied. */
    __device__ __forceinline__ void write(float *to, int64_t step, int64_t columns,
                                          const float (&y)[SUMS], float by) const
    {
        const bool whole = block::is_whole(to, step);
#pragma unroll
        for (int e = 0; e < SUMS / 4; e++)
            block::write_four(to, step, part * SHARE + e / 2 * 32 + 8 * tx + e % 2 * 4, columns,
                              whole, y + 4 * e, by);
    }
};

#endif
