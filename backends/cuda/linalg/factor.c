/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Class FACTOR: cholesky, lu, qr of each matrix of a batch. */
#include <stdio.h>
#include "linalg/linalg.h"

enum { EXCUSE = LIN_F_OTHER, PIVOTS = LIN_F_OTHER };

static const ndp_factor *params_of(const lin_job *j)
{
    return j->call->params;
}

/* ---- cholesky: with upper, of the transposed views. The matrix is factored where the result is, if
 * a library sees its lower triangle there ---- */

typedef struct {
    lin_side in, out, at; /* at: where it is factored */
    int64_t n, leading;
    int32_t in_place;
    uint64_t place;
} cholesky_plan;

static void plan_cholesky(lin_job *j, cholesky_plan *p)
{
    const ndp_view *in = &j->call->in[0], *out = &j->call->out[0];
    const int upper = params_of(j)->upper != 0;
    const int64_t down = lin_leading(out, 0), across = lin_leading(out, 1);
    p->n = in->shape[1];
    p->in = upper ? lin_turned(lin_side_of(in)) : lin_side_of(in);
    p->out = upper ? lin_turned(lin_side_of(out)) : lin_side_of(out);
    p->leading = p->n;
    p->at = p->out;
    /* Row after row of l, the result would be the upper factor to the library, which takes twice as
     * long as the lower one: 0.85 and 0.43 ms for 1024 rows of f32 on an H100. */
    p->in_place = (down != 0 || across != 0) && (across != 0) == upper;
    if (p->in_place)
        p->leading = across ? across : down;
    else
        p->place = lin_take(j, j->count * p->n * p->n * j->size);
}

static solver_job potrf_of(const lin_job *j, const cholesky_plan *p)
{
    return (solver_job){.function = SOLVER_POTRF,
                        .uplo = SOLVER_LOWER,
                        .m = p->n,
                        .n = p->n,
                        .a = {p->at.at, p->at.batch * j->size, p->leading},
                        .info = lin_at(j, j->info)};
}

static int32_t run_cholesky(lin_job *j)
{
    cholesky_plan p = {0};
    plan_cholesky(j, &p);
    int32_t status = lin_has_room(j);
    if (!p.in_place)
        p.at = lin_columns(lin_at(j, p.place), p.n, p.n);
    lin_moving m = {.to = p.at, .from = p.in, .rows = p.n, .columns = p.n, .part = LIN_LOWER};
    if (status == NDP_OK)
        status = lin_move(j, LIN_F_MOVE, m);
    solver_job s = potrf_of(j, &p);
    if (status == NDP_OK)
        status = lin_solver_run(j, &s);
    lin_looking l = {
        .from = p.in, .rows = p.n, .columns = p.n, .info = lin_at(j, j->info), .part = LIN_LOWER};
    if (status == NDP_OK && p.in.at != p.at.at) /* else what was given is gone */
        status = lin_look_at(j, EXCUSE, l);
    m.from = p.at;
    m.to = p.out;
    m.info = lin_at(j, j->info);
    m.nan = 1;
    m.in_place = p.in_place;
    if (status == NDP_OK)
        status = lin_move(j, LIN_F_MOVE, m);
    return status == NDP_OK ? lin_report(j, params_of(j)->check, p.n, 0) : status;
}

static int32_t small_cholesky(lin_job *j)
{
    const int upper = params_of(j)->upper != 0;
    const int32_t n = (int32_t)j->call->in[0].shape[1];
    const lin_side in = lin_side_of(&j->call->in[0]), out = lin_side_of(&j->call->out[0]);
    lin_small p = {.in = {upper ? lin_turned(in) : in},
                   .out = {upper ? lin_turned(out) : out},
                   .m = n,
                   .n = n};
    int32_t status = lin_run_small(j, &p, n * LIN_PITCH(n), 16);
    return status == NDP_OK ? lin_report(j, params_of(j)->check, n, 0) : status;
}

/* ---- lu: in the place of a matrix that is not finite the library gets the identity, since what it
 * says of pivots among NaN is nothing to go by ---- */

typedef struct {
    int64_t m, n, least;
    uint64_t bad, matrix, pivots;
} lu_plan;

static void plan_lu(lin_job *j, lu_plan *p)
{
    p->m = j->call->in[0].shape[1];
    p->n = j->call->in[0].shape[2];
    p->least = p->m < p->n ? p->m : p->n;
    p->bad = lin_take(j, j->count * (int64_t)sizeof(int32_t));
    p->matrix = lin_take(j, j->count * p->m * p->n * j->size);
    p->pivots = lin_take(j, j->count * p->least * 8);
}

static solver_job getrf_of(const lin_job *j, const lu_plan *p)
{
    return (solver_job){.function = SOLVER_GETRF,
                        .m = p->m,
                        .n = p->n,
                        .a = lin_operand(j, lin_at(j, p->matrix), p->m, p->n),
                        .pivots = {lin_at(j, p->pivots), p->least * 8, 0},
                        .info = lin_at(j, j->info)};
}

static int32_t put_pivots(const lin_job *j, const lu_plan *p)
{
    lin_pivoting q = {.library = lin_at(j, p->pivots),
                      .pivots = lin_side_of(&j->call->out[1]),
                      .perm = lin_side_of(&j->call->out[2]),
                      .count = j->count,
                      .m = p->m,
                      .least = p->least};
    const int64_t blocks = (p->m + LIN_COLUMN_THREADS - 1) / LIN_COLUMN_THREADS;
    return cuda_launch_2d(j->k, j->k->function[PIVOTS], j->stream, (uint32_t)j->count,
                          (uint32_t)(blocks < LIN_GRID_Y ? blocks : LIN_GRID_Y), LIN_COLUMN_THREADS,
                          0, &q);
}

static int32_t run_lu(lin_job *j)
{
    lu_plan p;
    plan_lu(j, &p);
    int32_t status = lin_has_room(j);
    lin_moving m = {.from = lin_side_of(&j->call->in[0]),
                    .to = lin_columns(lin_at(j, p.matrix), p.m, p.n),
                    .rows = p.m,
                    .columns = p.n,
                    .info = lin_at(j, p.bad)};
    if (status == NDP_OK)
        status = lin_examine(j, m.from, p.m, p.n, m.info);
    if (status == NDP_OK)
        status = lin_move(j, LIN_F_MOVE, m);
    solver_job s = getrf_of(j, &p);
    if (status == NDP_OK)
        status = lin_solver_run(j, &s);
    m.from = m.to;
    m.to = lin_side_of(&j->call->out[0]);
    m.nan = 1;
    if (status == NDP_OK)
        status = lin_move(j, LIN_F_MOVE, m);
    if (status == NDP_OK)
        status = put_pivots(j, &p);
    return status == NDP_OK ? lin_report(j, params_of(j)->check, p.least, 0) : status;
}

static int32_t small_lu(lin_job *j)
{
    const ndp_call *call = j->call;
    const int32_t m = (int32_t)call->in[0].shape[1], n = (int32_t)call->in[0].shape[2];
    lin_small p = {
        .in = {lin_side_of(&call->in[0])},
        .out = {lin_side_of(&call->out[0]), lin_side_of(&call->out[1]), lin_side_of(&call->out[2])},
        .m = m,
        .n = n};
    int32_t status = lin_run_small(j, &p, n * LIN_PITCH(m), 16 + 2 * LIN_SMALL * 4);
    return status == NDP_OK ? lin_report(j, params_of(j)->check, m < n ? m : n, 0) : status;
}

/* ---- qr ---- */

typedef struct {
    const ndp_view *q, *r; /* q NULL: r alone */
    int64_t m, n, k, least;
    uint64_t matrix, tau;
} qr_plan;

static void plan_qr(lin_job *j, qr_plan *p)
{
    const ndp_call *call = j->call;
    p->q = call->n_out == 2 ? &call->out[0] : NULL;
    p->r = &call->out[call->n_out - 1];
    p->m = call->in[0].shape[1];
    p->n = call->in[0].shape[2];
    p->k = p->r->shape[1];
    p->least = p->m < p->n ? p->m : p->n;
}

static int64_t columns_of(const qr_plan *p) /* of the matrix in scratch memory */
{
    return p->q && p->k > p->n ? p->k : p->n;
}

static void plan_large_qr(lin_job *j, qr_plan *p)
{
    plan_qr(j, p);
    p->matrix = lin_take(j, j->count * p->m * columns_of(p) * j->size);
    p->tau = lin_take(j, j->count * p->least * j->size);
}

static solver_job geqrf_of(const lin_job *j, const qr_plan *p)
{
    return (solver_job){.function = SOLVER_GEQRF,
                        .m = p->m,
                        .n = p->n,
                        .a = lin_operand(j, lin_at(j, p->matrix), p->m, columns_of(p)),
                        .tau = lin_operand(j, lin_at(j, p->tau), p->least, 1),
                        .info = lin_at(j, j->info)};
}

static solver_job orgqr_of(const lin_job *j, const qr_plan *p)
{
    solver_job s = geqrf_of(j, p);
    s.function = SOLVER_ORGQR;
    s.n = p->k;
    s.k = p->least;
    return s;
}

static int32_t run_qr(lin_job *j)
{
    qr_plan p = {0};
    plan_large_qr(j, &p);
    int32_t status = lin_has_room(j);
    lin_moving m = {.from = lin_side_of(&j->call->in[0]),
                    .to = lin_columns(lin_at(j, p.matrix), p.m, columns_of(&p)),
                    .rows = p.m,
                    .columns = p.n};
    if (status == NDP_OK)
        status = lin_move(j, LIN_F_MOVE, m);
    solver_job factor = geqrf_of(j, &p), form = orgqr_of(j, &p);
    if (status == NDP_OK)
        status = lin_solver_run(j, &factor);
    m.from = m.to;
    m.to = lin_side_of(p.r);
    m.rows = p.k;
    m.part = LIN_UPPER;
    if (status == NDP_OK)
        status = lin_move(j, LIN_F_MOVE, m);
    if (status == NDP_OK && p.q)
        status = lin_solver_run(j, &form);
    if (status != NDP_OK || !p.q)
        return status;
    m.to = lin_side_of(p.q);
    m.rows = p.m;
    m.columns = p.k;
    m.part = LIN_ALL;
    return lin_move(j, LIN_F_MOVE, m);
}

static int32_t small_qr(lin_job *j)
{
    qr_plan q = {0};
    plan_qr(j, &q);
    lin_small p = {.in = {lin_side_of(&j->call->in[0])},
                   .m = (int32_t)q.m,
                   .n = (int32_t)q.n,
                   .k = q.k,
                   .vectors = q.q != NULL};
    if (q.q)
        p.out[0] = lin_side_of(q.q);
    p.out[1] = lin_side_of(q.r);
    return lin_run_small(j, &p, (q.n + q.k) * LIN_PITCH(q.m) + LIN_SMALL, 48);
}

/* ---- the class ---- */

static int is_small(const ndp_call *call)
{
    const ndp_view *a = &call->in[0];
    return lin_is_small(a->shape[1], a->shape[2]);
}

static uint64_t scratch(const ndp_kernel *base, const ndp_call *call)
{
    lin_job j;
    uint64_t work = 0;
    lin_begin(&j, base, NULL, call);
    if (is_small(call))
        return j.total;
    if (call->op == NDP_OP_cholesky) {
        cholesky_plan p = {0};
        plan_cholesky(&j, &p);
        const solver_job s = potrf_of(&j, &p);
        lin_solver_work(&j, &s, &work);
    } else if (call->op == NDP_OP_lu) {
        lu_plan p;
        plan_lu(&j, &p);
        const solver_job s = getrf_of(&j, &p);
        lin_solver_work(&j, &s, &work);
    } else {
        qr_plan p = {0};
        plan_large_qr(&j, &p);
        const solver_job factor = geqrf_of(&j, &p), form = orgqr_of(&j, &p);
        lin_solver_work(&j, &factor, &work);
        if (p.q)
            lin_solver_work(&j, &form, &work);
    }
    return j.total + work;
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    lin_job j;
    const int small = is_small(call);
    lin_begin(&j, base, s, call);
    if (call->op == NDP_OP_cholesky)
        return small ? small_cholesky(&j) : run_cholesky(&j);
    if (call->op == NDP_OP_lu)
        return small ? small_lu(&j) : run_lu(&j);
    return small ? small_qr(&j) : run_qr(&j);
}

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    const int32_t op = like->op, dtype = like->in[0].dtype;
    int32_t status = cuda_solver_make(k->dev);
    k->base.run = run;
    k->base.scratch = scratch;
    if (status == NDP_OK)
        status = lin_find(k, LIN_F_SMALL, "small", dtype,
                          op == NDP_OP_cholesky ? "lin_cholesky"
                          : op == NDP_OP_lu     ? "lin_lu"
                                                : "lin_qr");
    if (status == NDP_OK)
        status = lin_find(k, LIN_F_MOVE, "large", dtype, "lin_move");
    if (status == NDP_OK)
        status = lin_find(k, LIN_F_REPORT, "large", dtype, "lin_report");
    if (status == NDP_OK && op == NDP_OP_lu)
        status = lin_find(k, LIN_F_EXAMINE, "large", dtype, "lin_examine");
    if (status != NDP_OK || op == NDP_OP_qr)
        return status;
    return lin_find(k, LIN_F_OTHER, "large", dtype,
                    op == NDP_OP_cholesky ? "lin_excuse" : "lin_pivots");
}

static uint64_t dtypes(int32_t op)
{
    return op == NDP_OP_cholesky || op == NDP_OP_lu || op == NDP_OP_qr ? lin_dtypes() : 0;
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    const int32_t dtype = like->in[0].dtype;
    const uint32_t last = like->n_out - 1;
    if (!(dtypes(like->op) >> dtype & 1) || like->out[0].dtype != dtype ||
        (like->op == NDP_OP_qr && like->out[last].dtype != dtype))
        return cuda_unsupported(like, why, n);
    if (cuda_solver_open() != NDP_OK) {
        snprintf(why, n, "%s", cuda_solver_missing());
        return NDP_ERR_UNSUPPORTED;
    }
    return cuda_kernel_get(dev, like, 0, make, out);
}

const cuda_class cuda_factor = {.dtypes = dtypes, .find = find};
