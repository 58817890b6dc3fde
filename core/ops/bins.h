/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What histograms know of their bins. */
#ifndef NDOCK_CORE_BINS_H
#define NDOCK_CORE_BINS_H
#include "core/ops/steps.h"

typedef struct {
    int64_t count;
    bool equal;       /* of equal width: low and high are known */
    double low, high; /* the first and last edge, as the edges' dtype has them */
    nd_array *edges;
} nd_binning;

/* The bins along one coordinate, whose data are a; waits. Error texts call op. */
nd_status nd__binning_of(nd_steps *s, const char *op, const nd_array *a, const nd_bins *bins,
                         nd_binning *b);
/* The bin of each element of a, i64; b->count for those in none. */
nd_array *nd__bin_numbers(nd_steps *s, const nd_array *a, const nd_binning *b);
/* Sums of weights (NULL: ones) by number, in 0 to count - 1; others go by themselves into a place
 * at the end, which the result has lost. */
nd_array *nd__sums_by_number(nd_steps *s, const nd_array *numbers, const nd_array *weights,
                             int64_t count);

#endif
