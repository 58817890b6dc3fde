/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Probabilities of categories as exact integers. */
#ifndef NDOCK_CORE_SAMPLING_H
#define NDOCK_CORE_SAMPLING_H
#include "core/ops/random.h"

/* Running sums (i64) along the last axis of weights in units of 2^-61 of the largest, times how
 * many there are (as a power of two): below 2^62, and the same on every device. */
nd_array *nd__sampling_table(nd_steps *s, const nd_array *weights);
/* Weights are real, finite, not negative, and some of each row above 0. Waits. */
nd_status nd__check_weights(const char *op, const nd_array *w, int32_t argument);
/* w's axes before the last broadcast to the shape. */
nd_status nd__check_weights_batch(const char *op, const nd_array *w, int ndim, const int64_t *shape,
                                  int32_t argument);

#endif
