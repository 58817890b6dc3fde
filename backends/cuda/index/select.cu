/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * compress and nonzero: what is selected depends on the data. */
#include "index/select.h"
#include "sort/keys.cuh"
#include "walk/walk.cuh"

/* Floating elements are nonzero when a bit other than the sign is set: NaN is, -0 is not. */
static __device__ __forceinline__ bool is_set(const select_params &p, int64_t at)
{
    switch (p.nbytes) {
    case 1:
        return ((const uint8_t *)p.tested)[at] != 0;
    case 2:
        return (((const uint16_t *)p.tested)[at] & p.low_bits) != 0;
    case 4:
        return (((const uint32_t *)p.tested)[at] & p.low_bits) != 0;
    case 8:
        return (((const uint64_t *)p.tested)[at] & p.low_bits) != 0;
    default: {
        ulonglong2 x = ((const ulonglong2 *)p.tested)[at];
        return ((x.x & p.low_bits) | (x.y & p.high_bits)) != 0;
    }
    }
}

template <bool MASK>
static __device__ __forceinline__ bool element_is_set(const select_params &p, uint64_t i)
{
    if (MASK)
        return ((const uint8_t *)p.tested)[(int64_t)i * p.tested_stride[0]] != 0;
    return is_set(p, p.walk.ndim == 1 ? (int64_t)i * p.tested_stride[0]
                                      : cuda_walk_offset(p.walk, i, p.tested_stride));
}

/* Four bytes, as a bit for each that is not zero. */
static __device__ __forceinline__ uint32_t bits_of_bytes(uint32_t bytes)
{
    uint32_t ones = __vcmpne4(bytes, 0) & 0x01010101u;
    return ones * 0x01020408u >> 24 & 0xfu;
}

/* MASK: a bool array of one dimension is tested. Which of the 16 elements from the tile's
 * 16*threadIdx.x-th on are set, bit by bit. */
template <bool MASK>
static __device__ __forceinline__ uint32_t flags_of(const select_params &p, uint64_t tile)
{
    __shared__ uint32_t word[SELECT_TILE / 32];
    uint64_t n = p.walk.size;
    if (MASK && p.dense_bytes && tile + SELECT_TILE <= n) {
        uint4 x = ((const uint4 *)(p.tested + tile))[threadIdx.x];
        return bits_of_bytes(x.x) | bits_of_bytes(x.y) << 4 | bits_of_bytes(x.z) << 8 |
               bits_of_bytes(x.w) << 12;
    }
    __syncthreads();
#pragma unroll 4
    for (int k = 0; k < SELECT_EACH; k++) {
        uint64_t i = tile + k * SELECT_THREADS + threadIdx.x;
        uint32_t votes = __ballot_sync(0xffffffffu, i < n && element_is_set<MASK>(p, i));
        if (threadIdx.x % 32 == 0)
            word[(k * SELECT_THREADS + threadIdx.x) / 32] = votes;
    }
    __syncthreads();
    return word[threadIdx.x / 2] >> 16 * (threadIdx.x % 2) & 0xffffu;
}

/* The sum of x over the block's threads before this one, and over all of them. */
static __device__ __forceinline__ uint32_t sum_before(uint32_t x, uint32_t *all)
{
    __shared__ uint32_t warp[SELECT_THREADS / 32];
    uint32_t sum = x, lane = threadIdx.x % 32, before = 0;
    for (uint32_t k = 1; k < 32; k *= 2) {
        uint32_t other = __shfl_up_sync(0xffffffffu, sum, k);
        sum += lane >= k ? other : 0;
    }
    __syncthreads();
    if (lane == 31)
        warp[threadIdx.x / 32] = sum;
    __syncthreads();
    *all = 0;
    for (uint32_t w = 0; w < SELECT_THREADS / 32; w++) {
        before += w < threadIdx.x / 32 ? warp[w] : 0;
        *all += warp[w];
    }
    return before + sum - x;
}

/* How many bytes of the thread's share of whole tiles are set; begin moves past them. */
static __device__ __forceinline__ uint64_t count_dense(const select_params &p, uint64_t *begin,
                                                       uint64_t end)
{
    const int N = 8; /* loads under way */
    const uint4 *at = (const uint4 *)(p.tested + *begin) + threadIdx.x;
    uint64_t count = 0;
    for (; end - *begin >= N * SELECT_TILE; *begin += N * SELECT_TILE) {
        uint4 x[N];
        uint32_t bits = 0;
#pragma unroll
        for (int k = 0; k < N; k++)
            x[k] = at[k * SELECT_THREADS];
#pragma unroll
        for (int k = 0; k < N; k++)
            bits += __popc(__vcmpne4(x[k].x, 0) & 0x01010101u | __vcmpne4(x[k].y, 0) & 0x02020202u |
                           __vcmpne4(x[k].z, 0) & 0x04040404u | __vcmpne4(x[k].w, 0) & 0x08080808u);
        count += bits;
        at += N * SELECT_THREADS;
    }
    return count;
}

template <bool MASK> static __device__ __forceinline__ void count(const select_params &p)
{
    uint64_t begin = blockIdx.x * p.per_part, end = begin + p.per_part, count = 0;
    end = end < p.walk.size ? end : p.walk.size;
    if (MASK && p.dense_bytes)
        count = count_dense(p, &begin, end);
    for (uint64_t tile = begin; tile < end; tile += SELECT_TILE)
        count += __popc(flags_of<MASK>(p, tile));
    uint32_t low, high; /* a part may have 2^32 elements; a thread's share is below 2^32 * 16 */
    sum_before((uint32_t)(count & 0xffffff), &low);
    sum_before((uint32_t)(count >> 24), &high);
    if (threadIdx.x == 0)
        ((uint64_t *)p.starts)[blockIdx.x] = ((uint64_t)high << 24) + low;
}

extern "C" __global__ void __launch_bounds__(SELECT_THREADS)
    select_count(const __grid_constant__ select_params p)
{
    count<false>(p);
}
extern "C" __global__ void __launch_bounds__(SELECT_THREADS)
    select_count_mask(const __grid_constant__ select_params p)
{
    count<true>(p);
}

/* Counts become the places where parts begin; their sum is the result's. One block. */
extern "C" __global__ void __launch_bounds__(SELECT_SCAN_THREADS)
    select_scan(const __grid_constant__ select_params p)
{
    const uint32_t EACH = SELECT_PARTS / SELECT_SCAN_THREADS;
    __shared__ uint64_t sum[SELECT_SCAN_THREADS];
    uint32_t t = threadIdx.x;
    uint64_t *start = (uint64_t *)p.starts, part[EACH], mine = 0;
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
        part[k] = t * EACH + k < p.parts ? start[t * EACH + k] : 0;
        mine += part[k];
    }
    sum[t] = mine;
    __syncthreads();
    for (uint32_t k = 1; k < SELECT_SCAN_THREADS; k *= 2) {
        uint64_t other = t >= k ? sum[t - k] : 0;
        __syncthreads();
        sum[t] += other;
        __syncthreads();
    }
    uint64_t place = sum[t] - mine;
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
        if (t * EACH + k < p.parts)
            start[t * EACH + k] = place;
        place += part[k];
    }
    if (t == SELECT_SCAN_THREADS - 1)
        *(uint64_t *)p.count = sum[t];
}

/* write(list, n, place, tile) for each tile of the block's part: the n of its elements that are
 * selected and within the capacity, in shared memory, so that neighbours write neighbours. */
template <bool MASK, class F>
static __device__ __forceinline__ void for_tiles(const select_params &p, F write)
{
    __shared__ uint16_t list[SELECT_TILE];
    uint64_t begin = blockIdx.x * p.per_part, end = begin + p.per_part;
    int64_t place = ((const int64_t *)p.starts)[blockIdx.x];
    end = end < p.walk.size ? end : p.walk.size;
    uint32_t next = begin < end ? flags_of<MASK>(p, begin) : 0;
    for (uint64_t tile = begin; tile < end && place < p.capacity; tile += SELECT_TILE) {
        uint32_t flags = next, all, at = sum_before(__popc(flags), &all);
        for (; flags; flags &= flags - 1)
            list[at++] = (uint16_t)(threadIdx.x * SELECT_EACH + __ffs(flags) - 1);
        if (tile + SELECT_TILE < end) /* is read while this tile is written */
            next = flags_of<MASK>(p, tile + SELECT_TILE);
        __syncthreads();
        write(list, (uint32_t)min((int64_t)all, p.capacity - place), place, tile);
        place += all;
        __syncthreads();
    }
}

/* write(place, element) for all that is selected in the block's part. */
template <bool MASK, class F>
static __device__ __forceinline__ void for_selected(const select_params &p, F write)
{
    for_tiles<MASK>(p, [&](const uint16_t *list, uint32_t n, int64_t place, uint64_t tile) {
        for (uint32_t i = threadIdx.x; i < n; i += SELECT_THREADS)
            write(place + i, tile + list[i]);
    });
}

/* All of a thread's loads are under way before its first store. */
template <class T> static __device__ __forceinline__ void compress(const select_params &p)
{
    const int N = 4;
    for_tiles<true>(p, [&](const uint16_t *list, uint32_t n, int64_t place, uint64_t tile) {
        const T *a = (const T *)p.a + (int64_t)tile * p.a_stride;
        T *out = (T *)p.out + place * p.out_stride;
        for (uint32_t first = threadIdx.x; first < n; first += N * SELECT_THREADS) {
            T x[N];
#pragma unroll
            for (int k = 0; k < N; k++)
                if (first + k * SELECT_THREADS < n)
                    x[k] = a[list[first + k * SELECT_THREADS] * p.a_stride];
#pragma unroll
            for (int k = 0; k < N; k++)
                if (first + k * SELECT_THREADS < n)
                    out[(first + k * SELECT_THREADS) * p.out_stride] = x[k];
        }
    });
}

/* blocks: on an SM at once, as many as registers suffice for; only data-centre GPUs have threads
 * for eight, Turing for four. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define SELECT_BLOCKS(n) 4
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 800 && __CUDA_ARCH__ != 900 && \
    __CUDA_ARCH__ != 1000
#define SELECT_BLOCKS(n) ((n) < 6 ? (n) : 6)
#else
#define SELECT_BLOCKS(n) (n)
#endif
#define COMPRESS(nbytes, T, blocks)                                                     \
    extern "C" __global__ void __launch_bounds__(SELECT_THREADS, SELECT_BLOCKS(blocks)) \
        compress_##nbytes(const __grid_constant__ select_params p)                      \
    {                                                                                   \
        compress<T>(p);                                                                 \
    }
COMPRESS(1, uint8_t, 8)
COMPRESS(2, uint16_t, 8)
COMPRESS(4, uint32_t, 8)
COMPRESS(8, uint64_t, 6)
COMPRESS(16, ulonglong2, 4)

/* Coordinates, the innermost dimension's in the last column. */
extern "C" __global__ void __launch_bounds__(SELECT_THREADS)
    select_positions(const __grid_constant__ select_params p)
{
    for_selected<false>(p, [&](int64_t place, uint64_t element) {
        int64_t *row = (int64_t *)p.out + place * p.out_stride;
        cuda_walk_indices(p.walk, element, [&](int d, int64_t x) {
            row[(p.walk.ndim - 1 - d) * p.coordinate_stride] = x;
        });
    });
}

extern "C" __global__ void __launch_bounds__(SELECT_THREADS)
    select_mask_positions(const __grid_constant__ select_params p)
{
    for_selected<true>(
        p, [&](int64_t place, uint64_t element) { ((int64_t *)p.out)[place] = (int64_t)element; });
}

extern "C" __global__ void compress_rows(const __grid_constant__ select_rows_params p)
{
    int64_t count = *(const int64_t *)p.count, rows = count < p.capacity ? count : p.capacity;
    uint64_t n = (uint64_t)rows * p.row.size;
    for (uint64_t i = cuda_thread(); i < n; i += cuda_threads()) {
        uint64_t place = (i >> 32) == 0 && (p.row.size >> 32) == 0
                             ? (uint32_t)i / (uint32_t)p.row.size
                             : i / p.row.size;
        int64_t from = ((const int64_t *)p.positions)[place] * p.a_step;
        int64_t to = (int64_t)place * p.out_step;
        cuda_walk_indices(p.row, i - place * p.row.size, [&](int d, int64_t x) {
            from += x * p.a_stride[d];
            to += x * p.out_stride[d];
        });
        copy_element(p.out, to, p.a, from, p.nbytes);
    }
}
