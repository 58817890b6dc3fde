/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients of softmax, log_softmax, layer_norm and rms_norm; one kernel makes those of the weights
 * beside that of what was normalised. */
#include <ndock/normalization.h>
#include "core/ops/neural.h"

nd_array *nd__step_norm_grad(nd_steps *s, nd_op op, const nd_array *g, const nd_array *a,
                             const nd_array *scale, double eps, int naxes, const int *order)
{
    nd_array *r, *to;
    const nd_array *in[3];
    if (s->status != ND_OK)
        return NULL;
    const ndp_norm params = {
        .size = sizeof params, .n_reduced = naxes, .eps = eps, .has_scale = scale != NULL};
    r = nd__step_new(s, a, a->dtype, a->ndim, a->shape);
    to = nd__step_permute(s, r, order);
    in[0] = nd__step_permute(s, g, order);
    in[1] = nd__step_permute(s, a, order);
    if (scale)
        in[2] = to ? nd__step_broadcast(s, scale, to->ndim, to->shape) : NULL;
    nd__step_kernel(s, op, scale ? 3 : 2, in, 1, &to, &params);
    return r;
}

void nd__step_norm_grads(nd_steps *s, nd_op op, const nd_array *g, const nd_array *a,
                         const nd_array *scale, double eps, int naxes, const int *order,
                         uint64_t weight_axes, int n_out, nd_array **r)
{
    nd_array *to[3];
    const nd_array *in[3];
    int64_t shape[ND_MAX_NDIM];
    if (s->status != ND_OK)
        return;
    const ndp_norm params = {
        .size = sizeof params, .n_reduced = naxes, .eps = eps, .has_scale = scale != NULL};
    r[0] = nd__step_new(s, a, a->dtype, a->ndim, a->shape);
    to[0] = nd__step_permute(s, r[0], order);
    in[0] = nd__step_permute(s, g, order);
    in[1] = nd__step_permute(s, a, order);
    if (scale)
        in[2] = to[0] ? nd__step_broadcast(s, scale, to[0]->ndim, to[0]->shape) : NULL;
    for (int d = 0; d < a->ndim; d++)
        shape[d] = weight_axes >> d & 1 ? a->shape[order[d]] : 1;
    for (int i = 1; i < n_out; i++) {
        if (a->size)
            r[i] = nd__step_new(s, a, a->dtype, a->ndim, shape);
        else /* sums of nothing */
            ND_STEP(s, r[i], nd_zeros(a->storage->device, a->dtype, a->ndim, shape, &r[i]));
        to[i] = r[i];
    }
    nd__step_kernel(s, op, scale ? 3 : 2, in, n_out, to, &params);
}

/* ---- softmax ---- */
static nd_status softmax_grad(nd_op op, const char *name, const nd_array *g, const nd_array *y,
                              const nd_norm_opts *opts, nd_array **out)
{
    const nd_array *const both[2] = {g, y};
    nd_steps s;
    nd_norm_opts o;
    nd_dtype dtype;
    nd_array *r = NULL;
    int naxes, order[ND_MAX_NDIM];
    ND_RETURN_IF(nd__check_array(name, g, 0));
    ND_RETURN_IF(nd__check_array(name, y, 1));
    ND_RETURN_IF(nd__check_floatings(name, 0, 2, both, &dtype));
    ND_RETURN_IF(nd__check_shape_is(name, y, g->ndim, g->shape, 1));
    ND_RETURN_IF(nd__norm_options(name, opts, &o));
    ND_RETURN_IF(nd__norm_axes(name, &o, g->ndim, &naxes, order));
    ND_RETURN_IF(nd__steps_begin(&s, name, g, opts));
    nd_array *cast_g = nd__step_cast(&s, g, o.dtype ? o.dtype : dtype);
    nd_array *cast_y = nd__step_cast(&s, y, o.dtype ? o.dtype : dtype);
    r = nd__step_norm_grad(&s, op, cast_g, cast_y, NULL, o.eps, naxes, order);
    return nd__steps_end(&s, name, r, out);
}

nd_status nd_softmax_grad(const nd_array *g, const nd_array *y, const nd_norm_opts *opts,
                          nd_array **out)
{
    ND_OUT("softmax_grad", 3, out, NULL);
    return softmax_grad(ND_OP_softmax_grad, "softmax_grad", g, y, opts, out);
}

nd_status nd_log_softmax_grad(const nd_array *g, const nd_array *y, const nd_norm_opts *opts,
                              nd_array **out)
{
    ND_OUT("log_softmax_grad", 3, out, NULL);
    return softmax_grad(ND_OP_log_softmax_grad, "log_softmax_grad", g, y, opts, out);
}

/* ---- layer_norm, rms_norm ---- */
typedef struct {
    nd_op op, with_weights;
    const char *name;
    nd_dtype dtype;
    nd_norm_opts o;
    int naxes, order[ND_MAX_NDIM];
} gradient;

static nd_status start(gradient *p, const nd_array *g, const nd_array *a, const nd_array *scale,
                       const nd_norm_opts *opts)
{
    const nd_array *const all[3] = {g, a, scale};
    int64_t shape[ND_MAX_NDIM];
    ND_RETURN_IF(nd__check_array(p->name, g, 0));
    ND_RETURN_IF(nd__check_array(p->name, a, 1));
    ND_RETURN_IF(nd__check_floatings(p->name, 0, 3, all, &p->dtype));
    ND_RETURN_IF(nd__check_shape_is(p->name, g, a->ndim, a->shape, 0));
    ND_RETURN_IF(nd__norm_options(p->name, opts, &p->o));
    ND_RETURN_IF(nd__norm_axes(p->name, &p->o, a->ndim, &p->naxes, p->order));
    if (p->o.dtype)
        ND_RETURN_IF(nd__check_castable(p->name, p->dtype, p->o.dtype));
    p->dtype = p->o.dtype ? p->o.dtype : p->dtype;
    for (int d = 0; d < p->naxes; d++)
        shape[d] = a->shape[p->order[a->ndim - p->naxes + d]];
    return scale ? nd__check_shape_is(p->name, scale, p->naxes, shape, 2) : (nd_status)ND_OK;
}

static uint64_t axes_from(int first, int ndim)
{
    uint64_t mask = 0;
    for (int d = first; d < ndim; d++)
        mask |= (uint64_t)1 << d;
    return mask;
}

static nd_status norm_gradients(gradient *p, const nd_array *g, const nd_array *a,
                                const nd_array *scale, const nd_norm_opts *opts,
                                nd_array **const out[3])
{
    nd_steps s;
    nd_array *r[3] = {NULL};
    ND_RETURN_IF(start(p, g, a, scale, opts));
    ND_RETURN_IF(nd__steps_begin(&s, p->name, g, opts));
    nd_array *cast_g = nd__step_cast(&s, g, p->dtype), *cast_a = nd__step_cast(&s, a, p->dtype);
    nd_array *cast = scale ? nd__step_cast(&s, scale, p->dtype) : NULL;
    const int kept = a->ndim - p->naxes;
    if (!out[1] && !out[2]) {
        r[0] = nd__step_norm_grad(&s, p->op, cast_g, cast_a, cast, p->o.eps, p->naxes, p->order);
        return nd__steps_end_all(&s, p->name, 3, r, out);
    }
    nd__step_norm_grads(&s, p->with_weights, cast_g, cast_a, cast, p->o.eps, p->naxes, p->order,
                        axes_from(kept, a->ndim), out[2] ? 3 : 2, r);
    for (int i = 1; i < 3; i++)
        if (r[i])
            r[i] = nd__step_reshape(&s, r[i], p->naxes, r[i]->shape + kept);
    return nd__steps_end_all(&s, p->name, 3, r, out);
}

static void no_results(nd_array **const out[3])
{
    for (int i = 0; i < 3; i++)
        if (out[i])
            *out[i] = NULL;
}

nd_status nd_layer_norm_grad(const nd_array *g, const nd_array *a, const nd_array *scale,
                             const nd_norm_opts *opts, nd_array **da, nd_array **dscale,
                             nd_array **dbias)
{
    gradient p = {.op = ND_OP_layer_norm_grad,
                  .with_weights = ND_OP_layer_norm_grads,
                  .name = "layer_norm_grad"};
    nd_array **const out[3] = {da, dscale, dbias};
    no_results(out);
    return norm_gradients(&p, g, a, scale, opts, out);
}

nd_status nd_rms_norm_grad(const nd_array *g, const nd_array *a, const nd_array *scale,
                           const nd_norm_opts *opts, nd_array **da, nd_array **dscale)
{
    gradient p = {
        .op = ND_OP_rms_norm_grad, .with_weights = ND_OP_rms_norm_grads, .name = "rms_norm_grad"};
    nd_array **const out[3] = {da, dscale, NULL};
    no_results(out);
    return norm_gradients(&p, g, a, scale, opts, out);
}
