/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A block of threads of attention of f32 by products of warpgroups (tripled_wide.cuh): which queries it has, and its shared
 * memory: places of pieces of keys and values with two gates each, its queries, and whether it has met a number that can
 * not be split. */
#ifndef NDOCK_CUDA_TRIPLED_WIDE_BLOCK_CUH
#define NDOCK_CUDA_TRIPLED_WIDE_BLOCK_CUH
#include "neural/tiled_block.cuh"
#include "neural/tripled.cuh"
#include "neural/tripled_wide.h"
#include "neural/wide_tile.cuh"

enum { TRIPLED_WIDE_DEEP = 32 }; /* columns or values that are summed at a time */

template <int D, int KEYS> struct tripled_wide_block : tiled_block<D, TRIPLED_WIDE_ROWS / 16> {
    typedef tiled_block<D, TRIPLED_WIDE_ROWS / 16> base;
    using base::p;
    using base::PITCH;
    enum {
        STAGES = TRIPLED_WIDE_STAGES(D),
        GROUPS = TRIPLED_WIDE_ROWS / 64, /* that multiply */
        KEY_COLUMNS = 2048 / KEYS,       /* of a piece of keys */
        KEY_PIECES = D / KEY_COLUMNS,
        VALUE_COLUMNS = 64,
        VALUE_CHUNKS = D / VALUE_COLUMNS,
        PIECES = KEY_PIECES + KEYS / TRIPLED_WIDE_DEEP * VALUE_CHUNKS /* of a step */
    };
    int b, h, kh, first, steps;
    int group, warp, lane;     /* of the block, of the group, of the warp */
    int stage, phase;          /* of the next piece */
    mma_address places, gates; /* of pieces: full, then free */
    char *memory;              /* as places */
    float *queries;
    int *rough; /* whether numbers have been met that can not be split */

    __device__ __forceinline__ explicit tripled_wide_block(const attention_params &params)
        : base(params)
    {
        MMA_SHARED(room);
        const attention_place place(p, (int)blockIdx.x, (int)(p.batch * p.heads));
        first = (p.row_blocks - 1 - place.at) * TRIPLED_WIDE_ROWS; /* the longest first */
        b = place.head / (int)p.heads;
        h = place.head % (int)p.heads;
        kh = h / ((int)p.heads / (int)p.key_heads);
        const int end = base::seen_by(
            (first + TRIPLED_WIDE_ROWS < p.m ? first + TRIPLED_WIDE_ROWS : (int)p.m) - 1);
        steps = (end + KEYS - 1) / KEYS;
        group = __shfl_sync(0xffffffffu, (int)threadIdx.x / WGMMA_THREADS, 0);
        warp = (int)threadIdx.x / 32 % 4;
        lane = (int)threadIdx.x % 32;
        stage = phase = 0;
        const mma_address begin = mma_address_of(room);
        places = wide_begin(begin);
        memory = (char *)room + (places - begin);
        queries = (float *)(memory + STAGES * 2 * TRIPLED_WIDE_PART);
        rough = (int *)(queries + TRIPLED_WIDE_ROWS * PITCH);
        gates = mma_address_of(rough + 2);
    }
    __device__ __forceinline__ void set_gates() const
    {
        if (threadIdx.x == 0) {
            *rough = 0;
            for (int i = 0; i < STAGES; i++) {
                wgmma_gate_set(full(i), 4);
                wgmma_gate_set(free(i), GROUPS * 4);
            }
        }
        __syncthreads();
    }
    __device__ __forceinline__ mma_address full(int i) const
    {
        return gates + (mma_address)(i * 8);
    }
    __device__ __forceinline__ mma_address free(int i) const { return full(i + STAGES); }
    __device__ __forceinline__ mma_address place(int i) const
    {
        return places + (mma_address)(i * 2 * TRIPLED_WIDE_PART);
    }
    /* To the place of the next piece. */
    __device__ __forceinline__ void go_on()
    {
        stage++;
        if (stage == STAGES) {
            stage = 0;
            phase ^= 1;
        }
    }
    /* By each thread of a warp, for all of it. */
    __device__ __forceinline__ void arrive(mma_address gate) const
    {
        __syncwarp();
        if (lane == 0)
            wgmma_gate_arrive(gate);
    }
    /* Tells the block if one of four numbers can not be split. */
    __device__ __forceinline__ void look(const float4 &x) const
    {
        const float most = fmaxf(fmaxf(fabsf(x.x), fabsf(x.y)), fmaxf(fabsf(x.z), fabsf(x.w)));
        if (most >= TRIPLED_LARGE)
            *(volatile int *)rough = 1;
    }
    /* Four columns of a row, zeros beyond what there is. */
    __device__ __forceinline__ float4 read(const tiled_source &from, int row, int column,
                                           int64_t rows) const
    {
        const float *at = from.at + row * from.row + column * from.column;
        const int there = row < rows ? from.columns - column : 0;
        if (from.whole)
            return there > 0 ? *(const float4 *)at : float4{0, 0, 0, 0};
        return float4{there > 0 ? at[0] : 0, there > 1 ? at[from.column] : 0,
                      there > 2 ? at[2 * from.column] : 0, there > 3 ? at[3 * from.column] : 0};
    }
};

#endif
