/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elementwise operations by blocks. Loops take dense operands only (elementwise_isa.c), so the
 * iteration space is cut into blocks, and in each block whatever is not dense goes through a small
 * buffer in cache: scalars and broadcast operands are repeated there, strided and transposed ones
 * gathered, f16 and bf16 widened. */
#include "elementwise/blocks.h"
#include "host/ahead.h"
#include "host/grain.h"
#include "walk/blocks.h"
#include "walk/tile.h"

#define EW_BLOCK 1024        /* elements of a block that needs buffers */
#define EW_ARENA_BYTES 65536 /* the buffers of all operands */
#define EW_SHARE_BYTES 32768 /* at most, of one */
#define EW_STREAM_BLOCK_BYTES 16384
#define EW_ASKED_BYTES 2048 /* of a segment after which what follows is asked for */
#define EW_SHORT 32         /* shorter rows are gathered to one loop call for several rows */
#define EW_ROWS 16          /* most rows of a block where each row has another element, */
#define EW_SEGMENT 256      /* and elements of such a row in one call of the loop */
#define EW_PIECE_BYTES 4096 /* of a long row in one call; see dense_row() */
#define EW_CHEAP_GRAIN 32768
#define EW_STEP 64 /* whole vectors of any dtype at each level */

/* Of an operand, what blocks do not know. */
typedef struct {
    int64_t buffer; /* offset in the arena */
    int32_t dtype, widen;
} ew_operand;

typedef struct {
    const ew_kernel *kernel;
    cpu_blocks blocks; /* the last operand is the output */
    cpu_blocks_operand place[EW_OPERANDS];
    ew_operand operand[EW_OPERANDS];
    int n;           /* operands */
    int stream;      /* the result is written past the cache */
    int asks;        /* what follows a segment of the inputs is asked for */
    int64_t grain;   /* elements of a chunk */
    int64_t segment; /* elements of a row in one call of the loop */
    int by_row;      /* an element of an operand fills a segment for each row of a block */
} ew_plan;

/* What one chunk keeps from block to block. */
typedef struct {
    const ew_plan *plan;
    cpu_blocks_place place;
    char *at[EW_OPERANDS];
    const char
        *repeated[EW_OPERANDS]; /* the element that fills the buffer, so far repeated_n times */
    int64_t repeated_n[EW_OPERANDS];
    char *buffer[EW_OPERANDS];
    _Alignas(64) char arena[EW_ARENA_BYTES];
    _Alignas(64) float wide[EW_OPERANDS][EW_BLOCK];
} ew_worker;

/* ---- one block ---- */
static void widen(int32_t dtype, float *to, const char *from, int64_t n)
{
    (dtype == NDP_F16 ? ew_loops->load_f16
                      : ew_loops->load_bf16)(to, (const uint16_t *)(const void *)from, n);
}

static void narrow(int32_t dtype, char *to, const float *from, int64_t n)
{
    (dtype == NDP_F16 ? ew_loops->store_f16 : ew_loops->store_bf16)((uint16_t *)(void *)to, from,
                                                                    n);
}

/* Whether the loop is called row by row; else once, for which all rows lie in one. */
static int by_rows(const ew_plan *plan, int64_t cols)
{
    return plan->blocks.tiled || cols >= EW_SHORT;
}

/* Whether one element of an operand serves a row, and another one the next. */
static int changes_by_row(const cpu_blocks_operand *o)
{
    return o->col == 0 && o->row != 0;
}

/* The elements that serve row i of a block, as often as a call of the loop reads them. */
static void repeat_for_row(ew_worker *w, const cpu_blocks_part *b, int64_t i)
{
    for (int k = 0; k < w->plan->n - 1; k++) {
        const cpu_blocks_operand *o = &w->plan->place[k];
        if (changes_by_row(o))
            cpu_tile_pack(w->buffer[k], cpu_blocks_at(&w->place, k, b) + i * o->row, 1,
                          b->cols < w->plan->segment ? b->cols : w->plan->segment, 0, 0, o->nbytes);
    }
}

/* Where input k's rows x cols elements lie dense in each row, with the distance of rows. */
static char *input_rows(ew_worker *w, int k, char *from, int64_t rows, int64_t cols, int64_t *pitch)
{
    int separate = by_rows(w->plan, cols);
    const cpu_blocks_operand *o = &w->plan->place[k];
    *pitch = o->row;
    if (o->col == o->nbytes && (rows == 1 || separate || o->row == cols * o->nbytes))
        return from;
    if (w->plan->by_row && changes_by_row(o)) {
        *pitch = 0;
        return w->buffer[k];
    }
    if (o->col == 0 && (rows == 1 || o->row == 0)) {
        int64_t n = separate ? cols : rows * cols;
        n = n < w->plan->segment ? n : w->plan->segment;
        if (w->repeated[k] != from || w->repeated_n[k] < n)
            cpu_tile_pack(w->buffer[k], from, 1, n, 0, 0, o->nbytes);
        w->repeated[k] = from;
        w->repeated_n[k] = n;
        *pitch = separate ? 0 : cols * o->nbytes;
        return w->buffer[k];
    }
    cpu_tile_pack(w->buffer[k], from, rows, cols, o->row, o->col, o->nbytes);
    w->repeated[k] = NULL;
    *pitch = cols * o->nbytes;
    return w->buffer[k];
}

/* n dense elements. */
static void dense(ew_worker *w, char *const *from, char *to, int64_t n)
{
    const ew_plan *plan = w->plan;
    const int last = plan->n - 1;
    const ew_operand *out = &plan->operand[last];
    int stream = plan->stream && to != w->buffer[last];
    char *p[EW_OPERANDS];
    for (int k = 0; k < last; k++) {
        p[k] = from[k];
        if (plan->operand[k].widen) {
            widen(plan->operand[k].dtype, w->wide[k], from[k], n);
            p[k] = (char *)w->wide[k];
        }
    }
    p[last] = out->widen ? (char *)w->wide[last] : stream ? w->buffer[last] : to;
    plan->kernel->loop(p, n);
    if (out->widen)
        narrow(out->dtype, stream ? w->buffer[last] : to, w->wide[last], n);
    if (stream)
        ew_loops->stream(to, w->buffer[last], n * plan->place[last].nbytes);
}

/* What follows n elements of dense inputs is asked for: one processor adds two arrays a tenth
 * faster than with what it fetches ahead by itself. */
static void ask_ahead(const ew_plan *plan, char *const *from, int64_t n)
{
    for (int k = 0; k < plan->n - 1; k++)
        if (plan->place[k].col == plan->place[k].nbytes)
            cpu_ask_ahead(from[k], n * plan->place[k].nbytes);
}

/* One row, or what lies in one, in segments that share the buffers of repeated elements. */
static void dense_row(ew_worker *w, char *const *row, int64_t n)
{
    const ew_plan *plan = w->plan;
    const int last = plan->n - 1;
    char *p[EW_OPERANDS];
    for (int k = 0; k <= last; k++)
        p[k] = row[k];
    for (int64_t done = 0; done < n; done += plan->segment) {
        const int64_t part = n - done < plan->segment ? n - done : plan->segment;
        if (plan->asks)
            ask_ahead(plan, p, part);
        dense(w, p, p[last], part);
        for (int k = 0; k <= last; k++)
            p[k] += plan->place[k].col ? plan->segment * plan->place[k].nbytes : 0;
    }
}

static void do_block(ew_worker *w, const cpu_blocks_part *b)
{
    const ew_plan *plan = w->plan;
    const int last = plan->n - 1;
    const cpu_blocks_operand *out = &plan->place[last];
    const int64_t rows = b->rows, cols = b->cols;
    char *p[EW_OPERANDS], *to = cpu_blocks_at(&w->place, last, b);
    int64_t pitch[EW_OPERANDS], calls = by_rows(plan, cols) ? rows : 1;
    int direct = out->col == out->nbytes && (calls == rows || out->row == cols * out->nbytes);
    for (int k = 0; k < last; k++)
        p[k] = input_rows(w, k, cpu_blocks_at(&w->place, k, b), rows, cols, &pitch[k]);
    p[last] = direct ? to : w->buffer[last];
    pitch[last] = direct ? out->row : cols * out->nbytes;
    for (int64_t i = 0; i < calls; i++) {
        if (plan->by_row)
            repeat_for_row(w, b, i);
        if (cols > plan->segment)
            dense_row(w, p, cols);
        else
            dense(w, p, p[last], calls == 1 ? rows * cols : cols);
        for (int k = 0; k <= last; k++)
            p[k] += pitch[k];
    }
    if (!direct)
        cpu_tile_unpack(to, w->buffer[last], rows, cols, out->row, out->col, out->nbytes);
}

static void chunk(void *ctx, int64_t begin, int64_t end)
{
    const ew_plan *plan = ctx;
    ew_worker w;
    w.plan = plan;
    for (int k = 0; k < plan->n; k++) {
        w.repeated[k] = NULL;
        w.repeated_n[k] = 0;
        w.buffer[k] = w.arena + plan->operand[k].buffer;
    }
    cpu_blocks_seek(&w.place, &plan->blocks, w.at, begin);
    for (int64_t i = begin; i < end; i++, cpu_blocks_next(&w.place)) {
        const cpu_blocks_part here = cpu_blocks_here(&w.place);
        do_block(&w, &here);
    }
    if (plan->stream)
        ew_stream_end();
}

/* ---- planning ---- */
static void set_operand(ew_plan *plan, int k, const ndp_call *call, const ndp_view *v, char *scalar)
{
    ew_operand *o = &plan->operand[k];
    cpu_blocks_operand *place = &plan->place[k];
    if (v->mem) {
        place->base = cpu_ptr(v);
    } else {
        cpu_store_scalar(&call->scalar[v->offset_bytes], scalar);
        place->base = scalar;
    }
    place->stride = v->stride;
    place->nbytes = ndp_dtype_size(v->dtype);
    o->dtype = v->dtype;
    o->widen = plan->kernel->widen && (v->dtype == NDP_F16 || v->dtype == NDP_BF16);
}

static int may_need_buffer(const ew_plan *plan, int k)
{
    return !plan->blocks.tiled || plan->place[k].col != plan->place[k].nbytes;
}

/* Parts the arena among the operands that may need a buffer; returns the bytes of each. */
static int64_t share_arena(ew_plan *plan)
{
    int64_t sharers = 0, share;
    for (int k = 0; k < plan->n; k++)
        sharers += may_need_buffer(plan, k);
    share = sharers > 3   ? EW_ARENA_BYTES / 4
            : sharers > 2 ? EW_ARENA_BYTES / 3 & ~63
                          : EW_SHARE_BYTES;
    for (int64_t k = 0, at = 0; k < plan->n; k++) {
        plan->operand[k].buffer = at;
        at += may_need_buffer(plan, (int)k) ? share : 0;
    }
    return share;
}

/* Rows that an element fills each, another one the next, are cut into segments, so that less of it
 * is written than is read. Unless an operand is gathered a block has several of them, as far as a
 * chunk has room. Returns how many rows a block has; 0: as many as it would have anyway. */
static int64_t cut_by_rows(ew_plan *plan, int gathers)
{
    const cpu_blocks *b = &plan->blocks;
    int changes = 0;
    for (int k = 0; k < plan->n - 1; k++)
        changes |= changes_by_row(&plan->place[k]);
    if (!changes || plan->stream || b->tiled || b->cols < EW_SEGMENT)
        return 0;
    if (b->cols >= 2 * EW_SEGMENT && plan->segment == INT64_MAX)
        plan->segment = EW_SEGMENT;
    if (gathers || b->cols > EW_BLOCK)
        return 0;
    const int64_t rows = plan->grain / b->cols;
    plan->by_row = 1;
    return rows < 1 ? 1 : rows < EW_ROWS ? rows : EW_ROWS;
}

/* Extents of a block; returns how many there are. Where every operand is dense no buffer is used,
 * and a block is a whole chunk. */
static int64_t cut_blocks(ew_plan *plan)
{
    int64_t widest = 1, share = share_arena(plan), limit = EW_BLOCK, rows, by_row;
    int buffers = plan->stream, widening = 0, gathers = 0, tiled = plan->blocks.tiled;
    for (int k = 0; k < plan->n; k++) {
        const cpu_blocks_operand *o = &plan->place[k];
        widest = o->nbytes > widest ? o->nbytes : widest;
        widening |= plan->operand[k].widen;
        buffers |= o->col != o->nbytes;
        gathers |= o->col != o->nbytes && (o->col != 0 || k == plan->n - 1);
    }
    plan->segment = INT64_MAX;
    plan->by_row = 0;
    if (buffers && !tiled && !widening && !gathers && plan->blocks.cols > EW_BLOCK)
        plan->segment = (plan->asks     ? EW_ASKED_BYTES
                         : plan->stream ? EW_STREAM_BLOCK_BYTES
                                        : EW_PIECE_BYTES) /
                        widest;
    if (tiled)
        limit = share / CPU_BLOCKS_RUN_BYTES;
    else if ((!buffers && !widening) || plan->segment < INT64_MAX)
        limit = plan->grain;
    else if (plan->stream && !widening)
        limit = EW_STREAM_BLOCK_BYTES / widest;
    limit = plan->blocks.cols < limit ? plan->blocks.cols : limit;
    rows = tiled ? CPU_BLOCKS_RUN_BYTES / widest : EW_BLOCK / limit;
    by_row = cut_by_rows(plan, gathers);
    rows = by_row ? by_row : rows;
    return cpu_blocks_cut(&plan->blocks, rows > 0 ? rows : 1, limit);
}

/* Whether several inputs are read from memory: of one, processors see enough ahead. */
static int reads_several(const ew_plan *plan)
{
    int inputs = 0;
    for (int k = 0; k < plan->n - 1; k++)
        inputs += plan->place[k].col == plan->place[k].nbytes;
    return inputs > 1;
}

void ew_run_blocks(const ew_kernel *kernel, const ndp_call *call, int flat)
{
    const ndp_view *out = &call->out[0];
    static const int64_t one = 1, zero = 0;
    int64_t size = ndp_view_size(out), blocks, per_chunk;
    _Alignas(16) char scalar[EW_OPERANDS][16];
    ew_plan plan;
    if (size == 0)
        return;
    plan.kernel = kernel;
    plan.n = (int)call->n_in + 1;
    for (int k = 0; k < plan.n; k++) {
        const ndp_view *v = k < plan.n - 1 ? &call->in[k] : out;
        set_operand(&plan, k, call, v, scalar[k]);
        if (flat)
            plan.place[k].stride = v->mem ? &one : &zero;
    }
    cpu_blocks_choose(&plan.blocks, plan.place, plan.n, flat ? &size : out->shape,
                      flat ? 1 : out->ndim);
    plan.stream = !kernel->costly && !plan.blocks.tiled &&
                  cpu_blocks_streams(&plan.blocks, plan.n - 1, plan.n - 1, size);
    plan.asks = plan.stream && reads_several(&plan) && cpu_blocks_asks();
    plan.grain = cpu_even_grain(size, kernel->costly ? EW_COSTLY_GRAIN : EW_CHEAP_GRAIN, EW_STEP);
    blocks = cut_blocks(&plan);
    per_chunk = plan.grain / (plan.blocks.block_rows * plan.blocks.block_cols);
    cpu_parallel(blocks, per_chunk > 0 ? per_chunk : 1, chunk, &plan);
}
