/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Views: other shapes and strides over the same storage. Nothing is copied, nothing is queued; a
 * view of a read-only array is read-only. Axes may be negative. Every *out is a new array that
 * shares storage with a. */
#ifndef NDOCK_VIEW_H
#define NDOCK_VIEW_H
#include <ndock/base.h>

ND_BEGIN_DECLS

/* View with another shape of the same size; one extent may be -1. ND_ERR_SHAPE where strides do not
 * allow a view: nd_reshape_copy copies then. */
ND_API ND_MUST_USE nd_status nd_reshape(const nd_array *a, int ndim, const int64_t *shape,
                                        nd_array **view);
/* A view where possible, else a dense copy. */
ND_API ND_MUST_USE nd_status nd_reshape_copy(const nd_array *a, int ndim, const int64_t *shape,
                                             nd_array **out);
/* axes: a permutation of all of them. */
ND_API ND_MUST_USE nd_status nd_permute(const nd_array *a, int naxes, const int32_t *axes,
                                        nd_array **view);
/* All axes reversed. */
ND_API ND_MUST_USE nd_status nd_transpose(const nd_array *a, nd_array **view);
/* The last two axes exchanged; ndim >= 2. */
ND_API ND_MUST_USE nd_status nd_matrix_transpose(const nd_array *a, nd_array **view);
ND_API ND_MUST_USE nd_status nd_moveaxis(const nd_array *a, int naxes, const int32_t *source,
                                         const int32_t *destination, nd_array **view);
/* Extents of one stretch with stride 0; such a view is read-only when it stretches. */
ND_API ND_MUST_USE nd_status nd_broadcast_to(const nd_array *a, int ndim, const int64_t *shape,
                                             nd_array **view);
/* Axes (of the result) at which extents of one are inserted; removed. squeeze with axes NULL
 * and naxes 0 removes every extent of one. */
ND_API ND_MUST_USE nd_status nd_expand_dims(const nd_array *a, int naxes, const int32_t *axes,
                                            nd_array **view);
ND_API ND_MUST_USE nd_status nd_squeeze(const nd_array *a, int naxes, const int32_t *axes,
                                        nd_array **view);
/* Reverse along axes; NULL and naxes 0: along all. */
ND_API ND_MUST_USE nd_status nd_flip(const nd_array *a, int naxes, const int32_t *axes,
                                     nd_array **view);
/* Elements with equal index on axis1 and axis2 (shifted by offset), as a new last axis. */
ND_API ND_MUST_USE nd_status nd_diagonal(const nd_array *a, int64_t offset, int axis1, int axis2,
                                         nd_array **view);
/* Any strides and any offset (both in elements, the offset from the start of the storage), checked
 * against the storage. */
ND_API ND_MUST_USE nd_status nd_as_strided(const nd_array *a, int ndim, const int64_t *shape,
                                           const int64_t *stride, int64_t offset, nd_array **view);
/* The same view, not writable. */
ND_API ND_MUST_USE nd_status nd_readonly(const nd_array *a, nd_array **view);

/* One entry of a basic index. */
enum { ND_INDEX_INT = 1, ND_INDEX_RANGE = 2, ND_INDEX_NEWAXIS = 3, ND_INDEX_ELLIPSIS = 4 };
#define ND_END_OPEN INT64_MIN /* start or stop left out, as in a[::-1] */
typedef struct {
    int32_t kind, zero;
    int64_t start, stop, step;
} nd_index;

static inline nd_index nd_at(int64_t i)
{
    nd_index x = {ND_INDEX_INT, 0, i, 0, 0};
    return x;
}
static inline nd_index nd_range(int64_t start, int64_t stop, int64_t step)
{
    nd_index x = {ND_INDEX_RANGE, 0, start, stop, step};
    return x;
}
static inline nd_index nd_all_of(void)
{
    nd_index x = {ND_INDEX_RANGE, 0, ND_END_OPEN, ND_END_OPEN, 1};
    return x;
}
static inline nd_index nd_newaxis(void)
{
    nd_index x = {ND_INDEX_NEWAXIS, 0, 0, 0, 0};
    return x;
}
static inline nd_index nd_ellipsis(void)
{
    nd_index x = {ND_INDEX_ELLIPSIS, 0, 0, 0, 0};
    return x;
}

/* Basic indexing, as Python's: an integer drops its axis and must be in range (ND_ERR_INDEX), a
 * range is clamped and may step backwards (a step of 0 is ND_ERR_ARGUMENT), a new axis has extent
 * one, at most one ellipsis stands for the axes not named (one is implied at the end). */
ND_API ND_MUST_USE nd_status nd_slice(const nd_array *a, const nd_index *idx, int n,
                                      nd_array **view);

/* The shape that n shapes broadcast to; out has room for ND_MAX_NDIM. */
ND_API ND_MUST_USE nd_status nd_broadcast_shapes(int n, const int *ndims,
                                                 const int64_t *const *shapes, int *ndim,
                                                 int64_t *out);
/* Windows of extents window[i] that slide along axes[i] (axes NULL and naxes a's rank: all): these
 * axes become extent - window + 1 long, and the windows' axes come last. An axis may be named
 * again. The view is read-only. */
ND_API ND_MUST_USE nd_status nd_sliding_window_view(const nd_array *a, int naxes,
                                                    const int32_t *axes, const int64_t *window,
                                                    nd_array **view);

ND_END_DECLS
#endif
