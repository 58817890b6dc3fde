/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The first few, up to 32, of rows of up to 1024 elements: a warp has a row in its registers. The k-th
 * best of what each lane has best is a bound, up to which hardly more than k elements come; where
 * more than a warp has lanes do, bisection finds a closer one. Each of them counts how many come
 * before it. */
#ifndef NDOCK_CUDA_SORT_TOPK_ROWS_CUH
#define NDOCK_CUDA_SORT_TOPK_ROWS_CUH
#include "sort/topk_keys.cuh"

enum { TOPK_ROWS_EACH = SORT_TOPK_SHORT / 32, TOPK_ROWS_WARPS = SORT_TOPK_ROWS_THREADS / 32 };

/* The keys of a warp, one a lane, in order. */
static __device__ __forceinline__ uint32_t topk_warp_sorted(uint32_t key, uint32_t lane)
{
#pragma unroll
    for (uint32_t size = 2; size <= 32; size *= 2)
#pragma unroll
        for (uint32_t half = size / 2; half; half /= 2) {
            const uint32_t other = __shfl_xor_sync(0xffffffffu, key, half);
            const bool least = ((lane & half) == 0) == ((lane & size) == 0);
            key = least ? min(key, other) : max(key, other);
        }
    return key;
}

static __device__ __forceinline__ uint32_t topk_warp_sum(uint32_t x)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(0xffffffffu, x);
#else
    for (int h = 16; h; h /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, h);
    return x;
#endif
}

/* The sum of the lanes before this one. */
static __device__ __forceinline__ uint32_t topk_warp_before(uint32_t x, uint32_t lane)
{
    uint32_t sum = x;
#pragma unroll
    for (uint32_t h = 1; h < 32; h *= 2) {
        const uint32_t other = __shfl_up_sync(0xffffffffu, sum, h);
        sum += lane >= h ? other : 0;
    }
    return sum - x;
}

/* A row in a warp's registers: V elements that follow each other, those of all lanes, and so on.
 * Sets of a lane's elements are words of a bit for each. */
template <class U, int V> struct topk_row {
    enum { EACH = TOPK_ROWS_EACH };
    uint32_t key[EACH], exist, lane;
    __device__ __forceinline__ uint32_t position(uint32_t j) const
    {
        return (j / V * 32 + lane) * V + j % V;
    }
    __device__ __forceinline__ void load(const U *from, int64_t stride, uint32_t n,
                                         const topk_keys<U> &keys)
    {
        cuda_vector<U, V> x[EACH / V];
#pragma unroll
        for (int g = 0; g < EACH / V; g++) {
            const uint32_t i = (uint32_t)g * 32 + lane;
            x[g] = {};
            if (i * V < n)
                x[g] = *(const cuda_vector<U, V> *)(from + (int64_t)i * V * stride);
        }
#pragma unroll
        for (int j = 0; j < EACH; j++)
            key[j] = x[j / V].at[j % V];
        keys.turn_all(key);
        exist = 0xffffffffu;
        if (n == EACH * 32)
            return;
        exist = 0;
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            const bool exists = position(j) < n;
            key[j] = exists ? key[j] : UINT32_MAX;
            exist |= exists ? 1u << j : 0;
        }
    }
    __device__ __forceinline__ uint32_t best() const
    {
        uint32_t r = key[0];
#pragma unroll
        for (int j = 1; j < EACH; j++)
            r = min(r, key[j]);
        return r;
    }
    __device__ __forceinline__ uint32_t up_to(uint32_t bound) const
    {
        uint32_t set = 0;
#pragma unroll
        for (int j = 0; j < EACH; j++)
            if (key[j] <= bound)
                set |= 1u << j;
        return set & exist;
    }
    /* Of a set the `wanted` whose positions come first. */
    __device__ __forceinline__ uint32_t foremost(uint32_t set, uint32_t wanted) const
    {
        uint32_t kept = 0;
        for (int g = 0; g < EACH / V && wanted; g++) {
            uint32_t part = (set >> g * V) & ((1u << V) - 1);
            const uint32_t count = __popc(part), before = topk_warp_before(count, lane);
            const uint32_t found = topk_warp_sum(count);
            while (part && before + __popc(part) > wanted)
                part ^= 1u << (31 - __clz((int)part));
            kept |= part << g * V;
            wanted -= min(wanted, found);
        }
        return kept;
    }
    /* A set of up to 32 elements of the warp that has the first k; first: the first key. */
    __device__ __forceinline__ uint32_t chosen(uint32_t first, uint32_t bound, uint32_t k) const
    {
        uint32_t set = up_to(bound);
        while (topk_warp_sum(__popc(set)) > 32) {
            if (first == bound) { /* the k-th key: all before it, and some that equal it */
                const uint32_t below = bound ? up_to(bound - 1) : 0;
                return below | foremost(set & ~below, k - topk_warp_sum(__popc(below)));
            }
            const uint32_t middle = first + (bound - first) / 2, some = up_to(middle);
            if (topk_warp_sum(__popc(some)) >= k) {
                bound = middle;
                set = some;
            } else {
                first = middle + 1;
            }
        }
        return set;
    }
};

/* The lanes' elements of a set as positions in a list; returns how many. */
template <class U, int V>
static __device__ __forceinline__ uint32_t topk_warp_list(const topk_row<U, V> &row, uint32_t set,
                                                          uint64_t *list)
{
    const uint32_t count = __popc(set);
    uint32_t at = topk_warp_before(count, row.lane);
    const uint32_t all = __shfl_sync(0xffffffffu, at + count, 31);
    for (; set; set &= set - 1)
        list[at++] = row.position(__ffs((int)set) - 1);
    __syncwarp();
    return all;
}

/* The row's first k; V: elements that are loaded at once. */
template <class U, int V>
static __device__ __forceinline__ void topk_warp(const sort_params &p, const row_place &r,
                                                 uint64_t *list)
{
    const U *from = (const U *)p.a + r.a;
    const topk_keys<U> keys(p);
    const uint32_t k = (uint32_t)p.k, lane = threadIdx.x % 32;
    topk_row<U, V> row;
    row.lane = lane;
    row.load(from, p.stride, (uint32_t)p.n, keys);
    const uint32_t sorted = topk_warp_sorted(row.best(), lane);
    const uint32_t set = row.chosen(__shfl_sync(0xffffffffu, sorted, 0),
                                    __shfl_sync(0xffffffffu, sorted, (int)k - 1), k);
    const uint32_t count = topk_warp_list(row, set, list);
    uint64_t word = UINT64_MAX;
    if (lane < count) {
        const uint32_t at = (uint32_t)list[lane];
        uint32_t key[1] = {from[(int64_t)at * p.stride]};
        keys.turn_all(key);
        word = topk_word(key[0], at);
    }
    __syncwarp();
    list[lane] = word;
    __syncwarp();
    uint32_t rank = 0;
#pragma unroll 4
    for (uint32_t i = 0; i < count; i++)
        rank += list[i] < word;
    if (rank < k && lane < count)
        write_result(p, r, rank, (uint32_t)word);
}

template <class U> static __device__ __forceinline__ void topk_rows(const sort_params &p)
{
    enum { V = 16 / sizeof(U) };
    __shared__ uint64_t lists[TOPK_ROWS_WARPS][32];
    const uint32_t warp = threadIdx.x / 32;
    const uint64_t row = (uint64_t)blockIdx.x * TOPK_ROWS_WARPS + warp;
    if (row >= p.rows.size)
        return;
    const row_place r = place_of(p, row);
    if (p.stride == 1 && p.n % V == 0 && (p.a + (uint64_t)r.a * sizeof(U)) % 16 == 0)
        topk_warp<U, V>(p, r, lists[warp]);
    else
        topk_warp<U, 1>(p, r, lists[warp]);
}

#define SORT_TOPK_ROWS(nbytes, U)                                        \
    extern "C" __global__ void __launch_bounds__(SORT_TOPK_ROWS_THREADS) \
        sort_topk_rows_##nbytes(const __grid_constant__ sort_params p)   \
    {                                                                    \
        topk_rows<U>(p);                                                 \
    }
SORT_TOPK_ROWS(1, uint8_t)
SORT_TOPK_ROWS(2, uint16_t)
SORT_TOPK_ROWS(4, uint32_t)

#endif
