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

/* Which element the sample of a row has from its i-th part of p.sample elements. */
static __device__ __forceinline__ uint32_t chunk_sample(const sort_params &p, uint32_t i)
{
    return i * p.sample + ((i * 0x9e3779b1u >> 16) * p.sample >> 16);
}

/* Word i of n of a row, behind which there are none. */
static __device__ __forceinline__ uint64_t chunk_word(const sort_params &p, const row_place &r,
                                                      uint64_t row, uint64_t i, uint64_t n)
{
    if (i >= n)
        return UINT64_MAX;
    if (p.words)
        return ((const uint64_t *)p.words)[row * p.n + i];
    const uint32_t at = p.sample ? chunk_sample(p, (uint32_t)i) : (uint32_t)i;
    return packed::load(p, r.a + (int64_t)at * p.stride, at);
}

/* Whether the stage is to find the first of this row. */
static __device__ __forceinline__ bool chunk_is_wanted(const sort_params &p, uint64_t row)
{
    if (p.only == SORT_TOPK_ALL)
        return true;
    const uint32_t count = ((const uint32_t *)p.bounded)[row];
    return (count >= p.k && count <= p.room) == (p.only == SORT_TOPK_NEAR);
}

struct chunk_shared {
    chunk_counts counts;
    uint64_t list[CHUNK_LIST];
    uint32_t found;
};

/* The words among which the chunk's first k are go to the list, in any order: so many are found. */
static __device__ __forceinline__ void chunk_select(chunk_shared &m,
                                                    const uint64_t (&w)[CHUNK_EACH], uint32_t k)
{
    uint64_t prefix = 0;
    int shift = 64;
    do {
        shift -= 8;
        m.counts.digit[threadIdx.x] = 0;
        if (threadIdx.x == 0)
            m.found = 0;
        __syncthreads();
#pragma unroll
        for (int j = 0; j < CHUNK_EACH; j++)
            chunk_count(m.counts,
                        w[j] != UINT64_MAX && (shift == 56 || w[j] >> 8 >> shift == prefix),
                        (uint32_t)(w[j] >> shift) & (CHUNK_DIGITS - 1));
        __syncthreads();
        if (threadIdx.x < 32)
            chunk_choose(m.counts, k, shift == 56);
        __syncthreads();
        prefix = prefix << 8 | m.counts.chosen;
    } while (m.counts.below + m.counts.within > CHUNK_LIST);
#pragma unroll
    for (int j = 0; j < CHUNK_EACH; j++)
        if (w[j] != UINT64_MAX && w[j] >> shift <= prefix && m.counts.within > 0)
            m.list[atomicAdd(&m.found, 1u)] = w[j];
    __syncthreads();
}

/* The first k of a chunk of a row, in order, as words for the next stage or as results. */
static __device__ __forceinline__ void chunk_first(const sort_params &p, chunk_shared &m,
                                                   uint64_t row, uint64_t block)
{
    const uint64_t begin = (block - row * p.chunks) * SORT_TOPK_CHUNK;
    const uint64_t n = p.counted ? ((const uint32_t *)p.bounded)[row] : p.n;
    const row_place r = place_of(p, row);
    uint64_t w[CHUNK_EACH];
#pragma unroll
    for (int j = 0; j < CHUNK_EACH; j++)
        w[j] = chunk_word(p, r, row, begin + j * SORT_THREADS + threadIdx.x, n);
    chunk_select(m, w, (uint32_t)p.k);
    uint32_t found = m.found, padded = 2;
    while (padded < found)
        padded *= 2;
    for (uint32_t i = found + threadIdx.x; i < padded; i += SORT_THREADS)
        m.list[i] = UINT64_MAX;
    __syncthreads();
    network<packed>(m.list, padded, padded);
    for (uint32_t i = threadIdx.x; i < p.k; i += SORT_THREADS) {
        uint64_t word = i < found ? m.list[i] : UINT64_MAX;
        if (p.found)
            ((uint64_t *)p.found)[block * p.k + i] = word;
        else
            write_result(p, r, i, (uint32_t)word);
    }
}

extern "C" __global__ void __launch_bounds__(SORT_THREADS)
    sort_topk_chunk(const __grid_constant__ sort_params p)
{
    __shared__ chunk_shared shared;
    for (uint64_t block = blockIdx.x; block < p.blocks; block += gridDim.x) {
        const uint64_t row = block / p.chunks;
        if (p.zero && threadIdx.x == 0)
            ((uint32_t *)p.zero)[row] = 0;
        if (chunk_is_wanted(p, row))
            chunk_first(p, shared, row, block);
    }
}

#endif
