/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Indexing by arrays: take, gather, scatter, boolean selection, nonzero. Indices are integer arrays
 * on the same device; negative ones count from the end; one out of range is ND_ERR_INDEX with its
 * position and value, with nothing written (asynchronous devices: see device notes). */
#ifndef NDOCK_INDEXING_H
#define NDOCK_INDEXING_H
#include <ndock/base.h>

ND_BEGIN_DECLS

/* a's shape with axis replaced by the shape of indices (any rank). */
ND_API ND_MUST_USE nd_status nd_take(const nd_array *a, const nd_array *indices, int axis,
                                     nd_array **out);
ND_API ND_MUST_USE nd_status nd_take_into(const nd_array *a, const nd_array *indices, int axis,
                                          const nd_array *dst);
/* out[i,j,k] = a[i, indices[i,j,k], k] for axis 1; the other axes broadcast. */
ND_API ND_MUST_USE nd_status nd_take_along_axis(const nd_array *a, const nd_array *indices,
                                                int axis, nd_array **out);
ND_API ND_MUST_USE nd_status nd_take_along_axis_into(const nd_array *a, const nd_array *indices,
                                                     int axis, const nd_array *dst);
/* The same formula, the other axes of indices not longer than a's (PyTorch's gather); the result
 * has the shape of indices. */
ND_API ND_MUST_USE nd_status nd_gather(const nd_array *a, const nd_array *indices, int axis,
                                       nd_array **out);
ND_API ND_MUST_USE nd_status nd_gather_into(const nd_array *a, const nd_array *indices, int axis,
                                            const nd_array *dst);

enum { ND_SCATTER_SET = 0, ND_SCATTER_ADD = 1, ND_SCATTER_MIN = 2, ND_SCATTER_MAX = 3 };
/* dst[i, indices[i,j,k], k] = (+=, min=, max=) src[i,j,k], in place. src broadcasts to the shape of
 * indices and is converted to dst's dtype. Of duplicates the last in C order wins; additions go in
 * C order, so bits repeat. */
ND_API ND_MUST_USE nd_status nd_scatter_into(const nd_array *indices, const nd_array *src, int axis,
                                             int mode, const nd_array *dst);
/* A copy of a, so updated. */
ND_API ND_MUST_USE nd_status nd_scatter(const nd_array *a, const nd_array *indices,
                                        const nd_array *src, int axis, int mode, nd_array **out);
/* dst[..., indices[j], ...] += src[..., j, ...] for 1-d indices along axis. */
ND_API ND_MUST_USE nd_status nd_index_add_into(const nd_array *indices, const nd_array *src,
                                               int axis, const nd_array *dst);
ND_API ND_MUST_USE nd_status nd_index_add(const nd_array *a, const nd_array *indices,
                                          const nd_array *src, int axis, nd_array **out);

/* The same where an index that is the largest value of its own dtype is padding: nd_take_padded and
 * nd_gather_padded read 0 there, nd_scatter_padded and nd_index_add_padded write nothing. Other
 * indices out of range are errors as before. */
ND_API ND_MUST_USE nd_status nd_take_padded(const nd_array *a, const nd_array *indices, int axis,
                                            nd_array **out);
ND_API ND_MUST_USE nd_status nd_gather_padded(const nd_array *a, const nd_array *indices, int axis,
                                              nd_array **out);
ND_API ND_MUST_USE nd_status nd_scatter_padded(const nd_array *a, const nd_array *indices,
                                               const nd_array *src, int axis, int mode,
                                               nd_array **out);
ND_API ND_MUST_USE nd_status nd_index_add_padded(const nd_array *a, const nd_array *indices,
                                                 const nd_array *src, int axis, nd_array **out);

/* Rows of a where mask, a bool array of a's leading axes, is true; C order. The result's length
 * depends on data: one count is read, so this waits. */
ND_API ND_MUST_USE nd_status nd_select(const nd_array *a, const nd_array *mask, nd_array **out);
/* The same into the first rows of dst (capacity, ...), with the number of true elements in count, a
 * 0-d i64 array; rows past the capacity are dropped, rows of dst past the count keep their values.
 * Does not wait. */
ND_API ND_MUST_USE nd_status nd_select_into(const nd_array *a, const nd_array *mask,
                                            const nd_array *dst, const nd_array *count);
/* Coordinates of nonzero elements in C order as an i64 array (count, ndim). 0-d arrays are
 * ND_ERR_SHAPE. Waits for one count. */
ND_API ND_MUST_USE nd_status nd_nonzero(const nd_array *a, nd_array **out);
/* The same into the first rows of dst, i64 (capacity, ndim); as nd_select_into. */
ND_API ND_MUST_USE nd_status nd_nonzero_into(const nd_array *a, const nd_array *dst,
                                             const nd_array *count);

/* Coordinates (out[d], i64, of the shape of indices) of positions in the C order of an array of
 * that shape; out has room for ndim. And back: the position of n = ndim coordinates, which
 * broadcast. ND_INDEX_RAISE: what is out of range is ND_ERR_INDEX (which waits); else it is
 * wrapped, or clipped to the range. */
enum { ND_INDEX_RAISE = 0, ND_INDEX_WRAP = 1, ND_INDEX_CLIP = 2 };
ND_API ND_MUST_USE nd_status nd_unravel_index(const nd_array *indices, int ndim,
                                              const int64_t *shape, nd_array **out);
ND_API ND_MUST_USE nd_status nd_ravel_multi_index(int n, const nd_array *const *arrays,
                                                  const int64_t *shape, int mode, nd_array **out);
/* dst's elements at positions of its C order = values, in order, repeated as often as needed; mode
 * as above, though ND_INDEX_RAISE waits for nothing. */
ND_API ND_MUST_USE nd_status nd_put_into(const nd_array *indices, const nd_array *values, int mode,
                                         const nd_array *dst);
/* dst[i, indices[i,j,k], k] = values[i,j,k] for axis 1, as nd_take_along_axis reads; values
 * broadcast to indices, which broadcast to dst but for the axis. */
ND_API ND_MUST_USE nd_status nd_put_along_axis_into(const nd_array *indices, const nd_array *values,
                                                    int axis, const nd_array *dst);
/* dst's elements where mask (bool, of its shape) is true = values, in C order, repeated as often as
 * needed. */
ND_API ND_MUST_USE nd_status nd_place_into(const nd_array *mask, const nd_array *values,
                                           const nd_array *dst);
/* nd_assign where mask (bool) is true; src and mask broadcast to dst. */
ND_API ND_MUST_USE nd_status nd_assign_where(const nd_array *src, const nd_array *mask,
                                             const nd_array *dst);

ND_END_DECLS
#endif
