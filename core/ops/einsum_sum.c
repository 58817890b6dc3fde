/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Sums of one operand of einsum by matrix products with ones. Where arrays are on the host such a
 * product takes half as long as sums in double precision do, or less; it rounds as the products of
 * pairs do. */
#include "core/ops/einsum.h"

enum {
    FEW = 16,
    WIDE = 512,      /* rows, or elements of them, that are no work for a matrix product */
    LARGE = 1 << 16, /* elements of which the sum is one */
    LONG_ROW =
        4000 /* elements that are read in a row then; powers of two share sets of the cache */
};

static nd_array *of_product(const nd_contraction *e, nd_steps *s, const nd_array *a,
                            const int64_t *shape, bool columns)
{
    nd_array *ones, *r;
    ND_STEP(s, ones, nd_ones(a->storage->device, e->dtype, 1, &shape[!columns], &ones));
    nd_array *matrix = nd__step_reshape(s, a, 2, shape);
    ND_STEP(s, r, nd_matmul(columns ? ones : matrix, columns ? matrix : ones, NULL, &r));
    return r;
}

/* The sum of all elements: of the columns of long rows, since memory is read ahead along a row, and
 * of what is left. */
static nd_array *of_all(const nd_contraction *e, nd_steps *s, const nd_array *a)
{
    const int64_t shape[2] = {a->size / LONG_ROW, LONG_ROW}, whole = shape[0] * shape[1];
    nd_array *flat = nd__step_flat(s, a), *total, *rest;
    nd_array *sums = of_product(e, s, nd__step_part(s, flat, 0, 0, whole, 1), shape, true);
    ND_STEP(s, total, nd_sum(sums, NULL, &total));
    if (whole == a->size)
        return total;
    nd_array *last = nd__step_part(s, flat, 0, whole, ND_END_OPEN, 1);
    ND_STEP(s, rest, nd_sum(last, NULL, &rest));
    return nd__step2(s, ND_OP_add, total, rest);
}

nd_array *nd__einsum_sum(const nd_contraction *e, nd_steps *s, const nd_array *a, int kept,
                         bool columns)
{
    int64_t shape[2] = {1, 1};
    const int rows = columns ? a->ndim - kept : kept;
    if (a->storage->device->async || !nd__is_c_order(a->ndim, a->shape, a->stride) ||
        (e->dtype != ND_F32 && e->dtype != ND_F64))
        return NULL;
    if (kept == 0)
        return a->size < LARGE ? NULL : of_all(e, s, a);
    for (int i = 0; i < a->ndim; i++)
        shape[i >= rows] *= a->shape[i];
    if (shape[0] < FEW || shape[1] < (columns ? WIDE : FEW))
        return NULL;
    nd_array *r = of_product(e, s, a, shape, columns);
    return nd__step_reshape(s, r, kept, a->shape + (columns ? rows : 0));
}
