/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Norms of vectors and matrices, condition and rank. */
#include <float.h>
#include <math.h>
#include "core/ops/linalg.h"

typedef nd_status reduction(const nd_array *a, const nd_reduce_opts *opts, nd_array **out);

static nd_status read_norm(const char *op, const nd_array *a, const nd_norms_opts *opts,
                           nd_norms_opts *o, nd_steps *s)
{
    ND_RETURN_IF(nd__check_array(op, a, 0));
    ND_RETURN_IF(nd__read_options(op, opts, o, sizeof *o, NDP_END(nd_norms_opts, kind)));
    if (o->kind < ND_NORM_DEFAULT || o->kind > ND_NORM_NUCLEAR)
        return nd__fail(ND_ERR_ARGUMENT, op, 1,
                        "kind is %d; ND_NORM_DEFAULT, _P, _FROBENIUS and "
                        "_NUCLEAR are 0 to 3",
                        (int)o->kind);
    return nd__steps_begin(s, op, a, opts);
}

/* a in a floating dtype in which its norm is computed; halves keep their own name in *given. */
static nd_array *floating(nd_steps *s, const char *op, const nd_array *a, nd_dtype *given)
{
    nd_dtype compute = a->dtype;
    if (s->status == ND_OK)
        s->status = nd__linalg_dtypes(op, a->dtype, &compute, given);
    *given = nd__real_of(*given);
    return nd__step_cast(s, a, compute);
}

static nd_array *reduce(nd_steps *s, reduction *f, const nd_array *a, const nd_norms_opts *o)
{
    const nd_reduce_opts r = {
        .size = sizeof r, .axes = o->axes, .naxes = o->naxes, .keepdims = o->keepdims};
    nd_array *out;
    ND_STEP(s, out, f(a, &r, &out));
    return out;
}

/* ---- vectors ---- */

/* Magnitudes to the power p, which beyond what their dtype has is infinite, as in NumPy. */
static nd_array *power_of(nd_steps *s, const nd_array *size, double p)
{
    const bool infinite = s->status == ND_OK && size->dtype == ND_F32 && fabs(p) > FLT_MAX;
    return nd__step_scalar(s, ND_OP_pow, size, nd_float(infinite ? copysign(INFINITY, p) : p));
}

static nd_array *vector(nd_steps *s, const nd_array *x, double ord, const nd_norms_opts *o)
{
    nd_array *size = nd__step1(s, ND_OP_abs, x);
    if (isinf(ord))
        return reduce(s, ord > 0 ? nd_max : nd_min, size, o);
    if (ord == 0) {
        nd_array *count = reduce(s, nd_count_nonzero, size, o);
        return s->status == ND_OK ? nd__step_cast(s, count, size->dtype) : NULL;
    }
    if (ord == 1)
        return reduce(s, nd_sum, size, o);
    if (ord == 2)
        return nd__step1(s, ND_OP_sqrt, reduce(s, nd_sum, nd__step1(s, ND_OP_square, size), o));
    return power_of(s, reduce(s, nd_sum, power_of(s, size, ord), o), 1 / ord);
}

nd_status nd_vector_norm(const nd_array *a, const nd_norms_opts *opts, nd_array **out)
{
    nd_norms_opts o;
    nd_steps s = {.status = ND_OK};
    nd_dtype given = 0;
    ND_OUT("vector_norm", 2, out, NULL);
    ND_RETURN_IF(read_norm("vector_norm", a, opts, &o, &s));
    if (o.kind > ND_NORM_P)
        s.status =
            nd__fail(ND_ERR_ARGUMENT, "vector_norm", 1, "kind %d is for matrices", (int)o.kind);
    nd_array *x = floating(&s, "vector_norm", a, &given);
    nd_array *r = vector(&s, x, o.kind == ND_NORM_P ? o.ord : 2, &o);
    return nd__steps_end(&s, "vector_norm", nd__step_cast(&s, r, given), out);
}

/* ---- matrices ---- */

/* The two axes that matrices lie along become the last ones, which stay where keepdims is set. */
static nd_array *matrix_last(nd_steps *s, const char *op, const nd_array *a, const nd_norms_opts *o)
{
    static const int32_t last[2] = {-2, -1};
    nd_array *r;
    const int32_t *axes = o->axes;
    if (s->status != ND_OK || (o->naxes == 0 && !axes)) {
        if (s->status == ND_OK)
            s->status = nd__check_matrix(op, a, 0);
        return (nd_array *)(uintptr_t)a;
    }
    if (o->naxes != 2 || !axes) {
        s->status = nd__fail(ND_ERR_ARGUMENT, op, 1, "%d axes; a matrix has two", (int)o->naxes);
        return NULL;
    }
    ND_STEP(s, r, nd_moveaxis(a, 2, axes, last, &r));
    return r;
}

static nd_array *values_reduced(nd_steps *s, reduction *f, const nd_array *x)
{
    nd_array *values;
    ND_STEP(s, values, nd_svdvals(x, NULL, &values));
    return nd__step_reduce(s, f, values, -1, false);
}

/* The norm of each matrix, its axes gone. */
static nd_array *matrix(nd_steps *s, const char *op, const nd_array *x, const nd_norms_opts *o)
{
    static const int32_t last[2] = {-2, -1};
    const nd_norms_opts both = {.size = sizeof both, .axes = last, .naxes = 2};
    const double ord = o->ord;
    if (o->kind == ND_NORM_DEFAULT || o->kind == ND_NORM_FROBENIUS)
        return vector(s, x, 2, &both);
    if (o->kind == ND_NORM_NUCLEAR)
        return values_reduced(s, nd_sum, x);
    if (ord == 2 || ord == -2)
        return values_reduced(s, ord > 0 ? nd_max : nd_min, x);
    if (ord == 1 || ord == -1 || isinf(ord)) {
        const int sum_axis = isinf(ord) ? -1 : -2;
        nd_array *sums = nd__step_reduce(s, nd_sum, nd__step1(s, ND_OP_abs, x), sum_axis, false);
        return nd__step_reduce(s, ord > 0 ? nd_max : nd_min, sums, -1, false);
    }
    if (s->status == ND_OK)
        s->status = nd__fail(ND_ERR_ARGUMENT, op, 1,
                             "a matrix norm has ord 1, -1, 2, -2, inf or -inf, not %g", ord);
    return NULL;
}

/* The axes come back with extent one. */
static nd_array *kept(nd_steps *s, const nd_array *a, nd_array *r, const nd_norms_opts *o)
{
    static const int32_t last[2] = {-2, -1};
    nd_array *view;
    int32_t front[2];
    if (!o->keepdims || s->status != ND_OK)
        return r;
    for (int i = 0; i < 2; i++) {
        const int32_t axis = o->naxes == 2 ? o->axes[i] : last[i];
        front[i] = axis < 0 ? axis + a->ndim : axis;
    }
    ND_STEP(s, view, nd_expand_dims(r, 2, front, &view));
    return view;
}

static nd_status matrix_norm(const char *op, const nd_array *a, const nd_norms_opts *opts,
                             nd_array **out)
{
    nd_norms_opts o;
    nd_steps s = {.status = ND_OK};
    nd_dtype given = 0;
    ND_RETURN_IF(read_norm(op, a, opts, &o, &s));
    nd_array *x = matrix_last(&s, op, floating(&s, op, a, &given), &o);
    nd_array *r = kept(&s, a, matrix(&s, op, x, &o), &o);
    return nd__steps_end(&s, op, nd__step_cast(&s, r, given), out);
}

nd_status nd_matrix_norm(const nd_array *a, const nd_norms_opts *opts, nd_array **out)
{
    ND_OUT("matrix_norm", 2, out, NULL);
    return matrix_norm("matrix_norm", a, opts, out);
}

/* NumPy's: with two axes a matrix norm, with one a vector norm; without axes of a vector or a
 * matrix, and by default the 2-norm of all elements. */
nd_status nd_norm(const nd_array *a, const nd_norms_opts *opts, nd_array **out)
{
    nd_norms_opts o;
    ND_OUT("norm", 2, out, NULL);
    ND_RETURN_IF(nd__check_array("norm", a, 0));
    ND_RETURN_IF(nd__read_options("norm", opts, &o, sizeof o, NDP_END(nd_norms_opts, kind)));
    const bool all = !o.axes && o.naxes == 0;
    const int axes = all ? a->ndim : o.naxes;
    if (all && o.kind != ND_NORM_DEFAULT && a->ndim != 1 && a->ndim != 2)
        return nd__fail(ND_ERR_SHAPE, "norm", 0,
                        "argument 0 has %d axes: name one or two of them for this norm",
                        (int)a->ndim);
    if (axes == 2 && !(all && o.kind == ND_NORM_DEFAULT))
        return matrix_norm("norm", a, opts, out);
    if (axes > 2 && !all)
        return nd__fail(ND_ERR_ARGUMENT, "norm", 1, "%d axes; one or two are allowed", axes);
    return nd__error_as("norm", nd_vector_norm(a, opts, out));
}

nd_status nd_cond(const nd_array *a, const nd_norms_opts *opts, nd_array **out)
{
    nd_norms_opts o;
    nd_steps s = {.status = ND_OK};
    nd_dtype given = 0;
    const nd_linalg_opts unchecked = {.size = sizeof unchecked, .unchecked = 1};
    nd_array *values, *inverse;
    ND_OUT("cond", 2, out, NULL);
    ND_RETURN_IF(read_norm("cond", a, opts, &o, &s));
    if (o.axes || o.naxes || o.keepdims)
        s.status = nd__fail(ND_ERR_ARGUMENT, "cond", 1,
                            "axes are not an option: matrices are the last two");
    ND_STEP_DO(&s, nd__check_matrix("cond", a, 0));
    if (s.status == ND_OK && a->size == 0)
        s.status = nd__fail(ND_ERR_SHAPE, "cond", 0, "a matrix without elements has no condition");
    nd_array *x = floating(&s, "cond", a, &given), *r;
    if (o.kind == ND_NORM_DEFAULT || (o.kind == ND_NORM_P && (o.ord == 2 || o.ord == -2))) {
        const bool below = o.kind == ND_NORM_P && o.ord == -2;
        ND_STEP(&s, values, nd_svdvals(x, NULL, &values));
        nd_array *most = nd__step_reduce(&s, nd_max, values, -1, false),
                 *least = nd__step_reduce(&s, nd_min, values, -1, false);
        r = nd__step2(&s, ND_OP_divide, below ? least : most, below ? most : least);
    } else {
        ND_STEP_DO(&s, nd__check_square("cond", a, 0));
        ND_STEP(&s, inverse, nd_inv(x, &unchecked, &inverse));
        r = nd__step2(&s, ND_OP_multiply, matrix(&s, "cond", x, &o),
                      matrix(&s, "cond", inverse, &o));
    }
    return nd__steps_end(&s, "cond", nd__step_cast(&s, r, given), out);
}

nd_status nd_matrix_rank(const nd_array *a, const nd_array *rtol, const nd_linalg_opts *opts,
                         nd_array **out)
{
    nd_steps s = {.status = ND_OK};
    nd_array *values;
    ND_OUT("matrix_rank", 3, out, NULL);
    ND_RETURN_IF(nd__check_array("matrix_rank", a, 0));
    ND_RETURN_IF(nd__check_matrix("matrix_rank", a, 0));
    ND_RETURN_IF(nd__steps_begin(&s, "matrix_rank", a, opts));
    ND_STEP(&s, values, nd_svdvals(a, opts, &values));
    nd_array *above = nd__step_above(&s, values, a, rtol);
    nd_array *count = nd__step_reduce(&s, nd_count_nonzero, above, -1, false);
    return nd__steps_end(&s, "matrix_rank", count, out);
}
