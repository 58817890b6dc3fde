/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Indexing by arrays: shapes, broadcasting and dtypes; validation of the indices themselves is the
 * kernel's. */
#include <stdlib.h>
#include "core/ops/ops.h"

/* Indices as i64. A u64 beyond i64 would come out negative and count from the end, so it is capped
 * first. */
static nd_status as_indices(const char *op, const nd_array *idx, int32_t argument, nd_array **out)
{
    *out = NULL;
    ND_RETURN_IF(nd__check_array(op, idx, argument));
    if (!(nd__kind(idx->dtype) & (ND_KIND_INT | ND_KIND_UINT)))
        return nd__fail(ND_ERR_DTYPE, op, argument, "indices are %s, not integers%s",
                        nd_dtype_name(idx->dtype),
                        idx->dtype == ND_BOOL ? "; select with nd_select" : "");
    if (idx->dtype != ND_U64)
        return nd__cast(idx, ND_I64, out);
    nd_array *capped = NULL;
    ND_RETURN_IF(nd_minimum_scalar(idx, nd_int(INT64_MAX), &capped));
    nd_status status = nd__cast(capped, ND_I64, out);
    nd_release(capped);
    return status;
}

/* Indices as the caller gave them, for errors: the operation called, and which argument they are.
 */
typedef struct {
    const char *op;
    const nd_array *array;
    int32_t argument;
} given_indices;

/* The first one out of range, at its position in the array that was given. */
static nd_status find_bad(const given_indices *g, int64_t extent, const int64_t *value)
{
    char text[ND_SHAPE_TEXT];
    for (int64_t i = 0; i < g->array->size; i++)
        if (value[i] < -extent || value[i] >= extent)
            return nd__fail(ND_ERR_INDEX, g->op, g->argument,
                            "index %lld at position %lld of %s is out of range for an axis of "
                            "extent %lld; allowed are %lld to %lld",
                            (long long)value[i], (long long)i,
                            nd__shape_text(g->array->ndim, g->array->shape, text, sizeof text),
                            (long long)extent, (long long)-extent, (long long)extent - 1);
    return ND_ERR_INDEX; /* the kernel's own message stands */
}

/* What a kernel says, which saw the indices stretched or merged, in terms of those that were given.
 */
static nd_status explain(nd_status status, const given_indices *g, int64_t extent)
{
    nd_array *idx = NULL;
    if (status != ND_ERR_INDEX)
        return status;
    size_t nbytes = (size_t)g->array->size * sizeof(int64_t);
    int64_t *value = malloc(nbytes);
    if (!value)
        return status; /* the kernel's own message stands */
    ND_GOTO_IF(done, as_indices(g->op, g->array, g->argument, &idx));
    ND_GOTO_IF(done, nd_to_host(idx, value, nbytes));
    status = find_bad(g, extent, value);
    const nd_device *device = g->array->storage->device;
    nd__error_context(g->op, device->name, device->slot->name);
done:
    nd_release(idx);
    free(value);
    return status;
}

typedef struct {
    int64_t outer_shape[ND_MAX_NDIM], inner_shape[ND_MAX_NDIM];
    int64_t outer[3][ND_MAX_NDIM], inner[3][ND_MAX_NDIM];
    int outer_rank, inner_rank;
    int64_t shape[3][ND_MAX_NDIM], stride[3][ND_MAX_NDIM];
} around_axis;

/* Merges the dimensions before and after the axis, jointly for the n arrays; each keeps its own
 * extent at the axis. The order stays, so that a kernel can say at which position in C order an
 * index is bad; it may exchange dimensions itself. */
static void merge_around_axis(int n, const nd_array *const *arrays, int axis, around_axis *m,
                              ndp_view *v)
{
    int ndim = arrays[0]->ndim, after = ndim - axis - 1;
    memcpy(m->outer_shape, arrays[0]->shape, (size_t)axis * sizeof(int64_t));
    memcpy(m->inner_shape, arrays[0]->shape + axis + 1, (size_t)after * sizeof(int64_t));
    for (int i = 0; i < n; i++) {
        memcpy(m->outer[i], arrays[i]->stride, (size_t)axis * sizeof(int64_t));
        memcpy(m->inner[i], arrays[i]->stride + axis + 1, (size_t)after * sizeof(int64_t));
    }
    m->outer_rank = nd__coalesce(axis, m->outer_shape, n, m->outer, true);
    m->inner_rank = nd__coalesce(after, m->inner_shape, n, m->inner, true);
    int at = m->outer_rank, rank = at + 1 + m->inner_rank;
    for (int i = 0; i < n; i++) {
        memcpy(m->shape[i], m->outer_shape, (size_t)at * sizeof(int64_t));
        memcpy(m->stride[i], m->outer[i], (size_t)at * sizeof(int64_t));
        m->shape[i][at] = arrays[i]->shape[axis];
        m->stride[i][at] = arrays[i]->stride[axis];
        memcpy(m->shape[i] + at + 1, m->inner_shape, (size_t)m->inner_rank * sizeof(int64_t));
        memcpy(m->stride[i] + at + 1, m->inner[i], (size_t)m->inner_rank * sizeof(int64_t));
        v[i] = nd__view(arrays[i]);
        v[i].ndim = rank;
        v[i].shape = m->shape[i];
        v[i].stride = m->stride[i];
        v[i].flags = nd__is_c_order(rank, m->shape[i], m->stride[i]) ? NDP_VIEW_CONTIGUOUS : 0;
    }
}

/* dst has a's rank here: the indices are flat. */
static nd_status take_run(const nd_array *a, const nd_array *flat, int axis, const nd_array *dst,
                          const nd_array *indices)
{
    const given_indices given = {"take", indices, 1};
    around_axis m;
    ndp_view v[3];
    const nd_array *const pair[2] = {dst, a};
    merge_around_axis(2, pair, axis, &m, v);
    ndp_view in[2] = {v[1], nd__view(flat)};
    ndp_index params = {.size = sizeof params, .axis = m.outer_rank};
    ndp_call call = {.size = sizeof call,
                     .op = ND_OP_take,
                     .n_in = 2,
                     .n_out = 1,
                     .in = in,
                     .out = v,
                     .params = &params};
    return explain(nd__run(a->storage->device, &call), &given, a->shape[axis]);
}

typedef struct {
    nd_array *idx, *flat;
    int axis, ndim;
    int64_t shape[ND_MAX_NDIM]; /* of the result */
    int64_t flat_shape[ND_MAX_NDIM];
} take_plan;

static void take_finish(take_plan *p)
{
    nd_release(p->idx);
    nd_release(p->flat);
}

static nd_status take_start(const nd_array *a, const nd_array *indices, int axis, take_plan *p)
{
    const int64_t flat[1] = {-1};
    int64_t size;
    memset(p, 0, sizeof *p);
    ND_RETURN_IF(nd__check_array("take", a, 0));
    ND_RETURN_IF(nd__axis("take", axis, a->ndim, &p->axis));
    ND_RETURN_IF(as_indices("take", indices, 1, &p->idx));
    ND_RETURN_IF(nd__check_same_device("take", a, p->idx, 0, 1));
    p->ndim = a->ndim - 1 + p->idx->ndim;
    if (p->ndim > ND_MAX_NDIM)
        return nd__fail(ND_ERR_SHAPE, "take", 1, "the result would have rank %d; the highest is %d",
                        p->ndim, ND_MAX_NDIM);
    memcpy(p->shape, a->shape, (size_t)p->axis * sizeof(int64_t));
    memcpy(p->shape + p->axis, p->idx->shape, (size_t)p->idx->ndim * sizeof(int64_t));
    memcpy(p->shape + p->axis + p->idx->ndim, a->shape + p->axis + 1,
           (size_t)(a->ndim - p->axis - 1) * sizeof(int64_t));
    memcpy(p->flat_shape, a->shape, (size_t)a->ndim * sizeof(int64_t));
    p->flat_shape[p->axis] = p->idx->size;
    ND_RETURN_IF(nd__check_shape("take", a->dtype, p->ndim, p->shape, &size));
    if (a->shape[p->axis] == 0 && p->idx->size > 0 && size > 0)
        return nd__fail(ND_ERR_INDEX, "take", 1, "%lld indices into axis %d, which is empty",
                        (long long)p->idx->size, p->axis);
    return p->idx->size ? nd_reshape_copy(p->idx, 1, flat, &p->flat) : ND_OK;
}

/* Into a dense array of the result's shape. */
static nd_status take_dense(const nd_array *a, const take_plan *p, const nd_array *r)
{
    nd_array *view = NULL;
    if (r->size == 0)
        return ND_OK;
    ND_RETURN_IF(nd_reshape(r, a->ndim, p->flat_shape, &view));
    nd_status status = take_run(a, p->flat, p->axis, view, p->idx);
    nd_release(view);
    return status;
}

nd_status nd_take(const nd_array *a, const nd_array *indices, int axis, nd_array **out)
{
    take_plan p;
    nd_array *r = NULL;
    nd_status status;
    ND_OUT("take", 3, out, NULL);
    ND_GOTO_IF(done, take_start(a, indices, axis, &p));
    ND_GOTO_IF(done, nd__array_alloc("take", a->storage->device, a->dtype, p.ndim, p.shape, &r));
    ND_GOTO_IF(done, take_dense(a, &p, r));
    *out = r;
    r = NULL;
done:
    nd_release(r);
    take_finish(&p);
    return status;
}

/* Common checks of a destination. */
static nd_status check_dst(const char *op, const nd_array *a, const nd_array *dst, nd_dtype dtype,
                           int ndim, const int64_t *shape, int32_t argument)
{
    ND_RETURN_IF(nd__check_writable(op, dst, argument));
    ND_RETURN_IF(nd__check_same_device(op, a, dst, 0, argument));
    ND_RETURN_IF(nd__check_dst_shape(op, dst, ndim, shape, argument));
    return nd__check_castable(op, dtype, dst->dtype);
}

nd_status nd_take_into(const nd_array *a, const nd_array *indices, int axis, const nd_array *dst)
{
    take_plan p;
    nd_array *r = NULL;
    nd_status status;
    ND_GOTO_IF(done, take_start(a, indices, axis, &p));
    ND_GOTO_IF(done, check_dst("take", a, dst, a->dtype, p.ndim, p.shape, 3));
    bool direct =
        dst->dtype == a->dtype && !nd__may_overlap(a, dst) && !nd__may_overlap(p.idx, dst);
    if (direct && (dst->flags & ND_FLAG_CONTIGUOUS)) {
        ND_GOTO_IF(done, take_dense(a, &p, dst));
    } else if (direct && p.idx->ndim == 1 && dst->size) {
        ND_GOTO_IF(done, take_run(a, p.flat, p.axis, dst, p.idx));
    } else {
        ND_GOTO_IF(done,
                   nd__array_alloc("take", a->storage->device, a->dtype, p.ndim, p.shape, &r));
        ND_GOTO_IF(done, take_dense(a, &p, r));
        ND_GOTO_IF(done, nd__copy_into(r, dst));
    }
done:
    nd_release(r);
    take_finish(&p);
    return status;
}

/* ---- gather ---- */

/* A view of `a` cut to the extents of shape, except along axis. */
static nd_status cut_to(const nd_array *a, const int64_t *shape, int axis, nd_array **view)
{
    int64_t cut[ND_MAX_NDIM];
    memcpy(cut, shape, (size_t)a->ndim * sizeof(int64_t));
    cut[axis] = a->shape[axis];
    return nd__array_new(a->storage, a->dtype, a->ndim, cut, a->stride, a->offset,
                         a->flags & ND_FLAG_READONLY, view);
}

static nd_status check_index_shape(const given_indices *g, const nd_array *a, const nd_array *idx,
                                   int axis)
{
    if (idx->ndim != a->ndim)
        return nd__fail(ND_ERR_SHAPE, g->op, g->argument, "the indices have rank %d, the array %d",
                        idx->ndim, a->ndim);
    for (int d = 0; d < a->ndim; d++)
        if (d != axis && idx->shape[d] > a->shape[d])
            return nd__fail(ND_ERR_SHAPE, g->op, g->argument,
                            "the indices have extent %lld along axis %d, the array only %lld",
                            (long long)idx->shape[d], d, (long long)a->shape[d]);
    if (a->shape[axis] == 0 && idx->size > 0)
        return nd__fail(ND_ERR_INDEX, g->op, g->argument,
                        "%lld indices into axis %d, which is empty", (long long)g->array->size,
                        axis);
    return ND_OK;
}

/* a is cut to the indices' extents; dst has their shape. */
static nd_status gather_run(const given_indices *g, const nd_array *a, const nd_array *idx,
                            int axis, const nd_array *dst)
{
    around_axis m;
    ndp_view v[3];
    const nd_array *const three[3] = {dst, a, idx};
    if (dst->size == 0)
        return ND_OK;
    merge_around_axis(3, three, axis, &m, v);
    ndp_index params = {.size = sizeof params, .axis = m.outer_rank};
    ndp_call call = {.size = sizeof call,
                     .op = ND_OP_gather,
                     .n_in = 2,
                     .n_out = 1,
                     .in = v + 1,
                     .out = v,
                     .params = &params};
    return explain(nd__run(a->storage->device, &call), g, a->shape[axis]);
}

/* dst NULL: a new array into *out. a and idx have the same extents but for the axis. */
static nd_status gather_finish(const given_indices *g, const nd_array *a, const nd_array *idx,
                               int axis, const nd_array *dst, nd_array **out)
{
    nd_array *r = NULL;
    nd_status status = ND_OK;
    if (dst)
        ND_RETURN_IF(check_dst(g->op, a, dst, a->dtype, idx->ndim, idx->shape, 3));
    if (dst && dst->dtype == a->dtype && !nd__may_overlap(a, dst) && !nd__may_overlap(idx, dst))
        return gather_run(g, a, idx, axis, dst);
    ND_RETURN_IF(nd__array_alloc(g->op, a->storage->device, a->dtype, idx->ndim, idx->shape, &r));
    ND_GOTO_IF(done, gather_run(g, a, idx, axis, r));
    if (dst) {
        ND_GOTO_IF(done, nd__copy_into(r, dst));
    } else {
        *out = r;
        r = NULL;
    }
done:
    nd_release(r);
    return status;
}

static nd_status gather(const nd_array *a, const nd_array *indices, int axis, const nd_array *dst,
                        nd_array **out)
{
    const given_indices given = {"gather", indices, 1};
    nd_array *idx = NULL, *cut = NULL;
    nd_status status;
    int at;
    ND_GOTO_IF(done, nd__check_array("gather", a, 0));
    ND_GOTO_IF(done, nd__axis("gather", axis, a->ndim, &at));
    ND_GOTO_IF(done, as_indices("gather", indices, 1, &idx));
    ND_GOTO_IF(done, nd__check_same_device("gather", a, idx, 0, 1));
    ND_GOTO_IF(done, check_index_shape(&given, a, idx, at));
    ND_GOTO_IF(done, cut_to(a, idx->shape, at, &cut));
    ND_GOTO_IF(done, gather_finish(&given, cut, idx, at, dst, out));
done:
    nd_release(idx);
    nd_release(cut);
    return status;
}

nd_status nd_gather(const nd_array *a, const nd_array *indices, int axis, nd_array **out)
{
    ND_OUT("gather", 3, out, NULL);
    return gather(a, indices, axis, NULL, out);
}

nd_status nd_gather_into(const nd_array *a, const nd_array *indices, int axis, const nd_array *dst)
{
    ND_RETURN_IF(nd__check_array("gather", dst, 3));
    return gather(a, indices, axis, dst, NULL);
}

/* Both stretched to their common shape, the axis left out of the broadcasting. */
static nd_status stretch_around(const nd_array *a, const nd_array *idx, int axis, nd_array **wide_a,
                                nd_array **wide_idx)
{
    int64_t sa[ND_MAX_NDIM], si[ND_MAX_NDIM], common[ND_MAX_NDIM];
    const int ndims[2] = {a->ndim, a->ndim};
    const int64_t *const shapes[2] = {sa, si};
    int ndim;
    if (idx->ndim != a->ndim)
        return nd__fail(ND_ERR_SHAPE, "take_along_axis", 1,
                        "the indices have rank %d, the array %d", idx->ndim, a->ndim);
    memcpy(sa, a->shape, (size_t)a->ndim * sizeof(int64_t));
    memcpy(si, idx->shape, (size_t)a->ndim * sizeof(int64_t));
    sa[axis] = si[axis] = 1;
    ND_RETURN_IF(nd__broadcast("take_along_axis", 2, ndims, shapes, &ndim, common));
    common[axis] = a->shape[axis];
    ND_RETURN_IF(nd_broadcast_to(a, ndim, common, wide_a));
    common[axis] = idx->shape[axis];
    return nd_broadcast_to(idx, ndim, common, wide_idx);
}

static nd_status take_along(const nd_array *a, const nd_array *indices, int axis,
                            const nd_array *dst, nd_array **out)
{
    const given_indices given = {"take_along_axis", indices, 1};
    nd_array *idx = NULL, *wide_a = NULL, *wide_idx = NULL;
    nd_status status;
    int at;
    ND_GOTO_IF(done, nd__check_array("take_along_axis", a, 0));
    ND_GOTO_IF(done, nd__axis("take_along_axis", axis, a->ndim, &at));
    ND_GOTO_IF(done, as_indices("take_along_axis", indices, 1, &idx));
    ND_GOTO_IF(done, nd__check_same_device("take_along_axis", a, idx, 0, 1));
    ND_GOTO_IF(done, stretch_around(a, idx, at, &wide_a, &wide_idx));
    ND_GOTO_IF(done, check_index_shape(&given, wide_a, wide_idx, at));
    ND_GOTO_IF(done, gather_finish(&given, wide_a, wide_idx, at, dst, out));
done:
    nd_release(idx);
    nd_release(wide_a);
    nd_release(wide_idx);
    return status;
}

nd_status nd_take_along_axis(const nd_array *a, const nd_array *indices, int axis, nd_array **out)
{
    ND_OUT("take_along_axis", 3, out, NULL);
    return take_along(a, indices, axis, NULL, out);
}

nd_status nd_take_along_axis_into(const nd_array *a, const nd_array *indices, int axis,
                                  const nd_array *dst)
{
    ND_RETURN_IF(nd__check_array("take_along_axis", dst, 3));
    return take_along(a, indices, axis, dst, NULL);
}

/* ---- scatter ---- */

static nd_status scatter_run(nd_op op, const given_indices *g, const nd_array *idx,
                             const nd_array *src, int axis, const nd_array *dst)
{
    around_axis m;
    ndp_view v[3];
    const nd_array *const three[3] = {dst, idx, src};
    if (idx->size == 0)
        return ND_OK;
    merge_around_axis(3, three, axis, &m, v);
    ndp_index params = {.size = sizeof params, .axis = m.outer_rank};
    ndp_call call = {.size = sizeof call,
                     .op = op,
                     .n_in = 2,
                     .n_out = 1,
                     .in = v + 1,
                     .out = v,
                     .params = &params};
    return explain(nd__run(dst->storage->device, &call), g, dst->shape[axis]);
}

/* src in dst's dtype, of the indices' shape, sharing nothing with dst. */
static nd_status scatter_source(const char *op, const nd_array *src, const nd_array *idx,
                                const nd_array *dst, nd_array **out)
{
    nd_array *cast = NULL, *own = NULL;
    nd_status status;
    ND_GOTO_IF(done, nd__check_array(op, src, 1));
    ND_GOTO_IF(done, nd__check_same_device(op, dst, src, 3, 1));
    ND_GOTO_IF(done, nd__check_castable(op, src->dtype, dst->dtype));
    ND_GOTO_IF(done, nd__cast(src, dst->dtype, &cast));
    if (nd__may_overlap(cast, dst))
        ND_GOTO_IF(done, nd_copy(cast, NULL, &own));
    ND_GOTO_IF(done, nd_broadcast_to(own ? own : cast, idx->ndim, idx->shape, out));
done:
    nd_release(cast);
    nd_release(own);
    return status;
}

static const nd_op scatter_ops[] = {ND_OP_scatter, ND_OP_scatter_add, ND_OP_scatter_min,
                                    ND_OP_scatter_max};

/* indices: those given, perhaps stretched. dst is argument dst_argument. */
static nd_status scatter(const given_indices *g, const nd_array *indices, const nd_array *src,
                         int axis, int mode, const nd_array *dst, int32_t dst_argument)
{
    nd_array *idx = NULL, *own = NULL, *wide = NULL, *cut = NULL;
    nd_dtype compute;
    nd_status status;
    int at;
    ND_GOTO_IF(done, nd__check_writable(g->op, dst, dst_argument));
    ND_GOTO_IF(done, nd__axis(g->op, axis, dst->ndim, &at));
    ND_GOTO_IF(done, nd__op_domain(nd_op_get(scatter_ops[mode]), dst->dtype, &compute));
    ND_GOTO_IF(done, as_indices(g->op, indices, g->argument, &idx));
    ND_GOTO_IF(done, nd__check_same_device(g->op, dst, idx, dst_argument, g->argument));
    ND_GOTO_IF(done, check_index_shape(g, dst, idx, at));
    if (nd__may_overlap(idx, dst)) { /* writing must not change indices that were checked */
        ND_GOTO_IF(done, nd_copy(idx, NULL, &own));
        nd_release(idx);
        idx = own;
    }
    ND_GOTO_IF(done, scatter_source(g->op, src, idx, dst, &wide));
    ND_GOTO_IF(done, cut_to(dst, idx->shape, at, &cut));
    ND_GOTO_IF(done, scatter_run(scatter_ops[mode], g, idx, wide, at, cut));
done:
    nd_release(idx);
    nd_release(wide);
    nd_release(cut);
    return status;
}

nd_status nd_scatter_into(const nd_array *indices, const nd_array *src, int axis, int mode,
                          const nd_array *dst)
{
    ND_RETURN_IF(nd__check_array("scatter", indices, 0));
    ND_RETURN_IF(nd__check_array("scatter", src, 1));
    if (mode < ND_SCATTER_SET || mode > ND_SCATTER_MAX)
        return nd__fail(ND_ERR_ARGUMENT, "scatter", 3,
                        "%d is not a mode; ND_SCATTER_SET to _MAX are 0 to 3", mode);
    const given_indices given = {nd_op_get(scatter_ops[mode])->name, indices, 0};
    return scatter(&given, indices, src, axis, mode, dst, 4);
}

nd_status nd_scatter(const nd_array *a, const nd_array *indices, const nd_array *src, int axis,
                     int mode, nd_array **out)
{
    nd_array *r = NULL;
    ND_OUT("scatter", 5, out, NULL);
    ND_RETURN_IF(nd__check_array("scatter", a, 0));
    ND_RETURN_IF(nd__check_array("scatter", indices, 1));
    ND_RETURN_IF(nd__check_array("scatter", src, 2));
    ND_RETURN_IF(nd__error_as("scatter", nd_copy(a, NULL, &r)));
    nd_status status = nd_scatter_into(indices, src, axis, mode, r);
    return nd__hand_over(status, r, out);
}

nd_status nd_index_add_into(const nd_array *indices, const nd_array *src, int axis,
                            const nd_array *dst)
{
    const given_indices given = {"index_add", indices, 0};
    nd_array *idx = NULL, *wide = NULL, *column = NULL;
    int64_t shape[ND_MAX_NDIM], column_shape[ND_MAX_NDIM];
    nd_status status;
    int at;
    ND_RETURN_IF(nd__check_array("index_add", dst, 3));
    ND_RETURN_IF(nd__check_array("index_add", indices, 0));
    ND_RETURN_IF(nd__check_array("index_add", src, 1));
    ND_RETURN_IF(nd__axis("index_add", axis, dst->ndim, &at));
    if (indices->ndim != 1)
        return nd__fail(ND_ERR_SHAPE, "index_add", 0, "the indices have rank %d, not 1",
                        indices->ndim);
    for (int d = 0; d < dst->ndim; d++) {
        shape[d] = d == at ? indices->shape[0] : dst->shape[d];
        column_shape[d] = d == at ? indices->shape[0] : 1;
    }
    ND_GOTO_IF(done, as_indices("index_add", indices, 0, &idx)); /* before they are stretched */
    ND_GOTO_IF(done, nd_reshape_copy(idx, dst->ndim, column_shape, &column));
    ND_GOTO_IF(done, nd_broadcast_to(column, dst->ndim, shape, &wide));
    ND_GOTO_IF(done, scatter(&given, wide, src, at, ND_SCATTER_ADD, dst, 3));
done:
    nd_release(idx);
    nd_release(wide);
    nd_release(column);
    return status;
}

nd_status nd_index_add(const nd_array *a, const nd_array *indices, const nd_array *src, int axis,
                       nd_array **out)
{
    nd_array *r = NULL;
    ND_OUT("index_add", 4, out, NULL);
    ND_RETURN_IF(nd__check_array("index_add", a, 0));
    ND_RETURN_IF(nd__check_array("index_add", indices, 1));
    ND_RETURN_IF(nd__check_array("index_add", src, 2));
    ND_RETURN_IF(nd__error_as("index_add", nd_copy(a, NULL, &r)));
    nd_status status = nd_index_add_into(indices, src, axis, r);
    return nd__hand_over(status, r, out);
}
