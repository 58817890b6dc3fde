/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Calls of class QUANT: rows are shared among threads. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "host/grain.h"
#include "quant/quant.h"

static const struct {
    int16_t block, nbytes;
} sizes[QUANT_FORMATS] = {
#define ND_QUANT(NAME, id, block, nbytes, min, writes, name, doc) [id] = {block, nbytes},
#include <ndock/quant.def>
};

int quant_block(int32_t format)
{
    return sizes[format].block;
}

int quant_nbytes(int32_t format)
{
    return sizes[format].nbytes;
}

typedef struct {
    const quant_table *table;
    const quant_format *of;
    int32_t format, dtype; /* dtype of the floats that come in or go out */
    int64_t item, rows, n; /* bytes of such a float; rows of blocks, and elements of one */
    const unsigned char *blocks;
    int64_t row_bytes;
    const char *in;
    char *out;
    /* Of products: rows of activations, their memory, and what a row takes of it. */
    int64_t m, codes_bytes, halves;
    char *scratch;
    char *own; /* of one row: which threads have made its codes for themselves; else NULL */
} job;

enum { GRAIN = 16384, PRODUCT_GRAIN = 131072, QUANT_ROWS_AT_ONCE = 8, BLOCKS_AT_ONCE = 16 };

static int64_t grain_of(int64_t n)
{
    return n > 0 && n < GRAIN ? GRAIN / n : 1;
}

static void begin(job *w, const ndp_call *call)
{
    memset(w, 0, sizeof *w);
    w->table = CPU_ISA_PICK_VNNI(quant_table_of);
    w->format = ((const ndp_quant *)call->params)->format;
    w->of = &w->table->format[w->format];
}

static void set_blocks(job *w, const ndp_view *v)
{
    w->rows = v->shape[0];
    w->row_bytes = v->shape[1];
    w->n = v->shape[1] / quant_nbytes(w->format) * quant_block(w->format);
    w->blocks = (const unsigned char *)cpu_ptr(v);
}

static void set_floats(job *w, const ndp_view *v)
{
    w->dtype = v->dtype;
    w->item = ndp_dtype_size(v->dtype);
}

/* ---- dequantize ---- */

static void dequantize_rows(void *ctx, int64_t begin, int64_t end)
{
    const job *w = ctx;
    for (int64_t r = begin; r < end; r++)
        w->of->dequantize(w->blocks + r * w->row_bytes, w->n, w->dtype,
                          w->out + r * w->n * w->item);
}

static int32_t run_dequantize(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call)
{
    (void)kernel;
    (void)stream;
    job w;
    begin(&w, call);
    set_blocks(&w, &call->in[0]);
    set_floats(&w, &call->out[0]);
    w.out = cpu_ptr(&call->out[0]);
    if (w.rows > 0 && w.n > 0)
        cpu_parallel(w.rows, grain_of(w.n), dequantize_rows, &w);
    return NDP_OK;
}

/* ---- quantize ---- */

static void quantize_rows(void *ctx, int64_t begin, int64_t end)
{
    const job *w = ctx;
    quant_encode *encode = quant_encoder(w->format);
    const int block = quant_block(w->format), nbytes = quant_nbytes(w->format);
    float x[QUANT_SPAN];
    for (int64_t b = begin; b < end; b++) {
        w->table->load(w->in + b * block * w->item, w->dtype, block, x);
        encode(x, (unsigned char *)w->out + b * nbytes);
    }
}

static int32_t run_quantize(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call)
{
    (void)kernel;
    (void)stream;
    job w;
    begin(&w, call);
    set_blocks(&w, &call->out[0]);
    set_floats(&w, &call->in[0]);
    w.in = cpu_ptr(&call->in[0]);
    w.out = cpu_ptr(&call->out[0]);
    if (!quant_encoder(w.format))
        return cpu_error(NDP_ERR_ARGUMENT, "quantize: format %d is not written", (int)w.format);
    if (w.rows > 0 && w.n > 0)
        cpu_parallel(w.rows * (w.n / quant_block(w.format)), 16, quantize_rows, &w);
    return NDP_OK;
}

/* ---- products ---- */

/* What quant_made has, one after the other, then the row's floats. */
static int64_t activation_bytes(int64_t n)
{
    const int64_t whole = (n + QUANT_SPAN - 1) / QUANT_SPAN * QUANT_SPAN;
    return whole + (whole / 16 + whole / 32 + whole / 16 + whole) * (int64_t)sizeof(float) +
           (whole / 2 + whole / 16) * (int64_t)sizeof(int16_t);
}

static uint64_t product_scratch(const ndp_kernel *kernel, const ndp_call *call)
{
    (void)kernel;
    const int64_t rows = call->in[0].shape[0], each = activation_bytes(call->in[0].shape[1]);
    return (uint64_t)(rows == 1 ? cpu_team() * (each + 1) : rows * each);
}

static quant_made activation(const job *w, int64_t row)
{
    char *memory = w->scratch + row * activation_bytes(w->n);
    float *d = (float *)(void *)(memory + w->codes_bytes), *group_d = d + w->halves,
          *sum = group_d + w->halves / 2;
    int16_t *less = (int16_t *)(void *)(sum + w->halves);
    return (quant_made){(int8_t *)memory, d, group_d, sum, less, less + w->codes_bytes / 2};
}

static quant_row made_row(quant_made x)
{
    return (quant_row){x.code, x.d, x.group_d, x.sum, x.less, x.total};
}

static void activate_row(const job *w, int64_t r, int64_t place)
{
    quant_made made = activation(w, place);
    float *x = (float *)(void *)(made.total + w->halves);
    w->table->load(w->in + r * w->n * w->item, w->dtype, w->n, x);
    w->table->activate(x, w->n, w->of, &made);
}

static void activate_rows(void *ctx, int64_t begin, int64_t end)
{
    for (int64_t r = begin; r < end; r++)
        activate_row(ctx, r, r);
}

/* Where the codes are that the thread multiplies row 0 by: its own, which it makes when it first comes. To fetch another
 * processor's takes all threads longer. */
static int64_t own_place(const job *w)
{
    const int thread = cpu_thread();
    if (!w->own[thread]) {
        activate_row(w, 0, thread);
        w->own[thread] = 1;
    }
    return thread;
}

/* Products (blocks, rows), of rows of blocks from r on, to the results of rows from m on. */
static void save(const job *w, int64_t m, int rows, int64_t r, int64_t blocks, const float *sum)
{
    float line[BLOCKS_AT_ONCE];
    for (int i = 0; i < rows; i++) {
        for (int64_t b = 0; b < blocks; b++)
            line[b] = sum[b * rows + i];
        w->table->store(line, w->dtype, blocks, w->out + ((m + i) * w->rows + r) * w->item);
    }
}

static void product_rows(void *ctx, int64_t begin, int64_t end)
{
    const job *w = ctx;
    const int64_t place = w->own ? own_place(w) : 0;
    for (int64_t m = 0; m < w->m; m += QUANT_ROWS_AT_ONCE) {
        const int rows = w->m - m < QUANT_ROWS_AT_ONCE ? (int)(w->m - m) : QUANT_ROWS_AT_ONCE;
        quant_row x[QUANT_ROWS_AT_ONCE];
        float sum[BLOCKS_AT_ONCE * QUANT_ROWS_AT_ONCE];
        for (int i = 0; i < rows; i++)
            x[i] = made_row(activation(w, place + m + i));
        quant_blocks some = {.row_bytes = w->row_bytes, .n = w->n};
        for (int64_t r = begin; r < end; r += some.rows) {
            some.data = w->blocks + r * w->row_bytes;
            some.rows = end - r < BLOCKS_AT_ONCE ? end - r : BLOCKS_AT_ONCE;
            w->of->dot(&some, x, rows, sum);
            save(w, m, rows, r, some.rows, sum);
        }
    }
}

/* Rows of blocks in a chunk: what a chunk costs beside its sums is little of PRODUCT_GRAIN elements, but each thread is to
 * have four chunks. */
static int64_t chunk_of(const job *w)
{
    const int64_t least = grain_of(w->n), most = PRODUCT_GRAIN / (w->n + 1) + 1;
    return cpu_fair_grain(w->rows, least, most > least ? most : least);
}

static int32_t run_product(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call)
{
    (void)kernel;
    (void)stream;
    job w;
    begin(&w, call);
    set_blocks(&w, &call->in[1]);
    set_floats(&w, &call->in[0]);
    w.in = cpu_ptr(&call->in[0]);
    w.out = cpu_ptr(&call->out[0]);
    w.m = call->in[0].shape[0];
    w.codes_bytes = (w.n + QUANT_SPAN - 1) / QUANT_SPAN * QUANT_SPAN;
    w.halves = w.codes_bytes / 16;
    if (w.m == 0 || w.rows == 0)
        return NDP_OK;
    if (w.n > 0)
        w.scratch = cpu_ptr(&call->scratch);
    if (w.n > 0 && w.m == 1) {
        w.own = w.scratch + cpu_team() * activation_bytes(w.n);
        memset(w.own, 0, (size_t)cpu_team());
    } else if (w.n > 0)
        cpu_parallel(w.m, grain_of(w.n), activate_rows, &w);
    cpu_parallel(w.rows, chunk_of(&w), product_rows, &w);
    return NDP_OK;
}

/* ---- the table ---- */

#define KERNEL(...)                                                                           \
    {                                                                                         \
        .size = sizeof(ndp_kernel), .needs = NDP_NEEDS_CONTIGUOUS, .max_ndim = 2, __VA_ARGS__ \
    }
static const ndp_kernel dequantize_kernel = KERNEL(.run = run_dequantize);
static const ndp_kernel quantize_kernel = KERNEL(.run = run_quantize);
static const ndp_kernel product_kernel = KERNEL(.run = run_product, .scratch = product_scratch);

/* Of the floats, whichever side they are on. */
static uint64_t dtypes(int32_t op)
{
    return cpu_domain_dtypes(op);
}

static const ndp_kernel *find(const ndp_call *like, char *why, size_t n)
{
    const int32_t format = ((const ndp_quant *)like->params)->format;
    const bool blocks_out = like->op == NDP_OP_quantize, product = like->op == NDP_OP_matmul_q;
    const ndp_view *floats = like->op == NDP_OP_dequantize ? &like->out[0] : &like->in[0],
                   *blocks = product      ? &like->in[1]
                             : blocks_out ? &like->out[0]
                                          : &like->in[0];
    if (format > 0 && format < QUANT_FORMATS && sizes[format].block && blocks->dtype == NDP_U8 &&
        dtypes(like->op) >> floats->dtype & 1 && (!product || like->out[0].dtype == floats->dtype))
        return product ? &product_kernel : blocks_out ? &quantize_kernel : &dequantize_kernel;
    snprintf(why, n, "the CPU plug-in has no %s of dtype %d and format %d", cpu_op_name(like->op),
             (int)floats->dtype, (int)format);
    return NULL;
}

const cpu_class cpu_quant = {dtypes, find};
