/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What attention of f32 and its gradients need of a block of threads, however its products are made: copies of rows to
 * shared memory, where they lie as they do in global memory with 4 floats between them, and masks. A kind of tile
 * (tiled.cuh, tripled.cuh) says which rows and others a thread has products of, and which columns of a result. */
#ifndef NDOCK_CUDA_TILED_BLOCK_CUH
#define NDOCK_CUDA_TILED_BLOCK_CUH
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

template <int D, int WARPS> struct tiled_block {
    enum { THREADS = 32 * WARPS, PITCH = D + 4 };
    const attention_params &p;

    __device__ __forceinline__ explicit tiled_block(const attention_params &params) : p(params) {}
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
    /* What threads do to each of their products or sums. */
    template <int R, int C> __device__ __forceinline__ static void clear(float (&y)[R][C])
    {
        each(y, [](float &x) { x = 0; });
    }
    template <int R, int C>
    __device__ __forceinline__ static void multiply_by(float (&y)[R][C], float by)
    {
        each(y, [&](float &x) { x *= by; });
    }
    template <int R, int C, class F>
    __device__ __forceinline__ static void each(float (&y)[R][C], const F &f)
    {
#pragma unroll
        for (int i = 0; i < R; i++)
#pragma unroll
            for (int k = 0; k < C; k++)
                f(y[i][k]);
    }
    template <int R, int C>
    __device__ __forceinline__ static void copy(float (&to)[R][C], const float (&from)[R][C])
    {
#pragma unroll
        for (int i = 0; i < R; i++)
#pragma unroll
            for (int k = 0; k < C; k++)
                to[i][k] = from[i][k];
    }
    /* Four columns of a row of a result. */
    __device__ __forceinline__ static void write_four(float *to, int64_t step, int column,
                                                      int64_t columns, bool whole, const float *y,
                                                      float by)
    {
        if (whole && column + 4 <= columns) {
            *(float4 *)(to + column) = float4{y[0] * by, y[1] * by, y[2] * by, y[3] * by};
            return;
        }
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (column + k < columns)
                to[(column + k) * step] = y[k] * by;
    }
    __device__ __forceinline__ static bool is_whole(const float *to, int64_t step)
    {
        return step == 1 && (uint64_t)to % 16 == 0;
    }
};

#endif
