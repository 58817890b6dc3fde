/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * How rows of attention (flash_rows.cuh) are written: results, or parts of them, and their logsumexp. What all rows of a
 * thread need is found before any is written, and rows that lie so are written 16 bytes a lane. */
#ifndef NDOCK_CUDA_FLASH_RESULTS_CUH
#define NDOCK_CUDA_FLASH_RESULTS_CUH
#include "neural/flash_rows.cuh"

template <class T, int D, int M, int KEYS> struct flash_results : flash_rows<T, D, M, KEYS> {
    typedef flash_rows<T, D, M, KEYS> rows;
    using rows::c;
    using rows::lane;
    using rows::p;
    using rows::row_of;
    using rows::scaled;
    using rows::sum;
    using rows::top;
    using rows::y;

    __device__ __forceinline__ flash_results(const attention_params &params, int block, int n)
        : rows(params, block, n)
    {
    }
    __device__ __forceinline__ T *row_at(const flash_place &of, int h, int i) const
    {
        return (T *)p.out[0].at + of.b * p.out[0].stride[0] + h * p.out[0].stride[1] +
               i * p.out[0].stride[2];
    }
    __device__ __forceinline__ void write_row(int m, int half, T *to, float by) const
    {
        const int64_t step = p.out[0].stride[3];
#pragma unroll
        for (int e = 0; e < D / 8; e++) {
            const int column = e * 8 + lane % 4 * 2;
#pragma unroll
            for (int k = 0; k < 2; k++)
                if (column + k < p.e)
                    neural_narrow(to + (column + k) * step, y[m][e][2 * half + k] * by);
        }
    }
    /* The same of rows that are written 16 bytes at a time: of each 32 columns the four lanes of a row hand each other what
     * makes eight of one lane, since pieces of 32 bytes that are written in part are the slow ones. All lanes take part. */
    __device__ __forceinline__ void write_whole(int m, int half, T *to, bool inside, float by) const
    {
#pragma unroll
        for (int e = 0; e < D / 8; e += 4) {
            enum { QUAD = 4 };
            uint32_t x[QUAD];
#pragma unroll
            for (int k = 0; k < QUAD; k++)
                x[k] = e + k < D / 8 ? mma_pack<T>(y[m][(e + k) % (D / 8)][2 * half] * by,
                                                   y[m][(e + k) % (D / 8)][2 * half + 1] * by)
                                     : 0;
            turn_words(x);
            const int column = (e + lane % 4) * 8;
            if (inside && column < p.e)
                *(uint4 *)(to + column) = {x[0], x[1], x[2], x[3]};
        }
    }
    /* Word k of lane l, of four, and word l of lane k change places. */
    __device__ __forceinline__ void turn_words(uint32_t (&x)[4]) const
    {
#pragma unroll
        for (int by = 1; by < 4; by *= 2)
#pragma unroll
            for (int k = 0; k < 4; k++)
                if (!(k & by)) {
                    const bool upper = lane & by;
                    const uint32_t theirs =
                        __shfl_xor_sync(0xffffffffu, upper ? x[k] : x[k + by], by);
                    x[k] = upper ? theirs : x[k];
                    x[k + by] = upper ? x[k + by] : theirs;
                }
    }
    __device__ __forceinline__ void write_part(int m, int half, int64_t row, float by) const
    {
        float *to = (float *)p.part + row * p.e;
#pragma unroll
        for (int e = 0; e < D / 8; e++)
#pragma unroll
            for (int k = 0; k < 2; k++) {
                const int column = e * 8 + lane % 4 * 2 + k;
                if (column < p.e)
                    to[column] = y[m][e][2 * half + k] * by;
            }
    }
    __device__ __forceinline__ void write() const
    {
        write(*this);
    }
    /* What all rows need comes first, so that no row waits for another one's. */
    __device__ __forceinline__ void write(const flash_place &of) const
    {
        int heads[M][2], queries[M][2];
        float factor[M][2], lse[M][2];
        find_rows(of, heads, queries);
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int half = 0; half < 2; half++)
                finish_sum(m, half, factor[m][half], lse[m][half]);
        if (p.parts > 1) {
            each_row(of, [&](int m, int half) {
                const int64_t at =
                    (((int64_t)of.part * p.batch + of.b) * p.heads + heads[m][half]) * p.m +
                    queries[m][half];
                write_part(m, half, at, factor[m][half]);
                if (lane % 4 == 0)
                    ((float *)p.part_lse)[at] = lse[m][half];
            });
            return;
        }
        if (p.whole_result) {
#pragma unroll
            for (int m = 0; m < M; m++)
#pragma unroll
                for (int half = 0; half < 2; half++)
                    write_whole(m, half, row_at(of, heads[m][half], queries[m][half]),
                                row_of(of, m, half) < p.rows, factor[m][half]);
        } else
            each_row(of, [&](int m, int half) {
                write_row(m, half, row_at(of, heads[m][half], queries[m][half]), factor[m][half]);
            });
        if (lane % 4 == 0)
            each_row(of, [&](int m, int half) {
                const int64_t *stride = p.out[1].stride;
                ((float *)p.out[1].at)[of.b * stride[0] + heads[m][half] * stride[1] +
                                       queries[m][half] * stride[2]] = lse[m][half];
            });
    }
    /* Heads and queries of rows. */
    __device__ __forceinline__ void find_rows(const flash_place &of, int (&heads)[M][2],
                                              int (&queries)[M][2]) const
    {
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                heads[m][half] = of.h0;
                queries[m][half] = row_of(of, m, half);
            }
        if (p.pack == 1)
            return;
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int row = row_of(of, m, half);
                queries[m][half] = row / p.pack;
                heads[m][half] = of.h0 + (row - queries[m][half] * p.pack);
            }
    }
    /* By what a row is multiplied, and its logsumexp. */
    __device__ __forceinline__ void finish_sum(int m, int half, float &factor, float &lse) const
    {
        const float by = scaled ? 1.0f : c;
        float all = sum[m][half];
        all += __shfl_xor_sync(0xffffffffu, all, 1);
        all += __shfl_xor_sync(0xffffffffu, all, 2);
        factor = all == 0 ? 0.0f : mma_reciprocal(all * (float)p.keep);
        lse =
            all == 0 ? FLASH_NOTHING : (top[m][half] * by + log2f(all)) * (float)(1 / FLASH_LOG2E);
    }
    template <class F>
    __device__ __forceinline__ void each_row(const flash_place &of, const F &f) const
    {
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int half = 0; half < 2; half++)
                if (row_of(of, m, half) < p.rows)
                    f(m, half);
    }
};

#endif
