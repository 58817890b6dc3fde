/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * exp of non-positive doubles, branch-free so that loops over it vectorise. */
#ifndef NDOCK_CPU_NORM_EXP_H
#define NDOCK_CPU_NORM_EXP_H
#include <stdint.h>
#include <string.h>

static inline double cpu_exp2_of_magic(double magic)
{
    uint64_t u;
    memcpy(&u, &magic, 8);
    u = (u + 1023) << 52; /* the low bits of 1.5*2^52 + n are n */
    memcpy(&magic, &u, 8);
    return magic;
}

/* exp(d), d <= 0 or NaN. precise: to 1 ulp of a double, subnormal results too; else to 2^-27, and
 * some tiny positive number below -708. exp(d) = 2^n exp(r), |r| <= log(2)/2, Taylor's series. */
static inline __attribute__((always_inline)) double cpu_exp_negative(double d, int precise)
{
    const double magic = 0x1.8p52, low = precise ? -746.0 : -708.0;
    d = d < low ? low : d;
    double m = d * 0x1.71547652b82fep0 + magic, n = m - magic, p;
    double r = d - n * 0x1.62e42fee00000p-1;
    r = r - n * 0x1.a39ef35793c76p-33;
    double r2 = r * r, r4 = r2 * r2;
    if (!precise) {
        p = (1 + r) + r2 * (1 / 2. + r * (1 / 6.)) +
            r4 * ((1 / 24. + r * (1 / 120.)) + r2 * (1 / 720. + r * (1 / 5040.)));
        return p * cpu_exp2_of_magic(m);
    }
    double tail = (1 / 24. + r * (1 / 120.)) + r2 * (1 / 720. + r * (1 / 5040.)) +
                  r4 * ((1 / 40320. + r * (1 / 362880.)) + r2 * (1 / 3628800. + r * (1 / 39916800.)) +
                        r4 * (1 / 479001600. + r * (1 / 6227020800.)));
    p = 1 + (r + r2 * (1 / 2. + (r * (1 / 6.) + r2 * tail)));
    double half = n * 0.5 + magic, rest = (n - (half - magic)) + magic;
    return p * cpu_exp2_of_magic(half) * cpu_exp2_of_magic(rest);
}
#endif
