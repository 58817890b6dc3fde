/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The order of values that sorting and searching share, and stable sorting by it; sorting.c has the
 * code, selection.c and sets.c use it too. */
#ifndef NDOCK_CONFORM_ORDER_H
#define NDOCK_CONFORM_ORDER_H
#include "tests/conform/grid.h"

/* Below 0, 0 or above it: a before b, neither, b before a. NaN is last and no NaN before another;
 * complex numbers go by real, then imaginary part, first those without NaN, then those with one in
 * the imaginary part, in the real part, in both. */
int order_of(cell a, cell b);
/* Stable sorting permutation of n elements; descending keeps equal elements in order too. */
void order_sort(int64_t n, const cell *values, bool descending, int64_t *position);

typedef struct {
    dense values, positions;
} sorted;
/* The first k in order along axis. */
sorted sort_lanes(const dense *a, int axis, bool descending, int64_t k);
void release_sorted(sorted *s);
/* Integers, bools and floating values compare as real numbers. */
cell as_real(cell c);
/* Insertion positions of needles into the sorted haystack. */
dense search_positions(const dense *haystack, const dense *needles, bool right);
#endif
