/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Sorting: short rows in shared memory, and keys of long ones for the radix sorts of cub.cu. */
#include "sort/words.cuh"

template <class W> static __device__ __forceinline__ void small_rows(const sort_params &p)
{
    extern __shared__ __align__(16) unsigned char shared[];
    typename W::word *w = (typename W::word *)shared;
    uint32_t count = p.padded * p.together, n = (uint32_t)p.n;
    for (uint64_t first = (uint64_t)blockIdx.x * p.together; first < p.rows.size;
         first += (uint64_t)gridDim.x * p.together) {
        for (uint32_t e = threadIdx.x; e < count; e += blockDim.x) {
            uint32_t i = e & (p.padded - 1);
            uint64_t row = first + e / p.padded;
            bool exists = i < n && row < p.rows.size;
            w[e] = exists ? W::load(p, place_of(p, row).a + i * p.stride, i) : W::last(i);
        }
        __syncthreads();
        network<W>(w, p.padded, count);
        for (uint32_t e = threadIdx.x; e < count; e += blockDim.x) {
            uint32_t i = e & (p.padded - 1);
            uint64_t row = first + e / p.padded;
            if (i >= p.first && i - p.first < p.k && row < p.rows.size)
                write_result(p, place_of(p, row), i - p.first, W::position(w[e]));
        }
        __syncthreads();
    }
}

#define SMALL(nbytes, W)                                                                  \
    extern "C" __global__ void sort_small_##nbytes(const __grid_constant__ sort_params p) \
    {                                                                                     \
        small_rows<W>(p);                                                                 \
    }
SMALL(4, packed)
SMALL(8, pairs)
SMALL(16, triples)

#include "sort/rows.cuh"
#include "sort/topk_chunk.cuh"
#include "sort/topk_long.cuh"
#include "sort/topk_rows.cuh"

/* ---- long rows: keys, and what comes of their order ---- */

static __device__ __forceinline__ uint64_t order_at(const sort_params &p, uint64_t i)
{
    return p.wide_order ? ((const uint64_t *)p.order)[i] : ((const uint32_t *)p.order)[i];
}

static __device__ __forceinline__ uint64_t key_for(const sort_params &p, uint64_t e)
{
    uint64_t row = p.n_rows == 1 ? 0 : e / p.n, first, second;
    if (p.by == SORT_BY_ROW)
        return row;
    int64_t at = place_of(p, p.first_row + row).a + (int64_t)(e - row * p.n) * p.stride;
    if (p.by == SORT_BY_ELEMENT) {
        uint64_t ones = p.key_bits == 64 ? UINT64_MAX : ((uint64_t)1 << p.key_bits) - 1;
        uint64_t key = key_of(p.dtype, p.a, at) ^ (p.flip & ones);
        return p.key_bits == 64 ? key : row << p.key_bits | key;
    }
    key_c128((const uint64_t *)p.a + 2 * at, &first, &second);
    return (p.by == SORT_BY_FIRST ? first : second) ^ p.flip;
}

/* The key of every element, in the order there is by now. */
extern "C" __global__ void sort_keys(const __grid_constant__ sort_params p)
{
    for (uint64_t i = cuda_thread(); i < p.n_rows * p.n; i += cuda_threads()) {
        uint64_t key = key_for(p, p.first_pass ? i : order_at(p, i));
        if (p.wide_keys)
            ((uint64_t *)p.keys)[i] = key;
        else
            ((uint32_t *)p.keys)[i] = (uint32_t)key;
        if (p.first_pass && p.wide_order)
            ((uint64_t *)p.order)[i] = i;
        else if (p.first_pass)
            ((uint32_t *)p.order)[i] = (uint32_t)i;
    }
}

extern "C" __global__ void sort_results(const __grid_constant__ sort_params p)
{
    for (uint64_t i = cuda_thread(); i < p.n_rows * p.k; i += cuda_threads()) {
        uint64_t row = p.n_rows == 1 ? 0 : i / p.k, rank = i - row * p.k;
        write_result(p, place_of(p, p.first_row + row), rank,
                     order_at(p, row * p.n + rank) - row * p.n);
    }
}

/* ---- values of one long row, without positions. Zeros and NaNs lose their bits as keys, and are
 * put back in their order afterwards, if there were any that differ. ---- */

enum { SPECIAL_NONE, SPECIAL_ZERO, SPECIAL_NAN };

static __device__ __forceinline__ uint64_t raw_at(const sort_params &p, uint64_t array, int64_t at)
{
    return p.nbytes == 8   ? ((const uint64_t *)array)[at]
           : p.nbytes == 4 ? ((const uint32_t *)array)[at]
           : p.nbytes == 2 ? ((const uint16_t *)array)[at]
                           : ((const uint8_t *)array)[at];
}

static __device__ __forceinline__ void put_raw(const sort_params &p, int64_t at, uint64_t raw)
{
    switch (p.nbytes) {
    case 1:
        ((uint8_t *)p.values)[at] = (uint8_t)raw;
        break;
    case 2:
        ((uint16_t *)p.values)[at] = (uint16_t)raw;
        break;
    case 4:
        ((uint32_t *)p.values)[at] = (uint32_t)raw;
        break;
    default:
        ((uint64_t *)p.values)[at] = raw;
    }
}

static __device__ __forceinline__ uint64_t key_ones(const sort_params &p)
{
    return UINT64_MAX >> (64 - 8 * p.nbytes);
}

/* By the key before it is flipped. */
static __device__ __forceinline__ int special(const sort_params &p, uint64_t key)
{
    uint64_t ones = key_ones(p);
    return key == ones ? SPECIAL_NAN : key == (ones >> 1) + 1 && !p.as_f32 ? SPECIAL_ZERO : 0;
}

/* Sets the flag where a key has lost bits: a NaN, or -0. */
extern "C" __global__ void sort_load(const __grid_constant__ sort_params p)
{
    bool floats = is_float(p.dtype), lost = false;
    uint64_t ones = key_ones(p), sign = (ones >> 1) + 1;
    int64_t a = place_of(p, p.first_row).a;
    for (uint64_t i = cuda_thread(); i < p.n; i += cuda_threads()) {
        int64_t at = a + (int64_t)i * p.stride;
        if (p.as_f32) {
            uint32_t raw = ((const uint32_t *)p.a)[at];
            bool is_nan = (raw & 0x7fffffffu) > 0x7f800000u;
            ((uint32_t *)p.keys)[i] = is_nan ? 0x7fffffffu : raw;
            lost |= is_nan;
            continue;
        }
        uint64_t key = key_of(p.dtype, p.a, at);
        lost |= floats && (key == ones || (key == sign && raw_at(p, p.a, at) == sign));
        key ^= p.flip & ones;
        if (p.wide_keys)
            ((uint64_t *)p.keys)[i] = key;
        else
            ((uint32_t *)p.keys)[i] = (uint32_t)key;
    }
    if (lost)
        *(volatile int32_t *)p.flag = 1;
}

/* Where sorted keys are. */
static __device__ __forceinline__ uint64_t sorted_keys(const sort_params &p)
{
    return p.moves && *(const int32_t *)p.moves % 2 ? p.moved : p.keys;
}

/* Sorted keys back to elements. */
extern "C" __global__ void sort_store(const __grid_constant__ sort_params p)
{
    bool floats = is_float(p.dtype);
    bool is_signed =
        p.dtype == NDP_I8 || p.dtype == NDP_I16 || p.dtype == NDP_I32 || p.dtype == NDP_I64;
    uint64_t ones = key_ones(p), sign = (ones >> 1) + 1;
    int64_t to = place_of(p, p.first_row).values;
    const uint64_t keys = sorted_keys(p);
    for (uint64_t i = cuda_thread(); i < p.n; i += cuda_threads()) {
        uint64_t key = p.wide_keys ? ((const uint64_t *)keys)[i] : ((const uint32_t *)keys)[i];
        key ^= p.flip & ones;
        if (is_signed)
            key ^= sign;
        if (floats && !p.as_f32)
            key = key & sign ? key ^ sign : ~key;
        put_raw(p, to + (int64_t)i * p.values_stride, key);
    }
}

/* The counts of part b: zeros, NaNs, and elements that sort before zeros; each SORT_PARTS long. */
extern "C" __global__ void __launch_bounds__(SORT_THREADS)
    sort_count_special(const __grid_constant__ sort_params p)
{
    __shared__ unsigned long long count[3];
    if (*(const int32_t *)p.flag == 0)
        return;
    if (threadIdx.x < 3)
        count[threadIdx.x] = 0;
    __syncthreads();
    int64_t a = place_of(p, p.first_row).a;
    uint64_t ones = key_ones(p), zero = (ones >> 1) + 1, begin = blockIdx.x * p.per_part;
    uint64_t end = begin + p.per_part < p.n ? begin + p.per_part : p.n;
    unsigned long long mine[3] = {0, 0, 0};
    for (uint64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
        uint64_t key = key_of(p.dtype, p.a, a + (int64_t)i * p.stride);
        int kind = special(p, key);
        mine[0] += kind == SPECIAL_ZERO;
        mine[1] += kind == SPECIAL_NAN;
        mine[2] += (key ^ (p.flip & ones)) < (zero ^ (p.flip & ones));
    }
    for (int c = 0; c < 3; c++)
        if (mine[c])
            atomicAdd(&count[c], mine[c]);
    __syncthreads();
    if (threadIdx.x < 3)
        ((unsigned long long *)p.counts)[threadIdx.x * SORT_PARTS + blockIdx.x] =
            count[threadIdx.x];
}

/* Counts become the places of each part's first zero and NaN. One thread for each kind. */
extern "C" __global__ void sort_scan_special(const __grid_constant__ sort_params p)
{
    __shared__ uint64_t total[3];
    uint64_t *counts = (uint64_t *)p.counts + threadIdx.x * SORT_PARTS, sum = 0;
    uint64_t parts = (p.n + p.per_part - 1) / p.per_part;
    if (*(const int32_t *)p.flag == 0)
        return;
    for (uint64_t b = 0; b < parts; b++)
        sum += counts[b];
    total[threadIdx.x] = sum;
    __syncthreads();
    uint64_t at = threadIdx.x == 0 ? total[2] : p.flip ? 0 : p.n - total[1];
    for (uint64_t b = 0; b < parts && threadIdx.x < 2; b++) {
        uint64_t here = counts[b];
        counts[b] = at;
        at += here;
    }
}

/* How many of the block's threads before this one have it, and how many there are. */
static __device__ __forceinline__ uint32_t rank_of(bool has, uint32_t *all)
{
    __shared__ uint32_t warp[SORT_THREADS / 32];
    uint32_t votes = __ballot_sync(0xffffffffu, has), before = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        warp[threadIdx.x / 32] = __popc(votes);
    __syncthreads();
    *all = 0;
    for (uint32_t w = 0; w < SORT_THREADS / 32; w++) {
        before += w < threadIdx.x / 32 ? warp[w] : 0;
        *all += warp[w];
    }
    return before + __popc(votes & ((1u << threadIdx.x % 32) - 1));
}

extern "C" __global__ void __launch_bounds__(SORT_THREADS)
    sort_restore_special(const __grid_constant__ sort_params p)
{
    if (*(const int32_t *)p.flag == 0)
        return;
    row_place r = place_of(p, p.first_row);
    uint64_t begin = blockIdx.x * p.per_part;
    uint64_t end = begin + p.per_part < p.n ? begin + p.per_part : p.n;
    uint64_t at[2] = {((const uint64_t *)p.counts)[blockIdx.x],
                      ((const uint64_t *)p.counts)[SORT_PARTS + blockIdx.x]};
    for (uint64_t tile = begin; tile < end; tile += SORT_THREADS) {
        uint64_t i = tile + threadIdx.x;
        int64_t from = r.a + (int64_t)i * p.stride;
        int kind = i < end ? special(p, key_of(p.dtype, p.a, from)) : SPECIAL_NONE;
        for (int c = 0; c < 2; c++) {
            bool has = kind == (c ? SPECIAL_NAN : SPECIAL_ZERO);
            uint32_t all, rank = rank_of(has, &all);
            if (has)
                put_raw(p, r.values + (int64_t)(at[c] + rank) * p.values_stride,
                        raw_at(p, p.a, from));
            at[c] += all;
        }
    }
}
