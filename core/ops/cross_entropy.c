/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Cross entropy and negative log likelihood of classes. */
#include <ndock/loss.h>
#include "core/ops/neural.h"

typedef struct {
    const char *name;
    nd_loss_opts o;
    nd_dtype dtype, wide;
    int64_t ignore; /* INT64_MIN: nothing is ignored */
    int64_t classes;
    int axis; /* of the classes in a */
    int ndim; /* of a without it */
    int64_t shape[ND_MAX_NDIM];
    int64_t count;
} entropy;

static nd_status read_options(entropy *p, const nd_loss_opts *opts)
{
    ND_RETURN_IF(
        nd__read_options(p->name, opts, &p->o, sizeof p->o, NDP_END(nd_loss_opts, stream)));
    if (p->o.reduction < ND_LOSS_MEAN || p->o.reduction > ND_LOSS_NONE)
        return nd__fail(ND_ERR_ARGUMENT, p->name, -1,
                        "%d is no reduction; ND_LOSS_MEAN, _SUM and _NONE are 0 to 2",
                        (int)p->o.reduction);
    if (!(p->o.smoothing >= 0 && p->o.smoothing <= 1))
        return nd__fail(ND_ERR_ARGUMENT, p->name, -1, "smoothing %g is not in 0 to 1",
                        p->o.smoothing);
    p->ignore = p->o.has_ignore ? p->o.ignore : INT64_MIN;
    return ND_OK;
}

/* a's argument is `from`, y's the next. */
static nd_status start(entropy *p, int from, const nd_array *a, const nd_array *y,
                       const nd_loss_opts *opts)
{
    ND_RETURN_IF(read_options(p, opts));
    ND_RETURN_IF(nd__check_floating(p->name, a, a, from));
    ND_RETURN_IF(nd__check_array(p->name, y, from + 1));
    ND_RETURN_IF(nd__check_same_device(p->name, a, y, from, from + 1));
    if (!(nd__kind(y->dtype) & (ND_KIND_INT | ND_KIND_UINT)))
        return nd__fail(ND_ERR_DTYPE, p->name, from + 1,
                        "targets are of dtype %s; they must be integers", nd_dtype_name(y->dtype));
    if (a->ndim == 0)
        return nd__fail(ND_ERR_SHAPE, p->name, from, "scores without axes have no classes");
    p->axis = a->ndim > 1;
    p->classes = a->shape[p->axis];
    p->ndim = 0;
    p->count = 1;
    for (int d = 0; d < a->ndim; d++)
        if (d != p->axis) {
            p->shape[p->ndim++] = a->shape[d];
            p->count *= a->shape[d];
        }
    ND_RETURN_IF(nd__check_shape_is(p->name, y, p->ndim, p->shape, from + 1));
    p->dtype = a->dtype;
    if (p->o.weights) {
        ND_RETURN_IF(nd__check_floating(p->name, a, p->o.weights, -1));
        ND_RETURN_IF(nd__check_shape_is(p->name, p->o.weights, 1, &p->classes, -1));
        ND_RETURN_IF(nd__promote(p->name, p->dtype, p->o.weights->dtype, &p->dtype));
    }
    p->wide = nd__wide_of(p->dtype);
    return ND_OK;
}

/* What kernels take. */
typedef struct {
    nd_array *a, *y, *weights; /* (rows, classes), (rows), (classes) or NULL */
} operands;

static operands make_operands(nd_steps *s, const entropy *p, const nd_array *a, const nd_array *y)
{
    operands r = {NULL, NULL, NULL};
    const int64_t shape[2] = {p->count, p->classes};
    nd_array *last = nd__step_moveaxis(s, a, p->axis, -1);
    r.a = nd__step_reshape(s, nd__step_cast(s, last, p->dtype), 2, shape);
    r.y = nd__step_cast(s, nd__step_flat(s, y), ND_I64);
    if (p->o.weights)
        r.weights = nd__step_cast(s, p->o.weights, p->dtype);
    return r;
}

static ndp_entropy params_of(const entropy *p)
{
    return (ndp_entropy){.size = sizeof(ndp_entropy),
                         .has_weights = p->o.weights != NULL,
                         .smoothing = p->o.smoothing,
                         .ignore = p->ignore};
}

/* The sum of the weights of the targets that count; NULL: that is their number. */
static nd_array *divisor(nd_steps *s, const entropy *p, const operands *x)
{
    nd_array *counts, *w;
    if (!p->o.has_ignore && !x->weights)
        return NULL;
    counts = nd__step_scalar(s, ND_OP_not_equal, x->y, nd_int(p->ignore));
    if (!x->weights)
        return nd__step_sum(s, counts, 1, p->wide);
    nd_array *safe = nd__step_where(s, counts, nd_array_arg(x->y), nd_scalar_arg(nd_int(0)));
    ND_STEP(s, w, nd_take(x->weights, safe, 0, &w));
    w = nd__step_where(s, counts, nd_array_arg(w), nd_scalar_arg(nd_float(0)));
    return nd__step_sum(s, w, 1, p->wide);
}

/* Losses of rows, in the wide dtype, become the result. */
static nd_array *reduce(nd_steps *s, const entropy *p, const operands *x, nd_array *losses)
{
    if (p->o.reduction == ND_LOSS_NONE)
        return nd__step_cast(s, nd__step_reshape(s, losses, p->ndim, p->shape), p->dtype);
    nd_array *sum = nd__step_sum(s, losses, 1, 0);
    if (p->o.reduction == ND_LOSS_MEAN) {
        nd_array *by = divisor(s, p, x);
        sum = by ? nd__step2(s, ND_OP_divide, sum, by)
                 : nd__step_scalar(s, ND_OP_divide, sum, nd_float((double)p->count));
    }
    return nd__step_cast(s, sum, p->dtype);
}

/* g, the gradient of the result, for each row, in the wide dtype. */
static nd_array *spread(nd_steps *s, const entropy *p, const operands *x, const nd_array *g)
{
    g = nd__step_cast(s, g, p->wide);
    if (p->o.reduction == ND_LOSS_NONE)
        return nd__step_flat(s, g);
    if (p->o.reduction == ND_LOSS_MEAN) {
        nd_array *by = divisor(s, p, x);
        g = by ? nd__step2(s, ND_OP_divide, g, by)
               : nd__step_scalar(s, ND_OP_divide, g, nd_float((double)p->count));
    }
    return nd__step_broadcast(s, g, 1, &p->count);
}

nd_status nd_cross_entropy(const nd_array *a, const nd_array *y, const nd_loss_opts *opts,
                           nd_array **out)
{
    entropy p = {.name = "cross_entropy"};
    nd_steps s;
    ND_OUT(p.name, 3, out, NULL);
    ND_RETURN_IF(start(&p, 0, a, y, opts));
    ND_RETURN_IF(nd__steps_begin(&s, p.name, a, opts));
    const operands x = make_operands(&s, &p, a, y);
    const nd_array *const in[3] = {x.a, x.y, x.weights};
    const ndp_entropy params = params_of(&p);
    nd_array *losses = nd__step_new(&s, a, p.wide, 1, &p.count);
    nd__step_kernel(&s, ND_OP_cross_entropy, x.weights ? 3 : 2, in, 1, &losses, &params);
    nd_array *r = reduce(&s, &p, &x, losses);
    return nd__steps_end(&s, p.name, r, out);
}

/* g has the shape of the loss. */
static nd_status check_g(const entropy *p, const nd_array *g, const nd_array *a)
{
    ND_RETURN_IF(nd__check_floating(p->name, g, g, 0));
    ND_RETURN_IF(nd__check_same_device(p->name, g, a, 0, 1));
    return nd__check_shape_is(p->name, g, p->o.reduction == ND_LOSS_NONE ? p->ndim : 0, p->shape,
                              0);
}

/* A result (rows, classes) in a's shape. */
static nd_array *as_given(nd_steps *s, const entropy *p, nd_array *r)
{
    int64_t shape[ND_MAX_NDIM];
    memcpy(shape, p->shape, sizeof shape);
    shape[p->ndim] = p->classes;
    return nd__step_moveaxis(s, nd__step_reshape(s, r, p->ndim + 1, shape), -1, p->axis);
}

nd_status nd_cross_entropy_grad(const nd_array *g, const nd_array *a, const nd_array *y,
                                const nd_loss_opts *opts, nd_array **out)
{
    entropy p = {.name = "cross_entropy_grad"};
    nd_steps s;
    ND_OUT(p.name, 4, out, NULL);
    ND_RETURN_IF(nd__check_array(p.name, g, 0));
    ND_RETURN_IF(start(&p, 1, a, y, opts));
    ND_RETURN_IF(check_g(&p, g, a));
    ND_RETURN_IF(nd__steps_begin(&s, p.name, g, opts));
    const operands x = make_operands(&s, &p, a, y);
    const nd_array *const in[4] = {x.a, x.y, spread(&s, &p, &x, g), x.weights};
    const ndp_entropy params = params_of(&p);
    const int64_t shape[2] = {p.count, p.classes};
    nd_array *r = nd__step_new(&s, a, p.dtype, 2, shape);
    nd__step_kernel(&s, ND_OP_cross_entropy_grad, x.weights ? 4 : 3, in, 1, &r, &params);
    r = as_given(&s, &p, r);
    return nd__steps_end(&s, p.name, r, out);
}

/* ---- negative log likelihood ---- */

/* Which rows count, and their classes with 0 in the place of others. */
static nd_array *chosen(nd_steps *s, const operands *x, const entropy *p, nd_array **counts)
{
    *counts = nd__step_scalar(s, ND_OP_not_equal, x->y, nd_int(p->ignore));
    nd_array *y = nd__step_where(s, *counts, nd_array_arg(x->y), nd_scalar_arg(nd_int(0)));
    nd_array *below = nd__step_scalar(s, ND_OP_less, y, nd_int(0)); /* no class, from the end */
    return nd__step_where(s, below, nd_scalar_arg(nd_int(p->classes)), nd_array_arg(y));
}

/* Minus the weight of each row's class; 0 where the row does not count. */
static nd_array *minus_weights(nd_steps *s, const entropy *p, const operands *x, nd_array *y,
                               nd_array *counts)
{
    nd_array *w;
    if (!x->weights)
        return nd__step1(s, ND_OP_negative, nd__step_cast(s, counts, p->wide));
    ND_STEP(s, w, nd_take(x->weights, y, 0, &w));
    w = nd__step1(s, ND_OP_negative, nd__step_cast(s, w, p->wide));
    return nd__step_where(s, counts, nd_array_arg(w), nd_scalar_arg(nd_float(0)));
}

nd_status nd_nll_loss(const nd_array *a, const nd_array *y, const nd_loss_opts *opts,
                      nd_array **out)
{
    entropy p = {.name = "nll_loss"};
    nd_steps s;
    nd_array *counts, *at;
    ND_OUT(p.name, 3, out, NULL);
    ND_RETURN_IF(start(&p, 0, a, y, opts));
    ND_RETURN_IF(nd__steps_begin(&s, p.name, a, opts));
    const operands x = make_operands(&s, &p, a, y);
    const int64_t column[2] = {p.count, 1};
    nd_array *classes = chosen(&s, &x, &p, &counts);
    nd_array *places = nd__step_reshape(&s, classes, 2, column);
    ND_STEP(&s, at, nd_take_along_axis(x.a, places, 1, &at));
    at = nd__step_cast(&s, nd__step_reshape(&s, at, 1, &p.count), p.wide);
    nd_array *losses =
        nd__step2(&s, ND_OP_multiply, at, minus_weights(&s, &p, &x, classes, counts));
    losses = nd__step_where(&s, counts, nd_array_arg(losses), nd_scalar_arg(nd_float(0)));
    nd_array *r = reduce(&s, &p, &x, losses);
    return nd__steps_end(&s, p.name, r, out);
}

nd_status nd_nll_loss_grad(const nd_array *g, const nd_array *a, const nd_array *y,
                           const nd_loss_opts *opts, nd_array **out)
{
    entropy p = {.name = "nll_loss_grad"};
    nd_steps s;
    nd_array *counts, *r;
    ND_OUT(p.name, 4, out, NULL);
    ND_RETURN_IF(nd__check_array(p.name, g, 0));
    ND_RETURN_IF(start(&p, 1, a, y, opts));
    ND_RETURN_IF(check_g(&p, g, a));
    ND_RETURN_IF(nd__steps_begin(&s, p.name, g, opts));
    const operands x = make_operands(&s, &p, a, y);
    const int64_t shape[2] = {p.count, p.classes}, column[2] = {p.count, 1};
    nd_array *classes = chosen(&s, &x, &p, &counts);
    nd_array *each = nd__step2(&s, ND_OP_multiply, spread(&s, &p, &x, g),
                               minus_weights(&s, &p, &x, classes, counts));
    each = nd__step_reshape(&s, nd__step_cast(&s, each, p.dtype), 2, column);
    ND_STEP(&s, r, nd_zeros(a->storage->device, p.dtype, 2, shape, &r));
    nd_array *places = nd__step_reshape(&s, classes, 2, column);
    ND_STEP_DO(&s, nd_scatter_into(places, each, 1, ND_SCATTER_SET, r));
    r = as_given(&s, &p, r);
    return nd__steps_end(&s, p.name, r, out);
}
