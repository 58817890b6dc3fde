/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Averages, the range of values, covariance and correlation. */
#include "core/ops/steps.h"

nd_status nd_ptp(const nd_array *a, const nd_reduce_opts *opts, nd_array **out)
{
    nd_steps s;
    nd_array *most, *least;
    ND_OUT("ptp", 2, out, NULL);
    ND_RETURN_IF(nd__steps_begin(&s, "ptp", a, opts));
    ND_STEP(&s, most, nd_max(a, opts, &most));
    ND_STEP(&s, least, nd_min(a, opts, &least));
    nd_array *r = nd__step2(&s, ND_OP_subtract, most, least);
    return nd__steps_end(&s, "ptp", r, out);
}

/* ---- average ---- */
/* weights as an array that broadcasts with a. */
static nd_array *fit_weights(nd_steps *s, const nd_array *a, const nd_array *weights,
                             const nd_reduce_opts *o)
{
    int64_t shape[ND_MAX_NDIM];
    char have[ND_SHAPE_TEXT], want[ND_SHAPE_TEXT];
    int axis = 0;
    if (nd__same_shape(a->ndim, a->shape, weights->ndim, weights->shape))
        return nd__step_reshape(s, weights, a->ndim, a->shape);
    if (o->naxes == 1 && o->axes)
        ND_STEP_DO(s, nd__axis("average", o->axes[0], a->ndim, &axis));
    const bool single = o->axes ? o->naxes == 1 : a->ndim == 1;
    if (s->status == ND_OK &&
        (!single || weights->ndim != 1 || weights->shape[0] != a->shape[axis]))
        s->status = nd__fail(ND_ERR_SHAPE, "average", 1,
                             "the weights have shape %s, the array %s; they have the same shape, "
                             "or one dimension and the extent of the only axis",
                             nd__shape_text(weights->ndim, weights->shape, have, sizeof have),
                             nd__shape_text(a->ndim, a->shape, want, sizeof want));
    for (int d = 0; d < a->ndim; d++)
        shape[d] = d == axis ? weights->size : 1;
    return nd__step_reshape(s, weights, a->ndim, shape);
}

static nd_array *weighted(nd_steps *s, const nd_array *a, const nd_array *weights,
                          const nd_reduce_opts *o, nd_array **total)
{
    nd_array *wide, *sum;
    nd_dtype common = ND_F64;
    nd_array *w = fit_weights(s, a, weights, o);
    ND_STEP_DO(s, nd__promote("average", a->dtype, weights->dtype, &common));
    common = nd__floating_of(common);
    nd_array *x = nd__step_cast(s, a, common);
    w = nd__step_cast(s, w, common);
    ND_STEP(s, wide, nd_broadcast_to(w, a->ndim, a->shape, &wide));
    ND_STEP(s, *total, nd_sum(wide, o, total));
    x = nd__step2(s, ND_OP_multiply, x, w);
    ND_STEP(s, sum, nd_sum(x, o, &sum));
    return nd__step2(s, ND_OP_divide, sum, *total);
}

/* All weights 1: the mean, and how many elements it is of. */
static nd_array *plain(nd_steps *s, const nd_array *a, const nd_reduce_opts *o, nd_array **total)
{
    nd_array *r;
    ND_STEP(s, r, nd_mean(a, o, &r));
    const double count = s->status == ND_OK && r->size ? (double)(a->size / r->size) : 0;
    ND_STEP(s, *total, nd_full_like(r, 0, nd_float(count), total));
    return r;
}

nd_status nd_average(const nd_array *a, const nd_array *weights, const nd_reduce_opts *opts,
                     nd_array **out, nd_array **total)
{
    nd_steps s;
    nd_reduce_opts o;
    nd_array *sums = NULL;
    ND_OUT("average", 3, out, NULL);
    if (total)
        *total = NULL;
    ND_RETURN_IF(nd__check_array("average", a, 0));
    ND_RETURN_IF(nd__read_options("average", opts, &o, sizeof o, NDP_END(nd_reduce_opts, dtype)));
    if (weights) {
        ND_RETURN_IF(nd__check_array("average", weights, 1));
        ND_RETURN_IF(nd__check_same_device("average", a, weights, 0, 1));
    }
    o.size = sizeof o;
    ND_RETURN_IF(nd__steps_begin(&s, "average", a, opts));
    nd_array *r = weights ? weighted(&s, a, weights, &o, &sums) : plain(&s, a, &o, &sums);
    if (s.status == ND_OK && total)
        *total = nd_retain(sums);
    return nd__steps_end(&s, "average", r, out);
}

/* ---- covariance ---- */
typedef struct {
    nd_array *x, *w, *aweights, *factor; /* variables by observations; weights, NULL: all 1;
                                            factor: what sums are divided by */
} observations;

static nd_array *weights_of(nd_steps *s, const char *op, const nd_array *weights, int64_t n,
                            nd_dtype dtype, const char *name)
{
    ND_STEP_DO(s, nd__check_array(op, weights, 1));
    if (s->status == ND_OK && (weights->ndim != 1 || weights->size != n)) {
        char have[ND_SHAPE_TEXT];
        s->status = nd__fail(ND_ERR_SHAPE, op, 1, "%s have shape %s for %lld observations", name,
                             nd__shape_text(weights->ndim, weights->shape, have, sizeof have),
                             (long long)n);
    }
    return nd__step_cast(s, weights, dtype);
}

/* What all observations weigh, less the correction for the mean that was estimated. */
static nd_array *divisor(nd_steps *s, const observations *v, double correction, nd_dtype real)
{
    nd_array *sum = NULL, *of_a = NULL;
    if (!v->w) {
        ND_STEP(s, sum,
                nd_full(v->x->storage->device, real, 0, NULL,
                        nd_float((double)v->x->shape[1] - correction), &sum));
        return sum;
    }
    ND_STEP(s, sum, nd_sum(v->w, NULL, &sum));
    if (!v->aweights)
        return nd__step_scalar(s, ND_OP_subtract, sum, nd_float(correction));
    nd_array *product = nd__step2(s, ND_OP_multiply, v->w, v->aweights);
    ND_STEP(s, of_a, nd_sum(product, NULL, &of_a));
    of_a = nd__step2(s, ND_OP_divide, of_a, sum);
    of_a = nd__step_scalar(s, ND_OP_multiply, of_a, nd_float(correction));
    return nd__step2(s, ND_OP_subtract, sum, of_a);
}

static void read_observations(nd_steps *s, const char *op, const nd_array *a, const nd_cov_opts *o,
                              observations *v)
{
    const int64_t row[2] = {1, a->size};
    nd_array *x = (nd_array *)a, *turned;
    if (a->ndim > 2)
        s->status = nd__fail(ND_ERR_SHAPE, op, 0, "rank %d where at most 2 is possible", a->ndim);
    if (a->ndim < 2)
        x = nd__step_reshape(s, a, 2, row);
    if (a->ndim == 2 && o->columns) {
        ND_STEP(s, turned, nd_matrix_transpose(a, &turned));
        x = turned;
    }
    const nd_dtype dtype = o->dtype ? o->dtype : nd__floating_of(a->dtype);
    const nd_dtype real = nd__real_of(dtype);
    v->x = nd__step_cast(s, x, dtype);
    if (o->aweights && s->status == ND_OK)
        v->w = v->aweights = weights_of(s, op, o->aweights, v->x->shape[1], real, "aweights");
    if (o->fweights && s->status == ND_OK)
        v->w = weights_of(s, op, o->fweights, v->x->shape[1], real, "fweights");
    if (o->aweights && o->fweights)
        v->w = nd__step2(s, ND_OP_multiply, v->w, v->aweights);
    if (s->status == ND_OK)
        v->factor = divisor(s, v, o->has_correction ? o->correction : 1, real);
}

/* Each variable less its mean. */
static nd_array *centred(nd_steps *s, const observations *v)
{
    nd_array *mean, *sum;
    if (!v->w) {
        mean = nd__step_reduce(s, nd_mean, v->x, 1, true);
        return nd__step2(s, ND_OP_subtract, v->x, mean);
    }
    nd_array *x = nd__step2(s, ND_OP_multiply, v->x, v->w);
    mean = nd__step_reduce(s, nd_sum, x, 1, true);
    ND_STEP(s, sum, nd_sum(v->w, NULL, &sum));
    mean = nd__step2(s, ND_OP_divide, mean, sum);
    return nd__step2(s, ND_OP_subtract, v->x, mean);
}

static nd_array *covariance(nd_steps *s, const char *op, const nd_array *a, const nd_cov_opts *o)
{
    observations v = {NULL};
    nd_array *turned, *r;
    read_observations(s, op, a, o, &v);
    nd_array *x = centred(s, &v);
    nd_array *right = v.w ? nd__step2(s, ND_OP_multiply, x, v.w) : x;
    right = s->status == ND_OK && nd__kind(x->dtype) == ND_KIND_COMPLEX
                ? nd__step1(s, ND_OP_conj, right)
                : right;
    ND_STEP(s, turned, nd_matrix_transpose(right, &turned));
    ND_STEP(s, r, nd_matmul(x, turned, NULL, &r));
    return nd__step2(s, ND_OP_divide, r, v.factor);
}

/* One variable has a variance, not a matrix of it. */
static nd_array *without_axes(nd_steps *s, const nd_array *a, nd_array *r)
{
    return a->ndim < 2 || (s->status == ND_OK && r->size == 1) ? nd__step_reshape(s, r, 0, NULL)
                                                               : r;
}

nd_status nd_cov(const nd_array *a, const nd_cov_opts *opts, nd_array **out)
{
    nd_steps s;
    nd_cov_opts o;
    ND_OUT("cov", 2, out, NULL);
    ND_RETURN_IF(nd__read_options("cov", opts, &o, sizeof o, NDP_END(nd_cov_opts, dtype)));
    ND_RETURN_IF(nd__steps_begin(&s, "cov", a, opts));
    nd_array *r = without_axes(&s, a, covariance(&s, "cov", a, &o));
    return nd__steps_end(&s, "cov", r, out);
}

/* Real or imaginary part within [-1, 1]: rounding may have gone beyond. */
static nd_array *clipped(nd_steps *s, const nd_array *a)
{
    nd_array *r = nd__step_scalar(s, ND_OP_minimum, a, nd_float(1));
    return nd__step_scalar(s, ND_OP_maximum, r, nd_float(-1));
}

static nd_array *correlation(nd_steps *s, const nd_array *c)
{
    nd_array *variance, *column;
    const int32_t axes[1] = {1};
    ND_STEP(s, variance, nd_diagonal(c, 0, 0, 1, &variance));
    variance = nd__step1(s, ND_OP_real, variance);
    nd_array *deviation = nd__step1(s, ND_OP_sqrt, variance);
    ND_STEP(s, column, nd_expand_dims(deviation, 1, axes, &column));
    nd_array *r = nd__step2(s, ND_OP_divide, c, column);
    r = nd__step2(s, ND_OP_divide, r, deviation);
    if (s->status != ND_OK || nd__kind(r->dtype) != ND_KIND_COMPLEX)
        return clipped(s, r);
    nd_array *re = clipped(s, nd__step1(s, ND_OP_real, r));
    nd_array *im = clipped(s, nd__step1(s, ND_OP_imag, r));
    im = nd__step_scalar(s, ND_OP_multiply, im, nd_complex(0, 1));
    return nd__step2(s, ND_OP_add, re, im);
}

nd_status nd_corrcoef(const nd_array *a, const nd_cov_opts *opts, nd_array **out)
{
    nd_steps s;
    nd_cov_opts o;
    ND_OUT("corrcoef", 2, out, NULL);
    ND_RETURN_IF(nd__read_options("corrcoef", opts, &o, sizeof o, NDP_END(nd_cov_opts, dtype)));
    ND_RETURN_IF(nd__steps_begin(&s, "corrcoef", a, opts));
    nd_array *r = correlation(&s, covariance(&s, "corrcoef", a, &o));
    r = without_axes(&s, a, r);
    return nd__steps_end(&s, "corrcoef", r, out);
}
