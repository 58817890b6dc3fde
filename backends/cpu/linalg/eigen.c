/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Class EIGEN: eigenvalues and vectors of each matrix of a batch. Hermitian matrices by
 * tridiagonal form and QR iterations. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "linalg/lapack.h"
#include "linalg/spectral.h"

/* Places in a slot. */
enum { MATRIX, VECTORS, VALUES, BESIDE, TAU, ORDER, VALUE_PAIRS, WORK };

static void fill_nan(const lin_call *c, const lin_context *x, int64_t item)
{
    for (uint32_t i = 0; i < c->call->n_out; i++)
        lin_put_nan(x, &c->call->out[i], item);
}

/* The rotations of the eigenvectors' columns, or none. */
static void begin_rotations(const lin_call *c, const lin_context *x, char *slot, lin_rotations *r)
{
    r->x = x;
    r->z = slot + c->place[VECTORS];
    r->rows = c->n * (x->size / x->real);
    r->ldz = c->k * (x->size / x->real);
    r->values = slot + c->place[VALUE_PAIRS];
    r->most = LIN_SWEEPS * c->n;
    r->n_rotations = r->n_sweeps = 0;
    r->apply = lin_rotate;
}

static void put_values(const lin_call *c, const lin_context *x, int64_t item, char *slot,
                       const int64_t *order, double scale)
{
    const ndp_view *w = &c->call->out[0];
    char *d = slot + c->place[VALUES], *sorted = slot + c->place[BESIDE];
    lin_context real = *x;
    for (int64_t i = 0; i < c->n; i++)
        memcpy(sorted + i * x->real, d + order[i] * x->real, (size_t)x->real);
    lin_context_real(&real);
    if (scale != 1)
        real.leaf->scale_all(c->n, 1, sorted, c->n, 1 / scale);
    lin_put(&real, sorted, c->n, w, item);
}

static void put_vectors(const lin_call *c, const lin_context *x, int64_t item, char *slot,
                        const int64_t *order)
{
    char *v = slot + c->place[VECTORS], *sorted = slot; /* the matrix is not needed any more */
    for (int64_t j = 0; j < c->n; j++) {
        memcpy(lin_at(x, sorted, c->k, 0, j), lin_at(x, v, c->k, 0, order[j]),
               (size_t)(c->n * x->size));
        x->leaf->normalize(c->n, lin_at(x, sorted, c->k, 0, j));
    }
    lin_put(x, sorted, c->k, &c->call->out[1], item);
}

/* The matrix, whose lower triangle is right: of the upper one it is the conjugate. */
static void take_triangle(const lin_call *c, const lin_context *x, int64_t item, char *a,
                          int64_t lda)
{
    ndp_view in = c->call->in[0];
    const int64_t swapped[3] = {in.stride[0], in.stride[2], in.stride[1]};
    const int upper = ((const ndp_eigen *)c->call->params)->upper;
    if (upper)
        in.stride = swapped;
    lin_get(x, &in, item, a, lda);
    for (int64_t j = 0; upper && j < c->n; j++)
        x->leaf->conjugate(c->n - j, lin_at(x, a, lda, j, j));
}

static int64_t eigh_one(const lin_call *c, const lin_context *x, int64_t item, char *slot)
{
    const ndp_call *call = c->call;
    const int64_t n = c->n, lda = c->k;
    char *d = slot + c->place[VALUES], *e = slot + c->place[BESIDE], *tau = slot + c->place[TAU],
         *work = slot + c->place[WORK];
    int64_t *order = (int64_t *)(void *)(slot + c->place[ORDER]);
    const int vectors = call->n_out == 2;
    lin_rotations r;
    take_triangle(c, x, item, slot, lda);
    const double largest = x->leaf->largest(n, n, slot, lda, 1);
    if (!isfinite(largest)) {
        fill_nan(c, x, item);
        return 0;
    }
    const double scale = lin_scale_for(x, largest);
    if (scale != 1)
        x->leaf->scale_all(n, n, slot, lda, scale);
    lin_tridiagonalise(x, n, slot, lda, d, e, tau, work);
    if (vectors) {
        lin_form_shifted(x, n, slot, lda, tau, slot + c->place[VECTORS], lda, work);
        begin_rotations(c, x, slot, &r);
    }
    if (!x->leaf->tridiagonal(n, d, e, vectors ? &r : NULL)) {
        fill_nan(c, x, item);
        return -1;
    }
    x->leaf->sort(n, d, 0, order);
    put_values(c, x, item, slot, order, scale);
    if (vectors)
        put_vectors(c, x, item, slot, order);
    return 0;
}

static void plan_eigh(lin_call *c)
{
    const int64_t n = c->call->in[0].shape[1], vectors = c->call->n_out == 2;
    c->n = n;
    c->k = lin_pitch(&c->x, n);
    c->place[MATRIX] = lin_take(c, n * c->k);
    c->place[VECTORS] = vectors ? lin_take(c, n * c->k) : 0;
    c->place[VALUES] = lin_take(c, n);
    c->place[BESIDE] = lin_take(c, n);
    c->place[TAU] = lin_take(c, n);
    c->place[ORDER] = lin_take_bytes(c, 2 * n * 8);
    c->place[VALUE_PAIRS] = vectors ? lin_take_bytes(c, 2 * LIN_SWEEPS * n * c->x.real) : 0;
    const int64_t reduce = 2 * LIN_SHARES * n, form = vectors ? lin_form_work(n) : 0;
    c->place[WORK] = lin_take(c, reduce > form ? reduce : form);
    if (vectors)
        lin_take_product(c, n, n, n);
    c->work = (vectors ? 5 : 1) * (double)n * (double)n * (double)n;
    c->one = eigh_one;
}

/* ---- by LAPACK ---- */

static int64_t lapack_eigh_one(const lin_call *c, const lin_context *x, int64_t item, char *slot)
{
    const ndp_call *call = c->call;
    const int64_t n = c->n;
    const int vectors = call->n_out == 2;
    char *w = slot + c->place[VALUES];
    lin_context real = *x;
    take_triangle(c, x, item, slot, n);
    const int finite = isfinite(x->leaf->largest(n, n, slot, n, 1)) != 0;
    if (!finite || !lin_lapack_eigh(x, n, vectors, slot, n, w, slot + c->place[WORK], 0)) {
        fill_nan(c, x, item);
        return finite ? -1 : 0;
    }
    lin_context_real(&real);
    lin_put(&real, w, n, &call->out[0], item);
    for (int64_t j = 0; vectors && j < n; j++)
        x->leaf->normalize(n, lin_at(x, slot, n, 0, j));
    if (vectors)
        lin_put(x, slot, n, &call->out[1], item);
    return 0;
}

static int64_t eig_one(const lin_call *c, const lin_context *x, int64_t item, char *slot)
{
    const ndp_call *call = c->call;
    const int64_t n = c->n;
    char *w = slot + c->place[VALUES], *v = call->n_out == 2 ? slot + c->place[VECTORS] : NULL;
    lin_context complex = *x;
    lin_context_complex(&complex);
    lin_get(x, &call->in[0], item, slot, n);
    const int finite = isfinite(x->leaf->largest(n, n, slot, n, 0)) != 0;
    if (!finite || !lin_lapack_eig(x, n, slot, n, w, v, slot + c->place[WORK], 0)) {
        fill_nan(c, x, item);
        return finite ? -1 : 0;
    }
    lin_put(&complex, w, n, &call->out[0], item);
    for (int64_t j = 0; v && j < n; j++)
        complex.leaf->normalize(n, v + j * n * complex.size);
    if (v)
        lin_put(&complex, v, n, &call->out[1], item);
    return 0;
}

static void plan_lapack(lin_call *c)
{
    const int64_t n = c->n = c->call->in[0].shape[1];
    const int vectors = c->call->n_out == 2, hermitian = c->call->op == NDP_OP_eigh;
    c->lapack = 1;
    c->place[MATRIX] = lin_take(c, n * n);
    c->place[VALUES] = lin_take(c, 2 * n);
    c->place[VECTORS] = vectors && !hermitian ? lin_take(c, 2 * n * n) : 0;
    c->place[WORK] = lin_take_bytes(c, hermitian ? lin_lapack_eigh_bytes(&c->x, n, vectors)
                                                 : lin_lapack_eig_bytes(&c->x, n, vectors));
    c->work = (hermitian ? 5 : 25) * (double)n * (double)n * (double)n;
    c->one = hermitian ? lapack_eigh_one : eig_one;
}

/* ---- the class ---- */

static void plan(lin_call *c, const ndp_call *call)
{
    lin_begin(c, call, ((const ndp_eigen *)call->params)->check);
    if (call->op == NDP_OP_eig ||
        lin_lapack_serves(&c->x, call->in[0].shape[1], call->in[0].shape[1]))
        plan_lapack(c);
    else
        plan_eigh(c);
}

static const lin_kernel the_kernel = LIN_KERNEL(plan);

static int32_t complex_of(int32_t dtype)
{
    return lin_type_of(dtype) == LIN_F64 || dtype == NDP_C128 ? NDP_C128 : NDP_C64;
}

static const ndp_kernel *find(const ndp_call *like, char *why, size_t n)
{
    const int32_t dtype = like->in[0].dtype, hermitian = like->op == NDP_OP_eigh;
    const int32_t values = hermitian ? ndp_result_dtype(like->op, dtype) : complex_of(dtype);
    if (!hermitian && !lin_lapack_is_open()) {
        lin_lapack_missing(ndp_op_name(like->op), why, n);
        return NULL;
    }
    if (lin_type_of(dtype) >= 0 && like->out[0].dtype == values)
        return &the_kernel.base;
    snprintf(why, n, "%s is not there for dtype %d", ndp_op_name(like->op), (int)dtype);
    return NULL;
}

static uint64_t dtypes(int32_t op)
{
    return op == NDP_OP_eigh || lin_lapack_is_open() ? cpu_domain_dtypes(op) : 0;
}

const cpu_class cpu_eigen = {dtypes, find};
