/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elements of the order of long rows, without sorting them: digit by digit of the keys, the most
 * significant first, the keys with the digits found so far are counted by their next digit. A
 * partition then moves each element to its side, in the order that there was. */
#include "sort/order.h"
#include "sort/keys.cuh"
#include "sort/place.cuh"

static __device__ __forceinline__ uint64_t problem_of(const order_params &p)
{
    return p.from + blockIdx.y;
}

static __device__ __forceinline__ row_place place_of_problem(const order_params &p)
{
    return place_of(p, problem_of(p) / p.k);
}

static __device__ __forceinline__ order_state *state_of(const order_params &p)
{
    return (order_state *)p.states + blockIdx.y;
}
static __device__ __forceinline__ unsigned long long *counts_of(const order_params &p)
{
    return (unsigned long long *)p.counts + (uint64_t)blockIdx.y * ORDER_DIGITS;
}

#define ORDER(name)                                             \
    extern "C" __global__ void __launch_bounds__(ORDER_THREADS) \
        order_##name(const __grid_constant__ order_params p)

ORDER(begin)
{
    for (int d = (int)threadIdx.x; d < ORDER_DIGITS; d += ORDER_THREADS)
        counts_of(p)[d] = 0;
    if (threadIdx.x == 0)
        *state_of(p) = {0, p.first + problem_of(p) % p.k};
}

/* ---- a digit ---- */

ORDER(count)
{
    __shared__ uint32_t count[ORDER_DIGITS];
    const uint64_t known = state_of(p)->key;
    const int above = p.shift + p.bits;
    const uint32_t mask = (1u << p.bits) - 1;
    const int64_t a = place_of_problem(p).a;
    const uint64_t step = cuda_threads();
    for (int d = (int)threadIdx.x; d < ORDER_DIGITS; d += ORDER_THREADS)
        count[d] = 0;
    __syncthreads();
    auto look = [&](uint64_t key) {
        if (above >= 8 * p.nbytes || key >> above == known >> above)
            atomicAdd(&count[(uint32_t)(key >> p.shift) & mask], 1u);
    };
    uint64_t i = cuda_thread();
    for (; i + 3 * step < p.n; i += 4 * step) {
        uint64_t key[4];
#pragma unroll
        for (int u = 0; u < 4; u++)
            key[u] = key_of(p.dtype, p.a, a + (int64_t)(i + u * step) * p.stride);
#pragma unroll
        for (int u = 0; u < 4; u++)
            look(key[u]);
    }
    for (; i < p.n; i += step)
        look(key_of(p.dtype, p.a, a + (int64_t)i * p.stride));
    __syncthreads();
    for (int d = (int)threadIdx.x; d < ORDER_DIGITS; d += ORDER_THREADS)
        if (count[d])
            atomicAdd(&counts_of(p)[d], (unsigned long long)count[d]);
}

/* Sum over the threads before this one. */
static __device__ __forceinline__ uint64_t sum_before(uint64_t mine)
{
    __shared__ uint64_t sums[ORDER_THREADS / 32];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint64_t sum = mine;
    for (uint32_t apart = 1; apart < 32; apart *= 2) {
        const uint64_t there = __shfl_up_sync(0xffffffffu, sum, apart);
        sum += lane >= apart ? there : 0;
    }
    if (lane == 31)
        sums[warp] = sum;
    __syncthreads();
    sum -= mine;
    for (uint32_t w = 0; w < warp; w++)
        sum += sums[w];
    __syncthreads();
    return sum;
}

/* The digit in which the wanted key is; counts are zero again. */
ORDER(pick)
{
    enum { EACH = ORDER_DIGITS / ORDER_THREADS };
    unsigned long long *count = counts_of(p) + threadIdx.x * EACH;
    order_state *state = state_of(p);
    const order_state was = *state;
    uint64_t mine = 0;
    for (int d = 0; d < EACH; d++)
        mine += count[d];
    uint64_t before = sum_before(mine);
    const bool here = was.rank >= before && was.rank - before < mine;
    for (int d = 0; d < EACH; d++) {
        const uint64_t there = count[d];
        count[d] = 0;
        if (here && was.rank >= before && was.rank - before < there)
            *state = {was.key | (uint64_t)(threadIdx.x * EACH + d) << p.shift, was.rank - before};
        before += there;
    }
}

/* ---- results ---- */

static __device__ __forceinline__ bool is_float(int32_t dtype)
{
    return dtype == NDP_F16 || dtype == NDP_BF16 || dtype == NDP_F32 || dtype == NDP_F64;
}

/* The element of a key: +0 of those of zeros, a NaN of those of NaN. */
static __device__ __forceinline__ uint64_t element_of(const order_params &p, uint64_t key)
{
    const uint64_t sign = (uint64_t)1 << (8 * p.nbytes - 1);
    const bool is_signed =
        p.dtype == NDP_I8 || p.dtype == NDP_I16 || p.dtype == NDP_I32 || p.dtype == NDP_I64;
    if (is_float(p.dtype))
        return key & sign ? key ^ sign : ~key;
    return is_signed ? key ^ sign : key;
}

/* Result number i of a row is the element of a key. */
static __device__ __forceinline__ void store_key(const order_params &p, const row_place &r,
                                                 uint64_t i, uint64_t key)
{
    const uint64_t element = element_of(p, key); /* its lowest bytes come first */
    copy_element(p.values, r.values + (int64_t)i * p.values_stride, (uint64_t)&element, 0,
                 p.nbytes);
}

ORDER(store)
{
    if (threadIdx.x == 0)
        store_key(p, place_of_problem(p), problem_of(p) % p.k, state_of(p)->key);
}

#include "sort/order_rows.cuh"

/* ---- partitions ---- */

static __device__ __forceinline__ int side_of(const order_params &p, int64_t at, uint64_t pivot)
{
    const uint64_t key = key_of(p.dtype, p.a, at);
    return key < pivot ? 0 : key == pivot ? 1 : 2;
}

static __device__ __forceinline__ uint64_t *parts_of(const order_params &p)
{
    return (uint64_t *)p.parts + (uint64_t)blockIdx.y * 2 * ORDER_PARTS;
}

struct part_range {
    uint64_t begin, end;
};
static __device__ __forceinline__ part_range part_of(const order_params &p)
{
    const uint64_t begin = blockIdx.x * p.per_part, end = begin + p.per_part;
    return {begin < p.n ? begin : p.n, end < p.n ? end : p.n};
}

/* How many elements of each part go to the first side, and how many are equal. */
ORDER(parts)
{
    const uint64_t pivot = state_of(p)->key;
    const part_range part = part_of(p);
    const int64_t a = place_of_problem(p).a;
    __shared__ unsigned long long sides[2];
    uint64_t mine[2] = {0, 0};
    if (threadIdx.x < 2)
        sides[threadIdx.x] = 0;
    __syncthreads();
    for (uint64_t i = part.begin + threadIdx.x; i < part.end; i += ORDER_THREADS) {
        const int side = side_of(p, a + (int64_t)i * p.stride, pivot);
        mine[0] += side == 0;
        mine[1] += side == 1;
    }
    for (int c = 0; c < 2; c++)
        if (mine[c])
            atomicAdd(&sides[c], (unsigned long long)mine[c]);
    __syncthreads();
    if (threadIdx.x < 2)
        parts_of(p)[threadIdx.x * ORDER_PARTS + blockIdx.x] = sides[threadIdx.x];
}

/* Counts become how many there are in the parts before; the last entry is the sum, since there are
 * fewer parts than entries. */
ORDER(scan)
{
    enum { EACH = ORDER_PARTS / ORDER_THREADS };
    for (int c = 0; c < 2; c++) {
        const uint64_t first = threadIdx.x * EACH;
        uint64_t *part = parts_of(p) + c * ORDER_PARTS + first, mine = 0;
        for (int i = 0; i < EACH; i++)
            mine += first + i < p.n_parts ? part[i] : 0;
        uint64_t before = sum_before(mine);
        for (int i = 0; i < EACH; i++) {
            const uint64_t there = first + i < p.n_parts ? part[i] : 0;
            part[i] = before;
            before += there;
        }
    }
}

/* How many threads of the block before this one are on each of the first two sides, a number in each
 * half of the result; *all: of the whole block. */
static __device__ __forceinline__ uint32_t sides_before(int side, uint32_t *all)
{
    __shared__ uint32_t warps[ORDER_THREADS / 32];
    const uint32_t lanes = (1u << threadIdx.x % 32) - 1;
    const uint32_t less = __ballot_sync(0xffffffffu, side == 0),
                   equal = __ballot_sync(0xffffffffu, side == 1);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = __popc(less) | __popc(equal) << 16;
    __syncthreads();
    uint32_t before = __popc(less & lanes) | __popc(equal & lanes) << 16;
    *all = 0;
    for (uint32_t w = 0; w < ORDER_THREADS / 32; w++) {
        before += w < threadIdx.x / 32 ? warps[w] : 0;
        *all += warps[w];
    }
    return before;
}

ORDER(move)
{
    const uint64_t pivot = state_of(p)->key;
    const part_range part = part_of(p);
    const row_place r = place_of_problem(p);
    const uint64_t *less = parts_of(p), *equal = less + ORDER_PARTS;
    const uint64_t all_less = less[ORDER_PARTS - 1], all_equal = equal[ORDER_PARTS - 1];
    uint64_t to[2] = {less[blockIdx.x], equal[blockIdx.x]};
    for (uint64_t tile = part.begin; tile < part.end; tile += ORDER_THREADS) {
        const uint64_t i = tile + threadIdx.x;
        const int64_t from = r.a + (int64_t)i * p.stride;
        const int side = i < part.end ? side_of(p, from, pivot) : 3;
        uint32_t all;
        const uint32_t before = sides_before(side, &all);
        const uint64_t lesser = to[0] + (before & 0xffff), same = to[1] + (before >> 16);
        const int64_t at = (int64_t)(side == 0   ? lesser
                                     : side == 1 ? all_less + same
                                                 : all_less + all_equal + i - lesser - same);
        if (side < 3 && p.values)
            copy_element(p.values, r.values + at * p.values_stride, p.a, from, p.nbytes);
        if (side < 3 && p.positions)
            ((int64_t *)p.positions)[r.positions + at * p.positions_stride] = (int64_t)i;
        to[0] += all & 0xffff;
        to[1] += all >> 16;
    }
}
