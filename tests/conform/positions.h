/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Random index arrays, good and bad; shared by indexing.c, which has the code, and scatter.c. */
#ifndef NDOCK_CONFORM_POSITIONS_H
#define NDOCK_CONFORM_POSITIONS_H
#include "tests/conform/grid.h"

/* Positions on an axis of extent n, in a random integer dtype, some counted from the end. */
dense positions_random(int ndim, const int64_t *shape, int64_t n);
/* The position meant by element at. */
int64_t positions_get(const dense *p, int64_t at, int64_t n);
/* Puts a position out of range somewhere and returns where; *value is what an error names. */
int64_t positions_spoil(dense *p, int64_t n, int64_t *value);
/* The call of op failed for element at of the indices p, and its message says so: the value, where
 * it is in p's own shape, and what is allowed. */
bool positions_refused(nd_status got, const dense *p, int64_t at, int64_t value, int64_t n,
                       const char *op);
/* For gather and its like: a's shape with another extent (0 to 6) at axis. cut: others shorter. */
void positions_shape(int ndim, const int64_t *a, int axis, bool cut, int64_t *shape);
#endif
