/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The host's side of the walks over strides, without a device: random views are planned and cut,
 * and the parameters walked as kernels walk them. Every element has to be met once, with the
 * addresses that its indices say. */
#include "tests/tap.h"
#include "walk/plan.h"

enum { CASES = 400, MOST = 1 << 14, DIMS = 9 };

static uint64_t state = 20261123;
static int64_t below(int64_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int64_t)(state >> 11) % n;
}

/* ---- what is walked: a destination without overlap, and sources of any strides ---- */

typedef struct {
    int ndim;
    int64_t size, extent[DIMS], stride[WALK_OPERANDS][DIMS], unit[WALK_OPERANDS];
    uint64_t at[WALK_OPERANDS];
} view;

enum { DST = 1 << 24 }; /* its lowest address */

/* The destination is dense in an order of dimensions by chance, some of them backwards and some
 * with a gap after each step. */
static void lay_out(view *v)
{
    int order[DIMS];
    int64_t step = 1 + below(2);
    v->at[0] = DST;
    for (int d = 0; d < v->ndim; d++) {
        int e = (int)below(d + 1);
        order[d] = order[e];
        order[e] = d;
    }
    for (int i = 0; i < v->ndim; i++) {
        int d = order[i], backwards = below(4) == 0;
        v->stride[0][d] = backwards ? -step : step;
        v->at[0] += backwards ? (uint64_t)((v->extent[d] - 1) * step * v->unit[0]) : 0;
        step *= v->extent[d] + (below(4) == 0);
    }
}

static void make_view(view *v, int64_t longest)
{
    v->ndim = (int)below(DIMS + 1);
    v->size = 1;
    for (int d = 0; d < v->ndim; d++) {
        v->extent[d] = 1 + below(below(3) ? longest : 3);
        if (v->size * v->extent[d] > MOST / 8)
            v->extent[d] = 1;
        v->size *= v->extent[d];
    }
    for (int i = 0; i < WALK_OPERANDS; i++) {
        v->unit[i] = (int64_t)1 << below(4);
        v->at[i] = (uint64_t)(DST + below(1 << 20) * 16);
        for (int d = 0; d < v->ndim; d++)
            v->stride[i][d] = below(4) ? below(2000) - 1000 : 0;
    }
    lay_out(v);
    /* Now and then a source lies like the destination, so that dimensions are merged. */
    if (below(2))
        memcpy(v->stride[1], v->stride[0], sizeof v->stride[0]);
}

static void addresses(const view *v, int64_t element, uint64_t *at)
{
    memcpy(at, v->at, sizeof v->at);
    for (int d = v->ndim - 1; d >= 0; d--) {
        int64_t x = element % v->extent[d];
        element /= v->extent[d];
        for (int i = 0; i < WALK_OPERANDS; i++)
            at[i] += (uint64_t)(x * v->stride[i][d] * v->unit[i]);
    }
}

static void plan_of(walk_plan *plan, const view *v, int operands)
{
    int64_t stride[WALK_OPERANDS];
    walk_plan_begin(plan);
    for (int i = 0; i < operands; i++)
        walk_plan_operand(plan, v->at[i], v->unit[i]);
    for (int d = v->ndim - 1; d >= 0; d--) {
        for (int i = 0; i < operands; i++)
            stride[i] = v->stride[i][d];
        walk_plan_add(plan, v->extent[d], stride);
    }
}

/* ---- what was met ---- */

static int64_t met;
static struct {
    uint64_t at[WALK_OPERANDS];
} seen[2 * MOST];

static void meet(const uint64_t *at, int operands)
{
    memset(&seen[met], 0, sizeof seen[met]);
    memcpy(seen[met].at, at, (size_t)operands * sizeof *at);
    met += met < 2 * MOST - 1;
}

static int by_address(const void *a, const void *b)
{
    return memcmp(a, b, sizeof seen[0]);
}

/* Whether all elements of the view were met, each once; in_order: in C order. */
static int all_met(const view *v, int operands, int in_order)
{
    static uint64_t want[MOST][WALK_OPERANDS];
    memset(want, 0, sizeof want);
    for (int64_t i = 0; i < v->size; i++) {
        uint64_t at[WALK_OPERANDS];
        addresses(v, i, at);
        memcpy(want[i], at, (size_t)operands * sizeof *at);
    }
    if (!in_order) {
        qsort(want, (size_t)v->size, sizeof want[0], by_address);
        qsort(seen, (size_t)met, sizeof seen[0], by_address);
    }
    return met == v->size && memcmp(want, seen, (size_t)met * sizeof seen[0]) == 0;
}

static uint32_t quotient(uint32_t n, uint32_t magic, uint32_t shift)
{
    return ((uint32_t)(((uint64_t)n * magic) >> 32) + n) >> shift;
}

/* ---- by element, as cuda_walk_from() does ---- */

static int32_t meet_elements(void *ctx, const walk_plan *piece)
{
    int64_t stride[WALK_OPERANDS][CUDA_WALK_FEW], n = walk_plan_size(piece);
    cuda_walk_few walk;
    (void)ctx;
    walk_few_of(piece, &walk, stride);
    for (int64_t element = 0; element < n; element++) {
        uint64_t at[WALK_OPERANDS];
        uint32_t rest = (uint32_t)element;
        memcpy(at, piece->at, sizeof at);
        for (int d = 0; d < walk.ndim; d++) {
            uint32_t above = quotient(rest, walk.extent[d].magic, walk.extent[d].shift);
            for (int i = 0; i < piece->operands; i++)
                at[i] += (uint64_t)((rest - above * walk.extent[d].value) * stride[i][d] *
                                    piece->unit[i]);
            rest = above;
        }
        meet(at, piece->operands);
    }
    return NDP_OK;
}

static void by_element(void)
{
    int right = 0, ordered = 0, kept = 0;
    for (int c = 0; c < CASES; c++) {
        view v;
        walk_plan plan, before;
        memset(&plan, 0, sizeof plan);
        make_view(&v, 12);
        plan_of(&plan, &v, WALK_OPERANDS);
        before = plan;
        met = 0;
        int32_t status = walk_plan_pieces(&plan, CUDA_WALK_FEW, meet_elements, NULL);
        ordered += status == NDP_OK && all_met(&v, WALK_OPERANDS, 1);
        kept += memcmp(&plan, &before, sizeof plan) == 0;
        walk_plan_turn(&plan);
        met = 0;
        status = walk_plan_pieces(&plan, CUDA_WALK_FEW, meet_elements, NULL);
        right += status == NDP_OK && all_met(&v, WALK_OPERANDS, 0);
    }
    is_int(ordered, CASES, "four operands by element, in C order, in pieces of six dimensions");
    is_int(kept, CASES, "cutting leaves the plan as it was");
    is_int(right, CASES, "with the destination's strides made positive");
}

/* ---- by rows and by tiles, as line_items() and the tiles of copies do ---- */

/* What line_offsets() adds for line n: [0] of the destination, [1] of the source. */
static void add_line(const line_few *few, uint32_t n, uint64_t *at)
{
    const cuda_walk_few *w = &few->walk;
    for (int d = 0; d < w->ndim; d++) {
        uint32_t above = quotient(n, w->extent[d].magic, w->extent[d].shift);
        int64_t x = d + 1 < w->ndim ? (int64_t)(n - above * w->extent[d].value) : (int64_t)n;
        at[0] += (uint64_t)(x * few->out[d]);
        at[1] += (uint64_t)(x * few->in[d]);
        n = above;
    }
}

static void meet_row(const line_rows *r, uint32_t column, uint32_t row)
{
    uint64_t at[2] = {r->dst + (uint64_t)(column * r->dst_step),
                      r->src + (uint64_t)(column * r->src_step)};
    if (column >= r->columns || row >= r->rows)
        return;
    add_line(&r->outer, row, at);
    meet(at, 2);
}

static int32_t meet_rows(void *ctx, const walk_plan *piece)
{
    line_rows r;
    uint32_t items = *(const uint32_t *)ctx, blocks = line_rows_of(piece, items, &r);
    uint32_t across = 1u << r.lanes, down = LINE_THREADS >> r.lanes;
    uint32_t wide = r.items_along_rows ? across : across * items;
    uint32_t high = r.items_along_rows ? down * items : down;
    for (uint32_t b = 0; b < blocks; b++) {
        uint32_t slow = quotient(b, r.fast_blocks.magic, r.fast_blocks.shift);
        uint32_t fast = b - slow * r.fast_blocks.value;
        for (uint32_t t = 0; t < LINE_THREADS * items; t++) {
            uint32_t thread = t % LINE_THREADS, item = t / LINE_THREADS;
            uint32_t column = (r.rows_first ? slow : fast) * wide + thread % across;
            uint32_t row = (r.rows_first ? fast : slow) * high + thread / across;
            meet_row(&r, column + (r.items_along_rows ? 0 : item * across),
                     row + (r.items_along_rows ? item * down : 0));
        }
    }
    return NDP_OK;
}

static int32_t meet_tiles(void *ctx, const walk_plan *piece)
{
    line_planes p;
    uint32_t side = 4;
    if (piece->ndim < 2)
        return meet_rows(ctx, piece);
    uint32_t blocks = line_planes_of(piece, 1 + (int32_t)below(piece->ndim - 1), side, &p);
    for (uint32_t b = 0; b < blocks; b++) {
        uint32_t above = quotient(b, p.tiles_y.magic, p.tiles_y.shift);
        uint32_t plane = quotient(above, p.tiles_x.magic, p.tiles_x.shift);
        uint32_t y0 = (b - above * p.tiles_y.value) * side;
        uint32_t x0 = (above - plane * p.tiles_x.value) * side;
        for (uint32_t y = y0; y < y0 + side && y < p.ny; y++)
            for (uint32_t x = x0; x < x0 + side && x < p.nx; x++) {
                uint64_t at[2] = {p.dst + (uint64_t)(x * p.dst_x + y * p.dst_y),
                                  p.src + (uint64_t)(x * p.src_x + y * p.src_y)};
                add_line(&p.outer, plane, at);
                meet(at, 2);
            }
    }
    return NDP_OK;
}

static int sorted(const walk_plan *plan)
{
    int in_order = 1;
    for (int d = 1; d < plan->ndim; d++)
        in_order &= plan->stride[0][d - 1] > 0 && plan->stride[0][d - 1] < plan->stride[0][d];
    return in_order;
}

static void by_line(void)
{
    int rows = 0, tiles = 0, in_order = 0, merged = 0;
    for (int c = 0; c < CASES; c++) {
        uint32_t items = 1u << below(4);
        view v;
        walk_plan plan;
        make_view(&v, c % 2 ? 12 : 600);
        v.unit[1] = v.unit[0] = 1;
        plan_of(&plan, &v, 2);
        walk_plan_turn(&plan);
        walk_plan_sort(&plan);
        in_order += sorted(&plan);
        int ndim = plan.ndim;
        walk_plan_merge(&plan);
        merged += plan.ndim < ndim;
        met = 0;
        (void)!walk_plan_pieces(&plan, CUDA_WALK_FEW + 1, meet_rows, &items);
        rows += all_met(&v, 2, 0);
        met = 0;
        (void)!walk_plan_pieces(&plan, CUDA_WALK_FEW + 1, meet_tiles, &items);
        tiles += all_met(&v, 2, 0);
    }
    is_int(in_order, CASES, "dimensions in the order of the destination");
    ok(merged > CASES / 20, "dimensions that step alike become one, here in %d plans", merged);
    is_int(rows, CASES, "two operands by rows");
    is_int(tiles, CASES, "two operands by tiles");
}

/* ---- more than a launch can take ---- */

typedef struct {
    int64_t size, pieces, refuse;
    int good, lines; /* lines: not of a single dimension, whose pieces begin at multiples of 16 */
} large;

static int32_t meet_large(void *ctx, const walk_plan *piece)
{
    large *l = ctx;
    int64_t n = walk_plan_size(piece);
    l->good &= n <= WALK_MOST && piece->ndim <= 2 && piece->at[0] == (uint64_t)l->size;
    l->good &= l->lines || l->size % 16 == 0;
    l->size += n;
    return ++l->pieces == l->refuse ? NDP_ERR_IO : NDP_OK;
}

static void cut_large(void)
{
    static const int64_t shapes[][3] = {
        {INT64_C(5) << 30, 1, 1}, {3, (1 << 30) + 5, 1}, {(1 << 29) + 1, 7, 3}, {70000, 70000, 2}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const int64_t *n = shapes[i];
        large l = {.good = 1, .lines = n[1] > 1}, refused = {.refuse = 2};
        walk_plan plan;
        walk_plan_begin(&plan);
        walk_plan_operand(&plan, 0, 1);
        walk_plan_add(&plan, n[0], (int64_t[]){1});
        walk_plan_add(&plan, n[1], (int64_t[]){n[0]});
        walk_plan_add(&plan, n[2], (int64_t[]){n[0] * n[1]});
        int32_t status = walk_plan_pieces(&plan, 2, meet_large, &l);
        ok(status == NDP_OK && l.size == n[0] * n[1] * n[2] && l.good,
           "a large plan is cut in pieces that a launch can take, in order");
        status = walk_plan_pieces(&plan, 2, meet_large, &refused);
        ok(status == NDP_ERR_IO && refused.pieces == 2, "a launch that fails is the last");
    }
}

/* ---- divisors, and walks of any size ---- */

static void divides(void)
{
    int right = 0;
    for (int c = 0; c < 1 << 16; c++) {
        uint32_t d = (uint32_t)(1 + below(below(2) ? 1000 : INT32_MAX));
        uint32_t n = (uint32_t)below((int64_t)INT32_MAX + 1), near = n / d * d;
        cuda_divisor by = cuda_divisor_of(d);
        line_dim dim = line_dim_of(d, 1, 2);
        right += quotient(n, by.magic, by.shift) == n / d && by.value == d;
        right += quotient(near, by.magic, by.shift) == near / d;
        right += d == INT32_MAX ? dim.shift == LINE_WIDE
                                : dim.magic == by.magic && dim.shift == by.shift;
    }
    is_int(right, 3 << 16, "quotients by multiplication");
    is_int(line_dim_of((int64_t)1 << 40, 1, 1).shift, LINE_WIDE, "lines longer than 31 bits");
    static cuda_walk walk;
    cuda_walk_begin(&walk);
    cuda_walk_add(&walk, 1 << 15);
    is_int(cuda_walk_add(&walk, (1 << 16) - 1), 1, "the second dimension is dimension 1");
    cuda_walk_end(&walk);
    ok(!walk.wide && walk.divisor[1].value == (1 << 16) - 1, "below 2^31 elements by 32 bits");
    cuda_walk_add(&walk, 2);
    cuda_walk_end(&walk);
    ok(walk.wide && walk.ndim == 3, "from 2^31 elements on by 64 bits");
}

static void views_as_lines(void)
{
    const int64_t shape[3] = {2, 3, 5}, from[3] = {15, 5, 1}, to[3] = {-9, 3, 7};
    ndp_view in = {.ndim = 3, .shape = shape, .stride = from};
    ndp_view out = {.ndim = 3, .shape = shape, .stride = to};
    line_dim dim[3];
    is_int(line_dims_of(dim, &in, &out, 0, 2), 6, "two dimensions number six lines");
    ok(dim[0].extent == 3 && dim[0].in == 5 && dim[0].out == 3, "the inner one first");
    ok(dim[1].extent == 2 && dim[1].in == 15 && dim[1].out == -9, "then the outer one");
    is_int(line_dims_of(dim, &in, NULL, 2, 3), 5, "one of five along a line");
    ok(dim[0].in == 1 && dim[0].out == 0, "of which the output has none");
    is_int(line_dims_of(dim, &in, &out, 1, 1), 1, "no dimension is one line");
}

TAP_MAIN({"by_element", by_element}, {"by_line", by_line}, {"cut_large", cut_large},
         {"divides", divides}, {"views_as_lines", views_as_lines})
