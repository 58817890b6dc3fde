/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Row normalisations: softmax, log_softmax, layer_norm, rms_norm over any set of axes. */
#include "core/ops/ops.h"

typedef struct {
    const nd_op_info *info;
    const nd_array *operand[3]; /* a, scale, bias; NULL where absent */
    nd_array *cast[3];          /* owned, or NULL */
    nd_scope scope;
    nd_dtype compute;
    double eps;
    int naxes;
    int order[ND_MAX_NDIM]; /* a's axes: kept ones, then normalised ones */
} norm_plan;

static nd_status read_norm_opts(const char *op, const nd_norm_opts *opts, nd_norm_opts *o)
{
    memset(o, 0, sizeof *o);
    o->eps = -1;
    if (opts && opts->size < NDP_END(nd_norm_opts, dtype))
        return nd__fail(ND_ERR_ARGUMENT, op, -1, "the options' size field is %u; set it to sizeof",
                        opts->size);
    if (opts)
        memcpy(o, opts, opts->size < sizeof *o ? opts->size : sizeof *o);
    return ND_OK;
}

static nd_status choose_axes(norm_plan *p, const nd_norm_opts *o, int ndim)
{
    uint64_t mask;
    int n = o->naxes > 0 ? o->naxes : 1, at = 0;
    if (o->axes || o->naxes < 0) {
        ND_RETURN_IF(nd__axes_option(p->info->name, o->naxes, o->axes, ndim, &mask));
        n = o->naxes == ND_NO_AXES ? 0 : o->naxes;
    } else {
        if (n > ndim)
            return nd__fail(ND_ERR_SHAPE, p->info->name, 0, "rank %d has no %d trailing axes", ndim,
                            n);
        mask = (n >= 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1) << (ndim - n);
    }
    p->naxes = n;
    for (int d = 0; d < ndim; d++)
        if (!(mask >> d & 1))
            p->order[at++] = d;
    for (int d = 0; d < ndim; d++)
        if (mask >> d & 1)
            p->order[at++] = d;
    return ND_OK;
}

/* scale or bias: of the normalised axes' shape. */
static nd_status check_weight(const norm_plan *p, int i)
{
    int64_t shape[ND_MAX_NDIM];
    const nd_array *a = p->operand[0];
    if (!p->operand[i])
        return ND_OK;
    for (int d = 0; d < p->naxes; d++)
        shape[d] = a->shape[p->order[a->ndim - p->naxes + d]];
    ND_RETURN_IF(nd__check_same_device(p->info->name, a, p->operand[i], 0, i));
    return nd__check_shape_is(p->info->name, p->operand[i], p->naxes, shape, i);
}

static nd_status norm_start(nd_op op, const nd_array *a, const nd_array *scale,
                            const nd_array *bias, const nd_norm_opts *opts, norm_plan *p)
{
    nd_norm_opts o;
    memset(p, 0, sizeof *p);
    p->info = nd_op_get(op);
    p->operand[0] = a;
    p->operand[1] = scale;
    p->operand[2] = bias;
    ND_RETURN_IF(nd__check_array(p->info->name, a, 0));
    ND_RETURN_IF(read_norm_opts(p->info->name, opts, &o));
    ND_RETURN_IF(nd__scope_of(p->info->name, a, opts, &p->scope));
    ND_RETURN_IF(choose_axes(p, &o, a->ndim));
    nd_dtype common = a->dtype;
    for (int i = 1; i < 3; i++) {
        ND_RETURN_IF(check_weight(p, i));
        if (p->operand[i])
            ND_RETURN_IF(nd__promote(p->info->name, common, p->operand[i]->dtype, &common));
    }
    if (o.dtype) {
        ND_RETURN_IF(nd__check_dtype(p->info->name, o.dtype));
        ND_RETURN_IF(nd__check_castable(p->info->name, common, o.dtype));
        common = o.dtype;
    }
    ND_RETURN_IF(nd__op_domain(p->info, common, &p->compute));
    p->eps = o.eps < 0 ? 1e-5 : o.eps;
    for (int i = 0; i < 3; i++)
        if (p->operand[i] && p->operand[i]->dtype != p->compute) {
            ND_RETURN_IF(nd__cast(p->operand[i], p->compute, &p->cast[i]));
            p->operand[i] = p->cast[i];
        }
    return ND_OK;
}

static void norm_finish(norm_plan *p)
{
    for (int i = 0; i < 3; i++)
        nd_release(p->cast[i]);
    nd__scope_leave(&p->scope);
}

/* Views of a, dst and the weights with the normalised axes last; kept and normalised dimensions
 * merge within their groups, in order. */
static nd_status norm_run(const norm_plan *p, const nd_array *dst)
{
    const nd_array *a = p->operand[0];
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
            stride[group][i + 1][at] = group && p->operand[i] ? p->operand[i]->stride[at] : 0;
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
        if (p->operand[i]) {
            v[++n_in] = nd__view(p->operand[i]);
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
                       .has_scale = p->operand[1] != NULL,
                       .has_bias = p->operand[2] != NULL};
    ndp_call call = {.size = sizeof call,
                     .op = p->info->op,
                     .n_in = n_in,
                     .n_out = 1,
                     .in = v + 1,
                     .out = v,
                     .params = &params};
    return nd__run(dst->storage->device, &call);
}

static nd_status norm(nd_op op, const nd_array *a, const nd_array *scale, const nd_array *bias,
                      const nd_norm_opts *opts, nd_array **out)
{
    norm_plan p;
    nd_array *r = NULL;
    nd_status status;
    *out = NULL;
    ND_GOTO_IF(done, norm_start(op, a, scale, bias, opts, &p));
    ND_GOTO_IF(done,
               nd__array_alloc(p.info->name, a->storage->device, p.compute, a->ndim, a->shape, &r));
    ND_GOTO_IF(done, norm_run(&p, r));
    *out = r;
    r = NULL;
done:
    nd_release(r);
    norm_finish(&p);
    return status;
}

/* `place` is the position of dst among the arguments. */
static nd_status norm_into(nd_op op, const nd_array *a, const nd_array *scale, const nd_array *bias,
                           const nd_norm_opts *opts, int32_t place, const nd_array *dst)
{
    norm_plan p;
    nd_array *r = NULL;
    nd_status status;
    ND_GOTO_IF(done, norm_start(op, a, scale, bias, opts, &p));
    ND_GOTO_IF(done, nd__check_writable(p.info->name, dst, place));
    ND_GOTO_IF(done, nd__check_same_device(p.info->name, a, dst, 0, place));
    ND_GOTO_IF(done, nd__check_dst_shape(p.info->name, dst, a->ndim, a->shape, place));
    bool direct = dst->dtype == p.compute;
    for (int i = 0; i < 3; i++)
        direct = direct && (!p.operand[i] || nd__same_view(p.operand[i], dst) ||
                            !nd__may_overlap(p.operand[i], dst));
    if (direct) {
        ND_GOTO_IF(done, norm_run(&p, dst));
    } else {
        ND_GOTO_IF(done, nd__check_castable(p.info->name, p.compute, dst->dtype));
        ND_GOTO_IF(done, nd__array_alloc(p.info->name, a->storage->device, p.compute, a->ndim,
                                         a->shape, &r));
        ND_GOTO_IF(done, norm_run(&p, r));
        ND_GOTO_IF(done, nd__copy_into(r, dst));
    }
done:
    nd_release(r);
    norm_finish(&p);
    return status;
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
