/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Sums of one operand of einsum along some of its axes by matrix products with ones. Where arrays are
 * on the host such a product of short rows takes half as long as sums in double precision do; it
 * rounds as the products of pairs do. The sum of all elements nd_sum has as fast. */
#include "core/ops/einsum.h"

enum {
    FEW = 16,
    WIDE = 512 /* rows, or elements of them, that are no work for a matrix product */
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

nd_array *nd__einsum_sum(const nd_contraction *e, nd_steps *s, const nd_array *a, int kept,
                         bool columns)
{
    int64_t shape[2] = {1, 1};
    const int rows = columns ? a->ndim - kept : kept;
    if (a->storage->device->async || !nd__is_c_order(a->ndim, a->shape, a->stride) ||
        (e->dtype != ND_F32 && e->dtype != ND_F64) || kept == 0)
        return NULL;
    for (int i = 0; i < a->ndim; i++)
        shape[i >= rows] *= a->shape[i];
    if (shape[0] < FEW || shape[1] < (columns ? WIDE : FEW))
        return NULL;
    nd_array *r = of_product(e, s, a, shape, columns);
    return nd__step_reshape(s, r, kept, a->shape + (columns ? rows : 0));
}
