/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Tiles of registers for products of f32 by multiply-adds, as attention and its gradients have them. A warp
 * has 4*TM rows of its own beside 8*TN others: lane l has rows l/8 + 4*i, and others l%8 + 8*k, or columns
 * 4*(l%8) + 32*k of a result. All operands lie in shared memory as they do in global memory, D columns and 4
 * floats between rows, which are read 16 bytes at a time: the addresses of eight lanes are in different banks,
 * or the same. For 4*TM*TN multiply-adds a thread makes TM + TN such loads.
 *
 * Of wide operands, SPLIT warps have the same rows, so that tiles are larger: each multiplies its own share of the
 * columns, which are summed in shared memory, has as many of the others when these sums are used, and its share of
 * the columns of a result. */
#ifndef NDOCK_CUDA_TILED_CUH
#define NDOCK_CUDA_TILED_CUH
#include "neural/tiled_block.cuh"

template <int D, int TM, int TN, int WARPS, int SPLITS = 1> struct tiled : tiled_block<D, WARPS> {
    typedef tiled_block<D, WARPS> block;
    using block::p;
    using block::PITCH;
    enum {
        SPLIT = SPLITS,
        ROWS = 4 * TM * (WARPS / SPLIT),
        OTHERS = 8 * TN,
        ONCE = 0,
        HELD = TM,                 /* rows of a thread */
        BESIDE = 8,                /* lanes that have the same rows, one beside another */
        WEIGHT_PITCH = OTHERS + 8, /* the 32 lanes of a warp that write have different banks */
        SHARE = D / SPLIT,         /* columns of a warp */
        OWNED = TN / SPLIT,        /* of the others of a thread, those whose sums it has */
        PARTS = SHARE / 32,        /* pieces of four columns of a result that a thread has */
        SUMS = 4 * PARTS,
        WEIGHTS = ROWS * WEIGHT_PITCH /* floats of shared memory */
    };
    typedef float products[TM][OWNED];
    typedef float sums[TM][SUMS];
    int warp, part, lane, ty,
        tx; /* of warps that have the same rows, which they are, and which of them this is */

    __device__ __forceinline__ explicit tiled(const attention_params &params) : block(params)
    {
        warp = (int)threadIdx.x / (32 * SPLIT);
        part = (int)threadIdx.x / 32 % SPLIT;
        lane = (int)threadIdx.x % 32;
        ty = lane / 8;
        tx = lane % 8;
    }
    /* The row of the block, and the other of a step, of a product. */
    __device__ __forceinline__ int row_of(int i) const { return warp * 4 * TM + ty + 4 * i; }
    __device__ __forceinline__ int other_of(int k) const { return tx + 8 * (k + part * OWNED); }
    __device__ __forceinline__ static constexpr int apart(int k)
    {
        return 8 * k;
    } /* other k is so far from the first */
    /* Whether the thread is the one that writes what a row has once. */
    __device__ __forceinline__ bool leads() const { return tx == 0 && part == 0; }
    /* The thread's products where add() finds them. */
    __device__ __forceinline__ float *place(float *weights) const
    {
        return weights + row_of(0) * WEIGHT_PITCH + other_of(0);
    }

    /* Of kinds of tiles that depend on what operands hold. */
    template <int N> __device__ __forceinline__ void look(const float *) {}
    template <int N> __device__ __forceinline__ void look_own(const float *) {}
    __device__ __forceinline__ void gather(const products &) const { __syncthreads(); }
    /* Waits for what all threads copied. */
    __device__ __forceinline__ void arrive() const { __syncthreads(); }
    /* Waits for the warps that have the same rows, and what they wrote. */
    __device__ __forceinline__ void meet() const
    {
        if constexpr (SPLIT == 1)
            __syncwarp();
        else
            mma_meet<32 * SPLIT>(1 + warp);
    }
    /* Sums of the warp's columns: those that the thread has, then those of its other others. */
    __device__ __forceinline__ void multiply_share(float (&s)[TM][TN], const float *rows,
                                                   const float *others) const
    {
        const float *turned = others;
        if constexpr (SPLIT > 1) {
            rows += part * SHARE;
            turned += part * (SHARE - OWNED * 8 * PITCH);
            others += part * (SHARE + OWNED * 8 * PITCH);
        }
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
            for (int k = 0; k < TN; k++)
                s[i][k] = 0;
#pragma unroll 4
        for (int c = 0; c < SHARE; c += 4) {
            float4 a[TM];
#pragma unroll
            for (int i = 0; i < TM; i++)
                a[i] = *(const float4 *)(rows + i * 4 * PITCH + c);
#pragma unroll
            for (int k = 0; k < TN; k++) {
                const float4 b =
                    *(const float4 *)((k < OWNED ? others : turned) + k * 8 * PITCH + c);
#pragma unroll
                for (int i = 0; i < TM; i++)
                    s[i][k] = __fmaf_rn(a[i].x, b.x, s[i][k]);
#pragma unroll
                for (int i = 0; i < TM; i++)
                    s[i][k] = __fmaf_rn(a[i].y, b.y, s[i][k]);
#pragma unroll
                for (int i = 0; i < TM; i++)
                    s[i][k] = __fmaf_rn(a[i].z, b.z, s[i][k]);
#pragma unroll
                for (int i = 0; i < TM; i++)
                    s[i][k] = __fmaf_rn(a[i].w, b.w, s[i][k]);
            }
        }
    }
    /* s = the warp's rows times those others that the thread has; `rows` and `others` are the block's. */
    __device__ __forceinline__ void multiply(products &s, const float *rows, const float *others,
                                             float *weights) const
    {
        static_assert(SPLIT <= 2 && TN % SPLIT == 0, "one other warp");
        rows += row_of(0) * PITCH;
        others += tx * PITCH;
        if constexpr (SPLIT == 1) {
            multiply_share(s, rows, others);
        } else {
            float all[TM][TN], *const mine = place(weights);
            multiply_share(all, rows, others);
            float *const theirs = mine + (part ? -8 : 8) * OWNED;
#pragma unroll
            for (int i = 0; i < TM; i++)
#pragma unroll
                for (int k = 0; k < OWNED; k++)
                    theirs[i * 4 * WEIGHT_PITCH + 8 * k] = all[i][OWNED + k];
            meet();
            take(s, weights);
#pragma unroll
            for (int i = 0; i < TM; i++)
#pragma unroll
                for (int k = 0; k < OWNED; k++)
                    s[i][k] += all[i][k];
        }
    }
    /* y += weights of the warp's rows, which put() left, times rows of others. MARKED: those below 0 count as 0. */
    template <bool MARKED>
    __device__ __forceinline__ void add(sums &y, const products &, const float *weights,
                                        const float *others) const
    {
        weights += row_of(0) * WEIGHT_PITCH;
        others += tx * 4 + part * SHARE;
#pragma unroll 2
        for (int j = 0; j < OTHERS; j += 4) {
            float w[TM][4];
#pragma unroll
            for (int i = 0; i < TM; i++) {
                const float4 four = *(const float4 *)(weights + i * 4 * WEIGHT_PITCH + j);
                w[i][0] = four.x;
                w[i][1] = four.y;
                w[i][2] = four.z;
                w[i][3] = four.w;
#pragma unroll
                for (int h = 0; h < (MARKED ? 4 : 0); h++)
                    w[i][h] = (int)__float_as_uint(w[i][h]) < 0 ? 0.0f : w[i][h];
            }
#pragma unroll
            for (int h = 0; h < 4; h++)
#pragma unroll
                for (int e = 0; e < PARTS; e++) {
                    const float4 b = *(const float4 *)(others + (j + h) * PITCH + e * 32);
#pragma unroll
                    for (int i = 0; i < TM; i++) {
                        y[i][4 * e] = __fmaf_rn(w[i][h], b.x, y[i][4 * e]);
                        y[i][4 * e + 1] = __fmaf_rn(w[i][h], b.y, y[i][4 * e + 1]);
                        y[i][4 * e + 2] = __fmaf_rn(w[i][h], b.z, y[i][4 * e + 2]);
                        y[i][4 * e + 3] = __fmaf_rn(w[i][h], b.w, y[i][4 * e + 3]);
                    }
                }
        }
    }
    /* Products to where add() finds them, and back. */
    __device__ __forceinline__ void put(float *weights, const products &s) const
    {
        float *const mine = place(weights);
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
            for (int k = 0; k < OWNED; k++)
                mine[i * 4 * WEIGHT_PITCH + 8 * k] = s[i][k];
    }
    __device__ __forceinline__ void take(products &s, float *weights) const
    {
        const float *const mine = place(weights);
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
            for (int k = 0; k < OWNED; k++)
                s[i][k] = mine[i * 4 * WEIGHT_PITCH + 8 * k];
    }
    /* f(x, row, other) for products, where it is rare: in a loop that needs no registers of theirs. */
    template <class F>
    __device__ __forceinline__ void edit(products &s, float *weights, const F &f) const
    {
        float *const mine = place(weights);
        put(weights, s);
#pragma unroll 1
        for (int i = 0; i < TM; i++)
#pragma unroll 1
            for (int k = 0; k < OWNED; k++)
                f(mine[i * 4 * WEIGHT_PITCH + 8 * k], row_of(i), other_of(k));
        take(s, weights);
    }
    /* A row of a result, multiplied. */
    __device__ __forceinline__ void write(float *to, int64_t step, int64_t columns,
                                          const float (&y)[SUMS], float by) const
    {
        const bool whole = block::is_whole(to, step);
#pragma unroll
        for (int e = 0; e < PARTS; e++)
            block::write_four(to, step, part * SHARE + e * 32 + tx * 4, columns, whole, y + 4 * e,
                              by);
    }
};

#endif
