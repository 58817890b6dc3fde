/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * New arrays from nothing: dense, on device (NULL: the current one). Errors: SHAPE, OVERFLOW,
 * DTYPE, DEVICE, MEMORY. */
#ifndef NDOCK_CREATE_H
#define NDOCK_CREATE_H
#include <ndock/base.h>
#include <ndock/dtype.h>

ND_BEGIN_DECLS

/* Elements are not set. */
ND_API ND_MUST_USE nd_status nd_empty(nd_device *device, nd_dtype dtype, int ndim,
                                      const int64_t *shape, nd_array **out);
ND_API ND_MUST_USE nd_status nd_zeros(nd_device *device, nd_dtype dtype, int ndim,
                                      const int64_t *shape, nd_array **out);
ND_API ND_MUST_USE nd_status nd_ones(nd_device *device, nd_dtype dtype, int ndim,
                                     const int64_t *shape, nd_array **out);
ND_API ND_MUST_USE nd_status nd_full(nd_device *device, nd_dtype dtype, int ndim,
                                     const int64_t *shape, nd_scalar value, nd_array **out);
/* Of a's shape and device; dtype 0: a's. */
ND_API ND_MUST_USE nd_status nd_empty_like(const nd_array *a, nd_dtype dtype, nd_array **out);
ND_API ND_MUST_USE nd_status nd_zeros_like(const nd_array *a, nd_dtype dtype, nd_array **out);
ND_API ND_MUST_USE nd_status nd_ones_like(const nd_array *a, nd_dtype dtype, nd_array **out);
ND_API ND_MUST_USE nd_status nd_full_like(const nd_array *a, nd_dtype dtype, nd_scalar value,
                                          nd_array **out);

/* start, start + step, ... before stop. dtype 0: i64 if all three are integers, else the default
 * float. Length ceil((stop - start)/step), at least 0. */
ND_API ND_MUST_USE nd_status nd_arange(nd_device *device, nd_dtype dtype, nd_scalar start,
                                       nd_scalar stop, nd_scalar step, nd_array **out);
/* num values from start to stop; endpoint nonzero: stop is the last, exactly. dtype 0: the default
 * float, or c128. */
ND_API ND_MUST_USE nd_status nd_linspace(nd_device *device, nd_dtype dtype, nd_scalar start,
                                         nd_scalar stop, int64_t num, int endpoint, nd_array **out);
/* Ones on the k-th diagonal (above the main one for k > 0). */
ND_API ND_MUST_USE nd_status nd_eye(nd_device *device, nd_dtype dtype, int64_t rows, int64_t cols,
                                    int64_t k, nd_array **out);
/* n one-dimensional arrays to n views of their product grid, broadcast, read-only. ij nonzero:
 * matrix indexing, else x and y are exchanged. */
ND_API ND_MUST_USE nd_status nd_meshgrid(int n, const nd_array *const *arrays, int ij,
                                         nd_array **out);
/* Copies with zeros above (below) the k-th diagonal of the last two axes. */
ND_API ND_MUST_USE nd_status nd_tril(const nd_array *a, int64_t k, nd_array **out);
ND_API ND_MUST_USE nd_status nd_triu(const nd_array *a, int64_t k, nd_array **out);
/* Ones on and below the k-th diagonal, zeros above. */
ND_API ND_MUST_USE nd_status nd_tri(nd_device *device, nd_dtype dtype, int64_t rows, int64_t cols,
                                    int64_t k, nd_array **out);
/* Of one dimension a matrix with a on its k-th diagonal, zeros elsewhere; of two a copy of the k-th
 * diagonal; diagflat: a matrix of the flattened array, whatever its rank. */
ND_API ND_MUST_USE nd_status nd_diag(const nd_array *a, int64_t k, nd_array **out);
ND_API ND_MUST_USE nd_status nd_diagflat(const nd_array *a, int64_t k, nd_array **out);
/* Powers of a (one dimension) as columns, cols of them (negative: as many as elements), from the
 * highest down to 0, increasing nonzero: from 0 up. */
ND_API ND_MUST_USE nd_status nd_vander(const nd_array *a, int64_t cols, int increasing,
                                       nd_array **out);
/* One at position indices[i] of a new last axis of extent n, zeros elsewhere; of indices out of
 * [0, n) zeros alone. */
ND_API ND_MUST_USE nd_status nd_one_hot(const nd_array *indices, int64_t n, nd_dtype dtype,
                                        nd_array **out);

ND_END_DECLS
#endif
