/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Cross entropy of rows of scores and integer targets, and its gradient. A row is read into blocks
 * of doubles, once where it fits one block. */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "norm/norm.h"
#include "norm/single_rows.h"

enum { BLOCK = CPU_SINGLE_LONG, GRAIN = 1 << 14 };

typedef struct {
    const cpu_norm_table *loops;
    const cpu_single_table
        *single; /* NULL: not of single precision or below, or rows are not dense */
    const ndp_view *a, *y, *g, *weights, *out; /* g, weights NULL where there is none */
    int dtype, wide, precise;                  /* of a; of losses, g */
    int64_t n, ignore;
    double smoothing, all_weights;
    _Atomic int64_t bad; /* the first row whose target is out of range, or the number of rows */
} plan;

static int dtype_index(int32_t dtype)
{
    return dtype == NDP_F16    ? CPU_NORM_F16
           : dtype == NDP_BF16 ? CPU_NORM_BF16
           : dtype == NDP_F32  ? CPU_NORM_F32
                               : CPU_NORM_F64;
}

static void load(const plan *p, int dtype, const ndp_view *v, int64_t offset, int64_t stride,
                 int64_t n, double *dst)
{
    const int64_t bytes = ndp_dtype_size(v->dtype);
    p->loops->load[dtype](dst, cpu_ptr(v) + offset * bytes, stride * bytes, n);
}

static void load_scores(const plan *p, int64_t row, int64_t i, int64_t m, double *dst)
{
    load(p, p->dtype, p->a, row * p->a->stride[0] + i * p->a->stride[1], p->a->stride[1], m, dst);
}

static double element(const plan *p, int dtype, const ndp_view *v, int64_t offset)
{
    double x;
    load(p, dtype, v, offset, 0, 1, &x);
    return x;
}

static void load_weights(const plan *p, int64_t i, int64_t m, double *dst)
{
    if (p->weights)
        load(p, p->dtype, p->weights, i * p->weights->stride[0], p->weights->stride[0], m, dst);
    else
        for (int64_t j = 0; j < m; j++)
            dst[j] = 1;
}

/* A row's statistics: its largest score, the sum of exponentials below it, and the weighted sum of
 * the scores. */
typedef struct {
    double max, sum, weighted;
    double x[BLOCK], other[BLOCK];
    float f[BLOCK], made[BLOCK];
} row_state;

static void add_block(const plan *p, row_state *s, int64_t m)
{
    const double most = p->loops->max(s->x, m);
    if (most > s->max) {
        s->sum *= exp(s->max - most);
        s->max = most;
    }
    const double shift = s->max > -INFINITY ? s->max : 0;
    for (int64_t j = 0; j < m; j++)
        s->other[j] = shift;
    p->loops->exp[p->precise](s->other, s->x, s->other, m);
    s->sum += p->loops->sum(s->other, m);
}

static const float *scores(const plan *p, int64_t row, int64_t i, int64_t m, row_state *s)
{
    return cpu_single_read(p->single, p->dtype,
                           cpu_ptr(p->a) + cpu_single_bytes(p->dtype, row * p->a->stride[0] + i), m,
                           s->f);
}

/* The exponentials of a row of one block stay in `other`. */
static void read_single(const plan *p, int64_t row, row_state *s)
{
    const float *x = NULL;
    float max = -INFINITY;
    s->sum = 0;
    CPU_SINGLE_EACH(p->n, CPU_SINGLE_LONG, i, m)
    {
        x = scores(p, row, i, m, s);
        const float most = p->single->max(x, m);
        max = most > max ? most : max;
    }
    s->max = (double)max;
    CPU_SINGLE_EACH(p->n, CPU_SINGLE_LONG, i, m)
    {
        x = p->n > BLOCK ? scores(p, row, i, m, s) : x;
        p->single->exps(s->other, x, m, max > -INFINITY ? s->max : 0);
        s->sum += p->loops->sum(s->other, m);
    }
}

static void read_row(const plan *p, int64_t row, row_state *s)
{
    if (p->single && p->smoothing == 0) {
        read_single(p, row, s);
        return;
    }
    s->max = -INFINITY;
    s->sum = s->weighted = 0;
    for (int64_t i = 0; i < p->n; i += BLOCK) {
        const int64_t m = p->n - i < BLOCK ? p->n - i : BLOCK;
        load_scores(p, row, i, m, s->x);
        add_block(p, s, m);
        if (p->smoothing == 0)
            continue;
        load_weights(p, i, m, s->other);
        s->weighted += p->loops->dot(s->x, s->other, m);
    }
}

/* The row's target, or -1 where the row does not count. */
static int64_t target(plan *p, int64_t row)
{
    const int64_t y =
        *(const int64_t *)(cpu_ptr(p->y) + row * p->y->stride[0] * (int64_t)sizeof(int64_t));
    if (y == p->ignore)
        return -1;
    if (y >= 0 && y < p->n)
        return y;
    int64_t first = atomic_load(&p->bad);
    while (row < first && !atomic_compare_exchange_weak(&p->bad, &first, row))
        ;
    return -1;
}

static double weight_of(const plan *p, int64_t y)
{
    return p->weights ? element(p, p->dtype, p->weights, y * p->weights->stride[0]) : 1;
}

static void loss_rows(void *ctx, int64_t begin, int64_t end)
{
    plan *p = ctx;
    row_state s;
    for (int64_t row = begin; row < end; row++) {
        const int64_t y = target(p, row);
        double loss = 0;
        if (y >= 0) {
            read_row(p, row, &s);
            const double x = element(p, p->dtype, p->a,
                                     row * p->a->stride[0] + y * p->a->stride[1]),
                         log_sum = log(s.sum);
            loss = (1 - p->smoothing) * weight_of(p, y) * ((s.max - x) + log_sum);
            if (p->smoothing != 0)
                loss +=
                    p->smoothing / (double)p->n * (p->all_weights * (s.max + log_sum) - s.weighted);
        }
        p->loops->store[p->wide](
            cpu_ptr(p->out) + row * p->out->stride[0] * ndp_dtype_size(p->out->dtype), 0, &loss, 1);
    }
}

/* p_k*(w_y*(1 - s) + s/n*W) - s/n*w_k, and at y less w_y*(1 - s); all times g. */
static void gradient_block(const plan *p, row_state *s, int64_t i, int64_t m, int64_t y, double g)
{
    const double own = (1 - p->smoothing) * weight_of(p, y), each = p->smoothing / (double)p->n;
    const double factor = (own + each * p->all_weights) / s->sum;
    for (int64_t j = 0; j < m; j++)
        s->other[j] = s->max;
    p->loops->exp[p->precise](s->x, s->x, s->other, m);
    p->loops->scale(s->x, m, factor);
    if (p->smoothing != 0) {
        load_weights(p, i, m, s->other);
        for (int64_t j = 0; j < m; j++)
            s->x[j] -= each * s->other[j];
    }
    if (y >= i && y < i + m)
        s->x[y - i] -= own;
    p->loops->scale(s->x, m, g);
}

/* The same of a row without smoothing. */
static void gradient_single(const plan *p, row_state *s, int64_t row, int64_t y, double g)
{
    const double own = weight_of(p, y), factor = own / s->sum * g;
    char *out = cpu_ptr(p->out) + cpu_single_bytes(p->dtype, row * p->out->stride[0]);
    CPU_SINGLE_EACH(p->n, CPU_SINGLE_LONG, i, m)
    {
        char *end = out + cpu_single_bytes(p->dtype, i);
        float *to = cpu_single_place(p->dtype, end, s->made);
        if (p->n > BLOCK)
            p->single->exps(s->other, scores(p, row, i, m, s), m, s->max);
        p->single->scaled[cpu_single_rounding(p->dtype)](to, s->other, m, factor);
        cpu_single_write(p->single, p->dtype, end, to, m);
        if (y < i || y >= i + m)
            continue;
        const double there = s->other[y - i] * factor - own * g;
        p->loops->store[p->dtype](out + cpu_single_bytes(p->dtype, y), 0, &there, 1);
    }
}

static void gradient_rows(void *ctx, int64_t begin, int64_t end)
{
    plan *p = ctx;
    row_state s;
    const int64_t bytes = ndp_dtype_size(p->out->dtype);
    for (int64_t row = begin; row < end; row++) {
        const int64_t y = target(p, row);
        const double g = element(p, p->wide, p->g, row * p->g->stride[0]);
        if (y >= 0)
            read_row(p, row, &s);
        if (y >= 0 && p->single && p->smoothing == 0) {
            gradient_single(p, &s, row, y, g);
            continue;
        }
        for (int64_t i = 0; i < p->n; i += BLOCK) {
            const int64_t m = p->n - i < BLOCK ? p->n - i : BLOCK;
            if (y < 0) {
                memset(s.x, 0, (size_t)m * sizeof *s.x);
            } else {
                if (p->n > BLOCK)
                    load_scores(p, row, i, m, s.x);
                gradient_block(p, &s, i, m, y, g);
            }
            p->loops->store[p->dtype](cpu_ptr(p->out) +
                                          (row * p->out->stride[0] + i * p->out->stride[1]) * bytes,
                                      p->out->stride[1] * bytes, s.x, m);
        }
    }
}

static void sum_weights(plan *p)
{
    double w[BLOCK];
    p->all_weights = p->weights ? 0 : (double)p->n;
    for (int64_t i = 0; p->weights && p->smoothing != 0 && i < p->n; i += BLOCK) {
        const int64_t m = p->n - i < BLOCK ? p->n - i : BLOCK;
        load_weights(p, i, m, w);
        p->all_weights += p->loops->sum(w, m);
    }
}

static int32_t run(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call)
{
    const ndp_entropy *params = call->params;
    const int gradient = call->op == NDP_OP_cross_entropy_grad;
    const int64_t rows = call->in[0].shape[0];
    (void)kernel;
    (void)stream;
    plan p = {.loops = CPU_ISA_PICK(cpu_norm_loops),
              .a = &call->in[0],
              .y = &call->in[1],
              .g = gradient ? &call->in[2] : NULL,
              .weights = params->has_weights ? &call->in[call->n_in - 1] : NULL,
              .out = &call->out[0],
              .n = call->in[0].shape[1],
              .ignore = params->ignore,
              .smoothing = params->smoothing};
    p.dtype = dtype_index(p.a->dtype);
    p.wide = p.a->dtype == NDP_F64 ? CPU_NORM_F64 : CPU_NORM_F32;
    p.precise = p.a->dtype == NDP_F64;
    p.single = !p.precise && p.a->stride[1] == 1 && (!gradient || p.out->stride[1] == 1)
                   ? CPU_ISA_PICK(cpu_single_loops)
                   : NULL;
    atomic_init(&p.bad, rows);
    if (rows == 0)
        return NDP_OK;
    sum_weights(&p);
    const int64_t grain = GRAIN / (p.n + 1);
    cpu_parallel(rows, grain > 1 ? grain : 1, gradient ? gradient_rows : loss_rows, &p);
    const int64_t bad = atomic_load(&p.bad);
    if (bad == rows)
        return NDP_OK;
    const int64_t *y = (const int64_t *)(void *)cpu_ptr(p.y);
    return cpu_error(NDP_ERR_INDEX,
                     "%s: target %lld at position %lld is no class; allowed are 0 to %lld",
                     cpu_op_name(call->op), (long long)y[bad * p.y->stride[0]], (long long)bad,
                     (long long)p.n - 1);
}

static const ndp_kernel the_kernel = {
    .size = sizeof(ndp_kernel), .max_ndim = NDP_MAX_NDIM, .run = run};

static uint64_t dtypes(int32_t op)
{
    return cpu_domain_dtypes(op);
}

static const ndp_kernel *find(const ndp_call *like, char *why, size_t n)
{
    const int32_t dtype = like->in[0].dtype;
    if (cpu_domain_dtypes(like->op) >> dtype & 1 && like->in[1].dtype == NDP_I64)
        return &the_kernel;
    snprintf(why, n, "the CPU plug-in has no %s of dtype %d", cpu_op_name(like->op), (int)dtype);
    return NULL;
}

const cpu_class cpu_entropy = {dtypes, find};
