/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: factorisations, systems of equations, eigenvalues and singular values of random
 * batches, by what they claim: products of the factors are computed again in long double, and
 * compared with the matrix in the Frobenius norm, times op.def's bound and the longest extent. */
#include <float.h>
#include <math.h>
#include "tests/conform/grid.h"

typedef long double real;
typedef struct {
    real re, im;
} number;
/* One matrix of long doubles in C order. */
typedef struct {
    int64_t rows, columns;
    number *e;
} matrix;

static number *at(const matrix *m, int64_t i, int64_t j)
{
    return &m->e[i * m->columns + j];
}

static matrix matrix_new(int64_t rows, int64_t columns)
{
    return (matrix){rows, columns, calloc((size_t)(rows * columns + 1), sizeof(number))};
}

/* a op(b); adjoint: op is the adjoint. */
static matrix product(const matrix *a, const matrix *b, bool adjoint)
{
    matrix r = matrix_new(a->rows, adjoint ? b->rows : b->columns);
    for (int64_t i = 0; i < r.rows; i++)
        for (int64_t j = 0; j < r.columns; j++)
            for (int64_t k = 0; k < a->columns; k++) {
                const number x = *at(a, i, k), y = adjoint ? *at(b, j, k) : *at(b, k, j);
                const real im = adjoint ? -y.im : y.im;
                at(&r, i, j)->re += x.re * y.re - x.im * im;
                at(&r, i, j)->im += x.re * im + x.im * y.re;
            }
    return r;
}

static real norm(const matrix *m)
{
    real sum = 0;
    for (int64_t i = 0; i < m->rows * m->columns; i++)
        sum += m->e[i].re * m->e[i].re + m->e[i].im * m->e[i].im;
    return sqrtl(sum);
}

/* |a - b|; b NULL: the identity. */
static real distance(const matrix *a, const matrix *b)
{
    real sum = 0;
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t j = 0; j < a->columns; j++) {
            const number y = b ? *at(b, i, j) : (number){i == j, 0};
            const real re = at(a, i, j)->re - y.re, im = at(a, i, j)->im - y.im;
            sum += re * re + im * im;
        }
    return sqrtl(sum);
}

static number number_of(cell c)
{
    const bool whole = c.kind & (ND_KIND_INT | ND_KIND_UINT | ND_KIND_BOOL);
    return (number){whole ? (real)c.i : c.re, whole ? 0 : c.im};
}

/* The index-th matrix of an array whose batch broadcasts to this one; columns 0: an array of vectors,
 * each a column. */
static matrix part(const nd_array *a, const char *data, int64_t index, int batch_ndim,
                   const int64_t *batch, bool vector)
{
    const int64_t *shape = nd_shape(a);
    const int ndim = nd_ndim(a), axes = vector ? 1 : 2, own = ndim - axes;
    int64_t position = 0, step = 1;
    for (int d = batch_ndim - 1; d >= 0; d--) {
        const int mine = own - (batch_ndim - d);
        const int64_t i = index % batch[d];
        index /= batch[d];
        if (mine < 0)
            continue;
        position += (shape[mine] == 1 ? 0 : i) * step;
        step *= shape[mine];
    }
    matrix m = matrix_new(shape[own], vector ? 1 : shape[own + 1]);
    const int64_t n = m.rows * m.columns, size = (int64_t)nd_dtype_size(nd_dtype_of(a));
    for (int64_t i = 0; i < n; i++)
        m.e[i] = number_of(cell_read(nd_dtype_of(a), data + (position * n + i) * size));
    return m;
}

/* ---- a case ---- */

enum { MOST = 4 };
typedef struct {
    const char *name;
    nd_op op;
    nd_dtype dtype;
    mirror in[2];
    nd_array *out[MOST];
    char *data[MOST], *given[2];
    int batch_ndim;
    int64_t batch[CASE_NDIM], count;
    real bound, eps; /* relative */
    int64_t now;
} trial;

static matrix operand(const trial *t, int i, bool vector)
{
    return part(t->in[i].array, t->given[i], t->now, t->batch_ndim, t->batch, vector);
}

static matrix result(const trial *t, int i, bool vector)
{
    return part(t->out[i], t->data[i], t->now, t->batch_ndim, t->batch, vector);
}

static void near(const trial *t, real error, real scale, const char *what)
{
    if (!(error <= t->bound * scale))
        fail_case("%s of %s: %s is off by %Lg, where %Lg is allowed", t->name,
                  nd_dtype_name(t->dtype), what, error, t->bound * scale);
}

/* a b (or its adjoint) is c. */
static void product_is(const trial *t, const matrix *a, const matrix *b, bool adjoint,
                       const matrix *c, const char *what)
{
    matrix p = product(a, b, adjoint);
    near(t, distance(&p, c), norm(c), what);
    free(p.e);
}

static void is_orthonormal(const trial *t, const matrix *q, const char *what)
{
    matrix columns = matrix_new(q->columns, q->rows);
    for (int64_t i = 0; i < q->rows; i++)
        for (int64_t j = 0; j < q->columns; j++)
            *at(&columns, j, i) = (number){at(q, i, j)->re, -at(q, i, j)->im};
    matrix p = product(&columns, q, false);
    near(t, distance(&p, NULL), 1, what);
    free(p.e);
    free(columns.e);
}

static void is_triangular(const matrix *m, bool upper, const char *what)
{
    for (int64_t i = 0; i < m->rows; i++)
        for (int64_t j = 0; j < m->columns; j++)
            if ((upper ? i > j : j > i) && (at(m, i, j)->re != 0 || at(m, i, j)->im != 0)) {
                fail_case("%s is not triangular", what);
                return;
            }
}

/* ---- what is claimed ---- */

static void check_cholesky(const trial *t)
{
    matrix a = operand(t, 0, false), l = result(t, 0, false);
    for (int64_t i = 0; i < a.rows; i++) /* the lower triangle is what counts */
        for (int64_t j = i; j < a.rows; j++)
            *at(&a, i, j) = (number){at(&a, j, i)->re, i == j ? 0 : -at(&a, j, i)->im};
    is_triangular(&l, false, "l");
    product_is(t, &l, &l, true, &a, "l l^H");
    free(a.e);
    free(l.e);
}

static void check_lu(const trial *t)
{
    matrix a = operand(t, 0, false), p = result(t, 0, false), l = result(t, 1, false),
           u = result(t, 2, false), pl = product(&p, &l, false);
    is_triangular(&l, false, "l");
    is_triangular(&u, true, "u");
    for (int64_t i = 0; i < l.rows * l.columns; i++)
        if (hypotl(l.e[i].re, l.e[i].im) > (t->dtype >= ND_C64 ? sqrtl(2) : 1) + t->bound)
            fail_case("an element of l is larger than a pivot allows");
    product_is(t, &pl, &u, false, &a, "p l u");
    free(a.e);
    free(p.e);
    free(l.e);
    free(u.e);
    free(pl.e);
}

static void check_qr(const trial *t)
{
    matrix a = operand(t, 0, false), q = result(t, 0, false), r = result(t, 1, false);
    is_triangular(&r, true, "r");
    is_orthonormal(t, &q, "q^H q");
    product_is(t, &q, &r, false, &a, "q r");
    free(a.e);
    free(q.e);
    free(r.e);
}

/* |a x - b| is small beside |a| |x|. */
static void check_solution(const trial *t)
{
    matrix a = operand(t, 0, false), b = operand(t, 1, false), x = result(t, 0, false);
    if (t->op == ND_OP_solve_triangular)
        for (int64_t i = 0; i < a.rows; i++)
            for (int64_t j = i + 1; j < a.columns; j++)
                *at(&a, i, j) = (number){0, 0};
    matrix p = product(&a, &x, false);
    near(t, distance(&p, &b), norm(&a) * norm(&x), "a x");
    free(a.e);
    free(b.e);
    free(x.e);
    free(p.e);
}

static void check_eigh(const trial *t)
{
    matrix a = operand(t, 0, false), w = result(t, 0, true), v = result(t, 1, false);
    for (int64_t i = 0; i < a.rows; i++)
        for (int64_t j = i; j < a.rows; j++)
            *at(&a, i, j) = (number){at(&a, j, i)->re, i == j ? 0 : -at(&a, j, i)->im};
    matrix av = product(&a, &v, false), vw = matrix_new(v.rows, v.columns);
    for (int64_t j = 0; j < v.columns; j++) {
        real most = 0, positive = 0;
        for (int64_t i = 0; i < v.rows; i++) {
            const number x = *at(&v, i, j);
            *at(&vw, i, j) = (number){x.re * w.e[j].re, x.im * w.e[j].re};
            most = fmaxl(most, hypotl(x.re, x.im));
            if (fabsl(x.im) <= t->eps)
                positive = fmaxl(positive, x.re);
        }
        if (positive < most * (1 - 4 * sqrtl(t->eps)))
            fail_case("the largest component of a vector is not real and positive");
        if (j && w.e[j].re < w.e[j - 1].re)
            fail_case("eigenvalues do not ascend");
    }
    is_orthonormal(t, &v, "v^H v");
    near(t, distance(&av, &vw), norm(&a), "a v - v w");
    free(a.e);
    free(w.e);
    free(v.e);
    free(av.e);
    free(vw.e);
}

static void check_svd(const trial *t)
{
    matrix a = operand(t, 0, false), u = result(t, 0, false), s = result(t, 1, true),
           vh = result(t, 2, false), us = matrix_new(u.rows, vh.rows);
    for (int64_t j = 0; j < s.rows; j++) {
        for (int64_t i = 0; i < u.rows; i++)
            *at(&us, i, j) = (number){at(&u, i, j)->re * s.e[j].re, at(&u, i, j)->im * s.e[j].re};
        if (s.e[j].re < 0 || (j && s.e[j].re > s.e[j - 1].re))
            fail_case("singular values do not descend to zero");
    }
    matrix vv = product(&vh, &vh, true);
    is_orthonormal(t, &u, "u^H u");
    near(t, distance(&vv, NULL), 1, "vh vh^H");
    product_is(t, &us, &vh, false, &a, "u s vh");
    free(a.e);
    free(u.e);
    free(s.e);
    free(vh.e);
    free(us.e);
    free(vv.e);
}

/* ---- random cases ---- */

/* A matrix that the operation takes: values of a random view, with a heavy diagonal where they must be
 * definite, or not nearly singular. */
static bool make_operand(mirror *m, nd_dtype dtype, int ndim, const int64_t *shape, real diagonal)
{
    dense d = dense_random(dtype, ndim, shape, true);
    const int64_t rows = shape[ndim - 2], columns = shape[ndim - 1];
    for (int64_t i = 0; i < d.size; i++) {
        const int64_t row = i / columns % rows, column = i % columns;
        cell c = dense_cell(&d, i);
        c.re = fmodl(c.re, 4) + (row == column ? diagonal : 0);
        c.im = row == column && diagonal != 0 ? 0 : fmodl(c.im, 4);
        cell_write(dtype, c, dense_at(&d, i));
    }
    const bool made = mirror_of(m, &d);
    dense_release(&d);
    return made;
}

static nd_status call(trial *t)
{
    const nd_array *a = t->in[0].array, *b = t->in[1].array;
    nd_linalg_opts o = {.size = sizeof o, .full = (int32_t)random_below(2)};
    switch (t->op) {
    case ND_OP_cholesky:
        return nd_cholesky(a, &o, &t->out[0]);
    case ND_OP_lu:
        return nd_lu(a, &o, &t->out[0], &t->out[1], &t->out[2]);
    case ND_OP_qr:
        return nd_qr(a, &o, &t->out[0], &t->out[1]);
    case ND_OP_solve:
        return nd_solve(a, b, &o, &t->out[0]);
    case ND_OP_solve_triangular:
        return nd_solve_triangular(a, b, &o, &t->out[0]);
    case ND_OP_lu_solve: {
        nd_array *lu = NULL, *pivots = NULL;
        nd_status status = nd_lu_factor(a, &o, &lu, &pivots);
        if (status == ND_OK)
            status = nd_lu_solve(lu, pivots, b, &o, &t->out[0]);
        nd_release(lu);
        nd_release(pivots);
        return status;
    }
    case ND_OP_eigh:
        return nd_eigh(a, &o, &t->out[0], &t->out[1]);
    default:
        return nd_svd(a, &o, &t->out[0], &t->out[1], &t->out[2]);
    }
}

static void (*check_of(nd_op op))(const trial *)
{
    switch (op) {
    case ND_OP_cholesky:
        return check_cholesky;
    case ND_OP_lu:
        return check_lu;
    case ND_OP_qr:
        return check_qr;
    case ND_OP_eigh:
        return check_eigh;
    case ND_OP_svd:
        return check_svd;
    default:
        return check_solution;
    }
}

static void make_shapes(trial *t, int64_t *a, int64_t *b)
{
    const bool square = t->op != ND_OP_lu && t->op != ND_OP_qr && t->op != ND_OP_svd;
    t->batch_ndim = (int)random_below(3);
    t->count = 1;
    for (int d = 0; d < t->batch_ndim; d++) {
        t->batch[d] = random_below(12) ? 1 + random_below(3) : 0;
        t->count *= t->batch[d];
        a[d] = b[d] = t->batch[d];
        if (t->batch[d] && !random_below(4))
            b[d] = 1;
    }
    const int64_t most = random_below(20) ? 9 : 70;
    const int64_t rows = random_below(25) ? 1 + random_below(most) : 0;
    a[t->batch_ndim] = rows;
    a[t->batch_ndim + 1] = square ? rows : random_below(25) ? 1 + random_below(most) : 0;
    b[t->batch_ndim] = rows;
    b[t->batch_ndim + 1] = random_below(25) ? 1 + random_below(5) : 0;
}

static bool compute(trial *t, bool sides)
{
    if (!good(call(t), t->name))
        return false;
    for (int i = 0; i < MOST; i++)
        if (t->out[i] && (t->data[i] = fetch(t->out[i])) == NULL)
            return false;
    for (int i = 0; i < 1 + sides; i++)
        if ((t->given[i] = fetch(t->in[i].array)) == NULL)
            return false;
    return true;
}

static void one_case(nd_op op, int which)
{
    int64_t a[CASE_NDIM + 2], b[CASE_NDIM + 2];
    trial t = {.name = nd_op_get(op)->name, .op = op, .dtype = legal_dtype(op, which)};
    const bool sides = nd_op_get(op)->op_class == ND_CLASS_SOLVE;
    const bool heavy = sides || op == ND_OP_cholesky;
    make_shapes(&t, a, b);
    const int64_t rows = a[t.batch_ndim], columns = a[t.batch_ndim + 1];
    const int64_t longest = rows > columns ? rows : columns;
    const nd_dtype narrow = t.dtype == ND_C64 ? ND_F32 : t.dtype == ND_C128 ? ND_F64 : t.dtype;
    const real eps = narrow == ND_F32   ? FLT_EPSILON
                     : narrow == ND_F64 ? DBL_EPSILON
                     : narrow == ND_F16 ? 0x1p-10L
                                        : 0x1p-7L;
    t.eps = eps;
    t.bound = (real)op_ulp(op, t.dtype) * eps * (real)(longest > 4 ? longest : 4);
    if (make_operand(&t.in[0], t.dtype, t.batch_ndim + 2, a, heavy ? 5 * (real)longest + 1 : 0) &&
        (!sides || make_operand(&t.in[1], t.dtype, t.batch_ndim + 2, b, 0)) && compute(&t, sides))
        for (t.now = 0; t.now < t.count && !failing(); t.now++)
            check_of(op)(&t);
    for (int i = 0; i < MOST; i++) {
        nd_release(t.out[i]);
        free(t.data[i]);
    }
    for (int i = 0; i < 2; i++) {
        free(t.given[i]);
        mirror_release(&t.in[i]);
    }
}

/* ---- matrices that cannot be decomposed ---- */

static void fill_matrix(nd_array *a, nd_scalar value, int64_t row, int64_t column)
{
    const nd_index element[3] = {nd_at(1), nd_at(row), nd_at(column)};
    nd_array *view = NULL;
    if (good(nd_slice(a, element, 3, &view), "slice"))
        good(nd_fill(view, value), "fill");
    nd_release(view);
}

/* Two identities; the second one has `value` at (row, column). */
static nd_array *pair_with(nd_scalar value, int64_t row, int64_t column)
{
    const int64_t shape[3] = {2, 4, 4};
    nd_array *eye = NULL, *view = NULL, *a = NULL;
    if (good(nd_eye(run.device, ND_F32, 4, 4, 0, &eye), "eye") &&
        good(nd_broadcast_to(eye, 3, shape, &view), "broadcast") &&
        good(nd_copy(view, NULL, &a), "copy"))
        fill_matrix(a, value, row, column);
    nd_release(eye);
    nd_release(view);
    return a;
}

static bool refuses_matrix(nd_status status, const char *what)
{
    if (!fails(status, ND_ERR_LINALG, what))
        return false;
    if (!error_names(1) || !error_names(2))
        fail_case("%s: the message names neither matrix 1 nor pivot 2: %s", what,
                  nd_last_error()->message);
    return true;
}

static void conform_failures(void)
{
    const nd_linalg_opts off = {.size = sizeof off, .unchecked = 1};
    nd_array *r = NULL;
    if (!wanted("singular"))
        return;
    begin_op("singular");
    if (begin_case(FIXED_CASE)) {
        nd_array *a = pair_with(nd_float(0), 2, 2), *b = pair_with(nd_float(-1), 2, 2);
        (void)refuses_matrix(nd_solve(a, b, NULL, &r), "solve");
        nd_release(r);
        r = NULL;
        (void)refuses_matrix(nd_solve_triangular(a, b, NULL, &r), "solve_triangular");
        nd_release(r);
        r = NULL;
        (void)refuses_matrix(nd_cholesky(b, NULL, &r), "cholesky");
        nd_release(r);
        r = NULL;
        good(nd_solve(a, b, &off, &r), "unchecked");
        nd_release(r);
        good(nd_synchronize(run.device), "synchronize");
        nd_release(a);
        nd_release(b);
    }
    end_op();
}

/* NaN stays in its matrix, and ends. */
static void nan_case(nd_op op)
{
    trial t = {.name = nd_op_get(op)->name, .op = op, .dtype = ND_F32};
    t.in[0].array = pair_with(nd_float(NAN), 3, 1);
    t.in[1].array = pair_with(nd_float(1), 0, 0);
    if (good(call(&t), t.name))
        for (int i = 0; i < MOST; i++) {
            float *data = t.out[i] ? (float *)(void *)fetch(t.out[i]) : NULL;
            const int64_t half = data ? nd_size(t.out[i]) / 2 : 0;
            bool found = false, spread = false;
            for (int64_t k = 0; k < half; k++) {
                spread |= isnan(data[k]) != 0;
                found |= isnan(data[half + k]) != 0;
            }
            if (data && (spread || (!found && i == (op == ND_OP_lu ? 2 : 0))))
                fail_case("%s: NaN of matrix 1 is %s", t.name,
                          spread ? "in matrix 0 as well" : "lost");
            free(data);
        }
    for (int i = 0; i < MOST; i++)
        nd_release(t.out[i]);
    nd_release(t.in[0].array);
    nd_release(t.in[1].array);
}

void conform_linalg(void)
{
    static const nd_op ops[] = {ND_OP_cholesky, ND_OP_lu,       ND_OP_qr,   ND_OP_solve_triangular,
                                ND_OP_solve,    ND_OP_lu_solve, ND_OP_eigh, ND_OP_svd};
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
        if (!wanted(nd_op_get(ops[k])->name))
            continue;
        begin_op(nd_op_get(ops[k])->name);
        for (int i = 0; i < run.count && !failing(); i++)
            if (begin_case(i))
                one_case(ops[k], i);
        if (begin_case(FIXED_CASE))
            nan_case(ops[k]);
        end_op();
    }
    conform_failures();
}
