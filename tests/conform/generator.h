/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Philox 4x32-10 as the paper defines it, worked out anew for the conformance suite, and what tests of
 * random numbers share. */
#ifndef NDOCK_TESTS_CONFORM_GENERATOR_H
#define NDOCK_TESTS_CONFORM_GENERATOR_H
#include <math.h>
#include "tests/conform/grid.h"

typedef struct {
    uint32_t w[4];
} block;

__attribute__((unused)) static block philox(unsigned __int128 counter, uint64_t key)
{
    block b;
    for (int i = 0; i < 4; i++)
        b.w[i] = (uint32_t)(counter >> 32 * i);
    for (uint32_t round = 0; round < 10; round++) {
        uint64_t k0 = (uint32_t)key + round * 0x9E3779B9u,
                 k1 = (uint32_t)(key >> 32) + round * 0xBB67AE85u;
        uint64_t left = UINT64_C(0xD2511F53) * b.w[0], right = UINT64_C(0xCD9E8D57) * b.w[2];
        b = (block){{(uint32_t)(right >> 32) ^ b.w[1] ^ (uint32_t)k0, (uint32_t)right,
                     (uint32_t)(left >> 32) ^ b.w[3] ^ (uint32_t)k1, (uint32_t)left}};
    }
    return b;
}

__attribute__((unused)) static unsigned __int128 counter_of(const nd_random_key *key)
{
    return (unsigned __int128)key->counter[1] << 64 | key->counter[0];
}

/* Some positions of the generator. */
__attribute__((unused)) static nd_random_key random_key(void)
{
    nd_random_key key = {random_bits(), {random_bits(), random_bits()}};
    if (random_below(3) == 0) /* about to carry into the upper half, or around */
        key.counter[0] = UINT64_MAX - (uint64_t)random_below(20);
    if (random_below(6) == 0)
        key.counter[1] = UINT64_MAX;
    return key;
}

/* Cosine (or sine) of u turns; the quarter is taken off exactly first. */
__attribute__((unused)) static long double turn(long double u, bool sine)
{
    const long double two_pi = 6.28318530717958647692528676655900577L;
    int quarter = (int)floorl(u * 4 + 0.5L);
    long double x = two_pi * (u - quarter * 0.25L), c = cosl(x), s = sinl(x);
    const long double cosines[] = {c, -s, -c, s}, sines[] = {s, c, -s, -c};
    return sine ? sines[quarter & 3] : cosines[quarter & 3];
}

/* x as dtype holds it. */
__attribute__((unused)) static cell rounded(nd_dtype dtype, long double x)
{
    char element[16];
    cell_write(dtype, cell_real(x), element);
    return cell_read(dtype, element);
}

#endif
