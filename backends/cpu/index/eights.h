/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Positions of bytes that are not zero, eight bytes at a time, for index/select.c. */
#ifndef NDOCK_CPU_INDEX_EIGHTS_H
#define NDOCK_CPU_INDEX_EIGHTS_H
#include <pthread.h>
#include <stdint.h>
#include <string.h>

/* Which of eight bytes are not zero, as bits; by it, which those are in order, and how many. */
static struct {
    uint8_t place[256][8], count[256];
} eights;
static pthread_once_t eights_once = PTHREAD_ONCE_INIT;

static void eights_fill(void)
{
    for (int m = 0; m < 256; m++)
        for (int j = 0; j < 8; j++)
            if (m >> j & 1)
                eights.place[m][eights.count[m]++] = (uint8_t)j;
}

static inline int eight_bits(const char *bytes)
{
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t x;
    memcpy(&x, bytes, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    x = (((x & low) + low) | x) & ~low; /* the highest bit of each byte that is not zero */
    return (int)((x >> 7) * UINT64_C(0x0102040810204080) >> 56);
}

/* Positions of the bytes that are not zero to out, where there is room for eight; returns how many they are. */
static inline int64_t eight_positions(const char *bytes, int64_t first, int64_t *out)
{
    const int m = eight_bits(bytes);
    if (m == 0)
        return 0;
    for (int j = 0; j < 8; j++)
        out[j] = first + eights.place[m][j];
    return eights.count[m];
}

#endif
