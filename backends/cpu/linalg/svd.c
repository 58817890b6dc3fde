/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Class SVD: by QR of what is not square, bidiagonal form and QR iterations. Of a wide matrix the
 * adjoint is decomposed, whose factors are the adjoints. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "linalg/lapack.h"
#include "linalg/spectral.h"

/* Places in a slot: the matrix (m, n), m >= n, and of it the triangle; both factors of the triangle;
 * the reflectors from the right; the orthogonal matrix of QR, and its product with the left
 * factor. */
enum { MATRIX, LEFT, RIGHT, REFLECTORS, VALUES, ORDER, WORK, TALL };

typedef struct {
    const lin_call *c;
    const lin_context *x;
    char *slot;
    int64_t m, n, lda, ldn; /* m >= n */
    int wide, vectors;
} decomposition;

static char *place(const decomposition *s, int which)
{
    return s->slot + s->c->place[which];
}

/* Views with rows and columns exchanged. */
typedef struct {
    ndp_view v;
    int64_t shape[3], stride[3];
} exchanged;

static const ndp_view *exchange(exchanged *e, const ndp_view *v, int yes)
{
    if (!yes)
        return v;
    const int64_t order[3] = {0, 2, 1};
    e->v = *v;
    for (int d = 0; d < 3; d++) {
        e->shape[d] = v->shape[order[d]];
        e->stride[d] = v->stride[order[d]];
    }
    e->v.shape = e->shape;
    e->v.stride = e->stride;
    return &e->v;
}

static void fill_nan(const decomposition *s, int64_t item)
{
    for (uint32_t i = 0; i < s->c->call->n_out; i++)
        lin_put_nan(s->x, &s->c->call->out[i], item);
}

/* The triangle of QR takes the matrix's place, n columns of pitch ldn; what forms q goes to
 * TALL. */
static void to_square(const decomposition *s, int64_t q_columns)
{
    const lin_context *x = s->x;
    char *a = place(s, MATRIX), *work = place(s, WORK);
    char *t = work + lin_qr_work(s->m, s->n, q_columns) * x->size;
    lin_qr(x, s->m, s->n, a, s->lda, t, work);
    if (s->vectors)
        lin_qr_form(x, s->m, s->n, q_columns, a, s->lda, t, work, place(s, TALL), s->m);
    for (int64_t j = 0; j < s->n; j++) {
        memmove(lin_at(x, a, s->ldn, 0, j), lin_at(x, a, s->lda, 0, j),
                (size_t)((j + 1) * x->size));
        memset(lin_at(x, a, s->ldn, j + 1, j), 0, (size_t)((s->n - j - 1) * x->size));
    }
}

static void begin_rotations(const decomposition *s, lin_rotations *r, int which, char *values)
{
    const int64_t parts = s->x->size / s->x->real;
    r->x = s->x;
    r->z = place(s, which);
    r->rows = s->n * parts;
    r->ldz = s->ldn * parts;
    r->values = values;
    r->most = LIN_SWEEPS * s->n;
    r->n_rotations = r->n_sweeps = 0;
    r->apply = lin_rotate;
}

/* d, e, tau of both sides. */
static char *line(const decomposition *s, int i)
{
    return place(s, VALUES) + i * mm_round_up(s->n * s->x->size, 64);
}

/* The square matrix: values in line 0, factors in LEFT and RIGHT. */
static int decompose_square(const decomposition *s)
{
    const lin_context *x = s->x;
    char *a = place(s, MATRIX), *reflectors = place(s, REFLECTORS), *work = place(s, WORK);
    lin_rotations u, v;
    lin_bidiagonalise(x, s->n, a, s->ldn, reflectors, s->ldn, line(s, 0), line(s, 1), line(s, 2),
                      line(s, 3), work);
    if (!s->vectors)
        return x->leaf->bidiagonal(s->n, line(s, 0), line(s, 1), NULL, NULL);
    lin_form(x, s->n, a, s->ldn, line(s, 2), place(s, LEFT), s->ldn, work);
    lin_form_shifted(x, s->n, reflectors, s->ldn, line(s, 3), place(s, RIGHT), s->ldn, work);
    begin_rotations(s, &u, LEFT, work);
    begin_rotations(s, &v, RIGHT, work + 2 * LIN_SWEEPS * s->n * x->real);
    return x->leaf->bidiagonal(s->n, line(s, 0), line(s, 1), &u, &v);
}

/* Columns in the order of the values; those of RIGHT whose value is negative change their sign. The
 * results are in MATRIX and REFLECTORS, which are free by now. */
static void arrange(const decomposition *s, const int64_t *order)
{
    const lin_context *x = s->x;
    char *left = place(s, MATRIX), *right = place(s, REFLECTORS);
    for (int64_t j = 0; s->vectors && j < s->n; j++) {
        char *v = lin_at(x, right, s->ldn, 0, j);
        memcpy(lin_at(x, left, s->ldn, 0, j), lin_at(x, place(s, LEFT), s->ldn, 0, order[j]),
               (size_t)(s->n * x->size));
        memcpy(v, lin_at(x, place(s, RIGHT), s->ldn, 0, order[j]), (size_t)(s->n * x->size));
        if (lin_is_negative(x, line(s, 0) + order[j] * x->real))
            x->leaf->scale_all(s->n, 1, v, s->n, -1);
    }
}

static void put_values(const decomposition *s, int64_t item, const int64_t *order, double scale)
{
    const ndp_call *call = s->c->call;
    lin_context real = *s->x;
    char *sorted = line(s, 1);
    for (int64_t i = 0; i < s->n; i++)
        memcpy(sorted + i * real.real, line(s, 0) + order[i] * real.real, (size_t)real.real);
    lin_context_real(&real);
    for (int64_t i = 0; i < s->n; i++)
        if (lin_is_negative(&real, sorted + i * real.real))
            real.leaf->scale_all(1, 1, sorted + i * real.real, 1, -1);
    if (scale != 1)
        real.leaf->scale_all(s->n, 1, sorted, s->n, 1 / scale);
    lin_put(&real, sorted, s->n, &call->out[call->n_out == 3], item);
}

/* m x n matrix `a` column by column conjugated, into view v. */
static void put_conjugate(const lin_context *x, int64_t m, int64_t n, char *a, int64_t lda,
                          const ndp_view *v, int64_t item)
{
    for (int64_t j = 0; j < n; j++)
        x->leaf->conjugate(m, lin_at(x, a, lda, 0, j));
    lin_put(x, a, lda, v, item);
}

/* u of the matrix that was decomposed is u of the call, and vh the adjoint of v; of a wide matrix's
 * adjoint, v is u of the call, and u^H its vh. */
static void put_vectors(const decomposition *s, int64_t item, int64_t u_columns)
{
    const ndp_call *call = s->c->call;
    const lin_context *x = s->x;
    char *left = place(s, MATRIX), *right = place(s, REFLECTORS), *u = left;
    int64_t ldu = s->ldn;
    exchanged e;
    if (s->m > s->n) { /* the first n columns of q times the left factor; the others stay */
        char *q = place(s, TALL), *product = place(s, LEFT);
        lin_product(x, s->m, s->n, s->n, lin_columns(q, s->m), lin_columns(left, s->ldn), product,
                    1, s->m, LIN_SET);
        memcpy(q, product, (size_t)(s->m * s->n * x->size));
        u = q;
        ldu = s->m;
    }
    if (s->wide) {
        lin_put(x, right, s->ldn, &call->out[0], item);
        put_conjugate(x, s->m, u_columns, u, ldu, exchange(&e, &call->out[2], 1), item);
    } else {
        lin_put(x, u, ldu, &call->out[0], item);
        put_conjugate(x, s->n, s->n, right, s->ldn, exchange(&e, &call->out[2], 1), item);
    }
}

static int64_t svd_one(const lin_call *c, const lin_context *x, int64_t item, char *slot)
{
    const ndp_call *call = c->call;
    exchanged e;
    int64_t *order = (int64_t *)(void *)(slot + c->place[ORDER]);
    decomposition s = {.c = c, .x = x, .slot = slot, .m = c->m, .n = c->n};
    s.wide = call->in[0].shape[1] < call->in[0].shape[2];
    s.vectors = call->n_out == 3;
    s.ldn = lin_pitch(x, c->n);
    s.lda = c->m == c->n ? s.ldn : lin_pitch(x, c->m);
    lin_get(x, exchange(&e, &call->in[0], s.wide), item, slot, s.lda);
    const double largest = x->leaf->largest(s.m, s.n, slot, s.lda, 0);
    if (!isfinite(largest)) {
        fill_nan(&s, item);
        return 0;
    }
    const double scale = lin_scale_for(x, largest);
    for (int64_t j = 0; j < s.n && s.wide; j++)
        x->leaf->conjugate(s.m, lin_at(x, slot, s.lda, 0, j));
    if (scale != 1)
        x->leaf->scale_all(s.m, s.n, slot, s.lda, scale);
    if (s.m > s.n)
        to_square(&s, c->k);
    if (!decompose_square(&s)) {
        fill_nan(&s, item);
        return -1;
    }
    x->leaf->sort(s.n, line(&s, 0), 1, order);
    arrange(&s, order);
    put_values(&s, item, order, scale);
    if (s.vectors)
        put_vectors(&s, item, c->k);
    return 0;
}

/* ---- by LAPACK, which takes matrices as they are ---- */

static int64_t lapack_one(const lin_call *c, const lin_context *x, int64_t item, char *slot)
{
    const ndp_call *call = c->call;
    const int vectors = call->n_out == 3;
    const int64_t least = c->m < c->n ? c->m : c->n;
    const int full = c->k > least;
    char *s = slot + c->place[VALUES], *u = vectors ? slot + c->place[LEFT] : NULL,
         *vt = vectors ? slot + c->place[RIGHT] : NULL;
    lin_context real = *x;
    lin_get(x, &call->in[0], item, slot, c->m);
    const int finite = isfinite(x->leaf->largest(c->m, c->n, slot, c->m, 0)) != 0;
    const int done = finite && lin_lapack_svd(x, c->m, c->n, full, slot, c->m, s, u, vt,
                                              slot + c->place[WORK], 0);
    if (!done) {
        for (uint32_t i = 0; i < call->n_out; i++)
            lin_put_nan(x, &call->out[i], item);
        return finite ? -1 : 0;
    }
    lin_context_real(&real);
    lin_put(&real, s, least, &call->out[vectors], item);
    if (vectors) {
        lin_put(x, u, c->m, &call->out[0], item);
        lin_put(x, vt, call->out[2].shape[1], &call->out[2], item);
    }
    return 0;
}

/* k: the longer of both sides' numbers of vectors, by which whole factors are told. */
static void plan_lapack(lin_call *c, int64_t m, int64_t n)
{
    const ndp_call *call = c->call;
    const int vectors = call->n_out == 3;
    const int64_t least = m < n ? m : n, u = vectors ? call->out[0].shape[2] : 0,
                  v = vectors ? call->out[2].shape[1] : 0;
    c->m = m;
    c->n = n;
    c->k = u > v ? u : v;
    c->lapack = 1;
    c->place[MATRIX] = lin_take(c, m * n);
    c->place[VALUES] = lin_take(c, least);
    c->place[LEFT] = vectors ? lin_take(c, m * u) : 0;
    c->place[RIGHT] = vectors ? lin_take(c, n * v) : 0;
    c->place[WORK] = lin_take_bytes(c, lin_lapack_svd_bytes(&c->x, m, n, c->k > least, vectors));
    c->work = (vectors ? 12.0 : 3.0) * (double)m * (double)n * (double)least;
    c->one = lapack_one;
}

/* ---- the class ---- */

/* m >= n of what is decomposed; k: columns of its left factor. */
static void plan(lin_call *c, const ndp_call *call)
{
    lin_begin(c, call, ((const ndp_svd *)call->params)->check);
    const int64_t rows = call->in[0].shape[1], columns = call->in[0].shape[2];
    const int vectors = call->n_out == 3, wide = rows < columns;
    if (lin_lapack_serves(&c->x, rows, columns)) {
        plan_lapack(c, rows, columns);
        return;
    }
    const int64_t m = c->m = wide ? columns : rows, n = c->n = wide ? rows : columns;
    const int64_t ldn = lin_pitch(&c->x, n), lda = m == n ? ldn : lin_pitch(&c->x, m);
    c->k = !vectors ? n : wide ? call->out[2].shape[1] : call->out[0].shape[2];
    const int64_t left = ldn > m ? ldn : m;
    c->place[MATRIX] = lin_take(c, lda * n);
    c->place[REFLECTORS] = lin_take(c, ldn * n);
    c->place[VALUES] = lin_take_bytes(c, 4 * mm_round_up(n * c->x.size, 64));
    c->place[ORDER] = lin_take_bytes(c, 2 * n * 8);
    c->place[LEFT] = vectors ? lin_take(c, left * n) : 0;
    c->place[RIGHT] = vectors ? lin_take(c, ldn * n) : 0;
    c->place[TALL] = vectors && m > n ? lin_take(c, m * c->k) : 0;
    int64_t work = 2 * (1 + LIN_SHARES) * n;
    const int64_t qr = lin_qr_work(m, n, c->k) + LIN_PANEL * mm_round_up(n, LIN_PANEL),
                  form = lin_form_work(n), pairs = 4 * LIN_SWEEPS * n;
    work = m > n && qr > work ? qr : work;
    work = vectors && form > work ? form : work;
    work = vectors && pairs > work ? pairs : work;
    c->place[WORK] = lin_take(c, work);
    lin_take_product(c, m, c->k > n ? c->k : n, m);
    c->work = (vectors ? 12.0 : 3.0) * (double)n * (double)n * (double)m;
    c->one = svd_one;
}

static const lin_kernel the_kernel = LIN_KERNEL(plan);

static const ndp_kernel *find(const ndp_call *like, char *why, size_t n)
{
    const int32_t dtype = like->in[0].dtype;
    if (lin_type_of(dtype) >= 0 &&
        like->out[like->n_out == 3].dtype == ndp_result_dtype(like->op, dtype))
        return &the_kernel.base;
    snprintf(why, n, "%s is not there for dtype %d", ndp_op_name(like->op), (int)dtype);
    return NULL;
}

const cpu_class cpu_svd = {cpu_domain_dtypes, find};
