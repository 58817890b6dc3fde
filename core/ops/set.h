/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the functions for distinct values and distinct slices share. */
#ifndef NDOCK_CORE_SET_H
#define NDOCK_CORE_SET_H
#include "core/ops/ops.h"

/* mask: which places of a sorted line begin a new value. How many places each value has. */
nd_status nd__count_runs(const nd_array *mask, nd_array **counts);
/* Number of the value at each sorted place, carried back by order to where the element came from,
 * in that shape. */
nd_status nd__number_values(const nd_array *mask, const nd_array *order, int ndim,
                            const int64_t *shape, nd_array **inverse);

#endif
