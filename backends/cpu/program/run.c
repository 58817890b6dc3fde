/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Running a program: blocks of rows x columns of the iteration space, in each of which all steps
 * are done. Operands that lie dense in a block are read and written where they are, others by way
 * of a buffer. */
#include <string.h>
#include "program/program.h"
#include "walk/blocks.h"
#include "walk/tile.h"

enum { CHEAP_GRAIN = 65536, COSTLY_GRAIN = 8192 };

typedef struct {
    const cpu_program *program;
    const ndp_scalar *scalar;
    const ew_isa *isa;
    cpu_blocks blocks;
    cpu_blocks_operand operand[CPU_PROGRAM_OPERANDS]; /* inputs, then results */
    int32_t own[NDP_PROGRAM_MAX_IN]; /* an input's buffer, behind those of steps; -1: it is dense in
                                      * every block */
    int32_t stream[NDP_PROGRAM_MAX_OUT]; /* the result is written past the cache, */
    int32_t streams;                     /* at least one is */
    int32_t n, n_buffers, first_scalar;  /* buffers of scalars are the last ones */
    int64_t block, pitch; /* of a block: elements at most; bytes from buffer to buffer */
} plan;

/* What one chunk keeps from block to block. */
typedef struct {
    const plan *plan;
    cpu_blocks_place at;
    char *base[CPU_PROGRAM_OPERANDS];
    int streams;                              /* the last step writes past the cache */
    const char *repeated[NDP_PROGRAM_MAX_IN]; /* the element that fills the input's buffer, */
    int64_t repeated_n[NDP_PROGRAM_MAX_IN];   /* so far as often */
    char *place[CPU_PROGRAM_PLACES];
    cpu_program_scalars scalars;
    _Alignas(64) char arena[CPU_PROGRAM_ARENA];
} worker;

/* ---- steps ---- */
static void do_steps(worker *w, int64_t n)
{
    const cpu_program *program = w->plan->program;
    for (const cpu_step *s = program->step, *end = s + program->n_steps - w->streams; s < end; s++)
        cpu_step_do(s, w->plan->isa, w->place, n);
    if (w->streams) {
        cpu_step last = program->step[program->n_steps - 1];
        last.loop = last.streamed;
        cpu_step_do(&last, w->plan->isa, w->place, n);
    }
}

/* ---- one block ---- */
static int is_dense(const cpu_blocks_operand *o, int64_t rows, int64_t cols)
{
    return (o->col == o->nbytes || cols == 1) && (rows == 1 || o->row == cols * o->nbytes);
}

static char *buffer_at(worker *w, int32_t i)
{
    return w->arena + i * w->plan->pitch;
}

static char *input(worker *w, int k, const cpu_blocks_part *b)
{
    const cpu_blocks_operand *o = &w->plan->operand[k];
    const int64_t rows = b->rows, cols = b->cols;
    char *from = cpu_blocks_at(&w->at, k, b);
    if (is_dense(o, rows, cols))
        return from;
    char *buffer = buffer_at(w, w->plan->own[k]);
    if (o->col == 0 && (rows == 1 || o->row == 0)) {
        if (w->repeated[k] != from || w->repeated_n[k] < rows * cols)
            cpu_tile_pack(buffer, from, 1, rows * cols, 0, 0, o->nbytes);
        w->repeated[k] = from;
        w->repeated_n[k] = rows * cols;
        return buffer;
    }
    cpu_tile_pack(buffer, from, rows, cols, o->row, o->col, o->nbytes);
    w->repeated[k] = NULL;
    return buffer;
}

static void store(worker *w, int i, char *to, const char *from, const cpu_blocks_part *b)
{
    const cpu_blocks_operand *o = &w->plan->operand[w->plan->program->n_in + i];
    const int64_t rows = b->rows, cols = b->cols;
    if (from == to)
        return;
    if (!is_dense(o, rows, cols))
        cpu_tile_unpack(to, from, rows, cols, o->row, o->col, o->nbytes);
    else if (w->plan->stream[i])
        w->plan->isa->stream(to, from, rows * cols * o->nbytes);
    else
        memcpy(to, from, (size_t)(rows * cols * o->nbytes));
}

/* The result of the last step goes where it belongs at once: nothing reads after it. */
static void place_last(worker *w, char *const *to, const cpu_blocks_part *b)
{
    const plan *p = w->plan;
    const cpu_program *program = p->program;
    int16_t last = program->n_steps ? program->step[program->n_steps - 1].to : -1;
    w->streams = 0;
    for (int32_t i = 0; last >= 0 && i < program->n_out; i++) {
        if (program->out[i] != last)
            continue;
        const int dense = is_dense(&p->operand[program->n_in + i], b->rows, b->cols);
        w->streams = dense && p->stream[i] && program->step[program->n_steps - 1].streamed != NULL;
        w->place[last] =
            dense && (!p->stream[i] || w->streams) ? to[i] : buffer_at(w, program->buffer[last]);
        return;
    }
}

static void do_block(worker *w, const cpu_blocks_part *b)
{
    const cpu_program *program = w->plan->program;
    char *to[NDP_PROGRAM_MAX_OUT];
    for (int32_t k = 0; k < program->n_in; k++)
        w->place[k] = input(w, k, b);
    for (int32_t i = 0; i < program->n_out; i++)
        to[i] = cpu_blocks_at(&w->at, program->n_in + i, b);
    place_last(w, to, b);
    do_steps(w, b->rows * b->cols);
    for (int32_t i = 0; i < program->n_out; i++)
        store(w, i, to[i], w->place[program->out[i]], b);
}

/* ---- all blocks ---- */
static void chunk(void *ctx, int64_t begin, int64_t end)
{
    const plan *p = ctx;
    worker w;
    w.plan = p;
    for (int k = 0; k < p->program->n_in; k++)
        w.repeated[k] = NULL;
    for (int32_t i = 0; i < p->program->n_places; i++)
        w.place[i] = p->program->buffer[i] >= 0 ? buffer_at(&w, p->program->buffer[i]) : NULL;
    cpu_program_place_scalars(p->program, p->scalar, p->isa,
                              p->blocks.block_rows * p->blocks.block_cols,
                              buffer_at(&w, p->first_scalar), p->pitch, &w.scalars, w.place);
    cpu_blocks_seek(&w.at, &p->blocks, w.base, begin);
    for (int64_t i = begin; i < end; i++, cpu_blocks_next(&w.at)) {
        const cpu_blocks_part here = cpu_blocks_here(&w.at);
        do_block(&w, &here);
    }
    if (p->streams)
        ew_stream_end();
}

/* ---- planning ---- */
/* Inputs that no block has dense need buffers of their own. */
static void share_buffers(plan *p)
{
    p->n_buffers = p->program->n_buffers;
    for (int k = 0; k < p->program->n_in; k++) {
        const cpu_blocks_operand *o = &p->operand[k];
        int dense = !p->blocks.tiled && o->col == o->nbytes &&
                    (p->blocks.rows == 1 || o->row == p->blocks.cols * o->nbytes);
        p->own[k] = dense ? -1 : p->n_buffers++;
    }
    p->first_scalar = p->n_buffers;
    p->n_buffers += p->program->n_repeated;
}

/* Extents of a block; returns how many there are. */
static int64_t cut_blocks(plan *p)
{
    int64_t slot = p->program->slot_bytes, n_buffers = p->n_buffers > 0 ? p->n_buffers : 1;
    int64_t in_cache = n_buffers + p->program->n_out; /* and inputs that are read where they are */
    for (int k = 0; k < p->program->n_in; k++)
        in_cache += p->own[k] < 0;
    int64_t elements = CPU_PROGRAM_CACHE / (slot * in_cache) & ~(int64_t)63, rows, cols;
    elements = elements < CPU_PROGRAM_LEAST ? CPU_PROGRAM_LEAST : elements;
    if (elements < 256 && (256 * slot + CPU_PROGRAM_PAD) * n_buffers <= CPU_PROGRAM_ARENA)
        elements = 256; /* a call of a loop for fewer costs more than the second level of cache */
    p->block = elements < CPU_PROGRAM_BLOCK ? elements : CPU_PROGRAM_BLOCK;
    p->pitch = p->block * slot + CPU_PROGRAM_PAD;
    rows = p->blocks.tiled ? CPU_BLOCKS_RUN_BYTES / slot : 1;
    cols = p->block > rows ? p->block / rows : 1;
    cols = p->blocks.cols < cols ? p->blocks.cols : cols;
    return cpu_blocks_cut(&p->blocks, p->block / cols, cols);
}

int32_t cpu_program_run(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call)
{
    const cpu_program *program = (const cpu_program *)kernel;
    const ndp_view *first = &call->out[0];
    plan p = {.program = program, .scalar = call->scalar, .isa = CPU_ISA_PICK(elementwise_isa)};
    int64_t size = ndp_view_size(first), blocks, grain;
    (void)stream;
    if (size == 0)
        return NDP_OK;
    p.n = program->n_in + program->n_out;
    for (int k = 0; k < p.n; k++) {
        const ndp_view *v = k < program->n_in ? &call->in[k] : &call->out[k - program->n_in];
        p.operand[k] = (cpu_blocks_operand){
            .base = cpu_ptr(v), .stride = v->stride, .nbytes = ndp_dtype_size(v->dtype)};
    }
    cpu_blocks_choose(&p.blocks, p.operand, p.n, first->shape, first->ndim);
    share_buffers(&p);
    blocks = cut_blocks(&p);
    for (int i = 0; i < program->n_out; i++)
        p.streams |= p.stream[i] =
            cpu_blocks_streams(&p.blocks, program->n_in + i, program->n_in, size);
    grain = (program->costly ? COSTLY_GRAIN : CHEAP_GRAIN / (1 + program->n_steps / 4)) /
            (p.blocks.block_rows * p.blocks.block_cols);
    cpu_parallel(blocks, grain > 0 ? grain : 1, chunk, &p);
    return NDP_OK;
}
