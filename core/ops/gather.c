/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gather and take_along_axis: elements along one axis, by an index for each element of the
 * result. */
#include "core/ops/index.h"

typedef struct {
    nd_operation of; /* operands: the array cut to the indices' extents, the indices as i64 */
    nd_given_indices given;
    int axis;
} gathering;

static nd_status run(const nd_operation *of, const nd_array *dst)
{
    const gathering *g = (const gathering *)of;
    const nd_array *a = of->in[0];
    nd_around_axis m;
    ndp_view v[3];
    const nd_array *const three[3] = {dst, a, of->in[1]};
    if (dst->size == 0)
        return ND_OK;
    nd__merge_around_axis(3, three, g->axis, &m, v);
    ndp_index params = {.size = sizeof params, .axis = m.outer_rank};
    ndp_call call = {.size = sizeof call,
                     .op = ND_OP_gather,
                     .n_in = 2,
                     .n_out = 1,
                     .in = v + 1,
                     .out = v,
                     .params = &params};
    return nd__explain_index(nd__run(a->storage->device, &call), &g->given, a->shape[g->axis]);
}

static nd_status begin(const char *name, const nd_array *a, const nd_array *indices, int axis,
                       gathering *g)
{
    nd_array *idx = NULL;
    nd__operation_begin(&g->of, ND_OP_gather, run);
    g->of.name = name;
    g->given = (nd_given_indices){name, indices, 1};
    ND_RETURN_IF(nd__operand(&g->of, 0, a));
    ND_RETURN_IF(nd__axis(name, axis, a->ndim, &g->axis));
    ND_RETURN_IF(nd__as_indices(name, indices, 1, &idx));
    nd__operand_take(&g->of, 1, idx);
    g->of.compute = g->of.result = a->dtype;
    return nd__check_same_device(name, a, idx, 0, 1);
}

/* a and idx, owned where they are not the operands already, have one rank. */
static nd_status fit(gathering *g)
{
    const nd_array *a = g->of.in[0], *idx = g->of.in[1];
    nd_array *cut = NULL;
    ND_RETURN_IF(nd__check_index_shape(&g->given, a, idx, g->axis));
    ND_RETURN_IF(nd__cut_to(a, idx->shape, g->axis, &cut));
    nd__operand_take(&g->of, 0, cut);
    nd__result_shape(&g->of, idx->ndim, idx->shape);
    return ND_OK;
}

static nd_status start(const nd_array *a, const nd_array *indices, int axis, gathering *g)
{
    ND_RETURN_IF(begin("gather", a, indices, axis, g));
    return fit(g);
}

nd_status nd_gather(const nd_array *a, const nd_array *indices, int axis, nd_array **out)
{
    gathering g;
    ND_OUT("gather", 3, out, NULL);
    return nd__into_new(&g.of, start(a, indices, axis, &g), out);
}

nd_status nd_gather_into(const nd_array *a, const nd_array *indices, int axis, const nd_array *dst)
{
    gathering g;
    return nd__into(&g.of, start(a, indices, axis, &g), dst, 3);
}

/* ---- take_along_axis: gather after broadcasting ---- */
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

static nd_status start_along(const nd_array *a, const nd_array *indices, int axis, gathering *g)
{
    nd_array *wide_a = NULL, *wide_idx = NULL;
    ND_RETURN_IF(begin("take_along_axis", a, indices, axis, g));
    nd_status status = stretch_around(a, g->of.in[1], g->axis, &wide_a, &wide_idx);
    nd__operand_take(&g->of, 0, wide_a);
    nd__operand_take(&g->of, 1, wide_idx);
    return status == ND_OK ? fit(g) : status;
}

nd_status nd_take_along_axis(const nd_array *a, const nd_array *indices, int axis, nd_array **out)
{
    gathering g;
    ND_OUT("take_along_axis", 3, out, NULL);
    return nd__into_new(&g.of, start_along(a, indices, axis, &g), out);
}

nd_status nd_take_along_axis_into(const nd_array *a, const nd_array *indices, int axis,
                                  const nd_array *dst)
{
    gathering g;
    return nd__into(&g.of, start_along(a, indices, axis, &g), dst, 3);
}
