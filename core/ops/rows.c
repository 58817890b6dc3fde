/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The reduced axes of an array as one last axis. */
#include "core/ops/rows.h"

nd_status nd__rows_of(nd_steps *s, const char *op, const nd_array *a, const int32_t *axes,
                      int32_t naxes, bool keepdims, nd_rows *r)
{
    int32_t order[ND_MAX_NDIM];
    int64_t shape[ND_MAX_NDIM];
    uint64_t mask;
    int kept = 0, at;
    ND_RETURN_IF(nd__axes_option(op, naxes, axes, a->ndim, &mask));
    r->n = 1;
    r->ndim = 0;
    for (int d = 0; d < a->ndim; d++) {
        const bool reduced = mask >> d & 1;
        if (reduced) {
            r->n *= a->shape[d];
        } else {
            order[kept] = d;
            shape[kept++] = a->shape[d];
        }
        if (!reduced || keepdims)
            r->shape[r->ndim++] = reduced ? 1 : a->shape[d];
    }
    at = kept;
    for (int d = 0; d < a->ndim; d++)
        if (mask >> d & 1)
            order[at++] = d;
    if (kept == ND_MAX_NDIM) { /* no axis is reduced, and there is no room for one more */
        kept = 1;
        shape[0] = a->size;
    }
    shape[kept] = r->n;
    nd_array *moved;
    ND_STEP(s, moved, nd_permute(a, a->ndim, order, &moved));
    r->rows = nd__step_reshape(s, moved, kept + 1, shape);
    return s->status;
}
