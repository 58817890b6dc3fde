/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The few words of long rows that come up to a bound, in one reading: those among which the first k are. The bound
 * is a word of the row, from a sample; that the words are neither fewer than k nor more than there is room
 * for is likely, not certain, so that the counts say of which rows it is true. Words are all different: equal
 * elements do not make them more. */
#ifndef NDOCK_CUDA_SORT_TOPK_LONG_CUH
#define NDOCK_CUDA_SORT_TOPK_LONG_CUH
#include "sort/topk_keys.cuh"

enum { BOUNDED_EACH = SORT_TOPK_EACH, BOUNDED_TILE = BOUNDED_EACH * SORT_THREADS };

struct bounded_row {
    uint64_t bound;
    uint32_t *count;
    uint64_t *words;
    uint32_t room;
};

/* Each thread's words that `chosen` has a bit for are put behind those that the row has; a warp takes the places of
 * all of its words at once. */
static __device__ __forceinline__ void bounded_keep(const bounded_row &row, uint32_t chosen,
                                                    const uint64_t (&word)[BOUNDED_EACH])
{
    if (__ballot_sync(0xffffffffu, chosen != 0) == 0)
        return;
    const uint32_t lane = threadIdx.x % 32, mine = __popc(chosen);
    uint32_t upto = mine, at = 0;
    for (uint32_t h = 1; h < 32; h *= 2) {
        const uint32_t other = __shfl_up_sync(0xffffffffu, upto, h);
        upto += lane >= h ? other : 0;
    }
    if (lane == 31)
        at = atomicAdd(row.count, upto);
    at = __shfl_sync(0xffffffffu, at, 31) + upto - mine;
#pragma unroll
    for (int j = 0; j < BOUNDED_EACH; j++)
        if (chosen >> j & 1) {
            if (at < row.room)
                row.words[at] = word[j];
            at++;
        }
}

/* A whole tile of a row that lies in whole vectors of 16 bytes. */
template <class U>
static __device__ __forceinline__ void bounded_dense(const bounded_row &row,
                                                     const topk_keys<U> &keys, const U *from,
                                                     uint32_t tile)
{
    enum { V = 16 / sizeof(U) };
    typedef cuda_vector<U, V> vector;
    vector v[BOUNDED_EACH / V];
    uint64_t word[BOUNDED_EACH];
    uint32_t chosen = 0;
#pragma unroll
    for (int u = 0; u < BOUNDED_EACH / V; u++)
        v[u] = ((const vector *)(from + tile))[u * SORT_THREADS + threadIdx.x];
#pragma unroll
    for (int j = 0; j < BOUNDED_EACH; j++) {
        word[j] = topk_word(keys.of(v[j / V].at[j % V]),
                            tile + (j / V * SORT_THREADS + threadIdx.x) * V + j % V);
        chosen |= (uint32_t)(word[j] <= row.bound) << j;
    }
    bounded_keep(row, chosen, word);
}

/* A tile of any row, up to its element `end`. */
template <class U>
static __device__ __forceinline__ void bounded_strided(const sort_params &p, const bounded_row &row,
                                                       const topk_keys<U> &keys, const U *from,
                                                       uint64_t tile, uint64_t end)
{
    uint64_t word[BOUNDED_EACH];
    uint32_t chosen = 0;
#pragma unroll
    for (int j = 0; j < BOUNDED_EACH; j++) {
        const uint64_t i = tile + j * SORT_THREADS + threadIdx.x;
        word[j] =
            i < end ? topk_word(keys.of(from[(int64_t)i * p.stride]), (uint32_t)i) : UINT64_MAX;
        chosen |= (uint32_t)(i < end && word[j] <= row.bound) << j;
    }
    bounded_keep(row, chosen, word);
}

/* The blocks of a row, p.chunks, take its tiles by turns. */
template <class U> static __device__ __forceinline__ void bounded_words(const sort_params &p)
{
    const uint64_t number = blockIdx.x / p.chunks, part = blockIdx.x - number * p.chunks;
    const row_place r = place_of(p, number);
    const U *from = (const U *)p.a + r.a;
    const topk_keys<U> keys(p);
    const bounded_row row = {((const uint64_t *)p.bound)[number * p.bound_step],
                             (uint32_t *)p.bounded + number, (uint64_t *)p.near + number * p.room,
                             p.room};
    const bool dense = p.stride == 1 && (uint64_t)from % 16 == 0;
    for (uint64_t tile = part * BOUNDED_TILE; tile < p.n; tile += (uint64_t)p.chunks * BOUNDED_TILE)
        if (dense && tile + BOUNDED_TILE <= p.n)
            bounded_dense<U>(row, keys, from, (uint32_t)tile);
        else
            bounded_strided<U>(p, row, keys, from, tile, p.n);
}

#define SORT_TOPK_BOUNDED(nbytes, U)                                      \
    extern "C" __global__ void __launch_bounds__(SORT_THREADS)            \
        sort_topk_bounded_##nbytes(const __grid_constant__ sort_params p) \
    {                                                                     \
        bounded_words<U>(p);                                              \
    }
SORT_TOPK_BOUNDED(1, uint8_t)
SORT_TOPK_BOUNDED(2, uint16_t)
SORT_TOPK_BOUNDED(4, uint32_t)

#endif
