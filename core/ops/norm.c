/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Row normalisations: softmax, log_softmax, layer_norm, rms_norm over any set of axes. */
#include "core/ops/neural.h"

typedef struct {
    nd_operation of; /* operands: a, scale, bias */
    double eps;
    int naxes;
    int order[ND_MAX_NDIM]; /* a's axes: kept ones, then normalised ones */
} normalising;

nd_status nd__norm_options(const char *op, const nd_norm_opts *opts, nd_norm_opts *o)
{
    ND_RETURN_IF(nd__read_options(op, opts, o, sizeof *o, NDP_END(nd_norm_opts, dtype)));
    if (!opts || o->eps < 0)
        o->eps = 1e-5;
    return ND_OK;
}

nd_status nd__norm_axes(const char *op, const nd_norm_opts *o, int ndim, int *naxes, int *order)
{
    uint64_t mask;
    int n = o->naxes > 0 ? o->naxes : 1, at = 0;
    if (o->axes || o->naxes < 0) {
        ND_RETURN_IF(nd__axes_option(op, o->naxes, o->axes, ndim, &mask));
        n = o->naxes == ND_NO_AXES ? 0 : o->naxes;
    } else {
        if (n > ndim)
            return nd__fail(ND_ERR_SHAPE, op, 0, "rank %d has no %d trailing axes", ndim, n);
        mask = (n >= 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1) << (ndim - n);
    }
    *naxes = n;
    for (int d = 0; d < ndim; d++)
        if (!(mask >> d & 1))
            order[at++] = d;
    for (int d = 0; d < ndim; d++)
        if (mask >> d & 1)
            order[at++] = d;
    return ND_OK;
}

/* scale or bias: of the normalised axes' shape. */
static nd_status check_weight(const normalising *p, int i)
{
    int64_t shape[ND_MAX_NDIM];
    const nd_array *a = p->of.in[0];
    if (!p->of.in[i])
        return ND_OK;
    for (int d = 0; d < p->naxes; d++)
        shape[d] = a->shape[p->order[a->ndim - p->naxes + d]];
    return nd__check_shape_is(p->of.name, p->of.in[i], p->naxes, shape, i);
}

/* Views of a, dst and the weights with the normalised axes last; kept and normalised dimensions
 * merge within their groups, in order. */
static nd_status run(const nd_operation *of, const nd_array *dst)
{
    const normalising *p = (const normalising *)of;
    const nd_array *a = p->of.in[0];
    int64_t shape[2][ND_MAX_NDIM], stride[2][4][ND_MAX_NDIM], full_shape[ND_MAX_NDIM],
        full[4][ND_MAX_NDIM];
    int kept = a->ndim - p->naxes, rank[2];
    if (a->size == 0)
        return ND_OK;
    for (int d = 0; d < a->ndim; d++) {
        int group = d >= kept, at = group ? d - kept : d, axis = p->order[d];
        shape[group][at] = a->shape[axis];
        stride[group][0][at] = dst->stride[axis];
        stride[group][1][at] = a->stride[axis];
        for (int i = 1; i < 3; i++)
            stride[group][i + 1][at] = group && p->of.in[i] ? p->of.in[i]->stride[at] : 0;
    }
    rank[0] = nd__coalesce(kept, shape[0], 2, stride[0], false);
    rank[1] = nd__coalesce(p->naxes, shape[1], 4, stride[1], false);
    memset(full, 0, sizeof full);
    memcpy(full_shape, shape[0], (size_t)rank[0] * sizeof **shape);
    memcpy(full_shape + rank[0], shape[1], (size_t)rank[1] * sizeof **shape);
    for (int i = 0; i < 4; i++) {
        if (i < 2)
            memcpy(full[i], stride[0][i], (size_t)rank[0] * sizeof **shape);
        memcpy(full[i] + rank[0], stride[1][i], (size_t)rank[1] * sizeof **shape);
    }
    ndp_view v[4];
    uint32_t n_in = 0;
    v[0] = nd__view(dst);
    for (int i = 0; i < 3; i++)
        if (p->of.in[i]) {
            v[++n_in] = nd__view(p->of.in[i]);
            v[n_in].stride = full[i + 1];
        }
    v[0].stride = full[0];
    for (uint32_t i = 0; i <= n_in; i++) {
        v[i].shape = full_shape;
        v[i].ndim = rank[0] + rank[1];
        v[i].flags = nd__is_c_order(v[i].ndim, full_shape, v[i].stride) ? NDP_VIEW_CONTIGUOUS : 0;
    }
    ndp_norm params = {.size = sizeof params,
                       .n_reduced = rank[1],
                       .eps = p->eps,
                       .has_scale = p->of.in[1] != NULL,
                       .has_bias = p->of.in[2] != NULL};
    ndp_call call = {.size = sizeof call,
                     .op = p->of.info->op,
                     .n_in = n_in,
                     .n_out = 1,
                     .in = v + 1,
                     .out = v,
                     .params = &params};
    return nd__run(dst->storage->device, &call);
}

static nd_status start(nd_op op, const nd_array *a, const nd_array *scale, const nd_array *bias,
                       const nd_norm_opts *opts, normalising *p)
{
    const nd_array *const weights[3] = {a, scale, bias};
    nd_norm_opts o;
    nd__operation_begin(&p->of, op, run);
    p->of.elementwise = true; /* a row is read before it is written */
    ND_RETURN_IF(nd__operand(&p->of, 0, a));
    ND_RETURN_IF(nd__norm_options(p->of.name, opts, &o));
    ND_RETURN_IF(nd__scope_of(p->of.name, a, opts, &p->of.scope));
    ND_RETURN_IF(nd__norm_axes(p->of.name, &o, a->ndim, &p->naxes, p->order));
    p->eps = o.eps;
    nd_dtype common = a->dtype;
    for (int i = 1; i < 3; i++) {
        if (!weights[i])
            continue;
        ND_RETURN_IF(nd__operand(&p->of, i, weights[i]));
        ND_RETURN_IF(check_weight(p, i));
        ND_RETURN_IF(nd__promote(p->of.name, common, weights[i]->dtype, &common));
    }
    ND_RETURN_IF(nd__choose_dtypes(&p->of, common, o.dtype));
    p->of.result = p->of.compute;
    nd__result_shape(&p->of, a->ndim, a->shape);
    for (int i = 0; i < 3; i++)
        if (p->of.in[i])
            ND_RETURN_IF(nd__operand_cast(&p->of, i, p->of.compute));
    return ND_OK;
}

static nd_status norm(nd_op op, const nd_array *a, const nd_array *scale, const nd_array *bias,
                      const nd_norm_opts *opts, nd_array **out)
{
    normalising p;
    *out = NULL;
    return nd__into_new(&p.of, start(op, a, scale, bias, opts, &p), out);
}

/* `place` is the position of dst among the arguments. */
static nd_status norm_into(nd_op op, const nd_array *a, const nd_array *scale, const nd_array *bias,
                           const nd_norm_opts *opts, int32_t place, const nd_array *dst)
{
    normalising p;
    return nd__into(&p.of, start(op, a, scale, bias, opts, &p), dst, place);
}

nd_status nd_softmax(const nd_array *a, const nd_norm_opts *opts, nd_array **out)
{
    ND_NEED("softmax", 2, out);
    return norm(ND_OP_softmax, a, NULL, NULL, opts, out);
}
nd_status nd_softmax_into(const nd_array *a, const nd_norm_opts *opts, const nd_array *dst)
{
    return norm_into(ND_OP_softmax, a, NULL, NULL, opts, 2, dst);
}
nd_status nd_log_softmax(const nd_array *a, const nd_norm_opts *opts, nd_array **out)
{
    ND_NEED("log_softmax", 2, out);
    return norm(ND_OP_log_softmax, a, NULL, NULL, opts, out);
}
nd_status nd_log_softmax_into(const nd_array *a, const nd_norm_opts *opts, const nd_array *dst)
{
    return norm_into(ND_OP_log_softmax, a, NULL, NULL, opts, 2, dst);
}

nd_status nd_layer_norm(const nd_array *a, const nd_array *scale, const nd_array *bias,
                        const nd_norm_opts *opts, nd_array **out)
{
    ND_NEED("layer_norm", 4, out);
    return norm(ND_OP_layer_norm, a, scale, bias, opts, out);
}

nd_status nd_layer_norm_into(const nd_array *a, const nd_array *scale, const nd_array *bias,
                             const nd_norm_opts *opts, const nd_array *dst)
{
    return norm_into(ND_OP_layer_norm, a, scale, bias, opts, 4, dst);
}

nd_status nd_rms_norm(const nd_array *a, const nd_array *scale, const nd_norm_opts *opts,
                      nd_array **out)
{
    ND_NEED("rms_norm", 3, out);
    return norm(ND_OP_rms_norm, a, scale, NULL, opts, out);
}

nd_status nd_rms_norm_into(const nd_array *a, const nd_array *scale, const nd_norm_opts *opts,
                           const nd_array *dst)
{
    return norm_into(ND_OP_rms_norm, a, scale, NULL, opts, 3, dst);
}

/* ---- with weights of any axes ---- */
nd_array *nd__step_group_norm(nd_steps *s, const nd_array *a, const nd_array *scale,
                              const nd_array *bias, double eps, int naxes, const int *order,
                              nd_array *stats[2])
{
    const nd_array *const weights[2] = {scale, bias}, *in[3];
    nd_array *r, *to[3] = {NULL};
    int64_t shape[ND_MAX_NDIM];
    int n_in = 1;
    if (s->status != ND_OK)
        return NULL;
    const ndp_norm params = {.size = sizeof params,
                             .n_reduced = naxes,
                             .eps = eps,
                             .has_scale = scale != NULL,
                             .has_bias = bias != NULL};
    r = nd__step_like(s, a, a->dtype);
    to[0] = nd__step_permute(s, r, order);
    in[0] = nd__step_permute(s, a, order);
    for (int d = 0; d < a->ndim; d++)
        shape[d] = d < a->ndim - naxes ? a->shape[order[d]] : 1;
    for (int i = 0; i < 2 && stats; i++)
        to[i + 1] = stats[i] = nd__step_new(s, a, nd__wide_of(a->dtype), a->ndim, shape);
    for (int i = 0; i < 2; i++)
        if (weights[i] && to[0])
            in[n_in++] = nd__step_broadcast(s, weights[i], to[0]->ndim, to[0]->shape);
    nd__step_kernel(s, ND_OP_group_norm, n_in, in, stats ? 3 : 1, to, &params);
    return r;
}
