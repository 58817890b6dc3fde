/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Running a program of rows: some whole rows at a time, so that a row is in cache from the first
 * reduction to the last step. Values of rows are as many as rows, and are spread over buffers where
 * elements are computed with them. */
#include <string.h>
#include "program/program.h"
#include "reduce/reduce.h"
#include "walk/tile.h"

enum { GRAIN_ELEMENTS = 16384, BLOCK_ELEMENTS = 1024, MAX_ROWS = 64 };

typedef struct {
    const cpu_program *program;
    const ndp_call *call;
    const ew_isa *isa;
    int64_t n_rows, length, block;   /* rows of a block */
    int32_t own[NDP_PROGRAM_MAX_IN]; /* an input's buffer */
} plan;

typedef struct {
    const plan *plan;
    int64_t rows;                               /* of this block */
    char *base[CPU_PROGRAM_OPERANDS][MAX_ROWS]; /* where each row begins */
    char *place[CPU_PROGRAM_PLACES];
    cpu_program_scalars scalars;
    _Alignas(64) char arena[CPU_PROGRAM_ARENA];
} worker;

/* Of a row: operands with one element for each row have extent 1. */
static int64_t length_of(const ndp_call *call)
{
    int64_t length = 1;
    for (uint32_t k = 0; k < call->n_in + call->n_out; k++) {
        const ndp_view *v = k < call->n_in ? &call->in[k] : &call->out[k - call->n_in];
        length = v->shape[v->ndim - 1] > length ? v->shape[v->ndim - 1] : length;
    }
    return length;
}

/* Whether the input is where it is read, if a block is one row. */
static int is_plain(const cpu_program *p, const ndp_call *call, int32_t k)
{
    const ndp_view *v = &call->in[k];
    return (p->row_in >> k & 1) || v->stride[v->ndim - 1] == 1;
}

/* Buffers of steps, of scalars that are repeated, of inputs: of one row, only those that do not
 * lie dense. Which one an input has, to own. */
static int32_t count_buffers(const cpu_program *p, const ndp_call *call, int single, int32_t *own)
{
    int32_t n = p->n_buffers + p->n_repeated;
    for (int32_t k = 0; k < p->n_in; k++)
        own[k] = single && is_plain(p, call, k) ? -1 : n++;
    return n;
}

/* How many rows a block has, as many as there is room for; 0: not even one. */
static int64_t rows_of_block(const cpu_program *p, const ndp_call *call, int32_t *own)
{
    const int64_t length = length_of(call), one = length * p->slot_bytes;
    int64_t rows = (BLOCK_ELEMENTS + length - 1) / length;
    const int64_t most = CPU_PROGRAM_ARENA / one / count_buffers(p, call, 0, own);
    rows = rows < most ? rows : most;
    rows = rows < MAX_ROWS ? rows : MAX_ROWS;
    return rows > 1 ? rows : count_buffers(p, call, 1, own) * one <= CPU_PROGRAM_ARENA;
}

int32_t cpu_program_rows_takes(ndp_dev *dev, const ndp_kernel *kernel, const ndp_call *call)
{
    const int64_t length = length_of(call);
    int32_t own[NDP_PROGRAM_MAX_IN];
    (void)dev;
    return length >= CPU_REDUCE_ROW_LEAST && length <= CPU_REDUCE_ROW_MOST &&
                   rows_of_block((const cpu_program *)kernel, call, own) > 0
               ? NDP_OK
               : NDP_ERR_UNSUPPORTED;
}

static char *buffer_at(worker *w, int32_t i)
{
    return w->arena + i * (w->plan->block * w->plan->length * w->plan->program->slot_bytes);
}

/* ---- operands ---- */
static const ndp_view *operand(const plan *p, int32_t k)
{
    return k < p->program->n_in ? &p->call->in[k] : &p->call->out[k - p->program->n_in];
}

static char *row_at(const ndp_view *v, int64_t row)
{
    int64_t at = 0;
    for (int d = v->ndim - 2; d >= 0; d--) {
        at += row % v->shape[d] * v->stride[d];
        row /= v->shape[d];
    }
    return cpu_ptr(v) + at * ndp_dtype_size(v->dtype);
}

static void seek(worker *w, int64_t first)
{
    const plan *p = w->plan;
    for (int32_t k = 0; k < p->program->n_in + p->program->n_out; k++)
        for (int64_t i = 0; i < w->rows; i++)
            w->base[k][i] = row_at(operand(p, k), first + i);
}

/* Whether the block's rows lie one after the other without gaps. */
static int is_dense(const worker *w, int32_t k, int64_t length)
{
    const ndp_view *v = operand(w->plan, k);
    const int64_t nbytes = ndp_dtype_size(v->dtype);
    if (length > 1 && v->stride[v->ndim - 1] != 1)
        return 0;
    for (int64_t i = 1; i < w->rows; i++)
        if (w->base[k][i] != w->base[k][i - 1] + length * nbytes)
            return 0;
    return 1;
}

static char *input(worker *w, int32_t k)
{
    const plan *p = w->plan;
    const ndp_view *v = operand(p, k);
    const int64_t nbytes = ndp_dtype_size(v->dtype);
    const int64_t length = p->program->row_in >> k & 1 ? 1 : p->length;
    if (is_dense(w, k, length))
        return w->base[k][0];
    char *buffer = buffer_at(w, p->own[k]);
    for (int64_t i = 0; i < w->rows; i++)
        cpu_tile_pack(buffer + i * length * nbytes, w->base[k][i], 1, length, 0,
                      v->stride[v->ndim - 1] * nbytes, nbytes);
    return buffer;
}

static int64_t result_length(const plan *p, int32_t i)
{
    return p->program->row_out >> i & 1 ? 1 : p->length;
}

static void store(worker *w, int32_t i)
{
    const int32_t k = w->plan->program->n_in + i;
    const ndp_view *v = operand(w->plan, k);
    const int64_t length = result_length(w->plan, i), nbytes = ndp_dtype_size(v->dtype);
    const char *from = w->place[w->plan->program->out[i]];
    for (int64_t row = 0; row < w->rows; row++, from += length * nbytes)
        if (w->base[k][row] != from)
            cpu_tile_unpack(w->base[k][row], from, 1, length, 0, v->stride[v->ndim - 1] * nbytes,
                            nbytes);
}

/* ---- steps ---- */
static void reduce(const worker *w, const cpu_step *s)
{
    const int64_t n = w->plan->length, nbytes = ndp_dtype_size(s->dtype);
    double correction = 0;
    if (s->n == 2)
        memcpy(&correction, w->place[s->from[1]], sizeof correction);
    for (int64_t i = 0; i < w->rows; i++)
        cpu_reduce_row(s->op, s->dtype, w->place[s->from[0]] + i * n * nbytes, n, correction,
                       w->place[s->to] + i * nbytes);
}

static void spread(const worker *w, const cpu_step *s)
{
    const int64_t n = w->plan->length;
    for (int64_t i = 0; i < w->rows; i++)
        cpu_tile_pack(w->place[s->to] + i * n * s->nbytes, w->place[s->from[0]] + i * s->nbytes, 1,
                      n, 0, 0, s->nbytes);
}

static void do_step(const worker *w, const cpu_step *s)
{
    if (s->kind == CPU_STEP_REDUCE)
        reduce(w, s);
    else if (s->kind == CPU_STEP_SPREAD)
        spread(w, s);
    else
        cpu_step_do(s, w->plan->isa, w->place, s->of_rows ? w->rows : w->rows * w->plan->length, 0);
}

/* ---- blocks ---- */
/* What a step writes that is a dense result, it writes there at once: nothing else of the call
 * reads or writes that memory. */
static void place_results(worker *w)
{
    const cpu_program *p = w->plan->program;
    for (int32_t i = 0; i < p->n_places; i++)
        if (p->buffer[i] >= 0)
            w->place[i] = buffer_at(w, p->buffer[i]);
    for (int32_t i = p->n_out - 1; i >= 0; i--)
        if (p->buffer[p->out[i]] >= 0 && is_dense(w, p->n_in + i, result_length(w->plan, i)))
            w->place[p->out[i]] = w->base[p->n_in + i][0];
}

static void chunk(void *ctx, int64_t begin, int64_t end)
{
    const plan *p = ctx;
    worker w;
    w.plan = p;
    cpu_program_place_scalars(p->program, p->call->scalar, p->isa, p->block * p->length,
                              buffer_at(&w, p->program->n_buffers),
                              p->block * p->length * p->program->slot_bytes, &w.scalars, w.place);
    for (int64_t b = begin; b < end; b++) {
        const int64_t first = b * p->block, left = p->n_rows - first;
        w.rows = left < p->block ? left : p->block;
        seek(&w, first);
        for (int32_t k = 0; k < p->program->n_in; k++)
            w.place[k] = input(&w, k);
        place_results(&w);
        for (int32_t i = 0; i < p->program->n_steps; i++)
            do_step(&w, &p->program->step[i]);
        for (int32_t i = 0; i < p->program->n_out; i++)
            store(&w, i);
    }
}

int32_t cpu_program_rows_run(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call)
{
    const ndp_view *first = &call->out[0];
    plan p = {.program = (const cpu_program *)kernel,
              .call = call,
              .isa = CPU_ISA_PICK(elementwise_isa),
              .length = length_of(call),
              .n_rows = 1};
    (void)stream;
    for (int d = 0; d < first->ndim - 1; d++)
        p.n_rows *= first->shape[d];
    p.block = rows_of_block(p.program, call, p.own);
    const int64_t grain = GRAIN_ELEMENTS / (p.block * p.length);
    cpu_parallel((p.n_rows + p.block - 1) / p.block, grain > 0 ? grain : 1, chunk, &p);
    return NDP_OK;
}
