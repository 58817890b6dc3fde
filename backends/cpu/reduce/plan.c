/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * How a reduction's dimensions are walked and cut.
 *
 * Where a reduced dimension is the densest in memory, each result is folded by itself ("inner").
 * Else neighbouring results are folded together, a row of elements at a time ("sweep"), so that
 * memory is read in the order it lies in. Long reductions with few results are cut into chunks
 * whose states are joined in order. All of it follows from shape and strides alone. */
#include "reduce/plan.h"
#include "walk/blocks.h"

enum {
    MAX_PARTIALS = 256,  /* chunks times results of an inner reduction */
    FAR_BYTES = 1 << 20, /* operands beyond this are read from memory */
    MANY_FOLDS = 8,      /* as long as one, of extremes */
    SHORT =
        CPU_REDUCE_ROW_LEAST /* fewer elements per result than this do not pay for a fold each */
};

const cpu_reduce_cell *cpu_reduce_cell_of(int32_t op, int32_t dtype)
{
    static const uint8_t columns[NDP_OP_END] = {
#define COLUMN(name, DOMAIN, RESULT, ulp, doc) [NDP_OP_##name] = CPU_COLUMN_##name,
#define ND_EXPAND_REDUCE ND_EXPAND_BY(COLUMN)
#define ND_EXPAND_ARGREDUCE ND_EXPAND_BY(COLUMN)
#include <ndock/op_expand.h>
    };
    return &CPU_ISA_PICK(cpu_reduce_loops)->cell[columns[op]][dtype];
}

/* The dimensions of the call. Negative strides are turned round where order does not matter. */
static void plan_axes(cpu_reduce_plan *p, const ndp_view *in, const ndp_view *out, int n_reduced)
{
    int kept = in->ndim - n_reduced, arg = p->cell->finish == CPU_FINISH_POSITION;
    cpu_walk_begin(&p->kept, 2);
    for (int d = 0; d < kept; d++) {
        int64_t step[2] = {in->stride[d] * p->in_bytes, out->stride[d] * p->out_bytes};
        if (step[0] < 0) {
            p->in += step[0] * (in->shape[d] - 1);
            p->out += step[1] * (in->shape[d] - 1);
            step[0] = -step[0];
            step[1] = -step[1];
        }
        cpu_walk_add(&p->kept, in->shape[d], step);
    }
    cpu_walk_sort(&p->kept);
    cpu_walk_end(&p->kept);
    int64_t position = 1;
    for (int d = kept; arg && d < in->ndim; d++)
        position *= in->shape[d];
    cpu_walk_begin(&p->reduced, arg ? 2 : 1);
    for (int d = kept; d < in->ndim; d++) {
        if (arg)
            position = in->shape[d] ? position / in->shape[d] : 0;
        int64_t step[2] = {in->stride[d] * p->in_bytes, position};
        if (step[0] < 0 && !arg) {
            p->in += step[0] * (in->shape[d] - 1);
            step[0] = -step[0];
        }
        cpu_walk_add(&p->reduced, in->shape[d], step);
    }
}

/* How many rows of the innermost kept run make one worth sweeping, when they are short and follow
 * each other in memory without a gap; else 1. */
static int64_t rows_in_one(const cpu_reduce_plan *p)
{
    const cpu_walk *k = &p->kept, *r = &p->reduced;
    int64_t run = k->shape[k->ndim - 1], width = run * p->in_bytes;
    if (!p->cell->direct || run < 2 || run > 128)
        return 1;
    if (k->stride[0][k->ndim - 1] != p->in_bytes || r->ndim != 1 || r->stride[0][0] != width)
        return 1;
    return CPU_SWEEP_REALS / 2 / (run * p->cell->comps);
}

/* Inner or sweep. With few elements per result the calls cost more than the strides do. */
static void plan_mode(cpu_reduce_plan *p)
{
    uint64_t densest = INT64_MAX;
    int64_t results = p->kept.size, n = p->reduced.size;
    int arg = p->cell->finish == CPU_FINISH_POSITION;
    int narrow = p->kept.shape[p->kept.ndim - 1] < 8;
    if (!arg) {
        cpu_walk_sort(&p->reduced);
        cpu_walk_end(&p->reduced);
    }
    for (int d = 0; d < p->reduced.ndim; d++)
        if (ndp_magnitude(p->reduced.stride[0][d]) < densest)
            densest = ndp_magnitude(p->reduced.stride[0][d]);
    p->wide = results > 1 && !arg ? rows_in_one(p) : 1;
    if (n < 4 * p->wide)
        p->wide = 1;
    p->sweep = results > 1 && (p->wide > 1 || n < SHORT ||
                               ((int64_t)densest > cpu_walk_inner(&p->kept, 0) && !narrow));
    if (!arg)
        return;
    /* A sweep keeps positions in order, so that the first of equal elements is met first. */
    if (!p->sweep)
        cpu_walk_sort(&p->reduced);
    cpu_walk_end(&p->reduced);
}

static void plan_inner(cpu_reduce_plan *p)
{
    const cpu_walk *r = &p->reduced;
    int last = r->ndim - 1;
    p->unit = p->cell->direct && r->stride[0][last] == p->in_bytes;
    p->linear = r->operands == 1 || (r->ndim == 1 && (r->stride[1][0] == 1 || r->size <= 1));
    p->cut_runs = !p->linear || (p->unit && r->shape[last] >= 256);
    /* Only what is folded in place lies far away; gathered elements lie in a buffer. */
    const int in_place = p->unit && (p->cut_runs || r->ndim == 1);
    if (in_place && p->cell->finish != CPU_FINISH_PRODUCT &&
        r->size * p->in_bytes > FAR_BYTES / p->kept.size)
        p->far = cpu_blocks_asks() ? CPU_FAR_ASKED : CPU_FAR_SEEN;
    /* No bit depends on how extremes are cut. What crosses runs is gathered, and the buffer has room for one fold. */
    if (p->unit && p->cut_runs && p->cell->finish == CPU_FINISH_VALUE && !p->cell->stop)
        p->fold *= MANY_FOLDS;
    p->chunk = r->size;
    p->chunks = 1;
    p->whole = p->unit && r->ndim == 1 && r->size > 0 && r->size <= p->fold &&
               (r->operands == 1 || r->stride[1][0] == 1);
    if (r->size > CPU_REDUCE_CHUNK && p->kept.size < MAX_PARTIALS) {
        int64_t least = cpu_ceil_div(r->size, MAX_PARTIALS / p->kept.size);
        p->chunk =
            cpu_ceil_div(least > CPU_REDUCE_CHUNK ? least : CPU_REDUCE_CHUNK, p->fold) * p->fold;
        p->chunks = cpu_ceil_div(r->size, p->chunk);
    }
}

/* Elements that must be gathered are gathered along a long dimension, where the innermost is a short one. */
static void turn_to_longest(cpu_walk *k)
{
    int last = k->ndim - 1, longest = last;
    for (int d = 0; d < last && k->shape[last] < SHORT / 2; d++)
        if (k->shape[d] > 4 * k->shape[longest])
            longest = d;
    cpu_walk_swap(k, longest, last);
}

static void plan_sweep(cpu_reduce_plan *p)
{
    cpu_walk *k = &p->kept;
    int last = k->ndim - 1;
    int64_t reals = CPU_SWEEP_REALS / p->cell->comps;
    p->unit = p->cell->direct && k->stride[0][last] == p->in_bytes &&
              (k->shape[last] >= SHORT || p->wide > 1);
    if (!p->unit)
        turn_to_longest(k);
    p->per_run = p->unit ? cpu_ceil_div(k->shape[last], reals) : 0;
    /* Rows that must be gathered share one buffer. */
    int64_t gathered = CPU_FOLD_BYTES / (CPU_SWEEP_ROWS / 2) / (p->cell->bytes * p->cell->comps);
    p->tile = p->unit || gathered > reals ? reals : gathered;
    p->tiles = p->unit ? k->size / k->shape[last] * p->per_run : cpu_ceil_div(k->size, p->tile);
    int64_t most_wide = p->unit ? k->shape[last] : k->size, n = p->reduced.size;
    int64_t width = p->tile < most_wide ? p->tile : most_wide;
    int64_t wanted = cpu_ceil_div(64, p->tiles), most = n * width / CPU_REDUCE_CHUNK;
    p->chunks = most < 2 || wanted < 2 ? 1 : most < wanted ? most : wanted;
    p->chunk = p->chunks == 1
                   ? n
                   : cpu_ceil_div(cpu_ceil_div(n, p->chunks), CPU_SWEEP_ROWS) * CPU_SWEEP_ROWS;
    p->chunks = p->chunk ? cpu_ceil_div(n, p->chunk) : 1;
}

cpu_finish cpu_reduce_finish_of(const cpu_reduce_cell *cell, const ndp_call *call, int64_t count)
{
    const ndp_reduce *params = call->params;
    return (cpu_finish){.finish = cell->finish,
                        .dtype = call->out[0].dtype,
                        .comps = cell->comps,
                        .planes = cell->reducer->state_bytes / 8,
                        .count = count,
                        .correction = params->correction};
}

void cpu_reduce_plan_make(cpu_reduce_plan *p, const ndp_call *call)
{
    const ndp_reduce *params = call->params;
    const ndp_view *in = &call->in[0], *out = &call->out[0];
    p->cell = cpu_reduce_cell_of(call->op, in->dtype);
    p->in = cpu_ptr(in);
    p->out = cpu_ptr(out);
    p->in_bytes = ndp_dtype_size(in->dtype);
    p->out_bytes = ndp_dtype_size(out->dtype);
    p->fold = p->cell->fold;
    p->far = CPU_FAR_NOT;
    plan_axes(p, in, out, params->n_reduced);
    plan_mode(p);
    if (p->kept.size == 0)
        return;
    if (p->sweep)
        plan_sweep(p);
    else
        plan_inner(p);
    p->finish = cpu_reduce_finish_of(p->cell, call, p->reduced.size);
}
