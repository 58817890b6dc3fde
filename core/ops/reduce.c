/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Reductions, scans and row normalisations: from any axes to views whose last dimensions are the
 * reduced ones. */
#include "core/ops/ops.h"

typedef struct {
    const nd_op_info *info;
    const nd_array *in;
    nd_array *cast; /* owned, or NULL */
    nd_scope scope;
    nd_dtype compute, result;
    uint64_t mask;              /* reduced axes */
    int ndim;                   /* of the result */
    int64_t shape[ND_MAX_NDIM]; /* of the result */
    int64_t count;              /* elements reduced into one */
} reduction;

/* An options struct may be of an older, shorter version; what it lacks is zero. */
static nd_status read_opts(const char *op, const void *opts, void *copy, size_t n, size_t least)
{
    uint32_t size = opts ? *(const uint32_t *)opts : 0;
    memset(copy, 0, n);
    if (opts && size < least)
        return nd__fail(ND_ERR_ARGUMENT, op, -1, "the options' size field is %u; set it to sizeof",
                        size);
    if (opts)
        memcpy(copy, opts, size < n ? size : n);
    return ND_OK;
}

/* Compute dtype by the op's domain, or as asked for. */
static nd_status choose_dtype(const nd_op_info *info, nd_dtype in, nd_dtype wanted,
                              nd_dtype *compute, nd_dtype *result)
{
    if (!wanted) {
        ND_RETURN_IF(nd__op_domain(info, in, compute));
        *result = nd__op_result(info, *compute);
        return ND_OK;
    }
    ND_RETURN_IF(nd__check_dtype(info->name, wanted));
    ND_RETURN_IF(nd__check_castable(info->name, in, wanted));
    ND_RETURN_IF(nd__op_domain(info, wanted, compute));
    if (*compute != wanted)
        return nd__fail(ND_ERR_DTYPE, info->name, -1, "it cannot be computed in %s",
                        nd_dtype_name(wanted));
    *result = info->result == ND_RESULT_SUM ? wanted : nd__op_result(info, wanted);
    return ND_OK;
}

static nd_status result_shape(reduction *r, bool keepdims)
{
    const nd_array *a = r->in;
    r->ndim = 0;
    r->count = 1;
    for (int d = 0; d < a->ndim; d++) {
        bool reduced = r->mask >> d & 1;
        if (reduced)
            r->count *= a->shape[d];
        if (!reduced || keepdims)
            r->shape[r->ndim++] = reduced ? 1 : a->shape[d];
    }
    int64_t size = 1;
    for (int d = 0; d < r->ndim; d++)
        size *= r->shape[d];
    bool has_no_empty = r->info->op == ND_OP_min || r->info->op == ND_OP_max ||
                        r->info->op_class == ND_CLASS_ARGREDUCE;
    if (has_no_empty && r->count == 0 && size > 0)
        return nd__fail(ND_ERR_SHAPE, r->info->name, 0,
                        "nothing to choose from: the reduced axes have no elements");
    return ND_OK;
}

static nd_status start(nd_op op, const nd_array *a, const nd_reduce_opts *opts, nd_reduce_opts *o,
                       reduction *r)
{
    const nd_op_info *info = nd_op_get(op);
    memset(r, 0, offsetof(reduction, shape));
    ND_RETURN_IF(nd__check_array(info->name, a, 0));
    ND_RETURN_IF(read_opts(info->name, opts, o, sizeof *o, NDP_END(nd_reduce_opts, dtype)));
    r->info = info;
    r->in = a;
    ND_RETURN_IF(nd__scope_of(info->name, a, opts, &r->scope));
    ND_RETURN_IF(nd__axes_option(info->name, o->naxes, o->axes, a->ndim, &r->mask));
    if (info->op_class == ND_CLASS_ARGREDUCE && o->axes && o->naxes != 1)
        return nd__fail(ND_ERR_ARGUMENT, info->name, 1,
                        "%d axes given; it takes one, or NULL for the flattened array",
                        (int)o->naxes);
    ND_RETURN_IF(choose_dtype(info, a->dtype, info->op_class == ND_CLASS_ARGREDUCE ? 0 : o->dtype,
                              &r->compute, &r->result));
    ND_RETURN_IF(result_shape(r, o->keepdims));
    bool widening_sum = info->result == ND_RESULT_SUM && !o->dtype;
    if (widening_sum || a->dtype == r->compute)
        return ND_OK;
    ND_RETURN_IF(nd__cast(a, r->compute, &r->cast));
    r->in = r->cast;
    return ND_OK;
}

static void finish(reduction *r)
{
    nd_release(r->cast);
    nd__scope_leave(&r->scope);
}

/* Splits the input's dimensions into kept ones (with dst's strides) and reduced ones, merges each
 * group, and lays them out one after the other. */
static nd_status run(const reduction *r, double correction, const nd_array *dst)
{
    int64_t kept[ND_MAX_NDIM], reduced[ND_MAX_NDIM], kept_stride[2][ND_MAX_NDIM],
        reduced_stride[1][ND_MAX_NDIM];
    int n_kept = 0, n_reduced = 0, at = 0;
    const nd_array *a = r->in;
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
                             r->info->op_class == ND_CLASS_ARGREDUCE);
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
    ndp_reduce params = {.size = sizeof params, .n_reduced = n_reduced, .correction = correction};
    ndp_call call = {.size = sizeof call,
                     .op = r->info->op,
                     .n_in = 1,
                     .n_out = 1,
                     .in = &in,
                     .out = &out,
                     .params = &params};
    return nd__run(dst->storage->device, &call);
}

/* The short way for all of a dense array: no axes to sort, no dtype to choose. Fewer than two
 * elements have rules of their own. False: take the long way. */
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
    nd_reduce_opts o;
    reduction r;
    nd_array *result = NULL;
    nd_status status;
    *out = NULL;
    if (!opts && reduce_all(op, a, out, &status))
        return status;
    ND_GOTO_IF(done, start(op, a, opts, &o, &r));
    ND_GOTO_IF(done, nd__array_alloc(r.info->name, a->storage->device, r.result, r.ndim, r.shape,
                                     &result));
    ND_GOTO_IF(done, run(&r, o.correction, result));
    *out = result;
    result = NULL;
done:
    nd_release(result);
    finish(&r);
    return status;
}

/* Results go through a temporary where the destination has another dtype or shares memory with the
 * input. */
static nd_status deliver(const char *op, const nd_array *result, const nd_array *dst,
                         int32_t argument)
{
    ND_RETURN_IF(nd__check_castable(op, result->dtype, dst->dtype));
    ND_RETURN_IF(nd__check_same_device(op, result, dst, 0, argument));
    return nd__copy_into(result, dst);
}

static nd_status reduce_into(nd_op op, const nd_array *a, const nd_reduce_opts *opts,
                             const nd_array *dst)
{
    nd_reduce_opts o;
    reduction r;
    nd_array *temporary = NULL;
    nd_status status;
    ND_GOTO_IF(done, start(op, a, opts, &o, &r));
    ND_GOTO_IF(done, nd__check_writable(r.info->name, dst, 2));
    ND_GOTO_IF(done, nd__check_same_device(r.info->name, a, dst, 0, 2));
    ND_GOTO_IF(done, nd__check_dst_shape(r.info->name, dst, r.ndim, r.shape, 2));
    if (dst->dtype == r.result && !nd__may_overlap(r.in, dst)) {
        ND_GOTO_IF(done, run(&r, o.correction, dst));
    } else {
        ND_GOTO_IF(done, nd__array_alloc(r.info->name, a->storage->device, r.result, r.ndim,
                                         r.shape, &temporary));
        ND_GOTO_IF(done, run(&r, o.correction, temporary));
        ND_GOTO_IF(done, deliver(r.info->name, temporary, dst, 2));
    }
done:
    nd_release(temporary);
    finish(&r);
    return status;
}

#define WRAP(name)                                                                                 \
    nd_status nd_##name(const nd_array *a, const nd_reduce_opts *opts, nd_array **out)             \
    {                                                                                              \
        ND_NEED(#name, 2, out);                                                                    \
        return reduce(ND_OP_##name, a, opts, out);                                                 \
    }                                                                                              \
    nd_status nd_##name##_into(const nd_array *a, const nd_reduce_opts *opts, const nd_array *dst) \
    {                                                                                              \
        return reduce_into(ND_OP_##name, a, opts, dst);                                            \
    }
WRAP(sum)
WRAP(prod)
WRAP(min)
WRAP(max)
WRAP(mean)
WRAP(var)
WRAP(std)
WRAP(any)
WRAP(all)
WRAP(count_nonzero)
WRAP(logsumexp)
WRAP(argmin)
WRAP(argmax)

/* ---- scans ---- */

typedef struct {
    const nd_op_info *info;
    nd_scan_opts o;
    int axis;
    nd_dtype compute, result;
    int64_t shape[ND_MAX_NDIM];
} scan_plan;

static nd_status scan_start(nd_op op, const nd_array *a, const nd_scan_opts *opts, scan_plan *p)
{
    int64_t size;
    p->info = nd_op_get(op);
    ND_RETURN_IF(nd__check_array(p->info->name, a, 0));
    ND_RETURN_IF(read_opts(p->info->name, opts, &p->o, sizeof p->o, NDP_END(nd_scan_opts, dtype)));
    if (!opts && a->ndim != 1)
        return nd__fail(ND_ERR_ARGUMENT, p->info->name, 1,
                        "rank %d needs options that name the axis", a->ndim);
    ND_RETURN_IF(nd__axis(p->info->name, p->o.axis, a->ndim, &p->axis));
    ND_RETURN_IF(choose_dtype(p->info, a->dtype, p->o.dtype, &p->compute, &p->result));
    memcpy(p->shape, a->shape, (size_t)a->ndim * sizeof *p->shape);
    p->shape[p->axis] += p->o.include_initial != 0;
    return nd__check_shape(p->info->name, p->result, a->ndim, p->shape, &size);
}

static nd_status scan_run(const scan_plan *p, const nd_array *a, const nd_array *dst)
{
    nd_array *in = NULL, *cast = NULL, *out = NULL, *rest = NULL, *initial = NULL;
    ndp_scan params = {.size = sizeof params};
    const int32_t from[1] = {p->axis}, to[1] = {-1};
    nd_status status;
    if (p->o.dtype)
        ND_GOTO_IF(done, nd__cast(a, p->compute, &cast));
    ND_GOTO_IF(done, nd_moveaxis(cast ? cast : a, 1, from, to, &in));
    ND_GOTO_IF(done, nd_moveaxis(dst, 1, from, to, &out));
    if (p->o.include_initial) {
        const nd_index first[2] = {nd_ellipsis(), nd_range(0, 1, 1)},
                       others[2] = {nd_ellipsis(), nd_range(1, ND_END_OPEN, 1)};
        ND_GOTO_IF(done, nd_slice(out, first, 2, &initial));
        ND_GOTO_IF(done, nd_fill(initial, nd_int(p->info->op == ND_OP_cumulative_prod)));
        ND_GOTO_IF(done, nd_slice(out, others, 2, &rest));
    }
    const nd_array *inputs[1] = {in};
    nd_array *outputs[1] = {rest ? rest : out};
    if (in->size)
        ND_GOTO_IF(done, nd__run_arrays(p->info->op, 1, inputs, 1, outputs, &params));
done:
    nd_release(cast);
    nd_release(in);
    nd_release(out);
    nd_release(rest);
    nd_release(initial);
    return status;
}

static nd_status scan_here(nd_op op, const nd_array *a, const nd_scan_opts *opts, nd_array **out)
{
    scan_plan p;
    nd_array *r = NULL;
    ND_RETURN_IF(scan_start(op, a, opts, &p));
    ND_RETURN_IF(nd__array_alloc(p.info->name, a->storage->device, p.result, a->ndim, p.shape, &r));
    nd_status status = scan_run(&p, a, r);
    return nd__hand_over(status, r, out);
}

static nd_status scan(nd_op op, const nd_array *a, const nd_scan_opts *opts, nd_array **out)
{
    nd_scope scope;
    *out = NULL;
    ND_RETURN_IF(nd__scope_of(nd_op_get(op)->name, a, opts, &scope));
    nd_status status = scan_here(op, a, opts, out);
    nd__scope_leave(&scope);
    return status;
}

static nd_status scan_into_here(nd_op op, const nd_array *a, const nd_scan_opts *opts,
                                const nd_array *dst)
{
    scan_plan p;
    nd_array *r = NULL;
    ND_RETURN_IF(scan_start(op, a, opts, &p));
    ND_RETURN_IF(nd__check_writable(p.info->name, dst, 2));
    ND_RETURN_IF(nd__check_same_device(p.info->name, a, dst, 0, 2));
    ND_RETURN_IF(nd__check_dst_shape(p.info->name, dst, a->ndim, p.shape, 2));
    if (dst->dtype == p.result && !nd__may_overlap(a, dst))
        return scan_run(&p, a, dst);
    ND_RETURN_IF(scan_here(op, a, opts, &r));
    nd_status status = deliver(p.info->name, r, dst, 2);
    nd_release(r);
    return status;
}

static nd_status scan_into(nd_op op, const nd_array *a, const nd_scan_opts *opts,
                           const nd_array *dst)
{
    nd_scope scope;
    ND_RETURN_IF(nd__scope_of(nd_op_get(op)->name, a, opts, &scope));
    nd_status status = scan_into_here(op, a, opts, dst);
    nd__scope_leave(&scope);
    return status;
}

nd_status nd_cumulative_sum(const nd_array *a, const nd_scan_opts *opts, nd_array **out)
{
    ND_NEED("cumulative_sum", 2, out);
    return scan(ND_OP_cumulative_sum, a, opts, out);
}
nd_status nd_cumulative_prod(const nd_array *a, const nd_scan_opts *opts, nd_array **out)
{
    ND_NEED("cumulative_prod", 2, out);
    return scan(ND_OP_cumulative_prod, a, opts, out);
}
nd_status nd_cumulative_sum_into(const nd_array *a, const nd_scan_opts *opts, const nd_array *dst)
{
    ND_NEED("cumulative_sum", 2, dst);
    return scan_into(ND_OP_cumulative_sum, a, opts, dst);
}
nd_status nd_cumulative_prod_into(const nd_array *a, const nd_scan_opts *opts, const nd_array *dst)
{
    ND_NEED("cumulative_prod", 2, dst);
    return scan_into(ND_OP_cumulative_prod, a, opts, dst);
}
