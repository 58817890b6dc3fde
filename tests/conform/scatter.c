/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: scatter in its four modes, and index_add. */
#include <math.h>
#include "tests/conform/positions.h"

static const char *const mode_names[] = {"scatter", "scatter_add", "scatter_min", "scatter_max"};
static const nd_op mode_ops[] = {ND_OP_scatter, ND_OP_scatter_add, ND_OP_scatter_min,
                                 ND_OP_scatter_max};

/* f16 and bf16 sums are exact in long double, those of f32 round the same through it; f64 adds
 * itself. */
static long double add_real(nd_dtype dtype, long double a, long double b)
{
    volatile double sum = (double)a + (double)b;
    return dtype == ND_F64 || dtype == ND_C128 ? (long double)sum : a + b;
}

static bool is_nan(cell c)
{
    return isnan(c.re);
}

static bool below(cell a, cell b)
{
    return a.kind == ND_KIND_FLOAT ? a.re < b.re : a.i < b.i;
}

/* One update of an element, rounded to its dtype. */
static void update(int mode, dense *dst, int64_t at, const dense *src, int64_t from)
{
    cell old = dense_cell(dst, at), s = dense_cell(src, from);
    if (mode == ND_SCATTER_SET) {
        dense_put(dst, at, src, from);
    } else if (mode == ND_SCATTER_ADD) {
        cell sum = {.kind = old.kind, .i = old.i + s.i};
        sum.re = add_real(dst->dtype, old.re, s.re);
        sum.im = add_real(dst->dtype, old.im, s.im);
        cell_write(dst->dtype, sum, dense_at(dst, at));
    } else if (!is_nan(old) &&
               (is_nan(s) || (mode == ND_SCATTER_MIN ? below(s, old) : below(old, s)))) {
        dense_put(dst, at, src, from);
    }
}

/* The source in the destination's dtype, of the shape of the indices. */
static dense widened(const mirror *src, nd_dtype dtype, int ndim, const int64_t *shape)
{
    dense d = dense_new(dtype, ndim, shape);
    for (int64_t i = 0; i < d.size; i++)
        if (src->dtype == dtype)
            memcpy(dense_at(&d, i), mirror_at(src, ndim, shape, i), nd_dtype_size(dtype));
        else
            cell_write(dtype, cell_widened(dtype, mirror_cell(src, ndim, shape, i)),
                       dense_at(&d, i));
    return d;
}

typedef struct {
    int mode, axis;
    int64_t n; /* extent of the axis */
    mirror dst, src, idx_m;
    dense idx, want;
} scatter_case;

static void close_case(scatter_case *c)
{
    mirror_release(&c->dst);
    mirror_release(&c->src);
    mirror_release(&c->idx_m);
    dense_release(&c->idx);
    dense_release(&c->want);
}

/* Whether what came is what should: exact, except that min and max may keep either zero, and sums
 * of NaNs have any bits. */
static bool matches(const scatter_case *c, const nd_array *got)
{
    const char *name = mode_names[c->mode];
    if (c->mode == ND_SCATTER_SET)
        return dense_is(&c->want, got, name);
    return dense_near(&c->want, got, 0, c->mode == ND_SCATTER_ADD, name);
}

static void apply(scatter_case *c)
{
    const char *name = mode_names[c->mode];
    nd_array *r = NULL;
    int axis = either_sign(c->axis, c->dst.ndim);
    if (good(nd_scatter(c->dst.array, c->idx_m.array, c->src.array, axis, c->mode, &r), name) &&
        matches(c, r) &&
        good(nd_scatter_into(c->idx_m.array, c->src.array, axis, c->mode, c->dst.array), "into") &&
        matches(c, c->dst.array) && !mirror_untouched(&c->dst))
        fail_case("%s wrote beside the destination", name);
    nd_release(r);
}

static void refuse(scatter_case *c, int64_t bad, int64_t value)
{
    nd_array *r = NULL;
    dense before = dense_of(&c->dst);
    (void)positions_refused(
        nd_scatter_into(c->idx_m.array, c->src.array, c->axis, c->mode, c->dst.array), &c->idx, bad,
        value, c->n, mode_names[c->mode]);
    if (!run.async) /* there the rest may have been written before anyone noticed */
        (void)dense_is(&before, c->dst.array, "the destination after a bad index");
    if (fails(nd_scatter(c->dst.array, c->idx_m.array, c->src.array, c->axis, c->mode, &r),
              ND_ERR_INDEX, "scatter") &&
        r && !run.async)
        fail_case("scatter with a bad index left an array");
    nd_release(r);
    dense_release(&before);
}

static nd_dtype source_dtype(nd_dtype dst)
{
    bool narrow = dst != ND_BOOL && random_below(6) == 0;
    return narrow ? (random_below(2) ? ND_I8 : ND_BOOL) : dst;
}

/* The expected destination: updates in C order of the indices. */
static void expect(scatter_case *c)
{
    int64_t index[CASE_NDIM];
    int ndim = c->idx.ndim;
    dense src = widened(&c->src, c->dst.dtype, ndim, c->idx.shape);
    c->want = dense_of(&c->dst);
    for (int64_t p = 0; p < c->idx.size; p++) {
        unravel(ndim, c->idx.shape, p, index);
        index[c->axis] = positions_get(&c->idx, p, c->n);
        update(c->mode, &c->want, ravel(ndim, c->want.shape, index), &src, p);
    }
    dense_release(&src);
}

static void run_scatter(int mode, int i)
{
    scatter_case c = {.mode = mode};
    view_wish wish = any_view;
    int64_t shape[CASE_NDIM], value = 0, bad = -1;
    wish.writable = true;
    wish.least_ndim = 1;
    if (!mirror_random(&c.dst, legal_dtype(mode_ops[mode], i), &wish))
        return;
    c.axis = (int)random_below(c.dst.ndim);
    c.n = c.dst.shape[c.axis];
    positions_shape(c.dst.ndim, c.dst.shape, c.axis, true, shape);
    shape[c.axis] = c.n == 0 ? 0 : shape[c.axis];
    c.idx = positions_random(c.dst.ndim, shape, c.n);
    if (c.idx.size > 0 && random_below(8) == 0)
        bad = positions_spoil(&c.idx, c.n, &value);
    if (mirror_of(&c.idx_m, &c.idx) &&
        mirror_like(&c.src, &c.idx_m, source_dtype(c.dst.dtype), &any_view, true)) {
        if (bad >= 0) {
            refuse(&c, bad, value);
        } else {
            expect(&c);
            apply(&c);
        }
    }
    close_case(&c);
}

static void set_case(int i)
{
    run_scatter(ND_SCATTER_SET, i);
}
static void add_case(int i)
{
    run_scatter(ND_SCATTER_ADD, i);
}
static void min_case(int i)
{
    run_scatter(ND_SCATTER_MIN, i);
}
static void max_case(int i)
{
    run_scatter(ND_SCATTER_MAX, i);
}

/* The source, or the indices, lie in the destination: as if they were copied first. */
static void overlap_case(int i)
{
    const int64_t n = 1 + random_below(40), shape[1] = {n};
    int mode = i % 4;
    mirror m = {0};
    nd_array *flipped = NULL;
    dense p = dense_new(ND_I64, 1, shape);
    for (int64_t k = 0; k < n; k++)
        dense_set(&p, k, random_below(n));
    dense want = dense_copy(&p), reversed = dense_copy(&p);
    for (int64_t k = 0; k < n; k++)
        dense_put(&reversed, k, &p, n - 1 - k);
    for (int64_t k = 0; k < n; k++) /* indices are the destination, the source is it reversed */
        update(mode, &want, (int64_t)dense_cell(&p, k).i, &reversed, k);
    if (mirror_of(&m, &p) && good(nd_flip(m.array, 0, NULL, &flipped), "flip") &&
        good(nd_scatter_into(m.array, flipped, 0, mode, m.array), "scatter into its operands"))
        (void)dense_is(&want, m.array, "scatter into its operands");
    nd_release(flipped);
    mirror_release(&m);
    dense_release(&p);
    dense_release(&want);
    dense_release(&reversed);
}

/* ---- index_add ---- */

static void expect_rows(scatter_case *c, const int64_t *shape)
{
    int64_t index[CASE_NDIM], size = shape_size(c->dst.ndim, shape);
    dense src = widened(&c->src, c->dst.dtype, c->dst.ndim, shape);
    c->want = dense_of(&c->dst);
    for (int64_t p = 0; p < size; p++) {
        unravel(c->dst.ndim, shape, p, index);
        index[c->axis] = positions_get(&c->idx, index[c->axis], c->n);
        update(ND_SCATTER_ADD, &c->want, ravel(c->dst.ndim, c->want.shape, index), &src, p);
    }
    dense_release(&src);
}

static void try_rows(scatter_case *c, int64_t bad, int64_t value)
{
    nd_array *r = NULL;
    int axis = either_sign(c->axis, c->dst.ndim);
    nd_status into = ND_OK;
    nd_status fresh = nd_index_add(c->dst.array, c->idx_m.array, c->src.array, axis, &r);
    if (bad >= 0) {
        dense before = dense_of(&c->dst);
        (void)positions_refused(fresh, &c->idx, bad, value, c->n, "index_add");
        into = nd_index_add_into(c->idx_m.array, c->src.array, axis, c->dst.array);
        (void)positions_refused(into, &c->idx, bad, value, c->n, "index_add");
        if (!run.async) /* there the rest may have been written before anyone noticed */
            (void)dense_is(&before, c->dst.array, "the destination after a bad index");
        dense_release(&before);
    } else if (good(fresh, "index_add") && matches(c, r)) {
        into = nd_index_add_into(c->idx_m.array, c->src.array, axis, c->dst.array);
        if (good(into, "index_add_into") && matches(c, c->dst.array) && !mirror_untouched(&c->dst))
            fail_case("index_add_into wrote beside the destination");
    }
    nd_release(r);
}

static void index_add_case(int i)
{
    scatter_case c = {.mode = ND_SCATTER_ADD};
    view_wish wish = any_view;
    int64_t shape[CASE_NDIM], k, value = 0, bad = -1;
    mirror like = {0};
    wish.writable = true;
    wish.least_ndim = 1;
    if (!mirror_random(&c.dst, legal_dtype(ND_OP_scatter_add, i), &wish))
        return;
    c.axis = (int)random_below(c.dst.ndim);
    c.n = c.dst.shape[c.axis];
    k = c.n == 0 ? 0 : random_below(9);
    c.idx = positions_random(1, &k, c.n);
    memcpy(shape, c.dst.shape, (size_t)c.dst.ndim * sizeof *shape);
    shape[c.axis] = k;
    if (shape_size(c.dst.ndim, shape) > 0 && random_below(8) == 0)
        bad = positions_spoil(&c.idx, c.n, &value);
    like.ndim = c.dst.ndim; /* a shape alone */
    memcpy(like.shape, shape, sizeof shape);
    if (mirror_of(&c.idx_m, &c.idx) &&
        mirror_like(&c.src, &like, source_dtype(c.dst.dtype), &any_view, true)) {
        if (bad < 0)
            expect_rows(&c, shape);
        try_rows(&c, bad, value);
    }
    close_case(&c);
}

void conform_scatter(void)
{
    run_cases("scatter", set_case);
    run_cases("scatter_add", add_case);
    run_cases("scatter_min", min_case);
    run_cases("scatter_max", max_case);
    run_cases("scatter_overlap", overlap_case);
    run_cases("index_add", index_add_case);
}
