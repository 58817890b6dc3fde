/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Normalisation of batches, by their own statistics or by the running ones. */
#include <ndock/normalization.h>
#include "core/ops/neural.h"

typedef struct {
    const char *name;
    nd_batch_norm_opts o;
    nd_dtype dtype, wide;
    int64_t channels, count; /* values of a channel */
    int ndim, naxes, order[ND_MAX_NDIM];
    uint64_t axes; /* all but that of the channels */
} batching;

static nd_status read_options(batching *p, const nd_batch_norm_opts *opts)
{
    ND_RETURN_IF(
        nd__read_options(p->name, opts, &p->o, sizeof p->o, NDP_END(nd_batch_norm_opts, stream)));
    if (!opts || p->o.eps < 0)
        p->o.eps = 1e-5;
    if (!opts || p->o.momentum < 0)
        p->o.momentum = 0.1;
    return ND_OK;
}

static nd_status check_statistics(const batching *p, const nd_array *a, const nd_array *mean,
                                  const nd_array *variance, int from)
{
    const nd_array *const both[2] = {mean, variance};
    if (p->o.training && !mean && !variance)
        return ND_OK;
    for (int i = 0; i < 2; i++) {
        ND_RETURN_IF(nd__check_floating(p->name, a, both[i], from + i));
        ND_RETURN_IF(nd__check_shape_is(p->name, both[i], 1, &p->channels, from + i));
    }
    return ND_OK;
}

/* weights: scale and bias, or scale alone; a is argument `from`. */
static nd_status start(batching *p, const nd_array *a, int from, const nd_array *const weights[2],
                       const nd_batch_norm_opts *opts)
{
    const nd_array *const all[3] = {a, weights[0], weights[1]};
    ND_RETURN_IF(nd__check_array(p->name, a, from));
    ND_RETURN_IF(read_options(p, opts));
    ND_RETURN_IF(nd__check_floatings(p->name, from, 3, all, &p->dtype));
    if (p->o.dtype)
        ND_RETURN_IF(nd__check_castable(p->name, p->dtype, p->o.dtype));
    p->dtype = p->o.dtype ? p->o.dtype : p->dtype;
    p->wide = nd__wide_of(p->dtype);
    if (a->ndim < 2)
        return nd__fail(ND_ERR_SHAPE, p->name, from,
                        "argument %d has %d axes; it is (n, channels, ...)", from, (int)a->ndim);
    p->ndim = a->ndim;
    p->channels = a->shape[1];
    p->count = p->channels ? a->size / p->channels : 0;
    p->naxes = a->ndim - 1;
    p->axes = ((uint64_t)-1 >> (64 - a->ndim)) & ~(uint64_t)2;
    p->order[0] = 1;
    for (int d = 0; d < p->naxes; d++)
        p->order[d + 1] = d + (d > 0);
    for (int i = 0; i < 2; i++)
        if (weights[i])
            ND_RETURN_IF(nd__check_shape_is(p->name, weights[i], 1, &p->channels, from + 1 + i));
    if (p->o.training && p->count == 1)
        return nd__fail(ND_ERR_SHAPE, p->name, from,
                        "in training a channel needs more than one value");
    return ND_OK;
}

/* A weight of channels beside a. */
static nd_array *beside(nd_steps *s, const batching *p, const nd_array *w)
{
    return nd__step_along(s, nd__step_cast(s, w, p->wide), p->ndim, 1);
}

/* The same beside a with the axis of the channels first, in the dtype. */
static nd_array *first(nd_steps *s, const batching *p, const nd_array *w)
{
    return w ? nd__step_along(s, nd__step_cast(s, w, p->dtype), p->ndim, 0) : NULL;
}

/* 1/sqrt(variance + eps), (channels). */
static nd_array *inverse_deviation(nd_steps *s, const batching *p, const nd_array *variance)
{
    nd_array *v = nd__step_cast(s, variance, p->wide);
    v = nd__step1(s, ND_OP_sqrt, nd__step_scalar(s, ND_OP_add, v, nd_float(p->o.eps)));
    return nd__step1(s, ND_OP_reciprocal, v);
}

/* A number of each channel, broadcast to the shape of a with the axis of the channels first. */
static nd_array *for_each(nd_steps *s, const batching *p, const nd_array *w, nd_dtype dtype,
                          const nd_array *like)
{
    w = nd__step_along(s, nd__step_cast(s, w, dtype), p->ndim, 0);
    return nd__step_broadcast(s, w, p->ndim, s->status == ND_OK ? like->shape : NULL);
}

/* a normalised by the running statistics. */
static nd_array *by_running(nd_steps *s, const batching *p, const nd_array *a,
                            const nd_array *const weights[2], const nd_array *const statistics[2])
{
    const ndp_norm params = {.size = sizeof params,
                             .n_reduced = p->naxes,
                             .eps = p->o.eps,
                             .has_scale = weights[0] != NULL,
                             .has_bias = weights[1] != NULL};
    const nd_array *in[5];
    nd_array *r = nd__step_like(s, a, p->dtype), *to = nd__step_permute(s, r, p->order);
    int n_in = 1;
    in[0] = nd__step_permute(s, nd__step_cast(s, a, p->dtype), p->order);
    for (int i = 0; i < 2; i++)
        in[n_in++] = for_each(s, p, statistics[i], p->wide, in[0]);
    for (int i = 0; i < 2; i++)
        if (weights[i])
            in[n_in++] = for_each(s, p, weights[i], p->dtype, in[0]);
    nd__step_kernel(s, ND_OP_batch_norm, n_in, in, 1, &to, &params);
    return r;
}

/* running = (1 - momentum)*running + momentum*times*now */
static void move(nd_steps *s, const batching *p, const nd_array *running, nd_array *now,
                 double times)
{
    nd_array *old = nd__step_cast(s, running, now ? now->dtype : 0);
    old = nd__step_scalar(s, ND_OP_multiply, old, nd_float(1 - p->o.momentum));
    now = nd__step_scalar(s, ND_OP_multiply, now, nd_float(p->o.momentum * times));
    nd_array *sum = nd__step2(s, ND_OP_add, old, now);
    ND_STEP_DO(s, nd__copy_into(sum, running));
}

/* a normalised by its own statistics, and the running ones moved towards these. */
static nd_array *by_own(nd_steps *s, const batching *p, const nd_array *a,
                        const nd_array *const weights[2], const nd_array *mean,
                        const nd_array *variance)
{
    nd_array *now[2], *r;
    const int moves = mean && p->count > 0;
    r = nd__step_group_norm(s, nd__step_cast(s, a, p->dtype), first(s, p, weights[0]),
                            first(s, p, weights[1]), p->o.eps, p->naxes, p->order,
                            moves ? now : NULL);
    if (!moves || s->status != ND_OK)
        return r;
    const double n = (double)p->count;
    move(s, p, mean, nd__step_flat(s, now[0]), 1);
    move(s, p, variance, nd__step_flat(s, now[1]), n / (n - 1));
    return r;
}

nd_status nd_batch_norm(const nd_array *a, const nd_array *scale, const nd_array *bias,
                        const nd_array *mean, const nd_array *variance,
                        const nd_batch_norm_opts *opts, nd_array **out)
{
    batching p = {.name = "batch_norm"};
    const nd_array *const weights[2] = {scale, bias};
    nd_steps s;
    nd_array *r;
    ND_OUT(p.name, 6, out, NULL);
    ND_RETURN_IF(start(&p, a, 0, weights, opts));
    ND_RETURN_IF(check_statistics(&p, a, mean, variance, 3));
    if (p.o.training && mean) {
        ND_RETURN_IF(nd__check_writable(p.name, mean, 3));
        ND_RETURN_IF(nd__check_writable(p.name, variance, 4));
    }
    ND_RETURN_IF(nd__steps_begin(&s, p.name, a, opts));
    if (p.o.training) {
        r = by_own(&s, &p, a, weights, mean, variance);
        return nd__steps_end(&s, p.name, r, out);
    }
    r = by_running(&s, &p, a, weights, (const nd_array *const[]){mean, variance});
    return nd__steps_end(&s, p.name, r, out);
}

/* ---- gradients ---- */

/* In training: by the batch's own statistics. */
static void by_own_grads(nd_steps *s, const batching *p, const nd_array *g, const nd_array *a,
                         const nd_array *scale, int weights, nd_array *r[3])
{
    g = nd__step_cast(s, g, p->dtype);
    a = nd__step_cast(s, a, p->dtype);
    const nd_array *by = first(s, p, scale);
    if (!weights) {
        r[0] = nd__step_norm_grad(s, ND_OP_layer_norm_grad, g, a, by, p->o.eps, p->naxes, p->order);
        return;
    }
    nd__step_norm_grads(s, ND_OP_layer_norm_grads, g, a, by, p->o.eps, p->naxes, p->order, 1, 3, r);
    for (int i = 1; i < 3; i++)
        r[i] = nd__step_flat(s, r[i]);
}

/* By the running statistics, which do not depend on a. */
static void by_running_grads(nd_steps *s, const batching *p, const nd_array *g, const nd_array *a,
                             const nd_array *const operands[3], nd_array **const out[3],
                             nd_array *r[3])
{
    const nd_array *scale = operands[0], *mean = operands[1];
    nd_array *inverse = inverse_deviation(s, p, operands[2]);
    g = nd__step_cast(s, g, p->wide);
    if (out[0]) {
        r[0] = nd__step2(s, ND_OP_multiply, g, beside(s, p, inverse));
        r[0] = scale ? nd__step2(s, ND_OP_multiply, r[0], beside(s, p, scale)) : r[0];
        r[0] = nd__step_cast(s, r[0], p->dtype);
    }
    if (out[1]) {
        nd_array *d =
            nd__step2(s, ND_OP_subtract, nd__step_cast(s, a, p->wide), beside(s, p, mean));
        r[1] =
            nd__step2(s, ND_OP_multiply, g, nd__step2(s, ND_OP_multiply, d, beside(s, p, inverse)));
        r[1] = nd__step_cast(s, nd__step_sum(s, r[1], p->axes, 0), p->dtype);
    }
    if (out[2])
        r[2] = nd__step_cast(s, nd__step_sum(s, g, p->axes, 0), p->dtype);
}

static nd_status check_gradient(batching *p, const nd_array *g, const nd_array *a)
{
    const nd_array *const both[2] = {g, a};
    nd_dtype common;
    ND_RETURN_IF(nd__check_floatings(p->name, 0, 2, both, &common));
    ND_RETURN_IF(nd__check_shape_is(p->name, g, a->ndim, a->shape, 0));
    if (p->o.dtype)
        return ND_OK;
    ND_RETURN_IF(nd__promote(p->name, common, p->dtype, &p->dtype));
    p->wide = nd__wide_of(p->dtype);
    return ND_OK;
}

nd_status nd_batch_norm_grad(const nd_array *g, const nd_array *a, const nd_array *scale,
                             const nd_array *mean, const nd_array *variance,
                             const nd_batch_norm_opts *opts, nd_array **da, nd_array **dscale,
                             nd_array **dbias)
{
    batching p = {.name = "batch_norm_grad"};
    const nd_array *const weights[2] = {scale, NULL}, *const operands[3] = {scale, mean, variance};
    nd_array **const out[3] = {da, dscale, dbias};
    nd_array *r[3] = {NULL};
    nd_steps s;
    for (int i = 0; i < 3; i++)
        if (out[i])
            *out[i] = NULL;
    ND_RETURN_IF(nd__check_array(p.name, g, 0));
    ND_RETURN_IF(start(&p, a, 1, weights, opts));
    ND_RETURN_IF(check_gradient(&p, g, a));
    if (!p.o.training)
        ND_RETURN_IF(check_statistics(&p, g, mean, variance, 3));
    ND_RETURN_IF(nd__steps_begin(&s, p.name, g, opts));
    if (p.o.training)
        by_own_grads(&s, &p, g, a, scale, dscale || dbias, r);
    else
        by_running_grads(&s, &p, g, a, operands, out, r);
    return nd__steps_end_all(&s, p.name, 3, r, out);
}
