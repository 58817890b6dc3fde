/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elementwise operations: the driver. Loops take dense operands only (elementwise_isa.c), so the
 * iteration space is cut into blocks, and in each block whatever is not dense goes through a small
 * buffer in cache: scalars and broadcast operands are repeated there, strided and transposed ones
 * gathered, f16 and bf16 widened. Blocks span the last dimension and one more, the "row" dimension:
 * the next one, or for a transposed operand that in which it is dense. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "elementwise/elementwise.h"
#include "walk/tile.h"

#define EW_OPERANDS 4        /* inputs and the output */
#define EW_BLOCK 1024        /* elements of a block that needs buffers */
#define EW_ARENA_BYTES 65536 /* the buffers of all operands */
#define EW_SHARE_BYTES 32768 /* at most, of one */
#define EW_STREAM_BLOCK_BYTES 16384
#define EW_RUN_BYTES 256 /* of a transposed operand, read in one go */
#define EW_SHORT 32      /* shorter rows are gathered to one loop call for several rows */
#define EW_SMALL 64      /* elements served without a plan even if an operand is a scalar */
#define EW_CHEAP_GRAIN 65536
#define EW_COSTLY_GRAIN 4096
#define EW_STREAM_BYTES \
    ((int64_t)16 << 20) /* results beyond most caches are not read back soon \
                         */

typedef struct {
    ndp_kernel base;
    ew_loop loop;
    int32_t op, dtype, out_dtype;
    int32_t widen;  /* f16 and bf16 operands become float */
    int32_t costly; /* far slower than memory: small chunks, no streaming */
} ew_kernel;

static ew_kernel kernels[NDP_OP_END][NDP_DTYPE_END];
static const ew_isa *isa;
static pthread_once_t kernels_once = PTHREAD_ONCE_INIT;

/* One operand; strides in bytes. */
typedef struct {
    char *base;
    const int64_t *stride;            /* the view's, in elements */
    int64_t nbytes, row, col, buffer; /* buffer: offset in the arena */
    int32_t dtype, widen;
} ew_operand;

typedef struct {
    const ew_kernel *kernel;
    const int64_t *shape;
    ew_operand operand[EW_OPERANDS];
    int n; /* operands; the last is the output */
    int stream, tiled;
    int n_outer, outer[NDP_MAX_NDIM]; /* dimensions besides rows and columns, innermost first */
    int64_t rows, cols, block_rows, block_cols, row_blocks, col_blocks;
} ew_plan;

/* What one chunk keeps from block to block. */
typedef struct {
    const ew_plan *plan;
    char *at[EW_OPERANDS]; /* at row and column zero of the present outer index */
    int64_t index[NDP_MAX_NDIM];
    const char
        *repeated[EW_OPERANDS]; /* the element that fills the buffer, so far filled_n times */
    int64_t repeated_n[EW_OPERANDS];
    char *buffer[EW_OPERANDS];
    _Alignas(64) char arena[EW_ARENA_BYTES];
    _Alignas(64) float wide[EW_OPERANDS][EW_BLOCK];
} ew_worker;

/* ---- one block ---- */
static void widen(int32_t dtype, float *to, const char *from, int64_t n)
{
    (dtype == NDP_F16 ? isa->load_f16 : isa->load_bf16)(to, (const uint16_t *)(const void *)from,
                                                        n);
}

static void narrow(int32_t dtype, char *to, const float *from, int64_t n)
{
    (dtype == NDP_F16 ? isa->store_f16 : isa->store_bf16)((uint16_t *)(void *)to, from, n);
}

/* Whether the loop is called row by row; else once, for which all rows lie in one. */
static int by_rows(const ew_plan *plan, int64_t cols)
{
    return plan->tiled || cols >= EW_SHORT;
}

/* Where input k's rows x cols elements lie dense in each row, with the distance of rows. */
static char *input_rows(ew_worker *w, int k, char *from, int64_t rows, int64_t cols, int64_t *pitch)
{
    int separate = by_rows(w->plan, cols);
    const ew_operand *o = &w->plan->operand[k];
    *pitch = o->row;
    if (o->col == o->nbytes && (rows == 1 || separate || o->row == cols * o->nbytes))
        return from;
    if (o->col == 0 && (rows == 1 || o->row == 0)) {
        int64_t n = separate ? cols : rows * cols;
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
        isa->stream(to, w->buffer[last], n * out->nbytes);
}

static void block(ew_worker *w, int64_t row, int64_t col, int64_t rows, int64_t cols)
{
    const ew_plan *plan = w->plan;
    const int last = plan->n - 1;
    const ew_operand *out = &plan->operand[last];
    char *p[EW_OPERANDS], *to = w->at[last] + row * out->row + col * out->col;
    int64_t pitch[EW_OPERANDS], calls = by_rows(plan, cols) ? rows : 1;
    int direct = out->col == out->nbytes && (calls == rows || out->row == cols * out->nbytes);
    for (int k = 0; k < last; k++) {
        const ew_operand *o = &plan->operand[k];
        p[k] = input_rows(w, k, w->at[k] + row * o->row + col * o->col, rows, cols, &pitch[k]);
    }
    p[last] = direct ? to : w->buffer[last];
    pitch[last] = direct ? out->row : cols * out->nbytes;
    for (int64_t i = 0; i < calls; i++) {
        dense(w, p, p[last], calls == 1 ? rows * cols : cols);
        for (int k = 0; k <= last; k++)
            p[k] += pitch[k];
    }
    if (!direct)
        cpu_tile_unpack(to, w->buffer[last], rows, cols, out->row, out->col, out->nbytes);
}

/* ---- the walk over blocks ---- */
static void seek(ew_worker *w, int64_t outer)
{
    const ew_plan *plan = w->plan;
    for (int k = 0; k < plan->n; k++)
        w->at[k] = plan->operand[k].base;
    for (int i = 0; i < plan->n_outer; i++) {
        int d = plan->outer[i];
        w->index[i] = outer % plan->shape[d];
        outer /= plan->shape[d];
        for (int k = 0; k < plan->n; k++)
            w->at[k] += w->index[i] * plan->operand[k].stride[d] * plan->operand[k].nbytes;
    }
}

static void next_outer(ew_worker *w)
{
    const ew_plan *plan = w->plan;
    for (int i = 0; i < plan->n_outer; i++) {
        int d = plan->outer[i];
        int64_t step = ++w->index[i] < plan->shape[d] ? 1 : 1 - plan->shape[d];
        for (int k = 0; k < plan->n; k++)
            w->at[k] += step * plan->operand[k].stride[d] * plan->operand[k].nbytes;
        if (step == 1)
            return;
        w->index[i] = 0;
    }
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
    int64_t per_outer = plan->row_blocks * plan->col_blocks;
    int64_t r = begin % per_outer / plan->col_blocks, c = begin % plan->col_blocks;
    seek(&w, begin / per_outer);
    for (int64_t i = begin; i < end; i++) {
        int64_t row = r * plan->block_rows, col = c * plan->block_cols;
        int64_t rows = plan->rows - row, cols = plan->cols - col;
        block(&w, row, col, rows < plan->block_rows ? rows : plan->block_rows,
              cols < plan->block_cols ? cols : plan->block_cols);
        if (++c < plan->col_blocks)
            continue;
        c = 0;
        if (++r < plan->row_blocks)
            continue;
        r = 0;
        next_outer(&w);
    }
}

/* ---- planning ---- */
/* The dimension besides the last in which operand o is dense, while it is not in the last; -1 if
 * there is none. */
static int transposed_dim(const ew_operand *o, const int64_t *shape, int ndim)
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

static void set_operand(ew_operand *o, const ew_kernel *kernel, const ndp_call *call,
                        const ndp_view *v, char *scalar)
{
    if (v->mem) {
        o->base = cpu_ptr(v);
    } else {
        cpu_store_scalar(&call->scalar[v->offset_bytes], scalar);
        o->base = scalar;
    }
    o->stride = v->stride;
    o->dtype = v->dtype;
    o->nbytes = ndp_dtype_size(v->dtype);
    o->widen = kernel->widen && (v->dtype == NDP_F16 || v->dtype == NDP_BF16);
}

/* Rows and columns; a rank of zero is one column. Scalars have strides of zero. */
static int choose_dims(ew_plan *plan, int ndim)
{
    int tiled = -1;
    for (int k = 0; k < plan->n && tiled < 0 && ndim > 1; k++)
        tiled = transposed_dim(&plan->operand[k], plan->shape, ndim);
    int row_dim = tiled >= 0 ? tiled : ndim - 2;
    plan->cols = ndim > 0 ? plan->shape[ndim - 1] : 1;
    plan->rows = row_dim >= 0 ? plan->shape[row_dim] : 1;
    for (int d = ndim - 2; d >= 0; d--)
        if (d != row_dim)
            plan->outer[plan->n_outer++] = d;
    for (int k = 0; k < plan->n; k++) {
        ew_operand *o = &plan->operand[k];
        o->col = ndim > 0 ? o->stride[ndim - 1] * o->nbytes : o->nbytes;
        o->row = row_dim >= 0 ? o->stride[row_dim] * o->nbytes : 0;
    }
    return tiled >= 0;
}

static int64_t grain(const ew_plan *plan)
{
    return plan->kernel->costly ? EW_COSTLY_GRAIN : EW_CHEAP_GRAIN;
}

/* Parts the arena among the operands that may need a buffer; returns the bytes of each. */
static int64_t share_arena(ew_plan *plan)
{
    int64_t sharers = 0, share;
    for (int k = 0; k < plan->n; k++)
        sharers += !plan->tiled || plan->operand[k].col != plan->operand[k].nbytes;
    share = sharers > 3   ? EW_ARENA_BYTES / 4
            : sharers > 2 ? EW_ARENA_BYTES / 3 & ~63
                          : EW_SHARE_BYTES;
    for (int64_t k = 0, at = 0; k < plan->n; k++) {
        plan->operand[k].buffer = at;
        at += !plan->tiled || plan->operand[k].col != plan->operand[k].nbytes ? share : 0;
    }
    return share;
}

/* Extents of a block. Where every operand is dense no buffer is used, and a block is a whole chunk.
 */
static void choose_blocks(ew_plan *plan)
{
    int64_t widest = 1, share = share_arena(plan), limit = EW_BLOCK, rows_limit;
    int buffers = plan->stream, widening = 0;
    for (int k = 0; k < plan->n; k++) {
        const ew_operand *o = &plan->operand[k];
        widest = o->nbytes > widest ? o->nbytes : widest;
        widening |= o->widen;
        buffers |= o->col != o->nbytes;
    }
    if (plan->tiled)
        limit = share / EW_RUN_BYTES;
    else if (!buffers && !widening)
        limit = grain(plan);
    else if (plan->stream && !widening)
        limit = EW_STREAM_BLOCK_BYTES / widest;
    plan->block_cols = plan->cols < limit ? plan->cols : limit;
    rows_limit = plan->tiled ? EW_RUN_BYTES / widest : EW_BLOCK / plan->block_cols;
    plan->block_rows = plan->rows < rows_limit ? plan->rows : rows_limit > 0 ? rows_limit : 1;
    plan->row_blocks = (plan->rows + plan->block_rows - 1) / plan->block_rows;
    plan->col_blocks = (plan->cols + plan->block_cols - 1) / plan->block_cols;
}

/* Large results are written past the cache where the operation waits for memory, unless they take
 * the place of an input, whose lines are in the cache already. */
static int streams(const ew_plan *plan, int64_t size)
{
    const ew_operand *out = &plan->operand[plan->n - 1];
    int gains = !plan->kernel->costly && out->col == out->nbytes && plan->cols >= EW_BLOCK &&
                size * out->nbytes >= EW_STREAM_BYTES;
    for (int k = 0; k < plan->n - 1; k++)
        gains &= plan->operand[k].base != out->base;
    return gains;
}

static void run_blocks(const ew_kernel *kernel, const ndp_call *call, int flat)
{
    const ndp_view *out = &call->out[0];
    static const int64_t one = 1, zero = 0;
    int64_t size = ndp_view_size(out), blocks = 1;
    _Alignas(16) char scalar[EW_OPERANDS][16];
    ew_plan plan;
    if (size == 0)
        return;
    plan.kernel = kernel;
    plan.n = (int)call->n_in + 1;
    plan.n_outer = 0;
    plan.shape = flat ? &size : out->shape;
    for (int k = 0; k < plan.n; k++) {
        const ndp_view *v = k < plan.n - 1 ? &call->in[k] : out;
        set_operand(&plan.operand[k], kernel, call, v, scalar[k]);
        if (flat)
            plan.operand[k].stride = v->mem ? &one : &zero;
    }
    plan.tiled = choose_dims(&plan, flat ? 1 : out->ndim);
    plan.stream = !plan.tiled && streams(&plan, size);
    choose_blocks(&plan);
    for (int i = 0; i < plan.n_outer; i++)
        blocks *= plan.shape[plan.outer[i]];
    int64_t per_chunk = grain(&plan) / (plan.block_rows * plan.block_cols);
    cpu_parallel(blocks * plan.row_blocks * plan.col_blocks, per_chunk > 0 ? per_chunk : 1, chunk,
                 &plan);
}

/* Few dense elements: the loop at once, scalars repeated beside. */
static void run_small(const ew_kernel *kernel, const ndp_call *call, int64_t n)
{
    _Alignas(64) char repeated[EW_OPERANDS][EW_SMALL * 16];
    char *p[EW_OPERANDS];
    int n_in = (int)call->n_in;
    for (int k = 0; k < n_in; k++) {
        const ndp_view *v = &call->in[k];
        char element[16];
        p[k] = repeated[k];
        if (v->mem) {
            p[k] = cpu_ptr(v);
        } else {
            cpu_store_scalar(&call->scalar[v->offset_bytes], element);
            cpu_tile_pack(repeated[k], element, 1, n, 0, 0, ndp_dtype_size(v->dtype));
        }
    }
    p[n_in] = cpu_ptr(&call->out[0]);
    kernel->loop(p, n);
}

static int32_t run(const ndp_kernel *base, ndp_stream *stream, const ndp_call *call)
{
    const ew_kernel *kernel = (const ew_kernel *)base;
    const ndp_view *out = &call->out[0];
    int views = 1, flat = out->ndim == 0 || (out->flags & NDP_VIEW_CONTIGUOUS) != 0;
    (void)stream;
    for (uint32_t k = 0; k < call->n_in; k++) {
        const ndp_view *v = &call->in[k];
        views &= v->mem != NULL;
        flat &= !v->mem || v->ndim == 0 || (v->flags & NDP_VIEW_CONTIGUOUS) != 0;
    }
    int64_t n = out->ndim == 0 ? 1 : out->ndim == 1 ? out->shape[0] : EW_COSTLY_GRAIN;
    if (flat && n < (views ? EW_COSTLY_GRAIN : EW_SMALL) && !kernel->widen)
        run_small(kernel, call, n);
    else
        run_blocks(kernel, call, flat);
    return NDP_OK;
}

/* ---- the table ---- */
/* Error bounds of single precision: more than half an ulp marks the functions that are costly. */
static const float ulps[NDP_OP_END] = {
#define ULP(half, single, double_, complex_) (float)(single)
#define ND_OP(name, CLASS, DOMAIN, RESULT, ulp, doc) [NDP_OP_##name] = ulp,
#include <ndock/op.def>
};

static void kernels_init(void)
{
    isa = CPU_ISA_PICK(elementwise_isa);
    for (int32_t op = 1; op < NDP_OP_END; op++)
        for (int32_t dtype = 1; dtype < NDP_DTYPE_END; dtype++) {
            ew_kernel *k = &kernels[op][dtype];
            int half = dtype == NDP_F16 || dtype == NDP_BF16;
            k->loop = isa->loops[dtype] ? isa->loops[dtype][op] : NULL;
            k->base =
                (ndp_kernel){.size = sizeof(ndp_kernel), .max_ndim = NDP_MAX_NDIM, .run = run};
            k->op = op;
            k->dtype = dtype;
            k->out_dtype = ndp_result_dtype(op, dtype);
            k->widen = half && op != NDP_OP_where;
            k->costly = ulps[op] > 0.5f && dtype >= NDP_F16;
        }
}

static uint64_t dtypes(int32_t op)
{
    uint64_t mask = 0;
    pthread_once(&kernels_once, kernels_init);
    for (int32_t dtype = 1; dtype < NDP_DTYPE_END; dtype++)
        if (kernels[op][dtype].loop)
            mask |= (uint64_t)1 << dtype;
    return mask;
}

static const ndp_kernel *find(const ndp_call *like, char *why, size_t n)
{
    /* The last input has the dtype computed in; the first of where is bool. */
    int32_t dtype = like->n_in > 0 ? like->in[like->n_in - 1].dtype : 0;
    pthread_once(&kernels_once, kernels_init);
    if (dtype <= 0 || dtype >= NDP_DTYPE_END || !kernels[like->op][dtype].loop) {
        snprintf(why, n, "%s has no kernel for dtype %d", cpu_op_name(like->op), (int)dtype);
        return NULL;
    }
    const ew_kernel *k = &kernels[like->op][dtype];
    if (like->n_out != 1 || like->out[0].dtype != k->out_dtype) {
        snprintf(why, n, "%s of dtype %d has one result, of dtype %d", cpu_op_name(like->op),
                 (int)dtype, (int)k->out_dtype);
        return NULL;
    }
    return &k->base;
}

const cpu_class cpu_elementwise = {dtypes, find};
