/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Random numbers in batches, built once per SIMD level: the generator and the distributions. */
#include <math.h>
#include <string.h>
#include "math/philox.h"
#include "random/random.h"

static inline uint64_t word64(const uint32_t *words, int i)
{
    return words[2 * i] | (uint64_t)words[2 * i + 1] << 32;
}

/* ---- uniform ---- */

static void uniform_f32(const ndp_random *p, const uint32_t *words, void *values)
{
    float low = (float)p->a, high = (float)p->b, range = high - low, *v = values;
    float below = low < high ? nextafterf(high, -INFINITY) : INFINITY;
    for (int i = 0; i < CPU_RANDOM_WORDS; i++) {
        float x = low + (float)(int32_t)(words[i] >> 8) * 0x1p-24f * range;
        v[i] = x > below ? below : x;
    }
}

static void uniform_f64(const ndp_random *p, const uint32_t *words, void *values)
{
    double low = p->a, high = p->b, range = high - low, *v = values;
    double below = low < high ? nextafter(high, -INFINITY) : INFINITY;
    for (int i = 0; i < CPU_RANDOM_WORDS / 2; i++) {
        double x = low + (double)(int64_t)(word64(words, i) >> 11) * 0x1p-53 * range;
        v[i] = x > below ? below : x;
    }
}

/* ---- normal ----
 * The f32 path computes in f64 with polynomials of its own, of basic operations only, and rounds z
 * once: fast, within one unit in the last place, and the same bits wherever f64 is IEEE 754's. */

/* log of x in (0, 1]: x = m * 2^e with m in [sqrt(1/2), sqrt(2)), and log m = 2 atanh((m-1)/(m+1)).
 */
static inline double log_poly(double x)
{
    uint64_t u;
    memcpy(&u, &x, 8);
    int64_t biased =
        (int64_t)(u + 0x00095f619980c433) >> 52; /* carries from the mantissa of sqrt(2) */
    u -= (uint64_t)(biased - 1023) << 52;
    double m, e = (double)(int32_t)(biased - 1023);
    memcpy(&m, &u, 8);
    double s = (m - 1) / (m + 1), t = s * s, p = 1.0 / 17;
    p = p * t + 1.0 / 15;
    p = p * t + 1.0 / 13;
    p = p * t + 1.0 / 11;
    p = p * t + 1.0 / 9;
    p = p * t + 1.0 / 7;
    p = p * t + 1.0 / 5;
    p = p * t + 1.0 / 3;
    return e * 0.69314718055994530942 + 2 * (s + s * t * p);
}

/* Taylor polynomials on [-pi/4, pi/4], to 1e-15. */
static inline double sin_poly(double x)
{
    double t = x * x, p = -1.0 / 1307674368000;
    p = p * t + 1.0 / 6227020800;
    p = p * t - 1.0 / 39916800;
    p = p * t + 1.0 / 362880;
    p = p * t - 1.0 / 5040;
    p = p * t + 1.0 / 120;
    p = p * t - 1.0 / 6;
    return x + x * t * p;
}
static inline double cos_poly(double x)
{
    double t = x * x, p = 1.0 / 20922789888000;
    p = p * t - 1.0 / 87178291200;
    p = p * t + 1.0 / 479001600;
    p = p * t - 1.0 / 3628800;
    p = p * t + 1.0 / 40320;
    p = p * t - 1.0 / 720;
    p = p * t + 1.0 / 24;
    p = p * t - 0.5;
    return 1 + t * p;
}

/* Angles are reduced in turns, where it is exact: u = quarter/4 + t, |t| <= 1/8. From the sine and
 * cosine of 2 pi t to those of 2 pi u. */
static inline void turn(int quarter, double *cosine, double *sine)
{
    double c = quarter & 1 ? *sine : *cosine, s = quarter & 1 ? *cosine : *sine;
    *cosine = (quarter + 1) & 2 ? -c : c;
    *sine = quarter & 2 ? -s : s;
}

#define TWO_PI 6.283185307179586476925

static void normal_f32(const ndp_random *p, const uint32_t *words, void *values)
{
    float mean = (float)p->a, std = (float)p->b, *v = values;
    for (int i = 0; i < CPU_RANDOM_WORDS / 2; i++) {
        double u1 = ((int32_t)(words[2 * i] >> 8) + 1) * 0x1p-24;
        double u2 = (int32_t)(words[2 * i + 1] >> 8) * 0x1p-24;
        int quarter = (int32_t)(u2 * 4 + 0.5);
        double x = TWO_PI * (u2 - quarter * 0.25), c = cos_poly(x), s = sin_poly(x);
        double r = sqrt(-2 * log_poly(u1));
        turn(quarter, &c, &s);
        v[2 * i] = mean + std * (float)(r * c);
        v[2 * i + 1] = mean + std * (float)(r * s);
    }
}

static void normal_f64(const ndp_random *p, const uint32_t *words, void *values)
{
    double mean = p->a, std = p->b, *v = values;
    for (int i = 0; i < CPU_RANDOM_WORDS / 4; i++) {
        double u1 = (double)((int64_t)(word64(words, 2 * i) >> 11) + 1) * 0x1p-53;
        double u2 = (double)(int64_t)(word64(words, 2 * i + 1) >> 11) * 0x1p-53;
        int quarter = (int32_t)(u2 * 4 + 0.5);
        double x = TWO_PI * (u2 - quarter * 0.25), c = cos(x), s = sin(x), r = sqrt(-2 * log(u1));
        turn(quarter, &c, &s);
        v[2 * i] = mean + std * (r * c);
        v[2 * i + 1] = mean + std * (r * s);
    }
}

/* ---- integers ---- */

static void integers_u32(const ndp_random *p, const uint32_t *words, void *values)
{
    uint64_t range = (uint64_t)p->high - (uint64_t)p->low;
    uint32_t low = (uint32_t)p->low, *v = values;
    if (range == 0 || range > UINT32_MAX) /* the full width: multiplying by 2^32 */
        for (int i = 0; i < CPU_RANDOM_WORDS; i++)
            v[i] = low + words[i];
    else
        for (int i = 0; i < CPU_RANDOM_WORDS; i++)
            v[i] = low + (uint32_t)((uint64_t)words[i] * (uint32_t)range >> 32);
}

static uint64_t multiply_high(uint64_t a, uint64_t b)
{
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
    return a1 * b1 + (middle >> 32) + (((uint32_t)middle + a0 * b1) >> 32);
}

static void integers_u64(const ndp_random *p, const uint32_t *words, void *values)
{
    uint64_t low = (uint64_t)p->low, range = (uint64_t)p->high - low, *v = values;
    for (int i = 0; i < CPU_RANDOM_WORDS / 2; i++) {
        uint64_t w = word64(words, i);
        v[i] = low + (range == 0 ? w : multiply_high(w, range));
    }
}

const cpu_random_loops CPU_ISA_FN(cpu_random_table) = {
    .words = philox_blocks,
    .uniform_f32 = uniform_f32,
    .uniform_f64 = uniform_f64,
    .normal_f32 = normal_f32,
    .normal_f64 = normal_f64,
    .integers_u32 = integers_u32,
    .integers_u64 = integers_u64,
};
