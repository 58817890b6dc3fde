/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * scatter: lane by lane where there are many lanes or few updates, else sorted by destination; rows
 * that are set are not sorted. */
#include "index/scatter.h"
#include <stdio.h>
#include <string.h>
#include "host/backend.h"
#include "sort/cub.h"
#include "walk/plan.h"

enum { LANES, KEYS, SEGMENTS, ROW_SEGMENTS, ROW_SUMS, CLEAR, WINNERS, ROWS };
#define MANY_LANES 65536
#define FEW_UPDATES 32
#define FEW_VECTORS 8 /* of a row, below which a warp for each would be mostly idle */

typedef struct {
    int by_lanes;
    int64_t vectors;         /* 0: rows are not moved in vectors */
    int is_set;              /* they are, and without a sort */
    uint64_t items, bad_key; /* sorted: see scatter_params */
    int key_bits, wide_keys, wide_order;
    cuda_cub_kind kind;
    uint64_t keys[2], order[2], temp, temp_nbytes, total; /* scratch: offsets, and all of it */
} scatter_plan;

static int axis_of(const ndp_call *call)
{
    return ((const ndp_index *)call->params)->axis;
}

static uint64_t reserve(scatter_plan *p, uint64_t nbytes)
{
    uint64_t at = p->total;
    p->total += (nbytes + 255) / 256 * 256;
    return at;
}

/* 16-byte vectors of a row where every index has one that lies dense in source and destination, and
 * nothing differs but the axis and the place in the row; else 0. */
static int64_t row_vectors(const ndp_call *call)
{
    const ndp_view *at = &call->in[0], *source = &call->in[1], *out = &call->out[0];
    int axis = axis_of(call), row = -1;
    int64_t nbytes = ndp_dtype_size(out->dtype);
    if (!source->mem)
        return 0;
    for (int d = 0; d < at->ndim; d++) {
        if (d == axis || at->shape[d] == 1)
            continue;
        if (row >= 0 || at->stride[d] != 0 || source->stride[d] != 1 || out->stride[d] != 1)
            return 0;
        row = d;
    }
    if (row < 0)
        return 0;
    uint64_t bits = cuda_ptr(source) | cuda_ptr(out) | (uint64_t)(at->shape[row] * nbytes) |
                    (uint64_t)(out->stride[axis] * nbytes) |
                    (uint64_t)(source->stride[axis] * nbytes);
    int64_t vectors = at->shape[row] * nbytes / 16;
    return bits % 16 == 0 && vectors >= FEW_VECTORS && vectors < INT32_MAX ? vectors : 0;
}

/* A u32 of each destination must be worth it. */
static int sets_rows(const ndp_call *call, int64_t k)
{
    return call->op == NDP_OP_scatter && k < INT32_MAX &&
           call->out[0].shape[axis_of(call)] / 64 <= k;
}

static void plan_make(scatter_plan *p, const ndp_call *call)
{
    const ndp_view *at = &call->in[0];
    int axis = axis_of(call);
    int64_t lanes = 1, distinct = 1, k = at->shape[axis];
    memset(p, 0, sizeof *p);
    for (int d = 0; d < at->ndim; d++) {
        lanes *= d == axis ? 1 : at->shape[d];
        distinct *= d == axis || at->stride[d] == 0 ? 1 : at->shape[d];
    }
    p->by_lanes = lanes >= MANY_LANES || k <= FEW_UPDATES;
    if (p->by_lanes || lanes == 0)
        return;
    p->vectors = row_vectors(call);
    p->is_set = p->vectors > 0 && sets_rows(call, k);
    if (p->is_set) {
        (void)reserve(p, (uint64_t)call->out[0].shape[axis] * 4);
        return;
    }
    p->items = (uint64_t)(distinct * k);
    p->bad_key = (uint64_t)distinct * (uint64_t)call->out[0].shape[axis];
    p->key_bits = p->bad_key ? 64 - __builtin_clzll(p->bad_key) : 1;
    p->wide_order = p->items > UINT32_MAX;
    p->wide_keys = p->wide_order || p->key_bits > 32;
    p->kind = p->wide_order ? CUB_PAIRS_WIDE : p->wide_keys ? CUB_PAIRS_U64 : CUB_PAIRS_U32;
    for (int i = 0; i < 2; i++) {
        p->keys[i] = reserve(p, p->items * (p->wide_keys ? 8 : 4));
        p->order[i] = reserve(p, p->items * (p->wide_order ? 8 : 4));
    }
    p->temp = p->total;
}

/* temp NULL: how much memory the sort wants. */
static int32_t sort(const cuda_kernel *k, ndp_stream *s, scatter_plan *p, void *temp,
                    cuda_cub_buffers *buffers)
{
    cuda_scope scope;
    size_t nbytes = (size_t)p->temp_nbytes;
    int32_t status = cuda_enter(k->dev, &scope);
    if (status != NDP_OK)
        return status;
    int r = cuda_cub_sort(p->kind, temp, &nbytes, buffers, p->items, p->key_bits,
                          cuda_stream(k->dev, s));
    cuda_leave(&scope);
    p->temp_nbytes = nbytes;
    p->total = p->temp + nbytes;
    return cuda_fail((CUresult)r, "sorting for %s on cuda:%u", cuda_op_name(k->op), k->dev->index);
}

static uint64_t scratch(const ndp_kernel *base, const ndp_call *call)
{
    scatter_plan p;
    cuda_cub_buffers none = {.keys = {NULL, NULL}};
    plan_make(&p, call);
    if (p.items > 0) /* run() reports what is the matter */
        (void)sort((const cuda_kernel *)base, NULL, &p, NULL, &none);
    return p.total;
}

static void add_lane(scatter_params *p, const ndp_call *call, int d)
{
    const ndp_view *at = &call->in[0], *source = &call->in[1], *out = &call->out[0];
    int to = cuda_walk_add(&p->lanes, at->shape[d]);
    p->lane_out_stride[to] = out->stride[d];
    p->lane_at_stride[to] = at->stride[d];
    p->lane_source_stride[to] = source->mem ? source->stride[d] : 0;
}

static void add_item(scatter_params *p, const ndp_call *call, int d)
{
    const ndp_view *at = &call->in[0], *source = &call->in[1], *out = &call->out[0];
    int to = cuda_walk_add(&p->items, at->shape[d]), is_axis = d == axis_of(call);
    p->axis = is_axis ? to : p->axis;
    p->item_out_stride[to] = is_axis ? 0 : out->stride[d];
    p->item_at_stride[to] = at->stride[d];
    p->item_source_stride[to] = source->mem ? source->stride[d] : 0;
}

static void set_params(scatter_params *p, const scatter_plan *plan, const ndp_call *call)
{
    const ndp_view *at = &call->in[0], *source = &call->in[1], *out = &call->out[0];
    int axis = axis_of(call);
    memset(p, 0, sizeof *p);
    p->out = cuda_ptr(out);
    p->at = cuda_ptr(at);
    p->status = call->status.mem ? cuda_ptr(&call->status) : 0;
    p->source = source->mem ? cuda_ptr(source) : 0;
    if (!source->mem)
        cuda_store_scalar(&call->scalar[source->offset_bytes], p->scalar);
    p->extent = out->shape[axis];
    p->out_axis_stride = out->stride[axis];
    p->op = call->op;
    p->mode = call->op == NDP_OP_scatter_add   ? SCATTER_ADD
              : call->op == NDP_OP_scatter_min ? SCATTER_MIN
              : call->op == NDP_OP_scatter_max ? SCATTER_MAX
                                               : SCATTER_SET;
    p->k = at->shape[axis];
    p->at_axis_stride = at->stride[axis];
    p->source_axis_stride = source->mem ? source->stride[axis] : 0;
    p->vectors = (uint32_t)plan->vectors;
    p->out_row_vectors = out->stride[axis] * ndp_dtype_size(out->dtype) / 16;
    p->source_row_vectors = p->source_axis_stride * ndp_dtype_size(out->dtype) / 16;
    p->bad_key = plan->bad_key;
    p->wide_keys = plan->wide_keys;
    p->wide_order = plan->wide_order;
    cuda_walk_begin(&p->lanes);
    cuda_walk_begin(&p->items);
    for (int d = at->ndim - 1; d >= 0; d--)
        if (d != axis && (plan->by_lanes || at->stride[d] == 0))
            add_lane(p, call, d);
        else if (!plan->by_lanes)
            add_item(p, call, d);
    cuda_walk_end(&p->lanes);
    cuda_walk_end(&p->items);
}

static uint32_t blocks_for(uint64_t items)
{
    uint64_t blocks = (items + CUDA_THREADS - 1) / CUDA_THREADS;
    return (uint32_t)(blocks < 1 << 20 ? blocks : 1 << 20);
}

/* So many warps, and the pieces of 32 vectors of a row that they stand for. */
static int32_t launch_rows(const cuda_kernel *k, int function, ndp_stream *s, uint64_t warps,
                           uint32_t threads, scatter_params *p)
{
    uint64_t blocks = (warps * 32 + threads - 1) / threads;
    uint32_t pieces = (p->vectors + 31) / 32;
    return cuda_launch_2d(k, k->function[function], s,
                          (uint32_t)(blocks < 1 << 20 ? blocks : 1 << 20),
                          pieces < 65535 ? pieces : 65535, threads, 0, p);
}

static int32_t run_set_rows(const cuda_kernel *k, ndp_stream *s, const ndp_call *call,
                            scatter_params *p)
{
    p->winner = cuda_ptr(&call->scratch);
    int32_t status =
        cuda_launch(k, k->function[CLEAR], s, blocks_for((uint64_t)p->extent), CUDA_THREADS, 0, p);
    if (status == NDP_OK)
        status =
            cuda_launch(k, k->function[WINNERS], s, blocks_for((uint64_t)p->k), CUDA_THREADS, 0, p);
    uint64_t warps = ((uint64_t)p->k + SCATTER_ROW_UNROLL - 1) / SCATTER_ROW_UNROLL;
    return status == NDP_OK ? launch_rows(k, ROWS, s, warps, SCATTER_ROW_THREADS, p) : status;
}

#define LONG_SEGMENTS 8 /* items of a destination, on average */

static int32_t run_segments(const cuda_kernel *k, ndp_stream *s, const scatter_plan *plan,
                            scatter_params *p)
{
    p->by_destination = (uint64_t)p->extent <= plan->items / LONG_SEGMENTS;
    if (p->by_destination)
        return launch_rows(k, p->mode == SCATTER_ADD ? ROW_SUMS : ROW_SEGMENTS, s,
                           (uint64_t)p->extent, SCATTER_FEW_THREADS, p);
    return launch_rows(k, ROW_SEGMENTS, s, (plan->items + 31) / 32, SCATTER_ROW_THREADS, p);
}

static int32_t run_sorted(const cuda_kernel *k, ndp_stream *s, const ndp_call *call,
                          scatter_plan *plan, scatter_params *p)
{
    uintptr_t memory = (uintptr_t)cuda_ptr(&call->scratch);
    cuda_cub_buffers b = {.keys = {NULL, NULL}};
    int32_t status = sort(k, s, plan, NULL, &b);
    for (int i = 0; i < 2; i++) {
        b.keys[i] = (void *)(memory + plan->keys[i]);
        b.values[i] = (void *)(memory + plan->order[i]);
    }
    p->keys = (uint64_t)(uintptr_t)b.keys[0];
    p->order = (uint64_t)(uintptr_t)b.values[0];
    if (status == NDP_OK)
        status = cuda_launch(k, k->function[KEYS], s, blocks_for(plan->items), CUDA_THREADS, 0, p);
    if (status == NDP_OK)
        status = sort(k, s, plan, (void *)(memory + plan->temp), &b);
    p->keys = (uint64_t)(uintptr_t)b.keys[b.selector];
    p->order = (uint64_t)(uintptr_t)b.values[b.selector];
    if (status == NDP_OK && p->vectors > 0)
        return run_segments(k, s, plan, p);
    return status != NDP_OK
               ? status
               : cuda_launch(k, k->function[SEGMENTS], s, blocks_for(p->items.size * p->lanes.size),
                             CUDA_THREADS, 0, p);
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    scatter_plan plan;
    scatter_params p;
    if (ndp_view_size(&call->in[0]) == 0)
        return NDP_OK;
    plan_make(&plan, call);
    set_params(&p, &plan, call);
    if (plan.by_lanes)
        return cuda_launch(k, k->function[LANES], s, blocks_for(p.lanes.size), CUDA_THREADS, 0, &p);
    return plan.is_set ? run_set_rows(k, s, call, &p) : run_sorted(k, s, call, &plan, &p);
}

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    static const char *const dtypes[NDP_DTYPE_END] = {
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) [id] = #NAME,
#include <ndock/dtype.def>
    };
    static const char *const names[] = {
        [LANES] = "scatter_lanes_%s",       [KEYS] = "scatter_keys",
        [SEGMENTS] = "scatter_segments_%s", [ROW_SEGMENTS] = "scatter_row_segments_%s",
        [ROW_SUMS] = "scatter_row_sums_%s", [CLEAR] = "scatter_clear",
        [WINNERS] = "scatter_winners",      [ROWS] = "scatter_rows"};
    /* Of what is only stored, bytes are moved. */
    const int32_t dtype = like->out[0].dtype;
    const char *of = ndp_dtype_kind(dtype) & NDP_DOMAIN_BIUFC ? dtypes[dtype] : "U8";
    char name[64];
    int32_t status = NDP_OK;
    k->base.run = run;
    k->base.scratch = scratch;
    for (int i = LANES; i <= ROWS && status == NDP_OK; i++) {
        const char *mark = strstr(names[i], "%s");
        snprintf(name, sizeof name, "%.*s%s", mark ? (int)(mark - names[i]) : 63, names[i],
                 mark ? of : "");
        status = cuda_function(k->dev, CUDA_MODULE_scatter_ANY, name, &k->function[i]);
    }
    return status;
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    (void)why;
    (void)n;
    return cuda_kernel_get(dev, like, 0, make, out);
}

/* The first input is the i64 indices; each domain holds that dtype too. */
const cuda_class cuda_scatter = {.dtypes = cuda_domain_dtypes, .find = find};
