/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Putting arrays together and moving their elements: new dense arrays, on the inputs' device. */
#ifndef NDOCK_MANIP_H
#define NDOCK_MANIP_H
#include <ndock/base.h>
#include <ndock/dtype.h>

ND_BEGIN_DECLS

/* n >= 1 arrays of equal shape but for axis; dtypes are promoted. */
ND_API ND_MUST_USE nd_status nd_concat(int n, const nd_array *const *arrays, int axis,
                                       nd_array **out);
/* The same flattened, in order (the array API's axis=None). */
ND_API ND_MUST_USE nd_status nd_concat_flat(int n, const nd_array *const *arrays, nd_array **out);
/* n >= 1 arrays of one shape, along a new axis. */
ND_API ND_MUST_USE nd_status nd_stack(int n, const nd_array *const *arrays, int axis,
                                      nd_array **out);
/* Views along axis, one per position: out has room for its extent. */
ND_API ND_MUST_USE nd_status nd_unstack(const nd_array *a, int axis, nd_array **out);
/* a repeated reps[i] times along axis i; the shorter of shape and reps is padded with ones in
 * front. */
ND_API ND_MUST_USE nd_status nd_tile(const nd_array *a, int nreps, const int64_t *reps,
                                     nd_array **out);
/* Each element count times along axis. */
ND_API ND_MUST_USE nd_status nd_repeat(const nd_array *a, int64_t count, int axis, nd_array **out);
/* Position i along axis counts[i] times; counts is an integer 1-d array of its extent, or of length
 * one. Waits for the counts. */
ND_API ND_MUST_USE nd_status nd_repeat_each(const nd_array *a, const nd_array *counts, int axis,
                                            nd_array **out);
/* Shifted cyclically by shifts[i] along axes[i]; axes NULL: the flattened array by shifts[0]. */
ND_API ND_MUST_USE nd_status nd_roll(const nd_array *a, int n, const int64_t *shifts,
                                     const int32_t *axes, nd_array **out);
enum { ND_PAD_CONSTANT = 0, ND_PAD_EDGE = 1, ND_PAD_REFLECT = 2, ND_PAD_WRAP = 3 };
/* before[i], after[i] >= 0 elements around axis i, for all axes. reflect leaves the edge out, as
 * NumPy's; reflect and wrap may exceed the extent (0 extents are ND_ERR_SHAPE). */
ND_API ND_MUST_USE nd_status nd_pad(const nd_array *a, const int64_t *before, const int64_t *after,
                                    int mode, nd_scalar value, nd_array **out);

ND_END_DECLS
#endif
