/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Normalisations with weights of any dimensions, and gradients with those for weights: how a call is
 * cut into cells and parts. */
#include <string.h>
#include "neural/group_call.h"
#include "walk/plan.h"

enum { BLOCKS_A_PROCESSOR = 8, COLUMN_BLOCKS = 4, PART_ITEMS = 2048, WARP_ITEMS = 512 };
enum { MOST_PARTS = 1024, MOST_HELD = 200 << 10 };

/* Dimensions of the views with their classes: kept or reduced, with or without weights. Extents of 1
 * are left out; neighbours of a class that every operand steps through evenly are one. */
static void take_dims(group_call *c, int ndim, int n_reduced)
{
    c->n = 0;
    for (int d = ndim - 1; d >= 0; d--) {
        group_extent next = {.extent = c->view[GROUP_X]->shape[d],
                             .reduced = d >= ndim - n_reduced};
        if (next.extent == 1)
            continue;
        for (int o = 0; o < GROUP_OPERANDS; o++) {
            const ndp_view *v = c->view[o];
            next.stride[o] = v && v->shape[d] > 1 ? v->stride[d] : 0;
        }
        if (c->view[GROUP_DSCALE])
            next.weighted = c->view[GROUP_DSCALE]->shape[d] > 1;
        else
            next.weighted = next.stride[GROUP_SCALE] != 0 || next.stride[GROUP_BIAS] != 0;
        group_extent *last = c->n ? &c->dim[c->n - 1] : NULL;
        int joins = last && last->reduced == next.reduced && last->weighted == next.weighted;
        for (int o = 0; joins && o < GROUP_OPERANDS; o++)
            joins = next.stride[o] == last->stride[o] * last->extent;
        if (joins)
            last->extent *= next.extent;
        else
            c->dim[c->n++] = next;
    }
}

/* Dimensions of a class by rising distance in x, the densest one innermost. */
static void sort_dims(group_call *c)
{
    for (int i = 1; i < c->n; i++)
        for (int d = i; d > 0; d--) {
            group_extent *a = &c->dim[d - 1], *b = &c->dim[d], t = *a;
            if (ndp_magnitude(a->stride[GROUP_X]) <= ndp_magnitude(b->stride[GROUP_X]))
                break;
            *a = *b;
            *b = t;
        }
}

static group_dim dim_of(const group_extent *e, int64_t V, int g, int scale, int bias)
{
    group_dim d = {.at =
                       line_dim_of(e->extent / V, e->stride[GROUP_X] * V, e->stride[GROUP_OUT] * V),
                   .g = e->stride[g] * V,
                   .scale = e->stride[scale] * V,
                   .bias = e->stride[bias] * V};
    return d;
}

/* Whether the operands that are read and written in vectors can be, along the dimension. */
static int is_whole(const group_call *c, int along, int64_t V, int64_t bytes)
{
    static const int operands[] = {GROUP_X, GROUP_OUT, GROUP_G};
    if (along < 0 || c->dim[along].extent % V)
        return 0;
    for (int k = 0; k < 3; k++) {
        const ndp_view *v = c->view[operands[k]];
        if (!v)
            continue;
        if (c->dim[along].stride[operands[k]] != 1 || cuda_ptr(v) % (uint64_t)(V * bytes))
            return 0;
        for (int d = 0; d < c->n; d++)
            if (d != along && c->dim[d].stride[operands[k]] % V)
                return 0;
    }
    return 1;
}

/* Cells: dimensions that are kept or have weights, those of a row innermost; others are items'. The
 * one numbered vector is counted in vectors. */
static void add_dims(const group_call *c, group_params *p, int vector)
{
    p->cells = p->items = p->per_row = 1;
    for (int class = 0; class < 3; class ++) {
        for (int i = 0; i < c->n; i++) {
            const group_extent *e = &c->dim[i];
            const int is = !e->reduced ? 1 : e->weighted ? 0 : 2;
            if (is != class)
                continue;
            const int64_t by = i == vector ? c->V : 1;
            p->dim[p->n_cell + p->n_item] = dim_of(e, by, GROUP_G, GROUP_SCALE, GROUP_BIAS);
            *(class == 2 ? &p->n_item : &p->n_cell) += 1;
            *(class == 2 ? &p->items : &p->cells) *= e->extent / by;
            p->per_row *= class == 0 ? e->extent / by : 1;
        }
    }
}

static void call_make(group_call *c, const ndp_call *call, const ndp_dev *dev, int grad)
{
    const ndp_norm *params = call->params;
    memset(c, 0, sizeof *c);
    c->view[GROUP_X] = &call->in[grad];
    c->view[GROUP_OUT] = &call->out[0];
    c->view[GROUP_G] = grad ? &call->in[0] : NULL;
    c->view[GROUP_SCALE] = params->has_scale ? &call->in[1 + grad] : NULL;
    c->view[GROUP_BIAS] = !grad && params->has_bias ? &call->in[call->n_in - 1] : NULL;
    for (uint32_t i = 1; i < call->n_out; i++)
        c->view[(grad ? GROUP_DSCALE : GROUP_MEANS) + i - 1] = &call->out[i];
    c->bytes = ndp_dtype_size(c->view[GROUP_X]->dtype);
    c->processors = dev->sm_count > 0 ? dev->sm_count : 1;
    c->grad = grad;
    take_dims(c, c->view[GROUP_X]->ndim, params->n_reduced);
    sort_dims(c);
}

/* Parts of the items of each of so many units, so that the device is busy; of whole turns of a block
 * where that leaves parts enough. */
static void share(const group_call *c, group_params *p, int64_t units, int64_t least, int64_t turn)
{
    const int64_t most_blocks = (turn > 1 ? COLUMN_BLOCKS : BLOCKS_A_PROCESSOR) * c->processors;
    int64_t parts = turn > 1 ? most_blocks / units : (most_blocks + units - 1) / units;
    const int64_t most = p->items / least < MOST_PARTS ? p->items / least : MOST_PARTS;
    parts = parts < most ? parts : most;
    parts = parts > 1 ? parts : 1;
    p->chunk = (p->items + parts - 1) / parts;
    if (p->chunk > turn)
        p->chunk = (p->chunk + turn - 1) / turn * turn;
    p->parts = (int32_t)((p->items + p->chunk - 1) / p->chunk);
}

/* Returns how many blocks lie side by side for so many columns. */
static int64_t set_columns(const group_call *c, group_params *p, int64_t columns)
{
    p->lanes = 32;
    while (p->lanes > 1 && p->lanes / 2 >= columns)
        p->lanes /= 2;
    const int64_t lines = GROUP_THREADS / p->lanes, units = (columns + p->lanes - 1) / p->lanes;
    share(c, p, units, 8 * lines, (c->bytes == 2 && !c->grad ? 8 : 4) * lines);
    p->cell_step = 1;
    p->part_step = p->cells;
    return units;
}

/* Whether a block can hold a row: it lies dense, channel by channel, and its shared memory has room. */
static int is_held(group_plan *r, const ndp_dev *dev)
{
    const group_call *c = &r->call;
    group_params *p = &r->p;
    const group_dim *items = &p->dim[p->n_cell];
    const int64_t most = dev->shared_most - 2048 < MOST_HELD ? dev->shared_most - 2048 : MOST_HELD;
    const int64_t vectors = p->per_row * p->items, span = p->items * c->V;
    if (c->grad || c->view[GROUP_MEANS] || !r->vectors || p->n_item != 1 || vectors * 16 > most ||
        p->cells / p->per_row < c->processors / 2 || items->at.in != c->V || items->at.out != c->V)
        return 0;
    if (p->per_row > 1 &&
        (p->dim[0].at.extent != p->per_row || p->dim[0].at.in != span || p->dim[0].at.out != span))
        return 0;
    p->by_items = cuda_divisor_of((uint32_t)p->items);
    r->held_threads = 64;
    while (r->held_threads < GROUP_HELD_THREADS && r->held_threads * 4 < vectors)
        r->held_threads *= 2;
    return 1;
}

void group_plan_make(group_plan *r, const ndp_call *call, const ndp_dev *dev, int grad)
{
    group_call *c = &r->call;
    call_make(c, call, dev, grad);
    r->held = 0;
    memset(&r->p, 0, sizeof r->p);
    group_params *p = &r->p;
    const int64_t columns_V = c->bytes == 8 ? 2 : 4;
    const int beside = c->n > 0 && !c->dim[0].reduced;
    r->columns = beside && is_whole(c, 0, columns_V, c->bytes) && c->dim[0].extent >= 2 * columns_V;
    for (int d = 0; d < c->n; d++)
        r->columns &= !(c->dim[d].reduced && c->dim[d].weighted);
    c->V = 16 / c->bytes;
    r->vectors = !r->columns && c->n > 0 && c->dim[0].reduced && !c->dim[0].weighted &&
                 is_whole(c, 0, c->V, c->bytes);
    add_dims(c, p, r->vectors ? 0 : -1);
    p->eps = ((const ndp_norm *)call->params)->eps;
    p->count = (double)p->items * (double)(r->vectors ? c->V : 1) * (double)p->per_row;
    p->inverse = 1.0 / p->count;
    p->centred = call->op != NDP_OP_rms_norm_grads;
    if (r->columns) {
        r->column_blocks = set_columns(c, p, p->cells / columns_V);
        return;
    }
    r->held = is_held(r, dev);
    r->warp = p->items <= WARP_ITEMS && p->cells > 1;
    p->parts = 1;
    p->chunk = p->items;
    if (!r->warp)
        share(c, p, p->cells, PART_ITEMS, 1);
    p->cell_step = p->parts;
    p->part_step = 1;
}

/* Whether rows have one stride and all reduced dimensions have weights, no others. */
static int is_of_rows(const group_call *c)
{
    int kept = 0, is = 1;
    for (int d = 0; d < c->n; d++) {
        kept += !c->dim[d].reduced;
        is &= c->dim[d].reduced == c->dim[d].weighted;
    }
    return is && kept <= 1;
}

int group_plan_rows(group_plan *r, const ndp_call *call, const ndp_dev *dev)
{
    group_call *c = &r->call;
    call_make(c, call, dev, 1);
    r->held = 0;
    memset(&r->p, 0, sizeof r->p);
    if (call->n_out < 2 || !is_of_rows(c))
        return 0;
    group_params *p = &r->p;
    const int64_t V = c->bytes == 8 ? 2 : 4;
    p->cells = p->items = p->per_row = 1;
    for (int kept = 0; kept < 2; kept++)
        for (int d = 0; d < c->n; d++)
            if (c->dim[d].reduced != kept) {
                p->dim[p->n_cell + p->n_item] =
                    dim_of(&c->dim[d], 1, GROUP_G, GROUP_SCALE, GROUP_BIAS);
                *(kept ? &p->n_item : &p->n_cell) += 1;
                *(kept ? &p->items : &p->cells) *= c->dim[d].extent;
            }
    r->vectors = p->n_cell > 0 && c->dim[0].reduced && is_whole(c, 0, V, c->bytes);
    r->column_blocks = set_columns(c, p, r->vectors ? p->cells / V : p->cells);
    return 1;
}

/* Numbers of cells, in the order of add_dims. */
void group_plan_weights(const group_plan *r, group_weights *w)
{
    const group_call *c = &r->call;
    int64_t step = 1, weights = 1, sums = 1;
    memset(w, 0, sizeof *w);
    for (int weighted = 1; weighted >= 0; weighted--) {
        step = 1;
        for (int class = 0; class < 2; class ++)
            for (int d = 0; d < c->n; d++) {
                const group_extent *e = &c->dim[d];
                if (e->reduced == class || (e->reduced && !e->weighted))
                    continue;
                if (e->weighted == weighted) {
                    group_dim *to = &w->dim[w->n_weight + w->n_sum];
                    *to = dim_of(e, 1, GROUP_G, GROUP_DSCALE, GROUP_DBIAS);
                    to->at.in = step;
                    to->at.out = e->stride[GROUP_DSCALE];
                    *(weighted ? &w->n_weight : &w->n_sum) += 1;
                    *(weighted ? &weights : &sums) *= e->extent;
                }
                step *= e->extent;
            }
    }
    w->weights = weights;
    w->sums = sums;
    w->per_row = r->p.per_row;
    w->parts = r->p.parts;
    w->cell_step = r->p.cell_step;
    w->part_step = r->p.part_step;
}
