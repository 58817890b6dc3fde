/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The warpgroups that read keys and values for attention of f32 by products of warpgroups (tripled_wide.cuh), and write
 * both parts of their numbers to shared memory. Of either kind of piece a warp reads whole sectors of 32 bytes, and writes
 * to all banks at once. */
#ifndef NDOCK_CUDA_TRIPLED_WIDE_FEED_CUH
#define NDOCK_CUDA_TRIPLED_WIDE_FEED_CUH
#include "neural/tripled_wide_block.cuh"

template <int D, int KEYS> struct tripled_wide_feed : tripled_wide_block<D, KEYS> {
    typedef tripled_wide_block<D, KEYS> base;
    using base::arrive;
    using base::b;
    using base::full;
    using base::KEY_COLUMNS;
    using base::KEY_PIECES;
    using base::kh;
    using base::lane;
    using base::p;
    using base::PIECES;
    using base::stage;
    using base::STAGES;
    using base::steps;
    using base::VALUE_CHUNKS;
    using base::VALUE_COLUMNS;
    using base::warp;
    typedef float4 piece[4]; /* a thread's part: four columns of four keys, or 16 of one value */

    /* Piece i of a step: a thread's first key, or its value, of the step; and its first column. */
    __device__ __forceinline__ int row_of(int i) const
    {
        const int t = warp * 32 + lane;
        return i < KEY_PIECES ? t / (KEY_COLUMNS / 4)
                              : (i - KEY_PIECES) / VALUE_CHUNKS * TRIPLED_WIDE_DEEP +
                                    warp % 2 * 16 + lane % 16;
    }
    __device__ __forceinline__ int column_of(int i) const
    {
        const int t = warp * 32 + lane;
        return i < KEY_PIECES ? i * KEY_COLUMNS + t % (KEY_COLUMNS / 4) * 4
                              : (i - KEY_PIECES) % VALUE_CHUNKS * VALUE_COLUMNS + warp / 2 * 32 +
                                    lane / 16 * 4;
    }
    __device__ __forceinline__ void read_piece(piece &x, int step, int i) const
    {
        const bool keys = i < KEY_PIECES;
        const tiled_source from =
            keys ? base::source(p.k, b, kh, p.d) : base::source(p.v, b, kh, p.e);
        const int row = step * KEYS + row_of(i), column = column_of(i);
#pragma unroll
        for (int k = 0; k < 4; k++)
            x[k] = base::read(from, row + (keys ? k * (512 / KEY_COLUMNS) : 0),
                              column + (keys ? 0 : 8 * k), p.n);
    }
    __device__ __forceinline__ void write_keys(const piece &x, char *to) const
    {
        const int row = row_of(0), chunk = column_of(0) / 4;
        const mma_address at =
            mma_address_of(to + chunk / 8 * (KEYS * WGMMA_ROW) + wgmma_chunk(row, chunk % 8));
#pragma unroll
        for (int k = 0; k < 4; k++) {
            tripled_piece parts;
            parts.split(0, x[k].x);
            parts.split(1, x[k].y);
            parts.split(2, x[k].z);
            parts.split(3, x[k].w);
            const mma_address there = at + (mma_address)(k * (512 / KEY_COLUMNS) * WGMMA_ROW);
            mma_store(there, parts.high);
            mma_store(there + TRIPLED_WIDE_PART, parts.low);
        }
    }
    __device__ __forceinline__ void write_values(const piece &x, char *to) const
    {
        const int other = warp % 2 * 16 + lane % 16,
                  at = other / 8 * 8 + other % 2 * 4 + other % 8 / 2;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const float four[4] = {x[k].x, x[k].y, x[k].z, x[k].w};
            const int column = warp / 2 * 32 + lane / 16 * 4 + 8 * k;
#pragma unroll
            for (int u = 0; u < 4; u++) {
                char *const there = to + wgmma_chunk(column + u, at / 4) + at % 4 * 4;
                uint32_t high, low;
                mma_split_tf32(four[u], &high, &low);
                *(uint32_t *)there = high;
                *(uint32_t *)(there + TRIPLED_WIDE_PART) = low;
            }
        }
    }
    /* again: the place had another piece before, which has to be done with. */
    __device__ __forceinline__ void write_piece(const piece &x, int i, bool again) const
    {
        char *const to = base::memory + stage * 2 * TRIPLED_WIDE_PART;
        if (again)
            wgmma_gate_wait(base::free(stage), base::phase ^ 1);
#pragma unroll
        for (int k = 0; k < 4; k++)
            base::look(x[k]);
        if (i < KEY_PIECES)
            write_keys(x, to);
        else
            write_values(x, to);
        wgmma_publish();
        arrive(full(stage));
    }
    /* Warpgroups take pieces in turns: one that publishes a piece waits for what it reads itself as well, so that a piece
     * would not be underway meanwhile. */
    __device__ __forceinline__ void feed()
    {
        const int mine = base::group - base::GROUPS;
#pragma unroll 1
        for (int step = 0; step < steps; step++) {
#pragma unroll
            for (int i = 0; i < PIECES; i++) {
                if (i % TRIPLED_WIDE_FEEDS == mine) {
                    piece x;
                    read_piece(x, step, i);
                    write_piece(x, i, step * PIECES + i >= STAGES);
                }
                base::go_on();
            }
        }
    }

    __device__ __forceinline__ explicit tripled_wide_feed(const attention_params &params)
        : base(params)
    {
    }
};

#endif
