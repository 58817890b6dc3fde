/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the files of the random calls of the C API share: random numbers, arrays that calls made,
 * and values for arguments. */
#ifndef NDOCK_TESTS_FUZZ_CALLS_H
#define NDOCK_TESTS_FUZZ_CALLS_H
#include <string.h>
#include "tests/calls/world.h"

enum { POOL = 24, LIST = 128 };
extern uint64_t fuzz_state; /* of the random numbers; what a seed sets */
extern nd_array *fuzz_pool[POOL];

static inline uint32_t draw(void) /* SplitMix64 */
{
    uint64_t z = fuzz_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(z >> 32 ^ z);
}

static inline int below(int n)
{
    return (int)(draw() % (uint32_t)n);
}

static inline bool once_in(int n)
{
    return below(n) == 0;
}

static inline bool starts(const char *text, const char *begin)
{
    return strncmp(text, begin, strlen(begin)) == 0;
}

static inline bool ends(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static inline bool among(const char *const *list, const char *name)
{
    for (; *list; list++)
        if (strcmp(*list, name) == 0)
            return true;
    return false;
}

/* ---- fuzz_values.c ---- */
/* A value for the argument in place of the valid one: NULL, wrong, or of an earlier call. */
nd_value fuzz_wild(const nd_call *c, const nd_call_argument *a, nd_value valid);
/* The world's lists hold two entries; these, one an argument i, go on as far as any count may say.
 */
nd_value fuzz_widened(const nd_call_argument *a, nd_value v, int i);

#endif
