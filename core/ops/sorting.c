/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Sorting and searching: axes and dtypes. */
#include "core/ops/ops.h"

typedef struct {
    int32_t axis, descending;
} sort_choice;

static nd_status sort_start(const nd_op_info *info, const nd_array *a, const nd_sort_opts *opts,
                            sort_choice *c)
{
    nd_dtype compute;
    int axis = -1;
    ND_RETURN_IF(nd__check_array(info->name, a, 0));
    if (opts && opts->size < NDP_END(nd_sort_opts, descending))
        return nd__fail(ND_ERR_ARGUMENT, info->name, 1,
                        "the options' size field is %u; set it to sizeof", opts->size);
    ND_RETURN_IF(nd__axis(info->name, opts ? opts->axis : -1, a->ndim, &axis));
    ND_RETURN_IF(nd__op_domain(info, a->dtype, &compute));
    *c = (sort_choice){axis, opts ? opts->descending != 0 : 0};
    return ND_OK;
}

/* Runs a SORT kernel with the axis last; the other dimensions are merged jointly. */
static nd_status sort_run(const nd_op_info *info, const nd_array *a, sort_choice c, int n_out,
                          const nd_array *const *outs)
{
    int64_t kept[ND_MAX_NDIM], stride[3][ND_MAX_NDIM], shape[3][ND_MAX_NDIM];
    const nd_array *arrays[3] = {outs[0], n_out > 1 ? outs[1] : a, a};
    int n = n_out + 1, rank = 0;
    ndp_view v[3];
    if (outs[0]->size == 0)
        return ND_OK;
    for (int d = 0; d < a->ndim; d++) {
        if (d == c.axis)
            continue;
        kept[rank] = a->shape[d];
        for (int i = 0; i < n; i++)
            stride[i][rank] = arrays[i]->stride[d];
        rank++;
    }
    rank = nd__coalesce(rank, kept, n, stride, false);
    for (int i = 0; i < n; i++) {
        memcpy(shape[i], kept, (size_t)rank * sizeof *kept);
        shape[i][rank] = arrays[i]->shape[c.axis];
        stride[i][rank] = arrays[i]->stride[c.axis];
        v[i] = nd__view(arrays[i]);
        v[i].ndim = rank + 1;
        v[i].shape = shape[i];
        v[i].stride = stride[i];
        v[i].flags = nd__is_c_order(rank + 1, shape[i], stride[i]) ? NDP_VIEW_CONTIGUOUS : 0;
    }
    ndp_sort params = {.size = sizeof params, .descending = c.descending, .stable = 1};
    ndp_call call = {.size = sizeof call,
                     .op = info->op,
                     .n_in = 1,
                     .n_out = (uint32_t)n_out,
                     .in = &v[n - 1],
                     .out = v,
                     .params = &params};
    return nd__run(a->storage->device, &call);
}

static nd_status sort_here(nd_op op, const nd_array *a, const nd_sort_opts *opts, nd_array **out)
{
    const nd_op_info *info = nd_op_get(op);
    sort_choice c;
    nd_array *r = NULL;
    ND_RETURN_IF(sort_start(info, a, opts, &c));
    ND_RETURN_IF(nd__array_alloc(info->name, a->storage->device, nd__op_result(info, a->dtype),
                                 a->ndim, a->shape, &r));
    const nd_array *const outs[1] = {r};
    nd_status status = sort_run(info, a, c, 1, outs);
    return nd__hand_over(status, r, out);
}

static nd_status sort_into_here(nd_op op, const nd_array *a, const nd_sort_opts *opts,
                                const nd_array *dst)
{
    const nd_op_info *info = nd_op_get(op);
    sort_choice c;
    nd_array *r = NULL;
    ND_RETURN_IF(sort_start(info, a, opts, &c));
    ND_RETURN_IF(nd__check_writable(info->name, dst, 2));
    ND_RETURN_IF(nd__check_same_device(info->name, a, dst, 0, 2));
    ND_RETURN_IF(nd__check_dst_shape(info->name, dst, a->ndim, a->shape, 2));
    ND_RETURN_IF(nd__check_castable(info->name, nd__op_result(info, a->dtype), dst->dtype));
    if (dst->dtype == nd__op_result(info, a->dtype) && !nd__may_overlap(a, dst))
        return sort_run(info, a, c, 1, &dst);
    ND_RETURN_IF(sort_here(op, a, opts, &r));
    nd_status status = nd__copy_into(r, dst);
    nd_release(r);
    return status;
}

static nd_status sort(nd_op op, const nd_array *a, const nd_sort_opts *opts, nd_array **out)
{
    nd_scope scope;
    *out = NULL;
    ND_RETURN_IF(nd__scope_of(nd_op_get(op)->name, a, opts, &scope));
    nd_status status = sort_here(op, a, opts, out);
    nd__scope_leave(&scope);
    return status;
}

static nd_status sort_into(nd_op op, const nd_array *a, const nd_sort_opts *opts,
                           const nd_array *dst)
{
    nd_scope scope;
    ND_RETURN_IF(nd__scope_of(nd_op_get(op)->name, a, opts, &scope));
    nd_status status = sort_into_here(op, a, opts, dst);
    nd__scope_leave(&scope);
    return status;
}

nd_status nd_sort(const nd_array *a, const nd_sort_opts *opts, nd_array **out)
{
    ND_NEED("sort", 2, out);
    return sort(ND_OP_sort, a, opts, out);
}
nd_status nd_sort_into(const nd_array *a, const nd_sort_opts *opts, const nd_array *dst)
{
    return sort_into(ND_OP_sort, a, opts, dst);
}
nd_status nd_argsort(const nd_array *a, const nd_sort_opts *opts, nd_array **out)
{
    ND_NEED("argsort", 2, out);
    return sort(ND_OP_argsort, a, opts, out);
}
nd_status nd_argsort_into(const nd_array *a, const nd_sort_opts *opts, const nd_array *dst)
{
    return sort_into(ND_OP_argsort, a, opts, dst);
}

nd_status nd_topk(const nd_array *a, int64_t k, int axis, int smallest, nd_array **values,
                  nd_array **indices)
{
    const nd_op_info *info = nd_op_get(ND_OP_topk);
    const nd_sort_opts opts = {.size = sizeof opts, .axis = axis, .descending = !smallest};
    sort_choice c;
    nd_array *r[2] = {NULL, NULL};
    int64_t shape[ND_MAX_NDIM];
    nd_status status;
    ND_OUT("topk", 4, values, NULL);
    if (indices)
        *indices = NULL;
    ND_RETURN_IF(sort_start(info, a, &opts, &c));
    if (k < 0 || k > a->shape[c.axis])
        return nd__fail(ND_ERR_ARGUMENT, info->name, 1,
                        "k = %lld is not between 0 and the extent %lld of axis %d", (long long)k,
                        (long long)a->shape[c.axis], (int)c.axis);
    memcpy(shape, a->shape, (size_t)a->ndim * sizeof *shape);
    shape[c.axis] = k;
    ND_GOTO_IF(done,
               nd__array_alloc(info->name, a->storage->device, a->dtype, a->ndim, shape, &r[0]));
    ND_GOTO_IF(done,
               nd__array_alloc(info->name, a->storage->device, ND_I64, a->ndim, shape, &r[1]));
    const nd_array *const outs[2] = {r[0], r[1]};
    ND_GOTO_IF(done, sort_run(info, a, c, 2, outs));
    *values = r[0];
    r[0] = NULL;
    if (indices) {
        *indices = r[1];
        r[1] = NULL;
    }
done:
    nd_release(r[0]);
    nd_release(r[1]);
    return status;
}

nd_status nd_searchsorted(const nd_array *sorted, const nd_array *values, int right,
                          const nd_array *sorter, nd_array **out)
{
    const nd_op_info *info = nd_op_get(ND_OP_searchsorted);
    nd_array *ordered = NULL, *haystack = NULL, *needles = NULL, *r = NULL;
    nd_dtype common;
    nd_status status;
    ND_OUT("searchsorted", 4, out, NULL);
    ND_RETURN_IF(nd__check_array(info->name, sorted, 0));
    ND_RETURN_IF(nd__check_array(info->name, values, 1));
    ND_RETURN_IF(nd__check_same_device(info->name, sorted, values, 0, 1));
    if (sorted->ndim != 1)
        return nd__fail(ND_ERR_SHAPE, info->name, 0, "the sorted array has rank %d, not 1",
                        sorted->ndim);
    ND_RETURN_IF(nd__promote(info->name, sorted->dtype, values->dtype, &common));
    ND_RETURN_IF(nd__op_domain(info, common, &common));
    if (sorter)
        ND_RETURN_IF(nd__check_shape_is(info->name, sorter, 1, sorted->shape, 3));
    if (sorter)
        ND_GOTO_IF(done, nd_take(sorted, sorter, 0, &ordered));
    ND_GOTO_IF(done, nd__cast(ordered ? ordered : sorted, common, &haystack));
    ND_GOTO_IF(done, nd__cast(values, common, &needles));
    ND_GOTO_IF(done, nd__array_alloc(info->name, values->storage->device, ND_I64, values->ndim,
                                     values->shape, &r));
    const nd_array *const in[2] = {haystack, needles};
    nd_array *const outs[1] = {r};
    const ndp_search params = {.size = sizeof params, .right = right != 0};
    if (r->size)
        ND_GOTO_IF(done, nd__run_arrays(ND_OP_searchsorted, 2, in, 1, outs, &params));
    *out = r;
    r = NULL;
done:
    nd_release(ordered);
    nd_release(haystack);
    nd_release(needles);
    nd_release(r);
    return status;
}
