/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Reductions: from any axes to views whose last dimensions are the reduced ones. */
#include "core/ops/reduce.h"

typedef struct {
    nd_operation of;
    uint64_t mask; /* reduced axes */
    double correction;
} reduction;

nd_status nd__reduce_dtypes(nd_operation *of, nd_dtype in, nd_dtype wanted)
{
    ND_RETURN_IF(nd__choose_dtypes(of, in, wanted));
    if (wanted && of->compute != wanted && of->stored != wanted)
        return nd__fail(ND_ERR_DTYPE, of->name, -1, "it cannot be computed in %s",
                        nd_dtype_name(wanted));
    if (wanted && of->info->result == ND_RESULT_SUM && !of->stored)
        of->result = wanted;
    return ND_OK;
}

static nd_status result_shape(reduction *r, bool keepdims)
{
    const nd_array *a = r->of.in[0];
    int64_t count = 1, size = 1; /* elements reduced into one; elements of the result */
    r->of.ndim = 0;
    for (int d = 0; d < a->ndim; d++) {
        bool reduced = r->mask >> d & 1;
        if (reduced)
            count *= a->shape[d];
        if (!reduced || keepdims)
            r->of.shape[r->of.ndim++] = reduced ? 1 : a->shape[d];
    }
    for (int d = 0; d < r->of.ndim; d++)
        size *= r->of.shape[d];
    bool has_no_empty = r->of.info->op == ND_OP_min || r->of.info->op == ND_OP_max ||
                        r->of.info->op_class == ND_CLASS_ARGREDUCE;
    if (has_no_empty && count == 0 && size > 0)
        return nd__fail(ND_ERR_SHAPE, r->of.name, 0,
                        "nothing to choose from: the reduced axes have no elements");
    return ND_OK;
}

/* Splits the input's dimensions into kept ones (with dst's strides) and reduced ones, merges each
 * group, and lays them out one after the other. */
static nd_status run(const nd_operation *of, const nd_array *dst)
{
    const reduction *r = (const reduction *)of;
    int64_t kept[ND_MAX_NDIM], reduced[ND_MAX_NDIM], kept_stride[2][ND_MAX_NDIM],
        reduced_stride[1][ND_MAX_NDIM];
    int n_kept = 0, n_reduced = 0, at = 0;
    const nd_array *a = of->in[0];
    bool keepdims = dst->ndim == a->ndim;
    if (dst->size == 0)
        return ND_OK;
    for (int d = 0; d < a->ndim; d++) {
        if (r->mask >> d & 1) {
            reduced[n_reduced] = a->shape[d];
            reduced_stride[0][n_reduced++] = a->stride[d];
            at += keepdims;
        } else {
            kept[n_kept] = a->shape[d];
            kept_stride[0][n_kept] = a->stride[d];
            kept_stride[1][n_kept++] = dst->stride[at++];
        }
    }
    n_kept = nd__coalesce(n_kept, kept, 2, kept_stride, false);
    n_reduced = nd__coalesce(n_reduced, reduced, 1, reduced_stride,
                             of->info->op_class == ND_CLASS_ARGREDUCE);
    int64_t shape[ND_MAX_NDIM], stride[ND_MAX_NDIM];
    memcpy(shape, kept, (size_t)n_kept * sizeof *shape);
    memcpy(stride, kept_stride[0], (size_t)n_kept * sizeof *shape);
    memcpy(shape + n_kept, reduced, (size_t)n_reduced * sizeof *shape);
    memcpy(stride + n_kept, reduced_stride[0], (size_t)n_reduced * sizeof *shape);
    ndp_view in = nd__view(a), out = nd__view(dst);
    in.shape = shape;
    in.stride = stride;
    in.ndim = n_kept + n_reduced;
    in.flags = nd__is_c_order(in.ndim, shape, stride) ? NDP_VIEW_CONTIGUOUS : 0;
    out.shape = kept;
    out.stride = kept_stride[1];
    out.ndim = n_kept;
    out.flags = nd__is_c_order(n_kept, kept, kept_stride[1]) ? NDP_VIEW_CONTIGUOUS : 0;
    ndp_reduce params = {
        .size = sizeof params, .n_reduced = n_reduced, .correction = r->correction};
    ndp_call call = {.size = sizeof call,
                     .op = of->info->op,
                     .n_in = 1,
                     .n_out = 1,
                     .in = &in,
                     .out = &out,
                     .params = &params};
    return nd__run(dst->storage->device, &call);
}

static nd_status start(nd_op op, const nd_array *a, const nd_reduce_opts *opts, reduction *r)
{
    nd_reduce_opts o;
    nd__operation_begin(&r->of, op, run);
    const nd_op_info *info = r->of.info;
    const bool picks = info->op_class == ND_CLASS_ARGREDUCE;
    ND_RETURN_IF(nd__operand(&r->of, 0, a));
    ND_RETURN_IF(nd__read_options(info->name, opts, &o, sizeof o, NDP_END(nd_reduce_opts, dtype)));
    ND_RETURN_IF(nd__scope_of(info->name, a, opts, &r->of.scope));
    ND_RETURN_IF(nd__axes_option(info->name, o.naxes, o.axes, a->ndim, &r->mask));
    if (picks && o.axes && o.naxes != 1)
        return nd__fail(ND_ERR_ARGUMENT, info->name, 1,
                        "%d axes given; it takes one, or NULL for the flattened array",
                        (int)o.naxes);
    r->correction = o.correction;
    ND_RETURN_IF(nd__reduce_dtypes(&r->of, a->dtype, picks ? 0 : o.dtype));
    ND_RETURN_IF(result_shape(r, o.keepdims));
    const bool widens =
        info->result == ND_RESULT_SUM && !o.dtype && !r->of.stored; /* as it adds up */
    return widens ? (nd_status)ND_OK : nd__operand_cast(&r->of, 0, r->of.compute);
}

/* The fast path for all of a dense array: no axes to sort, no dtype to choose. Fewer than two
 * elements have rules of their own. False: take the slow path. */
static bool reduce_all(nd_op op, const nd_array *a, nd_array **out, nd_status *status)
{
    const nd_op_info *info = nd_op_get(op);
    if (!a || a->size < 2 || !(a->flags & ND_FLAG_CONTIGUOUS) ||
        !(nd__kind(a->dtype) & info->domain) ||
        atomic_load_explicit(&a->storage->pending, memory_order_acquire))
        return false;
    nd_array *r = NULL;
    *status =
        nd__array_alloc(info->name, a->storage->device, nd__op_result(info, a->dtype), 0, NULL, &r);
    if (*status == ND_OK)
        *status = nd__run_dense_reduce(op, a, r);
    *status = nd__hand_over(*status, r, out);
    return true;
}

static nd_status reduce(nd_op op, const nd_array *a, const nd_reduce_opts *opts, nd_array **out)
{
    reduction r;
    nd_status status;
    *out = NULL;
    if (!opts && reduce_all(op, a, out, &status))
        return status;
    return nd__into_new(&r.of, start(op, a, opts, &r), out);
}

static nd_status reduce_into(nd_op op, const nd_array *a, const nd_reduce_opts *opts,
                             const nd_array *dst)
{
    reduction r;
    return nd__into(&r.of, start(op, a, opts, &r), dst, 2);
}

#define WRAP(name, DOMAIN, RESULT, ulps, doc)                                                      \
    nd_status nd_##name(const nd_array *a, const nd_reduce_opts *opts, nd_array **out)             \
    {                                                                                              \
        ND_NEED(#name, 2, out);                                                                    \
        return reduce(ND_OP_##name, a, opts, out);                                                 \
    }                                                                                              \
    nd_status nd_##name##_into(const nd_array *a, const nd_reduce_opts *opts, const nd_array *dst) \
    {                                                                                              \
        return reduce_into(ND_OP_##name, a, opts, dst);                                            \
    }
#define ND_EXPAND_REDUCE ND_EXPAND_BY(WRAP)
#define ND_EXPAND_ARGREDUCE ND_EXPAND_BY(WRAP)
#include <ndock/op_expand.h>
