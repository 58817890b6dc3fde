/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * In place of backends/cuda/neural/mma.cuh, for kernels that emulate.h runs: pieces of shared memory and products
 * of tensor cores, whose operands lanes of a warp hand each other by shuffles. Copies to shared memory arrive at
 * once. */
#ifndef NDOCK_TESTS_CUDA_EMULATE_MMA_H
#define NDOCK_TESTS_CUDA_EMULATE_MMA_H
#define NDOCK_CUDA_MMA_CUH
#include "tests/cuda/emulate_types.h"

#define MMA_FN static inline
typedef uint32_t mma_address;
MMA_FN mma_address mma_address_of(const void *shared)
{
    return (mma_address)((const char *)shared - emulated_shared);
}
/* Addresses that are not aligned are no one's: what lies there is not what was asked for. */
static inline char *emulated_at(mma_address at, uint32_t size)
{
    return emulated_shared + at / size * size;
}
MMA_FN void mma_fetch(mma_address to, const void *from, bool inside)
{
    static const char zeros[16] = {};
    memcpy(emulated_at(to, 16), inside ? (const char *)from : zeros, 16);
}
MMA_FN void mma_fetch_word(mma_address to, const void *from, bool inside)
{
    static const char zeros[4] = {};
    memcpy(emulated_at(to, 4), inside ? (const char *)from : zeros, 4);
}
MMA_FN void mma_four(float (&x)[4], mma_address at)
{
    memcpy(x, emulated_at(at, 16), 16);
}
MMA_FN void mma_commit(void) {}
template <int N> MMA_FN void mma_wait(void) {}

/* Lane l names row l%8 of piece l/8, and gets elements 2*(l%4) and the next of row l/4 of each. */
MMA_FN void mma_load(uint32_t (&r)[4], mma_address at)
{
    const int lane = (int)(emulated_thread.x % 32);
    for (int k = 0; k < 4; k++) {
        const mma_address row = __shfl_sync(0xffffffffu, at, k * 8 + lane / 4);
        memcpy(&r[k], emulated_at(row, 16) + lane % 4 * 4, 4);
    }
}

/* What a lane has of both operands, for the others of its warp: two places, used by turns, as emulated_exchange() has. */
struct emulated_operands {
    uint32_t a[4], b[2];
};
static inline const emulated_operands *emulated_share(const uint32_t (&a)[4], uint32_t b0,
                                                      uint32_t b1)
{
    static emulated_operands places[2][1024];
    static unsigned turns[1024];
    const unsigned thread = emulated_thread.x, turn = turns[thread]++ % 2;
    places[turn][thread] = {{a[0], a[1], a[2], a[3]}, {b0, b1}};
    emulated_barrier();
    return places[turn] + thread / 32 * 32;
}

static inline float emulated_number(uint32_t pair, int which)
{
    return __bfloat162float({(uint16_t)(pair >> (16 * which))});
}
/* Elements (i, k) of the left operand, (k, j) of the right one, by PTX ISA's figures. */
template <class T>
MMA_FN void mma_multiply(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    const int lane = (int)(emulated_thread.x % 32);
    const emulated_operands *const warp = emulated_share(a, b0, b1);
    double sum[4] = {c[0], c[1], c[2], c[3]};
    for (int four = 0; four < 4; four++) /* lanes of a row that have k = 2*four, + 1, + 8, + 9 */
        for (int o = 0; o < 4; o++)
            for (int k = 0; k < 4; k++) {
                const emulated_operands &left = warp[lane / 4 * 4 + four],
                                        &right = warp[(lane % 4 * 2 + o % 2) * 4 + four];
                sum[o] += (double)emulated_number(left.a[o / 2 + k / 2 * 2], k % 2) *
                          (double)emulated_number(right.b[k / 2], k % 2);
            }
    for (int o = 0; o < 4; o++)
        c[o] = (float)sum[o];
}

/* TF32: tensor cores read no more bits of their operands. Lane l has columns l%4 and l%4 + 4 of rows l/4 and l/4 + 8 of
 * the left operand, and those rows of column l/4 of the right one. */
static inline double emulated_tf32(uint32_t bits)
{
    return (double)__uint_as_float(bits & 0xffffe000u);
}
MMA_FN void mma_multiply_tf32(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    const int lane = (int)(emulated_thread.x % 32);
    const emulated_operands *const warp = emulated_share(a, b0, b1);
    double sum[4] = {c[0], c[1], c[2], c[3]};
    for (int four = 0; four < 4; four++)
        for (int o = 0; o < 4; o++)
            for (int k = 0; k < 2; k++) {
                const emulated_operands &left = warp[lane / 4 * 4 + four],
                                        &right = warp[(lane % 4 * 2 + o % 2) * 4 + four];
                sum[o] += emulated_tf32(left.a[o / 2 + 2 * k]) * emulated_tf32(right.b[k]);
            }
    for (int o = 0; o < 4; o++)
        c[o] = (float)sum[o];
}
MMA_FN void mma_begin_tf32(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    for (int o = 0; o < 4; o++)
        c[o] = 0;
    mma_multiply_tf32(c, a, b0, b1);
}
MMA_FN void mma_split_tf32(float x, uint32_t *high, uint32_t *low)
{
    *high = (__float_as_uint(x) + 0x1000u) & 0xffffe000u;
    *low = __float_as_uint(x - __uint_as_float(*high));
}

#endif
