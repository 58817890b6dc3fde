/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Reductions: what the kernels are made of, and how the work is cut. */
#include <string.h>
#include "host/opencl.h"

enum { ROWS, GROUPS, JOIN };
enum { SUM, PROD, EXTREME, POSITION, COUNT, VAR, LOGSUMEXP };
enum {
    SHORT_ROW = 64,      /* items that one work-item takes alone */
    CHUNK = 4096,        /* items that are worth a group of their own */
    MOST_CHUNKS = 256,   /* of a row */
    STATE_BYTES = 64,    /* no state is larger */
    ENOUGH_GROUPS = 1024 /* results that keep a device busy without chunks */
};

typedef struct { /* struct reduction of reduce.cl */
    ocl_walk outer, inner;
    cl_long in, out, states;
    cl_ulong items, chunk, correction_f64;
    cl_uint chunks;
    cl_float correction;
} parameters;

static int kind_of(int32_t op)
{
    switch (op) {
    case NDP_OP_prod:
    case NDP_OP_cumulative_prod:
        return PROD;
    case NDP_OP_min:
    case NDP_OP_max:
        return EXTREME;
    case NDP_OP_argmin:
    case NDP_OP_argmax:
        return POSITION;
    case NDP_OP_any:
    case NDP_OP_all:
    case NDP_OP_count_nonzero:
        return COUNT;
    case NDP_OP_var:
    case NDP_OP_std:
        return VAR;
    case NDP_OP_logsumexp:
        return LOGSUMEXP;
    default:
        return SUM;
    }
}

/* Kept dimensions with strides of in and out, reduced ones with those of in. */
static void split(const ndp_call *call, ocl_dims *outer, ocl_dims *inner)
{
    const ndp_view *in = &call->in[0], *out = &call->out[0];
    int n_reduced = ((const ndp_reduce *)call->params)->n_reduced, kept = in->ndim - n_reduced;
    outer->n = 2;
    inner->n = 1;
    outer->ndim = kept;
    inner->ndim = n_reduced;
    for (int d = 0; d < kept; d++) {
        outer->shape[d] = in->shape[d];
        outer->stride[0][d] = in->stride[d];
        outer->stride[1][d] = out->stride[d];
    }
    for (int d = 0; d < n_reduced; d++) {
        inner->shape[d] = in->shape[kept + d];
        inner->stride[0][d] = in->stride[kept + d];
    }
    ocl_dims_merge(outer);
    ocl_dims_merge(inner);
}

/* Depends on extents alone, as the scratch that is asked for must be that of the run. */
static void plan(parameters *p, const ndp_call *call)
{
    ocl_dims outer = {.n = 2}, inner = {.n = 1};
    memset(p, 0, sizeof *p);
    split(call, &outer, &inner);
    ocl_walk_set(&p->outer, &outer);
    ocl_walk_set(&p->inner, &inner);
    p->items = p->inner.n;
    p->chunks = 1;
    if (p->items > SHORT_ROW && p->outer.n < ENOUGH_GROUPS && p->items >= 2 * (uint64_t)CHUNK)
        p->chunks = (cl_uint)(p->items / CHUNK < MOST_CHUNKS ? p->items / CHUNK : MOST_CHUNKS);
    p->chunk = (p->items + p->chunks - 1) / p->chunks;
}

static uint64_t scratch(const ndp_kernel *base, const ndp_call *call)
{
    parameters p;
    (void)base;
    if (ndp_view_size(&call->out[0]) == 0)
        return 0;
    plan(&p, call);
    return p.chunks > 1 ? p.chunks * p.outer.n * STATE_BYTES : 0;
}

/* Neighbouring results lie nearer than neighbouring items, and there are enough of them. */
static int across(const parameters *p)
{
    if (p->items <= SHORT_ROW)
        return 1;
    if (p->outer.n < OCL_GROUP || p->outer.ndim == 0 || p->inner.ndim == 0)
        return 0;
    cl_long beside = p->outer.stride[0][p->outer.ndim - 1];
    cl_long along = p->inner.stride[0][p->inner.ndim - 1];
    return (beside < 0 ? -beside : beside) < (along < 0 ? -along : along);
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const ocl_kernel *k = (const ocl_kernel *)base;
    const ndp_view *in = &call->in[0], *out = &call->out[0];
    const ndp_view *states = call->scratch.mem ? &call->scratch : out;
    const ndp_reduce *given = call->params;
    parameters p;
    if (ndp_view_size(out) == 0)
        return NDP_OK;
    plan(&p, call);
    p.in = in->offset_bytes;
    p.out = out->offset_bytes;
    p.states = call->scratch.offset_bytes;
    p.correction = (float)given->correction;
    memcpy(&p.correction_f64, &given->correction, sizeof p.correction_f64);
    const ocl_arg args[] = {OCL_BUFFER(in), OCL_BUFFER(out), OCL_BUFFER(states), {sizeof p, &p}};
    if (p.chunks == 1 && across(&p))
        return ocl_launch_flat(k, ROWS, s, p.outer.n, args, 4);
    int32_t status = ocl_launch_flat(k, GROUPS, s, p.outer.n * p.chunks * OCL_GROUP, args, 4);
    return status == NDP_OK && p.chunks > 1 ? ocl_launch_flat(k, JOIN, s, p.outer.n, args, 4)
                                            : status;
}

static void write_text(ocl_text *t, const ndp_call *like)
{
    int32_t op = like->op, dtype = like->in[0].dtype;
    ocl_text_dtype(t, "R", like->out->dtype);
    ocl_text_define(t, "KIND", "%d", kind_of(op));
    ocl_text_define(t, "SCANS", "%d", ocl_op_class(op) == NDP_CLASS_SCAN);
    ocl_text_define(t, "MEAN", "%d", op == NDP_OP_mean);
    ocl_text_define(t, "ROOT", "%d", op == NDP_OP_std);
    ocl_text_define(t, "BETTER(a, b)", "(a) %c (b)", op == NDP_OP_argmin ? '<' : '>');
    ocl_text_define(t, "COUNTED(k, n)", "%s",
                    op == NDP_OP_any   ? "(k) > 0"
                    : op == NDP_OP_all ? "(k) == (n)"
                                       : "(k)");
    if (kind_of(op) == EXTREME) {
        ocl_text_define(t, "OP", "nd_%s", op == NDP_OP_min ? "minimum" : "maximum");
        ocl_text_formulas(t, dtype);
    } else {
        ocl_text_dtype(t, "T", dtype);
    }
    ocl_text_add(t, ocl_text_total);
    ocl_text_add(t, ocl_text_reduce);
}

static uint64_t dtypes(const ndp_dev *dev, int32_t op)
{
    return ocl_domain(dev, op);
}

static int fits(const ndp_dev *dev, const ndp_call *like)
{
    int32_t in = like->in[0].dtype, out = like->out[0].dtype;
    int whole = ndp_dtype_kind(in) & (NDP_KIND_BOOL | NDP_KIND_INT | NDP_KIND_UINT);
    if (!(dtypes(dev, like->op) >> in & 1) || !like->in[0].mem)
        return 0;
    if (whole && ndp_result_dtype(like->op, NDP_I8) == NDP_I64 && kind_of(like->op) != COUNT &&
        kind_of(like->op) != POSITION) /* sums and products */
        return (ndp_dtype_kind(out) & (NDP_KIND_BOOL | NDP_KIND_INT | NDP_KIND_UINT)) != 0;
    return out == ndp_result_dtype(like->op, in);
}

/* Above that rank find() is not told the rank, and a walk might take more than a kernel has. */
static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    ocl_recipe recipe = {.scratch = scratch,
                         .run = run,
                         .function = {"rows", "groups", "join"},
                         .write_text = write_text};
    recipe.choice = like->in[0].ndim > 6 || like->out[0].ndim > 6;
    recipe.needs = recipe.choice ? NDP_NEEDS_CONTIGUOUS : 0;
    return fits(dev, like) ? ocl_kernel_get(dev, like, &recipe, out, why, n)
                           : ocl_unsupported(like, why, n);
}

const ocl_class ocl_reduce = {.dtypes = dtypes, .find = find};

/* ---- scans: along the last dimension, a row for each work-item ---- */

static int32_t run_scan(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const ndp_view *in = &call->in[0], *out = &call->out[0];
    int last = in->ndim - 1;
    ocl_dims outer = {.n = 2, .ndim = last}, inner = {.n = 2, .ndim = 1};
    parameters p = {.in = in->offset_bytes, .out = out->offset_bytes, .chunks = 1};
    if (ndp_view_size(out) == 0)
        return NDP_OK;
    for (int d = 0; d < last; d++) {
        outer.shape[d] = in->shape[d];
        outer.stride[0][d] = in->stride[d];
        outer.stride[1][d] = out->stride[d];
    }
    inner.shape[0] = in->shape[last];
    inner.stride[0][0] = in->stride[last];
    inner.stride[1][0] = out->stride[last];
    ocl_dims_merge(&outer);
    ocl_walk_set(&p.outer, &outer);
    ocl_walk_set(&p.inner, &inner);
    p.items = p.inner.n;
    const ocl_arg args[] = {OCL_BUFFER(in), OCL_BUFFER(out), {sizeof p, &p}};
    return ocl_launch_flat((const ocl_kernel *)base, 0, s, p.outer.n, args, 3);
}

static int32_t find_scan(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                         size_t n)
{
    ocl_recipe recipe = {.run = run_scan, .function = {"scan"}, .write_text = write_text};
    recipe.choice = like->in[0].ndim > 6 || like->out[0].ndim > 6;
    recipe.needs = recipe.choice ? NDP_NEEDS_CONTIGUOUS : 0;
    return like->in[0].ndim > 0 && fits(dev, like) ? ocl_kernel_get(dev, like, &recipe, out, why, n)
                                                   : ocl_unsupported(like, why, n);
}

const ocl_class ocl_scan = {.dtypes = dtypes, .find = find_scan};
