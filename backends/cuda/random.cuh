/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The generator and the distributions of plugin.h, ndp_random, with the CPU plug-in's bits.
 * Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, SC11. */
#ifndef NDOCK_CUDA_RANDOM_CUH
#define NDOCK_CUDA_RANDOM_CUH
#include "convert.cuh"
#include "math_random.cuh"
#include "random.h"

#define RANDOM_FN static __device__ __forceinline__

struct random_block {
    uint32_t w[4];
};

/* Philox 4x32-10 of counter + step, carry included. */
RANDOM_FN random_block random_philox(const random_params &p, uint64_t step)
{
    uint64_t low = p.counter[0] + step, high = p.counter[1] + (low < step);
    uint32_t key0 = (uint32_t)p.key, key1 = (uint32_t)(p.key >> 32);
    random_block x = {
        {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)}};
#pragma unroll
    for (int round = 0; round < 10; round++) {
        uint64_t product0 = (uint64_t)0xD2511F53u * x.w[0];
        uint64_t product1 = (uint64_t)0xCD9E8D57u * x.w[2];
        x.w[0] = (uint32_t)(product1 >> 32) ^ x.w[1] ^ key0;
        x.w[1] = (uint32_t)product1;
        x.w[2] = (uint32_t)(product0 >> 32) ^ x.w[3] ^ key1;
        x.w[3] = (uint32_t)product0;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
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

/* ---- normal, f32 ----
 * The CPU's sequence of basic operations in f64, rounded to f32 once, decides every bit. What runs
 * first is quicker, with fused multiplications and Newton's division and root, and a few units in
 * the 53rd bit away: its rounding to f32 is the same unless a tie between two floats is that near,
 * and then (once in a million) the sequence itself is run. */

/* x = m * 2^e, m in [sqrt(1/2), sqrt(2)), of x = k * 2^-24; k from 1 to 2^24. */
RANDOM_FN double random_log_parts(int32_t k, int32_t *e)
{
    uint64_t u = (uint64_t)__double_as_longlong((double)k);
    int32_t power = (int32_t)((u + 0x00095f619980c433ull) >> 52) - 1023;
    *e = power - 24;
    return __longlong_as_double((long long)(u - ((uint64_t)(int64_t)power << 52)));
}

/* sqrt(-2 log), within a few units of the sequence above; k below 2^24. */
RANDOM_FN double random_radius_near(int32_t k)
{
    int32_t e;
    double m = random_log_parts(k, &e), d = m + 1, y, g, z;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(d));
    z = fma(-d, y, 1.0);
    y = fma(y, fma(z, z, z), y); /* the error of y cubed */
    double s = (m - 1) * y, t = s * s, p = 1.0 / 17;
    p = fma(p, t, 1.0 / 15);
    p = fma(p, t, 1.0 / 13);
    p = fma(p, t, 1.0 / 11);
    p = fma(p, t, 1.0 / 9);
    p = fma(p, t, 1.0 / 7);
    p = fma(p, t, 1.0 / 5);
    p = fma(p, t, 1.0 / 3);
    double a = fma((double)e, -2 * 0.69314718055994530942, -4 * fma(s * t, p, s));
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(a));
    g = a * y;
    z = fma(-g, y, 1.0);
    return fma(g * z, fma(z, 0.375, 0.5), g);
}
RANDOM_FN void random_turn_near(double x, double *cosine, double *sine)
{
    double t = x * x, s = -1.0 / 1307674368000, c = 1.0 / 20922789888000;
    s = fma(s, t, 1.0 / 6227020800);
    s = fma(s, t, -1.0 / 39916800);
    s = fma(s, t, 1.0 / 362880);
    s = fma(s, t, -1.0 / 5040);
    s = fma(s, t, 1.0 / 120);
    s = fma(s, t, -1.0 / 6);
    *sine = fma(x * t, s, x);
    c = fma(c, t, -1.0 / 87178291200);
    c = fma(c, t, 1.0 / 479001600);
    c = fma(c, t, -1.0 / 3628800);
    c = fma(c, t, 1.0 / 40320);
    c = fma(c, t, -1.0 / 720);
    c = fma(c, t, 1.0 / 24);
    c = fma(c, t, -0.5);
    *cosine = fma(t, c, 1.0);
}

/* Within 128 units in the 53rd bit of a tie between two floats. */
RANDOM_FN bool random_doubtful(double x)
{
    uint32_t rest = (uint32_t)__double_as_longlong(x) & 0x1fffffffu;
    return rest - (0x10000000u - 128) < 256;
}

RANDOM_FN void random_normal_pair(uint32_t w1, uint32_t w2, float *z1, float *z2)
{
    /* Exactly u2 = quarter/4 + t, |t| <= 1/8, in units of 2^-24. */
    int32_t k = (int32_t)(w1 >> 8) + 1, turn = (int32_t)(w2 >> 8);
    int32_t quarter = (turn + (1 << 21)) >> 22;
    double x = (double)(turn - (quarter << 22)) * (6.283185307179586476925 * 0x1p-24);
    double c, s, r = k < 1 << 24 ? random_radius_near(k) : 0;
    random_turn_near(x, &c, &s);
    if (k == 1 << 24 || random_doubtful(r * c) || random_doubtful(r * s)) {
        cuda_random_normal_f32(w1, w2, z1, z2);
        return;
    }
    cuda_random_turn(quarter, &c, &s);
    *z1 = (float)(r * c);
    *z2 = (float)(r * s);
}
RANDOM_FN void random_normal_pair(uint64_t w1, uint64_t w2, double *z1, double *z2)
{
    cuda_random_normal_f64(w1, w2, z1, z2);
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

/* ---- a block's values, before they are stored ---- */
enum { RANDOM_UNIFORM, RANDOM_NORMAL, RANDOM_INTEGERS };

template <int KIND> RANDOM_FN void random_values(const random_params &p, uint64_t block, float v[4])
{
    random_block x = random_philox(p, block);
    if (KIND == RANDOM_UNIFORM) {
        for (int i = 0; i < 4; i++)
            v[i] = random_uniform(p, x.w[i]);
    } else {
        for (int i = 0; i < 4; i += 2) {
            float z[2];
            random_normal_pair(x.w[i], x.w[i + 1], &z[0], &z[1]);
            v[i] = p.a_f32 + p.range_f32 * z[0];
            v[i + 1] = p.a_f32 + p.range_f32 * z[1];
        }
    }
}
template <int KIND>
RANDOM_FN void random_values(const random_params &p, uint64_t block, double v[2])
{
    random_block x = random_philox(p, block);
    uint64_t w[2] = {random_word64(x, 0), random_word64(x, 1)};
    if (KIND == RANDOM_UNIFORM) {
        v[0] = random_uniform(p, w[0]);
        v[1] = random_uniform(p, w[1]);
    } else {
        double z[2];
        random_normal_pair(w[0], w[1], &z[0], &z[1]);
        v[0] = p.a + p.range * z[0];
        v[1] = p.a + p.range * z[1];
    }
}
template <int KIND>
RANDOM_FN void random_values(const random_params &p, uint64_t block, uint32_t v[4])
{
    random_block x = random_philox(p, block);
    for (int i = 0; i < 4; i++)
        v[i] = random_integer(p, x.w[i]);
}
template <int KIND>
RANDOM_FN void random_values(const random_params &p, uint64_t block, uint64_t v[2])
{
    random_block x = random_philox(p, block);
    for (int i = 0; i < 2; i++)
        v[i] = random_integer(p, random_word64(x, i));
}

#endif
