/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Quicksort of 32-bit and 64-bit keys in vectors, for the levels that have them. A pivot deals a
 * run out in place, low keys to its front and high ones to its back, until few are left, which fit
 * registers and a network sorts. Equal keys are alike, so it need not be stable.
 *
 * Sources: the partition by compression follows Bramas, A novel hybrid quicksort algorithm
 * vectorized using AVX-512, IJACSA 8(10), 2017; the networks of 5 and 19 exchanges are Knuth's, The
 * Art of Computer Programming 3, 5.3.4, that of 60 is Green's, there too; bitonic merging is
 * Batcher's, AFIPS 1968. */
#ifndef NDOCK_CPU_SORT_QUICK_H
#define NDOCK_CPU_SORT_QUICK_H
#if defined(__AVX2__)
#include <immintrin.h>
#include <stdint.h>
#include <string.h>
#include "host/cpu.h"
#include "sort/quick_order.h"

#define QUICK_FN static inline __attribute__((always_inline))

/* The exchanges that sort four, eight and sixteen. */
static const uint8_t quick_pairs_4[5][2] = {{0, 2}, {1, 3}, {0, 1}, {2, 3}, {1, 2}};
static const uint8_t quick_pairs[19][2] = {{0, 2}, {1, 3}, {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6},
                                           {3, 7}, {0, 1}, {2, 3}, {4, 5}, {6, 7}, {2, 4}, {3, 5},
                                           {1, 4}, {3, 6}, {1, 2}, {3, 4}, {5, 6}};
#if defined(__AVX512F__)
#include <math.h>
/* By columns of a picture of it: exchanges that may be at once are side by side. */
static const uint8_t quick_pairs_16[60][2] = {
    {0, 13}, {1, 12}, {2, 15},  {3, 14},  {4, 8},   {5, 6},   {7, 11},  {9, 10},  {0, 5},
    {1, 7},  {2, 9},  {3, 4},   {6, 13},  {8, 14},  {10, 15}, {11, 12}, {0, 1},   {2, 3},
    {4, 5},  {6, 8},  {7, 9},   {10, 11}, {12, 13}, {14, 15}, {0, 2},   {1, 3},   {4, 10},
    {5, 11}, {6, 7},  {8, 9},   {12, 14}, {13, 15}, {1, 2},   {3, 12},  {4, 6},   {5, 7},
    {8, 10}, {9, 11}, {13, 14}, {1, 4},   {2, 6},   {5, 8},   {7, 10},  {9, 13},  {11, 14},
    {2, 4},  {3, 6},  {9, 12},  {11, 13}, {3, 5},   {6, 8},   {7, 9},   {10, 12}, {3, 4},
    {5, 6},  {7, 8},  {9, 10},  {11, 12}, {6, 7},   {8, 9}};
#include "sort/quick_512.h"
#else
#include "sort/quick_32.h"
#include "sort/quick_64.h"
#endif
#endif
#if !defined(__AVX2__)
#define quick_32_keys NULL
#define quick_64_keys NULL
#endif
#if !defined(__AVX512F__)
#define quick_f32_values NULL
#define quick_f64_values NULL
#endif
#endif
