/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The first k of a row, or of each chunk of a long one, in one reading and without sorting the rest. A
 * block keeps a list of the words that can still be among them: those before the last of the first k so
 * far. Only when the list is full do counts of digits tell which can stay. Words are keys with positions below
 * them, so that all are different: what is found does not depend on who comes first. */
#ifndef NDOCK_CUDA_SORT_TOPK_CUH
#define NDOCK_CUDA_SORT_TOPK_CUH
#include "sort/words.cuh"

enum {
    TOPK_LIST = 2 * SORT_TOPK_MOST,
    TOPK_HELD = TOPK_LIST / SORT_TOPK_THREADS, /* words of the list that a thread looks at */
    TOPK_WARPS = SORT_TOPK_THREADS / 32,
    TOPK_BITS = 11, /* of a digit */
    TOPK_DIGITS = 1 << TOPK_BITS
};

struct topk_list {
    uint64_t word[TOPK_LIST], least[TOPK_WARPS], most[TOPK_WARPS];
    uint32_t count[TOPK_DIGITS], warps[TOPK_WARPS];
    uint32_t found; /* more than the list holds where there was no room for all */
    uint32_t chosen, below, within;
};

/* Elements' bits as keys of the wanted order; U: unsigned, of the element's size. */
template <class U> struct topk_keys {
    U infinite, turn;
    uint32_t flip;
    bool floats, truth;
    __device__ __forceinline__ topk_keys(const sort_params &p)
        : infinite((U)(sizeof(U) == 4        ? 0x7f800000u
                       : p.dtype == NDP_BF16 ? 0x7f80u
                                             : 0x7c00u)),
          turn(p.dtype == NDP_I8 || p.dtype == NDP_I16 || p.dtype == NDP_I32
                   ? (U)((U)1 << (8 * sizeof(U) - 1))
                   : (U)0),
          flip((uint32_t)p.flip), floats(is_float(p.dtype)), truth(p.dtype == NDP_BOOL)
    {
    }
    __device__ __forceinline__ uint32_t of(U raw) const
    {
        const U plain = sizeof(U) == 1 && truth ? (U)(raw != 0) : (U)(raw ^ turn);
        return (uint32_t)(sizeof(U) > 1 && floats ? float_key<U>(raw, infinite) : plain) ^ flip;
    }
};

static __device__ __forceinline__ uint64_t topk_word(uint32_t key, uint32_t position)
{
    return (uint64_t)key << 32 | position;
}

/* A tile of a row in whole vectors of 16 bytes. */
template <class U> struct topk_dense {
    enum { EACH = SORT_TOPK_EACH, V = 16 / sizeof(U) };
    uint32_t key[EACH], first;
    __device__ __forceinline__ topk_dense(const topk_keys<U> &keys, const U *row, uint64_t tile)
        : first((uint32_t)tile + threadIdx.x * V)
    {
        typedef cuda_vector<U, V> vector;
        const vector *at = (const vector *)(row + tile) + threadIdx.x;
        vector v[EACH / V];
#pragma unroll
        for (int j = 0; j < EACH / V; j++)
            v[j] = at[j * SORT_TOPK_THREADS];
#pragma unroll
        for (int j = 0; j < EACH; j++)
            key[j] = keys.of(v[j / V].at[j % V]);
    }
    __device__ __forceinline__ uint64_t word(int j) const
    {
        return topk_word(key[j], first + j / V * SORT_TOPK_THREADS * V + j % V);
    }
};

/* The same of a row with any stride, up to its element `end`; behind it there are no words. */
template <class U> struct topk_strided {
    enum { EACH = SORT_TOPK_EACH };
    uint32_t key[EACH];
    uint64_t first, end;
    __device__ __forceinline__ topk_strided(const topk_keys<U> &keys, const U *row, int64_t stride,
                                            uint64_t tile, uint64_t until)
        : first(tile + threadIdx.x), end(until)
    {
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            const uint64_t i = first + j * SORT_TOPK_THREADS;
            key[j] = i < end ? keys.of(row[(int64_t)i * stride]) : 0;
        }
    }
    __device__ __forceinline__ uint64_t word(int j) const
    {
        const uint64_t i = first + j * SORT_TOPK_THREADS;
        return i < end ? topk_word(key[j], (uint32_t)i) : UINT64_MAX;
    }
};

/* Words that other blocks found. */
struct topk_found {
    enum { EACH = SORT_TOPK_WORDS_EACH };
    uint64_t w[EACH];
    __device__ __forceinline__ topk_found(const uint64_t *row, uint64_t tile, uint64_t end)
    {
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            const uint64_t i = tile + j * SORT_TOPK_THREADS + threadIdx.x;
            w[j] = i < end ? row[i] : UINT64_MAX;
        }
    }
    __device__ __forceinline__ uint64_t word(int j) const
    {
        return w[j];
    }
};

/* Between which words those lie that the threads hold: n of them, the others are all ones. */
static __device__ __forceinline__ void topk_span(topk_list &list, const uint64_t (&w)[TOPK_HELD],
                                                 uint64_t *least, uint64_t *most)
{
    uint64_t low = UINT64_MAX, high = 0;
#pragma unroll
    for (int j = 0; j < TOPK_HELD; j++) {
        low = w[j] < low ? w[j] : low;
        high = w[j] != UINT64_MAX && w[j] > high ? w[j] : high;
    }
    for (int h = 16; h; h /= 2) {
        const uint64_t lower = __shfl_xor_sync(0xffffffffu, low, h);
        const uint64_t higher = __shfl_xor_sync(0xffffffffu, high, h);
        low = lower < low ? lower : low;
        high = higher > high ? higher : high;
    }
    if (threadIdx.x % 32 == 0) {
        list.least[threadIdx.x / 32] = low;
        list.most[threadIdx.x / 32] = high;
    }
    __syncthreads();
    for (int i = 0; i < TOPK_WARPS; i++) {
        low = list.least[i] < low ? list.least[i] : low;
        high = list.most[i] > high ? list.most[i] : high;
    }
    *least = low;
    *most = high;
}

/* In which digit the word number `wanted`, from 1 on, of those counted is: chosen; how many are below
 * and within. All counts are zero again. */
static __device__ __forceinline__ void topk_choose(topk_list &list, uint32_t wanted)
{
    enum { EACH = TOPK_DIGITS / SORT_TOPK_THREADS };
    uint32_t mine[EACH], sum = 0, lane = threadIdx.x % 32, before = 0;
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        mine[i] = list.count[threadIdx.x * EACH + i];
        list.count[threadIdx.x * EACH + i] = 0;
        sum += mine[i];
    }
    uint32_t upto = sum;
    for (int h = 1; h < 32; h *= 2) {
        const uint32_t other = __shfl_up_sync(0xffffffffu, upto, h);
        upto += (int)lane >= h ? other : 0;
    }
    if (lane == 31)
        list.warps[threadIdx.x / 32] = upto;
    __syncthreads();
    for (uint32_t w = 0; w < threadIdx.x / 32; w++)
        before += list.warps[w];
    before += upto - sum;
    if (before < wanted && wanted <= before + sum) {
        int i = 0;
        for (; before + mine[i] < wanted; i++)
            before += mine[i];
        list.chosen = threadIdx.x * EACH + i;
        list.below = before;
        list.within = mine[i];
    }
    __syncthreads();
}

/* A word up to which there are k of those that the threads hold, and at most `room`: a digit at a time,
 * the first one where the words begin to differ. They are more than k. */
static __device__ __forceinline__ uint64_t topk_bound(topk_list &list,
                                                      const uint64_t (&w)[TOPK_HELD], uint32_t k,
                                                      uint32_t room)
{
    uint64_t least, most;
    uint32_t below = 0;
    topk_span(list, w, &least, &most);
    for (int bits = 64 - __clzll((long long)(least ^ most));;) {
        const int shift = bits > TOPK_BITS ? bits - TOPK_BITS : 0;
        const uint64_t first = least >> shift;
#pragma unroll
        for (int j = 0; j < TOPK_HELD; j++)
            if (w[j] >= least && w[j] <= most)
                atomicAdd(&list.count[(w[j] >> shift) - first], 1u);
        __syncthreads();
        topk_choose(list, k - below);
        below += list.below;
        least = (first + list.chosen) << shift;
        most = least + (((uint64_t)1 << shift) - 1);
        if (below + list.within <= room || shift == 0)
            return most;
        bits = shift;
    }
}

/* Keeps the list's first k, and of others no more than `room` allows: returns before what other words
 * have to be. The block has met since words were added. */
static __device__ __forceinline__ uint64_t topk_keep(topk_list &list, uint32_t k, uint32_t room)
{
    const uint32_t full = TOPK_LIST, n = list.found < full ? list.found : full;
    uint64_t w[TOPK_HELD];
    if (n <= k)
        return UINT64_MAX;
#pragma unroll
    for (int j = 0; j < TOPK_HELD; j++) {
        const uint32_t i = (uint32_t)j * SORT_TOPK_THREADS + threadIdx.x;
        w[j] = i < n ? list.word[i] : UINT64_MAX;
    }
    const uint64_t bound = topk_bound(list, w, k, room);
    if (threadIdx.x == 0)
        list.found = 0;
    __syncthreads();
#pragma unroll
    for (int j = 0; j < TOPK_HELD; j++)
        if (w[j] != UINT64_MAX && w[j] <= bound)
            list.word[atomicAdd(&list.found, 1u)] = w[j];
    __syncthreads();
    return bound == UINT64_MAX ? bound : bound + 1;
}

/* Adds the words of a tile that come before `last`, and returns what it is then. */
template <class TILE>
static __device__ __forceinline__ uint64_t topk_add(topk_list &list, uint32_t k, uint64_t last,
                                                    const TILE &tile)
{
    uint32_t waiting = 0;
#pragma unroll
    for (int j = 0; j < TILE::EACH; j++)
        waiting |= (uint32_t)(tile.word(j) < last) << j;
    for (;;) {
        if (waiting)
#pragma unroll
            for (int j = 0; j < TILE::EACH; j++)
                if (waiting >> j & 1) {
                    const uint32_t at = atomicAdd(&list.found, 1u);
                    if (at < TOPK_LIST) {
                        list.word[at] = tile.word(j);
                        waiting ^= 1u << j;
                    }
                }
        if (!__syncthreads_or((int)waiting))
            return last;
        last = topk_keep(list, k, k + (TOPK_LIST - k) / 4);
#pragma unroll
        for (int j = 0; j < TILE::EACH; j++)
            waiting &= ~((uint32_t)(tile.word(j) >= last) << j);
    }
}

/* The list's first k to where they are wanted: the next stage in any order, or the results. */
static __device__ __forceinline__ void topk_finish(const sort_params &p, topk_list &list,
                                                   const row_place &r)
{
    topk_keep(list, (uint32_t)p.k, (uint32_t)p.k);
    const uint32_t n = list.found;
    uint32_t padded = 2;
    while (padded < n)
        padded *= 2;
    for (uint32_t i = n + threadIdx.x; i < padded; i += SORT_TOPK_THREADS)
        list.word[i] = UINT64_MAX;
    __syncthreads();
    if (!p.found)
        network<packed>(list.word, padded, padded);
    for (uint32_t i = threadIdx.x; i < p.k; i += SORT_TOPK_THREADS) {
        const uint64_t word = i < n ? list.word[i] : UINT64_MAX;
        if (p.found)
            ((uint64_t *)p.found)[blockIdx.x * p.k + i] = word;
        else
            write_result(p, r, i, (uint32_t)word);
    }
}

/* Tiles are met in the order of their numbers' bits turned about, from all over the chunk: in a row that
 * is sorted either way few are better than all before. Turns are a power of two, some without a tile. */
static __device__ __forceinline__ uint32_t topk_turns(uint32_t tiles)
{
    uint32_t turns = 1;
    while (turns < tiles)
        turns *= 2;
    return turns;
}
static __device__ __forceinline__ uint32_t topk_turn(uint32_t tiles, uint32_t i)
{
    const uint32_t turns = topk_turns(tiles);
    return turns > 1 ? __brev(i) >> (__clz((int)turns) + 1) : 0;
}

/* The block's chunk of its row: add(begin, end, list) adds a tile that begins and ends there. */
template <class F>
static __device__ __forceinline__ void topk_chunk(const sort_params &p, uint32_t tile, F add)
{
    __shared__ topk_list list;
    const uint64_t row = blockIdx.x / p.chunks, chunk = blockIdx.x - row * p.chunks;
    const uint64_t begin = chunk * p.per_chunk;
    const uint64_t end = begin + p.per_chunk < p.n ? begin + p.per_chunk : p.n;
    const row_place r = place_of(p, row);
    if (threadIdx.x == 0)
        list.found = 0;
    for (uint32_t i = threadIdx.x; i < TOPK_DIGITS; i += SORT_TOPK_THREADS)
        list.count[i] = 0;
    __syncthreads();
    uint64_t last = UINT64_MAX;
    const uint32_t tiles = (uint32_t)((end - begin + tile - 1) / tile);
    for (uint32_t i = 0; i < topk_turns(tiles); i++) {
        const uint32_t turn = topk_turn(tiles, i);
        if (turn < tiles)
            last = add(list, r, row, last, begin + (uint64_t)turn * tile, end);
    }
    topk_finish(p, list, r);
}

template <class U> static __device__ __forceinline__ void topk_elements(const sort_params &p)
{
    const topk_keys<U> keys(p);
    const uint32_t k = (uint32_t)p.k;
    topk_chunk(p, SORT_TOPK_EACH * SORT_TOPK_THREADS,
               [&](topk_list &list, const row_place &r, uint64_t, uint64_t last, uint64_t at,
                   uint64_t end) {
                   const U *row = (const U *)p.a + r.a;
                   return p.stride == 1 && (uint64_t)row % 16 == 0 &&
                                  at + SORT_TOPK_EACH * SORT_TOPK_THREADS <= end
                              ? topk_add(list, k, last, topk_dense<U>(keys, row, at))
                              : topk_add(list, k, last,
                                         topk_strided<U>(keys, row, p.stride, at, end));
               });
}

#define SORT_TOPK(nbytes, U)                                                          \
    extern "C" __global__ void __launch_bounds__(SORT_TOPK_THREADS, SORT_TOPK_BLOCKS) \
        sort_topk_##nbytes(const __grid_constant__ sort_params p)                     \
    {                                                                                 \
        topk_elements<U>(p);                                                          \
    }
SORT_TOPK(1, uint8_t)
SORT_TOPK(2, uint16_t)
SORT_TOPK(4, uint32_t)

extern "C" __global__ void __launch_bounds__(SORT_TOPK_THREADS, SORT_TOPK_BLOCKS)
    sort_topk_words(const __grid_constant__ sort_params p)
{
    topk_chunk(p, SORT_TOPK_WORDS_EACH * SORT_TOPK_THREADS,
               [&](topk_list &list, const row_place &, uint64_t row, uint64_t last, uint64_t at,
                   uint64_t end) {
                   return topk_add(list, (uint32_t)p.k, last,
                                   topk_found((const uint64_t *)p.words + row * p.n, at, end));
               });
}

#endif
