/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The steps that calls of linear algebra are made of. */
#include "linalg/linalg.h"
#include <stdio.h>

int32_t lin_type_of(int32_t dtype)
{
    switch (dtype) {
    case NDP_F32:
        return SOLVER_F32;
    case NDP_F64:
        return SOLVER_F64;
    case NDP_C64:
        return SOLVER_C64;
    case NDP_C128:
        return SOLVER_C128;
    default:
        return -1;
    }
}

int32_t lin_dtype_of(int32_t type)
{
    static const int32_t dtypes[] = {NDP_F32, NDP_F64, NDP_C64, NDP_C128};
    return dtypes[type];
}

uint64_t lin_dtypes(void)
{
    return (uint64_t)1 << NDP_F32 | (uint64_t)1 << NDP_F64 | (uint64_t)1 << NDP_C64 |
           (uint64_t)1 << NDP_C128;
}

void lin_begin(lin_job *j, const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    *j = (lin_job){.k = (const cuda_kernel *)base, .stream = s, .call = call};
    j->type = lin_type_of(call->in[0].dtype);
    j->size = ndp_dtype_size(call->in[0].dtype);
    j->real = j->type == SOLVER_F32 || j->type == SOLVER_C64 ? 4 : 8;
    j->count = call->out[0].shape[0];
    j->info = lin_take(j, j->count * (int64_t)sizeof(int32_t));
}

uint64_t lin_take(lin_job *j, int64_t nbytes)
{
    const uint64_t at = j->total;
    j->total += ((uint64_t)nbytes + 255) / 256 * 256;
    return at;
}

CUdeviceptr lin_at(const lin_job *j, uint64_t place)
{
    return j->call->scratch.mem ? cuda_ptr(&j->call->scratch) + place : 0;
}

int32_t lin_has_room(const lin_job *j)
{
    const ndp_view *given = &j->call->scratch;
    if (given->mem && (uint64_t)given->shape[0] >= j->total)
        return NDP_OK;
    return cuda_error(NDP_ERR_INTERNAL, "%s was called without its scratch memory",
                      cuda_op_name(j->call->op));
}

/* ---- what a class's find and make do ---- */

int32_t lin_find(cuda_kernel *k, lin_function f, int32_t dtype)
{
    static const char *const suffixes[] = {"F32", "F64", "C64", "C128"};
    char full[40];
    snprintf(full, sizeof full, "%s_%s", f.name, suffixes[lin_type_of(dtype)]);
    const int32_t status =
        cuda_function(k->dev, cuda_module_of(f.file, dtype), full, &k->function[f.place]);
    if (status != NDP_OK ||
        (f.place != LIN_F_BLOCK && f.place != LIN_F_BLOCK_HALF && f.place != LIN_F_CLUSTER))
        return status;
    return cuda_fail(cu.cuFuncSetAttribute(k->function[f.place],
                                           CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                           k->dev->shared_most),
                     "shared memory for %s", full);
}

int32_t lin_find_all(cuda_kernel *k, int32_t dtype, int n, const lin_function *list)
{
    int32_t status = cuda_solver_make(k->dev);
    for (int i = 0; i < n && status == NDP_OK; i++)
        status = lin_find(k, list[i], dtype);
    return status;
}

int32_t lin_kernel(ndp_dev *dev, const ndp_call *like, int known,
                   int32_t (*make)(cuda_kernel *, const ndp_call *), const ndp_kernel **out,
                   char *why, size_t n)
{
    if (!known)
        return cuda_unsupported(like, why, n);
    if (cuda_solver_open() != NDP_OK) {
        snprintf(why, n, "%s", cuda_solver_missing());
        return NDP_ERR_UNSUPPORTED;
    }
    return cuda_kernel_get(dev, like, 0, make, out);
}

/* ---- operands ---- */

lin_side lin_side_of(const ndp_view *v)
{
    return (lin_side){.at = cuda_ptr(v),
                      .batch = v->stride[0],
                      .row = v->stride[1],
                      .column = v->ndim > 2 ? v->stride[2] : 1};
}

lin_side lin_turned(lin_side s)
{
    return (lin_side){.at = s.at, .batch = s.batch, .row = s.column, .column = s.row};
}

lin_side lin_columns(CUdeviceptr at, int64_t rows, int64_t columns)
{
    return (lin_side){.at = at, .batch = rows * columns, .row = 1, .column = rows};
}

int64_t lin_leading(const ndp_view *v, int turned)
{
    const int near = turned ? 2 : 1, far = 3 - near;
    const int64_t stride = v->shape[far] == 1 ? v->shape[near] : v->stride[far];
    return (v->stride[near] == 1 || v->shape[near] == 1) && stride >= v->shape[near] ? stride : 0;
}

solver_operand lin_operand(const lin_job *j, CUdeviceptr at, int64_t rows, int64_t columns)
{
    return (solver_operand){.at = at, .step = rows * columns * j->size, .ld = rows};
}

/* ---- steps ---- */

int32_t lin_clear(const lin_job *j, CUdeviceptr at, int64_t nbytes)
{
    cuda_scope scope;
    int32_t status = cuda_enter(j->k->dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuMemsetD8Async(at, 0, (size_t)nbytes, cuda_stream(j->k->dev, j->stream));
    cuda_leave(&scope);
    return cuda_fail(r, "%s on cuda:%u", cuda_op_name(j->call->op), j->k->dev->index);
}

static uint32_t rows_of_grid(const lin_job *j)
{
    return (uint32_t)(j->count < LIN_GRID_Y ? j->count : LIN_GRID_Y);
}

int32_t lin_move(const lin_job *j, int place, lin_moving m)
{
    const int64_t down = (m.rows + LIN_TILE - 1) / LIN_TILE,
                  across = (m.columns + LIN_TILE - 1) / LIN_TILE;
    m.count = j->count;
    if (down > INT32_MAX / across)
        return cuda_error(NDP_ERR_OVERFLOW, "%s: matrices of %lld x %lld are too large",
                          cuda_op_name(j->call->op), (long long)m.rows, (long long)m.columns);
    return cuda_launch_2d(j->k, j->k->function[place], j->stream, (uint32_t)(down * across),
                          rows_of_grid(j), LIN_MOVE_THREADS, 0, &m);
}

int32_t lin_look_at(const lin_job *j, int place, lin_looking l)
{
    const int64_t most = (int64_t)j->k->dev->sm_count * 8, lines = l.rows;
    l.count = j->count;
    return cuda_launch_2d(j->k, j->k->function[place], j->stream,
                          (uint32_t)(lines < most ? lines : most), rows_of_grid(j),
                          LIN_MOVE_THREADS, 0, &l);
}

int32_t lin_examine(const lin_job *j, lin_side from, int64_t rows, int64_t columns, CUdeviceptr bad)
{
    const lin_looking l = {.from = from, .rows = rows, .columns = columns, .info = bad};
    const int32_t status = lin_clear(j, bad, j->count * (int64_t)sizeof(int32_t));
    return status == NDP_OK ? lin_look_at(j, LIN_F_EXAMINE, l) : status;
}

solver_job lin_getrf(const lin_job *j, uint64_t matrix, int64_t m, int64_t n, uint64_t pivots)
{
    return (solver_job){.function = SOLVER_GETRF,
                        .m = m,
                        .n = n,
                        .a = lin_operand(j, lin_at(j, matrix), m, n),
                        .pivots = {lin_at(j, pivots), (m < n ? m : n) * 8, 0},
                        .info = lin_at(j, j->info)};
}

int32_t lin_solver_run(const lin_job *j, solver_job *s)
{
    const uint64_t have = (uint64_t)j->call->scratch.shape[0];
    s->type = j->type;
    s->count = j->count;
    s->work = lin_at(j, j->total);
    s->work_bytes = have > j->total ? have - j->total : 0;
    return cuda_solver_run(j->k->dev, j->stream, s);
}

void lin_solver_work(const lin_job *j, const solver_job *s, uint64_t *most)
{
    solver_job asked = *s;
    uint64_t nbytes;
    asked.type = j->type;
    asked.count = j->count;
    if (cuda_solver_work(j->k->dev, &asked, &nbytes) == NDP_OK && nbytes > *most)
        *most = nbytes;
}

int32_t lin_report(const lin_job *j, int32_t check, int64_t n, int32_t iteration)
{
    if (!check || !j->call->status.mem)
        return NDP_OK;
    lin_reporting r = {.info = lin_at(j, j->info),
                       .status = cuda_ptr(&j->call->status),
                       .count = j->count,
                       .n = n,
                       .op = j->call->op,
                       .iteration = iteration};
    return cuda_launch(j->k, j->k->function[LIN_F_REPORT], j->stream, 1, LIN_MOVE_THREADS, 0, &r);
}

/* ---- matrices in shared memory ---- */

int lin_is_small(int64_t rows, int64_t columns)
{
    return rows <= LIN_SMALL && columns <= LIN_SMALL;
}

static int64_t bytes_of(const lin_job *j, lin_room room)
{
    return (room.elements * j->size + room.nbytes + 15) / 16 * 16;
}

lin_way lin_way_of(const lin_job *j, int64_t rows, int64_t columns, lin_room room)
{
    if (lin_is_small(rows, columns))
        return LIN_BY_WARP;
    const int fits = rows <= LIN_BLOCK_ROWS && columns <= LIN_BLOCK_ROWS &&
                     bytes_of(j, room) <= j->k->dev->shared_most && j->count <= INT32_MAX;
    return fits ? LIN_BY_BLOCK : LIN_BY_LIBRARY;
}

int32_t lin_run_block(const lin_job *j, lin_small *p, lin_room room, CUdeviceptr info)
{
    const int64_t need = bytes_of(j, room);
    const int large = p->m > LIN_BLOCK_ROWS / 2 || p->n > LIN_BLOCK_ROWS / 2;
    const int32_t usual = large ? LIN_BLOCK_THREADS : LIN_BLOCK_THREADS / 2;
    const CUfunction half = large ? NULL : j->k->function[LIN_F_BLOCK_HALF];
    p->info = info;
    p->count = j->count;
    p->nbytes = (int32_t)need;
    return cuda_launch_2d(j->k, half ? half : j->k->function[LIN_F_BLOCK], j->stream,
                          (uint32_t)j->count, (uint32_t)(room.blocks ? room.blocks : 1),
                          (uint32_t)(room.threads ? room.threads : usual), (uint32_t)need, p);
}

static int32_t run_warps(const lin_job *j, lin_small *p, lin_room room)
{
    const int64_t need = bytes_of(j, room), together = room.together ? room.together : 1;
    const int64_t most = (j->count + together - 1) / together; /* warps with work */
    int64_t warps =
        LIN_SMALL_SHARED / need < LIN_SMALL_WARPS ? LIN_SMALL_SHARED / need : LIN_SMALL_WARPS;
    if (most < (int64_t)j->k->dev->sm_count * warps)
        warps = 1;
    const int64_t blocks = (most + warps - 1) / warps;
    if (blocks > INT32_MAX)
        return cuda_error(NDP_ERR_OVERFLOW, "%s: a batch of %lld matrices is too large",
                          cuda_op_name(j->call->op), (long long)j->count);
    p->nbytes = (int32_t)need;
    return cuda_launch(j->k, j->k->function[room.place], j->stream, (uint32_t)blocks,
                       32 * (uint32_t)warps, (uint32_t)(need * warps), p);
}

int32_t lin_run_shared(const lin_job *j, lin_way way, lin_small *p, lin_room room)
{
    int32_t status = lin_has_room(j);
    if (status != NDP_OK)
        return status;
    if (way == LIN_BY_BLOCK)
        return lin_run_block(j, p, room, lin_at(j, j->info));
    p->info = lin_at(j, j->info);
    p->count = j->count;
    return run_warps(j, p, room);
}
