/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * How gradients of attention by products of warpgroups (flash_wide_grad.cuh) end: gradients of queries
 * from the sums of blocks' parts. */
#ifndef NDOCK_CUDA_FLASH_WIDE_FINISH_CUH
#define NDOCK_CUDA_FLASH_WIDE_FINISH_CUH
#include "neural/flash_weight.cuh"
#include "neural/wide_tile.cuh"

/* Eight columns of a row: of a lane's four numbers, two of row `half`. */
template <class T>
MMA_FN void flash_wide_put(const attention_params &p, T *row, int column, int half,
                           const float4 (&x)[4])
{
    const int64_t step = p.out[0].stride[3];
    const float by = (float)p.scale;
    float y[8];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        y[2 * k] = (half ? x[k].z : x[k].x) * by;
        y[2 * k + 1] = (half ? x[k].w : x[k].y) * by;
    }
    if (step == 1 && (uint64_t)(row + column) % 16 == 0 && column + 8 <= p.d) {
        *(uint4 *)(row + column) = {mma_pack<T>(y[0], y[1]), mma_pack<T>(y[2], y[3]),
                                    mma_pack<T>(y[4], y[5]), mma_pack<T>(y[6], y[7])};
        return;
    }
#pragma unroll
    for (int k = 0; k < 8; k++)
        if (column + k < p.d)
            neural_narrow(row + (column + k) * step, y[k]);
}
/* Gradients of queries of a tile, from sums: as f32 of registers of warpgroups, eight rows beside
 * each other, to rows. What no key sees was never summed. */
template <class T> MMA_FN void flash_wide_finish(const attention_params &p)
{
    const int64_t tile = blockIdx.x, i = tile % p.tiles, h = tile / p.tiles % p.heads,
                  b = tile / p.tiles / p.heads;
    const bool any = ((const uint32_t *)p.turns)[tile] > 0;
    const int units = p.tile_columns / 8, pairs = p.tile_rows / 2;
    const float4 *from = (const float4 *)p.sums + tile * p.tile_rows * p.tile_columns / 4;
    for (int at = (int)threadIdx.x; at < units * pairs; at += FLASH_THREADS) {
        const int unit = at % units, pair = at / units, lane = pair % 8, warp = pair / 8 % 4,
                  half = pair / 32;
        float4 x[4];
#pragma unroll
        for (int k = 0; k < 4; k++)
            x[k] = any ? from[(half * units + unit) * WGMMA_THREADS + warp * 32 + lane * 4 + k]
                       : float4{0, 0, 0, 0};
        const int64_t row = i * p.tile_rows + half * 64 + warp * 16 + lane;
#pragma unroll
        for (int k = 0; k < 2; k++)
            if (row + 8 * k < p.m)
                flash_wide_put(p,
                               (T *)p.out[0].at + b * p.out[0].stride[0] + h * p.out[0].stride[1] +
                                   (row + 8 * k) * p.out[0].stride[2],
                               unit * 8, k, x);
    }
}

#endif
