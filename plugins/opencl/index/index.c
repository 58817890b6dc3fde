/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * take, gather, scatter and searchsorted. */
#include <string.h>
#include "host/opencl.h"

typedef struct { /* struct indexing of index.cl */
    ocl_walk walk;
    cl_long out, table, index, status;
    cl_long extent, axis_stride, line, out_line, source_line, index_line, position_line;
    cl_ulong scalar[2];
    cl_uint op, has_status, is_scalar, right;
} parameters;

static uint64_t dtypes(const ndp_dev *dev, int32_t op)
{
    return ocl_domain(dev, op);
}

static const ndp_view *status_of(parameters *p, const ndp_call *call)
{
    p->op = (cl_uint)call->op;
    p->has_status = call->status.mem != NULL;
    p->status = p->has_status ? call->status.offset_bytes : 0;
    return p->has_status ? &call->status : &call->out[0];
}

/* Above that rank find() is not told the rank, and a walk might take more than a kernel has. */
static int32_t get(ndp_dev *dev, const ndp_call *like, ocl_recipe recipe, const ndp_kernel **out,
                   char *why, size_t n)
{
    recipe.choice = like->in[0].ndim > 6 || like->out[0].ndim > 6;
    recipe.needs = recipe.choice ? NDP_NEEDS_CONTIGUOUS : 0;
    return ocl_kernel_get(dev, like, &recipe, out, why, n);
}

/* Strides of positions in C order of the indices given: dimensions that repeat them do not count.
 */
static void set_positions(const ndp_view *index, int64_t *stride)
{
    int64_t n = 1;
    for (int d = index->ndim - 1; d >= 0; d--) {
        stride[d] = index->stride[d] ? n : 0;
        n *= index->stride[d] ? index->shape[d] : 1;
    }
}

/* ---- take and gather ---- */

static int32_t run_gather(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const ndp_view *table = &call->in[0], *index = &call->in[1], *out = &call->out[0];
    int axis = ((const ndp_index *)call->params)->axis, take = call->op == NDP_OP_take;
    int64_t positions[NDP_MAX_NDIM] = {0};
    ocl_dims w = {.n = 4, .ndim = out->ndim};
    parameters p = {.out = out->offset_bytes,
                    .table = table->offset_bytes,
                    .index = index->offset_bytes,
                    .extent = table->shape[axis],
                    .axis_stride = table->stride[axis]};
    if (ndp_view_size(out) == 0)
        return NDP_OK;
    set_positions(index, positions);
    for (int d = 0; d < w.ndim; d++) {
        w.shape[d] = out->shape[d];
        w.stride[0][d] = out->stride[d];
        w.stride[1][d] = d == axis ? 0 : table->stride[d];
        w.stride[2][d] = !take ? index->stride[d] : d == axis ? index->stride[0] : 0;
        w.stride[3][d] = !take ? positions[d] : d == axis;
    }
    ocl_dims_merge(&w);
    ocl_walk_set(&p.walk, &w);
    const ndp_view *status = status_of(&p, call);
    const ocl_arg args[] = {
        OCL_BUFFER(out), OCL_BUFFER(table), OCL_BUFFER(index), OCL_BUFFER(status), {sizeof p, &p}};
    return ocl_launch_flat((const ocl_kernel *)base, 0, s, p.walk.n, args, 5);
}

static void write_gather(ocl_text *t, const ndp_call *like)
{
    static const char *const elements[] = {
        [1] = "uchar", [2] = "ushort", [4] = "uint", [8] = "ulong", [16] = "ulong2"};
    ocl_text_define(t, "ELEMENT", "%s", elements[ndp_dtype_size(like->out[0].dtype)]);
    ocl_text_define(t, "GATHERS", "1");
    ocl_text_define(t, "SCATTERS", "0");
    ocl_text_define(t, "SEARCHES", "0");
    ocl_text_add(t, ocl_text_index);
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    static const ocl_recipe recipe = {
        .run = run_gather, .function = {"gather"}, .write_text = write_gather};
    if (!like->in[0].mem || !like->in[1].mem || like->in[1].dtype != NDP_I64 ||
        like->in[0].dtype != like->out[0].dtype)
        return ocl_unsupported(like, why, n);
    return get(dev, like, recipe, out, why, n);
}

const ocl_class ocl_index = {.dtypes = dtypes, .find = find};

/* ---- scatter ---- */

static int32_t run_scatter(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const ndp_view *index = &call->in[0], *source = &call->in[1], *out = &call->out[0];
    int axis = ((const ndp_index *)call->params)->axis;
    int64_t positions[NDP_MAX_NDIM] = {0};
    ocl_dims w = {.n = 4};
    parameters p = {.out = out->offset_bytes,
                    .index = index->offset_bytes,
                    .extent = out->shape[axis],
                    .line = index->shape[axis],
                    .out_line = out->stride[axis],
                    .index_line = index->stride[axis]};
    if (ndp_view_size(index) == 0)
        return NDP_OK;
    if (source->mem) {
        p.table = source->offset_bytes;
        p.source_line = source->stride[axis];
    } else {
        ocl_scalar_bits(&call->scalar[source->offset_bytes], p.scalar);
        p.is_scalar = 1;
    }
    set_positions(index, positions);
    p.position_line = positions[axis];
    for (int d = 0; d < index->ndim; d++) {
        if (d == axis)
            continue;
        w.shape[w.ndim] = index->shape[d];
        w.stride[0][w.ndim] = out->stride[d];
        w.stride[1][w.ndim] = source->mem ? source->stride[d] : 0;
        w.stride[2][w.ndim] = index->stride[d];
        w.stride[3][w.ndim++] = positions[d];
    }
    ocl_dims_merge(&w);
    ocl_walk_set(&p.walk, &w);
    const ndp_view *status = status_of(&p, call), *from = source->mem ? source : out;
    const ocl_arg args[] = {
        OCL_BUFFER(out), OCL_BUFFER(from), OCL_BUFFER(index), OCL_BUFFER(status), {sizeof p, &p}};
    return ocl_launch_flat((const ocl_kernel *)base, 0, s, p.walk.n, args, 5);
}

static void write_scatter(ocl_text *t, const ndp_call *like)
{
    const char *op = like->op == NDP_OP_scatter_add   ? "nd_add"
                     : like->op == NDP_OP_scatter_min ? "nd_minimum"
                     : like->op == NDP_OP_scatter_max ? "nd_maximum"
                                                      : NULL;
    ocl_text_define(t, "GATHERS", "0");
    ocl_text_define(t, "SCATTERS", "1");
    ocl_text_define(t, "SEARCHES", "0");
    if (op) {
        ocl_text_define(t, "OP", "%s", op);
        ocl_text_formulas(t, like->out[0].dtype);
    } else {
        ocl_text_dtype(t, "T", like->out[0].dtype);
    }
    ocl_text_add(t, ocl_text_index);
}

static int32_t find_scatter(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                            size_t n)
{
    static const ocl_recipe recipe = {
        .run = run_scatter, .function = {"scatter"}, .write_text = write_scatter};
    if (!like->in[0].mem || like->in[0].dtype != NDP_I64 || like->in[1].dtype != like->out[0].dtype)
        return ocl_unsupported(like, why, n);
    return get(dev, like, recipe, out, why, n);
}

const ocl_class ocl_scatter = {.dtypes = dtypes, .find = find_scatter};

/* ---- searchsorted ---- */

static int32_t run_search(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const ndp_view *sorted = &call->in[0], *values = &call->in[1], *out = &call->out[0];
    ocl_dims w = {.n = 3, .ndim = out->ndim};
    parameters p = {.out = out->offset_bytes,
                    .table = sorted->offset_bytes,
                    .extent = sorted->shape[0],
                    .axis_stride = sorted->stride[0],
                    .right = ((const ndp_search *)call->params)->right != 0};
    if (ndp_view_size(out) == 0)
        return NDP_OK;
    if (values->mem) {
        p.index = values->offset_bytes;
    } else {
        ocl_scalar_bits(&call->scalar[values->offset_bytes], p.scalar);
        p.is_scalar = 1;
    }
    for (int d = 0; d < w.ndim; d++) {
        w.shape[d] = out->shape[d];
        w.stride[0][d] = out->stride[d];
        w.stride[2][d] = values->mem ? values->stride[d] : 0;
    }
    ocl_dims_merge(&w);
    ocl_walk_set(&p.walk, &w);
    const ndp_view *of = values->mem ? values : sorted;
    const ocl_arg args[] = {OCL_BUFFER(out), OCL_BUFFER(sorted), OCL_BUFFER(of), {sizeof p, &p}};
    return ocl_launch_flat((const ocl_kernel *)base, 0, s, p.walk.n, args, 4);
}

static void write_search(ocl_text *t, const ndp_call *like)
{
    ocl_text_define(t, "GATHERS", "0");
    ocl_text_define(t, "SCATTERS", "0");
    ocl_text_define(t, "SEARCHES", "1");
    ocl_text_dtype(t, "T", like->in[0].dtype);
    ocl_text_add(t, ocl_text_index);
}

static int32_t find_search(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                           size_t n)
{
    static const ocl_recipe recipe = {
        .run = run_search, .function = {"search"}, .write_text = write_search};
    if (!like->in[0].mem || like->in[0].dtype != like->in[1].dtype || like->out[0].dtype != NDP_I64)
        return ocl_unsupported(like, why, n);
    return get(dev, like, recipe, out, why, n);
}

const ocl_class ocl_search = {.dtypes = dtypes, .find = find_search};
