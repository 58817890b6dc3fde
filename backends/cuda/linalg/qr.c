/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * qr. */
#include "linalg/factor.h"

typedef struct {
    const ndp_view *q, *r; /* q NULL: r alone */
    int64_t m, n, k, least;
    uint64_t matrix, tau;
} qr_plan;

static void plan_qr(const lin_job *j, qr_plan *p)
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

static int32_t run_shared(lin_job *j, lin_way way)
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
    return lin_run_shared(j, way, &p, lin_qr_room(j));
}

lin_room lin_block_qr_room(int64_t m, int64_t n, int64_t k)
{
    return (lin_room){.elements = (n > k ? n : k) * LIN_PITCH(m) + (m < n ? m : n), .nbytes = 32};
}

/* A warp has q beside the matrix, a block has it in the matrix's place. */
lin_room lin_qr_room(const lin_job *j)
{
    qr_plan q = {0};
    plan_qr(j, &q);
    if (!lin_is_small(q.m, q.n))
        return lin_block_qr_room(q.m, q.n, q.q ? q.k : 0);
    return (lin_room){.elements = (q.n + q.k) * LIN_PITCH(q.m) + LIN_SMALL, .nbytes = 48};
}

void lin_qr_work(lin_job *j, uint64_t *work)
{
    qr_plan p = {0};
    plan_large_qr(j, &p);
    const solver_job factor = geqrf_of(j, &p), form = orgqr_of(j, &p);
    lin_solver_work(j, &factor, work);
    if (p.q)
        lin_solver_work(j, &form, work);
}

int32_t lin_qr_run(lin_job *j, lin_way way)
{
    return way == LIN_BY_LIBRARY ? run_qr(j) : run_shared(j, way);
}
