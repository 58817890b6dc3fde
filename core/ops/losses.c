/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Losses of elements and their gradients, made of elementwise operations and a sum. */
#include <math.h>
#include <ndock/loss.h>
#include "core/ops/neural.h"

/* A loss: its elements, or their derivatives by a, of a and y in the wide dtype. */
typedef struct loss loss;
typedef nd_array *element_fn(nd_steps *s, const loss *p, const nd_array *a, const nd_array *y);
struct loss {
    const char *name;
    element_fn *value, *slope;
    nd_loss_opts o;
    nd_dtype dtype, wide;
};

static nd_array *times(nd_steps *s, const nd_array *a, double by)
{
    return nd__step_scalar(s, ND_OP_multiply, a, nd_float(by));
}

static nd_array *multiply(nd_steps *s, const nd_array *a, const nd_array *b)
{
    return nd__step2(s, ND_OP_multiply, a, b);
}

static nd_array *subtract(nd_steps *s, const nd_array *a, const nd_array *b)
{
    return nd__step2(s, ND_OP_subtract, a, b);
}

/* ---- mse, l1 ---- */
static nd_array *mse(nd_steps *s, const loss *p, const nd_array *a, const nd_array *y)
{
    (void)p;
    return nd__step1(s, ND_OP_square, subtract(s, a, y));
}

static nd_array *mse_slope(nd_steps *s, const loss *p, const nd_array *a, const nd_array *y)
{
    (void)p;
    return times(s, subtract(s, a, y), 2);
}

static nd_array *l1(nd_steps *s, const loss *p, const nd_array *a, const nd_array *y)
{
    (void)p;
    return nd__step1(s, ND_OP_abs, subtract(s, a, y));
}

static nd_array *l1_slope(nd_steps *s, const loss *p, const nd_array *a, const nd_array *y)
{
    (void)p;
    return nd__step1(s, ND_OP_sign, subtract(s, a, y));
}

/* ---- huber: with c = min(|d|, delta), c*(|d| - c/2) ---- */
static nd_array *huber(nd_steps *s, const loss *p, const nd_array *a, const nd_array *y)
{
    nd_array *d = nd__step1(s, ND_OP_abs, subtract(s, a, y));
    nd_array *c = nd__step_scalar(s, ND_OP_minimum, d, nd_float(p->o.delta));
    return multiply(s, c, subtract(s, d, times(s, c, 0.5)));
}

static nd_array *huber_slope(nd_steps *s, const loss *p, const nd_array *a, const nd_array *y)
{
    nd_array *d = nd__step_scalar(s, ND_OP_minimum, subtract(s, a, y), nd_float(p->o.delta));
    return nd__step_scalar(s, ND_OP_maximum, d, nd_float(-p->o.delta));
}

static nd_array *smooth_l1(nd_steps *s, const loss *p, const nd_array *a, const nd_array *y)
{
    return nd__step_scalar(s, ND_OP_divide, huber(s, p, a, y), nd_float(p->o.delta));
}

static nd_array *smooth_l1_slope(nd_steps *s, const loss *p, const nd_array *a, const nd_array *y)
{
    return nd__step_scalar(s, ND_OP_divide, huber_slope(s, p, a, y), nd_float(p->o.delta));
}

/* ---- binary cross entropy of logits ---- */
/* An optional weight, in the wide dtype and of a's shape. */
static nd_array *weighted(nd_steps *s, const loss *p, const nd_array *w, const nd_array *a)
{
    if (s->status != ND_OK)
        return NULL;
    return nd__step_broadcast(s, nd__step_cast(s, w, p->wide), a->ndim, a->shape);
}

/* 1 + (positive - 1)*y */
static nd_array *positive_factor(nd_steps *s, const loss *p, const nd_array *a, const nd_array *y)
{
    nd_array *w = weighted(s, p, p->o.positive, a);
    w = multiply(s, nd__step_scalar(s, ND_OP_subtract, w, nd_float(1)), y);
    return nd__step_scalar(s, ND_OP_add, w, nd_float(1));
}

/* (1 - y)*a + factor*softplus(-a) */
static nd_array *bce(nd_steps *s, const loss *p, const nd_array *a, const nd_array *y)
{
    nd_array *soft = nd__step1(s, ND_OP_softplus, nd__step1(s, ND_OP_negative, a));
    if (p->o.positive)
        soft = multiply(s, soft, positive_factor(s, p, a, y));
    nd_array *rest = multiply(s, nd__step_from_scalar(s, ND_OP_subtract, nd_float(1), y), a);
    nd_array *r = nd__step2(s, ND_OP_add, rest, soft);
    return p->o.weights ? multiply(s, r, weighted(s, p, p->o.weights, a)) : r;
}

/* (1 - y) - factor*sigmoid(-a) */
static nd_array *bce_slope(nd_steps *s, const loss *p, const nd_array *a, const nd_array *y)
{
    nd_array *soft = nd__step1(s, ND_OP_sigmoid, nd__step1(s, ND_OP_negative, a));
    if (p->o.positive)
        soft = multiply(s, soft, positive_factor(s, p, a, y));
    nd_array *r = subtract(s, nd__step_from_scalar(s, ND_OP_subtract, nd_float(1), y), soft);
    return p->o.weights ? multiply(s, r, weighted(s, p, p->o.weights, a)) : r;
}

/* ---- Kullback-Leibler divergence ---- */
static nd_array *kl_div(nd_steps *s, const loss *p, const nd_array *a, const nd_array *y)
{
    if (p->o.log_target)
        return multiply(s, nd__step1(s, ND_OP_exp, y), subtract(s, y, a));
    return subtract(s, nd__step2(s, ND_OP_xlogy, y, y), multiply(s, y, a));
}

static nd_array *kl_div_slope(nd_steps *s, const loss *p, const nd_array *a, const nd_array *y)
{
    (void)a;
    return nd__step1(s, ND_OP_negative, p->o.log_target ? nd__step1(s, ND_OP_exp, y) : y);
}

/* ---- what they share ---- */
static nd_status read_options(loss *p, const nd_array *a, const nd_loss_opts *opts)
{
    const nd_array *weight;
    ND_RETURN_IF(
        nd__read_options(p->name, opts, &p->o, sizeof p->o, NDP_END(nd_loss_opts, stream)));
    if (p->o.reduction < ND_LOSS_MEAN || p->o.reduction > ND_LOSS_NONE)
        return nd__fail(ND_ERR_ARGUMENT, p->name, -1,
                        "%d is no reduction; ND_LOSS_MEAN, _SUM and _NONE are 0 to 2",
                        (int)p->o.reduction);
    if (p->o.delta == 0)
        p->o.delta = 1;
    if (!(p->o.delta > 0 && isfinite(p->o.delta)))
        return nd__fail(ND_ERR_ARGUMENT, p->name, -1, "delta is %g; it must be above 0",
                        p->o.delta);
    for (int i = 0; i < 2; i++)
        if ((weight = i ? p->o.positive : p->o.weights) != NULL)
            ND_RETURN_IF(nd__check_floating(p->name, a, weight, -1));
    return ND_OK;
}

/* a is argument `from`, y the next. */
static nd_status start(loss *p, int from, const nd_array *a, const nd_array *y,
                       const nd_loss_opts *opts)
{
    const nd_array *const both[2] = {a, y};
    for (int i = 0; i < 2; i++)
        ND_RETURN_IF(nd__check_array(p->name, both[i], from + i));
    ND_RETURN_IF(nd__check_floatings(p->name, from, 2, both, &p->dtype));
    ND_RETURN_IF(nd__check_shape_is(p->name, y, a->ndim, a->shape, from + 1));
    p->wide = nd__wide_of(p->dtype);
    return read_options(p, a, opts);
}

static double divisor(const loss *p, const nd_array *a)
{
    if (p->o.reduction != ND_LOSS_MEAN)
        return 1;
    return p->o.batch_mean ? a->ndim ? (double)a->shape[0] : 1 : (double)a->size;
}

static nd_status value_of(loss *p, const nd_array *a, const nd_array *y, const nd_loss_opts *opts,
                          nd_array **out)
{
    nd_steps s;
    ND_RETURN_IF(start(p, 0, a, y, opts));
    ND_RETURN_IF(nd__steps_begin(&s, p->name, a, opts));
    nd_array *r = p->value(&s, p, nd__step_cast(&s, a, p->wide), nd__step_cast(&s, y, p->wide));
    if (p->o.reduction != ND_LOSS_NONE)
        r = nd__step_sum(&s, nd__step_flat(&s, r), 1, 0);
    if (p->o.reduction == ND_LOSS_MEAN)
        r = nd__step_scalar(&s, ND_OP_divide, r, nd_float(divisor(p, a)));
    return nd__steps_end(&s, p->name, nd__step_cast(&s, r, p->dtype), out);
}

static nd_status slope_of(loss *p, const nd_array *g, const nd_array *a, const nd_array *y,
                          const nd_loss_opts *opts, nd_array **out)
{
    nd_steps s;
    ND_RETURN_IF(nd__check_array(p->name, g, 0));
    ND_RETURN_IF(start(p, 1, a, y, opts));
    ND_RETURN_IF(nd__check_floating(p->name, a, g, 0));
    ND_RETURN_IF(
        nd__check_shape_is(p->name, g, p->o.reduction == ND_LOSS_NONE ? a->ndim : 0, a->shape, 0));
    ND_RETURN_IF(nd__steps_begin(&s, p->name, g, opts));
    nd_array *r = p->slope(&s, p, nd__step_cast(&s, a, p->wide), nd__step_cast(&s, y, p->wide));
    nd_array *by = nd__step_cast(&s, g, p->wide);
    if (p->o.reduction == ND_LOSS_MEAN)
        by = nd__step_scalar(&s, ND_OP_divide, by, nd_float(divisor(p, a)));
    r = multiply(&s, r, by);
    return nd__steps_end(&s, p->name, nd__step_cast(&s, r, p->dtype), out);
}

#define LOSS(function, name_, value_, slope_)                                               \
    nd_status nd_##function(const nd_array *a, const nd_array *y, const nd_loss_opts *opts, \
                            nd_array **out)                                                 \
    {                                                                                       \
        loss p = {.name = name_, .value = value_, .slope = slope_};                         \
        ND_OUT(name_, 3, out, NULL);                                                        \
        return value_of(&p, a, y, opts, out);                                               \
    }                                                                                       \
    nd_status nd_##function##_grad(const nd_array *g, const nd_array *a, const nd_array *y, \
                                   const nd_loss_opts *opts, nd_array **out)                \
    {                                                                                       \
        loss p = {.name = name_ "_grad", .value = value_, .slope = slope_};                 \
        ND_OUT(name_ "_grad", 4, out, NULL);                                                \
        return slope_of(&p, g, a, y, opts, out);                                            \
    }
LOSS(mse_loss, "mse_loss", mse, mse_slope)
LOSS(l1_loss, "l1_loss", l1, l1_slope)
LOSS(huber_loss, "huber_loss", huber, huber_slope)
LOSS(smooth_l1_loss, "smooth_l1_loss", smooth_l1, smooth_l1_slope)
LOSS(bce_with_logits, "bce_with_logits", bce, bce_slope)
LOSS(kl_div, "kl_div", kl_div, kl_div_slope)
