/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Operations over any axes as ones along the last axis of a matrix or more. */
#ifndef NDOCK_CORE_ROWS_H
#define NDOCK_CORE_ROWS_H
#include "core/ops/steps.h"

typedef struct {
    nd_array *rows; /* a with the kept axes first and the reduced ones as one last axis */
    int64_t n;      /* extent of that axis */
    int ndim;       /* of the result */
    int64_t shape[ND_MAX_NDIM];
} nd_rows;

/* axes and naxes as in nd_reduce_opts. */
nd_status nd__rows_of(nd_steps *s, const char *op, const nd_array *a, const int32_t *axes,
                      int32_t naxes, bool keepdims, nd_rows *r);

#endif
