/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Singular values in single precision by way of double precision: v and the squares of the values
 * are those of a^H a, and of a v = q r, whose columns are orthogonal but for rounding, q is u, but
 * for signs. What a^H a loses of the smallest values, the root of double precision's rounding of the
 * largest one, is less than single precision's; and since larger values come first in a v, as little
 * is in r beside its diagonal (Golub and Van Loan, Matrix Computations, 8.6; for the order: Drmac and
 * Veselic, SIAM Journal on Matrix Analysis and Applications 29, 2008). */
#include "linalg/svd.h"

enum { REVERSE = LIN_F_OTHER, ROOTS = LIN_F_OTHER2, FLIP = LIN_F_OTHER3, MOVE_OUT = LIN_F_LAST };

typedef struct {
    svd_plan p; /* matrix: a, and then r; right: v in the order of the values */
    uint64_t gram, squares, tau;
    int32_t by_block; /* q and r */
} double_plan;

/* From here on the job's numbers are those of double precision. */
static void plan_double(lin_job *j, double_plan *d)
{
    svd_plan *p = &d->p;
    lin_svd_plan(j, p);
    j->type = j->type == SOLVER_F32 ? SOLVER_F64 : SOLVER_C128;
    j->size *= 2;
    j->real *= 2;
    p->bad = lin_take(j, j->count * (int64_t)sizeof(int32_t));
    p->matrix = lin_take(j, j->count * p->m * p->n * j->size);
    d->gram = lin_take(j, j->count * p->n * p->n * j->size);
    d->squares = lin_take(j, j->count * p->n * j->real);
    p->values = lin_take(j, j->count * p->n * j->real);
    d->by_block = 0;
    if (!p->u)
        return;
    p->right = lin_take(j, j->count * p->n * p->n * j->size);
    p->left = lin_take(j, j->count * p->m * p->k * j->size);
    d->tau = lin_take(j, j->count * p->n * j->size);
    const int alone = j->count == 1 && p->n >= LIN_QR_ALONE;
    d->by_block =
        !alone && lin_way_of(j, p->m, p->k, lin_block_qr_room(p->m, p->n, p->k)) != LIN_BY_LIBRARY;
}

/* ---- jobs for the libraries ---- */

static solver_job gram_of(const lin_job *j, const double_plan *d)
{
    const svd_plan *p = &d->p;
    const solver_operand a = lin_operand(j, lin_at(j, p->matrix), p->m, p->n);
    return (solver_job){.function = SOLVER_GEMM,
                        .trans = NDP_TRANS_C,
                        .m = p->n,
                        .n = p->n,
                        .k = p->m,
                        .a = a,
                        .b = a,
                        .u = lin_operand(j, lin_at(j, d->gram), p->n, p->n)};
}

static solver_job eigen_of(const lin_job *j, const double_plan *d)
{
    const int together = j->count > 1 && cuda_solver_has_syev_batched();
    return (solver_job){.function = together ? SOLVER_SYEV_BATCHED : SOLVER_SYEVD,
                        .uplo = SOLVER_LOWER,
                        .vectors = d->p.u != NULL,
                        .m = d->p.n,
                        .n = d->p.n,
                        .a = lin_operand(j, lin_at(j, d->gram), d->p.n, d->p.n),
                        .w = {lin_at(j, d->squares), d->p.n * j->real, d->p.n},
                        .info = lin_at(j, j->info)};
}

/* a v, which is the left factor times the values. */
static solver_job product_of(const lin_job *j, const double_plan *d)
{
    const svd_plan *p = &d->p;
    return (solver_job){.function = SOLVER_GEMM,
                        .m = p->m,
                        .n = p->n,
                        .k = p->n,
                        .a = lin_operand(j, lin_at(j, p->matrix), p->m, p->n),
                        .b = lin_operand(j, lin_at(j, p->right), p->n, p->n),
                        .u = lin_operand(j, lin_at(j, p->left), p->m, p->k)};
}

static solver_job qr_of(const lin_job *j, const double_plan *d, solver_function function)
{
    const svd_plan *p = &d->p;
    return (solver_job){.function = function,
                        .m = p->m,
                        .n = function == SOLVER_GEQRF ? p->n : p->k,
                        .k = p->n,
                        .a = lin_operand(j, lin_at(j, p->left), p->m, p->k),
                        .tau = lin_operand(j, lin_at(j, d->tau), p->n, 1),
                        .info = lin_at(j, p->values)}; /* which come later */
}

/* ---- steps ---- */

static int32_t launch_columns(const lin_job *j, const double_plan *d, int place, lin_side r)
{
    const int64_t columns = j->count * d->p.n;
    lin_rooting q = {.values = lin_at(j, d->squares),
                     .roots = lin_at(j, d->p.values),
                     .v = lin_at(j, d->p.right),
                     .r = r,
                     .columns = columns,
                     .n = d->p.n};
    return cuda_launch(j->k, j->k->function[place], j->stream,
                       (uint32_t)(columns < INT32_MAX ? columns : INT32_MAX), LIN_COLUMN_THREADS, 0,
                       &q);
}

/* v's columns in the other order. */
static int32_t reverse(const lin_job *j, const double_plan *d)
{
    const int64_t n = d->p.n;
    lin_moving m = {.from = lin_columns(lin_at(j, d->gram), n, n),
                    .to = lin_columns(lin_at(j, d->p.right), n, n),
                    .rows = n,
                    .columns = n};
    m.from.at += (uint64_t)(n * (n - 1) * j->size);
    m.from.column = -n;
    return lin_move(j, REVERSE, m);
}

/* a v = q r: q comes into the left factor's place. *r: where r is. */
static int32_t factor_by_block(const lin_job *j, const double_plan *d, lin_side *r)
{
    const svd_plan *p = &d->p;
    const lin_side left = lin_columns(lin_at(j, p->left), p->m, p->k);
    lin_small q = {.in = {left}, .m = (int32_t)p->m, .n = (int32_t)p->n, .k = p->k, .vectors = 1};
    *r = lin_columns(lin_at(j, p->matrix), p->k, p->n);
    q.out[0] = left;
    q.out[1] = *r;
    return lin_run_block(j, &q, lin_block_qr_room(p->m, p->n, p->k), lin_at(j, p->values));
}

static int32_t left_vectors(const lin_job *j, const double_plan *d)
{
    const svd_plan *p = &d->p;
    solver_job product = product_of(j, d), factor = qr_of(j, d, SOLVER_GEQRF),
               form = qr_of(j, d, SOLVER_ORGQR);
    lin_side r = lin_columns(lin_at(j, p->left), p->m, p->k);
    int32_t status = reverse(j, d);
    if (status == NDP_OK)
        status = lin_solver_run(j, &product);
    if (status == NDP_OK)
        status = d->by_block ? factor_by_block(j, d, &r) : lin_solver_run(j, &factor);
    if (status == NDP_OK)
        status = launch_columns(j, d, FLIP, r);
    return status == NDP_OK && !d->by_block ? lin_solver_run(j, &form) : status;
}

static int32_t decompose(const lin_job *j, const double_plan *d)
{
    const svd_plan *p = &d->p;
    lin_moving m = {.from = lin_svd_operand(j, p),
                    .to = lin_columns(lin_at(j, p->matrix), p->m, p->n),
                    .rows = p->m,
                    .columns = p->n,
                    .info = lin_at(j, p->bad),
                    .conj = p->wide};
    solver_job gram = gram_of(j, d), eigen = eigen_of(j, d);
    int32_t status = lin_examine(j, m.from, p->m, p->n, m.info);
    if (status == NDP_OK)
        status = lin_move(j, LIN_F_MOVE, m);
    if (status == NDP_OK)
        status = lin_solver_run(j, &gram);
    if (status == NDP_OK)
        status = lin_solver_run(j, &eigen);
    if (status == NDP_OK && p->u)
        status = left_vectors(j, d);
    return status == NDP_OK ? launch_columns(j, d, ROOTS, (lin_side){0}) : status;
}

int32_t lin_svd_double_run(lin_job *j)
{
    double_plan d = {0};
    plan_double(j, &d);
    int32_t status = lin_has_room(j);
    if (status == NDP_OK)
        status = decompose(j, &d);
    lin_moving m = {.from = lin_columns(lin_at(j, d.p.values), d.p.n, 1),
                    .to = lin_side_of(d.p.s),
                    .rows = d.p.n,
                    .columns = 1,
                    .info = lin_at(j, j->info),
                    .also = lin_at(j, d.p.bad),
                    .nan = 1};
    if (status == NDP_OK)
        status = lin_move(j, LIN_F_MOVE_REAL, m);
    if (status == NDP_OK && d.p.u)
        status = lin_svd_put_vectors(j, &d.p, MOVE_OUT, m);
    const int32_t check = ((const ndp_svd *)j->call->params)->check;
    return status == NDP_OK ? lin_report(j, check, d.p.n, 1) : status;
}

uint64_t lin_svd_double_scratch(lin_job *j)
{
    double_plan d = {0};
    uint64_t work = 0;
    plan_double(j, &d);
    const solver_job gram = gram_of(j, &d), eigen = eigen_of(j, &d),
                     factor = qr_of(j, &d, SOLVER_GEQRF), form = qr_of(j, &d, SOLVER_ORGQR);
    lin_solver_work(j, &gram, &work);
    lin_solver_work(j, &eigen, &work);
    if (d.p.u && !d.by_block) {
        lin_solver_work(j, &factor, &work);
        lin_solver_work(j, &form, &work);
    }
    return j->total + work;
}

int32_t lin_svd_double_find(cuda_kernel *k, int32_t dtype)
{
    const int32_t precise = dtype == NDP_F32 ? NDP_F64 : NDP_C128;
    const lin_function own[] = {{LIN_F_MOVE, "large", "lin_double"},
                                {MOVE_OUT, "large", "lin_single"}};
    const lin_function others[] = {{REVERSE, "large", "lin_move"},
                                   {ROOTS, "large", "lin_roots"},
                                   {FLIP, "large", "lin_flip"},
                                   {LIN_F_BLOCK, "block", "lin_block_qr"}};
    int32_t status = lin_find_all(k, dtype, 2, own);
    if (status == NDP_OK)
        status = lin_find_all(k, precise, 4, others);
    if (status == NDP_OK)
        status = lin_find(k, (lin_function){LIN_F_MOVE_REAL, "large", "lin_single"}, NDP_F32);
    return status;
}
