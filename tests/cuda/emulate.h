/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Enough of CUDA C++ for kernels to be compiled for the host and run there, a block at a time: its
 * threads are contexts of their own that take turns at barriers, forwards and backwards by turns,
 * so that a barrier that is left out shows. */
#ifndef NDOCK_TESTS_CUDA_EMULATE_H
#define NDOCK_TESTS_CUDA_EMULATE_H
#include <stdint.h>

struct emulated_place {
    unsigned x, y, z;
};
extern struct emulated_place emulated_thread, emulated_block, emulated_threads, emulated_blocks;
extern char emulated_shared[];
enum { EMULATED_SHARED = 227 << 10, EMULATED_CLUSTER = 8 };
/* Runs one thread after another, and `cluster` neighbouring blocks at a time; kernel(params) is a
 * kernel. 0, or -1 where threads of one warp do not meet at the same barriers. */
int emulated_launch(void (*kernel)(const void *), const void *params, struct emulated_place blocks,
                    unsigned threads, unsigned cluster = 1);
extern unsigned emulated_cluster;    /* blocks that run at once */
void emulated_barrier(void);         /* of a warp */
void emulated_block_barrier(void);   /* of all threads that have not ended */
void emulated_cluster_barrier(void); /* of those of all blocks of the cluster */
/* Room for what a thread shows the others of its warp: two places, used by turns, so that it may go
 * on to the next exchange while others still read. */
void *emulated_exchange(unsigned thread);
void emulated_next_exchange(void);

#define __global__
#define __device__
#define __shared__ static
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __grid_constant__
#define threadIdx emulated_thread
#define blockIdx emulated_block
#define blockDim emulated_threads
#define gridDim emulated_blocks
#define __cluster_dims__(...)
#define LIN_SHARED(name) char *const name = emulated_shared_of(emulated_block.x)
#define __syncthreads emulated_block_barrier
#define __syncwarp emulated_barrier
#define lin_cluster_sync emulated_cluster_barrier

/* The shared memory of a block, whose cluster's first one has a number that is a multiple of its size. */
static inline char *emulated_shared_of(unsigned block)
{
    return emulated_shared + block % emulated_cluster * EMULATED_SHARED;
}
template <class X> static inline X *lin_cluster_at(X *here, int block)
{
    return (X *)((char *)here - emulated_shared_of(emulated_block.x) +
                 emulated_shared_of((unsigned)block));
}

template <class T> static inline T emulated_shuffle(T x, unsigned lane)
{
    *(T *)emulated_exchange(emulated_thread.x) = x;
    emulated_barrier();
    const T there = *(const T *)emulated_exchange(emulated_thread.x / 32 * 32 + lane % 32);
    emulated_next_exchange();
    return there;
}
template <class T> static inline T __shfl_sync(unsigned, T x, int lane)
{
    return emulated_shuffle(x, (unsigned)lane);
}
template <class T> static inline T __shfl_xor_sync(unsigned, T x, int apart)
{
    return emulated_shuffle(x, emulated_thread.x % 32 ^ (unsigned)apart);
}
template <class T> static inline T __shfl_up_sync(unsigned, T x, int apart)
{
    const unsigned lane = emulated_thread.x % 32, from = lane - (unsigned)apart;
    return emulated_shuffle(x, lane < (unsigned)apart ? lane : from);
}
template <class T> static inline T __shfl_down_sync(unsigned, T x, int apart, int width)
{
    const unsigned lane = emulated_thread.x % 32, to = lane + (unsigned)apart;
    return emulated_shuffle(x, lane / (unsigned)width == to / (unsigned)width ? to : lane);
}
static inline uint32_t __ballot_sync(unsigned, bool mine)
{
    uint32_t all = 0;
    *(bool *)emulated_exchange(emulated_thread.x) = mine;
    emulated_barrier();
    for (unsigned lane = 0; lane < 32; lane++)
        all |= (uint32_t) * (const bool *)emulated_exchange(emulated_thread.x / 32 * 32 + lane)
               << lane;
    emulated_next_exchange();
    return all;
}
/* Whether any thread of the block has it. */
static inline int __syncthreads_or(int mine)
{
    static int any;
    emulated_block_barrier();
    any = 0;
    emulated_block_barrier();
    any |= mine != 0;
    emulated_block_barrier();
    return any;
}
static inline uint32_t __reduce_max_sync(unsigned, uint32_t x)
{
    for (int apart = 16; apart > 0; apart /= 2) {
        const uint32_t other = __shfl_xor_sync(0, x, apart);
        x = other > x ? other : x;
    }
    return x;
}
static inline uint32_t __float_as_uint(float x)
{
    uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}
static inline float __uint_as_float(uint32_t bits)
{
    float x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}
static inline long long __double_as_longlong(double x)
{
    long long bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}
static inline uint32_t __umulhi(uint32_t a, uint32_t b)
{
    return (uint32_t)((uint64_t)a * b >> 32);
}
static inline int __popc(uint32_t x)
{
    return __builtin_popcount(x);
}
static inline int __clzll(long long x)
{
    return x ? __builtin_clzll((unsigned long long)x) : 64;
}
static inline int __ffs(uint32_t x)
{
    return __builtin_ffs((int)x);
}

template <class T> static inline T atomicAdd(T *at, T x)
{
    const T before = *at;
    *at = before + x;
    return before;
}
template <class T> static inline T atomicMin(T *at, T x)
{
    const T before = *at;
    *at = x < before ? x : before;
    return before;
}
template <class T> static inline T atomicMax(T *at, T x)
{
    const T before = *at;
    *at = x > before ? x : before;
    return before;
}
template <class T> static inline T atomicOr(T *at, T x)
{
    const T before = *at;
    *at = before | x;
    return before;
}
template <class T> static inline T atomicCAS(T *at, T is, T becomes)
{
    const T before = *at;
    *at = before == is ? becomes : before;
    return before;
}
#endif
