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
#include "neural/attention_place.cuh"
#include "neural/mma.cuh"
#include "neural/neural.cuh"

#define TILED_NOTHING __int_as_float((int)0xff800000u)

/* Rows of an operand in global memory. */
struct tiled_source {
    const float *at;
    int64_t row, column; /* strides */
    int columns;         /* those beyond are zeros */
    int32_t whole;       /* 16 bytes can be copied as they are */
};

template <int D, int TM, int TN, int WARPS, int SPLIT = 1> struct tiled {
    enum {
        THREADS = 32 * WARPS,
        ROWS = 4 * TM * (WARPS / SPLIT),
        OTHERS = 8 * TN,
        PITCH = D + 4,
        WEIGHT_PITCH = OTHERS + 8, /* the 32 lanes of a warp that write have different banks */
        SHARE = D / SPLIT,         /* columns of a warp */
        OWNED = TN / SPLIT,        /* of the others of a thread, those whose sums it has */
        PARTS = SHARE / 32         /* pieces of four columns of a result that a thread has */
    };
    typedef float products[TM][OWNED];
    typedef float sums[TM][4 * PARTS];
    const attention_params &p;
    int warp, part, lane, ty,
        tx; /* of warps that have the same rows, which they are, and which of them this is */

    __device__ __forceinline__ explicit tiled(const attention_params &params) : p(params)
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

    /* N rows from `first` on, zeros from `end` on. */
    template <int N>
    __device__ __forceinline__ void fetch(float *to, const tiled_source &from, int first,
                                          int end) const
    {
        enum { CHUNKS = D / 4 };
        if (from.whole) {
#pragma unroll 4
            for (int i = (int)threadIdx.x; i < N * CHUNKS; i += THREADS) {
                const int row = i / CHUNKS, c = i % CHUNKS * 4;
                const bool inside = first + row < end && c < from.columns;
                mma_fetch(mma_address_of(to + row * PITCH + c),
                          inside ? from.at + (first + row) * from.row + c : from.at, inside);
            }
            return;
        }
#pragma unroll 1
        for (int i = (int)threadIdx.x; i < N * D; i += THREADS) {
            const int row = i / D, c = i % D;
            const bool inside = first + row < end && c < from.columns;
            to[row * PITCH + c] =
                inside ? from.at[(first + row) * from.row + c * from.column] : 0.0f;
        }
    }

    /* Waits for the warps that have the same rows, and what they wrote. */
    __device__ __forceinline__ void meet() const
    {
        if constexpr (SPLIT == 1)
            __syncwarp();
        else
            mma_meet<32 * SPLIT>(1 + warp);
    }
    /* Sums of the warp's columns: those that the thread has, then those of its other others. */
    __device__ __forceinline__ void multiply(float (&s)[TM][TN], const float *rows,
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
    /* s = the warp's rows, the lane's first of which is at `rows`, times those others that the thread has, where
     * put() would leave the products; `others`: the lane's first if it had all. */
    __device__ __forceinline__ void multiply_shared(products &s, const float *rows,
                                                    const float *others, float *mine) const
    {
        static_assert(SPLIT <= 2 && TN % SPLIT == 0, "one other warp");
        if constexpr (SPLIT == 1) {
            multiply(s, rows, others);
        } else {
            float all[TM][TN];
            multiply(all, rows, others);
            float *const theirs = mine + (part ? -8 : 8) * OWNED;
#pragma unroll
            for (int i = 0; i < TM; i++)
#pragma unroll
                for (int k = 0; k < OWNED; k++)
                    theirs[i * 4 * WEIGHT_PITCH + 8 * k] = all[i][OWNED + k];
            meet();
            take(s, mine);
#pragma unroll
            for (int i = 0; i < TM; i++)
#pragma unroll
                for (int k = 0; k < OWNED; k++)
                    s[i][k] += all[i][k];
        }
    }
    /* y += weights of the warp's rows times rows of others. MARKED: those below 0 count as 0. */
    template <bool MARKED>
    __device__ __forceinline__ void add(sums &y, const float *weights, const float *others) const
    {
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
    /* Products to where add() finds them, and back; `mine` is the thread's first. */
    __device__ __forceinline__ void put(float *mine, const products &s) const
    {
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
            for (int k = 0; k < OWNED; k++)
                mine[i * 4 * WEIGHT_PITCH + 8 * k] = s[i][k];
    }
    __device__ __forceinline__ void take(products &s, const float *mine) const
    {
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
            for (int k = 0; k < OWNED; k++)
                s[i][k] = mine[i * 4 * WEIGHT_PITCH + 8 * k];
    }
    /* f(x, row, other) for those that put() left, where it is rare: in a loop that needs no registers of theirs. */
    template <class F> __device__ __forceinline__ void each(float *mine, const F &f) const
    {
#pragma unroll 1
        for (int i = 0; i < TM; i++)
#pragma unroll 1
            for (int k = 0; k < OWNED; k++)
                f(mine[i * 4 * WEIGHT_PITCH + 8 * k], row_of(i), other_of(k));
    }
    /* Scores from products; masked(score, row, other) says what a mask does to one. */
    template <class F>
    __device__ __forceinline__ void scale(products &s, float *mine, const F &masked) const
    {
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
            for (int k = 0; k < OWNED; k++)
                s[i][k] *= (float)p.scale;
        if (p.mask_kind) {
            put(mine, s);
            each(mine, masked);
            take(s, mine);
        }
    }
    __device__ __forceinline__ static void clear(sums &y)
    {
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
            for (int e = 0; e < 4 * PARTS; e++)
                y[i][e] = 0;
    }
    /* A row of a result, multiplied. */
    __device__ __forceinline__ void write(float *to, int64_t step, int64_t columns,
                                          const float (&y)[4 * PARTS], float by) const
    {
        const bool whole = step == 1 && (uint64_t)to % 16 == 0;
#pragma unroll
        for (int e = 0; e < PARTS; e++) {
            const int column = part * SHARE + e * 32 + tx * 4;
            if (whole && column + 4 <= columns) {
                *(float4 *)(to + column) =
                    float4{y[4 * e] * by, y[4 * e + 1] * by, y[4 * e + 2] * by, y[4 * e + 3] * by};
                continue;
            }
#pragma unroll
            for (int k = 0; k < 4; k++)
                if (column + k < columns)
                    to[(column + k) * step] = y[4 * e + k] * by;
        }
    }

    /* ---- what attention and its gradients share ---- */
    __device__ __forceinline__ tiled_source source(const attention_view &v, int b, int h,
                                                   int64_t columns) const
    {
        return {(const float *)v.at + b * v.stride[0] + h * v.stride[1], v.stride[2], v.stride[3],
                (int)columns, p.whole};
    }
    /* Keys that a query sees. */
    __device__ __forceinline__ int seen_by(int i) const
    {
        const int64_t seen = p.causal && i + 1 + p.diagonal < p.n ? i + 1 + p.diagonal : p.n;
        return seen > 0 ? (int)seen : 0;
    }
    /* A score with what the mask says of query i and key j, if there are such. */
    __device__ __forceinline__ void mask(float &score, int b, int h, int i, int j) const
    {
        if (i >= p.m || j >= p.n)
            return;
        const int64_t *stride = p.mask.stride;
        const int64_t at = b * stride[0] + h * stride[1] + i * stride[2] + j * stride[3];
        if (p.mask_kind == ATTENTION_BOOL)
            score = ((const uint8_t *)p.mask.at)[at] ? score : TILED_NOTHING;
        else
            score += ((const float *)p.mask.at)[at];
    }
};

#endif
