/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Sorting: axes and dtypes. */
#include "core/ops/prepare.h"

typedef struct {
    nd_operation of;
    int axis;
    int32_t descending;
    int64_t first; /* of order_statistics and partitions */
} sorting;

/* Runs a SORT kernel with the axis last; the other dimensions are merged jointly. */
static nd_status run_kernel(const sorting *s, int n_out, const nd_array *const *outs)
{
    const nd_array *a = s->of.in[0];
    int64_t kept[ND_MAX_NDIM], stride[3][ND_MAX_NDIM], shape[3][ND_MAX_NDIM];
    const nd_array *arrays[3] = {outs[0], n_out > 1 ? outs[1] : a, a};
    int n = n_out + 1, rank = 0;
    ndp_view v[3];
    if (outs[0]->size == 0)
        return ND_OK;
    for (int d = 0; d < a->ndim; d++) {
        if (d == s->axis)
            continue;
        kept[rank] = a->shape[d];
        for (int i = 0; i < n; i++)
            stride[i][rank] = arrays[i]->stride[d];
        rank++;
    }
    rank = nd__coalesce(rank, kept, n, stride, false);
    for (int i = 0; i < n; i++) {
        memcpy(shape[i], kept, (size_t)rank * sizeof *kept);
        shape[i][rank] = arrays[i]->shape[s->axis];
        stride[i][rank] = arrays[i]->stride[s->axis];
        v[i] = nd__view(arrays[i]);
        v[i].ndim = rank + 1;
        v[i].shape = shape[i];
        v[i].stride = stride[i];
        v[i].flags = nd__is_c_order(rank + 1, shape[i], stride[i]) ? NDP_VIEW_CONTIGUOUS : 0;
    }
    ndp_sort params = {
        .size = sizeof params, .descending = s->descending, .stable = 1, .first = s->first};
    ndp_call call = {.size = sizeof call,
                     .op = s->of.info->op,
                     .n_in = 1,
                     .n_out = (uint32_t)n_out,
                     .in = &v[n - 1],
                     .out = v,
                     .params = &params};
    return nd__run(a->storage->device, &call);
}

static nd_status run(const nd_operation *of, const nd_array *dst)
{
    return run_kernel((const sorting *)of, 1, &dst);
}

static nd_status start(nd_op op, const nd_array *a, const nd_sort_opts *opts, sorting *s)
{
    nd_sort_opts o;
    nd__operation_begin(&s->of, op, run);
    s->first = 0;
    ND_RETURN_IF(nd__operand(&s->of, 0, a));
    if (opts && opts->size < NDP_END(nd_sort_opts, descending))
        return nd__fail(ND_ERR_ARGUMENT, s->of.name, 1,
                        "the options' size field is %u; set it to sizeof", opts->size);
    ND_RETURN_IF(nd__read_options(s->of.name, opts, &o, sizeof o, 0));
    ND_RETURN_IF(nd__scope_of(s->of.name, a, opts, &s->of.scope));
    ND_RETURN_IF(nd__axis(s->of.name, opts ? o.axis : -1, a->ndim, &s->axis));
    s->descending = o.descending != 0;
    ND_RETURN_IF(nd__choose_dtypes(&s->of, a->dtype, 0));
    nd__result_shape(&s->of, a->ndim, a->shape);
    return nd__operand_cast(&s->of, 0, s->of.compute);
}

static nd_status sort(nd_op op, const nd_array *a, const nd_sort_opts *opts, nd_array **out)
{
    sorting s;
    *out = NULL;
    return nd__into_new(&s.of, start(op, a, opts, &s), out);
}

static nd_status sort_into(nd_op op, const nd_array *a, const nd_sort_opts *opts,
                           const nd_array *dst)
{
    sorting s;
    return nd__into(&s.of, start(op, a, opts, &s), dst, 2);
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

/* ---- a part of the sorted order ---- */
bool nd__selects(const nd_array *a, nd_op op)
{
    return nd_device_op_dtypes(a->storage->device, op) >> a->dtype & 1;
}

nd_status nd__order_statistics(const nd_array *a, int64_t first, int64_t k, nd_array **out)
{
    sorting s;
    *out = NULL;
    const nd_status status = start(ND_OP_order_statistics, a, NULL, &s);
    if (status == ND_OK) {
        s.of.shape[s.axis] = k;
        s.first = first;
    }
    return nd__into_new(&s.of, status, out);
}

nd_status nd__partition(nd_op op, const nd_array *a, int64_t kth, int axis, nd_array **out)
{
    const nd_sort_opts opts = {.size = sizeof opts, .axis = axis};
    sorting s;
    *out = NULL;
    const nd_status status = start(op, a, &opts, &s);
    s.first = kth;
    return nd__into_new(&s.of, status, out);
}

/* ---- top-k: two results ---- */
static nd_status topk_start(const nd_array *a, int64_t k, int axis, int smallest, sorting *s)
{
    const nd_sort_opts opts = {.size = sizeof opts, .axis = axis, .descending = !smallest};
    ND_RETURN_IF(start(ND_OP_topk, a, &opts, s));
    if (k < 0 || k > a->shape[s->axis])
        return nd__fail(ND_ERR_ARGUMENT, s->of.name, 1,
                        "k = %lld is not between 0 and the extent %lld of axis %d", (long long)k,
                        (long long)a->shape[s->axis], s->axis);
    s->of.shape[s->axis] = k;
    return ND_OK;
}

/* Of a dtype that nothing is computed in: by way of f32. */
static nd_status topk_stored(const nd_array *a, int64_t k, int axis, int smallest,
                             nd_array **values, nd_array **indices)
{
    nd_array *computed = NULL, *largest = NULL;
    ND_RETURN_IF(nd__cast(a, ND_F32, &computed));
    nd_status status = nd_topk(computed, k, axis, smallest, &largest, indices);
    nd_release(computed);
    if (status != ND_OK)
        return status;
    status = nd__cast(largest, a->dtype, values);
    nd_release(largest);
    return status;
}

nd_status nd_topk(const nd_array *a, int64_t k, int axis, int smallest, nd_array **values,
                  nd_array **indices)
{
    sorting s;
    nd_array *r[2] = {NULL, NULL};
    nd_status status;
    ND_OUT("topk", 4, values, NULL);
    if (indices)
        *indices = NULL;
    ND_RETURN_IF(nd__check_array("topk", a, 0));
    if (nd__kind(a->dtype) & ND__KINDS_STORED)
        return topk_stored(a, k, axis, smallest, values, indices);
    ND_RETURN_IF(topk_start(a, k, axis, smallest, &s));
    const nd_dtype dtypes[2] = {a->dtype, ND_I64};
    for (int i = 0; i < 2; i++)
        ND_GOTO_IF(done,
                   nd__array_alloc("topk", s.of.device, dtypes[i], a->ndim, s.of.shape, &r[i]));
    const nd_array *const outs[2] = {r[0], r[1]};
    ND_GOTO_IF(done, run_kernel(&s, 2, outs));
    *values = nd_retain(r[0]);
    if (indices)
        *indices = nd_retain(r[1]);
done:
    nd_release(r[0]);
    nd_release(r[1]);
    return status;
}
