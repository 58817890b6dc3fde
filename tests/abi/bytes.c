/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Patterns, random numbers and time. */
#include <stdlib.h>
#include <time.h>
#include "abi.h"

/* Source: Vigna, "Further scramblings of Marsaglia's xorshift generators", splitmix64. */
uint64_t abi_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t abi_below(uint64_t *state, uint64_t n)
{
    return abi_random(state) % n;
}

/* A byte depends on its place too, so that bytes moved by any distance are seen. */
static unsigned char byte_of(uint64_t tag, size_t i)
{
    uint64_t z = tag * UINT64_C(0x9e3779b97f4a7c15) + i / 8;
    return (unsigned char)(abi_random(&z) >> (i % 8 * 8));
}

void abi_fill(void *p, size_t n, uint64_t tag)
{
    for (size_t i = 0; i < n; i++)
        ((unsigned char *)p)[i] = byte_of(tag, i);
}

bool abi_filled(const void *p, size_t n, uint64_t tag, size_t skip, const char *what)
{
    const unsigned char *b = p;
    for (size_t i = 0; i < n; i++)
        if (b[i] != byte_of(tag, i + skip)) {
            abi_fail("%s: byte %zu of %zu is 0x%02x, and should be 0x%02x", what, i, n, b[i],
                     byte_of(tag, i + skip));
            return false;
        }
    return true;
}

void *abi_bytes(size_t n)
{
    void *p = calloc(1, n ? n : 1);
    abi_need(p != NULL, "conform-abi itself has no %zu bytes of memory", n);
    return p;
}

double abi_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void abi_sleep_ms(unsigned ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}
