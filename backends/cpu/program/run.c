/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Running a program: blocks of rows x columns of the iteration space, in each of which all steps
 * are done. Operands that lie dense in a block are read and written where they are, others by way
 * of a buffer. */
#include <string.h>
#include "program/program.h"
#include "walk/blocks.h"
#include "walk/tile.h"

enum {
    CHEAP_GRAIN = 65536,
    COSTLY_GRAIN = 8192,
    MAX_GRAIN = 1 << 18,
    MAX_RUN = 8192, /* elements of a run of blocks */
    LONG_ROW = 1024,
    MEMORY_STEPS = 4 /* programs of more wait for their loops */
};
/* Runs of several blocks: there are none; they span whole rows; each is part of one row. */
enum { NO_RUNS, RUNS_OF_ROWS, RUNS_IN_ROWS };

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
    int runs;
    int64_t step[CPU_PROGRAM_OPERANDS]; /* where there are runs: bytes from element to element */
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
    const cpu_step *s = program->step, *const last = s + program->n_steps - w->streams;
    for (; s < last; s++)
        cpu_step_do(s, w->plan->isa, w->place, n, 0);
    if (w->streams)
        cpu_step_do(last, w->plan->isa, w->place, n, 1);
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
        const int64_t n = rows * cols < w->plan->block ? rows * cols : w->plan->block;
        if (w->repeated[k] != from || w->repeated_n[k] < n)
            cpu_tile_pack(buffer, from, 1, n, 0, 0, o->nbytes);
        w->repeated[k] = from;
        w->repeated_n[k] = n;
        return buffer;
    }
    cpu_tile_pack(buffer, from, rows, cols, o->row, o->col, o->nbytes);
    w->repeated[k] = NULL;
    return buffer;
}

/* Of the n elements of a block; of b, where the result is not dense. */
static void store(worker *w, int i, char *to, const cpu_blocks_part *b, int64_t n)
{
    const cpu_blocks_operand *o = &w->plan->operand[w->plan->program->n_in + i];
    const char *from = w->place[w->plan->program->out[i]];
    if (from == to)
        return;
    if (!is_dense(o, b->rows, b->cols))
        cpu_tile_unpack(to, from, b->rows, b->cols, o->row, o->col, o->nbytes);
    else if (w->plan->stream[i])
        w->plan->isa->stream(to, from, n * o->nbytes);
    else
        memcpy(to, from, (size_t)(n * o->nbytes));
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

/* The steps for n elements, results to these addresses. */
static void do_block(worker *w, char *const *to, const cpu_blocks_part *b, int64_t n)
{
    place_last(w, to, b);
    do_steps(w, n);
    for (int32_t i = 0; i < w->plan->program->n_out; i++)
        store(w, i, to[i], b, n);
}

/* A run, of one block where there are none. */
static void do_run(worker *w, const cpu_blocks_part *b)
{
    const plan *p = w->plan;
    const int32_t n_in = p->program->n_in, n_out = p->program->n_out;
    int64_t left = b->rows * b->cols;
    char *to[NDP_PROGRAM_MAX_OUT];
    for (int32_t k = 0; k < n_in; k++)
        w->place[k] = input(w, k, b);
    for (int32_t i = 0; i < n_out; i++)
        to[i] = cpu_blocks_at(&w->at, n_in + i, b);
    for (; left > p->block; left -= p->block) {
        do_block(w, to, b, p->block);
        for (int32_t k = 0; k < n_in; k++)
            w->place[k] += p->block * p->step[k];
        for (int32_t i = 0; i < n_out; i++)
            to[i] += p->block * p->step[n_in + i];
    }
    do_block(w, to, b, left);
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
        do_run(&w, &here);
    }
    if (p->streams)
        ew_stream_end();
}

/* ---- planning ---- */
/* What runs consist of is dense, or inputs of one element: from block to block addresses change,
 * and nothing else. */
static void find_runs(plan *p)
{
    const cpu_blocks *b = &p->blocks;
    p->runs = b->tiled ? NO_RUNS : RUNS_OF_ROWS;
    for (int k = 0; k < p->n && p->runs != NO_RUNS; k++) {
        const cpu_blocks_operand *o = &p->operand[k];
        p->step[k] = o->col;
        if (b->rows > 1 && o->row != b->cols * o->col)
            p->runs = b->cols < LONG_ROW ? NO_RUNS : RUNS_IN_ROWS;
        if (o->col != o->nbytes && (o->col != 0 || k >= p->program->n_in))
            p->runs = NO_RUNS;
    }
}

/* Inputs that no block has dense need buffers of their own. */
static void share_buffers(plan *p)
{
    p->n_buffers = p->program->n_buffers;
    for (int k = 0; k < p->program->n_in; k++) {
        const cpu_blocks_operand *o = &p->operand[k];
        int dense =
            !p->blocks.tiled && o->col == o->nbytes &&
            (p->runs != NO_RUNS || p->blocks.rows == 1 || o->row == p->blocks.cols * o->nbytes);
        p->own[k] = dense ? -1 : p->n_buffers++;
    }
    p->first_scalar = p->n_buffers;
    p->n_buffers += p->program->n_repeated;
}

/* Of one step nothing waits in cache for another, unless inputs are packed for it. */
static int is_one_pass(const plan *p)
{
    int packs = 0;
    for (int k = 0; k < p->program->n_in; k++)
        packs |= p->own[k] >= 0;
    return p->program->n_steps == 1 && !packs &&
           (CPU_PROGRAM_BLOCK * p->program->slot_bytes + CPU_PROGRAM_PAD) * p->n_buffers <=
               CPU_PROGRAM_ARENA;
}

static void choose_block(plan *p)
{
    const int64_t slot = p->program->slot_bytes;
    const int64_t n_buffers = p->n_buffers > 0 ? p->n_buffers : 1;
    int64_t in_cache = n_buffers + p->program->n_out; /* and inputs that are read where they are */
    for (int k = 0; k < p->program->n_in; k++)
        in_cache += p->own[k] < 0;
    int64_t elements = CPU_PROGRAM_CACHE / (slot * in_cache) & ~(int64_t)63;
    elements = elements < CPU_PROGRAM_LEAST ? CPU_PROGRAM_LEAST : elements;
    if (elements < 256 && (256 * slot + CPU_PROGRAM_PAD) * n_buffers <= CPU_PROGRAM_ARENA)
        elements = 256; /* a call of a loop for fewer costs more than the second level of cache */
    p->block = elements < CPU_PROGRAM_BLOCK && !is_one_pass(p) ? elements : CPU_PROGRAM_BLOCK;
    /* Where memory is what is waited for, powers of two were measured up to a tenth faster than what
     * lies between. */
    if (p->program->n_steps <= MEMORY_STEPS && p->block >= 256)
        while (p->block & (p->block - 1))
            p->block &= p->block - 1;
    p->pitch = p->block * slot + CPU_PROGRAM_PAD;
}

/* Extents of a run, or of a block; returns how many there are. */
static int64_t cut_runs(plan *p)
{
    const int64_t least = p->blocks.tiled ? CPU_BLOCKS_RUN_BYTES / p->program->slot_bytes : 1;
    const int64_t most = p->runs == NO_RUNS ? p->block : MAX_RUN;
    int64_t cols = most > least ? most / least : 1;
    cols = p->blocks.cols < cols ? p->blocks.cols : cols;
    return cpu_blocks_cut(&p->blocks, p->runs == RUNS_IN_ROWS ? 1 : most / cols, cols);
}

/* Runs of a chunk. Results past the cache are waited for at its end, which is the rarer the better,
 * as long as there are chunks enough. */
static int64_t grain_of(const plan *p, int64_t size)
{
    int64_t elements =
        p->program->costly ? COSTLY_GRAIN : CHEAP_GRAIN / (1 + p->program->n_steps / 4);
    if (p->streams && size / (16 * cpu_threads()) > elements)
        elements =
            size / (16 * cpu_threads()) < MAX_GRAIN ? size / (16 * cpu_threads()) : MAX_GRAIN;
    elements /= p->blocks.block_rows * p->blocks.block_cols;
    return elements > 0 ? elements : 1;
}

int32_t cpu_program_run(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call)
{
    const cpu_program *program = (const cpu_program *)kernel;
    const ndp_view *first = &call->out[0];
    plan p = {.program = program, .scalar = call->scalar, .isa = CPU_ISA_PICK(elementwise_isa)};
    int64_t size = ndp_view_size(first), blocks;
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
    find_runs(&p);
    share_buffers(&p);
    choose_block(&p);
    blocks = cut_runs(&p);
    for (int i = 0; i < program->n_out; i++)
        p.streams |= p.stream[i] =
            cpu_blocks_streams(&p.blocks, program->n_in + i, program->n_in, size);
    cpu_parallel(blocks, grain_of(&p, size), chunk, &p);
    return NDP_OK;
}
