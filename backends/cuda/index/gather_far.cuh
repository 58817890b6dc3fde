/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elements of 4 bytes from anywhere in a table that no cache holds: a block puts the indices of a tile in the order of
 * memory, coarsely, before it fetches what they name, since memory gives neighbours sooner than strangers (H200: 1.16
 * times as many elements a second). Indices that lie together already are followed as they are. */
#ifndef NDOCK_CUDA_GATHER_FAR_CUH
#define NDOCK_CUDA_GATHER_FAR_CUH
#include "index/gather.h"
#include "index/status.cuh"

enum { FAR_EACH = GATHER_FAR_TILE / GATHER_FAR_THREADS };
#define FAR_NOWHERE 0xffffffffu

/* The block's shared memory. */
struct far_tile {
    uint32_t from[GATHER_FAR_TILE], value[GATHER_FAR_TILE]; /* from: in the order of memory */
    uint32_t bin[GATHER_FAR_BINS];      /* how many, then where the next one goes */
    uint16_t position[GATHER_FAR_TILE]; /* of `from` within the tile */
    uint32_t warp[32];
};
static_assert(sizeof(far_tile) == GATHER_FAR_BYTES, "the host asks for as much");
static_assert(GATHER_FAR_BINS == GATHER_FAR_THREADS, "each thread has a bin");

/* The thread's indices, and whether many of a block's are near those of their neighbours. */
static __device__ __forceinline__ bool far_load(const gather_params &p, uint64_t tile,
                                                uint32_t (&x)[FAR_EACH])
{
    int64_t index[FAR_EACH];
    int near = 0;
#pragma unroll
    for (int e = 0; e < FAR_EACH; e++) {
        const uint64_t i = tile + e * GATHER_FAR_THREADS + threadIdx.x;
        index[e] = i < p.walk.size ? __ldg((const long long *)p.at + i) : 0;
    }
#pragma unroll
    for (int e = 0; e < FAR_EACH; e++) {
        const uint64_t i = tile + e * GATHER_FAR_THREADS + threadIdx.x;
        const bool bad = cuda_index_is_bad(index[e], p.extent);
        if (bad)
            cuda_index_report(p.status, p.op, p.walk, p.at_stride, i, index[e], p.extent);
        x[e] = bad ? FAR_NOWHERE : (uint32_t)cuda_index_wrap(index[e], p.extent);
        const uint32_t other = __shfl_xor_sync(0xffffffffu, x[e], 1);
        near += (other > x[e] ? other - x[e] : x[e] - other) < 32;
    }
    return __syncthreads_count(near > FAR_EACH / 4) > GATHER_FAR_THREADS / 4;
}

static __device__ __forceinline__ uint32_t far_fetch(const gather_params &p, uint32_t x)
{
    return x == FAR_NOWHERE ? 0 : __ldcg((const uint32_t *)p.table + x);
}

static __device__ __forceinline__ uint32_t far_bin(const gather_params &p, uint32_t x)
{
    return min(x >> p.far_shift, (uint32_t)GATHER_FAR_BINS - 1);
}

/* Counts become where bins begin: a bin is a thread's. */
static __device__ __forceinline__ void far_scan(far_tile &t)
{
    const uint32_t lane = threadIdx.x % 32, own = t.bin[threadIdx.x];
    uint32_t upto = own;
    for (uint32_t h = 1; h < 32; h *= 2) {
        const uint32_t other = __shfl_up_sync(0xffffffffu, upto, h);
        upto += lane >= h ? other : 0;
    }
    if (lane == 31)
        t.warp[threadIdx.x / 32] = upto;
    __syncthreads();
    uint32_t before = 0;
    for (uint32_t w = 0; w < threadIdx.x / 32; w++)
        before += t.warp[w];
    t.bin[threadIdx.x] = before + upto - own;
    __syncthreads();
}

/* t.from and t.position, by bins. */
static __device__ __forceinline__ void far_order(const gather_params &p, far_tile &t,
                                                 const uint32_t (&x)[FAR_EACH])
{
    uint32_t rank[FAR_EACH];
    t.bin[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll
    for (int e = 0; e < FAR_EACH; e++)
        rank[e] = atomicAdd(&t.bin[far_bin(p, x[e])], 1);
    __syncthreads();
    far_scan(t);
#pragma unroll
    for (int e = 0; e < FAR_EACH; e++) {
        const uint32_t at = t.bin[far_bin(p, x[e])] + rank[e];
        t.from[at] = x[e];
        t.position[at] = (uint16_t)(e * GATHER_FAR_THREADS + threadIdx.x);
    }
    __syncthreads();
}

static __device__ __forceinline__ void gather_tile(const gather_params &p, far_tile &t,
                                                   uint64_t tile)
{
    uint32_t x[FAR_EACH], v[FAR_EACH];
    const bool near = far_load(p, tile, x);
    if (!near) {
        far_order(p, t, x);
#pragma unroll
        for (int e = 0; e < FAR_EACH; e++)
            x[e] = t.from[e * GATHER_FAR_THREADS + threadIdx.x];
    }
#pragma unroll
    for (int e = 0; e < FAR_EACH; e++)
        v[e] = far_fetch(p, x[e]);
    if (!near) {
#pragma unroll
        for (int e = 0; e < FAR_EACH; e++)
            t.value[t.position[e * GATHER_FAR_THREADS + threadIdx.x]] = v[e];
        __syncthreads();
#pragma unroll
        for (int e = 0; e < FAR_EACH; e++)
            v[e] = t.value[e * GATHER_FAR_THREADS + threadIdx.x];
    }
#pragma unroll
    for (int e = 0; e < FAR_EACH; e++) {
        const uint64_t i = tile + e * GATHER_FAR_THREADS + threadIdx.x;
        if (i < p.walk.size)
            ((uint32_t *)p.value)[i] = v[e];
    }
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
        gather_tile(p, t, tile);
}

#endif
