/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Normalisation of groups of channels and of instances: layer_norm over another shape, with a scale
 * and a bias for each channel. */
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

static nd_array *normalise(nd_steps *s, const grouping *p, const nd_array *a, nd_dtype dtype)
{
    nd_array *r;
    const nd_norm_opts o = {.size = sizeof o, .dtype = dtype, .naxes = 2, .eps = p->o.eps};
    ND_STEP(s, r, nd_layer_norm(a, NULL, NULL, &o, &r));
    return r;
}

static nd_status group_norm(grouping *p, const nd_array *a, int64_t groups,
                            const nd_array *const weights[2], const nd_norm_opts *opts,
                            nd_array **out)
{
    nd_steps s;
    ND_RETURN_IF(start(p, a, 0, groups, weights, opts));
    ND_RETURN_IF(nd__steps_begin(&s, p->name, a, opts));
    const nd_dtype wide = weights[0] || weights[1] ? nd__wide_of(p->dtype) : p->dtype;
    nd_array *r = normalise(&s, p, in_groups(&s, p, a), wide);
    if (weights[0])
        r = nd__step2(&s, ND_OP_multiply, r, weight(&s, p, weights[0], wide));
    if (weights[1])
        r = nd__step2(&s, ND_OP_add, r, weight(&s, p, weights[1], wide));
    r = nd__step_reshape(&s, nd__step_cast(&s, r, p->dtype), a->ndim, a->shape);
    return nd__steps_end(&s, p->name, r, out);
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
    static const int order[4] = {0, 1, 2, 3};
    const nd_array *const weights[2] = {scale, NULL}, *const both[2] = {g, a};
    const uint64_t kept = 1 | 1 << 3;
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
    const nd_dtype wide = nd__wide_of(p->dtype);
    nd_array *cast_g = in_groups(&s, p, nd__step_cast(&s, g, p->dtype));
    nd_array *cast_a = in_groups(&s, p, nd__step_cast(&s, a, p->dtype));
    if (out[0]) {
        nd_array *by = scale ? weight(&s, p, scale, p->dtype) : NULL;
        r[0] =
            nd__step_norm_grad(&s, ND_OP_layer_norm_grad, cast_g, cast_a, by, p->o.eps, 2, order);
        r[0] = nd__step_reshape(&s, r[0], a->ndim, a->shape);
    }
    if (out[1]) {
        nd_array *product = nd__step2(&s, ND_OP_multiply, nd__step_cast(&s, cast_g, wide),
                                      normalise(&s, p, cast_a, wide));
        r[1] = nd__step_cast(&s, nd__step_flat(&s, nd__step_sum(&s, product, kept, 0)), p->dtype);
    }
    if (out[2])
        r[2] = nd__step_cast(&s, nd__step_flat(&s, nd__step_sum(&s, cast_g, kept, wide)), p->dtype);
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
