/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elementwise operations: the driver. Loops take dense operands only (elementwise_isa.c), so the
 * iteration space is cut into blocks, and in each block whatever is not dense goes through a small
 * buffer in cache: scalars and broadcast operands are repeated there, strided and transposed ones
 * gathered, f16 and bf16 widened. Blocks span the last dimension and one more, the "row" dimension:
 * the next one, or for a transposed operand that in which it is dense. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "elementwise.h"
#include "tile.h"

#define EW_OPERANDS 4      /* inputs and the output */
#define EW_BLOCK 1024      /* elements of a block that needs buffers */
#define EW_BUFFER_BYTES 8192
#define EW_TILE 64         /* extent of a block where an operand is transposed */
#define EW_SHORT 32        /* shorter rows are gathered to one loop call for several rows */
#define EW_CHEAP_GRAIN 65536
#define EW_COSTLY_GRAIN 4096
#define EW_STREAM_BYTES ((int64_t)16 << 20) /* results beyond most caches are not read back soon */

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
    const int64_t *stride; /* the view's, in elements */
    int64_t nbytes, row, col;
    int32_t dtype, widen;
} ew_operand;

typedef struct {
    const ew_kernel *kernel;
    const int64_t *shape;
    ew_operand operand[EW_OPERANDS];
    int n; /* operands; the last is the output */
    int stream;
    int n_outer, outer[NDP_MAX_NDIM]; /* dimensions besides rows and columns, innermost first */
    int64_t rows, cols, block_rows, block_cols, row_blocks, col_blocks;
} ew_plan;

/* What one chunk keeps from block to block. */
typedef struct {
    const ew_plan *plan;
    char *at[EW_OPERANDS]; /* at row and column zero of the present outer index */
    int64_t index[NDP_MAX_NDIM];
    const char *repeated[EW_OPERANDS]; /* the element that fills the buffer, so far filled_n times */
    int64_t repeated_n[EW_OPERANDS];
    _Alignas(64) char buffer[EW_OPERANDS][EW_BUFFER_BYTES];
    _Alignas(64) float wide[EW_OPERANDS][EW_BLOCK];
} ew_worker;

/* ---- one block ---- */
static void widen(int32_t dtype, float *to, const char *from, int64_t n)
{
    (dtype == NDP_F16 ? isa->load_f16 : isa->load_bf16)(to, (const uint16_t *)(const void *)from, n);
}

static void narrow(int32_t dtype, char *to, const float *from, int64_t n)
{
    (dtype == NDP_F16 ? isa->store_f16 : isa->store_bf16)((uint16_t *)(void *)to, from, n);
}

/* Where input k's rows x cols elements lie dense in each row, with the distance of rows. */
static char *input_rows(ew_worker *w, int k, char *from, int64_t rows, int64_t cols, int64_t *pitch)
{
    const ew_operand *o = &w->plan->operand[k];
    *pitch = o->row;
    if (o->col == o->nbytes && (rows == 1 || cols >= EW_SHORT || o->row == cols * o->nbytes))
        return from;
    if (o->col == 0 && (rows == 1 || o->row == 0)) {
        int64_t n = cols >= EW_SHORT ? cols : rows * cols;
        if (w->repeated[k] != from || w->repeated_n[k] < n)
            cpu_tile_pack(w->buffer[k], from, 1, n, 0, 0, o->nbytes);
        w->repeated[k] = from;
        w->repeated_n[k] = n;
        *pitch = cols >= EW_SHORT ? 0 : cols * o->nbytes;
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
    int64_t pitch[EW_OPERANDS], calls = cols >= EW_SHORT ? rows : 1;
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
static int64_t magnitude(int64_t x)
{
    return x < 0 ? -x : x;
}

/* The dimension besides the last in which operand o is dense, while it is not in the last; -1 if
 * there is none. */
static int transposed_dim(const ew_operand *o, const int64_t *shape, int ndim)
{
    int found = -1;
    int64_t last = magnitude(o->stride[ndim - 1]);
    if (last * o->nbytes <= 64 || shape[ndim - 1] < 8)
        return -1;
    for (int d = ndim - 2; d >= 0; d--) {
        int64_t s = magnitude(o->stride[d]);
        if (s != 0 && s * 8 <= last && shape[d] >= 8 && (found < 0 || s < magnitude(o->stride[found])))
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
    o->nbytes = cpu_dtype_size(v->dtype);
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

/* Extents of a block. Where every operand is dense no buffer is used, and a block is a whole chunk. */
static void choose_blocks(ew_plan *plan, int tiled)
{
    int64_t widest = 1, limit = EW_BLOCK;
    int dense_cols = !plan->stream;
    for (int k = 0; k < plan->n; k++) {
        const ew_operand *o = &plan->operand[k];
        widest = o->nbytes > widest ? o->nbytes : widest;
        dense_cols &= o->col == o->nbytes && !o->widen;
    }
    if (limit * widest > EW_BUFFER_BYTES)
        limit = EW_BUFFER_BYTES / widest;
    int64_t cols_limit = tiled ? EW_TILE : dense_cols ? grain(plan) : limit;
    plan->block_cols = plan->cols < cols_limit ? plan->cols : cols_limit;
    int64_t rows_limit = tiled || plan->cols < limit ? limit / plan->block_cols : 1;
    plan->block_rows = plan->rows < rows_limit ? plan->rows : rows_limit;
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
    int64_t size = cpu_view_size(out), blocks = 1;
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
    int tiled = choose_dims(&plan, flat ? 1 : out->ndim);
    plan.stream = !tiled && streams(&plan, size);
    choose_blocks(&plan, tiled);
    for (int i = 0; i < plan.n_outer; i++)
        blocks *= plan.shape[plan.outer[i]];
    int64_t per_chunk = grain(&plan) / (plan.block_rows * plan.block_cols);
    cpu_parallel(blocks * plan.row_blocks * plan.col_blocks, per_chunk > 0 ? per_chunk : 1, chunk,
                 &plan);
}

static int32_t run(const ndp_kernel *base, ndp_stream *stream, const ndp_call *call)
{
    const ew_kernel *kernel = (const ew_kernel *)base;
    const ndp_view *out = &call->out[0];
    int n_in = (int)call->n_in, views = 1, flat = (out->flags & NDP_VIEW_CONTIGUOUS) != 0;
    char *p[EW_OPERANDS];
    (void)stream;
    for (int k = 0; k < n_in; k++) {
        const ndp_view *v = &call->in[k];
        views &= v->mem != NULL;
        flat &= !v->mem || (v->flags & NDP_VIEW_CONTIGUOUS);
    }
    int64_t n = out->ndim == 0 ? 1 : out->ndim == 1 ? out->shape[0] : EW_CHEAP_GRAIN;
    if (!(views && flat && n < EW_COSTLY_GRAIN && !kernel->widen)) {
        run_blocks(kernel, call, flat);
        return NDP_OK;
    }
    for (int k = 0; k < n_in; k++)
        p[k] = cpu_ptr(&call->in[k]);
    p[n_in] = cpu_ptr(out);
    kernel->loop(p, n);
    return NDP_OK;
}

/* ---- the table ---- */
enum { EW_RESULT_NONE, EW_RESULT_SAME, EW_RESULT_BOOL, EW_RESULT_REAL };
typedef struct {
    int32_t result;
    float ulp; /* of single precision: more than half marks the functions that are costly */
} ew_rule;
static const ew_rule rules[NDP_OP_END] = {
#define ULP(half, single, double_, complex_) (float)(single)
#define EW_RESULT_SUM EW_RESULT_NONE
#define EW_RESULT_INDEX EW_RESULT_NONE
#define EW_RESULT_GIVEN EW_RESULT_NONE
#define ND_OP(name, CLASS, DOMAIN, RESULT, ulp_, doc) [NDP_OP_##name] = {EW_RESULT_##RESULT, ulp_},
#include <ndock/op.def>
};

static int32_t result_dtype(int32_t op, int32_t dtype)
{
    if (rules[op].result == EW_RESULT_BOOL)
        return NDP_BOOL;
    if (rules[op].result == EW_RESULT_REAL && dtype == NDP_C64)
        return NDP_F32;
    return rules[op].result == EW_RESULT_REAL && dtype == NDP_C128 ? NDP_F64 : dtype;
}

static void kernels_init(void)
{
    isa = CPU_ISA_PICK(elementwise_isa);
    for (int32_t op = 1; op < NDP_OP_END; op++)
        for (int32_t dtype = 1; dtype < NDP_DTYPE_END; dtype++) {
            ew_kernel *k = &kernels[op][dtype];
            int half = dtype == NDP_F16 || dtype == NDP_BF16;
            k->loop = isa->loops[dtype] ? isa->loops[dtype][op] : NULL;
            k->base = (ndp_kernel){.size = sizeof(ndp_kernel), .max_ndim = NDP_MAX_NDIM, .run = run};
            k->op = op;
            k->dtype = dtype;
            k->out_dtype = result_dtype(op, dtype);
            k->widen = half && op != NDP_OP_where;
            k->costly = rules[op].ulp > 0.5f && dtype >= NDP_F16;
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
