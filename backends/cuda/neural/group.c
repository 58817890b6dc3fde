/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Normalisations with weights of any dimensions, and gradients with those for weights: the kernels
 * that run one after the other. */
#include "neural/group.h"
#include <stdio.h>
#include "neural/group_call.h"

enum { PLAIN, VEC, WARP, WARP_VEC, COLUMNS, WAYS };
enum {
    SUMS,
    APPLY = WAYS,
    ROWS = 2 * WAYS,
    HELD,
    OF_COLUMNS,
    OF_COLUMN,
    WEIGHTS,
    BESIDE,
    OF_X,
    RESIDENT = OF_X + CUDA_NORM_GRADS
};
static const char *const names[OF_X] = {
    "sums",      "sums_vec",   "sums_warp",      "sums_warp_vec", "sums_columns", "apply",
    "apply_vec", "apply_warp", "apply_warp_vec", "apply_columns", "rows",         "held",
    "columns",   "column",     "weights",        "weights_beside"};

static uint64_t address(const ndp_view *v)
{
    return v ? cuda_ptr(v) : 0;
}

static void set_addresses(group_plan *r, const ndp_call *call, int64_t sums)
{
    group_params *p = &r->p;
    const ndp_view *const *view = r->call.view;
    p->x = address(view[GROUP_X]);
    p->out = address(view[GROUP_OUT]);
    p->g = address(view[GROUP_G]);
    p->scale = address(view[GROUP_SCALE]);
    p->bias = address(view[GROUP_BIAS]);
    p->rows_at = call->scratch.mem ? cuda_ptr(&call->scratch) : 0;
    p->partial = p->rows_at + (uint64_t)sums;
}

static uint32_t grid(int64_t n)
{
    return (uint32_t)(n < GROUP_GRID ? n : GROUP_GRID);
}

/* A kernel over all cells, by the plan's way; first is SUMS or APPLY. */
static int32_t queue_cells(const cuda_kernel *k, ndp_stream *s, group_plan *r, int first)
{
    group_params *p = &r->p;
    const int64_t units = p->cells * p->parts, warps = GROUP_THREADS / 32;
    if (r->columns)
        return cuda_launch_2d(k, k->function[first + COLUMNS], s, (uint32_t)r->column_blocks,
                              (uint32_t)p->parts, GROUP_THREADS, 0, p);
    const int way = (r->warp ? WARP : PLAIN) + (r->vectors ? VEC : PLAIN);
    return cuda_launch(k, k->function[first + way], s,
                       grid(r->warp ? (units + warps - 1) / warps : units), GROUP_THREADS, 0, p);
}

/* A warp for each of n. */
static int32_t queue_warps(const cuda_kernel *k, ndp_stream *s, int which, int64_t n, void *params)
{
    const int64_t warps = GROUP_THREADS / 32;
    return cuda_launch(k, k->function[which], s, grid((n + warps - 1) / warps), GROUP_THREADS, 0,
                       params);
}

static int32_t queue_held(const cuda_kernel *k, ndp_stream *s, group_plan *r)
{
    const int64_t rows = r->p.cells / r->p.per_row, nbytes = r->p.per_row * r->p.items * 16;
    return cuda_launch(k, k->function[HELD], s, grid(rows), (uint32_t)r->held_threads,
                       (uint32_t)nbytes, &r->p);
}

/* Strides of the rows' results are where the kernel of rows expects them. */
static void set_row_results(const group_plan *r, group_params *p)
{
    const group_call *c = &r->call;
    int at = 0;
    p->mean = address(c->view[GROUP_MEANS]);
    p->variance = address(c->view[GROUP_VARIANCES]);
    for (int class = 0; class < 2; class ++)
        for (int d = 0; d < c->n; d++) {
            if (c->dim[d].reduced == class || (c->dim[d].reduced && !c->dim[d].weighted))
                continue;
            p->dim[at].g = c->dim[d].stride[GROUP_MEANS];
            p->dim[at++].bias = c->dim[d].stride[GROUP_VARIANCES];
        }
}

/* Statistics of all rows. Doubles are shifted by their mean, which a first pass finds. */
static int32_t queue_statistics(const cuda_kernel *k, ndp_stream *s, group_plan *r)
{
    group_params rows = r->p;
    const int passes = r->call.bytes == 8 && r->p.centred ? 2 : 1;
    int32_t status = NDP_OK;
    if (!r->call.grad)
        set_row_results(r, &rows);
    for (int pass = 0; pass < passes && status == NDP_OK; pass++) {
        r->p.shifted = rows.shifted = pass;
        status = queue_cells(k, s, r, SUMS);
        if (status == NDP_OK)
            status = queue_warps(k, s, ROWS, r->p.cells / r->p.per_row, &rows);
    }
    return status;
}

static int32_t queue_weights(const cuda_kernel *k, ndp_stream *s, const group_plan *r, int complete)
{
    group_weights w;
    group_plan_weights(r, &w);
    w.partial = r->p.partial;
    w.rows_at = r->p.rows_at;
    if (complete) { /* cells are weights */
        w.rows_at = 0;
        w.n_sum = 0;
        w.sums = 1;
    }
    w.scale = address(r->call.view[GROUP_DSCALE]);
    w.bias = address(r->call.view[GROUP_DBIAS]);
    if (complete && w.cell_step == 1)
        return cuda_launch(k, k->function[BESIDE], s, (uint32_t)((w.weights + 31) / 32),
                           GROUP_THREADS, 0, &w);
    return queue_warps(k, s, WEIGHTS, w.weights, &w);
}

static int is_gradient(const ndp_call *call)
{
    return call->op != NDP_OP_group_norm;
}

/* Bytes of the statistics of rows, ahead of the sums of cells. */
static int64_t row_bytes(int64_t rows)
{
    return rows * GROUP_ROW * (int64_t)sizeof(double);
}

static uint64_t scratch(const ndp_kernel *base, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    group_plan r;
    if (ndp_view_size(&call->out[0]) == 0)
        return 0;
    if (is_gradient(call) && group_plan_rows(&r, call, k->dev)) {
        const int32_t parts = cuda_norm_grad_parts(k, k->function + OF_X, call);
        return parts ? (uint64_t)(r.p.cells * parts * 2 * 8)
                     : (uint64_t)(row_bytes(r.p.items) + r.p.cells * r.p.parts * 2 * 8);
    }
    group_plan_make(&r, call, k->dev, is_gradient(call));
    cuda_group_resident_plan(&r, k, k->function + RESIDENT);
    if (r.held || (r.resident && !is_gradient(call)))
        return 0;
    const int64_t sums = r.p.cells * r.p.parts * (is_gradient(call) ? 4 : 2) * 8;
    return (uint64_t)(row_bytes(r.p.cells / r.p.per_row) + sums);
}

/* Weights of rows: in one pass with the gradient for x where threads hold rows, else in one more. */
static int32_t run_rows(const cuda_kernel *k, ndp_stream *s, group_plan *r, const ndp_call *call)
{
    const int32_t parts = cuda_norm_grad_parts(k, k->function + OF_X, call);
    int32_t status;
    set_addresses(r, call, parts ? 0 : row_bytes(r->p.items));
    if (parts) {
        r->p.parts = parts;
        status = cuda_norm_grad_weighed(k, k->function + OF_X, s, call, r->p.partial);
    } else {
        status = cuda_norm_grad_queue(k, k->function + OF_X, s, call, r->p.rows_at);
        if (status == NDP_OK)
            status = cuda_launch_2d(k, k->function[r->vectors ? OF_COLUMNS : OF_COLUMN], s,
                                    (uint32_t)r->column_blocks, (uint32_t)r->p.parts, GROUP_THREADS,
                                    0, &r->p);
    }
    return status == NDP_OK ? queue_weights(k, s, r, 1) : status;
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    const int grad = is_gradient(call);
    group_plan r;
    int32_t status;
    if (ndp_view_size(&call->out[0]) == 0)
        return NDP_OK;
    if (grad && group_plan_rows(&r, call, k->dev))
        return run_rows(k, s, &r, call);
    group_plan_make(&r, call, k->dev, grad);
    cuda_group_resident_plan(&r, k, k->function + RESIDENT);
    set_addresses(&r, call, row_bytes(r.p.cells / r.p.per_row));
    if (r.held && !r.resident)
        return queue_held(k, s, &r);
    if (r.resident) {
        status = cuda_group_resident_queue(k, k->function + RESIDENT, s, &r);
    } else {
        status = queue_statistics(k, s, &r);
        if (status == NDP_OK)
            status = queue_cells(k, s, &r, APPLY);
    }
    if (status == NDP_OK && grad && call->n_out > 1)
        status = queue_weights(k, s, &r, 0);
    return status;
}

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    char name[48];
    const int grad = is_gradient(like);
    const int32_t dtype = like->in[0].dtype;
    const char *const type = cuda_dtype_word(dtype);
    int32_t status = NDP_OK;
    k->base.run = run;
    k->base.scratch = scratch;
    for (int i = 0; i < (grad ? OF_X : OF_COLUMNS) && status == NDP_OK; i++) {
        if (grad && i == HELD)
            continue;
        snprintf(name, sizeof name, "group_%s%s_%s", names[i], grad && i <= ROWS ? "_grad" : "",
                 type);
        status = cuda_function(k->dev, cuda_module_of("group", dtype), name, &k->function[i]);
    }
    if (status != NDP_OK)
        return status;
    cuda_group_resident_find(k, dtype, grad, k->function + RESIDENT);
    if (!grad)
        return cuda_fail(cu.cuFuncSetAttribute(k->function[HELD],
                                               CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                               k->dev->shared_most - 2048),
                         "shared memory for %s", cuda_op_name(like->op));
    return cuda_norm_grad_functions(
        k->dev, like->op == NDP_OP_rms_norm_grads ? NDP_OP_rms_norm_grad : NDP_OP_layer_norm_grad,
        dtype, k->function + OF_X);
}

int32_t cuda_group_find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                        size_t n)
{
    const int32_t dtype = like->in[0].dtype, wide = dtype == NDP_F64 ? NDP_F64 : NDP_F32;
    int same = like->out[0].dtype == dtype;
    for (uint32_t i = 1; i < like->n_in; i++)
        same &= like->in[i].dtype == dtype;
    for (uint32_t i = 1; i < like->n_out; i++)
        same &= like->out[i].dtype == (is_gradient(like) ? dtype : wide);
    if (!same || !(cuda_domain_dtypes(like->op) >> dtype & 1))
        return cuda_unsupported(like, why, n);
    return cuda_kernel_get(dev, like, 0, make, out);
}
