/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Class EIGEN: eigenvalues and vectors of each matrix of a batch. In the place of a matrix that is
 * not finite the libraries get the identity, since some iterate for ever on NaN. Real matrices
 * become complex ones for eig, whose results are complex. */
#include <stdio.h>
#include "linalg/linalg.h"

/* LIN_F_MOVE copies the operand, LIN_F_MOVE_REAL the values; eig's vectors are of the dtype of its
 * values. */
enum {
    MOVE_VECTORS = LIN_F_OTHER,
    NORMALIZE = LIN_F_OTHER2,
    OF_8 = LIN_F_OTHER3,
    OF_16 = LIN_F_LAST
};

typedef struct {
    int64_t n;
    int32_t hermitian, upper, vectors;
    uint64_t bad, matrix, values, right; /* right: eig's vectors; eigh's are where the matrix was */
} eigen_plan;

static const ndp_eigen *params_of(const lin_job *j)
{
    return j->call->params;
}

static void plan_eigen(lin_job *j, eigen_plan *p)
{
    const ndp_call *call = j->call;
    p->n = call->in[0].shape[1];
    p->hermitian = call->op == NDP_OP_eigh;
    p->upper = p->hermitian && params_of(j)->upper != 0;
    p->vectors = call->n_out == 2;
    if (!p->hermitian) {
        j->type = j->real == 4 ? SOLVER_C64 : SOLVER_C128;
        j->size = 2 * j->real;
    }
    p->bad = lin_take(j, j->count * (int64_t)sizeof(int32_t));
    p->matrix = lin_take(j, j->count * p->n * p->n * j->size);
    p->values = lin_take(j, j->count * p->n * (p->hermitian ? j->real : j->size));
    p->right =
        p->hermitian || !p->vectors ? p->matrix : lin_take(j, j->count * p->n * p->n * j->size);
}

static solver_job solver_of(const lin_job *j, const eigen_plan *p)
{
    const int64_t value = p->hermitian ? j->real : j->size;
    const int together = j->count > 1 && cuda_solver_has_syev_batched();
    return (solver_job){.function = !p->hermitian ? SOLVER_GEEV
                                    : together    ? SOLVER_SYEV_BATCHED
                                                  : SOLVER_SYEVD,
                        .uplo = p->upper ? SOLVER_UPPER : SOLVER_LOWER,
                        .vectors = p->vectors,
                        .m = p->n,
                        .n = p->n,
                        .a = lin_operand(j, lin_at(j, p->matrix), p->n, p->n),
                        .w = {lin_at(j, p->values), p->n * value, p->n},
                        .v = lin_operand(j, lin_at(j, p->right), p->n, p->n),
                        .info = lin_at(j, j->info)};
}

/* The matrix for the library, or the identity. */
static int32_t take_matrix(const lin_job *j, const eigen_plan *p)
{
    const int32_t part = !p->hermitian ? LIN_ALL : p->upper ? LIN_UPPER : LIN_LOWER;
    lin_looking l = {.from = lin_side_of(&j->call->in[0]),
                     .rows = p->n,
                     .columns = p->n,
                     .info = lin_at(j, p->bad),
                     .part = part};
    lin_moving m = {.from = l.from,
                    .to = lin_columns(lin_at(j, p->matrix), p->n, p->n),
                    .rows = p->n,
                    .columns = p->n,
                    .info = l.info,
                    .part = part,
                    .real_diagonal = p->hermitian};
    int32_t status = lin_clear(j, l.info, j->count * (int64_t)sizeof(int32_t));
    if (status == NDP_OK)
        status = lin_look_at(j, LIN_F_EXAMINE, l);
    return status == NDP_OK ? lin_move(j, LIN_F_MOVE, m) : status;
}

static int32_t put_vectors(const lin_job *j, const eigen_plan *p, lin_moving m)
{
    const int64_t columns = j->count * p->n;
    lin_normalizing z = {.at = lin_at(j, p->right), .columns = columns, .n = p->n};
    int32_t status = cuda_launch(j->k, j->k->function[NORMALIZE], j->stream,
                                 (uint32_t)(columns < INT32_MAX ? columns : INT32_MAX),
                                 LIN_COLUMN_THREADS, 0, &z);
    m.from = lin_columns(z.at, p->n, p->n);
    m.to = lin_side_of(&j->call->out[1]);
    m.columns = p->n;
    return status == NDP_OK ? lin_move(j, MOVE_VECTORS, m) : status;
}

static int32_t run_eigen(lin_job *j)
{
    eigen_plan p = {0};
    plan_eigen(j, &p);
    int32_t status = lin_has_room(j);
    solver_job s = solver_of(j, &p);
    if (status == NDP_OK)
        status = take_matrix(j, &p);
    if (status == NDP_OK)
        status = lin_solver_run(j, &s);
    lin_moving m = {.from = lin_columns(lin_at(j, p.values), p.n, 1),
                    .to = lin_side_of(&j->call->out[0]),
                    .rows = p.n,
                    .columns = 1,
                    .info = lin_at(j, j->info),
                    .also = lin_at(j, p.bad),
                    .nan = 1};
    if (status == NDP_OK)
        status = lin_move(j, LIN_F_MOVE_REAL, m);
    if (status == NDP_OK && p.vectors)
        status = put_vectors(j, &p, m);
    return status == NDP_OK ? lin_report(j, params_of(j)->check, p.n, 1) : status;
}

/* Up to 16 rows a warp has several matrices, in registers. */
static lin_room room_of(const lin_job *j, int64_t n, int vectors)
{
    const int64_t rotations =
        LIN_SMALL / 2 * (24 + 4 * j->real + j->size) + LIN_SMALL * (j->real + 4) + 7 * 16;
    if (n > LIN_SMALL / 2)
        return (lin_room){.elements = (vectors ? 2 : 1) * n * LIN_PITCH(n),
                          .nbytes = rotations,
                          .place = LIN_F_SMALL};
    const int32_t together = n <= LIN_SMALL / 4 ? 4 : 2;
    return (lin_room){.elements = together * n * LIN_PITCH(n),
                      .nbytes = rotations,
                      .place = together == 4 ? OF_8 : OF_16,
                      .together = together};
}

static int32_t small_eigh(lin_job *j)
{
    const ndp_call *call = j->call;
    const int upper = params_of(j)->upper != 0, vectors = call->n_out == 2;
    const int64_t n = call->in[0].shape[1];
    const lin_side in = lin_side_of(&call->in[0]);
    lin_small p = {.in = {upper ? lin_turned(in) : in},
                   .out = {lin_side_of(&call->out[0])},
                   .m = (int32_t)n,
                   .n = (int32_t)n,
                   .conj = upper,
                   .vectors = vectors};
    if (vectors)
        p.out[1] = lin_side_of(&call->out[1]);
    int32_t status = lin_run_shared(j, LIN_BY_WARP, &p, room_of(j, n, vectors));
    return status == NDP_OK ? lin_report(j, params_of(j)->check, n, 1) : status;
}

/* ---- the class ---- */

static int is_small(const ndp_call *call)
{
    return call->op == NDP_OP_eigh && lin_is_small(call->in[0].shape[1], call->in[0].shape[2]);
}

static uint64_t scratch(const ndp_kernel *base, const ndp_call *call)
{
    lin_job j;
    uint64_t work = 0;
    eigen_plan p = {0};
    lin_begin(&j, base, NULL, call);
    if (is_small(call))
        return j.total;
    plan_eigen(&j, &p);
    const solver_job s = solver_of(&j, &p);
    lin_solver_work(&j, &s, &work);
    return j.total + work;
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    lin_job j;
    lin_begin(&j, base, s, call);
    return is_small(call) ? small_eigh(&j) : run_eigen(&j);
}

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    const int32_t dtype = like->in[0].dtype, values = like->out[0].dtype;
    const int hermitian = like->op == NDP_OP_eigh, widens = !hermitian && dtype != values;
    const int32_t vectors = hermitian ? dtype : values;
    const lin_function list[] = {{LIN_F_MOVE, "large", widens ? "lin_widen" : "lin_move"},
                                 {LIN_F_REPORT, "large", "lin_report"},
                                 {LIN_F_EXAMINE, "large", "lin_examine"},
                                 {LIN_F_SMALL, "small", "lin_eigh"},
                                 {OF_8, "small", "lin_eigh8"},
                                 {OF_16, "small", "lin_eigh16"}};
    k->base.run = run;
    k->base.scratch = scratch;
    int32_t status = lin_find_all(k, dtype, hermitian ? 6 : 3, list);
    if (status == NDP_OK)
        status = lin_find(k, (lin_function){LIN_F_MOVE_REAL, "large", "lin_move"}, values);
    if (status == NDP_OK)
        status = lin_find(k, (lin_function){MOVE_VECTORS, "large", "lin_move"}, vectors);
    if (status == NDP_OK)
        status = lin_find(k, (lin_function){NORMALIZE, "large", "lin_normalize"}, vectors);
    return status;
}

static uint64_t dtypes(int32_t op)
{
    return op == NDP_OP_eigh || op == NDP_OP_eig ? lin_dtypes() : 0;
}

static int32_t values_of(int32_t op, int32_t dtype)
{
    const int single = dtype == NDP_F32 || dtype == NDP_C64;
    if (op == NDP_OP_eigh)
        return single ? NDP_F32 : NDP_F64;
    return single ? NDP_C64 : NDP_C128;
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    const int32_t dtype = like->in[0].dtype;
    const int known =
        (dtypes(like->op) >> dtype & 1) && like->out[0].dtype == values_of(like->op, dtype);
    const int32_t status = lin_kernel(dev, like, known, make, out, why, n);
    if (status != NDP_OK || like->op != NDP_OP_eig || cuda_solver_has_geev())
        return status;
    snprintf(why, n, "%s", cuda_solver_no_geev());
    *out = NULL;
    return NDP_ERR_UNSUPPORTED;
}

const cuda_class cuda_eigen = {.dtypes = dtypes, .find = find};
