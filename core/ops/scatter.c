/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Scatter and index_add: elements written along one axis, by an index for each of them. */
#include "core/ops/index.h"

static nd_status scatter_run(nd_op op, const nd_given_indices *g, const nd_array *idx,
                             const nd_array *src, int axis, const nd_array *dst)
{
    nd_around_axis m;
    ndp_view v[3];
    const nd_array *const three[3] = {dst, idx, src};
    if (idx->size == 0)
        return ND_OK;
    nd__merge_around_axis(3, three, axis, &m, v);
    ndp_index params = {.size = sizeof params, .axis = m.outer_rank};
    ndp_call call = {.size = sizeof call,
                     .op = op,
                     .n_in = 2,
                     .n_out = 1,
                     .in = v + 1,
                     .out = v,
                     .params = &params};
    return nd__explain_index(nd__run(dst->storage->device, &call), g, dst->shape[axis]);
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

static nd_status scatter(const nd_given_indices *g, const nd_array *indices, const nd_array *src,
                         int axis, int mode, const nd_array *dst, int32_t dst_argument);

/* Into a dst of a dtype that nothing is computed in: by way of f32. */
static nd_status scatter_stored(const nd_given_indices *g, const nd_array *indices,
                                const nd_array *src, int axis, int mode, const nd_array *dst,
                                int32_t dst_argument)
{
    nd_array *computed = NULL;
    ND_RETURN_IF(nd__check_array(g->op, src, 1));
    ND_RETURN_IF(nd__check_castable(g->op, src->dtype, dst->dtype));
    ND_RETURN_IF(nd__cast(dst, ND_F32, &computed));
    nd_status status = scatter(g, indices, src, axis, mode, computed, dst_argument);
    if (status == ND_OK)
        status = nd__copy_into(computed, dst);
    nd_release(computed);
    return status;
}

/* indices: those given, perhaps stretched. dst is argument dst_argument. */
static nd_status scatter(const nd_given_indices *g, const nd_array *indices, const nd_array *src,
                         int axis, int mode, const nd_array *dst, int32_t dst_argument)
{
    nd_array *idx = NULL, *own = NULL, *wide = NULL, *cut = NULL;
    nd_dtype compute;
    nd_status status;
    int at;
    ND_GOTO_IF(done, nd__check_writable(g->op, dst, dst_argument));
    if (mode != ND_SCATTER_SET && nd__kind(dst->dtype) & ND__KINDS_STORED)
        return scatter_stored(g, indices, src, axis, mode, dst, dst_argument);
    ND_GOTO_IF(done, nd__axis(g->op, axis, dst->ndim, &at));
    ND_GOTO_IF(done, nd__op_domain(nd_op_get(scatter_ops[mode]), dst->dtype, &compute));
    ND_GOTO_IF(done, nd__as_indices(g->op, indices, g->argument, &idx));
    ND_GOTO_IF(done, nd__check_same_device(g->op, dst, idx, dst_argument, g->argument));
    ND_GOTO_IF(done, nd__check_index_shape(g, dst, idx, at));
    if (nd__may_overlap(idx, dst)) { /* writing must not change indices that were checked */
        ND_GOTO_IF(done, nd_copy(idx, NULL, &own));
        nd_release(idx);
        idx = own;
    }
    ND_GOTO_IF(done, scatter_source(g->op, src, idx, dst, &wide));
    ND_GOTO_IF(done, nd__cut_to(dst, idx->shape, at, &cut));
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
    const nd_given_indices given = {nd_op_get(scatter_ops[mode])->name, indices, 0};
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
    const nd_given_indices given = {"index_add", indices, 0};
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
    ND_GOTO_IF(done, nd__as_indices("index_add", indices, 0, &idx)); /* before they are stretched */
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
