/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the samplers of random_real_tmpl.h and random_count_tmpl.h are made of: blocks of Philox, and
 * functions of f64 that have the same bits on every device, since they are made of the operations
 * that IEEE 754 rounds alone (+ - * / sqrt floor). Text for C11, C++ and CUDA C++.
 *
 * The includer defines ND_FN, the qualifiers of a function (static inline ...), and has included
 * <math.h> and <stdint.h>. To be compiled without contraction of a*b + c. */
#ifndef NDOCK_RANDOM_TMPL_H
#define NDOCK_RANDOM_TMPL_H

/* Where an element's numbers are: block t of it is Philox 4x32-10 of this 128-bit counter plus
 * t * 2^96, modulo 2^128, t < 2^32. */
typedef struct {
    uint64_t key, low, high;
} ndr_place;

typedef struct {
    uint32_t w[4];
} ndr_block;

/* The place of element i (C order) of a call at a position. */
ND_FN ndr_place ndr_place_of(uint64_t key, const uint64_t counter[2], uint64_t i)
{
    ndr_place p;
    p.key = key;
    p.low = counter[0] + i;
    p.high = counter[1] + (p.low < i);
    return p;
}

/* Source: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, SC11. */
ND_FN ndr_block ndr_block_at(const ndr_place *p, uint32_t t)
{
    const uint64_t high = p->high + ((uint64_t)t << 32);
    uint32_t key0 = (uint32_t)p->key, key1 = (uint32_t)(p->key >> 32), round;
    ndr_block x;
    x.w[0] = (uint32_t)p->low;
    x.w[1] = (uint32_t)(p->low >> 32);
    x.w[2] = (uint32_t)high;
    x.w[3] = (uint32_t)(high >> 32);
    for (round = 0; round < 10; round++) {
        const uint64_t product0 = (uint64_t)0xD2511F53u * x.w[0];
        const uint64_t product1 = (uint64_t)0xCD9E8D57u * x.w[2];
        x.w[0] = (uint32_t)(product1 >> 32) ^ x.w[1] ^ key0;
        x.w[1] = (uint32_t)product1;
        x.w[2] = (uint32_t)(product0 >> 32) ^ x.w[3] ^ key1;
        x.w[3] = (uint32_t)product0;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return x;
}

/* ---- bits and values ---- */

ND_FN double ndr_of_bits(uint64_t u)
{
#ifdef __CUDA_ARCH__
    return __longlong_as_double((long long)u);
#else
    union {
        uint64_t u;
        double d;
    } x;
    x.u = u;
    return x.d;
#endif
}
ND_FN uint64_t ndr_bits(double d)
{
#ifdef __CUDA_ARCH__
    return (uint64_t)__double_as_longlong(d);
#else
    union {
        double d;
        uint64_t u;
    } x;
    x.d = d;
    return x.u;
#endif
}

ND_FN double ndr_nan(void)
{
    return ndr_of_bits(0x7ff8000000000000u);
}

/* In (0, 1): (k + 1/2) 2^-52 of the upper 52 bits of the word high:low. In two parts, which have
 * signs, so that vectors can convert them. */
ND_FN double ndr_open(uint32_t low, uint32_t high)
{
    const int32_t upper = (int32_t)(high >> 6), lower = (int32_t)((high & 63) << 20 | low >> 12);
    return (double)upper * 0x1p-26 + ((double)lower + 0.5) * 0x1p-52;
}
/* In [0, 1): k 2^-53 of its upper 53 bits. */
ND_FN double ndr_unit(uint32_t low, uint32_t high)
{
    const int32_t upper = (int32_t)(high >> 6), lower = (int32_t)((high & 63) << 21 | low >> 11);
    return (double)upper * 0x1p-26 + (double)lower * 0x1p-53;
}
/* In (0, 1): (w + 1/2) 2^-32. */
ND_FN double ndr_open32(uint32_t w)
{
    return ((double)(int32_t)(w ^ 0x80000000u) + 2147483648.5) * 0x1p-32;
}

/* ---- functions ---- */

/* (log((1 + s)/(1 - s)) - 2 s) / (2 s) by the series of atanh, |s| < 0.172: to 1e-18. */
ND_FN double ndr_atanh_rest(double s)
{
    const double t = s * s;
    double p = 1.0 / 21;
    p = p * t + 1.0 / 19;
    p = p * t + 1.0 / 17;
    p = p * t + 1.0 / 15;
    p = p * t + 1.0 / 13;
    p = p * t + 1.0 / 11;
    p = p * t + 1.0 / 9;
    p = p * t + 1.0 / 7;
    p = p * t + 1.0 / 5;
    p = p * t + 1.0 / 3;
    return t * p;
}

/* log of a positive, finite, normal x = m 2^e, m in [sqrt(1/2), sqrt(2)). */
ND_FN double ndr_log_normal(double x)
{
    uint64_t u = ndr_bits(x);
    const uint64_t biased = (u + 0x00095f619980c433u) >> 52; /* carries from sqrt(2) on */
    const double e = (double)((int32_t)biased - 1023);
    u -= (biased - 1023) << 52;
    const double m = ndr_of_bits(u), s = (m - 1) / (m + 1);
    return e * 0.69314718055994530942 + 2 * (s + s * ndr_atanh_rest(s));
}

ND_FN double ndr_log(double x)
{
    if (x > 0x1p1023)
        return x * 0.5 < 0x1p1023 ? ndr_log_normal(x) : x; /* infinity is its own logarithm */
    if (x >= 0x1p-1022)
        return ndr_log_normal(x);
    if (x > 0)
        return ndr_log_normal(x * 0x1p54) - 54 * 0.69314718055994530942;
    return x == 0 ? -1 / (x * x) : ndr_nan();
}

ND_FN double ndr_log1p(double x)
{
    if (x > -0.29 && x < 0.41) {
        const double s = x / (2 + x);
        return 2 * (s + s * ndr_atanh_rest(s));
    }
    return ndr_log(1 + x);
}

/* (e^r - 1 - r) / r^2 by Taylor's series, |r| < 0.36: to 1e-18. */
ND_FN double ndr_exp_rest(double r)
{
    double p = 1.0 / 1307674368000;
    p = p * r + 1.0 / 87178291200;
    p = p * r + 1.0 / 6227020800;
    p = p * r + 1.0 / 479001600;
    p = p * r + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    return p * r + 0.5;
}

ND_FN double ndr_exp(double x)
{
    if (!(x > -746))
        return x != x ? x : 0;
    if (x > 710)
        return 0x1p1023 * 0x1p1023;
    /* ln 2 in two parts, the upper of 32 bits, so that n times it is exact. */
    const double n = floor(x * 1.44269504088896340736 + 0.5);
    const double r = (x - n * 0x1.62e42feep-1) - n * 0x1.a39ef35793c76p-33;
    const int32_t k = (int32_t)n, half = k >> 1;
    const double y = 1 + (r + r * r * ndr_exp_rest(r));
    return y * ndr_of_bits((uint64_t)(half + 1023) << 52) *
           ndr_of_bits((uint64_t)(k - half + 1023) << 52);
}

ND_FN double ndr_expm1(double x)
{
    return x > -0.35 && x < 0.35 ? x + x * x * ndr_exp_rest(x) : ndr_exp(x) - 1;
}

/* Taylor's series on [-pi/4, pi/4]: to 1e-16. */
ND_FN double ndr_sin(double x)
{
    const double t = x * x;
    double p = -1.0 / 1307674368000;
    p = p * t + 1.0 / 6227020800;
    p = p * t - 1.0 / 39916800;
    p = p * t + 1.0 / 362880;
    p = p * t - 1.0 / 5040;
    p = p * t + 1.0 / 120;
    p = p * t - 1.0 / 6;
    return x + x * t * p;
}
ND_FN double ndr_cos(double x)
{
    const double t = x * x;
    double p = 1.0 / 20922789888000;
    p = p * t - 1.0 / 87178291200;
    p = p * t + 1.0 / 479001600;
    p = p * t - 1.0 / 3628800;
    p = p * t + 1.0 / 40320;
    p = p * t - 1.0 / 720;
    p = p * t + 1.0 / 24;
    p = p * t - 0.5;
    return 1 + t * p;
}

/* A normal deviate of the words 0, 1 (the radius) and 2 (the angle) of a block, by Box and Muller's
 * transform: sqrt(-2 log u) cos(2 pi v), u = ndr_open, v = (w + 1/2) 2^-32 less its quarters. */
ND_FN double ndr_normal(const uint32_t *w)
{
    const double radius = sqrt(-2 * ndr_log_normal(ndr_open(w[0], w[1])));
    const uint32_t from = w[2] + 0x20000000u, quarter = from >> 30;
    const int32_t rest = (int32_t)(from & 0x3fffffffu) - 0x20000000;
    const double x = 6.283185307179586476925 * (((double)rest + 0.5) * 0x1p-32);
    const double c = ndr_cos(x), s = ndr_sin(x), turned = quarter & 1 ? s : c;
    return radius * ((quarter + 1) & 2 ? -turned : turned);
}

/* Where an attempt is as good as never refused, an end all the same: after so many the last one
 * counts. The samplers accept at least a third of the attempts. */
#define NDR_ATTEMPTS 1000

#endif
