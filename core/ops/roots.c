/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Roots of polynomials: the eigenvalues of the companion matrix. */
#include "core/ops/steps.h"

/* Where the coefficients that are not zero begin and end; both 0 where there is none. */
static void extent(nd_steps *s, const nd_array *p, int64_t *begin, int64_t *end)
{
    nd_array *view;
    *begin = *end = 0;
    if (p->size == 0)
        return;
    ND_STEP(s, view, nd_trim_zeros(p, 1, 0, &view));
    if (s->status != ND_OK || view->size == 0)
        return;
    *begin = p->size - view->size;
    ND_STEP(s, view, nd_trim_zeros(p, 0, 1, &view));
    *end = view ? view->size : *begin;
}

/* The matrix of degree rows whose characteristic polynomial is c[0] x^degree + ... + c[degree]: the
 * first row is -c[1 ...] / c[0], and below the diagonal are ones. */
static nd_array *companion(nd_steps *s, const nd_array *c, int64_t degree)
{
    const nd_index top[1] = {nd_at(0)};
    nd_array *m, *first,
        *row = nd__step2(s, ND_OP_divide, nd__step_part(s, c, 0, 1, degree + 1, 1),
                         nd__step_part(s, c, 0, 0, 1, 1));
    ND_STEP(s, m, nd_eye(c->storage->device, c->dtype, degree, degree, -1, &m));
    ND_STEP(s, first, nd_slice(m, top, 1, &first));
    ND_STEP_DO(s, nd_negative_into(row, first));
    return m;
}

nd_status nd_roots(const nd_array *p, nd_array **out)
{
    nd_steps s;
    int64_t begin, end;
    ND_OUT("roots", 1, out, NULL);
    ND_RETURN_IF(nd__check_array("roots", p, 0));
    if (p->ndim != 1)
        return nd__fail(ND_ERR_SHAPE, "roots", 0, "the coefficients have rank %d, not 1", p->ndim);
    ND_RETURN_IF(nd__steps_begin(&s, "roots", p, NULL));
    extent(&s, p, &begin, &end);
    nd_dtype dtype = nd__kind(p->dtype) == ND_KIND_COMPLEX ? p->dtype : nd__floating_of(p->dtype);
    dtype = dtype == ND_F16 || dtype == ND_BF16 ? ND_F32 : dtype;
    nd_array *c = nd__step_cast(&s, nd__step_part(&s, p, 0, begin, end, 1), dtype), *found, *zeros,
             *r;
    /* Each zero after the last coefficient that is none is a root at zero. */
    const int64_t degree = end > begin ? end - begin - 1 : 0,
                  at_zero = end > begin ? p->size - end : 0;
    const nd_dtype complex = dtype == ND_F32 || dtype == ND_C64 ? ND_C64 : ND_C128;
    ND_STEP(&s, zeros, nd_zeros(p->storage->device, complex, 1, &at_zero, &zeros));
    if (degree == 0)
        return nd__steps_end(&s, "roots", zeros, out);
    const nd_array *matrix = companion(&s, c, degree);
    ND_STEP(&s, found, nd_eigvals(matrix, NULL, &found));
    const nd_array *both[2] = {found, zeros};
    ND_STEP(&s, r, nd_concat(2, both, 0, &r));
    return nd__steps_end(&s, "roots", r, out);
}
