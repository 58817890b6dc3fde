/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The generator and the distributions of plugin.h, ndp_random, with the CPU plug-in's bits.
 * Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, SC11. */
#ifndef NDOCK_CUDA_RANDOM_CUH
#define NDOCK_CUDA_RANDOM_CUH
#include "copy/convert.cuh"
#include "random/normal.cuh"
#include "random/random.h"

struct random_block {
    uint32_t w[4];
};

/* Rounds first ... 9. */
RANDOM_FN void random_rounds(const random_params &p, int first, random_block &x)
{
#pragma unroll
    for (int round = first; round < RANDOM_ROUNDS; round++) {
        uint64_t product0 = (uint64_t)RANDOM_M0 * x.w[0];
        uint64_t product1 = (uint64_t)RANDOM_M1 * x.w[2];
        x.w[0] = (uint32_t)(product1 >> 32) ^ x.w[1] ^ p.round_key[0][round];
        x.w[1] = (uint32_t)product1;
        x.w[2] = (uint32_t)(product0 >> 32) ^ x.w[3] ^ p.round_key[1][round];
        x.w[3] = (uint32_t)product0;
    }
}

/* Philox 4x32-10 of counter + step, carry included. */
RANDOM_FN random_block random_philox(const random_params &p, uint64_t step)
{
    uint64_t low = p.counter[0] + step, high = p.counter[1] + (low < step);
    random_block x = {
        {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)}};
    random_rounds(p, 0, x);
    return x;
}
/* The same where no carry leaves the low word: what depends on the others alone is in p.known, and
 * with it a half of the first round and of the second, and a part of the third. */
RANDOM_FN random_block random_philox_low(const random_params &p, uint32_t step)
{
    uint64_t product0 = (uint64_t)RANDOM_M0 * ((uint32_t)p.counter[0] + step);
    uint64_t product1 = (uint64_t)RANDOM_M1 * ((uint32_t)(product0 >> 32) ^ p.known[0]);
    uint32_t w0 = (uint32_t)(product1 >> 32) ^ p.known[1], w1 = (uint32_t)product1;
    uint32_t w2 = (uint32_t)product0 ^ p.known[2];
    product0 = (uint64_t)RANDOM_M0 * w0;
    product1 = (uint64_t)RANDOM_M1 * w2;
    random_block x = {{(uint32_t)(product1 >> 32) ^ w1 ^ p.round_key[0][2], (uint32_t)product1,
                       (uint32_t)(product0 >> 32) ^ p.known[3], (uint32_t)product0}};
    random_rounds(p, 3, x);
    return x;
}
RANDOM_FN uint64_t random_word64(const random_block &x, int i)
{
    return x.w[2 * i] | (uint64_t)x.w[2 * i + 1] << 32;
}

/* ---- uniform ---- */
RANDOM_FN float random_uniform(const random_params &p, uint32_t w)
{
    float x = p.a_f32 + (float)(int32_t)(w >> 8) * 0x1p-24f * p.range_f32;
    return x > p.below_f32 ? p.below_f32 : x;
}
RANDOM_FN double random_uniform(const random_params &p, uint64_t w)
{
    double x = p.a + (double)(int64_t)(w >> 11) * 0x1p-53 * p.range;
    return x > p.below ? p.below : x;
}
/* Where the product is exact, and no result needs the limit. */
RANDOM_FN float random_plain(const random_params &p, uint32_t w)
{
    return __fmaf_rn((float)(int32_t)(w >> 8), p.range_f32 * 0x1p-24f, p.a_f32);
}
RANDOM_FN double random_plain(const random_params &p, uint64_t w)
{
    return __fma_rn((double)(int64_t)(w >> 11), p.range * 0x1p-53, p.a);
}

/* ---- integers ---- */
RANDOM_FN uint32_t random_integer(const random_params &p, uint32_t w)
{
    uint32_t scaled = (uint32_t)((uint64_t)w * (uint32_t)p.width >> 32);
    bool whole = p.width == 0 || p.width > 0xffffffffull;
    return (uint32_t)p.low + (whole ? w : scaled);
}
RANDOM_FN uint64_t random_integer(const random_params &p, uint64_t w)
{
    return p.low + (p.width == 0 ? w : __umul64hi(w, p.width));
}

/* ---- a block's values, before they are stored: whether they are sure. Where they are not sure,
 * RANDOM_EXACT in place of RANDOM_NORMAL or RANDOM_STANDARD gives them. RANDOM_STANDARD: normal
 * deviates whose deviation is 1 and whose mean is not -0, so that signs of zeros do not show; RANDOM_MANY: so many of
 * these that a table of directions is worth while. ---- */
enum {
    RANDOM_UNIFORM,
    RANDOM_PLAIN,
    RANDOM_NORMAL,
    RANDOM_STANDARD,
    RANDOM_MANY,
    RANDOM_EXACT,
    RANDOM_INTEGERS
};

template <int KIND>
RANDOM_FN bool random_normals(const random_params &p, const random_tables &k, const random_block &x,
                              float v[4])
{
    const bool standard = KIND == RANDOM_STANDARD || KIND == RANDOM_MANY;
    bool sure = true;
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
        if (KIND == RANDOM_EXACT)
            cuda_random_normal_f32(x.w[i], x.w[i + 1], &v[i], &v[i + 1]);
        else if (KIND == RANDOM_MANY)
            sure &= (int)random_normal_directed(k, x.w[i], x.w[i + 1], &v[i]);
        else
            sure &= (int)random_normal_near(k, x.w[i], x.w[i + 1], &v[i]) &
                    (int)(standard || x.w[i] < 0xffffff00u);
        v[i] = p.a_f32 + (standard ? v[i] : p.range_f32 * v[i]);
        v[i + 1] = p.a_f32 + (standard ? v[i + 1] : p.range_f32 * v[i + 1]);
    }
    return sure;
}

template <int KIND>
RANDOM_FN bool random_values(const random_params &p, const random_tables &k, const random_block &x,
                             float v[4])
{
    if constexpr (KIND == RANDOM_NORMAL || KIND == RANDOM_STANDARD || KIND == RANDOM_MANY ||
                  KIND == RANDOM_EXACT)
        return random_normals<KIND>(p, k, x, v);
    else
#pragma unroll
        for (int i = 0; i < 4; i++)
            v[i] = KIND == RANDOM_PLAIN ? random_plain(p, x.w[i]) : random_uniform(p, x.w[i]);
    return true;
}
template <int KIND>
RANDOM_FN bool random_values(const random_params &p, const random_tables &, const random_block &x,
                             double v[2])
{
    uint64_t w[2] = {random_word64(x, 0), random_word64(x, 1)};
    if constexpr (KIND == RANDOM_NORMAL || KIND == RANDOM_STANDARD) {
        double z[2];
        cuda_random_normal_f64(w[0], w[1], &z[0], &z[1]);
        v[0] = p.a + p.range * z[0];
        v[1] = p.a + p.range * z[1];
    } else {
#pragma unroll
        for (int i = 0; i < 2; i++)
            v[i] = KIND == RANDOM_PLAIN ? random_plain(p, w[i]) : random_uniform(p, w[i]);
    }
    return true;
}
template <int KIND>
RANDOM_FN bool random_values(const random_params &p, const random_tables &, const random_block &x,
                             uint32_t v[4])
{
#pragma unroll
    for (int i = 0; i < 4; i++)
        v[i] = random_integer(p, x.w[i]);
    return true;
}
template <int KIND>
RANDOM_FN bool random_values(const random_params &p, const random_tables &, const random_block &x,
                             uint64_t v[2])
{
#pragma unroll
    for (int i = 0; i < 2; i++)
        v[i] = random_integer(p, random_word64(x, i));
    return true;
}

#endif
