/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Quicksort of 32-bit and 64-bit keys in vectors, for the levels that have them. A pivot deals a
 * run out to another buffer, low keys from the left and high ones from the right, until few are
 * left, which fit registers and a network sorts. Equal keys are alike, so it need not be stable.
 *
 * Sources: the partition by compression follows Bramas, A novel hybrid quicksort algorithm
 * vectorized using AVX-512, IJACSA 8(10), 2017; the network of 19 exchanges is Knuth's, The Art of
 * Computer Programming 3, 5.3.4; bitonic merging is Batcher's, AFIPS 1968. */
#ifndef NDOCK_CPU_SORT_QUICK_H
#define NDOCK_CPU_SORT_QUICK_H
#if defined(__AVX2__)
#include <immintrin.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#define QUICK_FN static inline __attribute__((always_inline))

/* The exchanges that sort eight. */
static const uint8_t quick_pairs[19][2] = {{0, 2}, {1, 3}, {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6},
                                           {3, 7}, {0, 1}, {2, 3}, {4, 5}, {6, 7}, {2, 4}, {3, 5},
                                           {1, 4}, {3, 6}, {1, 2}, {3, 4}, {5, 6}};

#include "sort/quick_32.h"
#include "sort/quick_64.h"
#else
#define quick_32_keys NULL
#define quick_64_keys NULL
#endif
#endif
