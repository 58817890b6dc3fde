/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The first few, up to 32, of rows of up to 1024 elements: a warp has a row in its registers. The k-th
 * best of what each lane has best is a bound; only what does not come behind it, hardly more than k
 * words, is sorted. */
#ifndef NDOCK_CUDA_SORT_TOPK_ROWS_CUH
#define NDOCK_CUDA_SORT_TOPK_ROWS_CUH
#include "sort/topk_keys.cuh"

enum { TOPK_ROWS_EACH = SORT_TOPK_SHORT / 32, TOPK_ROWS_WARPS = SORT_TOPK_ROWS_THREADS / 32 };

/* The words of a warp, one a lane, in order. */
static __device__ __forceinline__ uint64_t topk_warp_sorted(uint64_t w, uint32_t lane)
{
#pragma unroll
    for (uint32_t size = 2; size <= 32; size *= 2)
#pragma unroll
        for (uint32_t half = size / 2; half; half /= 2) {
            const uint64_t other = __shfl_xor_sync(0xffffffffu, w, half);
            const bool least = ((lane & half) == 0) == ((lane & size) == 0);
            w = (other < w) == least ? other : w;
        }
    return w;
}

/* A warp sorts the first n words of its list, of which there is room up to a power of two. */
static __device__ __forceinline__ void topk_warp_network(uint64_t *list, uint32_t n, uint32_t lane)
{
    uint32_t padded = 64;
    while (padded < n)
        padded *= 2;
    for (uint32_t i = n + lane; i < padded; i += 32)
        list[i] = UINT64_MAX;
    __syncwarp();
    for (uint32_t size = 2; size <= padded; size *= 2)
        for (uint32_t half = size / 2; half; half /= 2) {
            for (uint32_t t = lane; t < padded / 2; t += 32) {
                const uint32_t i = 2 * t - (t & (half - 1)), j = i + half;
                const uint64_t x = list[i], y = list[j];
                if ((y < x) != ((i & size) != 0)) {
                    list[i] = y;
                    list[j] = x;
                }
            }
            __syncwarp();
        }
}

/* Words of the row up to the bound are put into the list; returns how many. */
static __device__ __forceinline__ uint32_t topk_warp_list(uint64_t *list,
                                                          const uint32_t (&key)[TOPK_ROWS_EACH],
                                                          uint32_t n, uint64_t bound, uint32_t lane)
{
    uint32_t count = 0;
#pragma unroll
    for (int j = 0; j < TOPK_ROWS_EACH; j++) {
        const uint32_t i = (uint32_t)j * 32 + lane;
        const uint64_t word = topk_word(key[j], i);
        const bool has = i < n && word <= bound;
        const uint32_t votes = __ballot_sync(0xffffffffu, has);
        if (has)
            list[count + __popc(votes & ((1u << lane) - 1))] = word;
        count += __popc(votes);
    }
    __syncwarp();
    return count;
}

/* Rows have 32 elements at least, so that every lane has one. */
template <class U> static __device__ __forceinline__ void topk_warp(const sort_params &p)
{
    __shared__ uint64_t lists[TOPK_ROWS_WARPS][SORT_TOPK_SHORT];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, n = (uint32_t)p.n;
    const uint64_t row = (uint64_t)blockIdx.x * TOPK_ROWS_WARPS + warp;
    if (row >= p.rows.size)
        return;
    const row_place r = place_of(p, row);
    const U *from = (const U *)p.a + r.a;
    const topk_keys<U> keys(p);
    uint32_t key[TOPK_ROWS_EACH];
#pragma unroll
    for (int j = 0; j < TOPK_ROWS_EACH; j++) {
        const uint32_t i = (uint32_t)j * 32 + lane;
        key[j] = i < n ? keys.of(from[(int64_t)i * p.stride]) : UINT32_MAX;
    }
    uint64_t best = topk_word(key[0], lane);
#pragma unroll
    for (int j = 1; j < TOPK_ROWS_EACH; j++)
        best = key[j] < (uint32_t)(best >> 32) ? topk_word(key[j], (uint32_t)j * 32 + lane) : best;
    const uint64_t bound = __shfl_sync(0xffffffffu, topk_warp_sorted(best, lane), (int)p.k - 1);
    uint64_t *list = lists[warp];
    const uint32_t count = topk_warp_list(list, key, n, bound, lane);
    uint64_t mine;
    if (count <= 32) {
        mine = topk_warp_sorted(lane < count ? list[lane] : UINT64_MAX, lane);
    } else {
        topk_warp_network(list, count, lane);
        mine = list[lane];
    }
    if (lane < p.k)
        write_result(p, r, lane, (uint32_t)mine);
}

#define SORT_TOPK_ROWS(nbytes, U)                                        \
    extern "C" __global__ void __launch_bounds__(SORT_TOPK_ROWS_THREADS) \
        sort_topk_rows_##nbytes(const __grid_constant__ sort_params p)   \
    {                                                                    \
        topk_warp<U>(p);                                                 \
    }
SORT_TOPK_ROWS(1, uint8_t)
SORT_TOPK_ROWS(2, uint16_t)
SORT_TOPK_ROWS(4, uint32_t)

#endif
