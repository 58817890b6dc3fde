/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Kernels of whole warps on the host: what emulate.h has, and shuffles, votes, copies to shared
 * memory and the products of tensor cores, whose operands threads of a warp hand each other at
 * barriers. It stands in place of backends/cuda/neural/mma.cuh. */
#ifndef NDOCK_TESTS_CUDA_EMULATE_WARP_H
#define NDOCK_TESTS_CUDA_EMULATE_WARP_H
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#undef __global__
#undef __device__
#undef __shared__
#undef __forceinline__
#undef __noinline__
#undef __launch_bounds__
#undef __grid_constant__
#define __global__
#define __device__
#define __shared__ static
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __grid_constant__

struct warp_place {
    unsigned x, y, z;
};
extern struct warp_place warp_thread, warp_block, warp_threads, warp_blocks;
enum { WARP_SHARED = 230 << 10, WARP_WORDS = 16 };
extern char warp_shared[];
#define threadIdx warp_thread
#define blockIdx warp_block
#define blockDim warp_threads
#define gridDim warp_blocks

/* Runs a grid, one block after another; 0, or -1 where threads wait for each other for ever, or
 * copies have not arrived when their block ends. */
int warp_launch(void (*kernel)(const void *), const void *params, struct warp_place blocks,
                unsigned threads);
void warp_block_barrier(void);
void warp_barrier(void);
/* What the lanes of the calling warp have for each other: each writes its own, and reads others'
 * after a barrier. Calls alternate between two such places, so that one barrier is enough. */
uint32_t (*warp_slots(void))[WARP_WORDS];
#define __syncthreads warp_block_barrier
int warp_block_any(int x);
#define __syncthreads_or warp_block_any
#define __syncwarp warp_barrier

template <class V> static inline V warp_from(V x, int lane)
{
    static_assert(sizeof(V) <= WARP_WORDS * 4, "a slot");
    V r;
    uint32_t(*slot)[WARP_WORDS] = warp_slots();
    memcpy(slot[threadIdx.x % 32], &x, sizeof x);
    warp_barrier();
    memcpy(&r, slot[lane], sizeof r);
    return r;
}
template <class V> static inline V __shfl_xor_sync(unsigned, V x, int by, int = 32)
{
    return warp_from(x, (int)(threadIdx.x % 32) ^ by);
}
template <class V> static inline V __shfl_sync(unsigned, V x, int lane, int = 32)
{
    return warp_from(x, lane);
}
static inline int __any_sync(unsigned, int x)
{
    for (int h = 16; h; h /= 2)
        x |= warp_from(x, (int)(threadIdx.x % 32) ^ h);
    return x;
}
static inline float __fdiv_rn(float a, float b)
{
    return a / b;
}
static inline float __fsqrt_rn(float a)
{
    return sqrtf(a);
}
static inline float __fmaf_rn(float a, float b, float c)
{
    return fmaf(a, b, c);
}
static inline double __fma_rn(double a, double b, double c)
{
    return fma(a, b, c);
}
static inline uint32_t __umulhi(uint32_t a, uint32_t b)
{
    return (uint32_t)((uint64_t)a * b >> 32);
}
static inline float __int_as_float(int x)
{
    float r;
    memcpy(&r, &x, sizeof r);
    return r;
}
static inline uint32_t __float_as_uint(float x)
{
    uint32_t r;
    memcpy(&r, &x, sizeof r);
    return r;
}
static inline float __uint_as_float(uint32_t x)
{
    float r;
    memcpy(&r, &x, sizeof r);
    return r;
}
static inline double __longlong_as_double(long long x)
{
    double r;
    memcpy(&r, &x, sizeof r);
    return r;
}

/* ---- mma.cuh ---- */
#define NDOCK_CUDA_MMA_CUH
#include "math/types.cuh"
#define MMA_FN static inline
#define MMA_SHARED(name) char *const name = warp_shared
#define MMA_OPAQUE(x) (void)(x)
typedef uint32_t mma_address;
MMA_FN mma_address mma_address_of(const void *shared)
{
    return (mma_address)((const char *)shared - warp_shared);
}
/* The address of so many bytes; NULL, and the launch fails, where they are not aligned or not
 * inside. */
char *warp_at(mma_address at, unsigned nbytes);
/* Copies of the thread: queued, put into a group, and done. */
void warp_copy(mma_address to, const void *from, unsigned nbytes, bool inside);
void warp_copies_commit(void);
void warp_copies_wait(int but);

static inline void warp_load(uint32_t (&r)[4], mma_address at, bool turned)
{
    const int lane = (int)(threadIdx.x % 32);
    uint32_t(*slot)[WARP_WORDS] = warp_slots();
    memcpy(slot[lane], warp_at(at, 16), 16);
    warp_barrier();
    for (int k = 0; k < 4; k++) {
        uint16_t pair[2];
        for (int h = 0; h < 2; h++) {
            const int row = turned ? lane % 4 * 2 + h : lane / 4,
                      column = turned ? lane / 4 : lane % 4 * 2 + h;
            memcpy(&pair[h], (const char *)slot[k * 8 + row] + 2 * column, 2);
        }
        memcpy(&r[k], pair, 4);
    }
}
MMA_FN void mma_load(uint32_t (&r)[4], mma_address at)
{
    warp_load(r, at, false);
}
MMA_FN void mma_load_turned(uint32_t (&r)[4], mma_address at)
{
    warp_load(r, at, true);
}
static inline float warp_number(uint32_t pair, int which, __half)
{
    __half x;
    const uint16_t bits = (uint16_t)(pair >> (16 * which));
    memcpy((void *)&x, &bits, 2);
    return __half2float(x);
}
static inline float warp_number(uint32_t pair, int which, __nv_bfloat16)
{
    float x;
    const uint32_t bits = pair >> (16 * which) << 16;
    memcpy(&x, &bits, 4);
    return x;
}
/* Element (i, k) of the left operand, (k, j) of the right one, by PTX ISA's figures. */
template <class T>
MMA_FN void mma_multiply(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    const int lane = (int)(threadIdx.x % 32);
    uint32_t(*slot)[WARP_WORDS] = warp_slots();
    memcpy(slot[lane], a, 16);
    slot[lane][4] = b0;
    slot[lane][5] = b1;
    warp_barrier();
    for (int o = 0; o < 4; o++) {
        const int i = lane / 4 + o / 2 * 8, j = lane % 4 * 2 + o % 2;
        double sum = c[o];
        for (int k = 0; k < 16; k++) {
            const uint32_t x = slot[i % 8 * 4 + k % 8 / 2][i / 8 + k / 8 * 2],
                           y = slot[j * 4 + k % 8 / 2][4 + k / 8];
            sum += (double)warp_number(x, k % 2, T()) * (double)warp_number(y, k % 2, T());
        }
        c[o] = (float)sum;
    }
}
/* The same of TF32, whose sums are cut off. */
MMA_FN void mma_multiply_tf32(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    const int lane = (int)(threadIdx.x % 32);
    uint32_t(*slot)[WARP_WORDS] = warp_slots();
    memcpy(slot[lane], a, 16);
    slot[lane][4] = b0;
    slot[lane][5] = b1;
    warp_barrier();
    for (int o = 0; o < 4; o++) {
        const int i = lane / 4 + o / 2 * 8, j = lane % 4 * 2 + o % 2;
        double sum = c[o];
        for (int k = 0; k < 8; k++)
            sum += (double)__uint_as_float(slot[i % 8 * 4 + k % 4][i / 8 + k / 4 * 2] & ~0x1fffu) *
                   (double)__uint_as_float(slot[j * 4 + k % 4][4 + k / 4] & ~0x1fffu);
        const float near = (float)sum;
        c[o] = fabs((double)near) > fabs(sum) ? nextafterf(near, 0) : near;
    }
}
MMA_FN void mma_split_tf32(float x, uint32_t *high, uint32_t *low)
{
    *high = (__float_as_uint(x) + 0x1000u) & 0xffffe000u;
    *low = __float_as_uint(x - __uint_as_float(*high));
}
MMA_FN void mma_begin_tf32(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    c[0] = c[1] = c[2] = c[3] = 0;
    mma_multiply_tf32(c, a, b0, b1);
}
template <class T> MMA_FN uint32_t mma_pack(float low, float high)
{
    T pair[2];
    uint32_t r;
    pair[0] = (T)low;
    pair[1] = (T)high;
    memcpy(&r, (const void *)pair, 4);
    return r;
}
MMA_FN void mma_fetch(mma_address to, const void *from, bool inside)
{
    warp_copy(to, from, 16, inside);
}
MMA_FN void mma_fetch_word(mma_address to, const void *from, bool inside)
{
    warp_copy(to, from, 4, inside);
}
MMA_FN float mma_word(mma_address at)
{
    float x;
    memcpy(&x, warp_at(at, 4), 4);
    return x;
}
MMA_FN void mma_pair(float (&x)[2], mma_address at)
{
    memcpy(x, warp_at(at, 8), 8);
}
MMA_FN void mma_four(float (&x)[4], mma_address at)
{
    memcpy(x, warp_at(at, 16), 16);
}
MMA_FN void mma_store(mma_address to, const uint32_t (&x)[4])
{
    memcpy(warp_at(to, 16), x, 16);
}
MMA_FN void mma_commit(void)
{
    warp_copies_commit();
}
template <int N> MMA_FN void mma_wait(void)
{
    warp_copies_wait(N);
}
/* Blocks run one after another: a turn that has not come never does. */
MMA_FN void mma_turn_await(const uint32_t *whose, uint32_t turn)
{
    if (*whose != turn)
        abort();
}
MMA_FN void mma_turn_pass(uint32_t *whose, uint32_t to)
{
    *whose = to;
}
MMA_FN float mma_exp2(float x)
{
    return exp2f(x);
}
MMA_FN float mma_reciprocal(float x)
{
    return 1 / x;
}
#endif
