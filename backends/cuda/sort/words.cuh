/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Words of a key and a position, which are all different, what they say of a row's results, and a
 * bitonic network that a block sorts them by. */
#ifndef NDOCK_CUDA_SORT_WORDS_CUH
#define NDOCK_CUDA_SORT_WORDS_CUH
#include "math/types.cuh"
#include "sort/keys.cuh"
#include "sort/place.cuh"
#include "sort/sort.h"

static __device__ __forceinline__ bool is_float(int32_t dtype)
{
    return dtype == NDP_F16 || dtype == NDP_BF16 || dtype == NDP_F32 || dtype == NDP_F64;
}

/* The result at place `rank` of a row is its element at `position`. */
static __device__ __forceinline__ void write_result(const sort_params &p, const row_place &r,
                                                    uint64_t rank, uint64_t position)
{
    if (p.values)
        copy_element(p.values, r.values + (int64_t)rank * p.values_stride, p.a,
                     r.a + (int64_t)position * p.stride, p.nbytes);
    if (p.positions)
        ((int64_t *)p.positions)[r.positions + (int64_t)rank * p.positions_stride] =
            (int64_t)position;
}

/* Keys of up to 32 bits and the position in one word. */
struct packed {
    typedef uint64_t word;
    static __device__ __forceinline__ word load(const sort_params &p, int64_t at, uint32_t i)
    {
        return (word)(uint32_t)(key_of(p.dtype, p.a, at) ^ p.flip) << 32 | i;
    }
    static __device__ __forceinline__ word last(uint32_t i) { return (word)UINT32_MAX << 32 | i; }
    static __device__ __forceinline__ uint32_t position(word w) { return (uint32_t)w; }
    static __device__ __forceinline__ bool before(word a, word b) { return a < b; }
};

struct pair_word {
    uint64_t key, position;
};
struct pairs {
    typedef pair_word word;
    static __device__ __forceinline__ word load(const sort_params &p, int64_t at, uint32_t i)
    {
        return {key_of(p.dtype, p.a, at) ^ p.flip, i};
    }
    static __device__ __forceinline__ word last(uint32_t i) { return {UINT64_MAX, i}; }
    static __device__ __forceinline__ uint32_t position(const word &w)
    {
        return (uint32_t)w.position;
    }
    static __device__ __forceinline__ bool before(const word &a, const word &b)
    {
        return a.key < b.key || (a.key == b.key && a.position < b.position);
    }
};

struct triple_word {
    uint64_t first, second, position;
};
struct triples {
    typedef triple_word word;
    static __device__ __forceinline__ word load(const sort_params &p, int64_t at, uint32_t i)
    {
        word w = {0, 0, i};
        key_c128((const uint64_t *)p.a + 2 * at, &w.first, &w.second);
        w.first ^= p.flip;
        w.second ^= p.flip;
        return w;
    }
    static __device__ __forceinline__ word last(uint32_t i) { return {UINT64_MAX, UINT64_MAX, i}; }
    static __device__ __forceinline__ uint32_t position(const word &w)
    {
        return (uint32_t)w.position;
    }
    static __device__ __forceinline__ bool before(const word &a, const word &b)
    {
        if (a.first != b.first)
            return a.first < b.first;
        return a.second < b.second || (a.second == b.second && a.position < b.position);
    }
};

/* Sorts every `padded` elements of w, `count` in all, both powers of two. */
template <class W>
static __device__ __forceinline__ void network(typename W::word *w, uint32_t padded, uint32_t count)
{
    for (uint32_t size = 2; size <= padded; size *= 2)
        for (uint32_t half = size / 2; half > 0; half /= 2) {
            for (uint32_t t = threadIdx.x; t < count / 2; t += blockDim.x) {
                uint32_t i = 2 * t - (t & (half - 1)), j = i + half;
                bool falling = (i & (padded - 1) & size) != 0;
                typename W::word x = w[i], y = w[j];
                if (W::before(y, x) != falling) {
                    w[i] = y;
                    w[j] = x;
                }
            }
            __syncthreads();
        }
}

#endif
