/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Chunks by how many threads there are, for work whose bits do not depend on where it is cut. */
#ifndef NDOCK_CPU_GRAIN_H
#define NDOCK_CPU_GRAIN_H
#include "host/cpu.h"

/* A grain by which each thread gets as many chunks of about one size, since the caller waits for the
 * last: at most the one given, and at least a quarter of it where n is more. Chunks begin at
 * multiples of step. Where each thread would have more than four chunks, they even out by
 * themselves, and the grain is the one given. */
static inline int64_t cpu_even_grain(int64_t n, int64_t grain, int64_t step)
{
    const int64_t threads = cpu_threads(), least = grain / 4;
    if (n <= grain || n / grain > 4 * threads)
        return grain;
    const int64_t each = cpu_ceil_div(n, threads * cpu_ceil_div(n, threads * grain));
    const int64_t even = cpu_ceil_div(each > least ? each : least, step) * step;
    return even < grain ? even : grain;
}

/* A grain by which each thread gets four chunks of n, but from least to most. */
static inline int64_t cpu_fair_grain(int64_t n, int64_t least, int64_t most)
{
    const int64_t fair = n / (4 * (int64_t)cpu_threads());
    return fair >= most ? most : fair > least ? fair : least;
}
#endif
