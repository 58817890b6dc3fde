/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * exp of doubles to the precision of a double, without branches, so that loops over it vectorise.
 * (vm_exp of vmath.h is the shorter one that single precision needs.) */
#ifndef NDOCK_CPU_MATH_EXP_H
#define NDOCK_CPU_MATH_EXP_H
#include <stdint.h>
#include <string.h>

/* 2^n, -1022 <= n <= 1023, from 1.5*2^52 + n, whose low bits are n. */
static inline double cpu_exp2_of_magic(double magic)
{
    uint64_t u;
    memcpy(&u, &magic, 8);
    u = (u + 1023) << 52;
    memcpy(&magic, &u, 8);
    return magic;
}

/* expm1 of s + low, |s| <= log(2)/2, by Taylor's series, less s. */
static inline double cpu_expm1_rest(double s, double low)
{
    double s2 = s * s, s4 = s2 * s2;
    double tail =
        (1 / 24. + s * (1 / 120.)) + s2 * (1 / 720. + s * (1 / 5040.)) +
        s4 * ((1 / 40320. + s * (1 / 362880.)) + s2 * (1 / 3628800. + s * (1 / 39916800.)) +
              s4 * (1 / 479001600. + s * (1 / 6227020800.)));
    return low + s2 * (1 / 2. + (s * (1 / 6.) + s2 * tail));
}

/* expm1(d), 0 <= d <= 44 or NaN, and in *less what it lost in rounding: 2^n expm1(r) + (2^n - 1). */
static inline double cpu_expm1_of(double d, double *less)
{
    const double magic = 0x1.8p52, m = d * 0x1.71547652b82fep0 + magic, n = m - magic;
    double r = d - n * 0x1.62e42fee00000p-1, low = n * 0x1.a39ef35793c76p-33;
    double s = r - low, scale = cpu_exp2_of_magic(m), whole = scale - 1;
    double part = scale * s, sum = whole + part, lost = (whole - sum) + part;
    double rest = lost + scale * cpu_expm1_rest(s, (r - s) - low), t = sum + rest;
    *less = rest - (t - sum);
    return t;
}

/* exp(d), d <= 710 or NaN, within 1 ulp; subnormal results and infinity too, by scaling in two steps.
 * exp(d) = 2^n exp(r), |r| <= log(2)/2, by Taylor's series. */
static inline double cpu_exp_below(double d)
{
    const double magic = 0x1.8p52;
    d = d < -746.0 ? -746.0 : d;
    double n = (d * 0x1.71547652b82fep0 + magic) - magic;
    double r = d - n * 0x1.62e42fee00000p-1;
    double low = n * 0x1.a39ef35793c76p-33;
    double s = r - low, p = 1 + (s + cpu_expm1_rest(s, (r - s) - low));
    double half = n * 0.5 + magic, rest = (n - (half - magic)) + magic;
    return p * cpu_exp2_of_magic(half) * cpu_exp2_of_magic(rest);
}
#endif
