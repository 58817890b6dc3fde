/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The generator and the distributions of plugin.h, ndp_random, with the CPU plug-in's bits.
 * Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, SC11. */
#ifndef NDOCK_CUDA_RANDOM_CUH
#define NDOCK_CUDA_RANDOM_CUH
#include "copy/convert.cuh"
#include "math/random.cuh"
#include "random/logarithm.cuh"
#include "random/random.h"

#define RANDOM_FN static __device__ __forceinline__

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

/* ---- normal, f32 ----
 * The CPU's sequence of basic operations in f64, rounded to f32 once, decides every bit. What runs
 * first is quicker, with fused multiplications, a logarithm by intervals and shorter polynomials
 * (interpolated at Chebyshev nodes). Over all words its error is at most 4.2e-13 (tests/cuda/normal_near.c
 * computes it), of a bound of 4.5e-13 (2^-41): its rounding to f32 is the same unless a tie between
 * two floats is that near, and then (once in 64,000) the sequence itself is run. */

/* Constants that do not fit into instructions. From constant memory they stay in the uniform
 * registers of a loop; as literals they would be made anew for every use, a fifth of all that runs.
 */
struct random_constants {
    double log[4], period, sine[5], cosine[5], turn, less_radius, less_power, less_turn;
};
/* sine and cosine are of units of 2^-32 turns. */
static __constant__ random_constants random_table[1] = {
    {{0.24999999999740571, 0.08333332895670763, 0.031250238152210286, 0.012582031681843665},
     -2 * 0.69314718055994530942 * 0x1p-20,
     {-5.218056424437415e-28, 5.583657737327933e-47, -2.8451780485647007e-66, 8.45660600360826e-86,
      -1.629185173050223e-105},
     {-1.0700646533225851e-18, 1.908397269146092e-37, -1.3614052701965631e-56,
      5.2024668837630845e-76, -1.2228173184152757e-95},
     6.283185307179586476925 * 0x1p-32,
     0x1p52 - 1,
     0x1p52 + 1047 * 0x1p20,
     0x1p52 + 0x1p29}};

/* What the loops of normal deviates read besides their parameters. */
struct random_tables {
    const random_constants &constant;
    const random_interval *intervals; /* in shared memory */
};

/* An integer as a double, less what and 2^52: the conversion would be four times as slow. */
RANDOM_FN double random_whole(uint32_t i, double less)
{
    return __hiloint2double(0x43300000, (int)i) - less;
}

/* sqrt(-2 log((w >> 8) + 1) * 2^-24), not for the largest w. x = m * 2^e, m from about sqrt(1/2) to
 * sqrt(2). */
RANDOM_FN double random_radius_near(const random_tables &from, uint32_t w)
{
    const random_constants &c = from.constant;
    double k = random_whole(w >> 8, c.less_radius), y, g, z;
    int32_t high = __double2hiint(k), power = (high + 0x00095f62) & 0x7ff00000;
    high = high - power + 0x3ff00000;
    const random_interval i = from.intervals[(high >> 14 & 0x7f) - RANDOM_FIRST_INTERVAL];
    double m = __hiloint2double(high, __double2loint(k));
    double e = random_whole((uint32_t)power, c.less_power);
    double f = fma(m, i.factor, 2.0), p = c.log[3];
#pragma unroll
    for (int n = 2; n >= 0; n--)
        p = fma(p, f, c.log[n]);
    double a = fma(f * f, p, f) + fma(e, c.period, i.log);
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(a));
    g = a * y;
    z = fma(-g, y, 1.0);
    return fma(g * z, fma(z, 0.375, 0.5), g);
}

/* Cosine and sine of u from -2^29 to 2^29 units of 2^-32 turns. */
RANDOM_FN void random_turn_near(const random_constants &k, double u, double *cosine, double *sine)
{
    double t = u * u, s = k.sine[4], c = k.cosine[4];
#pragma unroll
    for (int i = 3; i >= 0; i--) {
        s = fma(s, t, k.sine[i]);
        c = fma(c, t, k.cosine[i]);
    }
    *sine = u * fma(t, s, k.turn);
    *cosine = fma(t, c, 1.0);
}

/* Within 2^12 units in the 53rd bit of a tie between two floats. */
RANDOM_FN bool random_doubtful(double x)
{
    return (uint32_t)__double2loint(x) * 8 - (0x80000000u - 0x8000u) < 0x10000u;
}

/* Whether the pair is sure to be as the sequence has it. */
RANDOM_FN bool random_normal_near(const random_tables &k, uint32_t w1, uint32_t w2, float z[2])
{
    /* w2 is quarter/4 + t turns, |t| <= 1/8, in units of 2^-32 that its low 8 bits do not count. */
    uint32_t from = w2 + 0x20000000u;
    double c, s, r = random_radius_near(k, w1);
    random_turn_near(k.constant, random_whole(from & 0x3fffff00u, k.constant.less_turn), &c, &s);
    c *= r;
    s *= r;
    bool swap = from & 0x40000000u;
    uint32_t c32 = __float_as_uint((float)c), s32 = __float_as_uint((float)s);
    z[0] = __uint_as_float((swap ? s32 : c32) ^ ((from ^ (from << 1)) & 0x80000000u));
    z[1] = __uint_as_float((swap ? c32 : s32) ^ (from & 0x80000000u));
    return !((int)random_doubtful(c) | (int)random_doubtful(s) | (int)(w1 >= 0xffffff00u));
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

/* ---- a block's values, before they are stored: whether they are sure. Where not, RANDOM_EXACT
 * instead of RANDOM_NORMAL gives them; RANDOM_STANDARD: normal ones of deviation 1. ---- */
enum {
    RANDOM_UNIFORM,
    RANDOM_PLAIN,
    RANDOM_NORMAL,
    RANDOM_STANDARD,
    RANDOM_EXACT,
    RANDOM_INTEGERS
};

RANDOM_FN bool random_normals(const random_params &p, const random_tables &k, const random_block &x,
                              bool exact, bool standard, float v[4])
{
    bool sure = true;
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
        if (exact)
            cuda_random_normal_f32(x.w[i], x.w[i + 1], &v[i], &v[i + 1]);
        else
            sure &= random_normal_near(k, x.w[i], x.w[i + 1], &v[i]);
        v[i] = p.a_f32 + (standard ? v[i] : p.range_f32 * v[i]);
        v[i + 1] = p.a_f32 + (standard ? v[i + 1] : p.range_f32 * v[i + 1]);
    }
    return sure;
}

template <int KIND>
RANDOM_FN bool random_values(const random_params &p, const random_tables &k, const random_block &x,
                             float v[4])
{
    if constexpr (KIND == RANDOM_NORMAL || KIND == RANDOM_STANDARD || KIND == RANDOM_EXACT)
        return random_normals(p, k, x, KIND == RANDOM_EXACT, KIND == RANDOM_STANDARD, v);
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
