/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The Philox 4x32-10 counter-based generator. Source: Salmon, Moraes, Dror and Shaw, Parallel
 * random numbers: as easy as 1, 2, 3, SC11. */
#ifndef NDOCK_CPU_PHILOX_H
#define NDOCK_CPU_PHILOX_H
#include <stdint.h>

#define PHILOX_LANES 16 /* blocks computed side by side, for the vectoriser */

/* One round for each lane: x[word][lane]. */
static inline void philox_round(uint32_t x[4][PHILOX_LANES], uint32_t key0, uint32_t key1)
{
    for (int j = 0; j < PHILOX_LANES; j++) {
        uint64_t product0 = UINT64_C(0xD2511F53) * x[0][j];
        uint64_t product1 = UINT64_C(0xCD9E8D57) * x[2][j];
        x[0][j] = (uint32_t)(product1 >> 32) ^ x[1][j] ^ key0;
        x[1][j] = (uint32_t)product1;
        x[2][j] = (uint32_t)(product0 >> 32) ^ x[3][j] ^ key1;
        x[3][j] = (uint32_t)product0;
    }
}

/* The blocks of the 128-bit counters from counter + first on (carry included), PHILOX_LANES of
 * them, four words each, in order. */
static inline void philox_blocks(uint64_t key, const uint64_t counter[2], uint64_t first,
                                 uint32_t out[4 * PHILOX_LANES])
{
    uint32_t x[4][PHILOX_LANES], key0 = (uint32_t)key, key1 = (uint32_t)(key >> 32);
    for (int j = 0; j < PHILOX_LANES; j++) {
        uint64_t step = first + (uint64_t)j; /* of at most 2^62 blocks: does not wrap */
        uint64_t low = counter[0] + step, high = counter[1] + (low < step);
        x[0][j] = (uint32_t)low;
        x[1][j] = (uint32_t)(low >> 32);
        x[2][j] = (uint32_t)high;
        x[3][j] = (uint32_t)(high >> 32);
    }
    for (int round = 0; round < 10; round++) {
        philox_round(x, key0, key1);
        key0 +=
            UINT32_C(0x9E3779B9); /* the golden ratio, and sqrt(3) - 1: Weyl sequences of keys */
        key1 += UINT32_C(0xBB67AE85);
    }
    for (int j = 0; j < PHILOX_LANES; j++)
        for (int word = 0; word < 4; word++)
            out[4 * j + word] = x[word][j];
}

#endif
