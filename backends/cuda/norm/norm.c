/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Row normalisations: which kernel, how rows are shared among threads, and the parameters. */
#include "norm/norm.h"
#include <stdio.h>
#include "host/backend.h"
#include "neural/group_call.h"
#include "walk/plan.h"

enum { VEC, ANY, LONG, SHORT, COLUMNS, TURNS };
enum {
    ACROSS_STAGE = 32 << 10, /* bytes of shared memory for rows side by side */
    GRID_X = 1 << 20,
    COLUMN_ROWS = 128,        /* elements of a row from which on a cluster takes it */
    COLUMN_OWN = 16 << 10,    /* bytes of shared memory that its kernels have beside the stage */
    COLUMN_STAGE = 100 << 10, /* of a block: two of them are on a processor at once */
    COLUMN_HELD =
        NORM_COLUMN_THREADS * NORM_COLUMN_HELD * 16 /* bytes of the longest tile in registers */
};
static const char *const suffixes[] = {"vec", "any", "long", "short", "columns", "turns"};

/* Bytes of shared memory for the rows of a block: what a block can be given, less what the kernels
 * have anyway (about 5 KiB). */
static uint32_t most_stage(const ndp_dev *dev)
{
    switch (dev->capability) {
    case 75:
        return 52 << 10;
    case 80:
    case 87:
        return 148 << 10;
    case 86:
    case 89:
    case 120:
    case 121:
        return 84 << 10;
    default:
        return dev->capability < 75 ? 36 << 10 : 212 << 10;
    }
}

typedef struct {
    norm_params p;
    int how;
    uint32_t blocks, threads, shared;
} norm_plan;

static void set_dims(norm_params *p, const ndp_call *call)
{
    const ndp_norm *params = call->params;
    const ndp_view *in = &call->in[0], *out = &call->out[0];
    const ndp_view *scale = &call->in[1], *bias = &call->in[call->n_in - 1];
    p->n_reduced = params->n_reduced;
    p->n_kept = in->ndim - params->n_reduced;
    p->rows = line_dims_of(p->dim, in, out, 0, p->n_kept);
    p->items = line_dims_of(p->dim + p->n_kept, in, out, p->n_kept, in->ndim);
    for (int d = 0; d < p->n_reduced; d++) {
        int from = in->ndim - 1 - d;
        p->weight[d].scale = params->has_scale ? scale->stride[from] : 0;
        p->weight[d].bias = params->has_bias ? bias->stride[from] : 0;
    }
    p->scale = params->has_scale ? cuda_ptr(scale) : 0;
    p->bias = params->has_bias ? cuda_ptr(bias) : 0;
    p->in = cuda_ptr(in);
    p->out = cuda_ptr(out);
    p->eps = params->eps;
    p->count = (double)p->items;
}

/* Whether an operand can be taken in vectors of V along a dimension; along its last one. */
static int is_whole_along(const ndp_view *v, int along, int64_t V)
{
    if (v->stride[along] != 1 || v->shape[along] % V)
        return 0;
    for (int d = 0; d < v->ndim; d++)
        if (d != along && v->stride[d] % V)
            return 0;
    return cuda_ptr(v) % (CUdeviceptr)(V * ndp_dtype_size(v->dtype)) == 0;
}

static int is_whole(const ndp_view *v, int64_t V)
{
    return is_whole_along(v, v->ndim - 1, V);
}

static int all_whole(const ndp_call *call, const norm_params *p, int64_t V)
{
    if (p->n_reduced == 0 || !is_whole(&call->out[0], V))
        return 0;
    for (uint32_t i = 0; i < call->n_in; i++)
        if (!is_whole(&call->in[i], V))
            return 0;
    return 1;
}

static void take_vectors(norm_params *p, int64_t V)
{
    line_dim *d = &p->dim[p->n_kept];
    *d = line_dim_of(d->extent / V, d->in * V, d->out * V);
    p->weight[0].scale *= V;
    p->weight[0].bias *= V;
    p->items /= (uint64_t)V;
}

/* Threads of a row: few items for each. */
static void share(norm_plan *r)
{
    norm_params *p = &r->p;
    uint64_t beside = p->n_kept ? ndp_magnitude(p->dim[0].in) : INT64_MAX;
    uint64_t along = p->n_reduced ? ndp_magnitude(p->dim[p->n_kept].in) : 0;
    p->across = r->how == ANY && p->rows >= 16 && (beside < along || p->items <= 2);
    r->threads = NORM_THREADS;
    if (p->across) {
        p->width = p->items <= 2 ? 256 : 32;
    } else {
        p->lanes = 1;
        while (p->lanes < 32 && (uint64_t)p->lanes * 4 < p->items)
            p->lanes *= 2;
        if (p->items > 256)
            p->lanes = NORM_THREADS;
        p->width = (int32_t)r->threads / p->lanes;
    }
    p->lanes = (int32_t)r->threads / p->width;
}

/* Rows are staged where the block's fit. */
static void stage(norm_plan *r, const ndp_dev *dev, int64_t V, int64_t bytes)
{
    norm_params *p = &r->p;
    uint64_t row = p->items * (uint64_t)(V * bytes), all = row * (uint64_t)p->width;
    uint64_t most = p->across ? ACROSS_STAGE : most_stage(dev);
    if (p->items > most || all > most)
        return;
    p->staged = 1;
    p->stage_row = p->across ? 1 : (int32_t)(p->items * (uint64_t)V);
    p->stage_step = p->across ? p->width : (int32_t)V;
    r->shared = (uint32_t)all;
}

/* Rows that the threads of a block, or fewer, hold at once. */
static int fits(norm_plan *r, const ndp_call *call, const ndp_dev *dev)
{
    norm_params *p = &r->p;
    int64_t bytes = ndp_dtype_size(call->in[0].dtype), V = 16 / bytes;
    uint64_t items = p->items / (uint64_t)V, warps;
    if (bytes > 4 || p->n_reduced != 1 || !all_whole(call, p, V) ||
        items > NORM_LONG_THREADS * NORM_LONG_VECTORS)
        return 0;
    r->how = items <= 32 * NORM_SHORT_VECTORS ? SHORT : LONG;
    if (r->how == SHORT) {
        p->lanes = 1;
        while ((uint64_t)p->lanes * NORM_SHORT_VECTORS < items)
            p->lanes *= 2;
        r->threads = NORM_THREADS;
        r->shared = r->threads * 16 * NORM_SHORT_VECTORS;
    } else {
        warps = (items + 32 * NORM_LONG_VECTORS - 1) / (32 * NORM_LONG_VECTORS);
        p->lanes = (int32_t)(warps * 32);
        r->threads = (uint32_t)p->lanes;
        r->shared = r->threads * 16 * NORM_LONG_VECTORS;
    }
    p->width = (int32_t)r->threads / p->lanes;
    p->items = items;
    return r->shared <= most_stage(dev);
}

/* Rows side by side that a cluster of blocks holds at once. */
static int columns(norm_plan *r, const ndp_call *call, const cuda_kernel *k)
{
    norm_params *p = &r->p;
    const ndp_view *in = &call->in[0], *out = &call->out[0];
    const int64_t bytes = ndp_dtype_size(in->dtype), V = 16 / bytes;
    const int inner = p->n_kept - 1;
    if (!k->function[COLUMNS] || p->n_reduced != 1 || p->n_kept < 1 || p->items < COLUMN_ROWS ||
        !is_whole_along(in, inner, V) || !is_whole_along(out, inner, V))
        return 0;
    const uint64_t each = (p->items + NORM_CLUSTER - 1) / NORM_CLUSTER;
    const uint64_t most = most_stage(k->dev) - COLUMN_OWN;
    int32_t lanes = (int32_t)(NORM_COLUMNS_MOST / V < 32 ? NORM_COLUMNS_MOST / V : 32);
    while (lanes > 4 && each * 16 * (uint64_t)lanes > COLUMN_STAGE)
        lanes /= 2;
    while (lanes > 2 && each * 16 * (uint64_t)lanes > most)
        lanes /= 2;
    if (each * 16 * (uint64_t)lanes > most)
        return 0;
    const uint64_t beside = (uint64_t)(lanes * V);
    p->width = lanes;
    p->stage_row = (int32_t)each;
    r->how = COLUMNS;
    r->threads = NORM_COLUMN_THREADS;
    r->shared = (uint32_t)(each * 16 * (uint64_t)lanes);
    r->blocks = (uint32_t)((p->rows + beside - 1) / beside) * NORM_CLUSTER;
    return p->rows < (uint64_t)GRID_X * beside;
}

/* Instead, where tiles are so long that a processor takes few of their blocks: threads hold one in
 * registers while the next is on its way. Each cluster that runs at once has several tiles, as wide
 * as they fit. */
static void turns(norm_plan *r, const ndp_call *call, const cuda_kernel *k)
{
    norm_params *p = &r->p;
    const int64_t V = 16 / ndp_dtype_size(call->in[0].dtype);
    const uint64_t each = (p->items + NORM_CLUSTER - 1) / NORM_CLUSTER;
    const uint64_t most = NORM_COLUMN_THREADS * NORM_COLUMN_HELD, at_once = (uint64_t)k->at_once;
    uint64_t lanes = NORM_COLUMNS_MOST / V < 32 ? (uint64_t)(NORM_COLUMNS_MOST / V) : 32;
    while (lanes > 4 && (each * lanes > most || p->rows < 2 * at_once * lanes * (uint64_t)V))
        lanes /= 2;
    if (!at_once || each * lanes > most || each * lanes < most / 4 * 3)
        return;
    const uint64_t beside = lanes * (uint64_t)V, tiles = (p->rows + beside - 1) / beside;
    p->width = (int32_t)lanes;
    p->stage_row = (int32_t)each;
    r->how = TURNS;
    r->threads = NORM_COLUMN_THREADS;
    r->shared = (uint32_t)(each * 16 * lanes);
    r->blocks = (uint32_t)(tiles < at_once ? tiles : at_once) * NORM_CLUSTER;
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    int64_t wide = call->in[0].dtype == NDP_F64, V = wide ? 2 : 4;
    norm_plan r = {.how = ANY};
    norm_params *p = &r.p;
    if (ndp_view_size(&call->in[0]) == 0)
        return NDP_OK;
    set_dims(p, call);
    norm_plan fit = r;
    if (columns(&fit, call, k)) {
        turns(&fit, call, k);
        return cuda_launch(k, k->function[fit.how], s, fit.blocks, fit.threads, fit.shared, &fit.p);
    }
    fit = r;
    if (fits(&fit, call, k->dev)) {
        r = fit;
    } else if (all_whole(call, p, V)) {
        r.how = VEC;
        take_vectors(p, V);
    } else {
        V = 1;
    }
    if (r.how == VEC || r.how == ANY) {
        share(&r);
        stage(&r, k->dev, V, wide ? 8 : 4);
    }
    uint64_t width = (uint64_t)p->width, blocks = (p->rows + width - 1) / width;
    r.blocks = (uint32_t)(blocks < GRID_X ? blocks : GRID_X);
    return cuda_launch(k, k->function[r.how], s, r.blocks, r.threads, r.shared, p);
}

/* How many clusters of a kernel run at once, each of whose blocks has a processor to itself. */
static int32_t clusters_at_once(CUfunction f)
{
    int n = 0;
    const CUlaunchConfig one = {.gridDimX = NORM_CLUSTER,
                                .gridDimY = 1,
                                .gridDimZ = 1,
                                .blockDimX = NORM_COLUMN_THREADS,
                                .blockDimY = 1,
                                .blockDimZ = 1,
                                .sharedMemBytes = COLUMN_HELD};
    if (!cu.cuOccupancyMaxActiveClusters ||
        cu.cuOccupancyMaxActiveClusters(&n, f, &one) != CUDA_SUCCESS)
        return 0;
    return n;
}

/* Code for clusters is there where it was compiled for such a device, not for an earlier one. */
static int32_t make_columns(cuda_kernel *k, const ndp_call *like, int module)
{
    char name[32];
    int32_t status = NDP_OK;
    const int soft = like->op == NDP_OP_softmax || like->op == NDP_OP_log_softmax;
    k->function[COLUMNS] = NULL;
    if (!soft || like->in[0].dtype == NDP_F64 || k->dev->capability < 90)
        return NDP_OK;
    const int last = like->in[0].dtype == NDP_F32 ? TURNS : COLUMNS;
    for (int how = COLUMNS; how <= last && status == NDP_OK; how++) {
        snprintf(name, sizeof name, "%s_%s", cuda_op_name(like->op), suffixes[how]);
        if (cuda_function(k->dev, module, name, &k->function[how]) != NDP_OK)
            return NDP_OK;
        status = cuda_fail(cu.cuFuncSetAttribute(
                               k->function[how], CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                               how == TURNS ? COLUMN_HELD : (int)most_stage(k->dev) - COLUMN_OWN),
                           "shared memory for %s", name);
    }
    if (last == TURNS && status == NDP_OK)
        k->at_once = clusters_at_once(k->function[TURNS]);
    return status;
}

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    char name[32];
    int module = cuda_module_of("norm", like->in[0].dtype);
    int32_t status = NDP_OK;
    k->base.run = run;
    int last = like->in[0].dtype == NDP_F64 ? ANY : SHORT;
    for (int how = VEC; how <= last && status == NDP_OK; how++) {
        snprintf(name, sizeof name, "%s_%s", cuda_op_name(like->op), suffixes[how]);
        status = cuda_function(k->dev, module, name, &k->function[how]);
        if (status == NDP_OK)
            status =
                cuda_fail(cu.cuFuncSetAttribute(k->function[how],
                                                CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                (int)most_stage(k->dev)),
                          "shared memory for %s", name);
    }
    return status == NDP_OK ? make_columns(k, like, module) : status;
}

static uint64_t dtypes(int32_t op)
{
    return cuda_domain_dtypes(op);
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    int32_t dtype = like->in[0].dtype;
    if (like->op == NDP_OP_batch_norm)
        return cuda_batch_norm_find(dev, like, out, why, n);
    if (like->op == NDP_OP_group_norm)
        return cuda_group_find(dev, like, out, why, n);
    int same = like->out[0].dtype == dtype;
    for (uint32_t i = 1; i < like->n_in; i++)
        same &= like->in[i].dtype == dtype;
    if (!same || !(dtypes(like->op) >> dtype & 1))
        return cuda_unsupported(like, why, n);
    return cuda_kernel_get(dev, like, 0, make, out);
}

const cuda_class cuda_norm = {.dtypes = dtypes, .find = find};
