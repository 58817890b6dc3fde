/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Class SVD. Of a wide matrix the adjoint is decomposed, whose factors are the adjoints. Few matrices of up to
 * LIN_BLOCK_ROWS rows are clusters' of blocks (svd_cluster.c). Others in single precision are svd_double.c's. In double
 * precision a block's shared memory has those of up to LIN_BLOCK_ROWS rows that fit (block_svd.cuh), but for single ones
 * whose polar factor takes less time. All others are decomposed by that factor (gesvdp), which is fastest but moves the
 * values of some that are nearly singular, and says so; these, and smaller ones, by their bidiagonal form (gesvd).
 * Rotations (gesvdj) leave vectors of 128 rows orthogonal to 109 and 149 units, where LAPACK has 8. */
#include "linalg/svd.h"

/* The least extent from which on the polar factor is asked for: of 128 rows it takes 4.6 ms, where one
 * block takes 9 for up to as many matrices as there are multiprocessors, and gesvd 8.8. */
static _Atomic int64_t polar_least = 96;

static int32_t checks(const lin_job *j)
{
    return ((const ndp_svd *)j->call->params)->check;
}

void lin_svd_plan(const lin_job *j, svd_plan *p)
{
    const ndp_call *call = j->call;
    const int64_t rows = call->in[0].shape[1], columns = call->in[0].shape[2];
    *p = (svd_plan){.s = &call->out[call->n_out == 3], .wide = rows < columns};
    p->m = p->wide ? columns : rows;
    p->n = p->wide ? rows : columns;
    p->k = p->n;
    if (call->n_out < 3)
        return;
    p->u = &call->out[0];
    p->vh = &call->out[2];
    p->k = p->wide ? p->vh->shape[1] : p->u->shape[2];
}

lin_side lin_svd_operand(const lin_job *j, const svd_plan *p)
{
    const lin_side in = lin_side_of(&j->call->in[0]);
    return p->wide ? lin_turned(in) : in;
}

/* Where the left factor (m, k) and the right one (n, n) belong; one of them is conjugated. */
static lin_side left_of(const svd_plan *p)
{
    return p->wide ? lin_turned(lin_side_of(p->vh)) : lin_side_of(p->u);
}
static lin_side right_of(const svd_plan *p)
{
    return p->wide ? lin_side_of(p->u) : lin_turned(lin_side_of(p->vh));
}

int32_t lin_svd_put_vectors(const lin_job *j, const svd_plan *p, int place, lin_moving m)
{
    m.from = lin_columns(lin_at(j, p->left), p->m, p->k);
    m.to = left_of(p);
    m.rows = p->m;
    m.columns = p->k;
    m.conj = p->wide;
    int32_t status = lin_move(j, place, m);
    m.from = lin_columns(lin_at(j, p->right), p->n, p->n);
    m.to = right_of(p);
    if (p->adjoint)
        m.from = lin_turned(m.from);
    m.rows = m.columns = p->n;
    m.conj = p->wide == p->adjoint;
    return status == NDP_OK ? lin_move(j, place, m) : status;
}

/* ---- by cuSOLVER ---- */

static int is_polar(const svd_plan *p)
{
    return p->n >= atomic_load_explicit(&polar_least, memory_order_relaxed);
}

/* Asked for values alone, gesvdp of CUDA 13.0 gives wrong ones for 600 x 600 of f64, and refuses
 * 1300 x 700, so it has room for vectors in any case. */
static void plan_large(lin_job *j, svd_plan *p)
{
    lin_svd_plan(j, p);
    const int vectors = p->u || is_polar(p);
    p->bad = lin_take(j, j->count * (int64_t)sizeof(int32_t));
    p->matrix = lin_take(j, j->count * p->m * p->n * j->size);
    p->values = lin_take(j, j->count * p->n * j->real);
    p->left = vectors ? lin_take(j, j->count * p->m * p->k * j->size) : p->matrix;
    p->right = vectors ? lin_take(j, j->count * p->n * p->n * j->size) : p->matrix;
}

static solver_job solver_of(const lin_job *j, const svd_plan *p, solver_function function)
{
    return (solver_job){.function = function,
                        .vectors = p->u != NULL || function == SOLVER_GESVDP,
                        .thin = p->k == p->n,
                        .m = p->m,
                        .n = p->n,
                        .a = lin_operand(j, lin_at(j, p->matrix), p->m, p->n),
                        .w = {lin_at(j, p->values), p->n * j->real, p->n},
                        .u = lin_operand(j, lin_at(j, p->left), p->m, p->k),
                        .v = lin_operand(j, lin_at(j, p->right), p->n, p->n),
                        .info = lin_at(j, j->info)};
}

static int32_t take_matrix(const lin_job *j, const svd_plan *p)
{
    lin_moving m = {.from = lin_svd_operand(j, p),
                    .to = lin_columns(lin_at(j, p->matrix), p->m, p->n),
                    .rows = p->m,
                    .columns = p->n,
                    .info = lin_at(j, p->bad),
                    .conj = p->wide};
    return lin_move(j, LIN_F_MOVE, m);
}

static int32_t decompose(const lin_job *j, svd_plan *p)
{
    const int polar = is_polar(p);
    solver_job s = solver_of(j, p, polar ? SOLVER_GESVDP : SOLVER_GESVD);
    int32_t status = take_matrix(j, p);
    if (status == NDP_OK)
        status = lin_solver_run(j, &s);
    p->adjoint = !polar;
    if (status != NDP_OK || !polar || s.moved == 0)
        return status;
    p->adjoint = 1;
    s = solver_of(j, p, SOLVER_GESVD);
    status = take_matrix(j, p);
    return status == NDP_OK ? lin_solver_run(j, &s) : status;
}

static int32_t run_large(lin_job *j)
{
    svd_plan p;
    plan_large(j, &p);
    int32_t status = lin_has_room(j);
    if (status == NDP_OK)
        status = lin_examine(j, lin_svd_operand(j, &p), p.m, p.n, lin_at(j, p.bad));
    if (status == NDP_OK)
        status = decompose(j, &p);
    lin_moving m = {.from = lin_columns(lin_at(j, p.values), p.n, 1),
                    .to = lin_side_of(p.s),
                    .rows = p.n,
                    .columns = 1,
                    .info = lin_at(j, j->info),
                    .also = lin_at(j, p.bad),
                    .nan = 1};
    if (status == NDP_OK)
        status = lin_move(j, LIN_F_MOVE_REAL, m);
    if (status == NDP_OK && p.u)
        status = lin_svd_put_vectors(j, &p, LIN_F_MOVE, m);
    return status == NDP_OK ? lin_report(j, checks(j), p.n, 1) : status;
}

/* ---- in shared memory ---- */

static int is_single(int32_t dtype)
{
    return dtype == NDP_F32 || dtype == NDP_C64;
}

/* What a warp's or a block's matrix takes, with columns in place of rows beside it; v, if it is in
 * shared memory. */
static lin_room room_of(const lin_job *j, const svd_plan *q, int64_t v, int64_t rows,
                        int64_t nbytes)
{
    const int64_t most = q->k > q->n ? q->k : q->n;
    return (lin_room){.elements = most * LIN_PITCH(q->m) + v + rows,
                      .nbytes = nbytes + rows * (j->real + 4) + 8 * 16};
}
static int64_t v_of(const svd_plan *q)
{
    return q->u ? q->n * LIN_PITCH(q->n) : 0;
}
static lin_room warp_room(const lin_job *j, const svd_plan *q)
{
    return room_of(j, q, v_of(q), LIN_SMALL, LIN_SMALL / 2 * (24 + 4 * j->real + j->size));
}

/* Half a warp has a pair of columns. */
static lin_room block_room(const lin_job *j, const svd_plan *q, int64_t v)
{
    const int64_t pairs = (q->n + 1) / 2, wanted = (pairs + 1) / 2 * 32;
    const int64_t most = LIN_SVD_THREADS_OF(j->size);
    lin_room room = room_of(j, q, v, LIN_BLOCK_ROWS, LIN_BLOCK_ROWS * j->real);
    room.threads = (int32_t)(wanted < 128 ? 128 : wanted < most ? wanted : most);
    return room;
}

/* Columns of v that scratch memory has are so far apart: whole lines of memory. */
static int64_t far_apart(const svd_plan *q)
{
    return (q->n + 15) / 16 * 16;
}

/* Which way; of matrices in shared memory what each takes of that, and what of scratch memory. */
typedef struct {
    lin_way way;
    lin_room room;
    lin_side scratch[2];
} way_plan;

/* Takes what of scratch memory a block or a cluster wants. */
static way_plan way_of(lin_job *j, const svd_plan *q)
{
    way_plan w = {.room = block_room(j, q, v_of(q))};
    int outside = 0;
    w.way = lin_way_of(j, q->m, q->n, w.room);
    if (w.way == LIN_BY_WARP)
        w.room = warp_room(j, q);
    else if (lin_svd_by_cluster(j, q)) {
        w.way = LIN_BY_CLUSTER;
        lin_svd_cluster_take(j, q, w.scratch);
    } else if (is_single(j->call->in[0].dtype) || (j->count == 1 && q->u && is_polar(q)))
        w.way = LIN_BY_LIBRARY;
    else if (w.way == LIN_BY_LIBRARY && q->u) {
        w.room = block_room(j, q, 0);
        w.way = lin_way_of(j, q->m, q->n, w.room);
        outside = w.way == LIN_BY_BLOCK;
    }
    if (outside) {
        const uint64_t v = lin_take(j, j->count * q->n * far_apart(q) * j->size);
        w.scratch[0] = (lin_side){lin_at(j, v), q->n * far_apart(q), 1, far_apart(q)};
    }
    return w;
}

static lin_small operands_of(const lin_job *j, const svd_plan *q, const way_plan *w)
{
    lin_small p = {.in = {lin_svd_operand(j, q), w->scratch[0], w->scratch[1]},
                   .m = (int32_t)q->m,
                   .n = (int32_t)q->n,
                   .k = q->k,
                   .conj = q->wide,
                   .vectors = q->u != NULL,
                   .conj_out = q->wide ? 0 : 2};
    p.out[1] = lin_side_of(q->s);
    if (q->u) {
        p.out[0] = left_of(q);
        p.out[2] = right_of(q);
    }
    return p;
}

static int32_t run_shared(lin_job *j, const svd_plan *q, const way_plan *w)
{
    lin_small p = operands_of(j, q, w);
    const int32_t status = w->way == LIN_BY_CLUSTER ? lin_svd_cluster_run(j, q, &p)
                                                    : lin_run_shared(j, w->way, &p, w->room);
    return status == NDP_OK ? lin_report(j, checks(j), q->n, 1) : status;
}

/* ---- the class ---- */

static uint64_t scratch(const ndp_kernel *base, const ndp_call *call)
{
    lin_job j;
    uint64_t work = 0;
    svd_plan p;
    lin_begin(&j, base, NULL, call);
    lin_svd_plan(&j, &p);
    if (way_of(&j, &p).way != LIN_BY_LIBRARY)
        return j.total;
    if (is_single(call->in[0].dtype))
        return lin_svd_double_scratch(&j);
    plan_large(&j, &p);
    const solver_job direct = solver_of(&j, &p, SOLVER_GESVD),
                     polar = solver_of(&j, &p, SOLVER_GESVDP);
    lin_solver_work(&j, &direct, &work);
    if (is_polar(&p))
        lin_solver_work(&j, &polar, &work);
    return j.total + work;
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    lin_job j;
    lin_begin(&j, base, s, call);
    svd_plan p;
    lin_svd_plan(&j, &p);
    const way_plan w = way_of(&j, &p);
    if (w.way != LIN_BY_LIBRARY)
        return run_shared(&j, &p, &w);
    return is_single(call->in[0].dtype) ? lin_svd_double_run(&j) : run_large(&j);
}

static void read_setting(void)
{
    int64_t least = polar_least;
    cuda_host->param(cuda_host->ctx, "SVD_POLAR", NDP_PARAM_I64,
                     "least rows and columns of matrices whose singular values are found by their "
                     "polar factor",
                     &least);
    atomic_store(&polar_least, least);
}

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    const int32_t dtype = like->in[0].dtype, values = like->out[like->n_out == 3].dtype;
    const lin_function list[] = {{LIN_F_SMALL, "small", "lin_svd"},
                                 {LIN_F_MOVE, "large", "lin_move"},
                                 {LIN_F_REPORT, "large", "lin_report"},
                                 {LIN_F_EXAMINE, "large", "lin_examine"}};
    read_setting();
    k->base.run = run;
    k->base.scratch = scratch;
    int32_t status = lin_find_all(k, dtype, (int)(sizeof list / sizeof *list), list);
    if (status == NDP_OK)
        lin_svd_cluster_find(k, dtype);
    if (status == NDP_OK && is_single(dtype))
        return lin_svd_double_find(k, dtype);
    if (status == NDP_OK)
        status = lin_find(k, (lin_function){LIN_F_BLOCK, "block", "lin_block_svd"}, dtype);
    if (status == NDP_OK)
        status = lin_find(k, (lin_function){LIN_F_MOVE_REAL, "large", "lin_move"}, values);
    return status;
}

static uint64_t dtypes(int32_t op)
{
    return op == NDP_OP_svd ? lin_dtypes() : 0;
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    const int32_t dtype = like->in[0].dtype;
    const int32_t real = is_single(dtype) ? NDP_F32 : NDP_F64;
    const int known = (dtypes(like->op) >> dtype & 1) && like->out[like->n_out == 3].dtype == real;
    return lin_kernel(dev, like, known, make, out, why, n);
}

const cuda_class cuda_svd = {.dtypes = dtypes, .find = find};
