/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Histograms of values and of points, and digitize. */
#include "core/ops/bins.h"

nd_status nd_bin_edges(const nd_array *a, const nd_bins *bins, nd_array **out)
{
    nd_steps s;
    nd_binning b = {0};
    ND_OUT("bin_edges", 2, out, NULL);
    ND_RETURN_IF(nd__check_real("bin_edges", a, 0));
    ND_RETURN_IF(nd__steps_begin(&s, "bin_edges", a, NULL));
    s.status = nd__binning_of(&s, "bin_edges", a, bins, &b);
    return nd__steps_end(&s, "bin_edges", b.edges, out);
}

/* counts over their total and the widths between the edges along an axis each. */
static nd_array *densities(nd_steps *s, const nd_array *counts, const nd_binning *b)
{
    nd_array *total;
    nd_array *r = nd__step_cast(s, counts, ND_F64);
    ND_STEP(s, total, nd_sum(r, NULL, &total));
    for (int d = 0; s->status == ND_OK && d < counts->ndim; d++) {
        int64_t shape[ND_MAX_NDIM];
        for (int k = 0; k < counts->ndim; k++)
            shape[k] = k == d ? b[d].count : 1;
        nd_steps own = {ND_OK};
        nd_array *edges = nd__step_cast(&own, b[d].edges, ND_F64), *next;
        nd_array *width =
            nd__step2(&own, ND_OP_subtract, nd__step_part(&own, edges, 0, 1, ND_END_OPEN, 1),
                      nd__step_part(&own, edges, 0, ND_END_OPEN, -1, 1));
        width = nd__step_reshape(&own, width, counts->ndim, shape);
        next = nd__step2(&own, ND_OP_divide, r, width);
        ND_STEP(s, r, nd__steps_end(&own, "histogram", next, &r));
    }
    return nd__step2(s, ND_OP_divide, r, total);
}

static nd_array *weighted_counts(nd_steps *s, const nd_array *a, const nd_array *weights,
                                 const nd_binning *b)
{
    nd_array *at = nd__bin_positions(s, a, b), *r = NULL;
    if (s->status == ND_OK)
        r = nd__sums_by_position(s, at, weights, b->count + 2);
    return nd__step_copy(s, nd__step_part(s, r, 0, 1, b->count + 1, 1));
}

nd_status nd_histogram(const nd_array *a, const nd_bins *bins, const nd_array *weights, int density,
                       nd_array **out, nd_array **edges)
{
    nd_steps s;
    nd_binning b = {0};
    ND_OUT("histogram", 4, out, NULL);
    if (edges)
        *edges = NULL;
    ND_RETURN_IF(nd__check_real("histogram", a, 0));
    ND_RETURN_IF(nd__check_bin_weights("histogram", a, weights, 2));
    ND_RETURN_IF(nd__steps_begin(&s, "histogram", a, NULL));
    s.status = nd__binning_of(&s, "histogram", a, bins, &b);
    nd_array *r = NULL;
    if (s.status == ND_OK)
        r = weights ? weighted_counts(&s, a, weights, &b) : nd__bin_counts(&s, a, &b);
    if (density && s.status == ND_OK)
        r = densities(&s, r, &b);
    if (s.status == ND_OK && edges)
        *edges = nd_retain(b.edges);
    return nd__steps_end(&s, "histogram", r, out);
}

/* ---- points ---- */
typedef struct {
    const char *op;
    int ndim;
    int64_t shape[ND_MAX_NDIM], total;
    nd_binning b[ND_MAX_NDIM];
} grid;

/* Position of each point in a grid with a margin for those outside, from that of the coordinates
 * before and the bin along this one. */
static nd_status add_coordinate(grid *g, int d, const nd_array *column, const nd_bins *bins,
                                nd_array **positions)
{
    nd_steps s = {ND_OK};
    nd_array *r = NULL;
    nd_bins o = {.size = sizeof o};
    s.status = nd__binning_of(&s, g->op, column, bins ? bins : &o, &g->b[d]);
    if (s.status == ND_OK)
        r = nd__bin_positions(&s, column, &g->b[d]);
    g->shape[d] = g->b[d].count + 2;
    if (s.status == ND_OK && !nd__mul_size(g->total, g->shape[d], &g->total))
        s.status = nd__fail(ND_ERR_OVERFLOW, g->op, 1, "there are more than 2^63 bins");
    if (*positions) {
        nd_array *base = nd__step_scalar(&s, ND_OP_multiply, *positions, nd_int(g->shape[d]));
        r = nd__step2(&s, ND_OP_add, base, r);
    }
    nd_release(*positions);
    *positions = NULL;
    if (s.status == ND_OK)
        nd_retain(g->b[d].edges);
    else
        g->b[d].edges = NULL;
    return nd__steps_end(&s, g->op, r, positions);
}

static nd_status count_points(grid *g, nd_array *positions, const nd_array *weights, int density,
                              nd_array **out)
{
    nd_steps s = {ND_OK};
    nd_index inner[ND_MAX_NDIM];
    nd_array *all, *part;
    for (int d = 0; d < g->ndim; d++)
        inner[d] = nd_range(1, g->shape[d] - 1, 1);
    nd_array *r = nd__sums_by_position(&s, positions, weights, g->total);
    r = nd__step_reshape(&s, r, g->ndim, g->shape);
    ND_STEP(&s, part, nd_slice(r, inner, g->ndim, &part));
    const bool complex_sums = s.status == ND_OK && nd__kind(r->dtype) == ND_KIND_COMPLEX;
    ND_STEP(&s, all, nd_astype(part, complex_sums ? ND_C128 : ND_F64, &all));
    r = nd__step_copy(&s, all);
    if (density && s.status == ND_OK)
        r = densities(&s, r, g->b);
    return nd__steps_end(&s, g->op, r, out);
}

/* columns: one a coordinate. */
static nd_status histogram_of(grid *g, const nd_array *const *columns, const nd_bins *bins,
                              const nd_array *weights, int density, nd_array **out,
                              nd_array **edges)
{
    nd_array *positions = NULL;
    nd_status status = ND_OK;
    g->total = 1;
    for (int d = 0; d < g->ndim && status == ND_OK; d++)
        status = add_coordinate(g, d, columns[d], bins ? bins + d : NULL, &positions);
    if (status == ND_OK)
        status = count_points(g, positions, weights, density, out);
    for (int d = 0; d < g->ndim; d++)
        if (status == ND_OK && edges)
            edges[d] = g->b[d].edges;
        else
            nd_release(g->b[d].edges);
    nd_release(positions);
    return status;
}

static nd_status check_points_weights(const char *op, const nd_array *weights, int64_t points,
                                      const nd_array *like, int32_t argument)
{
    if (!weights)
        return ND_OK;
    ND_RETURN_IF(nd__check_array(op, weights, argument));
    ND_RETURN_IF(nd__check_same_device(op, like, weights, 0, argument));
    return nd__check_shape_is(op, weights, 1, &points, argument);
}

nd_status nd_histogramdd(const nd_array *sample, const nd_bins *bins, const nd_array *weights,
                         int density, nd_array **out, nd_array **edges)
{
    grid g = {.op = "histogramdd"};
    nd_array *columns[ND_MAX_NDIM];
    ND_OUT("histogramdd", 4, out, NULL);
    ND_RETURN_IF(nd__check_real("histogramdd", sample, 0));
    if (sample->ndim != 2 || sample->shape[1] < 1 || sample->shape[1] > ND_MAX_NDIM)
        return nd__fail(ND_ERR_SHAPE, "histogramdd", 0,
                        "the sample has rank %d; it is (points, coordinates), with 1 to %d of the "
                        "latter",
                        sample->ndim, ND_MAX_NDIM);
    ND_RETURN_IF(check_points_weights("histogramdd", weights, sample->shape[0], sample, 2));
    g.ndim = (int)sample->shape[1];
    ND_RETURN_IF(nd__error_as("histogramdd", nd_unstack(sample, 1, columns)));
    nd_status status =
        histogram_of(&g, (const nd_array *const *)columns, bins, weights, density, out, edges);
    nd_release_all(g.ndim, columns);
    return status;
}

nd_status nd_histogram2d(const nd_array *x, const nd_array *y, const nd_bins *bins,
                         const nd_array *weights, int density, nd_array **out, nd_array **edges)
{
    grid g = {.op = "histogram2d", .ndim = 2};
    const nd_array *const columns[2] = {x, y};
    ND_OUT("histogram2d", 5, out, NULL);
    ND_RETURN_IF(nd__check_real("histogram2d", x, 0));
    ND_RETURN_IF(nd__check_real("histogram2d", y, 1));
    ND_RETURN_IF(nd__check_same_device("histogram2d", x, y, 0, 1));
    if (x->ndim != 1)
        return nd__fail(ND_ERR_SHAPE, "histogram2d", 0, "x has rank %d, not 1", x->ndim);
    ND_RETURN_IF(nd__check_shape_is("histogram2d", y, 1, x->shape, 1));
    ND_RETURN_IF(check_points_weights("histogram2d", weights, x->size, x, 3));
    return histogram_of(&g, columns, bins, weights, density, out, edges);
}

/* ---- digitize ---- */
/* Descending edges are searched from the other end. */
static nd_array *digits(nd_steps *s, const nd_array *a, const nd_array *bins, bool falls,
                        bool right)
{
    nd_array *turned, *r;
    if (!falls) {
        ND_STEP(s, r, nd_searchsorted(bins, a, !right, NULL, &r));
        return r;
    }
    ND_STEP(s, turned, nd_flip(bins, 0, NULL, &turned));
    ND_STEP(s, r, nd_searchsorted(turned, a, !right, NULL, &r));
    return nd__step_from_scalar(s, ND_OP_subtract, nd_int(bins->size), r);
}

nd_status nd_digitize(const nd_array *a, const nd_array *bins, int right, nd_array **out)
{
    nd_steps s;
    bool rises = true, falls = false;
    ND_OUT("digitize", 3, out, NULL);
    ND_RETURN_IF(nd__check_real("digitize", a, 0));
    ND_RETURN_IF(nd__check_real("digitize", bins, 1));
    ND_RETURN_IF(nd__check_same_device("digitize", a, bins, 0, 1));
    if (bins->ndim != 1)
        return nd__fail(ND_ERR_SHAPE, "digitize", 1, "the edges have rank %d, not 1", bins->ndim);
    ND_RETURN_IF(nd__steps_begin(&s, "digitize", a, NULL));
    if (bins->size > 1) {
        nd_array *next = nd__step_part(&s, bins, 0, 1, ND_END_OPEN, 1);
        nd_array *before = nd__step_part(&s, bins, 0, ND_END_OPEN, -1, 1);
        rises = nd__step_all(&s, nd__step2(&s, ND_OP_less_equal, before, next));
        if (!rises)
            falls = nd__step_all(&s, nd__step2(&s, ND_OP_greater_equal, before, next));
    }
    if (s.status == ND_OK && !rises && !falls)
        s.status = nd__fail(ND_ERR_ARGUMENT, "digitize", 1,
                            "the edges neither ascend nor descend; sort them");
    nd_array *r = s.status == ND_OK ? digits(&s, a, bins, falls, right != 0) : NULL;
    return nd__steps_end(&s, "digitize", r, out);
}
