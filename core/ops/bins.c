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

/* The edges in the dtype in which they are compared with a's elements; the last one is the next
 * number, so that what equals the last edge lies before it. Nothing but NaN is above infinity. */
static nd_status searched_edges(nd_steps *s, const char *op, const nd_array *a, nd_binning *b)
{
    const nd_array *parts[2];
    nd_dtype dtype;
    ND_RETURN_IF(s->status); /* there may be no edges */
    ND_RETURN_IF(s->status = nd__promote(op, b->edges->dtype, nd__floating_of(a->dtype), &dtype));
    nd_array *edges = nd__step_cast(s, b->edges, dtype);
    nd_array *last = nd__step_at(s, edges, 0, b->count);
    nd_array *next = nd__step_scalar(s, ND_OP_nextafter, last, nd_float(INFINITY));
    nd_array *rises = nd__step2(s, ND_OP_greater, next, last);
    next = nd__step_where(s, rises, nd_array_arg(next), nd_scalar_arg(nd_float(NAN)));
    parts[0] = nd__step_part(s, edges, 0, 0, b->count, 1);
    parts[1] = next;
    ND_STEP(s, b->searched, nd_concat(2, parts, 0, &b->searched));
    return s->status;
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
    return searched_edges(s, op, a, b);
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
    ND_RETURN_IF(read_bins(op, bins, &o));
    if (o.edges)
        return edges_given(s, op, a, &o, b);
    ND_RETURN_IF(range_of(s, op, a, &o, b));
    b->count = o.count;
    if (o.method)
        ND_RETURN_IF(count_by_method(s, op, a, &o, b));
    const nd_dtype dtype = a->dtype == ND_F32 ? ND_F32 : ND_F64;
    ND_STEP(s, b->edges,
            nd_linspace(a->storage->device, dtype, nd_float(b->low), nd_float(b->high),
                        b->count + 1, 1, &b->edges));
    return searched_edges(s, op, a, b);
}

nd_status nd__check_bin_weights(const char *op, const nd_array *a, const nd_array *weights,
                                int32_t argument)
{
    if (!weights)
        return ND_OK;
    ND_RETURN_IF(nd__check_array(op, weights, argument));
    ND_RETURN_IF(nd__check_same_device(op, a, weights, 0, argument));
    return nd__check_shape_is(op, weights, a->ndim, a->shape, argument);
}

/* ---- positions among the edges ---- */
nd_array *nd__bin_positions(nd_steps *s, const nd_array *a, const nd_binning *b)
{
    nd_array *at;
    nd_array *x = nd__step_cast(s, a, b->searched ? b->searched->dtype : ND_F64);
    ND_STEP(s, at, nd_searchsorted(b->searched, x, 1, NULL, &at));
    return at;
}

nd_array *nd__bin_counts(nd_steps *s, const nd_array *a, const nd_binning *b)
{
    nd_array *counts;
    if (s->status == ND_OK && nd__counts_insertions(a->storage->device, b->searched->dtype)) {
        nd_array *x = b->searched->dtype == ND_F64 ? (nd_array *)(uintptr_t)a
                                                   : nd__step_cast(s, a, b->searched->dtype);
        ND_STEP(s, counts, nd__insertion_counts(b->searched, x, 1, &counts));
    } else {
        nd_array *at = nd__bin_positions(s, a, b);
        counts = nd__sums_by_position(s, at, NULL, b->count + 2);
    }
    return nd__step_copy(s, nd__step_part(s, counts, 0, 1, b->count + 1, 1));
}

int64_t nd__integers_of(nd_dtype dtype)
{
    return nd__itemsize(dtype) < 8 ? INT64_C(1) << (8 * nd__itemsize(dtype)) : INT64_MAX;
}

/* a as positions, below 2^63 all of them: those of 64 bits are not converted. */
static nd_array *positions_of(nd_steps *s, const nd_array *a)
{
    nd_array *r;
    if (s->status != ND_OK || a->dtype != ND_U64)
        return nd__step_cast(s, a, ND_I64);
    ND_STEP(s, r,
            nd__array_new(a->storage, ND_I64, a->ndim, a->shape, a->stride, a->offset, true, &r));
    return r;
}

nd_array *nd__counts_of_integers(nd_steps *s, const nd_array *a, int64_t length)
{
    nd_array *edges, *counts;
    if (s->status != ND_OK || length == 0 || length / 4 > a->size ||
        length > nd__integers_of(a->dtype) || !nd__counts_insertions(a->storage->device, a->dtype))
        return nd__sums_by_position(s, positions_of(s, a), NULL, length);
    const int64_t n = length > 1 ? length - 1 : 1; /* v is above min(v, n) of 0 to n - 1 */
    ND_STEP(s, edges,
            nd_arange(a->storage->device, a->dtype, nd_int(0), nd_int(n), nd_int(1), &edges));
    ND_STEP(s, counts, nd__insertion_counts(edges, a, 0, &counts));
    return length > 1 ? counts : nd__step_copy(s, nd__step_part(s, counts, 0, 0, 1, 1));
}

nd_array *nd__sums_by_position(nd_steps *s, const nd_array *positions, const nd_array *weights,
                               int64_t length)
{
    nd_array *sums, *one = NULL;
    nd_dtype dtype = ND_I64;
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
    ND_STEP(s, sums, nd_zeros(positions->storage->device, dtype, 1, &length, &sums));
    nd_array *flat = nd__step_flat(s, positions);
    if (weights)
        one = nd__step_flat(s, weights);
    else
        ND_STEP(s, one, nd_full(positions->storage->device, ND_I64, 0, NULL, nd_int(1), &one));
    ND_STEP_DO(s, nd_scatter_into(flat, one, 0, ND_SCATTER_ADD, sums));
    return sums;
}
