/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Running a program: blocks of rows x columns of the iteration space, in each of which all steps
 * are done. Operands that lie dense in a block are read and written where they are, others by way
 * of a buffer. Blocks span the last dimension and one more, as in elementwise.c. */
#include <string.h>
#include "program/program.h"
#include "walk/tile.h"

enum {
    RUN_BYTES = 256, /* of a transposed operand, read in one go */
    CHEAP_GRAIN = 65536,
    COSTLY_GRAIN = 8192
};
#define STREAM_BYTES ((int64_t)16 << 20) /* results beyond most caches are not read back soon */

/* One operand; strides in bytes. */
typedef struct {
    char *base;
    const int64_t *stride; /* the view's, in elements */
    int64_t nbytes, row, col;
    int32_t buffer; /* an input's own, behind those of steps; -1: it is dense in every block */
    int32_t stream;
} operand;

typedef struct {
    const cpu_program *program;
    const ndp_scalar *scalar;
    const ew_isa *isa;
    const int64_t *shape;
    operand operand[CPU_PROGRAM_OPERANDS]; /* inputs, then results */
    int32_t n, n_outer, outer[NDP_MAX_NDIM], n_buffers;
    int64_t rows, cols, block_rows, block_cols, row_blocks, col_blocks, block;
} plan;

/* What one chunk keeps from block to block. */
typedef struct {
    const plan *plan;
    char *at[CPU_PROGRAM_OPERANDS]; /* at row and column zero of the present outer index */
    int64_t index[NDP_MAX_NDIM];
    const char *repeated[NDP_PROGRAM_MAX_IN]; /* the element that fills the input's buffer, */
    int64_t repeated_n[NDP_PROGRAM_MAX_IN];   /* so far as often */
    char *place[CPU_PROGRAM_PLACES];
    _Alignas(64) char arena[CPU_PROGRAM_ARENA];
} worker;

/* ---- steps ---- */
static void do_steps(worker *w, int64_t n)
{
    const cpu_program *program = w->plan->program;
    const ew_isa *isa = w->plan->isa;
    for (const cpu_step *s = program->step, *end = s + program->n_steps; s < end; s++) {
        char *p[4] = {w->place[s->from[0]]};
        char *to = w->place[s->to];
        switch (s->kind) {
        case CPU_STEP_LOOP:
            for (int k = 1; k < s->n; k++)
                p[k] = w->place[s->from[k]];
            p[s->n] = to;
            s->loop(p, n);
            break;
        case CPU_STEP_CAST:
            s->cast(to, p[0], n);
            break;
        case CPU_STEP_WIDEN:
            (s->bf16 ? isa->load_bf16 : isa->load_f16)((float *)(void *)to,
                                                       (const uint16_t *)(void *)p[0], n);
            break;
        default:
            (s->bf16 ? isa->store_bf16 : isa->store_f16)((uint16_t *)(void *)to,
                                                         (const float *)(void *)p[0], n);
        }
    }
}

/* ---- one block ---- */
static int is_dense(const operand *o, int64_t rows, int64_t cols)
{
    return (o->col == o->nbytes || cols == 1) && (rows == 1 || o->row == cols * o->nbytes);
}

static char *buffer_at(worker *w, int32_t i)
{
    return w->arena + i * (w->plan->block * w->plan->program->slot_bytes);
}

static char *input(worker *w, int k, char *from, int64_t rows, int64_t cols)
{
    const operand *o = &w->plan->operand[k];
    if (is_dense(o, rows, cols))
        return from;
    char *buffer = buffer_at(w, o->buffer);
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

static void store(worker *w, const operand *o, char *to, const char *from, int64_t rows,
                  int64_t cols)
{
    if (from == to)
        return;
    if (!is_dense(o, rows, cols))
        cpu_tile_unpack(to, from, rows, cols, o->row, o->col, o->nbytes);
    else if (o->stream)
        w->plan->isa->stream(to, from, rows * cols * o->nbytes);
    else
        memcpy(to, from, (size_t)(rows * cols * o->nbytes));
}

/* The result of the last step goes where it belongs at once: nothing reads after it. */
static void place_last(worker *w, char *const *to, int64_t rows, int64_t cols)
{
    const cpu_program *program = w->plan->program;
    int16_t last = program->n_steps ? program->step[program->n_steps - 1].to : -1;
    for (int32_t i = 0; last >= 0 && i < program->n_out; i++) {
        const operand *o = &w->plan->operand[program->n_in + i];
        if (program->out[i] != last)
            continue;
        w->place[last] =
            is_dense(o, rows, cols) && !o->stream ? to[i] : buffer_at(w, program->buffer[last]);
        return;
    }
}

static void block(worker *w, int64_t row, int64_t col, int64_t rows, int64_t cols)
{
    const plan *p = w->plan;
    const cpu_program *program = p->program;
    char *to[NDP_PROGRAM_MAX_OUT];
    for (int32_t k = 0; k < program->n_in; k++)
        w->place[k] =
            input(w, k, w->at[k] + row * p->operand[k].row + col * p->operand[k].col, rows, cols);
    for (int32_t i = 0; i < program->n_out; i++) {
        const operand *o = &p->operand[program->n_in + i];
        to[i] = w->at[program->n_in + i] + row * o->row + col * o->col;
    }
    place_last(w, to, rows, cols);
    do_steps(w, rows * cols);
    for (int32_t i = 0; i < program->n_out; i++)
        store(w, &p->operand[program->n_in + i], to[i], w->place[program->out[i]], rows, cols);
}

/* ---- the walk over blocks ---- */
static void seek(worker *w, int64_t outer)
{
    const plan *p = w->plan;
    for (int k = 0; k < p->n; k++)
        w->at[k] = p->operand[k].base;
    for (int i = 0; i < p->n_outer; i++) {
        int d = p->outer[i];
        w->index[i] = outer % p->shape[d];
        outer /= p->shape[d];
        for (int k = 0; k < p->n; k++)
            w->at[k] += w->index[i] * p->operand[k].stride[d] * p->operand[k].nbytes;
    }
}

static void next_outer(worker *w)
{
    const plan *p = w->plan;
    for (int i = 0; i < p->n_outer; i++) {
        int d = p->outer[i];
        int64_t step = ++w->index[i] < p->shape[d] ? 1 : 1 - p->shape[d];
        for (int k = 0; k < p->n; k++)
            w->at[k] += step * p->operand[k].stride[d] * p->operand[k].nbytes;
        if (step == 1)
            return;
        w->index[i] = 0;
    }
}

/* Scalars fill their buffers once; the wide ones lie behind the stored ones. */
static void place_scalars(worker *w, int64_t n)
{
    const cpu_program *program = w->plan->program;
    int32_t first = w->plan->n_buffers - 2 * program->n_scalar;
    for (int32_t i = 0; i < program->n_scalar; i++) {
        char element[16], *to = buffer_at(w, first + 2 * i);
        int32_t dtype = program->scalar_dtype[i];
        cpu_store_scalar(&w->plan->scalar[i], element);
        cpu_tile_pack(to, element, 1, n, 0, 0, ndp_dtype_size(dtype));
        w->place[program->n_in + i] = to;
        int16_t wide = program->wide_of_scalar[i];
        if (wide < 0)
            continue;
        w->place[wide] = buffer_at(w, first + 2 * i + 1);
        (dtype == NDP_BF16 ? w->plan->isa->load_bf16 : w->plan->isa->load_f16)(
            (float *)(void *)w->place[wide], (const uint16_t *)(void *)to, n);
    }
}

static void chunk(void *ctx, int64_t begin, int64_t end)
{
    const plan *p = ctx;
    worker w;
    w.plan = p;
    for (int k = 0; k < p->program->n_in; k++)
        w.repeated[k] = NULL;
    for (int32_t i = 0; i < p->program->n_places; i++)
        w.place[i] = p->program->buffer[i] >= 0 ? buffer_at(&w, p->program->buffer[i]) : NULL;
    place_scalars(&w, p->block_rows * p->block_cols);
    int64_t per_outer = p->row_blocks * p->col_blocks;
    int64_t r = begin % per_outer / p->col_blocks, c = begin % p->col_blocks;
    seek(&w, begin / per_outer);
    for (int64_t i = begin; i < end; i++) {
        int64_t row = r * p->block_rows, col = c * p->block_cols;
        int64_t rows = p->rows - row, cols = p->cols - col;
        block(&w, row, col, rows < p->block_rows ? rows : p->block_rows,
              cols < p->block_cols ? cols : p->block_cols);
        if (++c < p->col_blocks)
            continue;
        c = 0;
        if (++r < p->row_blocks)
            continue;
        r = 0;
        next_outer(&w);
    }
}

/* ---- planning ---- */
/* The dimension besides the last in which an operand is dense, while it is not in the last; -1 if
 * there is none. */
static int transposed_dim(const operand *o, const int64_t *shape, int ndim)
{
    int found = -1;
    uint64_t last = ndp_magnitude(o->stride[ndim - 1]);
    if (last * (uint64_t)o->nbytes <= 64 || shape[ndim - 1] < 8)
        return -1;
    for (int d = ndim - 2; d >= 0; d--) {
        uint64_t s = ndp_magnitude(o->stride[d]);
        if (s != 0 && s * 8 <= last && shape[d] >= 8 &&
            (found < 0 || s < ndp_magnitude(o->stride[found])))
            found = d;
    }
    return found;
}

/* Rows and columns. */
static int choose_dims(plan *p, int ndim)
{
    int tiled = -1;
    for (int k = 0; k < p->n && tiled < 0 && ndim > 1; k++)
        tiled = transposed_dim(&p->operand[k], p->shape, ndim);
    int row_dim = tiled >= 0 ? tiled : ndim - 2;
    p->cols = p->shape[ndim - 1];
    p->rows = row_dim >= 0 ? p->shape[row_dim] : 1;
    for (int d = ndim - 2; d >= 0; d--)
        if (d != row_dim)
            p->outer[p->n_outer++] = d;
    for (int k = 0; k < p->n; k++) {
        operand *o = &p->operand[k];
        o->col = o->stride[ndim - 1] * o->nbytes;
        o->row = row_dim >= 0 ? o->stride[row_dim] * o->nbytes : 0;
    }
    return tiled >= 0;
}

/* Inputs that no block has dense need buffers of their own. */
static void share_buffers(plan *p, int tiled)
{
    p->n_buffers = p->program->n_buffers;
    for (int k = 0; k < p->program->n_in; k++) {
        operand *o = &p->operand[k];
        int dense =
            !tiled && o->col == o->nbytes && (p->rows == 1 || o->row == p->cols * o->nbytes);
        o->buffer = dense ? -1 : p->n_buffers++;
    }
    p->n_buffers += 2 * p->program->n_scalar;
}

static void choose_blocks(plan *p, int tiled)
{
    int64_t slot = p->program->slot_bytes, n_buffers = p->n_buffers > 0 ? p->n_buffers : 1;
    int64_t elements = CPU_PROGRAM_CACHE / (slot * n_buffers) & ~(int64_t)63, rows;
    elements = elements < CPU_PROGRAM_LEAST ? CPU_PROGRAM_LEAST : elements;
    if (elements < 256 && 256 * slot * n_buffers <= CPU_PROGRAM_ARENA)
        elements = 256; /* a call of a loop for fewer costs more than the second level of cache */
    p->block = elements < CPU_PROGRAM_BLOCK ? elements : CPU_PROGRAM_BLOCK;
    rows = tiled ? RUN_BYTES / slot : 1;
    p->block_cols = p->block > rows ? p->block / rows : 1;
    p->block_cols = p->cols < p->block_cols ? p->cols : p->block_cols;
    rows = p->block / p->block_cols;
    p->block_rows = p->rows < rows ? p->rows : rows;
    p->row_blocks = (p->rows + p->block_rows - 1) / p->block_rows;
    p->col_blocks = (p->cols + p->block_cols - 1) / p->block_cols;
}

/* Large results are written past the cache, unless they take the place of an input. */
static void choose_streams(plan *p, int64_t size)
{
    for (int k = p->program->n_in; k < p->n; k++) {
        operand *o = &p->operand[k];
        o->stream = o->col == o->nbytes && p->cols >= 1024 && size * o->nbytes >= STREAM_BYTES;
        for (int i = 0; i < p->program->n_in; i++)
            o->stream &= p->operand[i].base != o->base;
    }
}

int32_t cpu_program_run(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call)
{
    const cpu_program *program = (const cpu_program *)kernel;
    const ndp_view *first = &call->out[0];
    plan p = {.program = program, .scalar = call->scalar, .isa = CPU_ISA_PICK(elementwise_isa)};
    int64_t size = ndp_view_size(first), blocks = 1;
    (void)stream;
    if (size == 0)
        return NDP_OK;
    p.n = program->n_in + program->n_out;
    p.shape = first->shape;
    for (int k = 0; k < p.n; k++) {
        const ndp_view *v = k < program->n_in ? &call->in[k] : &call->out[k - program->n_in];
        p.operand[k] =
            (operand){.base = cpu_ptr(v), .stride = v->stride, .nbytes = ndp_dtype_size(v->dtype)};
    }
    int tiled = choose_dims(&p, first->ndim);
    share_buffers(&p, tiled);
    choose_blocks(&p, tiled);
    choose_streams(&p, size);
    for (int i = 0; i < p.n_outer; i++)
        blocks *= p.shape[p.outer[i]];
    int64_t grain = (program->costly ? COSTLY_GRAIN : CHEAP_GRAIN / (1 + program->n_steps / 4)) /
                    (p.block_rows * p.block_cols);
    cpu_parallel(blocks * p.row_blocks * p.col_blocks, grain > 0 ? grain : 1, chunk, &p);
    return NDP_OK;
}
