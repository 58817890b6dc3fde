/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Reductions: which kernel, how the work is cut, and the parameters. */
#include "reduce/keys.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "host/backend.h"
#include "walk/plan.h"

enum { ROW, COL, ANY, JOIN, HELD };
enum { SUM, PROD, EXTREME, POSITION, COUNT, VAR, LOGSUMEXP };
enum {
    /* Blocks of an SM that a cut reduction is spread over: as many as run at once where the end of
     * a block is costly, else some more, for an even end. */
    BLOCKS_AT_ONCE = 4,
    HELD_BLOCKS = 3,
    BLOCKS_IN_TURN = 16,
    CUT = 4096, /* items that a chunk of a lane's group has at least */
    MOST_CHUNKS = 4096,
    SHORT_ROWS = 4096, /* lines that are worth vectors however short they are */
    HELD_LESS = 256,   /* vectors of a row of logsumexp from which on threads do not hold it */
    GRID_X = 1 << 20   /* blocks; each takes several results where that is not enough */
};

static const char *const names[] = {"sum",   "prod", "extreme",  "position",
                                    "count", "var",  "logsumexp"};
static const char *const suffixes[] = {"row", "col", "any", "join", "held"};

static int kind_of(int32_t op)
{
    switch (op) {
    case NDP_OP_prod:
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

/* The dtype in whose module the kernel lies: ops that look at bits alone are there once per size.
 * Of bools only counts are: elsewhere any byte but 0 has to become 1 first. */
static int32_t module_dtype(int kind, int32_t dtype)
{
    static const int32_t by_size[17] = {
        [1] = NDP_I8, [2] = NDP_I16, [4] = NDP_I32, [8] = NDP_I64, [16] = NDP_C128};
    int integer = dtype != NDP_BOOL && dtype < NDP_F16;
    if (kind == COUNT || (integer && (kind == EXTREME || kind == POSITION)))
        return by_size[ndp_dtype_size(dtype)];
    if (dtype == NDP_BF16 && (kind == EXTREME || kind == POSITION))
        return NDP_F16;
    return dtype == NDP_U64 ? NDP_I64 : dtype;
}

/* Bytes of a state in scratch. */
static uint64_t state_bytes(int kind, int32_t dtype)
{
    int complex = dtype >= NDP_C64, wide = dtype == NDP_F64 || dtype == NDP_C128;
    switch (kind) {
    case PROD:
        return dtype < NDP_F16 ? 8 : complex ? 24 : 16;
    case EXTREME:
        return ndp_dtype_size(dtype) == 8 ? 8 : 4;
    case POSITION:
        return ndp_dtype_size(dtype) == 8 ? 24 : 16;
    case VAR:
        return (uint64_t)(wide ? 40 : 32) << complex;
    case LOGSUMEXP:
        return 32;
    default:
        return (uint64_t)(wide ? 16 : 8) << (complex && kind == SUM);
    }
}

typedef struct {
    reduce_params p;
    int how;
    uint64_t results; /* elements of the result */
    uint32_t blocks;
    int64_t fold;   /* several lines of short rows that are seen as one of a longer row; else 1 */
    int64_t states; /* of a result that a chunk leaves */
} reduce_plan;

static int32_t power_of_two_from(uint64_t n, int32_t most)
{
    int32_t p = 1;
    while (p < most && (uint64_t)p < n)
        p *= 2;
    return p;
}

/* Whether elements can be read V at a time along dimension dense: it is dense, and every other
 * stride and the address keep vectors whole. */
static int is_whole(const ndp_view *in, int dense, int64_t V, int any_extent)
{
    if (dense < 0 || in->stride[dense] != 1 || (!any_extent && in->shape[dense] % V))
        return 0;
    for (int d = 0; d < in->ndim; d++)
        if (d != dense && in->shape[d] > 1 && in->stride[d] % V)
            return 0;
    return cuda_ptr(in) % (CUdeviceptr)(V * ndp_dtype_size(in->dtype)) == 0;
}

static void set_dims(reduce_params *p, const ndp_view *in, const ndp_view *out)
{
    line_dims_of(p->dim, in, out, 0, p->n_kept);
    line_dims_of(p->dim + p->n_kept, in, NULL, p->n_kept, in->ndim);
}

/* The dimension's elements in vectors of V. */
static void in_vectors(line_dim *d, int64_t V)
{
    *d = line_dim_of(d->extent / V, d->in * V, d->out * V);
}

/* Chunks for a line of which a block with that many lanes takes one piece at a time. */
static void cut(reduce_plan *r, uint64_t blocks, uint64_t lanes, int sm_count, int per_sm)
{
    reduce_params *p = &r->p;
    uint64_t wanted = (uint64_t)sm_count * (uint64_t)per_sm, most = p->items / (lanes * 16);
    uint64_t n = blocks ? wanted / blocks : 1;
    if (n < 2 && blocks && per_sm <= BLOCKS_AT_ONCE)
        n = 4 * wanted / blocks; /* or a second round would leave most SMs idle */
    n = n > most ? most : n;
    n = n > MOST_CHUNKS ? MOST_CHUNKS : n;
    n = n < 2 ? 1 : n;
    p->chunk = n > 1 ? (p->items + n - 1) / n : p->items;
    p->chunk = p->chunk ? p->chunk : 1;
    p->chunks = n > 1 ? (int32_t)((p->items + p->chunk - 1) / p->chunk) : 1;
}

/* States that are costly to merge: a warp for each line does it least often. */
static int is_costly(int kind)
{
    return kind == POSITION || kind == VAR || kind == LOGSUMEXP;
}

/* Lanes of a warp for a row: a lane folds two items before lanes are merged, but eight lanes read
 * what lies together where there are as many items. */
static int32_t lanes_of_items(uint64_t items)
{
    const int32_t lanes = power_of_two_from((items + 1) / 2, 32);
    const int32_t least = power_of_two_from(items, 8);
    return lanes > least ? lanes : least;
}

static void plan_row(reduce_plan *r, int kind, int64_t V, int sm_count)
{
    reduce_params *p = &r->p;
    int costly = is_costly(kind);
    uint64_t few = (uint64_t)sm_count * 16, many = (uint64_t)sm_count * 64;
    line_dim *inner = &p->dim[p->n_kept];
    p->tail = (uint64_t)(inner->extent % V); /* only where it is the one reduced dimension */
    in_vectors(inner, V);
    p->items = (uint64_t)(p->count / V);
    p->lanes = r->results < few || (p->items >= 1024 && !(costly && r->results >= many))
                   ? REDUCE_THREADS
                   : lanes_of_items(p->items);
    p->width = REDUCE_THREADS / p->lanes;
    uint64_t blocks = (r->results + (uint64_t)p->width - 1) / (uint64_t)p->width;
    /* Of variances of floats and halves the end of a block is cheap: lanes join them without dividing. */
    const int at_once = costly && !(kind == VAR && V > 2);
    cut(r, p->lanes == REDUCE_THREADS ? blocks : UINT64_MAX, REDUCE_THREADS, sm_count,
        at_once ? BLOCKS_AT_ONCE : BLOCKS_IN_TURN);
}

/* Rows of logsumexp that threads hold: of longer ones a warp that goes along a row is faster (H200, rows of
 * 1,024 to 16,384 floats: .72-.98 of a copy's speed, held or shared by a block .58-.85). */
static int is_held(const reduce_params *p, const ndp_view *in, int kind, int64_t V)
{
    const int64_t items = p->count / V;
    return kind == LOGSUMEXP && in->dtype != NDP_F64 && p->n_reduced == 1 && items > 0 &&
           items < HELD_LESS && (items > 1 || p->results < SHORT_ROWS) &&
           is_whole(in, in->ndim - 1, V, 0);
}

static void plan_held(reduce_plan *r, int64_t V)
{
    reduce_params *p = &r->p;
    p->items = (uint64_t)(p->count / V);
    const int32_t lanes = power_of_two_from(
        (p->items + REDUCE_HELD_VECTORS - 1) / REDUCE_HELD_VECTORS, REDUCE_THREADS);
    const int32_t least = power_of_two_from(p->items, 8);
    p->lanes = lanes > least ? lanes : least;
    p->width = REDUCE_THREADS / p->lanes;
    p->chunk = p->items;
    p->chunks = 1;
}

static void plan_col(reduce_plan *r, int kind, int64_t V, int sm_count)
{
    reduce_params *p = &r->p;
    p->out_step = p->dim[0].out;
    in_vectors(&p->dim[0], V);
    p->results = r->results / (uint64_t)V;
    p->width = 32;
    p->lanes = REDUCE_THREADS / 32;
    cut(r, (p->results + 31) / 32, (uint64_t)p->lanes, sm_count,
        kind == VAR || kind == LOGSUMEXP ? BLOCKS_AT_ONCE - 1 : BLOCKS_AT_ONCE);
}

/* Rows of few results that follow each other without a gap: how many of them make one that a block
 * of "col" takes well. 1: none. Positions would be numbered anew. */
static int64_t fold_of(const ndp_view *in, const reduce_params *p, int kind, int64_t V)
{
    int64_t width = p->n_kept == 1 ? in->shape[0] : 0, fold = 32;
    if (width < 1 || width >= 32 || p->n_reduced != 1 || in->stride[0] != 1 ||
        in->stride[1] != width || kind == POSITION)
        return 1;
    while (width * fold % V || width * fold < 32 * V)
        fold *= 2;
    return p->count % fold == 0 && p->count / fold >= CUT &&
                   cuda_ptr(in) % (CUdeviceptr)(V * ndp_dtype_size(in->dtype)) == 0
               ? fold
               : 1;
}

/* As "col", of the longer rows; the states of what was folded are joined with those of chunks. */
static void plan_folded(reduce_plan *r, int kind, int64_t V, int sm_count)
{
    reduce_params *p = &r->p;
    const int64_t width = p->dim[0].extent, row = width * r->fold;
    p->dim[0] = line_dim_of(row, 1, 1);
    p->dim[1] = line_dim_of(p->count / r->fold, row, 0);
    p->items = (uint64_t)(p->count / r->fold);
    r->results *= (uint64_t)r->fold;
    plan_col(r, kind, V, sm_count);
    r->results /= (uint64_t)r->fold;
    r->states = r->fold;
    if (width <= 16 && (width & (width - 1)) == 0) {
        p->repeated = (int32_t)width;
        r->states = row / (32 * V);
    }
}

/* Neighbouring threads read neighbouring results where those are closer in memory. */
static void plan_any(reduce_plan *r, int sm_count)
{
    reduce_params *p = &r->p;
    uint64_t beside = p->n_kept ? ndp_magnitude(p->dim[0].in) : INT64_MAX;
    uint64_t along = p->n_reduced ? ndp_magnitude(p->dim[p->n_kept].in) : 0;
    int32_t useful = power_of_two_from(p->items, REDUCE_THREADS);
    p->across = p->n_kept && (beside < along || p->items < 8) && r->results > 1;
    if (p->across) {
        p->width = power_of_two_from(r->results, p->items < 64 ? REDUCE_THREADS : 32);
        p->lanes = REDUCE_THREADS / p->width;
    } else {
        p->lanes = useful < 32 || r->results < (uint64_t)sm_count * 64 ? useful : 32;
        p->width = REDUCE_THREADS / p->lanes;
    }
    uint64_t blocks = (r->results + (uint64_t)p->width - 1) / (uint64_t)p->width;
    cut(r, blocks, (uint64_t)p->lanes, sm_count, BLOCKS_IN_TURN);
}

static void make_plan(reduce_plan *r, const cuda_kernel *k, const ndp_call *call)
{
    const ndp_reduce *params = call->params;
    const ndp_view *in = &call->in[0];
    reduce_params *p = &r->p;
    int64_t bytes = ndp_dtype_size(in->dtype), V = 16 / bytes, across = bytes <= 4 ? 4 : 16 / bytes;
    int sm_count = k->dev->sm_count;
    r->results = (uint64_t)ndp_view_size(&call->out[0]);
    p->n_reduced = params->n_reduced;
    p->n_kept = in->ndim - params->n_reduced;
    p->count = 1;
    for (int d = p->n_kept; d < in->ndim; d++)
        p->count *= in->shape[d];
    set_dims(p, in, &call->out[0]);
    p->results = r->results;
    p->items = (uint64_t)p->count;
    r->how = ANY;
    r->states = 1;
    r->fold = fold_of(in, p, kind_of(call->op), across);
    if (r->fold > 1) {
        r->how = COL;
        plan_folded(r, kind_of(call->op), across, sm_count);
        if (p->chunks > 1) {
            r->blocks = (uint32_t)((p->results + 31) / 32);
            return;
        }
        r->fold = r->states = 1;
        p->repeated = 0;
        r->how = ANY;
        p->results = r->results;
        p->items = (uint64_t)p->count;
        set_dims(p, in, &call->out[0]);
    }
    int short_rows = p->n_reduced == 1 && p->count % V == 0 && r->results >= SHORT_ROWS;
    if (p->n_reduced > 0 && (p->count >= 32 * V || short_rows) &&
        is_whole(in, in->ndim - 1, V, p->n_reduced == 1))
        r->how = ROW;
    else if (p->n_kept > 0 && p->count >= 8 && in->shape[p->n_kept - 1] >= 32 &&
             is_whole(in, p->n_kept - 1, across, 0))
        r->how = COL;
    if (is_held(p, in, kind_of(call->op), V))
        r->how = HELD;
    if (r->how == HELD)
        plan_held(r, V);
    else if (r->how == ROW)
        plan_row(r, kind_of(call->op), V, sm_count);
    else if (r->how == COL)
        plan_col(r, kind_of(call->op), across, sm_count);
    else
        plan_any(r, sm_count);
    uint64_t width = (uint64_t)p->width;
    if (r->how == ROW && p->lanes == 1)
        width *= REDUCE_SHORT_UNROLL;
    uint64_t blocks = (p->results + width - 1) / width, most = GRID_X;
    if (r->how ==
        HELD) /* each has several rows, so that one is under way while it computes another */
        most = (uint64_t)sm_count * HELD_BLOCKS;
    r->blocks = (uint32_t)(blocks < most ? blocks : most);
}

/* How threads go on along a line, which are p->lanes items apart. */
static void set_walk(reduce_params *p)
{
    const line_dim *dim = p->dim + p->n_kept;
    p->inner_step = 0;
    p->inner_extent = p->n_reduced == 1 ? 1 : 0;
    if (p->n_reduced == 1)
        p->step = p->lanes * dim[0].in;
    if (p->n_reduced != 2 || dim[0].extent == 0 || dim[0].extent > INT32_MAX)
        return;
    p->inner_step = (uint32_t)(p->lanes % dim[0].extent);
    p->inner_extent = (uint32_t)dim[0].extent;
    p->step = p->inner_step * dim[0].in + p->lanes / dim[0].extent * dim[1].in;
    p->carry = dim[1].in - dim[0].extent * dim[0].in;
}

static void set_op(reduce_params *p, const ndp_call *call)
{
    const ndp_reduce *params = call->params;
    int32_t in = call->in[0].dtype, out = call->out[0].dtype;
    p->out_nbytes = (int32_t)ndp_dtype_size(out);
    p->out_is_bool = out == NDP_BOOL;
    p->divisor = call->op == NDP_OP_mean ? (double)p->count : 1;
    if (call->op == NDP_OP_var || call->op == NDP_OP_std)
        p->divisor = (double)p->count - params->correction;
    p->finish = call->op == NDP_OP_any   ? REDUCE_ANY
                : call->op == NDP_OP_all ? REDUCE_ALL
                : call->op == NDP_OP_std ? REDUCE_SQRT
                                         : REDUCE_VALUE;
    /* Either zero of a floating dtype has but the sign bit. */
    p->nonzero = in == NDP_F16 || in == NDP_BF16   ? 0x7fff
                 : in == NDP_F32                   ? 0x7fffffff
                 : in == NDP_C64                   ? 0x7fffffff7fffffff
                 : in == NDP_F64 || in == NDP_C128 ? INT64_MAX
                                                   : -1;
    if (kind_of(call->op) == EXTREME || kind_of(call->op) == POSITION)
        cuda_reduce_keys(p, call->op, in);
}

int32_t cuda_reduce_row_lanes(int32_t op, int32_t dtype, uint64_t results, int64_t count,
                              int sm_count)
{
    const int64_t V = 16 / ndp_dtype_size(dtype);
    reduce_plan r = {.results = results,
                     .p = {.n_kept = 1, .n_reduced = 1, .results = results, .count = count}};
    if (count % V || (count < 32 * V && results < SHORT_ROWS))
        return 0;
    r.p.dim[1] = line_dim_of(count, 1, 0);
    plan_row(&r, kind_of(op), V, sm_count);
    return r.p.chunks == 1 ? r.p.lanes : 0;
}

static uint64_t scratch(const ndp_kernel *base, const ndp_call *call)
{
    reduce_plan r = {.how = ANY};
    if (ndp_view_size(&call->out[0]) == 0)
        return 0;
    make_plan(&r, (const cuda_kernel *)base, call);
    if (r.p.chunks < 2)
        return 0;
    return (uint64_t)r.p.chunks * r.results * (uint64_t)r.states *
           state_bytes(kind_of(call->op), call->in[0].dtype);
}

/* The states of the chunks to results. */
static int32_t join(const cuda_kernel *k, ndp_stream *s, const ndp_call *call, reduce_plan *r)
{
    reduce_params *p = &r->p;
    p->items = (uint64_t)p->chunks * (uint64_t)r->states;
    p->chunks = 1;
    p->results = r->results;
    set_dims(p, &call->in[0], &call->out[0]);
    p->across = r->results > 1;
    p->lanes = power_of_two_from(p->items / 2, REDUCE_THREADS);
    p->width = REDUCE_THREADS / p->lanes;
    uint64_t width = (uint64_t)p->width, blocks = (p->results + width - 1) / width;
    return cuda_launch(k, k->function[JOIN], s, (uint32_t)(blocks < GRID_X ? blocks : GRID_X),
                       REDUCE_THREADS, 0, p);
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    reduce_plan r = {.how = ANY};
    if (ndp_view_size(&call->out[0]) == 0)
        return NDP_OK;
    make_plan(&r, k, call);
    set_walk(&r.p);
    set_op(&r.p, call);
    r.p.in = cuda_ptr(&call->in[0]);
    r.p.out = cuda_ptr(&call->out[0]);
    if (r.p.chunks > 1)
        r.p.scratch = cuda_ptr(&call->scratch);
    int32_t status = cuda_launch_2d(k, k->function[r.how], s, r.blocks, (uint32_t)r.p.chunks,
                                    REDUCE_THREADS, 0, &r.p);
    return status == NDP_OK && r.p.chunks > 1 ? join(k, s, call, &r) : status;
}

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    char name[32];
    int kind = kind_of(like->op);
    int module = cuda_module_of("reduce", module_dtype(kind, like->in[0].dtype));
    int32_t status = NDP_OK;
    k->base.run = run;
    k->base.scratch = scratch;
    const int last = kind == LOGSUMEXP && like->in[0].dtype != NDP_F64 ? HELD : JOIN;
    for (int how = ROW; how <= last && status == NDP_OK; how++) {
        snprintf(name, sizeof name, "%s_%s", names[kind], suffixes[how]);
        status = cuda_function(k->dev, module, name, &k->function[how]);
    }
    return status;
}

static uint64_t dtypes(int32_t op)
{
    return cuda_domain_dtypes(op);
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    if (!(dtypes(like->op) >> like->in[0].dtype & 1))
        return cuda_unsupported(like, why, n);
    return cuda_kernel_get(dev, like, 0, make, out);
}

const cuda_class cuda_reduce = {.dtypes = dtypes, .find = find};
