/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Normalisation of groups of channels and of instances, with a scale and a bias for each channel. */
#include <ndock/normalization.h>
#include "core/ops/neural.h"

typedef struct {
    const char *name;
    nd_norm_opts o;
    nd_dtype dtype;
    int64_t n, channels, groups, rest;
} grouping;

/* weights: scale and bias, or scale alone; a is argument `from`, the number of groups the next. */
static nd_status start(grouping *p, const nd_array *a, int from, int64_t groups,
                       const nd_array *const weights[2], const nd_norm_opts *opts)
{
    const nd_array *const all[3] = {a, weights[0], weights[1]};
    ND_RETURN_IF(nd__check_array(p->name, a, from));
    ND_RETURN_IF(nd__norm_options(p->name, opts, &p->o));
    ND_RETURN_IF(nd__check_floatings(p->name, from, 3, all, &p->dtype));
    if (p->o.dtype)
        ND_RETURN_IF(nd__check_castable(p->name, p->dtype, p->o.dtype));
    p->dtype = p->o.dtype ? p->o.dtype : p->dtype;
    if (a->ndim < 2)
        return nd__fail(ND_ERR_SHAPE, p->name, from,
                        "argument %d has %d axes; it is (n, channels, ...)", from, (int)a->ndim);
    p->n = a->shape[0];
    p->channels = a->shape[1];
    p->groups = groups == 0 ? p->channels : groups;
    p->rest = 1;
    for (int d = 2; d < a->ndim; d++)
        p->rest *= a->shape[d];
    if (groups < 0 || (p->groups > 0 && p->channels % p->groups != 0))
        return nd__fail(ND_ERR_ARGUMENT, p->name, from + 1,
                        "%lld channels are not divided by %lld groups", (long long)p->channels,
                        (long long)groups);
    for (int i = 0; i < 2; i++)
        if (weights[i])
            ND_RETURN_IF(nd__check_shape_is(p->name, weights[i], 1, &p->channels, from + 2 + i));
    return ND_OK;
}

/* (n, groups, channels of a group, rest) */
static nd_array *in_groups(nd_steps *s, const grouping *p, const nd_array *a)
{
    const int64_t each = p->groups ? p->channels / p->groups : 0;
    const int64_t shape[4] = {p->n, p->groups, each, p->rest};
    return nd__step_reshape(s, a, 4, shape);
}

/* A weight of channels beside that. */
static nd_array *weight(nd_steps *s, const grouping *p, const nd_array *w, nd_dtype dtype)
{
    const int64_t shape[4] = {1, p->groups, p->groups ? p->channels / p->groups : 0, 1};
    return nd__step_reshape(s, nd__step_cast(s, w, dtype), 4, shape);
}

/* Axes of what in_groups makes: the last two are normalised, groups and channels have weights. */
static const int in_order[4] = {0, 1, 2, 3};
enum { WEIGHT_AXES = 1 << 1 | 1 << 2 };

static nd_status group_norm(grouping *p, const nd_array *a, int64_t groups,
                            const nd_array *const weights[2], const nd_norm_opts *opts,
                            nd_array **out)
{
    nd_steps s;
    ND_RETURN_IF(start(p, a, 0, groups, weights, opts));
    ND_RETURN_IF(nd__steps_begin(&s, p->name, a, opts));
    nd_array *in = in_groups(&s, p, nd__step_cast(&s, a, p->dtype)), *w[2] = {NULL};
    for (int i = 0; i < 2; i++)
        if (weights[i])
            w[i] = weight(&s, p, weights[i], p->dtype);
    nd_array *r = nd__step_group_norm(&s, in, w[0], w[1], p->o.eps, 2, in_order, NULL);
    return nd__steps_end(&s, p->name, nd__step_reshape(&s, r, a->ndim, a->shape), out);
}

nd_status nd_group_norm(const nd_array *a, int64_t groups, const nd_array *scale,
                        const nd_array *bias, const nd_norm_opts *opts, nd_array **out)
{
    grouping p = {.name = "group_norm"};
    const nd_array *const weights[2] = {scale, bias};
    ND_OUT("group_norm", 5, out, NULL);
    if (groups < 1)
        return nd__fail(ND_ERR_ARGUMENT, p.name, 1, "%lld groups; there is at least one",
                        (long long)groups);
    return group_norm(&p, a, groups, weights, opts, out);
}

nd_status nd_instance_norm(const nd_array *a, const nd_array *scale, const nd_array *bias,
                           const nd_norm_opts *opts, nd_array **out)
{
    grouping p = {.name = "instance_norm"};
    const nd_array *const weights[2] = {scale, bias};
    ND_OUT("instance_norm", 4, out, NULL);
    return group_norm(&p, a, 0, weights, opts, out);
}

/* ---- gradients ---- */
static nd_status group_gradients(grouping *p, const nd_array *g, const nd_array *a, int64_t groups,
                                 const nd_array *scale, const nd_norm_opts *opts,
                                 nd_array **const out[3])
{
    const nd_array *const weights[2] = {scale, NULL}, *const both[2] = {g, a};
    nd_dtype common;
    nd_steps s;
    nd_array *r[3] = {NULL};
    for (int i = 0; i < 3; i++)
        if (out[i])
            *out[i] = NULL;
    ND_RETURN_IF(nd__check_array(p->name, g, 0));
    ND_RETURN_IF(start(p, a, 1, groups, weights, opts));
    ND_RETURN_IF(nd__check_floatings(p->name, 0, 2, both, &common));
    ND_RETURN_IF(nd__check_shape_is(p->name, g, a->ndim, a->shape, 0));
    if (!p->o.dtype)
        ND_RETURN_IF(nd__promote(p->name, common, p->dtype, &p->dtype));
    ND_RETURN_IF(nd__steps_begin(&s, p->name, g, opts));
    nd_array *cast_g = in_groups(&s, p, nd__step_cast(&s, g, p->dtype));
    nd_array *cast_a = in_groups(&s, p, nd__step_cast(&s, a, p->dtype));
    nd_array *by = scale ? weight(&s, p, scale, p->dtype) : NULL;
    if (out[1] || out[2])
        nd__step_norm_grads(&s, ND_OP_layer_norm_grads, cast_g, cast_a, by, p->o.eps, 2, in_order,
                            WEIGHT_AXES, 3, r);
    else
        r[0] = nd__step_norm_grad(&s, ND_OP_layer_norm_grad, cast_g, cast_a, by, p->o.eps, 2,
                                  in_order);
    r[0] = nd__step_reshape(&s, r[0], a->ndim, a->shape);
    for (int i = 1; i < 3; i++)
        r[i] = r[i] ? nd__step_flat(&s, r[i]) : NULL;
    return nd__steps_end_all(&s, p->name, 3, r, out);
}

nd_status nd_group_norm_grad(const nd_array *g, const nd_array *a, int64_t groups,
                             const nd_array *scale, const nd_norm_opts *opts, nd_array **da,
                             nd_array **dscale, nd_array **dbias)
{
    grouping p = {.name = "group_norm_grad"};
    nd_array **const out[3] = {da, dscale, dbias};
    if (groups < 1) {
        for (int i = 0; i < 3; i++)
            if (out[i])
                *out[i] = NULL;
        return nd__fail(ND_ERR_ARGUMENT, p.name, 2, "%lld groups; there is at least one",
                        (long long)groups);
    }
    return group_gradients(&p, g, a, groups, scale, opts, out);
}

nd_status nd_instance_norm_grad(const nd_array *g, const nd_array *a, const nd_array *scale,
                                const nd_norm_opts *opts, nd_array **da, nd_array **dscale,
                                nd_array **dbias)
{
    grouping p = {.name = "instance_norm_grad"};
    nd_array **const out[3] = {da, dscale, dbias};
    return group_gradients(&p, g, a, 0, scale, opts, out);
}
