/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elements of 4 bytes from anywhere in a table that no cache holds: a block puts the indices of a tile in the order of
 * memory, coarsely, before it fetches what they name. All blocks then read the same part of the table at about the same
 * time. Indices that lie together already are followed as they are. */
#ifndef NDOCK_CUDA_GATHER_FAR_CUH
#define NDOCK_CUDA_GATHER_FAR_CUH
#include "index/gather.h"
#include "index/status.cuh"

enum { FAR_EACH = GATHER_FAR_TILE / GATHER_FAR_THREADS, FAR_AT_ONCE = 16 };
#define FAR_NOWHERE 0xffffffffu

/* The block's shared memory. */
struct far_tile {
    uint32_t word
        [GATHER_FAR_TILE]; /* places in the order of memory, then elements in the order of indices */
    uint16_t position[GATHER_FAR_TILE]; /* of the index within the tile */
    uint32_t bin[GATHER_FAR_BINS];      /* how many, then where the next one goes */
    uint32_t warp[GATHER_FAR_BINS / 32];
};
static_assert(sizeof(far_tile) == GATHER_FAR_BYTES, "the host asks for as much");
static_assert(GATHER_FAR_TILE <= 1 << 16, "positions have 16 bits");

/* Where index i points to, FAR_NOWHERE if it is bad. */
static __device__ __forceinline__ uint32_t far_place(const gather_params &p, uint64_t i,
                                                     int64_t index)
{
    if (!cuda_index_is_bad(index, p.extent))
        return (uint32_t)cuda_index_wrap(index, p.extent);
    cuda_index_report(p.status, p.op, p.walk, p.at_stride, i, index, p.extent);
    return FAR_NOWHERE;
}

/* Indices of a thread that are under way at once, from the tile's `first` on; of a tile of n. */
static __device__ __forceinline__ void far_load(const gather_params &p, uint64_t tile,
                                                uint32_t first, uint32_t n,
                                                int64_t (&index)[FAR_AT_ONCE])
{
#pragma unroll
    for (int e = 0; e < FAR_AT_ONCE; e++) {
        const uint32_t i = first + e * GATHER_FAR_THREADS;
        index[e] = i < n ? __ldg((const long long *)p.at + tile + i) : 0;
    }
}

/* Calls use(position, place) for each of the thread's indices of a tile of n, several of which are under way at once. */
template <class USE>
static __device__ __forceinline__ void far_indices(const gather_params &p, uint64_t tile,
                                                   uint32_t n, USE use)
{
#pragma unroll 1
    for (uint32_t first = threadIdx.x; first < n; first += FAR_AT_ONCE * GATHER_FAR_THREADS) {
        int64_t index[FAR_AT_ONCE];
        far_load(p, tile, first, n, index);
#pragma unroll
        for (int e = 0; e < FAR_AT_ONCE; e++) {
            const uint32_t i = first + e * GATHER_FAR_THREADS;
            if (i < n)
                use(i, far_place(p, tile + i, index[e]));
        }
    }
}

static __device__ __forceinline__ uint32_t far_bin(const gather_params &p, uint32_t place)
{
    return min(place >> p.far_shift, (uint32_t)GATHER_FAR_BINS - 1);
}

/* Counts become where bins begin: a bin is a thread's. */
static __device__ __forceinline__ void far_scan(far_tile &t)
{
    const uint32_t lane = threadIdx.x % 32, w = threadIdx.x / 32;
    const bool mine = threadIdx.x < GATHER_FAR_BINS;
    const uint32_t own = mine ? t.bin[threadIdx.x] : 0;
    uint32_t upto = own, before = 0;
    for (uint32_t h = 1; h < 32; h *= 2) {
        const uint32_t other = __shfl_up_sync(0xffffffffu, upto, h);
        upto += lane >= h ? other : 0;
    }
    if (mine && lane == 31)
        t.warp[w] = upto;
    __syncthreads();
    for (uint32_t v = 0; mine && v < w; v++)
        before += t.warp[v];
    if (mine)
        t.bin[threadIdx.x] = before + upto - own;
    __syncthreads();
}

/* t.word and t.position, by bins. */
static __device__ __forceinline__ void far_order(const gather_params &p, far_tile &t, uint64_t tile,
                                                 uint32_t n)
{
    if (threadIdx.x < GATHER_FAR_BINS)
        t.bin[threadIdx.x] = 0;
    __syncthreads();
    far_indices(p, tile, n,
                [&](uint32_t, uint32_t place) { atomicAdd(&t.bin[far_bin(p, place)], 1u); });
    __syncthreads();
    far_scan(t);
    far_indices(p, tile, n, [&](uint32_t i, uint32_t place) {
        const uint32_t to = atomicAdd(&t.bin[far_bin(p, place)], 1u);
        t.word[to] = place;
        t.position[to] = (uint16_t)i;
    });
    __syncthreads();
}

/* Elements in place of t.word, in the order of the indices. All of a thread's are under way at once. */
static __device__ __forceinline__ void far_fetch(const gather_params &p, far_tile &t, uint32_t n)
{
    uint32_t x[FAR_EACH];
#pragma unroll
    for (int e = 0; e < FAR_EACH; e++) {
        const uint32_t i = e * GATHER_FAR_THREADS + threadIdx.x;
        const uint32_t place = i < n ? t.word[i] : FAR_NOWHERE;
        x[e] = place == FAR_NOWHERE ? 0 : __ldcg((const uint32_t *)p.table + place);
    }
    __syncthreads();
#pragma unroll
    for (int e = 0; e < FAR_EACH; e++) {
        const uint32_t i = e * GATHER_FAR_THREADS + threadIdx.x;
        if (i < n)
            t.word[t.position[i]] = x[e];
    }
    __syncthreads();
}

/* Whether many of the tile's indices are near their neighbours', by one of each thread's. */
static __device__ __forceinline__ bool far_is_near(const gather_params &p, uint64_t tile,
                                                   uint32_t n)
{
    const long long *at = (const long long *)p.at + tile;
    const uint32_t i = threadIdx.x * 32;
    const int64_t apart = i + 1 < n ? at[i + 1] - at[i] : 0;
    return __syncthreads_count(apart >= -32 && apart <= 32) > GATHER_FAR_THREADS / 4;
}

/* Elements of indices as they are. */
static __device__ __forceinline__ void far_follow(const gather_params &p, uint64_t tile, uint32_t n)
{
    uint32_t *value = (uint32_t *)p.value + tile;
#pragma unroll 1
    for (uint32_t first = threadIdx.x; first < n; first += FAR_AT_ONCE * GATHER_FAR_THREADS) {
        uint32_t x[FAR_AT_ONCE];
        int64_t index[FAR_AT_ONCE];
        far_load(p, tile, first, n, index);
#pragma unroll
        for (int e = 0; e < FAR_AT_ONCE; e++) {
            const uint32_t i = first + e * GATHER_FAR_THREADS;
            const uint32_t place = i < n ? far_place(p, tile + i, index[e]) : FAR_NOWHERE;
            x[e] = place == FAR_NOWHERE ? 0 : ((const uint32_t *)p.table)[place];
        }
#pragma unroll
        for (int e = 0; e < FAR_AT_ONCE; e++)
            if (first + e * GATHER_FAR_THREADS < n)
                value[first + e * GATHER_FAR_THREADS] = x[e];
    }
}

static __device__ __forceinline__ void far_tile_of(const gather_params &p, far_tile &t,
                                                   uint64_t tile, uint32_t n)
{
    if (far_is_near(p, tile, n)) {
        far_follow(p, tile, n);
        return;
    }
    far_order(p, t, tile, n);
    far_fetch(p, t, n);
    for (uint32_t i = threadIdx.x; i < n; i += GATHER_FAR_THREADS)
        __stcs((uint32_t *)p.value + tile + i, t.word[i]);
    __syncthreads();
}

/* One dimension, all dense. */
extern "C" __global__ void __launch_bounds__(GATHER_FAR_THREADS, 1)
    gather_far(const __grid_constant__ gather_params p)
{
    extern __shared__ __align__(16) unsigned char memory[];
    far_tile &t = *(far_tile *)memory;
    for (uint64_t tile = (uint64_t)blockIdx.x * GATHER_FAR_TILE; tile < p.walk.size;
         tile += (uint64_t)gridDim.x * GATHER_FAR_TILE)
        far_tile_of(p, t, tile, (uint32_t)min((uint64_t)GATHER_FAR_TILE, p.walk.size - tile));
}

#endif
