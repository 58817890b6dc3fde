/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the operations on windows of images share: lists of options an entry an axis, and the views
 * with three spatial axes that kernels see. */
#ifndef NDOCK_CORE_WINDOW_H
#define NDOCK_CORE_WINDOW_H
#include "core/ops/prepare.h"

#define ND_WINDOW_AXES 3
#define ND_WINDOW_LIMIT INT32_MAX /* of entries of lists */

/* A list of `rank` entries, each at least `least`, as the last ones of three; those before it, and
 * all where it is NULL, become `value`. */
nd_status nd__window_list(const char *op, const char *name, int rank, const int64_t *given,
                          int64_t value, int64_t least, int64_t out[ND_WINDOW_AXES]);
/* x has one to three spatial axes after (n, c), or with `rank` such axes (0: any) and no n. */
nd_status nd__window_rank(const char *op, const nd_array *x, int rank, int32_t argument);
/* The extents of the windows' grid along an axis: (s + 2*padding - dilation*(k - 1) - 1)/stride + 1;
 * where the window does not fit in, an error that names the axis. */
nd_status nd__window_extent(const char *op, int axis, int64_t s, int64_t kernel, int64_t stride,
                            int64_t padding, int64_t dilation, int64_t *out);
/* a as (n, c, d, h, w), or of other leading axes, `lead` of which its shape has before its spatial
 * ones, of at most `full` that the view gets: shape and stride are the view's. */
void nd__window_view(const nd_array *a, int lead, int full, int64_t *shape, int64_t *stride,
                     ndp_view *v);
/* Whether the axis of the channels is innermost in memory, and not because there is no other order: a new result
 * has the same order then. */
bool nd__window_has_last(const nd_array *x, int channels);
/* dst becomes zero everywhere. */
nd_status nd__window_zero(const nd_array *dst);

#endif
