/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Median, quantile and percentile over any axes. */
#include <math.h>
#include "core/ops/quantile.h"

#define SELECTED_MAX 4     /* quantiles */
#define SELECTED_FROM 1025 /* elements of a row */

typedef struct {
    const char *op;
    nd_steps s; /* of the whole; each quantile has steps of its own */
    nd_rows r;
    nd_array *sorted;  /* NULL: each quantile selects its elements */
    nd_array *count;   /* numbers in each row, NULL where NaN is not left out */
    nd_array *spoiled; /* rows with NaN; NULL: there is none */
    int method;
    nd_dtype compute, result;
} quantiles;

/* Half precision is computed in single. */
static nd_dtype compute_dtype(nd_dtype dtype)
{
    return nd__itemsize(dtype) == 2 && nd__kind(dtype) == ND_KIND_FLOAT ? ND_F32
                                                                        : nd__floating_of(dtype);
}

static nd_status one_quantile(const quantiles *w, double q, nd_array **out)
{
    nd_steps s = {ND_OK};
    nd_array *r;
    const bool picks = nd__kind(w->result) != ND_KIND_FLOAT;
    const nd_dtype compute = picks ? w->result : w->compute;
    if (w->count) {
        r = nd__quantile_of_counted(&s, w->sorted, w->count, q, w->method, compute);
    } else {
        nd_between b = nd__quantile_between(w->r.n, q, w->method);
        nd_array *sorted = w->sorted;
        if (!sorted) {
            ND_STEP(&s, sorted,
                    nd__order_statistics(w->r.rows, b.low, b.high - b.low + 1, &sorted));
            b.high -= b.low;
            b.low = 0;
        }
        r = nd__quantile_of_sorted(&s, sorted, &b, compute);
    }
    if (w->spoiled)
        r = nd__step_where(&s, w->spoiled, nd_scalar_arg(nd_float(NAN)), nd_array_arg(r));
    r = nd__step_cast(&s, r, w->result);
    r = nd__step_reshape(&s, r, w->r.ndim, w->r.shape);
    return nd__steps_end(&s, w->op, r, out);
}

/* Selecting the elements of each of few quantiles takes less time than sorting; rows that are short
 * are sorted in any case, so once for all. */
static bool is_selected(const quantiles *w, int nq)
{
    return nd__selects(w->r.rows, ND_OP_order_statistics) &&
           (nq == 1 || (nq <= SELECTED_MAX && w->r.n >= SELECTED_FROM));
}

/* Rows with NaN, which sorts last. */
static nd_array *spoiled(quantiles *w)
{
    const int last = w->r.rows->ndim - 1;
    nd_array *most = w->sorted ? nd__step_at(&w->s, w->sorted, last, w->r.n - 1)
                               : nd__step_reduce(&w->s, nd_max, w->r.rows, last, true);
    return nd__step1(&w->s, ND_OP_isnan, most);
}

static nd_status prepare(quantiles *w, const nd_array *a, int nq, const nd_quantile_opts *o)
{
    const bool floating = nd__kind(a->dtype) == ND_KIND_FLOAT;
    w->method = o->method;
    w->compute = compute_dtype(a->dtype);
    w->result = floating || nd__quantile_picks(o->method) ? a->dtype : nd_default_float();
    ND_RETURN_IF(nd__rows_of(&w->s, w->op, a, o->axes, o->naxes, o->keepdims, &w->r));
    if (w->r.n == 0)
        w->result = nd__floating_of(a->dtype);
    if (w->r.n == 0 || w->r.rows->size == 0)
        return ND_OK;
    if ((floating && o->ignore_nan) || !is_selected(w, nq))
        ND_STEP(&w->s, w->sorted, nd_sort(w->r.rows, NULL, &w->sorted));
    if (floating && o->ignore_nan) {
        nd_array *nan = nd__step1(&w->s, ND_OP_isnan, w->sorted);
        nd_array *number = nd__step1(&w->s, ND_OP_logical_not, nan);
        w->count = nd__step_reduce(&w->s, nd_count_nonzero, number, -1, true);
    } else if (floating) {
        w->spoiled = spoiled(w);
    }
    return w->s.status;
}

static nd_status run(quantiles *w, const nd_array *a, int nq, const double *q, double unit,
                     const nd_quantile_opts *o, nd_array **out)
{
    int64_t shape[ND_MAX_NDIM];
    nd_array *all;
    ND_RETURN_IF(prepare(w, a, nq, o));
    if (w->r.ndim == ND_MAX_NDIM)
        return nd__fail(ND_ERR_SHAPE, w->op, 0, "the result would have rank %d; the highest is %d",
                        ND_MAX_NDIM + 1, ND_MAX_NDIM);
    shape[0] = nq;
    memcpy(shape + 1, w->r.shape, (size_t)w->r.ndim * sizeof *shape);
    ND_STEP(&w->s, all,
            nd_full(a->storage->device, w->result, w->r.ndim + 1, shape,
                    w->r.n ? nd_int(0) : nd_float(NAN), &all));
    for (int i = 0; i < nq && w->s.status == ND_OK && all->size && w->r.n; i++) {
        nd_array *one = NULL, *to = NULL;
        const nd_index at[1] = {nd_at(i)};
        ND_STEP_DO(&w->s, one_quantile(w, q[i] / unit, &one));
        ND_STEP_DO(&w->s, nd_slice(all, at, 1, &to));
        ND_STEP_DO(&w->s, nd__copy_into(one, to));
        nd_release(one);
        nd_release(to);
    }
    *out = all;
    return w->s.status;
}

static nd_status check(const char *op, const nd_array *a, int nq, const double *q, double unit,
                       int method)
{
    ND_RETURN_IF(nd__check_real(op, a, 0));
    if (nq < 0)
        return nd__fail(ND_ERR_ARGUMENT, op, 1, "%d quantiles; the number must not be negative",
                        nq);
    ND_NEED_LIST(op, 2, nq, q);
    for (int i = 0; i < nq; i++)
        if (!(q[i] >= 0 && q[i] <= unit))
            return nd__fail(ND_ERR_ARGUMENT, op, 2, "q[%d] = %g is not between 0 and %g", i, q[i],
                            unit);
    if (method < ND_QUANTILE_LINEAR || method > ND_QUANTILE_MIDPOINT)
        return nd__fail(ND_ERR_ARGUMENT, op, 3, "method %d is unknown", method);
    return ND_OK;
}

static nd_status quantile(const char *op, const nd_array *a, int nq, const double *q, double unit,
                          const nd_quantile_opts *opts, nd_array **out)
{
    nd_quantile_opts o;
    nd_array *r = NULL;
    quantiles w = {.op = op};
    ND_RETURN_IF(nd__read_options(op, opts, &o, sizeof o, NDP_END(nd_quantile_opts, dtype)));
    ND_RETURN_IF(check(op, a, nq, q, unit, o.method));
    ND_RETURN_IF(nd__steps_begin(&w.s, op, a, opts));
    w.s.status = run(&w, a, nq, q, unit, &o, &r);
    return nd__steps_end(&w.s, op, r, out);
}

nd_status nd_quantile(const nd_array *a, int nq, const double *q, const nd_quantile_opts *opts,
                      nd_array **out)
{
    ND_OUT("quantile", 4, out, NULL);
    return quantile("quantile", a, nq, q, 1, opts, out);
}

nd_status nd_percentile(const nd_array *a, int nq, const double *q, const nd_quantile_opts *opts,
                        nd_array **out)
{
    ND_OUT("percentile", 4, out, NULL);
    return quantile("percentile", a, nq, q, 100, opts, out);
}

/* ---- the median: quantile 1/2 without the axis of quantiles ---- */
static nd_status median(const char *op, const nd_array *a, const nd_reduce_opts *opts,
                        bool ignore_nan, nd_array **out)
{
    static const double half[1] = {0.5};
    const nd_index first[1] = {nd_at(0)};
    nd_reduce_opts o;
    nd_steps s = {ND_OK};
    nd_array *all, *r;
    ND_RETURN_IF(nd__read_options(op, opts, &o, sizeof o, NDP_END(nd_reduce_opts, dtype)));
    const nd_quantile_opts q = {.size = sizeof q,
                                .stream = o.stream,
                                .axes = o.axes,
                                .naxes = o.naxes,
                                .keepdims = o.keepdims,
                                .ignore_nan = ignore_nan};
    ND_STEP(&s, all, quantile(op, a, 1, half, 1, &q, &all));
    ND_STEP(&s, r, nd_slice(all, first, 1, &r));
    return nd__steps_end(&s, op, r, out);
}

nd_status nd_median(const nd_array *a, const nd_reduce_opts *opts, nd_array **out)
{
    ND_OUT("median", 2, out, NULL);
    return median("median", a, opts, false, out);
}

nd_status nd_nanmedian(const nd_array *a, const nd_reduce_opts *opts, nd_array **out)
{
    ND_OUT("nanmedian", 2, out, NULL);
    return median("nanmedian", a, opts, true, out);
}
