/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Class SOLVE: systems of equations by LU, by factors, and triangular ones. */
#include "linalg/linalg.h"

enum { ZEROS = LIN_F_OTHER, PIVOTS_BACK = LIN_F_OTHER2, COLUMNS = LIN_F_OTHER3 };

static const ndp_solve *params_of(const lin_job *j)
{
    return j->call->params;
}

static const ndp_view *sides_of(const ndp_call *call)
{
    return &call->in[call->n_in - 1];
}

/* ---- by factors: matrix and right sides are copied column by column. In the place of a matrix that
 * is not finite the library gets the identity, since what it says of pivots among NaN is nothing to
 * go by ---- */

typedef struct {
    int64_t n, k;
    uint64_t bad, matrix, sides, pivots, unread;
} solve_plan;

static void plan_solve(lin_job *j, solve_plan *p)
{
    p->n = j->call->in[0].shape[1];
    p->k = sides_of(j->call)->shape[2];
    p->bad = lin_take(j, j->count * (int64_t)sizeof(int32_t));
    p->matrix = lin_take(j, j->count * p->n * p->n * j->size);
    p->sides = lin_take(j, j->count * p->n * p->k * j->size);
    p->pivots = lin_take(j, j->count * p->n * 8);
    p->unread = lin_take(j, j->count * 4); /* what getrs says of its parameters */
}

static int32_t substitute(const lin_job *j, const solve_plan *p)
{
    solver_job s = lin_getrf(j, p->matrix, p->n, p->n, p->pivots);
    s.function = SOLVER_GETRS;
    s.trans = params_of(j)->trans; /* cublasOperation_t has the same numbers */
    s.k = p->k;
    s.b = lin_operand(j, lin_at(j, p->sides), p->n, p->k);
    s.info = lin_at(j, p->unread);
    return lin_solver_run(j, &s);
}

/* The given factors' pivots for the library, and whether one of them divides by zero. */
static int32_t take_factors(const lin_job *j, const solve_plan *p)
{
    lin_pivoting q = {.library = lin_at(j, p->pivots),
                      .pivots = lin_side_of(&j->call->in[1]),
                      .count = j->count,
                      .m = p->n,
                      .least = p->n};
    lin_looking l = {.from = lin_side_of(&j->call->in[0]),
                     .rows = p->n,
                     .columns = p->n,
                     .info = lin_at(j, j->info),
                     .count = j->count};
    int32_t status = cuda_launch(j->k, j->k->function[PIVOTS_BACK], j->stream, (uint32_t)j->count,
                                 LIN_COLUMN_THREADS, 0, &q);
    return status == NDP_OK ? cuda_launch(j->k, j->k->function[ZEROS], j->stream,
                                          (uint32_t)j->count, LIN_COLUMN_THREADS, 0, &l)
                            : status;
}

static int32_t run_solve(lin_job *j)
{
    solve_plan p;
    plan_solve(j, &p);
    int32_t status = lin_has_room(j);
    lin_moving a = {.from = lin_side_of(&j->call->in[0]),
                    .to = lin_columns(lin_at(j, p.matrix), p.n, p.n),
                    .rows = p.n,
                    .columns = p.n,
                    .info = lin_at(j, p.bad)};
    lin_moving b = {.from = lin_side_of(sides_of(j->call)),
                    .to = lin_columns(lin_at(j, p.sides), p.n, p.k),
                    .rows = p.n,
                    .columns = p.k};
    solver_job s = lin_getrf(j, p.matrix, p.n, p.n, p.pivots);
    if (status == NDP_OK)
        status = lin_examine(j, a.from, p.n, p.n, a.info);
    if (status == NDP_OK)
        status = lin_move(j, LIN_F_MOVE, a);
    if (status == NDP_OK)
        status = lin_move(j, LIN_F_MOVE, b);
    if (status == NDP_OK)
        status = j->call->op == NDP_OP_solve ? lin_solver_run(j, &s) : take_factors(j, &p);
    if (status == NDP_OK)
        status = substitute(j, &p);
    b.from = b.to;
    b.to = lin_side_of(&j->call->out[0]);
    b.info = a.info;
    b.nan = 1;
    if (status == NDP_OK)
        status = lin_move(j, LIN_F_MOVE, b);
    return status == NDP_OK ? lin_report(j, params_of(j)->check, p.n, 0) : status;
}

/* A warp has right sides in shared memory, or of systems that are not so small in registers, as a
 * block has them. */
static lin_room room_of(const lin_job *j)
{
    const ndp_view *b = sides_of(j->call);
    const int right = j->call->op == NDP_OP_solve_triangular && params_of(j)->right;
    const int64_t n = j->call->in[0].shape[1], k = b->shape[right ? 1 : 2];
    if (!lin_is_small(n, n))
        return (lin_room){.elements = n * LIN_PITCH(n), .nbytes = 48 + 2 * n * 4};
    if (n > LIN_SMALL / 2 && j->call->op == NDP_OP_solve && params_of(j)->trans == NDP_TRANS_N)
        return (lin_room){
            .elements = n * LIN_SMALL_PITCH, .nbytes = 32 + 2 * LIN_SMALL * 4, .place = COLUMNS};
    return (lin_room){.elements = (n + (k < LIN_SMALL_SIDES ? k : LIN_SMALL_SIDES)) * LIN_PITCH(n),
                      .nbytes = 32 + LIN_SMALL * 4,
                      .place = LIN_F_SMALL};
}

/* Blocks of a matrix with so many right sides: while multiprocessors have no work, each has a part of
 * these, for which it decomposes the matrix as the others do. */
static int32_t blocks_of(const lin_job *j, int64_t k)
{
    const int64_t most = j->k->dev->sm_count / j->count,
                  wanted = (k + LIN_BLOCK_SIDES - 1) / LIN_BLOCK_SIDES;
    return most < 2 ? 1 : (int32_t)(wanted < most ? wanted : most);
}

static int32_t run_shared(lin_job *j, lin_way way, lin_small *p)
{
    lin_room room = room_of(j);
    room.blocks = blocks_of(j, p->k);
    return lin_run_shared(j, way, p, room);
}

static int32_t shared_solve(lin_job *j, lin_way way)
{
    const ndp_call *call = j->call;
    const int64_t n = call->in[0].shape[1], k = sides_of(call)->shape[2];
    lin_small p = {.in = {lin_side_of(&call->in[0]), lin_side_of(&call->in[1])},
                   .out = {lin_side_of(&call->out[0])},
                   .m = (int32_t)n,
                   .n = (int32_t)n,
                   .k = k,
                   .trans = params_of(j)->trans,
                   .packed = call->op == NDP_OP_lu_solve};
    if (p.packed)
        p.in[2] = lin_side_of(&call->in[2]);
    int32_t status = run_shared(j, way, &p);
    return status == NDP_OK ? lin_report(j, params_of(j)->check, n, 0) : status;
}

/* ---- triangular: x op(a) = b is op(a)^T x^T = b^T ---- */

/* The triangular matrix that x, or with `right` its transpose, is to be multiplied with: as strides
 * of a, whether it is conjugated, and which triangle is meant. */
static lin_side operated(const lin_job *j, int32_t *conj, int32_t *upper)
{
    const ndp_solve *s = params_of(j);
    const lin_side a = lin_side_of(&j->call->in[0]);
    const int turned = (s->trans != NDP_TRANS_N) != (s->right != 0);
    *conj = s->trans == NDP_TRANS_C;
    *upper = (s->upper != 0) != turned;
    return turned ? lin_turned(a) : a;
}

static int32_t shared_triangular(lin_job *j, lin_way way)
{
    const ndp_solve *s = params_of(j);
    const ndp_view *b = sides_of(j->call);
    const lin_side in = lin_side_of(b), out = lin_side_of(&j->call->out[0]);
    const int64_t n = j->call->in[0].shape[1], k = s->right ? b->shape[1] : b->shape[2];
    lin_small p = {.in = {{0}, s->right ? lin_turned(in) : in},
                   .out = {s->right ? lin_turned(out) : out},
                   .m = (int32_t)n,
                   .n = (int32_t)n,
                   .k = k,
                   .unit = s->unit_diagonal != 0};
    p.in[0] = operated(j, &p.conj, &p.upper);
    int32_t status = run_shared(j, way, &p);
    return status == NDP_OK ? lin_report(j, s->check, n, 0) : status;
}

/* The library sees operands in C order transposed: op(a) x = b as x^T op(a)^T = b^T, so that a^T,
 * which it sees, stands on the other side with the same op. */
typedef struct {
    int64_t n, rows, columns;     /* of a; of the right sides */
    int64_t a_leading, b_leading; /* 0: is copied */
    uint64_t matrix, sides;
} triangular_plan;

static void plan_triangular(lin_job *j, triangular_plan *p)
{
    const ndp_view *out = &j->call->out[0];
    p->n = j->call->in[0].shape[1];
    p->rows = out->shape[1];
    p->columns = out->shape[2];
    p->a_leading = lin_leading(&j->call->in[0], 1);
    p->b_leading = lin_leading(out, 1);
    if (!p->a_leading)
        p->matrix = lin_take(j, j->count * p->n * p->n * j->size);
    if (!p->b_leading)
        p->sides = lin_take(j, j->count * p->rows * p->columns * j->size);
}

static lin_side rows_at(const lin_job *j, uint64_t place, int64_t rows, int64_t columns)
{
    return lin_turned(lin_columns(lin_at(j, place), columns, rows));
}

static solver_job trsm_of(const lin_job *j, const triangular_plan *p, lin_side a, lin_side b)
{
    const ndp_solve *s = params_of(j);
    return (solver_job){.function = SOLVER_TRSM,
                        .side = s->right ? SOLVER_LEFT : SOLVER_RIGHT,
                        .uplo = s->upper ? SOLVER_LOWER : SOLVER_UPPER,
                        .trans = s->trans,
                        .unit = s->unit_diagonal != 0,
                        .m = p->columns,
                        .n = p->rows,
                        .a = {a.at, a.batch * j->size, p->a_leading ? p->a_leading : p->n},
                        .b = {b.at, b.batch * j->size, p->b_leading ? p->b_leading : p->columns}};
}

static int32_t look_for_zeros(const lin_job *j, int64_t n)
{
    lin_looking l = {.from = lin_side_of(&j->call->in[0]),
                     .rows = n,
                     .columns = n,
                     .info = lin_at(j, j->info),
                     .count = j->count};
    if (params_of(j)->unit_diagonal)
        return lin_clear(j, l.info, j->count * (int64_t)sizeof(int32_t));
    return cuda_launch(j->k, j->k->function[ZEROS], j->stream, (uint32_t)j->count,
                       LIN_COLUMN_THREADS, 0, &l);
}

static int32_t run_triangular(lin_job *j)
{
    triangular_plan p = {0};
    plan_triangular(j, &p);
    const lin_side given = lin_side_of(&j->call->in[0]), out = lin_side_of(&j->call->out[0]);
    const lin_side a = p.a_leading ? given : rows_at(j, p.matrix, p.n, p.n);
    const lin_side b = p.b_leading ? out : rows_at(j, p.sides, p.rows, p.columns);
    lin_moving m = {.from = given,
                    .to = a,
                    .rows = p.n,
                    .columns = p.n,
                    .part = params_of(j)->upper ? LIN_UPPER : LIN_LOWER};
    int32_t status = lin_has_room(j);
    if (status == NDP_OK)
        status = look_for_zeros(j, p.n);
    if (status == NDP_OK && !p.a_leading)
        status = lin_move(j, LIN_F_MOVE, m);
    m = (lin_moving){
        .from = lin_side_of(sides_of(j->call)), .to = b, .rows = p.rows, .columns = p.columns};
    if (status == NDP_OK)
        status = lin_move(j, LIN_F_MOVE, m);
    solver_job s = trsm_of(j, &p, a, b);
    if (status == NDP_OK)
        status = lin_solver_run(j, &s);
    m.from = b;
    m.to = out;
    if (status == NDP_OK && !p.b_leading)
        status = lin_move(j, LIN_F_MOVE, m);
    return status == NDP_OK ? lin_report(j, params_of(j)->check, p.n, 0) : status;
}

/* ---- the class ---- */

static lin_way way_of(const lin_job *j)
{
    const ndp_view *a = &j->call->in[0];
    return lin_way_of(j, a->shape[1], a->shape[2], room_of(j));
}

static uint64_t scratch(const ndp_kernel *base, const ndp_call *call)
{
    lin_job j;
    uint64_t work = 0;
    lin_begin(&j, base, NULL, call);
    if (way_of(&j) != LIN_BY_LIBRARY)
        return j.total;
    if (call->op == NDP_OP_solve_triangular) {
        triangular_plan p = {0};
        plan_triangular(&j, &p);
        const solver_job s = trsm_of(&j, &p, (lin_side){0}, (lin_side){0});
        lin_solver_work(&j, &s, &work);
    } else {
        solve_plan p;
        plan_solve(&j, &p);
        const solver_job s = lin_getrf(&j, p.matrix, p.n, p.n, p.pivots);
        if (call->op == NDP_OP_solve)
            lin_solver_work(&j, &s, &work);
    }
    return j.total + work;
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    lin_job j;
    lin_begin(&j, base, s, call);
    const lin_way way = way_of(&j);
    if (call->op == NDP_OP_solve_triangular)
        return way == LIN_BY_LIBRARY ? run_triangular(&j) : shared_triangular(&j, way);
    return way == LIN_BY_LIBRARY ? run_solve(&j) : shared_solve(&j, way);
}

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    const int triangular = like->op == NDP_OP_solve_triangular;
    const lin_function list[] = {
        {LIN_F_SMALL, "small", triangular ? "lin_triangular" : "lin_solve"},
        {LIN_F_BLOCK, "block", triangular ? "lin_block_triangular" : "lin_block_solve"},
        {LIN_F_BLOCK_HALF, "block",
         triangular ? "lin_block_triangular_half" : "lin_block_solve_half"},
        {COLUMNS, "small", "lin_solve_columns"},
        {LIN_F_MOVE, "large", "lin_move"},
        {LIN_F_REPORT, "large", "lin_report"},
        {LIN_F_EXAMINE, "large", "lin_examine"},
        {ZEROS, "large", "lin_zeros"},
        {PIVOTS_BACK, "large", "lin_pivots_back"}};
    k->base.run = run;
    k->base.scratch = scratch;
    return lin_find_all(k, like->in[0].dtype, (int)(sizeof list / sizeof *list), list);
}

static uint64_t dtypes(int32_t op)
{
    const int known = op == NDP_OP_solve || op == NDP_OP_lu_solve || op == NDP_OP_solve_triangular;
    return known ? lin_dtypes() : 0;
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    const int32_t dtype = like->in[0].dtype;
    const int known = (dtypes(like->op) >> dtype & 1) && like->in[like->n_in - 1].dtype == dtype &&
                      like->out[0].dtype == dtype;
    return lin_kernel(dev, like, known, make, out, why, n);
}

const cuda_class cuda_solve = {.dtypes = dtypes, .find = find};
