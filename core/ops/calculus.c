/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Differences, derivatives and integrals along an axis. */
#include "core/ops/steps.h"

/* ---- differences ---- */
static nd_array *difference(nd_steps *s, const nd_array *a, int axis)
{
    nd_array *right = nd__step_part(s, a, axis, 1, ND_END_OPEN, 1);
    nd_array *left = nd__step_part(s, a, axis, ND_END_OPEN, -1, 1);
    return nd__step2(s, a && a->dtype == ND_BOOL ? ND_OP_not_equal : ND_OP_subtract, right, left);
}

static nd_status difference_once(const nd_array *a, int axis, nd_array **out)
{
    nd_steps s = {ND_OK};
    nd_array *r = difference(&s, a, axis);
    return nd__steps_end(&s, "diff", r, out);
}

nd_status nd_diff(const nd_array *a, int64_t n, int axis, nd_array **out)
{
    int where;
    nd_status status = ND_OK;
    ND_OUT("diff", 3, out, NULL);
    ND_RETURN_IF(nd__check_array("diff", a, 0));
    ND_RETURN_IF(nd__axis("diff", axis, a->ndim, &where));
    if (n < 0)
        return nd__fail(ND_ERR_ARGUMENT, "diff", 1, "n is %lld; it must not be negative",
                        (long long)n);
    if (n == 0)
        return nd__error_as("diff", nd_copy(a, NULL, out));
    nd_array *now = nd_retain((nd_array *)a);
    for (; n > 0 && status == ND_OK; n -= now && now->shape[where] == 0 ? n : 1) {
        nd_array *next = NULL;
        status = difference_once(now, where, &next);
        nd_release(now);
        now = next;
    }
    *out = now;
    return status;
}

nd_status nd_ediff1d(const nd_array *a, const nd_array *before, const nd_array *after,
                     nd_array **out)
{
    nd_steps s;
    const nd_array *parts[3];
    nd_array *r;
    int n = 0;
    ND_OUT("ediff1d", 3, out, NULL);
    ND_RETURN_IF(nd__steps_begin(&s, "ediff1d", a, NULL));
    if (before)
        parts[n++] = nd__step_flat(&s, before);
    parts[n++] = difference(&s, nd__step_flat(&s, a), 0);
    if (after)
        parts[n++] = nd__step_flat(&s, after);
    ND_STEP(&s, r, nd_concat(n, parts, 0, &r));
    r = nd__step_cast(&s, r, a->dtype == ND_BOOL && n == 1 ? ND_BOOL : a->dtype);
    return nd__steps_end(&s, "ediff1d", r, out);
}

/* ---- derivatives ---- */
typedef struct {
    nd_steps *s;
    const nd_array *f; /* floating */
    int axis;
    double h;     /* between samples */
    nd_array *dx; /* the same as an array that broadcasts with f's differences; NULL: h */
} samples;

static nd_array *sum3(nd_steps *s, nd_array *a, nd_array *b, nd_array *c)
{
    return nd__step2(s, ND_OP_add, nd__step2(s, ND_OP_add, a, b), c);
}

static nd_array *ratio(nd_steps *s, const nd_array *a, const nd_array *b, const nd_array *c)
{
    return nd__step2(s, ND_OP_divide, a, nd__step2(s, ND_OP_multiply, b, c));
}

/* The parabola through three neighbours, by its derivative at the middle one: weights of Fornberg
 * (Mathematics of Computation 51, 1988) for distances p and q. */
static nd_array *inside_uneven(const samples *v)
{
    nd_steps *s = v->s;
    nd_array *p = nd__step_part(s, v->dx, v->axis, ND_END_OPEN, -1, 1);
    nd_array *q = nd__step_part(s, v->dx, v->axis, 1, ND_END_OPEN, 1);
    nd_array *both = nd__step2(s, ND_OP_add, p, q);
    nd_array *before = nd__step1(s, ND_OP_negative, ratio(s, q, p, both));
    nd_array *here = ratio(s, nd__step2(s, ND_OP_subtract, q, p), p, q);
    nd_array *after = ratio(s, p, q, both);
    before =
        nd__step2(s, ND_OP_multiply, before, nd__step_part(s, v->f, v->axis, ND_END_OPEN, -2, 1));
    here = nd__step2(s, ND_OP_multiply, here, nd__step_part(s, v->f, v->axis, 1, -1, 1));
    after = nd__step2(s, ND_OP_multiply, after, nd__step_part(s, v->f, v->axis, 2, ND_END_OPEN, 1));
    return sum3(s, before, here, after);
}

static nd_array *inside(const samples *v)
{
    if (v->dx)
        return inside_uneven(v);
    nd_array *d =
        nd__step2(v->s, ND_OP_subtract, nd__step_part(v->s, v->f, v->axis, 2, ND_END_OPEN, 1),
                  nd__step_part(v->s, v->f, v->axis, ND_END_OPEN, -2, 1));
    return nd__step_scalar(v->s, ND_OP_divide, d, nd_float(2 * v->h));
}

/* The distance between sample `at` and the next one, as an array. */
static nd_array *distance(const samples *v, int64_t at)
{
    nd_array *r;
    if (v->dx)
        return nd__step_at(v->s, v->dx, v->axis, at);
    ND_STEP(v->s, r, nd_full(v->f->storage->device, v->f->dtype, 0, NULL, nd_float(v->h), &r));
    return r;
}

/* At the first sample (sign 1) from it and the next ones, or at the last one (sign -1). */
static nd_array *edge(const samples *v, int order, int sign)
{
    nd_steps *s = v->s;
    const int64_t n = v->f->shape[v->axis], first = sign > 0 ? 0 : n - 1;
    nd_array *f0 = nd__step_at(s, v->f, v->axis, first);
    nd_array *f1 = nd__step_at(s, v->f, v->axis, first + sign);
    nd_array *p = distance(v, sign > 0 ? 0 : n - 2);
    if (order == 1) {
        nd_array *d = nd__step2(s, ND_OP_subtract, sign > 0 ? f1 : f0, sign > 0 ? f0 : f1);
        return nd__step2(s, ND_OP_divide, d, p);
    }
    nd_array *f2 = nd__step_at(s, v->f, v->axis, first + 2 * sign);
    nd_array *q = distance(v, sign > 0 ? 1 : n - 3);
    nd_array *both = nd__step2(s, ND_OP_add, p, q), *twice = nd__step2(s, ND_OP_add, p, both);
    f0 = nd__step2(s, ND_OP_multiply, f0, ratio(s, twice, p, both));
    f1 = nd__step2(s, ND_OP_multiply, f1, ratio(s, both, p, q));
    f2 = nd__step2(s, ND_OP_multiply, f2, ratio(s, p, q, both));
    nd_array *r = nd__step2(s, ND_OP_subtract, f1, nd__step2(s, ND_OP_add, f0, f2));
    return sign > 0 ? r : nd__step1(s, ND_OP_negative, r);
}

static nd_array *derivative(const samples *v, int order)
{
    nd_array *r;
    nd_array *first = edge(v, order, 1), *last = edge(v, order, -1);
    const nd_array *parts[3] = {first, v->f->shape[v->axis] > 2 ? inside(v) : last, last};
    ND_STEP(v->s, r, nd_concat(v->f->shape[v->axis] > 2 ? 3 : 2, parts, v->axis, &r));
    return r;
}

/* Coordinates' differences along the axis, so that they broadcast with f. */
static nd_array *steps_between(nd_steps *s, const nd_array *coordinates, const nd_array *f,
                               int axis)
{
    int64_t shape[ND_MAX_NDIM];
    nd_array *x = nd__step_cast(s, coordinates, nd__real_of(f->dtype));
    if (coordinates->ndim == 1) {
        for (int d = 0; d < f->ndim; d++)
            shape[d] = d == axis ? coordinates->size : 1;
        x = nd__step_reshape(s, x, f->ndim, shape);
    }
    return difference(s, x, axis);
}

static nd_status check_coordinates(const char *op, const nd_array *a, const nd_array *x, int axis,
                                   bool whole)
{
    char have[ND_SHAPE_TEXT];
    if (!x)
        return ND_OK;
    ND_RETURN_IF(nd__check_array(op, x, 2));
    ND_RETURN_IF(nd__check_same_device(op, a, x, 0, 2));
    if (x->ndim == 1 && x->size == a->shape[axis])
        return ND_OK;
    if (whole && nd__same_shape(a->ndim, a->shape, x->ndim, x->shape))
        return ND_OK;
    return nd__fail(
        ND_ERR_SHAPE, op, 2, "the coordinates have shape %s; there is one dimension of extent %lld",
        nd__shape_text(x->ndim, x->shape, have, sizeof have), (long long)a->shape[axis]);
}

nd_status nd_gradient(const nd_array *a, double spacing, const nd_array *coordinates, int axis,
                      int edge_order, nd_array **out)
{
    nd_steps s;
    samples v = {.s = &s, .h = spacing};
    nd_array *r = NULL;
    ND_OUT("gradient", 5, out, NULL);
    ND_RETURN_IF(nd__check_array("gradient", a, 0));
    ND_RETURN_IF(nd__axis("gradient", axis, a->ndim, &v.axis));
    if (edge_order < 1 || edge_order > 2)
        return nd__fail(ND_ERR_ARGUMENT, "gradient", 4, "edge_order is %d; it is 1 or 2",
                        edge_order);
    if (a->shape[v.axis] < edge_order + 1)
        return nd__fail(ND_ERR_SHAPE, "gradient", 0,
                        "axis %d has %lld elements; at least %d are needed", v.axis,
                        (long long)a->shape[v.axis], edge_order + 1);
    ND_RETURN_IF(check_coordinates("gradient", a, coordinates, v.axis, false));
    ND_RETURN_IF(nd__steps_begin(&s, "gradient", a, NULL));
    v.f = nd__step_cast(&s, a, nd__floating_of(a->dtype));
    if (coordinates && s.status == ND_OK)
        v.dx = steps_between(&s, coordinates, v.f, v.axis);
    if (s.status == ND_OK)
        r = derivative(&v, edge_order);
    return nd__steps_end(&s, "gradient", r, out);
}

/* ---- integrals ---- */
nd_status nd_trapezoid(const nd_array *a, double spacing, const nd_array *coordinates, int axis,
                       nd_array **out)
{
    nd_steps s;
    int where;
    nd_array *r;
    ND_OUT("trapezoid", 4, out, NULL);
    ND_RETURN_IF(nd__check_array("trapezoid", a, 0));
    ND_RETURN_IF(nd__axis("trapezoid", axis, a->ndim, &where));
    ND_RETURN_IF(check_coordinates("trapezoid", a, coordinates, where, true));
    ND_RETURN_IF(nd__steps_begin(&s, "trapezoid", a, NULL));
    nd_array *f = nd__step_cast(&s, a, nd__floating_of(a->dtype));
    nd_array *sum = nd__step2(&s, ND_OP_add, nd__step_part(&s, f, where, 1, ND_END_OPEN, 1),
                              nd__step_part(&s, f, where, ND_END_OPEN, -1, 1));
    if (coordinates && s.status == ND_OK) {
        sum = nd__step2(&s, ND_OP_multiply, sum, steps_between(&s, coordinates, f, where));
        sum = nd__step_scalar(&s, ND_OP_multiply, sum, nd_float(0.5));
    } else {
        sum = nd__step_scalar(&s, ND_OP_multiply, sum, nd_float(0.5 * spacing));
    }
    r = nd__step_reduce(&s, nd_sum, sum, where, false);
    return nd__steps_end(&s, "trapezoid", r, out);
}
