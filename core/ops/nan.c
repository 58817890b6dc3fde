/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Reductions and scans that leave NaN out. */
#include <math.h>
#include "core/ops/steps.h"

typedef nd_status reduction(const nd_array *a, const nd_reduce_opts *opts, nd_array **out);
typedef nd_status scan(const nd_array *a, const nd_scan_opts *opts, nd_array **out);

static bool may_be_nan(const nd_array *a)
{
    return nd__kind(a->dtype) & (ND_KIND_FLOAT | ND_KIND_COMPLEX);
}

/* a with the value in NaN's place. */
static nd_array *replaced(nd_steps *s, const nd_array *a, double value)
{
    if (!may_be_nan(a))
        return (nd_array *)a;
    nd_array *nan = nd__step1(s, ND_OP_isnan, a);
    return nd__step_where(s, nan, nd_scalar_arg(nd_float(value)), nd_array_arg(a));
}

/* Numbers among what is reduced into each element of the result. */
static nd_array *counted(nd_steps *s, const nd_array *a, const nd_reduce_opts *opts)
{
    nd_array *r, *number;
    nd_reduce_opts o = opts ? *opts : (nd_reduce_opts){.size = sizeof o};
    o.dtype = 0;
    if (may_be_nan(a)) {
        nd_array *nan = nd__step1(s, ND_OP_isnan, a);
        number = nd__step1(s, ND_OP_logical_not, nan);
    } else {
        ND_STEP(s, number, nd_ones_like(a, ND_BOOL, &number));
    }
    ND_STEP(s, r, nd_count_nonzero(number, &o, &r));
    return r;
}

static nd_status reduce_with(const char *op, reduction *f, double value, const nd_array *a,
                             const nd_reduce_opts *opts, nd_array **out)
{
    nd_steps s;
    nd_array *r;
    *out = NULL;
    ND_RETURN_IF(nd__steps_begin(&s, op, a, opts));
    nd_array *x = replaced(&s, a, value);
    ND_STEP(&s, r, f(x, opts, &r));
    return nd__steps_end(&s, op, r, out);
}

nd_status nd_nansum(const nd_array *a, const nd_reduce_opts *opts, nd_array **out)
{
    ND_NEED("nansum", 2, out);
    return reduce_with("nansum", nd_sum, 0, a, opts, out);
}
nd_status nd_nanprod(const nd_array *a, const nd_reduce_opts *opts, nd_array **out)
{
    ND_NEED("nanprod", 2, out);
    return reduce_with("nanprod", nd_prod, 1, a, opts, out);
}

/* ---- extremes ---- */
/* Infinity stands for NaN; where there was nothing else, the result is NaN. */
static nd_status extreme(const char *op, reduction *f, double none, const nd_array *a,
                         const nd_reduce_opts *opts, nd_array **out)
{
    nd_steps s;
    nd_array *r;
    *out = NULL;
    ND_RETURN_IF(nd__check_real(op, a, 0));
    ND_RETURN_IF(nd__steps_begin(&s, op, a, opts));
    nd_array *x = replaced(&s, a, none);
    ND_STEP(&s, r, f(x, opts, &r));
    if (may_be_nan(a)) {
        nd_array *count = counted(&s, a, opts);
        nd_array *some = nd__step1(&s, ND_OP_logical_not, count);
        r = nd__step_where(&s, some, nd_scalar_arg(nd_float(NAN)), nd_array_arg(r));
    }
    return nd__steps_end(&s, op, r, out);
}

nd_status nd_nanmin(const nd_array *a, const nd_reduce_opts *opts, nd_array **out)
{
    ND_NEED("nanmin", 2, out);
    return extreme("nanmin", nd_min, INFINITY, a, opts, out);
}
nd_status nd_nanmax(const nd_array *a, const nd_reduce_opts *opts, nd_array **out)
{
    ND_NEED("nanmax", 2, out);
    return extreme("nanmax", nd_max, -INFINITY, a, opts, out);
}

static nd_status position(const char *op, reduction *f, double none, const nd_array *a,
                          const nd_reduce_opts *opts, nd_array **out)
{
    nd_steps s;
    nd_array *r;
    *out = NULL;
    ND_RETURN_IF(nd__check_real(op, a, 0));
    ND_RETURN_IF(nd__steps_begin(&s, op, a, opts));
    nd_array *x = replaced(&s, a, none);
    ND_STEP(&s, r, f(x, opts, &r));
    if (may_be_nan(a) && !nd__step_all(&s, counted(&s, a, opts)) && s.status == ND_OK)
        s.status = nd__fail(ND_ERR_ARGUMENT, op, 0,
                            "there is only NaN to choose from in some row; see nd_isnan");
    return nd__steps_end(&s, op, r, out);
}

nd_status nd_nanargmin(const nd_array *a, const nd_reduce_opts *opts, nd_array **out)
{
    ND_NEED("nanargmin", 2, out);
    return position("nanargmin", nd_argmin, INFINITY, a, opts, out);
}
nd_status nd_nanargmax(const nd_array *a, const nd_reduce_opts *opts, nd_array **out)
{
    ND_NEED("nanargmax", 2, out);
    return position("nanargmax", nd_argmax, -INFINITY, a, opts, out);
}

/* ---- moments: sums over counts, half precision in single ---- */
static nd_dtype wide(const nd_array *a, const nd_reduce_opts *o)
{
    const nd_dtype dtype = nd__floating_of(o->dtype ? o->dtype : a->dtype);
    return nd__itemsize(dtype) == 2 ? ND_F32 : dtype;
}

static nd_array *mean_of(nd_steps *s, const nd_array *x, const nd_reduce_opts *o, nd_array **count)
{
    nd_array *sum;
    nd_reduce_opts same = *o;
    same.dtype = 0;
    *count = counted(s, x, &same);
    nd_array *n = s->status == ND_OK ? nd__step_cast(s, *count, nd__real_of(x->dtype)) : NULL;
    ND_STEP(s, sum, nd_nansum(x, &same, &sum));
    return nd__step2(s, ND_OP_divide, sum, n);
}

nd_status nd_nanmean(const nd_array *a, const nd_reduce_opts *opts, nd_array **out)
{
    nd_steps s;
    nd_reduce_opts o;
    nd_array *count;
    ND_OUT("nanmean", 2, out, NULL);
    ND_RETURN_IF(nd__read_options("nanmean", opts, &o, sizeof o, NDP_END(nd_reduce_opts, dtype)));
    o.size = sizeof o;
    ND_RETURN_IF(nd__steps_begin(&s, "nanmean", a, opts));
    const nd_dtype result = nd__floating_of(o.dtype ? o.dtype : a->dtype);
    nd_array *x = nd__step_cast(&s, a, wide(a, &o));
    nd_array *r = s.status == ND_OK ? mean_of(&s, x, &o, &count) : NULL;
    r = nd__step_cast(&s, r, result);
    return nd__steps_end(&s, "nanmean", r, out);
}

/* Squared distances from the mean, 0 in NaN's place. */
static nd_array *squares(nd_steps *s, const nd_array *x, const nd_array *mean)
{
    nd_array *d = nd__step2(s, ND_OP_subtract, x, mean);
    d = s->status == ND_OK ? replaced(s, d, 0) : NULL;
    if (s->status != ND_OK || nd__kind(d->dtype) != ND_KIND_COMPLEX)
        return nd__step1(s, ND_OP_square, d);
    nd_array *re = nd__step1(s, ND_OP_square, nd__step1(s, ND_OP_real, d));
    nd_array *im = nd__step1(s, ND_OP_square, nd__step1(s, ND_OP_imag, d));
    return nd__step2(s, ND_OP_add, re, im);
}

/* NaN in x stays NaN less the mean and so becomes 0; a mean that is NaN belongs to rows of NaN
 * alone, or to infinities, whose variance is NaN as well. */
static nd_array *variance(nd_steps *s, const nd_array *x, const nd_reduce_opts *o)
{
    nd_array *count, *unused, *sum, *poisoned;
    nd_reduce_opts keep = *o, same = *o;
    keep.dtype = same.dtype = 0;
    keep.keepdims = 1;
    nd_array *mean = mean_of(s, x, &keep, &unused);
    nd_array *d = squares(s, x, mean);
    ND_STEP(s, sum, nd_sum(d, &same, &sum));
    nd_array *average = mean_of(s, x, &same, &count);
    poisoned = nd__step1(s, ND_OP_isfinite, average);
    poisoned = nd__step1(s, ND_OP_logical_not, poisoned);
    nd_array *n = s->status == ND_OK ? nd__step_cast(s, count, nd__real_of(x->dtype)) : NULL;
    n = nd__step_scalar(s, ND_OP_subtract, n, nd_float(o->correction));
    nd_array *r = nd__step2(s, ND_OP_divide, sum, n);
    nd_array *few = nd__step_scalar(s, ND_OP_less_equal, n, nd_float(0));
    few = nd__step2(s, ND_OP_logical_or, few, poisoned);
    return nd__step_where(s, few, nd_scalar_arg(nd_float(NAN)), nd_array_arg(r));
}

static nd_status spread(const char *op, bool root, const nd_array *a, const nd_reduce_opts *opts,
                        nd_array **out)
{
    nd_steps s;
    nd_reduce_opts o;
    *out = NULL;
    ND_RETURN_IF(nd__read_options(op, opts, &o, sizeof o, NDP_END(nd_reduce_opts, dtype)));
    o.size = sizeof o;
    ND_RETURN_IF(nd__steps_begin(&s, op, a, opts));
    const nd_dtype result = nd__real_of(nd__floating_of(o.dtype ? o.dtype : a->dtype));
    nd_array *x = nd__step_cast(&s, a, wide(a, &o));
    nd_array *r = s.status == ND_OK ? variance(&s, x, &o) : NULL;
    r = root ? nd__step1(&s, ND_OP_sqrt, r) : r;
    r = nd__step_cast(&s, r, result);
    return nd__steps_end(&s, op, r, out);
}

nd_status nd_nanvar(const nd_array *a, const nd_reduce_opts *opts, nd_array **out)
{
    ND_NEED("nanvar", 2, out);
    return spread("nanvar", false, a, opts, out);
}
nd_status nd_nanstd(const nd_array *a, const nd_reduce_opts *opts, nd_array **out)
{
    ND_NEED("nanstd", 2, out);
    return spread("nanstd", true, a, opts, out);
}

/* ---- scans ---- */
static nd_status scan_with(const char *op, scan *f, double value, const nd_array *a,
                           const nd_scan_opts *opts, nd_array **out)
{
    nd_steps s;
    nd_array *r;
    *out = NULL;
    ND_RETURN_IF(nd__steps_begin(&s, op, a, opts));
    nd_array *x = replaced(&s, a, value);
    ND_STEP(&s, r, f(x, opts, &r));
    return nd__steps_end(&s, op, r, out);
}

nd_status nd_nancumsum(const nd_array *a, const nd_scan_opts *opts, nd_array **out)
{
    ND_NEED("nancumsum", 2, out);
    return scan_with("nancumsum", nd_cumulative_sum, 0, a, opts, out);
}
nd_status nd_nancumprod(const nd_array *a, const nd_scan_opts *opts, nd_array **out)
{
    ND_NEED("nancumprod", 2, out);
    return scan_with("nancumprod", nd_cumulative_prod, 1, a, opts, out);
}

/* ---- nan_to_num ---- */
/* The dtype's largest finite value: with p bits of precision and exponents below e, (1 -
 * 2^-p)*2^e. */
static double largest(nd_dtype dtype)
{
    switch (dtype) {
    case ND_F16:
        return 65504;
    case ND_BF16:
        return ldexp(1 - ldexp(1, -8), 128);
    case ND_F32:
    case ND_C64:
        return ldexp(1 - ldexp(1, -24), 128);
    default:
        return ldexp(1 - ldexp(1, -53), 1024);
    }
}

static nd_array *numbers_of(nd_steps *s, const nd_array *a, double nan, double posinf,
                            double neginf)
{
    nd_array *is_nan = nd__step1(s, ND_OP_isnan, a);
    nd_array *high = nd__step_scalar(s, ND_OP_equal, a, nd_float(INFINITY));
    nd_array *low = nd__step_scalar(s, ND_OP_equal, a, nd_float(-INFINITY));
    nd_array *r = nd__step_where(s, is_nan, nd_scalar_arg(nd_float(nan)), nd_array_arg(a));
    r = nd__step_where(s, high, nd_scalar_arg(nd_float(posinf)), nd_array_arg(r));
    return nd__step_where(s, low, nd_scalar_arg(nd_float(neginf)), nd_array_arg(r));
}

nd_status nd_nan_to_num(const nd_array *a, double nan, double posinf, double neginf, nd_array **out)
{
    nd_steps s;
    nd_array *r;
    ND_OUT("nan_to_num", 4, out, NULL);
    ND_RETURN_IF(nd__steps_begin(&s, "nan_to_num", a, NULL));
    posinf = isnan(posinf) ? largest(a->dtype) : posinf;
    neginf = isnan(neginf) ? -largest(a->dtype) : neginf;
    if (!may_be_nan(a)) {
        ND_STEP(&s, r, nd_copy(a, NULL, &r));
    } else if (nd__kind(a->dtype) == ND_KIND_COMPLEX) {
        nd_array *re = numbers_of(&s, nd__step1(&s, ND_OP_real, a), nan, posinf, neginf);
        nd_array *im = numbers_of(&s, nd__step1(&s, ND_OP_imag, a), nan, posinf, neginf);
        im = nd__step_scalar(&s, ND_OP_multiply, im, nd_complex(0, 1));
        r = nd__step2(&s, ND_OP_add, re, im);
    } else {
        r = numbers_of(&s, a, nan, posinf, neginf);
    }
    return nd__steps_end(&s, "nan_to_num", r, out);
}
