/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Class FACTOR: cholesky, lu, qr of each matrix of a batch. */
#include <stdio.h>
#include <string.h>
#include "linalg/lapack.h"
#include "linalg/spectral.h"

/* ---- cholesky ---- */

/* The other triangle of a, whose columns are lda apart, becomes zero. */
static void clear_above(const lin_context *x, int64_t n, char *a, int64_t lda)
{
    for (int64_t j = 1; j < n; j++)
        memset(lin_at(x, a, lda, 0, j), 0, (size_t)(j * x->size));
}

/* r (k, n), in a (m, n), without what lies below it. */
static void clear_below(const lin_context *x, int64_t m, int64_t n, char *a, int64_t k)
{
    for (int64_t j = 0; j < n && j + 1 < k; j++)
        memset(lin_at(x, a, m, j + 1, j), 0, (size_t)((k - j - 1) * x->size));
}

enum { BLOCK = 64 }; /* columns of which the triangle is copied at once */

/* Rows and columns from j on of v, and up to BLOCK of these. */
static ndp_view corner(const ndp_view *v, int64_t j, int64_t *shape)
{
    ndp_view part = *v;
    const int64_t left = v->shape[1] - j;
    part.offset_bytes += j * (v->stride[1] + v->stride[2]) * ndp_dtype_size(v->dtype);
    shape[0] = v->shape[0];
    shape[1] = left;
    shape[2] = left < BLOCK ? left : BLOCK;
    part.shape = shape;
    return part;
}

/* The lower triangle, and of the other one what is near. */
static void get_lower(const lin_context *x, const ndp_view *v, int64_t item, char *a, int64_t lda)
{
    int64_t shape[3];
    for (int64_t j = 0; j < v->shape[1]; j += BLOCK) {
        const ndp_view part = corner(v, j, shape);
        lin_get(x, &part, item, lin_at(x, a, lda, j, j), lda);
    }
}

/* The upper triangle, and of the other one what is near. */
static void get_upper(const lin_context *x, const ndp_view *v, int64_t item, char *a, int64_t lda)
{
    const int64_t n = v->shape[1];
    for (int64_t j = 0; j < n; j += BLOCK) {
        const int64_t columns = n - j < BLOCK ? n - j : BLOCK;
        const int64_t shape[3] = {v->shape[0], j + columns, columns};
        ndp_view part = *v;
        part.offset_bytes += j * v->stride[2] * ndp_dtype_size(v->dtype);
        part.shape = shape;
        lin_get(x, &part, item, lin_at(x, a, lda, 0, j), lda);
    }
}

/* The lower triangle of a, and zeros. */
static void put_lower(const lin_context *x, char *a, int64_t lda, const ndp_view *v, int64_t item)
{
    const int64_t n = v->shape[1];
    int64_t shape[3];
    clear_above(x, n, a, lda);
    if (v->stride[2] != 1 || ndp_dtype_size(v->dtype) != x->size) {
        lin_put(x, a, lda, v, item);
        return;
    }
    for (int64_t j = 0; j < n; j += BLOCK) {
        const ndp_view part = corner(v, j, shape);
        lin_put(x, lin_at(x, a, lda, j, j), lda, &part, item);
        char *row = cpu_ptr(&part) + (item * v->stride[0] + shape[2]) * x->size;
        for (int64_t i = 0; i < shape[2]; i++, row += v->stride[1] * x->size)
            memset(row, 0, (size_t)((shape[1] - shape[2]) * x->size));
    }
}

/* Whether the result's columns are dense, so that LAPACK can work in it. */
static int in_place(const lin_call *c, const lin_context *x, const ndp_view *out)
{
    return c->lapack && out->stride[1] == 1 && out->stride[2] >= c->n &&
           ndp_dtype_size(out->dtype) == x->size;
}

/* LAPACK's factor of the given triangle in the result itself, without a copy that transposes. */
static int64_t factor_in_place(const lin_call *c, const lin_context *x, int64_t item,
                               const ndp_view *in, const ndp_view *out, int upper)
{
    const int64_t lda = out->stride[2];
    char *a = cpu_ptr(out) + item * out->stride[0] * x->size;
    (upper ? get_upper : get_lower)(x, in, item, a, lda);
    const int64_t failed = lin_lapack_cholesky(x, c->n, a, lda, upper);
    if (failed)
        lin_put_nan(x, out, item);
    else if (upper)
        clear_below(x, lda, c->n, a, c->n);
    else
        clear_above(x, c->n, a, lda);
    return failed > 0 ? failed : 0;
}

/* The transpose of a Hermitian matrix is its conjugate, and the upper triangle of a is the lower one
 * of a^T. From a = u^H u follows a^T = u^T (u^T)^H: the lower factor of a^T, transposed, is u; and
 * the other way round. So LAPACK works in a result with dense rows as in one with dense columns.
 * Otherwise the matrix is copied, turned where u is wanted, and its lower triangle is factorised. */
static int64_t cholesky_one(const lin_call *c, const lin_context *x, int64_t item, char *slot)
{
    ndp_view in = c->call->in[0], out = c->call->out[0];
    const int64_t in_stride[3] = {in.stride[0], in.stride[2], in.stride[1]};
    const int64_t out_stride[3] = {out.stride[0], out.stride[2], out.stride[1]};
    const int upper = ((const ndp_factor *)c->call->params)->upper != 0;
    if (in_place(c, x, &out))
        return factor_in_place(c, x, item, &in, &out, upper);
    ndp_view in_turned = in, out_turned = out;
    in_turned.stride = in_stride;
    out_turned.stride = out_stride;
    if (in_place(c, x, &out_turned))
        return factor_in_place(c, x, item, &in_turned, &out_turned, !upper);
    const ndp_view *from = upper ? &in_turned : &in, *to = upper ? &out_turned : &out;
    get_lower(x, from, item, slot, c->k);
    const int64_t failed =
        c->lapack ? lin_lapack_cholesky(x, c->n, slot, c->k, 0) : lin_cholesky(x, c->n, slot, c->k);
    if (failed)
        lin_put_nan(x, to, item);
    else
        put_lower(x, slot, c->k, to, item);
    return failed > 0 ? failed : 0;
}

static void plan_cholesky(lin_call *c)
{
    c->n = c->call->in[0].shape[1];
    c->lapack = lin_lapack_factors(&c->x, c->n, c->n);
    c->k = lin_pitch(&c->x, c->n);
    (void)lin_take(c, c->n * c->k);
    if (c->n > LIN_SMALL)
        lin_take_product(c, c->n, c->n, c->n);
    c->work = (double)c->n * (double)c->n * (double)c->n / 6;
    c->one = cholesky_one;
    c->fault = "not positive definite";
    c->pivot = "not positive";
}

/* ---- lu ---- */

static int64_t lu_one(const lin_call *c, const lin_context *x, int64_t item, char *slot)
{
    const ndp_call *call = c->call;
    int64_t *pivots = (int64_t *)(void *)(slot + c->place[0]), *perm = pivots + c->k;
    lin_get(x, &call->in[0], item, slot, c->m);
    if (c->lapack)
        lin_lapack_lu(x, c->m, c->n, slot, c->m, pivots);
    else
        lin_lu(x, c->m, c->n, slot, c->m, pivots);
    for (int64_t i = 0; i < c->m; i++)
        perm[i] = i;
    for (int64_t i = 0; i < c->k; i++) {
        const int64_t other = perm[pivots[i]];
        perm[pivots[i]] = perm[i];
        perm[i] = other;
    }
    lin_put(x, slot, c->m, &call->out[0], item);
    lin_put_integers(pivots, &call->out[1], item);
    lin_put_integers(perm, &call->out[2], item);
    return lin_zero_pivot(x, c->k, slot, c->m);
}

static void plan_lu(lin_call *c)
{
    c->m = c->call->in[0].shape[1];
    c->n = c->call->in[0].shape[2];
    c->k = c->m < c->n ? c->m : c->n;
    c->lapack = lin_lapack_factors(&c->x, c->m, c->n);
    (void)lin_take(c, c->m * c->n);
    c->place[0] = lin_take_bytes(c, (c->k + c->m) * 8);
    if (c->n > LIN_LU_LEAF)
        lin_take_product(c, c->m, c->n, c->k);
    c->work = (double)c->m * (double)c->n * (double)c->k / 3;
    c->one = lu_one;
    c->fault = "singular";
    c->pivot = "zero";
}

/* ---- qr ---- */

static int64_t lapack_qr_one(const lin_call *c, const lin_context *x, int64_t item, char *slot)
{
    const ndp_call *call = c->call;
    char *q = call->n_out == 2 ? slot + c->place[2] : NULL;
    lin_get(x, &call->in[0], item, slot, c->m);
    lin_lapack_qr(x, c->m, c->n, c->k, slot, c->m, q, slot + c->place[0], c->place[1]);
    if (q)
        lin_put(x, q, c->m, &call->out[0], item);
    clear_below(x, c->m, c->n, slot, c->k);
    lin_put(x, slot, c->m, &call->out[call->n_out - 1], item);
    return 0;
}

static int64_t qr_one(const lin_call *c, const lin_context *x, int64_t item, char *slot)
{
    const ndp_call *call = c->call;
    char *t = slot + c->place[0], *v = slot + c->place[1], *q = slot + c->place[2];
    lin_get(x, &call->in[0], item, slot, c->m);
    lin_qr(x, c->m, c->n, slot, c->m, t, v);
    if (call->n_out == 2) {
        lin_qr_form(x, c->m, c->n, c->k, slot, c->m, t, v, q, c->m);
        lin_put(x, q, c->m, &call->out[0], item);
    }
    clear_below(x, c->m, c->n, slot, c->k);
    lin_put(x, slot, c->m, &call->out[call->n_out - 1], item);
    return 0;
}

static void plan_qr(lin_call *c)
{
    const ndp_view *r = &c->call->out[c->call->n_out - 1];
    c->m = c->call->in[0].shape[1];
    c->n = c->call->in[0].shape[2];
    c->k = r->shape[1];
    const int64_t least = c->m < c->n ? c->m : c->n, most = c->n > c->k ? c->n : c->k;
    (void)lin_take(c, c->m * c->n);
    c->work = 2 * (double)c->m * (double)most * (double)least;
    c->lapack = lin_lapack_factors(&c->x, c->m, most);
    if (c->lapack) {
        c->place[1] = lin_lapack_qr_bytes(&c->x, c->m, c->n, c->k);
        c->place[0] = lin_take_bytes(c, c->place[1]);
        if (c->call->n_out == 2)
            c->place[2] = lin_take(c, c->m * c->k);
        c->one = lapack_qr_one;
        return;
    }
    c->place[0] = lin_take(c, LIN_PANEL * mm_round_up(least, LIN_PANEL));
    c->place[1] = lin_take(c, lin_qr_work(c->m, c->n, c->k));
    if (c->call->n_out == 2)
        c->place[2] = lin_take(c, c->m * c->k);
    lin_take_product(c, c->m, most, c->m);
    c->one = qr_one;
}

/* ---- the class ---- */

static void plan(lin_call *c, const ndp_call *call)
{
    lin_begin(c, call, ((const ndp_factor *)call->params)->check);
    if (call->op == NDP_OP_cholesky)
        plan_cholesky(c);
    else if (call->op == NDP_OP_lu)
        plan_lu(c);
    else
        plan_qr(c);
}

static const lin_kernel the_kernel = LIN_KERNEL(plan);

static const ndp_kernel *find(const ndp_call *like, char *why, size_t n)
{
    const int32_t dtype = like->in[0].dtype;
    const uint32_t last = like->n_out - 1;
    if (lin_type_of(dtype) >= 0 && like->out[0].dtype == dtype &&
        (like->op != NDP_OP_qr || like->out[last].dtype == dtype))
        return &the_kernel.base;
    snprintf(why, n, "%s is not there for dtype %d", ndp_op_name(like->op), (int)dtype);
    return NULL;
}

const cpu_class cpu_factor = {cpu_domain_dtypes, find};
