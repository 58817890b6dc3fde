/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Bins: how many, where their edges are, and which one an element is in. */
#include <math.h>
#include "core/ops/bins.h"

static nd_status read_bins(const char *op, const nd_bins *bins, nd_bins *o)
{
    ND_RETURN_IF(nd__read_options(op, bins, o, sizeof *o, NDP_END(nd_bins, count)));
    if (o->method < ND_BINS_COUNT || o->method > ND_BINS_SQRT)
        return nd__fail(ND_ERR_ARGUMENT, op, 1, "method %d of bins is unknown", o->method);
    if (o->count < 0)
        return nd__fail(ND_ERR_ARGUMENT, op, 1, "%lld bins; there must be at least one",
                        (long long)o->count);
    if (o->has_range && !(isfinite(o->low) && isfinite(o->high) && o->low <= o->high))
        return nd__fail(ND_ERR_ARGUMENT, op, 1,
                        "the range from %g to %g; both ends are finite, and the first is not above "
                        "the second",
                        o->low, o->high);
    o->count = o->count ? o->count : 10;
    return ND_OK;
}

/* ---- edges that are given ---- */
static nd_status edges_given(nd_steps *s, const char *op, const nd_array *a, const nd_bins *o,
                             nd_binning *b)
{
    const nd_array *edges = o->edges;
    ND_RETURN_IF(nd__check_real(op, edges, 1));
    ND_RETURN_IF(nd__check_same_device(op, a, edges, 0, 1));
    if (edges->ndim != 1 || edges->size < 2)
        return nd__fail(ND_ERR_SHAPE, op, 1,
                        "edges of rank %d with %lld elements; there is one dimension and at least "
                        "2 edges",
                        edges->ndim, (long long)edges->size);
    nd_array *right = nd__step_part(s, edges, 0, 1, ND_END_OPEN, 1);
    nd_array *left = nd__step_part(s, edges, 0, ND_END_OPEN, -1, 1);
    const bool rises = nd__step_all(s, nd__step2(s, ND_OP_less_equal, left, right));
    ND_RETURN_IF(s->status);
    if (!rises)
        return nd__fail(ND_ERR_ARGUMENT, op, 1, "the edges do not ascend; sort them");
    ND_STEP(s, b->edges, nd_copy(edges, NULL, &b->edges));
    b->count = edges->size - 1;
    b->equal = false;
    return s->status;
}

/* ---- equal bins ---- */
static nd_status range_of(nd_steps *s, const char *op, const nd_array *a, const nd_bins *o,
                          nd_binning *b)
{
    nd_array *least, *most;
    b->low = o->low;
    b->high = o->high;
    if (!o->has_range && a->size == 0) {
        b->low = 0;
        b->high = 1;
    } else if (!o->has_range) {
        ND_STEP(s, least, nd_min(a, NULL, &least));
        ND_STEP(s, most, nd_max(a, NULL, &most));
        b->low = nd__step_value(s, least);
        b->high = nd__step_value(s, most);
    }
    ND_RETURN_IF(s->status);
    if (!isfinite(b->low) || !isfinite(b->high))
        return nd__fail(ND_ERR_ARGUMENT, op, 0,
                        "the elements range from %g to %g; with infinities or NaN among them, a "
                        "range is needed",
                        b->low, b->high);
    if (b->low == b->high) {
        b->low -= 0.5;
        b->high += 0.5;
    }
    return ND_OK;
}

static double total(nd_steps *s,
                    nd_status (*f)(const nd_array *, const nd_reduce_opts *, nd_array **),
                    const nd_array *a)
{
    nd_array *r;
    ND_STEP(s, r, f(a, NULL, &r));
    return nd__step_value(s, r);
}

/* Freedman and Diaconis, Probability Theory and Related Fields 57 (1981). */
static double width_fd(nd_steps *s, const nd_array *x)
{
    static const double quarters[2] = {75, 25};
    nd_array *q;
    ND_STEP(s, q, nd_percentile(x, 2, quarters, NULL, &q));
    const double upper = nd__step_value(s, nd__step_at(s, q, 0, 0)),
                 lower = nd__step_value(s, nd__step_at(s, q, 0, 1));
    return 2 * (upper - lower) / cbrt((double)x->size);
}

/* Doane, The American Statistician 30 (1976): Sturges' number with the skewness. */
static double width_doane(nd_steps *s, const nd_array *x, double range)
{
    const double n = (double)x->size;
    const double sg1 = sqrt(6 * (n - 2) / ((n + 1) * (n + 3)));
    const double sigma = n > 2 ? total(s, nd_std, x) : 0;
    nd_array *mean;
    if (!(sigma > 0))
        return 0;
    ND_STEP(s, mean, nd_mean(x, NULL, &mean));
    nd_array *d = nd__step2(s, ND_OP_subtract, x, mean);
    d = nd__step_scalar(s, ND_OP_divide, d, nd_float(sigma));
    nd_array *cube = nd__step2(s, ND_OP_multiply, nd__step1(s, ND_OP_square, d), d);
    const double g1 = total(s, nd_mean, cube);
    return range / (1 + log2(n) + log2(1 + fabs(g1) / sg1));
}

static double width_by(nd_steps *s, int method, const nd_array *x, double range)
{
    const double n = (double)x->size;
    switch (method) {
    case ND_BINS_FD:
        return width_fd(s, x);
    case ND_BINS_DOANE:
        return width_doane(s, x, range);
    case ND_BINS_SCOTT:
        return cbrt(24 * sqrt(3.14159265358979323846) / n) * total(s, nd_std, x);
    case ND_BINS_RICE:
        return range / (2 * cbrt(n));
    case ND_BINS_STURGES:
        return range / (log2(n) + 1);
    case ND_BINS_SQRT:
        return range / sqrt(n);
    default: {
        const double fd = width_fd(s, x), sturges = range / (log2(n) + 1);
        return fd > 0 && fd < sturges ? fd : sturges;
    }
    }
}

/* As many bins of the method's width as the range takes; one where the data have no width. */
static nd_status count_by_method(nd_steps *s, const char *op, const nd_array *a, const nd_bins *o,
                                 nd_binning *b)
{
    nd_array *x = nd__step_flat(s, nd__step_cast(s, a, ND_F64)), *all = x;
    if (o->has_range && a->size) {
        nd_array *low = nd__step_scalar(s, ND_OP_greater_equal, x, nd_float(b->low));
        nd_array *high = nd__step_scalar(s, ND_OP_less_equal, x, nd_float(b->high));
        nd_array *inside = nd__step2(s, ND_OP_logical_and, low, high);
        ND_STEP(s, x, nd_select(all, inside, &x));
    }
    b->count = 1;
    ND_RETURN_IF(s->status);
    if (x->size == 0)
        return ND_OK;
    const double range = total(s, nd_ptp, x), width = width_by(s, o->method, x, range);
    const double count = width > 0 ? ceil((b->high - b->low) / width) : 1;
    ND_RETURN_IF(s->status);
    if (!(count < 1e9))
        return nd__fail(ND_ERR_ARGUMENT, op, 1, "the method asks for %g bins; say how many", count);
    b->count = count < 1 ? 1 : (int64_t)count;
    return ND_OK;
}

nd_status nd__binning_of(nd_steps *s, const char *op, const nd_array *a, const nd_bins *bins,
                         nd_binning *b)
{
    nd_bins o;
    nd_array *first, *last;
    ND_RETURN_IF(read_bins(op, bins, &o));
    if (o.edges)
        return edges_given(s, op, a, &o, b);
    ND_RETURN_IF(range_of(s, op, a, &o, b));
    b->equal = true;
    b->count = o.count;
    if (o.method)
        ND_RETURN_IF(count_by_method(s, op, a, &o, b));
    const nd_dtype dtype = a->dtype == ND_F32 ? ND_F32 : ND_F64;
    ND_STEP(s, b->edges,
            nd_linspace(a->storage->device, dtype, nd_float(b->low), nd_float(b->high),
                        b->count + 1, 1, &b->edges));
    if (dtype == ND_F32 && o.has_range) { /* a range that f32 rounds */
        first = nd__step_at(s, b->edges, 0, 0);
        last = nd__step_at(s, b->edges, 0, b->count);
        b->low = nd__step_value(s, first);
        b->high = nd__step_value(s, last);
    }
    return s->status;
}

/* ---- numbers ---- */
/* Bins that are not equal: by searching. The last bin holds its upper edge. */
static nd_array *numbers_by_search(nd_steps *s, const nd_array *a, const nd_binning *b)
{
    nd_array *at;
    nd_array *x = nd__step_cast(s, a, nd__floating_of(a->dtype));
    ND_STEP(s, at, nd_searchsorted(b->edges, x, 1, NULL, &at));
    at = nd__step_scalar(s, ND_OP_subtract, at, nd_int(1));
    nd_array *last = nd__step_at(s, b->edges, 0, b->count);
    nd_array *on_last = nd__step2(s, ND_OP_equal, x, last);
    nd_array *outside = nd__step_scalar(s, ND_OP_less, at, nd_int(0));
    at = nd__step_scalar(s, ND_OP_minimum, at, nd_int(b->count));
    at = nd__step_where(s, outside, nd_scalar_arg(nd_int(b->count)), nd_array_arg(at));
    return nd__step_where(s, on_last, nd_scalar_arg(nd_int(b->count - 1)), nd_array_arg(at));
}

/* Equal bins: by arithmetic, which may miss by one; what the edges themselves say counts. */
static nd_array *numbers_by_width(nd_steps *s, const nd_array *a, const nd_binning *b)
{
    nd_array *below, *above;
    nd_array *x = nd__step_cast(s, a, b->edges ? b->edges->dtype : ND_F64);
    nd_array *from = nd__step_scalar(s, ND_OP_subtract, x, nd_float(b->low));
    from =
        nd__step_scalar(s, ND_OP_multiply, from, nd_float((double)b->count / (b->high - b->low)));
    nd_array *at = nd__step_cast(s, from, ND_I64);
    at = nd__step_scalar(s, ND_OP_maximum, at, nd_int(0));
    at = nd__step_scalar(s, ND_OP_minimum, at, nd_int(b->count - 1));
    ND_STEP(s, below, nd_take(b->edges, at, 0, &below));
    nd_array *next = nd__step_part(s, b->edges, 0, 1, ND_END_OPEN, 1);
    ND_STEP(s, above, nd_take(next, at, 0, &above));
    nd_array *too_far = nd__step2(s, ND_OP_less, x, below);
    nd_array *too_near = nd__step2(s, ND_OP_greater_equal, x, above);
    at = nd__step2(s, ND_OP_subtract, at, nd__step_cast(s, too_far, ND_I64));
    at = nd__step2(s, ND_OP_add, at, nd__step_cast(s, too_near, ND_I64));
    at = nd__step_scalar(s, ND_OP_minimum, at, nd_int(b->count - 1));
    nd_array *low = nd__step_scalar(s, ND_OP_greater_equal, x, nd_float(b->low));
    nd_array *high = nd__step_scalar(s, ND_OP_less_equal, x, nd_float(b->high));
    nd_array *inside = nd__step2(s, ND_OP_logical_and, low, high);
    return nd__step_where(s, inside, nd_array_arg(at), nd_scalar_arg(nd_int(b->count)));
}

nd_array *nd__bin_numbers(nd_steps *s, const nd_array *a, const nd_binning *b)
{
    return b->equal ? numbers_by_width(s, a, b) : numbers_by_search(s, a, b);
}

nd_array *nd__sums_by_number(nd_steps *s, const nd_array *numbers, const nd_array *weights,
                             int64_t count)
{
    nd_array *sums, *one = NULL;
    nd_dtype dtype = ND_I64;
    const int64_t n = count + 1;
    if (weights)
        switch (nd__kind(weights->dtype)) {
        case ND_KIND_UINT:
            dtype = ND_U64;
            break;
        case ND_KIND_FLOAT:
            dtype = ND_F64;
            break;
        case ND_KIND_COMPLEX:
            dtype = ND_C128;
        }
    ND_STEP(s, sums, nd_zeros(numbers->storage->device, dtype, 1, &n, &sums));
    nd_array *flat = nd__step_flat(s, numbers);
    if (weights)
        one = nd__step_flat(s, weights);
    else
        ND_STEP(s, one, nd_full(numbers->storage->device, ND_I64, 0, NULL, nd_int(1), &one));
    ND_STEP_DO(s, nd_scatter_into(flat, one, 0, ND_SCATTER_ADD, sums));
    return nd__step_part(s, sums, 0, 0, count, 1);
}
