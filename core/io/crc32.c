/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * CRC-32, eight bytes at a step: table k holds the checksum of a byte that is followed by k zero
 * bytes, so that the parts of a step add up by exclusive or. Source: Kounavis and Berry, "A
 * Systematic Approach to Building High Performance Software-based CRC Generators" (2005). */
#include <pthread.h>
#include "core/io/crc32.h"

enum { STEP = 8 };
static const uint32_t polynomial = 0xEDB88320; /* bits reversed, as RFC 1952, section 8 has it */
static uint32_t table[STEP][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int bit = 0; bit < 8; bit++)
            c = c >> 1 ^ (c & 1 ? polynomial : 0);
        table[0][i] = c;
    }
    for (int k = 1; k < STEP; k++)
        for (uint32_t i = 0; i < 256; i++)
            table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 0xFF];
}

uint32_t nd__crc32(uint32_t crc, const void *data, size_t n)
{
    const unsigned char *p = data;
    (void)pthread_once(&once, make_table);
    crc = ~crc;
    for (; n >= STEP; n -= STEP, p += STEP) {
        const uint32_t low =
            crc ^ (p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
        crc = table[7][low & 0xFF] ^ table[6][low >> 8 & 0xFF] ^ table[5][low >> 16 & 0xFF] ^
              table[4][low >> 24] ^ table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^
              table[0][p[7]];
    }
    for (; n > 0; n--, p++)
        crc = crc >> 8 ^ table[0][(crc ^ *p) & 0xFF];
    return ~crc;
}
