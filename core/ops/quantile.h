/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Where a quantile lies among sorted elements, and its value there. */
#ifndef NDOCK_CORE_QUANTILE_H
#define NDOCK_CORE_QUANTILE_H
#include "core/ops/rows.h"

/* Between which two positions a quantile lies, and how far from the lower to the upper one. */
typedef struct {
    int64_t low, high;
    double weight;
} nd_between;

/* Of n > 0 elements. */
nd_between nd__quantile_between(int64_t n, double q, int method);
/* Whether the method answers with an element, so that integers may stay what they are. */
bool nd__quantile_picks(int method);
/* The quantile of each row of sorted, whose last axis stays with extent one. */
nd_array *nd__quantile_of_sorted(nd_steps *s, const nd_array *sorted, const nd_between *b,
                                 nd_dtype compute);
/* The same where only the first elements of each row count, as many as count (a column) says; NaN
 * of none. */
nd_array *nd__quantile_of_counted(nd_steps *s, const nd_array *sorted, const nd_array *count,
                                  double q, int method, nd_dtype compute);

#endif
