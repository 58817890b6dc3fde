/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What is made of singular values: pseudo-inverses and least squares; and the exponential of a
 * matrix. */
#include <float.h>
#include <math.h>
#include "core/ops/linalg.h"

static nd_array *matmul(nd_steps *s, const nd_array *a, const nd_array *b)
{
    nd_array *r;
    ND_STEP(s, r, nd_matmul(a, b, NULL, &r));
    return r;
}

static nd_array *adjoint(nd_steps *s, const nd_array *a)
{
    nd_array *t;
    ND_STEP(s, t, nd_matrix_transpose(a, &t));
    return s->status == ND_OK && nd__kind(a->dtype) == ND_KIND_COMPLEX ? nd__step1(s, ND_OP_conj, t)
                                                                       : t;
}

static double eps_of(nd_dtype dtype)
{
    const nd_dtype real = nd__real_of(dtype);
    return real == ND_F64    ? DBL_EPSILON
           : real == ND_F16  ? 0x1p-10
           : real == ND_BF16 ? 0x1p-7
                             : FLT_EPSILON;
}

nd_array *nd__step_above(nd_steps *s, const nd_array *values, const nd_array *a,
                         const nd_array *rtol)
{
    if (s->status != ND_OK)
        return NULL;
    const int64_t rows = nd__rows(a), columns = nd__columns(a);
    const double extent = (double)(rows > columns ? rows : columns);
    if (values->size == 0)
        return nd__step_scalar(s, ND_OP_greater, values, nd_int(0));
    nd_array *most = nd__step_reduce(s, nd_max, values, -1, true);
    nd_array *least =
        rtol ? nd__step2(s, ND_OP_multiply, most,
                         nd__step_cast(s, nd__step_axis(s, rtol, -1), values->dtype))
             : nd__step_scalar(s, ND_OP_multiply, most, nd_float(extent * eps_of(values->dtype)));
    return nd__step2(s, ND_OP_greater, values, least);
}

/* Singular values and vectors of `a` in the dtype to compute in, and one over those values that
 * count, zero for the others. */
typedef struct {
    nd_array *wide, *u, *values, *vh, *above, *inverse;
    nd_dtype compute, given;
} decomposed;

static void decompose(nd_steps *s, const char *op, const nd_array *a, nd_dtype common,
                      const nd_array *rtol, const nd_linalg_opts *opts, decomposed *d)
{
    nd_linalg_opts o = {.size = sizeof o};
    *d = (decomposed){.u = NULL};
    ND_STEP_DO(s, nd__linalg_options(op, opts, &o));
    o = (nd_linalg_opts){.size = sizeof o, .unchecked = o.unchecked};
    ND_STEP_DO(s, nd__check_matrix(op, a, 0));
    ND_STEP_DO(s, nd__linalg_dtypes(op, common, &d->compute, &d->given));
    d->wide = nd__step_cast(s, a, d->compute);
    ND_STEP_DO(s, nd_svd(d->wide, &o, &d->u, &d->values, &d->vh));
    nd__steps_keep(s, d->u);
    nd__steps_keep(s, d->values);
    nd__steps_keep(s, d->vh);
    d->above = nd__step_above(s, d->values, a, rtol);
    nd_array *safe = nd__step_where(s, d->above, nd_array_arg(d->values), nd_scalar_arg(nd_int(1)));
    nd_array *over = nd__step_from_scalar(s, ND_OP_divide, nd_int(1), safe);
    nd_array *bad = nd__step1(s, ND_OP_isnan, d->values); /* NaN stays NaN */
    nd_array *zero = nd__step_where(s, d->above, nd_array_arg(over), nd_scalar_arg(nd_int(0)));
    d->inverse = nd__step_where(s, bad, nd_array_arg(d->values), nd_array_arg(zero));
}

nd_status nd_pinv(const nd_array *a, const nd_array *rtol, const nd_linalg_opts *opts,
                  nd_array **out)
{
    nd_steps s = {.status = ND_OK};
    decomposed d;
    ND_OUT("pinv", 3, out, NULL);
    ND_RETURN_IF(nd__check_array("pinv", a, 0));
    ND_RETURN_IF(nd__steps_begin(&s, "pinv", a, opts));
    decompose(&s, "pinv", a, a->dtype, rtol, opts, &d);
    nd_array *right =
        nd__step2(&s, ND_OP_multiply, nd__step_axis(&s, d.inverse, -1), adjoint(&s, d.u));
    nd_array *r = matmul(&s, adjoint(&s, d.vh), right);
    return nd__steps_end(&s, "pinv", nd__step_cast(&s, r, d.given), out);
}

/* ---- least squares ---- */

typedef struct {
    nd_array *x, *residuals, *rank, *values;
} solution;

static void solve(nd_steps *s, const decomposed *d, const nd_array *b, bool vector, solution *r)
{
    static const int32_t last = -1;
    nd_array *sides = vector ? nd__step_axis(s, b, -1) : (nd_array *)(uintptr_t)b, *flat;
    sides = nd__step_cast(s, sides, d->compute);
    nd_array *part = matmul(s, adjoint(s, d->u), sides);
    part = nd__step2(s, ND_OP_multiply, nd__step_axis(s, d->inverse, -1), part);
    r->x = matmul(s, adjoint(s, d->vh), part);
    nd_array *rest = nd__step2(s, ND_OP_subtract, sides, matmul(s, d->wide, r->x));
    nd_array *squares = nd__step1(s, ND_OP_square, nd__step1(s, ND_OP_abs, rest));
    r->residuals = nd__step_reduce(s, nd_sum, squares, -2, false);
    r->rank = nd__step_reduce(s, nd_count_nonzero, d->above, -1, false);
    r->values = d->values;
    if (!vector)
        return;
    ND_STEP(s, flat, nd_squeeze(r->x, 1, &last, &flat));
    r->x = flat;
    ND_STEP(s, flat, nd_squeeze(r->residuals, 1, &last, &flat));
    r->residuals = flat;
}

nd_status nd_lstsq(const nd_array *a, const nd_array *b, const nd_array *rtol,
                   const nd_linalg_opts *opts, nd_array **x, nd_array **residuals, nd_array **rank,
                   nd_array **values)
{
    nd_steps s = {.status = ND_OK};
    decomposed d;
    solution r = {NULL, NULL, NULL, NULL};
    nd_dtype common;
    ND_OUT("lstsq", 4, x, NULL);
    ND_OUT("lstsq", 5, residuals, NULL);
    ND_OUT("lstsq", 6, rank, NULL);
    ND_OUT("lstsq", 7, values, NULL);
    ND_RETURN_IF(nd__check_array("lstsq", a, 0));
    ND_RETURN_IF(nd__check_array("lstsq", b, 1));
    ND_RETURN_IF(nd__check_same_device("lstsq", a, b, 0, 1));
    ND_RETURN_IF(nd__check_matrix("lstsq", a, 0));
    ND_RETURN_IF(nd__promote("lstsq", a->dtype, b->dtype, &common));
    if (b->ndim == 0 || b->shape[b->ndim == 1 ? 0 : b->ndim - 2] != nd__rows(a))
        return nd__fail(ND_ERR_SHAPE, "lstsq", 1, "the right sides need %lld rows, as the matrix",
                        (long long)nd__rows(a));
    ND_RETURN_IF(nd__steps_begin(&s, "lstsq", a, opts));
    decompose(&s, "lstsq", a, common, rtol, opts, &d);
    solve(&s, &d, b, b->ndim == 1, &r);
    const nd_dtype real = nd__real_of(d.given);
    nd_array *given[3] = {nd__step_cast(&s, r.x, d.given), nd__step_cast(&s, r.residuals, real),
                          nd__step_cast(&s, r.values, real)};
    if (s.status == ND_OK) {
        *x = nd_retain(given[0]);
        *residuals = nd_retain(given[1]);
        *values = nd_retain(given[2]);
    }
    return nd__steps_end(&s, "lstsq", r.rank, rank);
}

/* ---- the exponential: scaling and squaring with the Pade approximant of degree 13 (Higham, SIAM J.
 * Matrix Anal. Appl. 26(4), 2005) ---- */

static const double pade[14] = {64764752532480000,
                                32382376266240000,
                                7771770303897600,
                                1187353796428800,
                                129060195264000,
                                10559470521600,
                                670442572800,
                                33522128640,
                                1323241920,
                                40840800,
                                960960,
                                16380,
                                182,
                                1};
#define THETA_13 5.371920351148152

/* How often each matrix is halved, as an array with the matrix's axes; f32 or f64. */
static nd_array *halvings(nd_steps *s, const nd_array *a)
{
    const nd_norms_opts one = {.size = sizeof one, .kind = ND_NORM_P, .ord = 1, .keepdims = 1};
    nd_array *norm;
    ND_STEP(s, norm, nd_matrix_norm(a, &one, &norm));
    nd_array *times =
        nd__step1(s, ND_OP_log2, nd__step_scalar(s, ND_OP_divide, norm, nd_float(THETA_13)));
    nd_array *up = nd__step_scalar(s, ND_OP_maximum, nd__step1(s, ND_OP_ceil, times), nd_int(0));
    nd_array *finite = nd__step1(s, ND_OP_isfinite, up); /* NaN and infinity: nothing helps */
    return nd__step_where(s, finite, nd_array_arg(up), nd_scalar_arg(nd_int(0)));
}

/* c[0] x6 + c[1] x4 + c[2] x2 + c[3] 1, what is NULL left out. */
static nd_array *combine(nd_steps *s, nd_array *const *x, const double *c, int n)
{
    nd_array *sum = NULL;
    for (int i = 0; i < n; i++) {
        nd_array *part = nd__step_scalar(s, ND_OP_multiply, x[i], nd_float(c[i]));
        sum = sum ? nd__step2(s, ND_OP_add, sum, part) : part;
    }
    return sum;
}

static nd_array *approximate(nd_steps *s, nd_array *a)
{
    nd_array *identity, *r;
    nd_array *x2 = matmul(s, a, a), *x4 = matmul(s, x2, x2), *x6 = matmul(s, x4, x2);
    ND_STEP(s, identity, nd_empty_like(a, 0, &identity));
    ND_STEP_DO(s, nd__fill_identity(identity));
    nd_array *const x[4] = {x6, x4, x2, identity};
    const double u1[3] = {pade[13], pade[11], pade[9]}, v1[3] = {pade[12], pade[10], pade[8]};
    const double u2[4] = {pade[7], pade[5], pade[3], pade[1]},
                 v2[4] = {pade[6], pade[4], pade[2], pade[0]};
    nd_array *u =
        nd__step2(s, ND_OP_add, matmul(s, x6, combine(s, x, u1, 3)), combine(s, x, u2, 4));
    u = matmul(s, a, u);
    nd_array *v =
        nd__step2(s, ND_OP_add, matmul(s, x6, combine(s, x, v1, 3)), combine(s, x, v2, 4));
    nd_array *above = nd__step2(s, ND_OP_add, v, u), *below = nd__step2(s, ND_OP_subtract, v, u);
    const nd_linalg_opts unchecked = {.size = sizeof unchecked, .unchecked = 1};
    ND_STEP(s, r, nd_solve(below, above, &unchecked, &r));
    return r;
}

/* The matrices that were halved more often than i times are squared. */
static nd_status square_some(const nd_array *times, int i, nd_array **r)
{
    nd_steps s = {.status = ND_OK};
    nd_array *before = *r, *after = NULL;
    nd_array *again = nd__step_scalar(&s, ND_OP_greater, times, nd_int(i));
    nd_array *square = matmul(&s, before, before);
    nd_array *mixed = nd__step_where(&s, again, nd_array_arg(square), nd_array_arg(before));
    const nd_status status = nd__steps_end(&s, "expm", mixed, &after);
    if (status == ND_OK) {
        nd_release(before);
        *r = after;
    }
    return status;
}

/* f64 and c128 alone: f32 is computed in them, since 13 is far more than it needs. */
nd_status nd_expm(const nd_array *a, nd_array **out)
{
    nd_steps s = {.status = ND_OK};
    nd_dtype compute = 0, given = 0;
    ND_OUT("expm", 1, out, NULL);
    ND_RETURN_IF(nd__check_array("expm", a, 0));
    ND_RETURN_IF(nd__check_square("expm", a, 0));
    ND_RETURN_IF(nd__linalg_dtypes("expm", a->dtype, &compute, &given));
    ND_RETURN_IF(nd__steps_begin(&s, "expm", a, NULL));
    if (a->size == 0)
        return nd__steps_end(&s, "expm", nd__step_cast(&s, nd__step_copy(&s, a), given), out);
    const nd_dtype wide = nd__kind(compute) == ND_KIND_COMPLEX ? ND_C128 : ND_F64;
    nd_array *x = nd__step_cast(&s, a, wide), *times = halvings(&s, x);
    nd_array *factor = nd__step_from_scalar(&s, ND_OP_pow, nd_float(0.5), times);
    nd_array *r = approximate(&s, nd__step2(&s, ND_OP_multiply, x, factor));
    nd_array *most;
    ND_STEP(&s, most, nd_max(times, NULL, &most));
    const int rounds = (int)nd__step_value(&s, most);
    r = s.status == ND_OK ? nd_retain(r) : NULL;
    for (int i = 0; i < rounds && s.status == ND_OK; i++)
        s.status = square_some(times, i, &r);
    nd__steps_keep(&s, r);
    return nd__steps_end(&s, "expm", nd__step_cast(&s, r, given), out);
}
