/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Chunks of about one size, for work whose bits do not depend on where it is cut. */
#ifndef NDOCK_CPU_GRAIN_H
#define NDOCK_CPU_GRAIN_H
#include "host/cpu.h"

/* A grain, at most the one given, by which the chunks of n are of about one size, since the caller waits
 * for the longest of them. Chunks begin at multiples of step. */
static inline int64_t cpu_even_grain(int64_t n, int64_t grain, int64_t step)
{
    const int64_t chunks = cpu_ceil_div(n, grain);
    const int64_t even = cpu_ceil_div(cpu_ceil_div(n, chunks > 0 ? chunks : 1), step) * step;
    return even > 0 && even < grain ? even : grain;
}
#endif
