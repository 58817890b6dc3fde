/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What lies a little further than processors look ahead by themselves is asked for; it may be
 * nothing, so addresses are numbers. Each cache has as many lines under way as it has places for
 * them: those of both are used. */
#ifndef NDOCK_CPU_AHEAD_H
#define NDOCK_CPU_AHEAD_H
#include <stdint.h>

enum {
    CPU_AHEAD_FAR = 16384, /* bytes ahead of what is read, into the second cache */
    CPU_AHEAD_NEAR = 4096  /* and into the first */
};

/* What follows nbytes that are about to be read. */
static inline __attribute__((always_inline)) void cpu_ask_ahead(const void *from, int64_t nbytes)
{
    const uintptr_t at = (uintptr_t)from;
    for (int64_t i = 0; i < nbytes; i += 64) {
        __builtin_prefetch((const void *)(at + (uintptr_t)i + CPU_AHEAD_FAR), 0, 2);
        __builtin_prefetch((const void *)(at + (uintptr_t)i + CPU_AHEAD_NEAR), 0, 3);
    }
}
#endif
