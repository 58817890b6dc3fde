/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Normal deviates of f32.
 * The CPU's sequence of basic operations in f64, rounded to f32 once, decides every bit. What runs
 * first is quicker, with fused multiplications, a logarithm by intervals and shorter polynomials
 * (interpolated at Chebyshev nodes). Over all words its error is at most 4.2e-13 (tests/cuda/math.cc
 * computes it), of a bound of 4.5e-13 (2^-41): its rounding to f32 is the same unless a tie between
 * two floats is that near, and then (once in 64,000) the sequence itself is run. */
#ifndef NDOCK_CUDA_RANDOM_NORMAL_CUH
#define NDOCK_CUDA_RANDOM_NORMAL_CUH
#include "math/random.cuh"
#include "random/logarithm.cuh"

#define RANDOM_FN static __device__ __forceinline__

/* Constants that do not fit into instructions. From constant memory they stay in the uniform
 * registers of a loop; as literals they would be made anew for every use, a fifth of all that runs.
 */
struct random_constants {
    double log[4], sine[5], cosine[5], turn, three_eighths, less_turn;
    double near_sine[2], near_cosine, less_near; /* of at most 2^-12 turns */
};
/* sine and cosine are of units of 2^-32 turns. */
static __constant__ random_constants random_table[1] = {
    {{0.24999999999740571, 0.08333332895670763, 0.031250238152210286, 0.012582031681843665},
     {-5.218056424437415e-28, 5.583657737327933e-47, -2.8451780485647007e-66, 8.45660600360826e-86,
      -1.629185173050223e-105},
     {-1.0700646533225851e-18, 1.908397269146092e-37, -1.3614052701965631e-56,
      5.2024668837630845e-76, -1.2228173184152757e-95},
     6.283185307179586476925 * 0x1p-32,
     0.375,
     0x1p52 + 0x1p29,
     {1.4629180792671511e-09, -5.218055810508655e-28},
     -1.0700645484081126e-18,
     0x1p52 + 0x1p20}};

/* What the loops of normal deviates read besides their parameters. */
struct random_tables {
    const random_constants &constant;
    const random_interval *places;             /* RANDOM_PLACES of them, in shared memory */
    const struct random_direction *directions; /* RANDOM_DIRECTIONS, where many deviates are made */
};

/* Points of the circle, from which a turn is at most 2^-12 away: two terms of the sine and one of the cosine are enough,
 * and neither quarters nor signs are to be told apart. */
enum { RANDOM_DIRECTION_BITS = 11, RANDOM_DIRECTIONS = 1 << RANDOM_DIRECTION_BITS };
struct __align__(16) random_direction
{
    double cosine, sine;
};
RANDOM_FN random_direction random_direction_at(int i)
{
    random_direction d;
    sincospi(i * (2.0 / RANDOM_DIRECTIONS), &d.sine, &d.cosine);
    return d;
}

/* An integer as a double, less what and 2^52: more conversions than a radius needs would wait for each other. */
RANDOM_FN double random_whole(uint32_t i, double less)
{
    return __hiloint2double(0x43300000, (int)i) - less;
}

/* sqrt(-2 log(k 2^-24)), k = (w >> 8) + 1; where that is 0, 2^-500. */
RANDOM_FN double random_radius_near(const random_tables &from, uint32_t w)
{
    const random_constants &c = from.constant;
    double k = (double)((w >> 8) + 1), y, g, z;
    const random_interval i =
        from.places[(__double2hiint(k) >> 14) - (1023 << 6)]; /* from that of 1 on */
    double f = fma(k, i.factor, 2.0), p = c.log[3];
#pragma unroll
    for (int n = 2; n >= 0; n--)
        p = fma(p, f, c.log[n]);
    double a = fma(f, fma(p, f, 1.0), i.log);
    y = cm_rsqrt_rough(a);
    g = a * y;
    z = fma(-g, y, 1.0);
    return fma(g * z, fma(z, c.three_eighths, 0.5), g);
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

/* Radius times cosine and sine of the turn, but for signs of zeros. */
RANDOM_FN void random_point_near(const random_tables &from, double radius, uint32_t w2, double *x,
                                 double *y)
{
    const random_constants &k = from.constant;
    const uint32_t turn = w2 + (1u << (31 - RANDOM_DIRECTION_BITS)),
                   rest = turn & ((1u << (32 - RANDOM_DIRECTION_BITS)) - 0x100u);
    const random_direction d = from.directions[turn >> (32 - RANDOM_DIRECTION_BITS)];
    const double u = random_whole(rest, k.less_near), t = u * u;
    const double cosine = fma(t, k.near_cosine, 1.0);
    const double sine = u * fma(t, k.near_sine[1], k.near_sine[0]);
    const double c = radius * d.cosine, s = radius * d.sine;
    *x = fma(-s, sine, c * cosine);
    *y = fma(c, sine, s * cosine);
}

/* Within 2^12 units in the 53rd bit of a tie between two floats. */
RANDOM_FN bool random_doubtful(double x)
{
    return (uint32_t)__double2loint(x) * 8 - (0x80000000u - 0x8000u) < 0x10000u;
}

/* Whether the pair is sure to be as the sequence has it, but for the sign of zeros where w1 is the largest word. */
RANDOM_FN bool random_normal_near(const random_tables &from, uint32_t w1, uint32_t w2, float z[2])
{
    /* w2 is quarter/4 + t turns, |t| <= 1/8, in units of 2^-32 that its low 8 bits do not count. The cosine's sign is
     * that of the next quarter's sine. */
    uint32_t turn = w2 + 0x20000000u, next = w2 + 0x60000000u;
    double c, s, r = random_radius_near(from, w1);
    random_turn_near(from.constant, random_whole(turn & 0x3fffff00u, from.constant.less_turn), &c,
                     &s);
    c *= r;
    s *= r;
    bool swap = turn & 0x40000000u;
    uint32_t c32 = __float_as_uint((float)c), s32 = __float_as_uint((float)s);
    z[0] = __uint_as_float((swap ? s32 : c32) ^ (next & 0x80000000u));
    z[1] = __uint_as_float((swap ? c32 : s32) ^ (turn & 0x80000000u));
    return !((int)random_doubtful(c) | (int)random_doubtful(s));
}

/* The same by directions, but for signs of all zeros. */
RANDOM_FN bool random_normal_directed(const random_tables &from, uint32_t w1, uint32_t w2,
                                      float z[2])
{
    double x, y;
    random_point_near(from, random_radius_near(from, w1), w2, &x, &y);
    z[0] = (float)x;
    z[1] = (float)y;
    return !((int)random_doubtful(x) | (int)random_doubtful(y));
}

#endif
