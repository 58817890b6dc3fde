/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * lu. In the place of a large matrix that is not finite the library gets the identity, since what it
 * says of pivots among NaN is nothing to go by. */
#include "linalg/factor.h"

enum { PIVOTS = LIN_F_OTHER };

static const ndp_factor *params_of(const lin_job *j)
{
    return j->call->params;
}

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
    solver_job s = lin_getrf(j, p.matrix, p.m, p.n, p.pivots);
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

static int32_t run_shared(lin_job *j, lin_way way)
{
    const ndp_call *call = j->call;
    const int32_t m = (int32_t)call->in[0].shape[1], n = (int32_t)call->in[0].shape[2];
    lin_small p = {
        .in = {lin_side_of(&call->in[0])},
        .out = {lin_side_of(&call->out[0]), lin_side_of(&call->out[1]), lin_side_of(&call->out[2])},
        .m = m,
        .n = n};
    int32_t status = lin_run_shared(j, way, &p, lin_lu_room(j));
    return status == NDP_OK ? lin_report(j, params_of(j)->check, m < n ? m : n, 0) : status;
}

lin_room lin_lu_room(const lin_job *j)
{
    const int64_t m = j->call->in[0].shape[1], n = j->call->in[0].shape[2];
    return (lin_room){.elements = n * LIN_PITCH(m),
                      .nbytes = 48 + 2 * (m > LIN_SMALL ? m : LIN_SMALL) * 4};
}

void lin_lu_work(lin_job *j, uint64_t *work)
{
    lu_plan p;
    plan_lu(j, &p);
    const solver_job s = lin_getrf(j, p.matrix, p.m, p.n, p.pivots);
    lin_solver_work(j, &s, work);
}

int32_t lin_lu_run(lin_job *j, lin_way way)
{
    return way == LIN_BY_LIBRARY ? run_lu(j) : run_shared(j, way);
}
