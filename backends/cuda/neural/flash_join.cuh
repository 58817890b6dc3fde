/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Joins the parts of attention's results that blocks and warps left behind. A block has a row: FLASH_JOIN_GROUPS
 * groups of threads, which have a column each, take a share of the parts in their order. */
#ifndef NDOCK_CUDA_FLASH_JOIN_CUH
#define NDOCK_CUDA_FLASH_JOIN_CUH
#include "neural/flash.cuh"

enum { FLASH_JOIN_COLUMNS = FLASH_JOIN_THREADS / FLASH_JOIN_GROUPS };

/* The sum, or the largest, of a number of each thread of the block, the same in all of them. */
template <class F>
MMA_FN float flash_join_all(float (&shared)[FLASH_JOIN_THREADS], float x, const F &f)
{
#pragma unroll
    for (int k = 16; k > 0; k /= 2)
        x = f(x, __shfl_xor_sync(0xffffffffu, x, k));
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        shared[threadIdx.x / 32] = x;
    __syncthreads();
    x = shared[0];
    for (int k = 1; k < FLASH_JOIN_THREADS / 32; k++)
        x = f(x, shared[k]);
    return x;
}

/* What the group's share of the parts has of a column. */
MMA_FN float flash_join_column(const attention_params &p, const float *lse, const float *part,
                               int64_t all, float shift, float (&weight)[FLASH_JOIN_THREADS])
{
    const int thread = (int)threadIdx.x, group = thread / FLASH_JOIN_COLUMNS;
    float y = 0;
    for (int first = 0; first < p.parts; first += FLASH_JOIN_THREADS) {
        const int count =
                      p.parts - first < FLASH_JOIN_THREADS ? p.parts - first : FLASH_JOIN_THREADS,
                  share = (count + FLASH_JOIN_GROUPS - 1) / FLASH_JOIN_GROUPS,
                  end = (group + 1) * share < count ? (group + 1) * share : count;
        __syncthreads();
        if (thread < count)
            weight[thread] = expf(lse[(first + thread) * all] - shift);
        __syncthreads();
#pragma unroll 8
        for (int k = group * share; k < (part ? end : 0); k++)
            y = __fmaf_rn(weight[k], part[(first + k) * all * p.e], y);
    }
    return y;
}

template <class T> MMA_FN void flash_join(const attention_params &p)
{
    __shared__ float weight[FLASH_JOIN_THREADS];
    const int thread = (int)threadIdx.x, group = thread / FLASH_JOIN_COLUMNS;
    const int64_t all = p.batch * p.heads * p.m, row = blockIdx.x, i = row % p.m,
                  h = row / p.m % p.heads, b = row / p.m / p.heads;
    const int64_t *o = p.out[0].stride, *l = p.out[1].stride;
    const float *lse = (const float *)p.part_lse + row, *part = (const float *)p.part + row * p.e;
    float top = FLASH_NOTHING, sum = 0;
    for (int k = thread; k < p.parts; k += FLASH_JOIN_THREADS)
        top = fmaxf(top, lse[k * all]);
    top = flash_join_all(weight, top, [](float x, float y) { return fmaxf(x, y); });
    const float shift = top > FLASH_NOTHING ? top : 0.0f;
    for (int k = thread; k < p.parts; k += FLASH_JOIN_THREADS)
        sum += expf(lse[k * all] - shift);
    sum = flash_join_all(weight, sum, [](float x, float y) { return x + y; });
    T *to = (T *)p.out[0].at + b * o[0] + h * o[1] + i * o[2];
    const float by = sum == 0 ? 0.0f : 1.0f / sum;
    for (int64_t first = 0; first < p.e; first += FLASH_JOIN_COLUMNS) {
        const int64_t column = first + thread % FLASH_JOIN_COLUMNS;
        float y =
            flash_join_column(p, lse, column < p.e ? part + column : nullptr, all, shift, weight);
        __syncthreads();
        weight[thread] = y;
        __syncthreads();
        for (int k = 1; k < FLASH_JOIN_GROUPS; k++)
            y += weight[thread % FLASH_JOIN_COLUMNS + k * FLASH_JOIN_COLUMNS];
        if (group == 0 && column < p.e)
            neural_narrow(to + column * o[3], y * by);
    }
    if (thread == 0)
        ((float *)p.out[1].at)[b * l[0] + h * l[1] + i * l[2]] =
            sum == 0 ? FLASH_NOTHING : top + logf(sum);
}

#endif
