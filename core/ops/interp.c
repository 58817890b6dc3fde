/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Lines through points, and polynomials. */
#include <math.h>
#include "core/ops/steps.h"

typedef struct {
    nd_array *x, *xp, *fp;
} points;

/* Everything within one period, in order, with a point of the next period at each end. */
static void unroll(nd_steps *s, points *p, double period)
{
    nd_array *order;
    const nd_scalar length = nd_float(period);
    p->x = nd__step_scalar(s, ND_OP_remainder, p->x, length);
    nd_array *xp = nd__step_scalar(s, ND_OP_remainder, p->xp, length), *sorted, *values;
    ND_STEP(s, order, nd_argsort(xp, NULL, &order));
    ND_STEP(s, sorted, nd_take(xp, order, 0, &sorted));
    ND_STEP(s, values, nd_take(p->fp, order, 0, &values));
    nd_array *last = nd__step_part(s, sorted, 0, -1, ND_END_OPEN, 1),
             *first = nd__step_part(s, sorted, 0, 0, 1, 1);
    last = nd__step_scalar(s, ND_OP_subtract, last, length);
    first = nd__step_scalar(s, ND_OP_add, first, length);
    const nd_array *where[3] = {last, sorted, first},
                   *what[3] = {nd__step_part(s, values, 0, -1, ND_END_OPEN, 1), values,
                               nd__step_part(s, values, 0, 0, 1, 1)};
    ND_STEP(s, p->xp, nd_concat(3, where, 0, &p->xp));
    ND_STEP(s, p->fp, nd_concat(3, what, 0, &p->fp));
}

/* A view of one element, without axes. */
static nd_array *element(nd_steps *s, const nd_array *a, int64_t i)
{
    const nd_index at[1] = {nd_at(i)};
    nd_array *r;
    ND_STEP(s, r, nd_slice(a, at, 1, &r));
    return r;
}

static nd_array *taken(nd_steps *s, const nd_array *a, const nd_array *at)
{
    nd_array *r;
    ND_STEP(s, r, nd_take(a, at, 0, &r));
    return r;
}

/* The line from the point before x, and where that gives NaN (of infinities) from the point after
 * it; between equal values, these. */
static nd_array *lines(nd_steps *s, const points *p, nd_array *at)
{
    nd_array *next = nd__step_scalar(s, ND_OP_add, at, nd_int(1));
    nd_array *x0 = taken(s, p->xp, at), *x1 = taken(s, p->xp, next);
    nd_array *f0 = taken(s, p->fp, at), *f1 = taken(s, p->fp, next);
    nd_array *slope = nd__step2(s, ND_OP_divide, nd__step2(s, ND_OP_subtract, f1, f0),
                                nd__step2(s, ND_OP_subtract, x1, x0));
    nd_array *from0 = nd__step2(s, ND_OP_subtract, p->x, x0),
             *from1 = nd__step2(s, ND_OP_subtract, p->x, x1);
    nd_array *r = nd__step2(s, ND_OP_add, nd__step2(s, ND_OP_multiply, slope, from0), f0);
    nd_array *other = nd__step2(s, ND_OP_add, nd__step2(s, ND_OP_multiply, slope, from1), f1);
    r = nd__step_where(s, nd__step1(s, ND_OP_isnan, r), nd_array_arg(other), nd_array_arg(r));
    nd_array *flat = nd__step2(s, ND_OP_logical_and, nd__step1(s, ND_OP_isnan, r),
                               nd__step2(s, ND_OP_equal, f0, f1));
    r = nd__step_where(s, flat, nd_array_arg(f0), nd_array_arg(r));
    nd_array *exact = nd__step2(s, ND_OP_equal, p->x, x0);
    return nd__step_where(s, exact, nd_array_arg(f0), nd_array_arg(r));
}

/* Values beyond the ends, and NaN's. */
static nd_array *ends(nd_steps *s, const points *p, nd_array *r, const nd_interp_opts *o)
{
    const int64_t n = p->xp->size;
    nd_array *first = element(s, p->xp, 0), *last = element(s, p->xp, n - 1);
    nd_array *low = element(s, p->fp, 0), *high = element(s, p->fp, n - 1);
    const nd_arg left = o->has_left ? nd_scalar_arg(nd_float(o->left)) : nd_array_arg(low),
                 right = o->has_right ? nd_scalar_arg(nd_float(o->right)) : nd_array_arg(high);
    nd_array *on_last = nd__step2(s, ND_OP_equal, p->x, last);
    nd_array *below = nd__step2(s, ND_OP_less, p->x, first);
    nd_array *above = nd__step2(s, ND_OP_greater, p->x, last);
    r = nd__step_where(s, on_last, nd_array_arg(high), nd_array_arg(r));
    r = nd__step_where(s, below, left, nd_array_arg(r));
    r = nd__step_where(s, above, right, nd_array_arg(r));
    nd_array *nan = nd__step1(s, ND_OP_isnan, p->x);
    return nd__step_where(s, nan, nd_scalar_arg(nd_float(NAN)), nd_array_arg(r));
}

static nd_array *interpolated(nd_steps *s, points *p, const nd_interp_opts *o)
{
    nd_array *at, *r;
    if (o->period != 0)
        unroll(s, p, fabs(o->period));
    if (s->status != ND_OK)
        return NULL;
    if (p->xp->size == 1) {
        ND_STEP(s, r, nd_broadcast_to(element(s, p->fp, 0), p->x->ndim, p->x->shape, &r));
        return ends(s, p, r, o);
    }
    ND_STEP(s, at, nd_searchsorted(p->xp, p->x, 1, NULL, &at));
    at = nd__step_scalar(s, ND_OP_subtract, at, nd_int(1));
    at = nd__step_scalar(s, ND_OP_maximum, at, nd_int(0));
    at = nd__step_scalar(s, ND_OP_minimum, at, nd_int(p->xp->size - 2));
    return ends(s, p, lines(s, p, at), o);
}

nd_status nd_interp(const nd_array *x, const nd_array *xp, const nd_array *fp,
                    const nd_interp_opts *opts, nd_array **out)
{
    nd_interp_opts o;
    nd_steps s;
    points p;
    const nd_array *const given[3] = {x, xp, fp};
    ND_OUT("interp", 4, out, NULL);
    for (int i = 0; i < 3; i++) {
        ND_RETURN_IF(i < 2 ? nd__check_real("interp", given[i], i)
                           : nd__check_array("interp", fp, 2));
        ND_RETURN_IF(nd__check_same_device("interp", x, given[i], 0, i));
    }
    ND_RETURN_IF(nd__read_options("interp", opts, &o, sizeof o, NDP_END(nd_interp_opts, dtype)));
    if (xp->ndim != 1 || xp->size < 1)
        return nd__fail(ND_ERR_SHAPE, "interp", 1,
                        "xp has rank %d and %lld elements; there is one dimension and at least one "
                        "point",
                        xp->ndim, (long long)xp->size);
    ND_RETURN_IF(nd__check_shape_is("interp", fp, 1, xp->shape, 2));
    ND_RETURN_IF(nd__steps_begin(&s, "interp", x, opts));
    p.x = nd__step_cast(&s, x, ND_F64);
    p.xp = nd__step_cast(&s, xp, ND_F64);
    p.fp = nd__step_cast(&s, fp, nd__kind(fp->dtype) == ND_KIND_COMPLEX ? ND_C128 : ND_F64);
    nd_array *r = interpolated(&s, &p, &o);
    return nd__steps_end(&s, "interp", r, out);
}

/* ---- polynomials ---- */
static nd_status horner(nd_array **sum, const nd_array *x, const nd_array *p, int64_t i)
{
    nd_steps s = {ND_OK};
    nd_array *r = nd__step2(&s, ND_OP_multiply, *sum, x);
    r = nd__step2(&s, ND_OP_add, r, nd__step_part(&s, p, 0, i, i + 1, 1));
    nd_release(*sum);
    *sum = NULL;
    return nd__steps_end(&s, "polyval", r, sum);
}

nd_status nd_polyval(const nd_array *p, const nd_array *x, nd_array **out)
{
    nd_dtype common;
    nd_array *sum = NULL;
    nd_status status = ND_OK;
    ND_OUT("polyval", 2, out, NULL);
    ND_RETURN_IF(nd__check_array("polyval", p, 0));
    ND_RETURN_IF(nd__check_array("polyval", x, 1));
    ND_RETURN_IF(nd__check_same_device("polyval", p, x, 0, 1));
    if (p->ndim != 1)
        return nd__fail(ND_ERR_SHAPE, "polyval", 0, "the coefficients have rank %d, not 1",
                        p->ndim);
    ND_RETURN_IF(nd__promote("polyval", p->dtype, x->dtype, &common));
    common = common == ND_BOOL ? ND_I64 : common;
    nd_array *flat = NULL, *shaped = NULL, *wide = NULL;
    const int64_t row[1] = {x->size};
    ND_GOTO_IF(done, nd_reshape_copy(x, 1, row, &flat));
    ND_GOTO_IF(done, nd__cast(flat, common, &wide));
    ND_GOTO_IF(done, nd_zeros_like(wide, 0, &sum));
    for (int64_t i = 0; i < p->size && status == ND_OK; i++)
        status = horner(&sum, wide, p, i);
    if (status == ND_OK)
        status = nd_reshape(sum, x->ndim, x->shape, &shaped);
    *out = shaped;
done:
    nd_release(flat);
    nd_release(wide);
    nd_release(sum);
    return nd__error_as("polyval", status);
}
