/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Device functions compiled for the host: how near the quick normal deviates of f32 are to the sequence
 * that decides their bits, over all words; powers of f32 beside the C library's in double. Instructions
 * that approximate are wrong here by as much as the GPU's may be. */
#define NDOCK_CUDA_MATH_HW_CUH
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "tests/tap.h"
#define __device__
#define __constant__
#define __align__(n) alignas(n)
#define __forceinline__ inline
#define CM_FN static inline
#define CM_SLOW __attribute__((noinline)) static
#define CM_UNROLL

static uint32_t state = 1;
static uint32_t word()
{
    return state = state * 1664525u + 1013904223u;
}
/* One of 1 - apart, 1 and 1 + apart. */
static double about_one(double apart)
{
    return 1 + ((int)((word() >> 8) % 3) - 1) * apart;
}

template <class TO, class FROM> static inline TO same_bits(FROM x)
{
    TO y;
    static_assert(sizeof x == sizeof y, "");
    memcpy(&y, &x, sizeof y);
    return y;
}
CM_FN uint32_t cm_bits(float x)
{
    return same_bits<uint32_t>(x);
}
CM_FN uint64_t cm_bits(double x)
{
    return same_bits<uint64_t>(x);
}
CM_FN float cm_of_bits(uint32_t u)
{
    return same_bits<float>(u);
}
CM_FN double cm_of_bits(uint64_t u)
{
    return same_bits<double>(u);
}
CM_FN float __uint_as_float(uint32_t u)
{
    return same_bits<float>(u);
}
CM_FN uint32_t __float_as_uint(float x)
{
    return same_bits<uint32_t>(x);
}
CM_FN double __hiloint2double(int high, int low)
{
    return same_bits<double>((uint64_t)(uint32_t)high << 32 | (uint32_t)low);
}
CM_FN int __double2hiint(double x)
{
    return (int)(cm_bits(x) >> 32);
}
CM_FN int __double2loint(double x)
{
    return (int)(uint32_t)cm_bits(x);
}
CM_FN int cm_leading_zeros(uint64_t u)
{
    return __builtin_clzll(u);
}
CM_FN uint64_t cm_mul_high(uint64_t a, uint64_t b)
{
    return (uint64_t)((unsigned __int128)a * b >> 64);
}
/* Within 1 ulp, as the instruction is (of all mantissas 0.975 at most on an H200): either float beside 1/x. */
CM_FN float cm_rcp(float x)
{
    const double exact = 1 / (double)x;
    const float near = (float)exact;
    return about_one(1) < 1 || near == exact ? near
                                             : nextafterf(near, near < exact ? INFINITY : -INFINITY);
}
CM_FN float cm_rsqrt(float x)
{
    return (float)(1 / sqrt((double)x) * about_one(0x1p-23));
}
CM_FN double cm_rcp(double x)
{
    return 1 / x;
}
CM_FN double cm_rsqrt(double x)
{
    return 1 / sqrt(x);
}
/* Its upper word alone. */
CM_FN double cm_rsqrt_rough(double x)
{
    return cm_of_bits(cm_bits(1 / sqrt(x) * about_one(0x1p-20)) >> 32 << 32);
}
CM_FN float cm_exp2(float x)
{
    return exp2f(x);
}
CM_FN float cm_exp2_flushed(float x)
{
    return exp2f(x);
}
CM_FN float cm_log2(float x)
{
    return log2f(x);
}
CM_FN float cm_log2_flushed(float x)
{
    return log2f(x);
}
template <class C> static inline C cm_larger(C a, C b)
{
    return b > a || b != b ? b : a;
}
template <class C> static inline C cm_clamp(C x, C low, C high)
{
    return x < low ? low : x > high ? high : x;
}
/* As CUDA's, exact at quarters of the circle. */
CM_FN void sincospi(double x, double *sine, double *cosine)
{
    const int quarter = (int)nearbyint(2 * x) & 3;
    const long double t = 3.14159265358979323846264338327950288L * ((long double)x - nearbyint(2 * x) / 2);
    const double s = (double)sinl(t), c = (double)cosl(t);
    *sine = quarter == 0 ? s : quarter == 1 ? c : quarter == 2 ? -s : -c;
    *cosine = quarter == 0 ? c : quarter == 1 ? -s : quarter == 2 ? -c : s;
}
#include "math/f32.cuh"
#include "random/normal.cuh"

static random_interval places[RANDOM_PLACES];
static random_direction directions[RANDOM_DIRECTIONS];
static const random_tables tables = {random_table[0], places, directions};
static double radius_apart, turn_apart, point_apart;

/* What the sequence has for a radius: its deviate where the cosine is 1, in double. */
static double radius_of(uint32_t w)
{
    return sqrt(-2 * cuda_random_log(((int32_t)(w >> 8) + 1) * 0x1p-24));
}

static void radius()
{
    uint32_t where = 0;
    for (int i = 0; i < RANDOM_PLACES; i++)
        places[i] = random_place(i);
    for (uint32_t i = 0; i < 0xffffffu; i++) {
        const double apart = fabs(random_radius_near(tables, i << 8) / radius_of(i << 8) - 1);
        if (!(apart <= radius_apart)) {
            radius_apart = isnan(apart) ? HUGE_VAL : apart;
            where = i;
        }
    }
    ok(radius_apart < 1e-13, "radius of all words: at most %.3g of the sequence, of %06x",
       radius_apart, where);
}

static void turn()
{
    for (uint32_t i = 0; i < 0x400000u; i++) {
        const double units = ((double)i - 0x200000) * 256,
                     x = units * 6.283185307179586476925 * 0x1p-32;
        double c, s;
        random_turn_near(random_table[0], units, &c, &s);
        const double near = fabs(c / cuda_random_cos(x) - 1);
        const double far = units == 0 ? s != 0 : fabs(s / cuda_random_sin(x) - 1);
        turn_apart = isnan(near) || isnan(far) ? HUGE_VAL : fmax(turn_apart, fmax(near, far));
    }
    ok(turn_apart < 3.2e-13, "cosine and sine of all words: at most %.3g of the sequence",
       turn_apart);
    ok(turn_apart + radius_apart + 0x1p-51 < 0x1p-41, "together less than what counts as doubtful");
}

/* Beside the sequence's cosine and sine of what is within an eighth turn of a quarter. */
static void point()
{
    for (int i = 0; i < RANDOM_DIRECTIONS; i++)
        directions[i] = random_direction_at(i);
    for (uint32_t i = 0; i < 0x1000000u; i++) {
        const double u2 = (double)i * 0x1p-24;
        const int quarter = (int)(u2 * 4 + 0.5);
        const double t = 6.283185307179586476925 * (u2 - quarter * 0.25);
        double c = cuda_random_cos(t), s = cuda_random_sin(t), x, y;
        cuda_random_turn(quarter, &c, &s);
        random_point_near(tables, 1, i << 8 | (i & 0xff), &x, &y);
        const double across = c == 0 ? fabs(x) * 1e300 : fabs(x / c - 1);
        const double up = s == 0 ? fabs(y) * 1e300 : fabs(y / s - 1);
        point_apart = isnan(across) || isnan(up) ? HUGE_VAL : fmax(point_apart, fmax(across, up));
    }
    ok(point_apart < 2.5e-13, "points of all words: at most %.3g of the sequence", point_apart);
    ok(point_apart + radius_apart + 0x1p-51 < 0x1p-41, "together less than what counts as doubtful");
}

static void pairs()
{
    const int n = 1 << 22;
    int wrong = 0, doubtful = 0;
    for (int i = 0; i < n; i++) {
        const uint32_t a = word(), b = word() ^ word() >> 16;
        float near[2], exact[2];
        cuda_random_normal_f32(a, b, &exact[0], &exact[1]);
        if (!random_normal_near(tables, a, b, near))
            doubtful++;
        else
            wrong += memcmp(near, exact, sizeof near) != 0;
        if (random_normal_directed(tables, a, b, near))
            wrong += near[0] != exact[0] || near[1] != exact[1];
    }
    ok(wrong == 0, "%d pairs: %d that seem sure are not the sequence's", n, wrong);
    ok(doubtful > 0 && doubtful < n / 15000, "%d of them are in doubt", doubtful);
    float z[2];
    random_normal_near(tables, 0xffffff00u, 7, z);
    ok(z[0] == 0 && z[1] == 0, "the largest word gives zeros");
}

/* In units of the last place of a float of the same exponent. */
static double ulps(float got, double want)
{
    int e;
    frexp(want, &e);
    return fabs(got - want) * ldexp(1, 24 - e);
}

static void powers()
{
    static const float exponents[] = {2.5f, -1.5f, 0.3f, 7, -3, 31.7f, 0.01f};
    double worst = 0;
    int odd = 0;
    for (int i = 0; i < 7 << 18; i++) {
        const float u = (float)(word() >> 8) * 0x1p-24f, y = exponents[i % 7];
        const float bases[] = {0.1f + 1.9f * u, expf(20 * u - 10), 0.999f + 0.002f * u, -30 * u};
        const float x = bases[i / 7 % 4], got = cuda_f32_pow(x, y);
        const double want = pow((double)x, (double)y);
        odd += (got != got) != (want != want);
        if (want == want && fabs(want) < 0x1.fffffep127 && fabs(want) >= 0x1p-126)
            worst = fmax(worst, ulps(got, want));
    }
    ok(odd == 0 && worst < 0.85, "powers of f32: at most %.3f ulp, %d unlike NaN", worst, odd);
    static const float ends[][2] = {{0, 2.5f},      {-0.0f, 3}, {-0.0f, -3}, {INFINITY, -1},
                                    {-INFINITY, 3}, {-2, 3},    {-2, 2.5f},  {1, NAN},
                                    {NAN, 0},       {NAN, 2},   {2, NAN},    {1e-40f, 0.5f},
                                    {2, 1000},      {2, -1000}, {2, -149},   {-1, INFINITY}};
    for (const auto &end : ends) {
        const float got = cuda_f32_pow(end[0], end[1]), want = powf(end[0], end[1]);
        const bool right =
            want != want ? got != got : want == got && !signbit(want) == !signbit(got);
        ok(right || ulps(got, want) <= 1, "%g to the power %g: %g", end[0], end[1], got);
    }
}

/* Of every 211th float, and of all near 2.19, where an exponent in one part is wrong by 1.54 ulp, against the
 * complementary error function in double; a subnormal result is rounded once. */
static void gelus()
{
    double worst = 0, where = 0, least = 0;
    int signs = 0;
    for (uint32_t i = 0; i < 0x7f800000u; i += i - 0x400c0000u < 0x10000u ? 1 : 211)
        for (uint32_t sign = 0; sign < 2; sign++) {
            const float x = same_bits<float>(i | sign << 31), got = cm_f32_gelu(x);
            const double want = 0.5 * x * erfc(-(double)x * 0.70710678118654752440);
            signs += signbit(got) != signbit(x);
            if (fabs(want) >= 0x1p-126 && !(ulps(got, want) <= worst)) {
                worst = ulps(got, want);
                where = x;
            }
            if (fabs(want) < 0x1p-126)
                least = fmax(least, fabs(got - want) * 0x1p149);
        }
    ok(least < 1.45, "subnormal results of gelu: at most %.3f units", least);
    ok(signs == 0 && worst < 1.5, "gelu of f32: at most %.3f ulp, of %.9g; %d signs are others",
       worst, where, signs);
    ok(isnan(cm_f32_gelu(NAN)) && isnan(cm_f32_gelu(-INFINITY)) &&
           cm_f32_gelu(INFINITY) == INFINITY,
       "of infinities and NaN");
}

TAP_MAIN({"radius", radius}, {"turn", turn}, {"point", point}, {"pairs", pairs}, {"powers", powers}, {"gelus", gelus})
