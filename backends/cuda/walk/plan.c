/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Dimensions of several operands, ordered, merged and cut into what one kernel takes. */
#include "walk/plan.h"
#include <ndock/plugin_facts.h>
#include <string.h>

enum { MIN_LANES = 5 }; /* 32 threads beside each other, or as many as there are columns */

/* ---- making a plan ---- */

void walk_plan_begin(walk_plan *plan)
{
    plan->ndim = plan->operands = 0;
}

void walk_plan_operand(walk_plan *plan, uint64_t at, int64_t unit)
{
    plan->at[plan->operands] = at;
    plan->unit[plan->operands++] = unit;
}

void walk_plan_add(walk_plan *plan, int64_t extent, const int64_t *stride)
{
    if (extent == 1)
        return;
    plan->extent[plan->ndim] = extent;
    for (int32_t i = 0; i < plan->operands; i++)
        plan->stride[i][plan->ndim] = stride[i];
    plan->ndim++;
}

/* Moves the operands' addresses to index x of dimension d. */
static void advance(walk_plan *plan, int32_t d, int64_t x)
{
    for (int32_t i = 0; i < plan->operands; i++)
        plan->at[i] += (uint64_t)(x * plan->stride[i][d] * plan->unit[i]);
}

void walk_plan_turn(walk_plan *plan)
{
    for (int32_t d = 0; d < plan->ndim; d++)
        if (plan->stride[0][d] < 0) {
            advance(plan, d, plan->extent[d] - 1);
            for (int32_t i = 0; i < plan->operands; i++)
                plan->stride[i][d] = -plan->stride[i][d];
        }
}

void walk_plan_swap(walk_plan *plan, int32_t d, int32_t e)
{
    int64_t extent = plan->extent[d];
    plan->extent[d] = plan->extent[e];
    plan->extent[e] = extent;
    for (int32_t i = 0; i < plan->operands; i++) {
        int64_t stride = plan->stride[i][d];
        plan->stride[i][d] = plan->stride[i][e];
        plan->stride[i][e] = stride;
    }
}

static int is_inside(const walk_plan *plan, int32_t d, int32_t e)
{
    uint64_t dst = ndp_magnitude(plan->stride[0][d]), other = ndp_magnitude(plan->stride[0][e]);
    return dst < other ||
           (dst == other && ndp_magnitude(plan->stride[1][d]) < ndp_magnitude(plan->stride[1][e]));
}

void walk_plan_sort(walk_plan *plan)
{
    for (int32_t d = 1; d < plan->ndim; d++)
        for (int32_t at = d; at > 0 && is_inside(plan, at, at - 1); at--)
            walk_plan_swap(plan, at, at - 1);
}

static int steps_alike(const walk_plan *plan, int32_t inner, int32_t outer)
{
    int alike = 1;
    for (int32_t i = 0; i < plan->operands; i++)
        alike &= plan->stride[i][outer] == plan->stride[i][inner] * plan->extent[inner];
    return alike;
}

void walk_plan_merge(walk_plan *plan)
{
    int32_t kept = 0;
    for (int32_t d = 1; d < plan->ndim; d++)
        if (steps_alike(plan, kept, d))
            plan->extent[kept] *= plan->extent[d];
        else if (++kept != d)
            walk_plan_swap(plan, kept, d);
    plan->ndim = plan->ndim > 0 ? kept + 1 : 0;
}

int64_t walk_plan_size(const walk_plan *plan)
{
    int64_t n = 1;
    for (int32_t d = 0; d < plan->ndim; d++)
        n *= plan->extent[d];
    return n;
}

/* ---- pieces ---- */

/* How much of the outermost dimension a piece takes. Of a single dimension that is a multiple of
 * 16, as are patterns of fills. */
static int64_t share_of(const walk_plan *plan, int32_t most)
{
    int64_t size = walk_plan_size(plan), extent = plan->extent[plan->ndim - 1],
            inner = size / extent;
    if (plan->ndim > most)
        return 1;
    if (size <= WALK_MOST)
        return extent;
    return inner < WALK_MOST ? WALK_MOST / inner : 1;
}

int32_t walk_plan_pieces(walk_plan *plan, int32_t most, walk_launch *launch, void *ctx)
{
    int32_t last = plan->ndim - 1, status = NDP_OK;
    int64_t extent = last < 0 ? 1 : plan->extent[last], share = last < 0 ? 1 : share_of(plan, most);
    uint64_t at[WALK_OPERANDS];
    if (share == extent)
        return launch(ctx, plan);
    memcpy(at, plan->at, sizeof at);
    for (int64_t x = 0; x < extent && status == NDP_OK; x += share) {
        plan->extent[last] = share < extent - x ? share : extent - x;
        plan->ndim = last + (plan->extent[last] > 1);
        status = walk_plan_pieces(plan, most, launch, ctx);
        advance(plan, last, share);
    }
    memcpy(plan->at, at, sizeof at);
    plan->extent[last] = extent;
    plan->ndim = last + 1;
    return status;
}

/* ---- what kernels walk by ---- */

void walk_few_of(const walk_plan *piece, cuda_walk_few *walk, int64_t (*stride)[CUDA_WALK_FEW])
{
    walk->ndim = piece->ndim;
    for (int32_t d = 0; d < piece->ndim; d++)
        walk->extent[d] = cuda_divisor_of((uint32_t)piece->extent[d]);
    for (int32_t i = 0; i < piece->operands; i++)
        memcpy(stride[i], piece->stride[i], (size_t)piece->ndim * sizeof **stride);
}

line_dim line_dim_of(int64_t extent, int64_t in, int64_t out)
{
    line_dim d = {extent, in, out, 0, LINE_WIDE};
    if (extent > 0 && extent < INT32_MAX) {
        cuda_divisor by = cuda_divisor_of((uint32_t)extent);
        d.magic = by.magic;
        d.shift = by.shift;
    }
    return d;
}

uint64_t line_dims_of(line_dim *dim, const ndp_view *in, const ndp_view *out, int first, int last)
{
    uint64_t n = 1;
    for (int d = last - 1; d >= first; d--) {
        *dim++ = line_dim_of(in->shape[d], in->stride[d], out ? out->stride[d] : 0);
        n *= (uint64_t)in->shape[d];
    }
    return n;
}

static void set_outer(line_few *few, int32_t to, const walk_plan *piece, int32_t d)
{
    few->walk.extent[to] = cuda_divisor_of((uint32_t)piece->extent[d]);
    few->out[to] = piece->stride[0][d];
    few->in[to] = piece->stride[1][d];
}

static void add_outer(line_few *few, const walk_plan *piece, int32_t d)
{
    set_outer(few, few->walk.ndim++, piece, d);
}

/* In front of those that are further apart in the source: what lies together there is read at about the
 * same time, while results wait in caches until what they lie beside has come (on an H200 a copy of
 * (64, 128, 256, 128) with its axes reversed took 579 us in the order of the results, 546 so). */
static void add_plane(line_few *few, const walk_plan *piece, int32_t d)
{
    int32_t to = few->walk.ndim++;
    for (; to > 0 && ndp_magnitude(few->in[to - 1]) > ndp_magnitude(piece->stride[1][d]); to--) {
        few->walk.extent[to] = few->walk.extent[to - 1];
        few->out[to] = few->out[to - 1];
        few->in[to] = few->in[to - 1];
    }
    set_outer(few, to, piece, d);
}

static uint32_t ceil_quotient(uint64_t n, uint64_t d)
{
    return (uint32_t)((n + d - 1) / d);
}

/* As many threads along the columns as there are, up to a warp; more only for long columns. */
static int32_t lanes_for(uint32_t columns, uint32_t items)
{
    int32_t lanes = 0;
    while (lanes < MIN_LANES && (UINT32_C(1) << lanes) < columns)
        lanes++;
    while (lanes >= MIN_LANES && lanes < 8 && columns >= (items << (lanes + 1)))
        lanes++;
    return lanes;
}

uint32_t line_rows_of(const walk_plan *piece, uint32_t items, line_rows *rows)
{
    rows->dst = piece->at[0];
    rows->src = piece->at[1];
    rows->columns = piece->ndim > 0 ? (uint32_t)piece->extent[0] : 1;
    rows->dst_step = piece->ndim > 0 ? piece->stride[0][0] : 0;
    rows->src_step = piece->ndim > 0 ? piece->stride[1][0] : 0;
    rows->rows = 1;
    rows->outer.walk.ndim = 0;
    for (int32_t d = 1; d < piece->ndim; d++) {
        add_outer(&rows->outer, piece, d);
        rows->rows *= (uint32_t)piece->extent[d];
    }
    rows->lanes = lanes_for(rows->columns, items);
    uint32_t across = UINT32_C(1) << rows->lanes, down = LINE_THREADS >> rows->lanes;
    rows->items_along_rows = rows->columns < across * items && rows->rows > down;
    if (rows->items_along_rows)
        down *= items;
    else
        across *= items;
    uint32_t column_blocks = ceil_quotient(rows->columns, across);
    uint32_t row_blocks = ceil_quotient(rows->rows, down);
    rows->line = 0;
    rows->slots = column_blocks * across;
    /* A few rows that share the lines of the source are read together. */
    rows->rows_first = row_blocks <= 16;
    rows->fast_blocks = cuda_divisor_of(rows->rows_first ? row_blocks : column_blocks);
    return column_blocks * row_blocks;
}

uint32_t line_planes_of(const walk_plan *piece, int32_t y, uint32_t side, line_planes *planes)
{
    planes->dst = piece->at[0];
    planes->src = piece->at[1];
    planes->nx = (uint32_t)piece->extent[0];
    planes->ny = (uint32_t)piece->extent[y];
    planes->dst_x = piece->stride[0][0];
    planes->src_x = piece->stride[1][0];
    planes->dst_y = piece->stride[0][y];
    planes->src_y = piece->stride[1][y];
    planes->tiles_x = cuda_divisor_of(ceil_quotient(planes->nx, side));
    planes->tiles_y = cuda_divisor_of(ceil_quotient(planes->ny, side));
    uint32_t blocks = planes->tiles_x.value * planes->tiles_y.value;
    planes->outer.walk.ndim = 0;
    for (int32_t d = 1; d < piece->ndim; d++)
        if (d != y) {
            add_plane(&planes->outer, piece, d);
            blocks *= (uint32_t)piece->extent[d];
        }
    return blocks;
}

/* ---- walks of any rank and size ---- */

void cuda_walk_begin(cuda_walk *walk)
{
    walk->size = 1;
    walk->ndim = walk->wide = 0;
}

int cuda_walk_add(cuda_walk *walk, int64_t extent)
{
    walk->shape[walk->ndim] = extent;
    walk->size *= (uint64_t)extent;
    return walk->ndim++;
}

void cuda_walk_end(cuda_walk *walk)
{
    walk->wide = walk->size >= ((uint64_t)1 << 31);
    for (int d = 0; d < walk->ndim && !walk->wide && walk->size > 0; d++)
        walk->divisor[d] = cuda_divisor_of((uint32_t)walk->shape[d]);
}
