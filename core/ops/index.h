/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What operations with arrays of indices share. */
#ifndef NDOCK_CORE_INDEX_H
#define NDOCK_CORE_INDEX_H
#include "core/ops/prepare.h"

/* Indices as the caller gave them, for errors: the operation called, and which argument they
 * are. */
typedef struct {
    const char *op;
    const nd_array *array;
    int32_t argument;
} nd_given_indices;

/* Indices as i64. A u64 beyond i64 would come out negative and count from the end, so it is capped
 * first. *out may be idx itself, retained. */
nd_status nd__as_indices(const char *op, const nd_array *idx, int32_t argument, nd_array **out);
/* What a kernel says, which saw the indices stretched or merged, in terms of those that were
 * given. */
nd_status nd__explain_index(nd_status status, const nd_given_indices *g, int64_t extent);

/* Room for the views of arrays whose dimensions around an axis are merged. */
typedef struct {
    int64_t outer_shape[ND_MAX_NDIM], inner_shape[ND_MAX_NDIM];
    int64_t outer[3][ND_MAX_NDIM], inner[3][ND_MAX_NDIM];
    int outer_rank, inner_rank;
    int64_t shape[3][ND_MAX_NDIM], stride[3][ND_MAX_NDIM];
} nd_around_axis;

/* Merges the dimensions before and after the axis, jointly for the n arrays; each keeps its own
 * extent at the axis, which is dimension m->outer_rank of the views v. The order stays, so that a
 * kernel can say at which position in C order an index is bad; it may exchange dimensions
 * itself. */
void nd__merge_around_axis(int n, const nd_array *const *arrays, int axis, nd_around_axis *m,
                           ndp_view *v);
/* A view of `a` cut to the extents of shape, except along axis. */
nd_status nd__cut_to(const nd_array *a, const int64_t *shape, int axis, nd_array **view);
/* Whether indices of that shape can stand for elements of a along axis: the same rank, no extent
 * longer but the axis's own, and something to choose from. */
nd_status nd__check_index_shape(const nd_given_indices *g, const nd_array *a, const nd_array *idx,
                                int axis);

#endif
