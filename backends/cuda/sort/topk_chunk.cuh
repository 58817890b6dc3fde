/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The first k of a chunk of a row that is not long, without sorting the rest: a digit at a time, counts tell which
 * words can be among them, until few enough are left for a network. Words are keys with positions
 * below them, so that all are different. */
#ifndef NDOCK_CUDA_SORT_TOPK_CHUNK_CUH
#define NDOCK_CUDA_SORT_TOPK_CHUNK_CUH
#include "sort/words.cuh"

enum {
    CHUNK_EACH = SORT_TOPK_CHUNK / SORT_THREADS,
    CHUNK_LIST = 512, /* words that are sorted */
    CHUNK_DIGITS = 256
};

struct chunk_counts {
    uint32_t digit[CHUNK_DIGITS];
    uint32_t chosen, below, within, wanted;
};

/* One more word with the digit, counted once for all lanes of a warp that have the same. */
static __device__ __forceinline__ void chunk_count(chunk_counts &c, bool counts, uint32_t digit)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
    uint32_t alike = __match_any_sync(0xffffffffu, counts ? digit : CHUNK_DIGITS);
    if (counts && threadIdx.x % 32 == __ffs(alike) - 1)
        atomicAdd(&c.digit[digit], __popc(alike));
#else
    if (counts)
        atomicAdd(&c.digit[digit], 1u);
#endif
}

/* By the first warp: in which digit the last wanted word is, and how many come before those with
 * it. In the first round no more are wanted than there are. */
static __device__ __forceinline__ void chunk_choose(chunk_counts &c, uint32_t k, bool first)
{
    const uint32_t EACH = CHUNK_DIGITS / 32;
    uint32_t lane = threadIdx.x, sum = 0;
    for (uint32_t j = 0; j < EACH; j++)
        sum += c.digit[lane * EACH + j];
    uint32_t before = sum;
    for (uint32_t h = 1; h < 32; h *= 2) {
        uint32_t other = __shfl_up_sync(0xffffffffu, before, h);
        before += lane >= h ? other : 0;
    }
    uint32_t all = __shfl_sync(0xffffffffu, before, 31);
    before -= sum;
    uint32_t below = first ? 0 : c.below, wanted = first ? (k < all ? k : all) : c.wanted;
    uint32_t target = wanted - below; /* 1 at least, unless there is nothing */
    __syncwarp();
    if (lane == 0 && first) {
        c.wanted = wanted;
        c.chosen = c.below = c.within = 0;
    }
    __syncwarp();
    if (before < target && target <= before + sum) {
        int j = 0;
        for (; before + c.digit[lane * EACH + j] < target; j++)
            before += c.digit[lane * EACH + j];
        c.chosen = lane * EACH + j;
        c.below = below + before;
        c.within = c.digit[lane * EACH + j];
    }
}

static __device__ __forceinline__ uint64_t chunk_word(const sort_params &p, const row_place &r,
                                                      uint64_t row, uint64_t i)
{
    if (i >= p.n)
        return UINT64_MAX;
    if (p.words)
        return ((const uint64_t *)p.words)[row * p.n + i];
    return packed::load(p, r.a + (int64_t)i * p.stride, (uint32_t)i);
}

extern "C" __global__ void __launch_bounds__(SORT_THREADS)
    sort_topk_chunk(const __grid_constant__ sort_params p)
{
    __shared__ chunk_counts counts;
    __shared__ uint64_t list[CHUNK_LIST];
    __shared__ uint32_t found;
    uint64_t row = blockIdx.x / p.chunks, chunk = blockIdx.x - row * p.chunks, prefix = 0;
    uint64_t w[CHUNK_EACH];
    row_place r = place_of(p, row);
    int shift = 64;
#pragma unroll
    for (int j = 0; j < CHUNK_EACH; j++)
        w[j] = chunk_word(p, r, row, chunk * SORT_TOPK_CHUNK + j * SORT_THREADS + threadIdx.x);
    do {
        shift -= 8;
        counts.digit[threadIdx.x] = 0;
        if (threadIdx.x == 0)
            found = 0;
        __syncthreads();
#pragma unroll
        for (int j = 0; j < CHUNK_EACH; j++)
            chunk_count(counts, w[j] != UINT64_MAX && (shift == 56 || w[j] >> 8 >> shift == prefix),
                        (uint32_t)(w[j] >> shift) & (CHUNK_DIGITS - 1));
        __syncthreads();
        if (threadIdx.x < 32)
            chunk_choose(counts, (uint32_t)p.k, shift == 56);
        __syncthreads();
        prefix = prefix << 8 | counts.chosen;
    } while (counts.below + counts.within > CHUNK_LIST);
#pragma unroll
    for (int j = 0; j < CHUNK_EACH; j++)
        if (w[j] != UINT64_MAX && w[j] >> shift <= prefix && counts.within > 0)
            list[atomicAdd(&found, 1u)] = w[j];
    __syncthreads();
    uint32_t n = found, padded = 2;
    while (padded < n)
        padded *= 2;
    for (uint32_t i = n + threadIdx.x; i < padded; i += SORT_THREADS)
        list[i] = UINT64_MAX;
    __syncthreads();
    network<packed>(list, padded, padded);
    for (uint32_t i = threadIdx.x; i < p.k; i += SORT_THREADS) {
        uint64_t word = i < n ? list[i] : UINT64_MAX;
        if (p.found)
            ((uint64_t *)p.found)[blockIdx.x * p.k + i] = word;
        else
            write_result(p, r, i, (uint32_t)word);
    }
}

#endif
