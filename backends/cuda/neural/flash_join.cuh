/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Joins the parts of attention's results that blocks and warps left behind, in their order. */
#ifndef NDOCK_CUDA_FLASH_JOIN_CUH
#define NDOCK_CUDA_FLASH_JOIN_CUH
#include "neural/flash.cuh"

/* A warp has a row. */
template <class T> MMA_FN void flash_join(const attention_params &p)
{
    const int lane = (int)threadIdx.x % 32;
    const int64_t all = p.batch * p.heads * p.m,
                  row = (int64_t)blockIdx.x * FLASH_WARPS + threadIdx.x / 32;
    if (row >= all)
        return;
    const int64_t i = row % p.m, h = row / p.m % p.heads, b = row / p.m / p.heads;
    const float *lse = (const float *)p.part_lse + row, *part = (const float *)p.part + row * p.e;
    float top = FLASH_NOTHING, sum = 0;
    for (int64_t k = 0; k < p.parts; k++)
        top = fmaxf(top, lse[k * all]);
    const float shift = top > FLASH_NOTHING ? top : 0.0f;
    for (int64_t k = 0; k < p.parts; k++)
        sum += expf(lse[k * all] - shift);
    T *to =
        (T *)p.out[0].at + b * p.out[0].stride[0] + h * p.out[0].stride[1] + i * p.out[0].stride[2];
    const float by = sum == 0 ? 0.0f : 1.0f / sum;
    for (int64_t column = lane; column < p.e; column += 32) {
        float y = 0;
        for (int64_t k = 0; k < p.parts; k++)
            y = __fmaf_rn(expf(lse[k * all] - shift), part[k * all * p.e + column], y);
        neural_narrow(to + column * p.out[0].stride[3], y * by);
    }
    if (lane == 0)
        ((float *)p.out[1]
             .at)[b * p.out[1].stride[0] + h * p.out[1].stride[1] + i * p.out[1].stride[2]] =
            sum == 0 ? FLASH_NOTHING : top + logf(sum);
}

#endif
