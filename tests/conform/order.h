/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The order of values that sorting and searching share, and stable sorting by it; sorting.c has the
 * code, sets.c uses it too. */
#ifndef NDOCK_CONFORM_ORDER_H
#define NDOCK_CONFORM_ORDER_H
#include "tests/conform/grid.h"

/* Below 0, 0 or above it: a before b, neither, b before a. NaN is last and no NaN before another;
 * complex numbers go by real, then imaginary part, first those without NaN, then those with one in
 * the imaginary part, in the real part, in both. */
int order_of(cell a, cell b);
/* Stable sorting permutation of n elements; descending keeps equal elements in order too. */
void order_sort(int64_t n, const cell *values, bool descending, int64_t *position);
#endif
