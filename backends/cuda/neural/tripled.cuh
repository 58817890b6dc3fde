/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Tiles of registers for products of f32 by tensor cores, as attention and its gradients have them. A number x is
 * split into high, x rounded to TF32, and low, x - high, which is exact; of the product of two numbers tensor cores
 * add up high*low, low*high and high*high, so that what is left out is below 2^-22 of it. Tensor cores cut sums off
 * where they should round them: they sum TRIPLED_DEEP columns at a time, the small products first, and these sums are
 * added to what came before by additions that round. So the errors are those of multiply-adds.
 *
 * A warp has 16*M rows beside N others. Lane l has of each piece of 16 rows l/4 and l/4 + 8, of each eight others
 * 2*(l%4) and the next; of each 32 columns of a result those from 8*(l%4) on. Weights stay in registers: the others that
 * a lane has are its columns of a left operand, in an order in which add() reads rows of the right one too.
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

    __device__ __forceinline__ void split(int i, float x)
    {
        high[i] = (__float_as_uint(x) + 0x1000u) & 0xffffe000u;
        low[i] = __float_as_uint(x - __uint_as_float(high[i]));
    }
    __device__ __forceinline__ void load(mma_address at)
    {
        uint32_t r[4];
        mma_load(r, at);
#pragma unroll
        for (int i = 0; i < 4; i++)
            split(i, __uint_as_float(r[i]));
    }
};

template <int D, int M, int N, int WARPS> struct tripled : tiled_block<D, WARPS> {
    typedef tiled_block<D, WARPS> block;
    using block::p;
    using block::PITCH;
    using block::THREADS;
    enum {
        SPLIT = 1,
        ROWS = 16 * M * WARPS,
        OTHERS = N,
        HELD = 2 * M,   /* rows of a thread */
        OWNED = N / 4,  /* others of a thread */
        BESIDE = 4,     /* lanes that have the same rows, one beside another */
        SUMS = D / 4,   /* columns of a result that a thread has */
        WEIGHTS = 0,    /* floats of shared memory */
        STEPS = TRIPLED_DEEP / 8
    };
    typedef float products[HELD][OWNED];
    typedef float sums[HELD][SUMS];
    typedef tripled_piece left[M][STEPS];
    int warp, lane, ty, tx;
    bool seen, own, rough, large; /* what look(), look_own(), arrive() and measure() found */

    __device__ __forceinline__ explicit tripled(const attention_params &params) : block(params)
    {
        warp = (int)threadIdx.x / 32;
        lane = (int)threadIdx.x % 32;
        ty = lane / 4;
        tx = lane % 4;
        seen = own = rough = large = false;
    }
    /* The row of the block, and the other of a step, of a product. */
    __device__ __forceinline__ int row_of(int i) const { return warp * 16 * M + ty + 8 * i; }
    __device__ __forceinline__ int other_of(int k) const { return 2 * tx + apart(k); }
    __device__ __forceinline__ static constexpr int apart(int k) { return k / 2 * 8 + k % 2; } /* other k is so far from the first */
    /* Whether the thread is the one that writes what a row has once. */
    __device__ __forceinline__ bool leads() const { return tx == 0; }

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
    /* Looks at products that add() will take. */
    __device__ __forceinline__ void measure(const products &s)
    {
        float most = 0;
#pragma unroll
        for (int i = 0; i < HELD; i++)
#pragma unroll
            for (int k = 0; k < OWNED; k++)
                most = larger(most, s[i][k]);
        large = __any_sync(0xffffffffu, most >= TRIPLED_LARGE);
    }

    /* ---- products ---- */
    /* c = the products of a piece of 16 rows and one of right operands, in registers 2*HALF and the next. */
    template <int HALF>
    __device__ __forceinline__ static void multiply_deep(float (&c)[4],
                                                         const tripled_piece (&a)[STEPS],
                                                         const tripled_piece (&b)[STEPS])
    {
        mma_begin_tf32(c, a[0].low, b[0].high[2 * HALF], b[0].high[2 * HALF + 1]);
#pragma unroll
        for (int h = 1; h < STEPS; h++)
            mma_multiply_tf32(c, a[h].low, b[h].high[2 * HALF], b[h].high[2 * HALF + 1]);
#pragma unroll
        for (int h = 0; h < STEPS; h++)
            mma_multiply_tf32(c, a[h].high, b[h].low[2 * HALF], b[h].low[2 * HALF + 1]);
#pragma unroll
        for (int h = 0; h < STEPS; h++)
            mma_multiply_tf32(c, a[h].high, b[h].high[2 * HALF], b[h].high[2 * HALF + 1]);
    }
    /* s = the warp's rows times the others; `rows` and `others` are the block's. */
    __device__ __forceinline__ void multiply(products &s, const float *rows, const float *others,
                                             float *) const
    {
        const mma_address mine = mma_address_of(rows + (warp * 16 * M + lane % 16) * PITCH +
                                                lane / 16 * 4),
                          theirs = mma_address_of(others + (lane / 16 * 8 + lane % 8) * PITCH +
                                                  lane / 8 % 2 * 4);
#pragma unroll
        for (int i = 0; i < HELD; i++)
#pragma unroll
            for (int k = 0; k < OWNED; k++)
                s[i][k] = 0;
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
            for (int n = 0; n < N / 16; n++) {
                tripled_piece b[STEPS];
#pragma unroll
                for (int h = 0; h < STEPS; h++)
                    b[h].load(theirs + (mma_address)((n * 16 * PITCH + c + 8 * h) * 4));
#pragma unroll
                for (int m = 0; m < M; m++) {
                    float x[2][4];
                    multiply_deep<0>(x[0], a[m], b);
                    multiply_deep<1>(x[1], a[m], b);
#pragma unroll
                    for (int e = 0; e < 8; e++)
                        s[2 * m + e % 4 / 2][4 * n + e / 4 * 2 + e % 2] += x[e / 4][e % 4];
                }
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
    /* y += weights times rows of others, the block's first of which is at `others`. MARKED: weights below 0 count
     * as 0. */
    template <bool MARKED>
    __device__ __forceinline__ void add(sums &y, const products &s, float *,
                                        const float *others) const
    {
        if (rough || large) {
            add_slowly<MARKED>(y, s, others);
            return;
        }
#pragma unroll
        for (int j = 0; j < N / TRIPLED_DEEP; j++) {
            left a;
#pragma unroll
            for (int m = 0; m < M; m++)
#pragma unroll
                for (int h = 0; h < STEPS; h++)
#pragma unroll
                    for (int i = 0; i < 4; i++)
                        a[m][h].split(i, weight_of<MARKED>(
                                             s[2 * m + i % 2][2 * (STEPS * j + h) + i / 2]));
#pragma unroll
            for (int e = 0; e < D / 32; e++)
                add_deep(y, a, others + (j * TRIPLED_DEEP + 2 * tx) * PITCH + e * 32 + ty * 4, e);
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
        for (int j = 0; j < 4; j++) {
            tripled_piece piece[STEPS];
#pragma unroll
            for (int h = 0; h < STEPS; h++)
#pragma unroll
                for (int o = 0; o < 2; o++)
                    piece[h].split(o, b[h][o][j]);
#pragma unroll
            for (int m = 0; m < M; m++) {
                float x[4];
                multiply_deep<0>(x, a[m], piece);
#pragma unroll
                for (int i = 0; i < 4; i++)
                    y[2 * m + i / 2][8 * e + i % 2 * 4 + j] += x[i];
            }
        }
    }
    template <bool MARKED>
    __device__ __forceinline__ void add_slowly(sums &y, const products &s,
                                               const float *others) const
    {
        float copy[HELD][OWNED];
#pragma unroll
        for (int i = 0; i < HELD; i++)
#pragma unroll
            for (int k = 0; k < OWNED; k++)
                copy[i][k] = weight_of<MARKED>(s[i][k]);
        others += 8 * tx;
#pragma unroll 1
        for (int j = 0; j < N; j++, others += PITCH) {
            float w[HELD];
#pragma unroll
            for (int i = 0; i < HELD; i++)
                w[i] = __shfl_sync(0xffffffffu, copy[i][j / 8 * 2 + j % 2],
                                   lane - tx + j % 8 / 2);
#pragma unroll
            for (int e = 0; e < SUMS; e++) {
                const float b = others[e / 8 * 32 + e % 8];
#pragma unroll
                for (int i = 0; i < HELD; i++)
                    y[i][e] = __fmaf_rn(w[i], b, y[i][e]);
            }
        }
    }

    /* ---- results ---- */
    /* Weights stay where they are. */
    __device__ __forceinline__ void put(float *, const products &) const {}
    __device__ __forceinline__ void meet() const {}
    /* f(x, row, other) for products, where it is rare: in a loop that needs no registers of theirs. */
    template <class F>
    __device__ __forceinline__ void edit(products &s, float *, const F &f) const
    {
        float copy[HELD][OWNED];
#pragma unroll
        for (int i = 0; i < HELD; i++)
#pragma unroll
            for (int k = 0; k < OWNED; k++)
                copy[i][k] = s[i][k];
#pragma unroll 1
        for (int i = 0; i < HELD; i++)
#pragma unroll 1
            for (int k = 0; k < OWNED; k++)
                f(copy[i][k], row_of(i), other_of(k));
#pragma unroll
        for (int i = 0; i < HELD; i++)
#pragma unroll
            for (int k = 0; k < OWNED; k++)
                s[i][k] = copy[i][k];
    }
    __device__ __forceinline__ static void clear(sums &y)
    {
#pragma unroll
        for (int i = 0; i < HELD; i++)
#pragma unroll
            for (int e = 0; e < SUMS; e++)
                y[i][e] = 0;
    }
    /* A row of a result, multiplied. */
    __device__ __forceinline__ void write(float *to, int64_t step, int64_t columns,
                                          const float (&y)[SUMS], float by) const
    {
        const bool whole = block::is_whole(to, step);
#pragma unroll
        for (int e = 0; e < SUMS / 4; e++)
            block::write_four(to, step, e / 2 * 32 + 8 * tx + e % 2 * 4, columns, whole, y + 4 * e,
                              by);
    }
};

#endif
