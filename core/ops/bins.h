/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What histograms know of their bins. */
#ifndef NDOCK_CORE_BINS_H
#define NDOCK_CORE_BINS_H
#include "core/ops/steps.h"

typedef struct {
    int64_t count;
    double low, high; /* of bins of equal width: the first and last edge */
    nd_array *edges;
    nd_array *searched; /* the edges, the last of which is the next number: the last bin holds it */
} nd_binning;

/* The bins along one coordinate, whose data are a; waits. Error texts call op. */
nd_status nd__binning_of(nd_steps *s, const char *op, const nd_array *a, const nd_bins *bins,
                         nd_binning *b);
/* weights, which may be NULL, have a's shape and device. */
nd_status nd__check_bin_weights(const char *op, const nd_array *a, const nd_array *weights,
                                int32_t argument);
/* Where each element of a is among the edges, i64: 1 in the first bin and so on, 0 below it,
 * b->count + 1 above the last one and for NaN. */
nd_array *nd__bin_positions(nd_steps *s, const nd_array *a, const nd_binning *b);
/* How many elements of a are in each bin; an array of its own. */
nd_array *nd__bin_counts(nd_steps *s, const nd_array *a, const nd_binning *b);
/* Sums of weights (NULL: ones) by position, each in 0 to length - 1. */
nd_array *nd__sums_by_position(nd_steps *s, const nd_array *positions, const nd_array *weights,
                               int64_t length);
/* How many integers an unsigned dtype has, as far as an extent can say. */
int64_t nd__integers_of(nd_dtype dtype);
/* How often each of 0 to length - 1 is in a, of unsigned integers below length; where the device
 * counts insertions and length is no more than dtype has, larger ones count as length - 1. */
nd_array *nd__counts_of_integers(nd_steps *s, const nd_array *a, int64_t length);

#endif
