/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Take: whole slices of an array along one axis, by indices of any shape. */
#include "core/ops/index.h"

typedef struct {
    nd_operation of;         /* operands: the array, the indices as i64 */
    const nd_array *indices; /* those given */
    nd_array *flat;          /* the indices in one dimension, owned; NULL: there are none */
    int axis;
    int64_t slices[ND_MAX_NDIM]; /* the result's shape with the indices in one dimension */
} taking;

/* dst has a's rank here: the indices are flat. */
static nd_status run_kernel(const taking *t, const nd_array *dst)
{
    const nd_array *a = t->of.in[0];
    const nd_given_indices given = {"take", t->indices, 1};
    nd_around_axis m;
    ndp_view v[3];
    const nd_array *const pair[2] = {dst, a};
    nd__merge_around_axis(2, pair, t->axis, &m, v);
    ndp_view in[2] = {v[1], nd__view(t->flat)};
    ndp_index params = {.size = sizeof params, .axis = m.outer_rank};
    ndp_call call = {.size = sizeof call,
                     .op = ND_OP_take,
                     .n_in = 2,
                     .n_out = 1,
                     .in = in,
                     .out = v,
                     .params = &params};
    return nd__explain_index(nd__run(a->storage->device, &call), &given, a->shape[t->axis]);
}

/* dst is dense, or has a's rank. */
static nd_status run(const nd_operation *of, const nd_array *dst)
{
    const taking *t = (const taking *)of;
    nd_array *slices = NULL;
    if (dst->size == 0)
        return ND_OK;
    if (of->in[1]->ndim == 1)
        return run_kernel(t, dst);
    ND_RETURN_IF(nd_reshape(dst, of->in[0]->ndim, t->slices, &slices));
    nd_status status = run_kernel(t, slices);
    nd_release(slices);
    return status;
}

static nd_status find_shape(taking *t)
{
    const nd_array *a = t->of.in[0], *idx = t->of.in[1];
    const int axis = t->axis, after = a->ndim - axis - 1;
    int64_t *shape = t->of.shape, size;
    t->of.ndim = a->ndim - 1 + idx->ndim;
    if (t->of.ndim > ND_MAX_NDIM)
        return nd__fail(ND_ERR_SHAPE, "take", 1, "the result would have rank %d; the highest is %d",
                        t->of.ndim, ND_MAX_NDIM);
    memcpy(shape, a->shape, (size_t)axis * sizeof *shape);
    memcpy(shape + axis, idx->shape, (size_t)idx->ndim * sizeof *shape);
    memcpy(shape + axis + idx->ndim, a->shape + axis + 1, (size_t)after * sizeof *shape);
    memcpy(t->slices, a->shape, (size_t)a->ndim * sizeof *shape);
    t->slices[axis] = idx->size;
    ND_RETURN_IF(nd__check_shape("take", a->dtype, t->of.ndim, shape, &size));
    if (a->shape[axis] == 0 && idx->size > 0 && size > 0)
        return nd__fail(ND_ERR_INDEX, "take", 1, "%lld indices into axis %d, which is empty",
                        (long long)idx->size, axis);
    return ND_OK;
}

static nd_status start(const nd_array *a, const nd_array *indices, int axis, taking *t)
{
    const int64_t flat[1] = {-1};
    nd_array *idx = NULL;
    nd__operation_begin(&t->of, ND_OP_take, run);
    t->flat = NULL;
    t->indices = indices;
    ND_RETURN_IF(nd__operand(&t->of, 0, a));
    ND_RETURN_IF(nd__axis("take", axis, a->ndim, &t->axis));
    ND_RETURN_IF(nd__as_indices("take", indices, 1, &idx));
    nd__operand_take(&t->of, 1, idx);
    t->of.dense = idx->ndim != 1;
    ND_RETURN_IF(nd__check_same_device("take", a, idx, 0, 1));
    t->of.compute = t->of.result = a->dtype;
    ND_RETURN_IF(find_shape(t));
    return idx->size ? nd_reshape_copy(idx, 1, flat, &t->flat) : (nd_status)ND_OK;
}

nd_status nd_take(const nd_array *a, const nd_array *indices, int axis, nd_array **out)
{
    taking t;
    ND_OUT("take", 3, out, NULL);
    nd_status status = nd__into_new(&t.of, start(a, indices, axis, &t), out);
    nd_release(t.flat);
    return status;
}

nd_status nd_take_into(const nd_array *a, const nd_array *indices, int axis, const nd_array *dst)
{
    taking t;
    nd_status status = nd__into(&t.of, start(a, indices, axis, &t), dst, 3);
    nd_release(t.flat);
    return status;
}
