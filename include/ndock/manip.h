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

/* n >= 1 views along axis, of equal extents (ND_ERR_SHAPE where it does not divide): out has room
 * for n. */
ND_API ND_MUST_USE nd_status nd_split(const nd_array *a, int n, int axis, nd_array **out);
/* The same where it need not divide: the first extent mod n views are one longer. */
ND_API ND_MUST_USE nd_status nd_array_split(const nd_array *a, int n, int axis, nd_array **out);
/* n + 1 views along axis, cut before the positions places[i], which are clipped to the extent, as
 * in Python's slices; they may be negative. */
ND_API ND_MUST_USE nd_status nd_split_at(const nd_array *a, int n, const int64_t *places, int axis,
                                         nd_array **out);
/* A view of a with extents of one in front, or for rank 3 as NumPy has them, (1, n, 1) and (m, n,
 * 1), until its rank is ndim, 1 to 3; a itself where it is that already. */
ND_API ND_MUST_USE nd_status nd_atleast(const nd_array *a, int ndim, nd_array **view);
/* n >= 1 arrays one after the other: along axis 1, of one dimension along axis 0; along axis 0 as
 * rows; along axis 2 as layers; as columns, where one dimension is a column. Each is brought to the
 * rank that takes by nd_atleast. */
ND_API ND_MUST_USE nd_status nd_hstack(int n, const nd_array *const *arrays, nd_array **out);
ND_API ND_MUST_USE nd_status nd_vstack(int n, const nd_array *const *arrays, nd_array **out);
ND_API ND_MUST_USE nd_status nd_dstack(int n, const nd_array *const *arrays, nd_array **out);
ND_API ND_MUST_USE nd_status nd_column_stack(int n, const nd_array *const *arrays, nd_array **out);
/* A matrix of rows*cols blocks, arrays in C order: those of a row beside each other along the last
 * axis, rows below each other along the last but one. */
ND_API ND_MUST_USE nd_status nd_block_matrix(int64_t rows, int64_t cols,
                                             const nd_array *const *arrays, nd_array **out);
/* A view turned k times by 90 degrees, from axis1 towards axis2. */
ND_API ND_MUST_USE nd_status nd_rot90(const nd_array *a, int64_t k, int axis1, int axis2,
                                      nd_array **view);
/* Views reversed along axis 1 (at least two dimensions), and along axis 0. */
ND_API ND_MUST_USE nd_status nd_fliplr(const nd_array *a, nd_array **view);
ND_API ND_MUST_USE nd_status nd_flipud(const nd_array *a, nd_array **view);
/* New slices along axis: values (broadcast to a's shape but for the axis, of which they have one
 * extent for each index) before the positions indices (one dimension of integers, from -extent to
 * extent) of a; of equal ones in their order. One out of range is ND_ERR_INDEX. */
ND_API ND_MUST_USE nd_status nd_insert(const nd_array *a, const nd_array *indices,
                                       const nd_array *values, int axis, nd_array **out);
/* a without the slices at the indices (one dimension of integers) along axis. Waits for their
 * number. */
ND_API ND_MUST_USE nd_status nd_delete(const nd_array *a, const nd_array *indices, int axis,
                                       nd_array **out);
/* nd_concat of a and b. */
ND_API ND_MUST_USE nd_status nd_append(const nd_array *a, const nd_array *b, int axis,
                                       nd_array **out);
/* A view of a (one dimension) without zeros at the front and at the back, each where its flag is
 * not 0. Waits. */
ND_API ND_MUST_USE nd_status nd_trim_zeros(const nd_array *a, int front, int back, nd_array **view);

ND_END_DECLS
#endif
