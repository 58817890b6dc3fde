/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients of the row normalisations. A row is the product of the reduced dimensions; it is read
 * into blocks of doubles, once where it fits one block, else again for each pass. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "norm/grad.h"
#include "norm/lines.h"
#include "norm/single_grad.h"

enum { BLOCK = 2048, GRAIN = 1 << 13 };

typedef cpu_norm_grad_plan plan;

/* A row's block at hand, and what the passes found. */
typedef struct {
    const plan *p;
    const char *x, *g, *scale;
    char *out;
    double mean, error, factor; /* x normalised: (x - mean - error)*factor */
    double a, b;                /* sums that the formulas need */
    double xs[BLOCK], gs[BLOCK], other[BLOCK];
} row_state;

static int is_softmax(const plan *p)
{
    return p->op == NDP_OP_softmax_grad || p->op == NDP_OP_log_softmax_grad;
}

/* Rows that lie side by side, each of elements further apart than the rows are. */
static void plan_tiles(plan *p)
{
    const int64_t inner = p->rows.shape[p->rows.ndim - 1];
    const uint64_t beside = ndp_magnitude(cpu_walk_inner(&p->rows, X));
    p->across = cpu_norm_wide(inner);
    p->tiles = 0;
    if (!is_softmax(p) && inner >= 8 && p->n > 1 &&
        ndp_magnitude(cpu_walk_inner(&p->row, X)) > beside)
        p->tiles = (inner + p->across - 1) / p->across;
}

static void plan_make(plan *p, const ndp_call *call)
{
    const ndp_norm *params = call->params;
    const ndp_view *view[4] = {&call->in[1], &call->in[0], &call->out[0],
                               params->has_scale ? &call->in[2] : NULL};
    const int64_t bytes = ndp_dtype_size(view[X]->dtype);
    const int kept = view[X]->ndim - params->n_reduced;
    cpu_walk_begin(&p->rows, 4);
    cpu_walk_begin(&p->row, 4);
    for (int d = 0; d < view[X]->ndim; d++) {
        int64_t step[4];
        for (int o = 0; o < 4; o++)
            step[o] = view[o] ? view[o]->stride[d] * bytes : 0;
        cpu_walk_add(d < kept ? &p->rows : &p->row, view[X]->shape[d], step);
    }
    cpu_walk_end(&p->rows);
    cpu_walk_sort(&p->row);
    cpu_walk_end(&p->row);
    for (int o = 0; o < 4; o++)
        p->base[o] = view[o] ? cpu_ptr(view[o]) : NULL;
    p->loops = CPU_ISA_PICK(cpu_norm_loops);
    p->op = call->op == NDP_OP_layer_norm_grads ? NDP_OP_layer_norm_grad
            : call->op == NDP_OP_rms_norm_grads ? NDP_OP_rms_norm_grad
                                                : call->op;
    p->statistics = call->n_out > 1 && call->scratch.mem ? (double *)cpu_ptr(&call->scratch) : NULL;
    p->dtype = view[X]->dtype == NDP_F16    ? CPU_NORM_F16
               : view[X]->dtype == NDP_BF16 ? CPU_NORM_BF16
               : view[X]->dtype == NDP_F32  ? CPU_NORM_F32
                                            : CPU_NORM_F64;
    p->precise = view[X]->dtype == NDP_F64;
    p->n = p->row.size;
    p->eps = params->eps;
    plan_tiles(p);
}

/* Elements from..from+n of the row of operand o, dense. */
static void read_row(const plan *p, int o, const char *base, int64_t from, int64_t n, double *dst)
{
    cpu_norm_read(p->loops, p->dtype, &p->row, o, base, from, n, dst);
}

static void write_row(const plan *p, char *base, int64_t from, int64_t n, const double *src)
{
    cpu_norm_write(p->loops, p->dtype, &p->row, OUT, base, from, n, src);
}

/* A block of x, and of g times scale. */
static void read_x(row_state *s, int64_t from, int64_t n)
{
    read_row(s->p, X, s->x, from, n, s->xs);
}

static void read_g(row_state *s, int64_t from, int64_t n)
{
    read_row(s->p, G, s->g, from, n, s->gs);
    if (!s->scale)
        return;
    read_row(s->p, SCALE, s->scale, from, n, s->other);
    s->p->loops->multiply(s->gs, s->other, n);
}

/* Blocks of the row, each read anew unless there is but one and it is there already. */
#define EACH_BLOCK(p, i, m)                                              \
    for (int64_t i = 0, m = (p)->n < BLOCK ? (p)->n : BLOCK; i < (p)->n; \
         i += BLOCK, m = (p)->n - i < BLOCK ? (p)->n - i : BLOCK)

/* The mean and deviation of x. */
static void moments(row_state *s)
{
    const plan *p = s->p;
    const int centred = p->op == NDP_OP_layer_norm_grad, whole = p->n <= BLOCK;
    double total = 0, sum = 0, squares = 0;
    EACH_BLOCK(p, i, m)
    {
        if (!centred && !whole)
            break;
        read_x(s, i, m);
        total += p->loops->sum(s->xs, m);
    }
    const double n = (double)p->n;
    s->mean = centred ? total / n : 0;
    EACH_BLOCK(p, i, m)
    {
        double a, b;
        if (!whole)
            read_x(s, i, m);
        p->loops->squares(s->xs, m, s->mean, &a, &b);
        sum += a;
        squares += b;
    }
    s->error = centred ? sum / n : 0;
    s->factor = 1 / sqrt((squares - (centred ? sum * s->error : 0)) / n + p->eps);
}

/* The means of g and of g times the normalised x, as the formula has them. */
static void sums(row_state *s)
{
    const plan *p = s->p;
    const int centred = p->op == NDP_OP_layer_norm_grad, whole = p->n <= BLOCK;
    double a = 0, b = 0;
    EACH_BLOCK(p, i, m)
    {
        if (!whole)
            read_x(s, i, m);
        read_g(s, i, m);
        double g = p->loops->sum(s->gs, m);
        a += g;
        memcpy(s->other, s->xs, (size_t)m * sizeof *s->other);
        p->loops->subtract(s->other, m, s->mean, s->error);
        b += p->loops->dot(s->gs, s->other, m);
    }
    s->a = centred ? a / (double)p->n : 0;
    s->b = b / (double)p->n * s->factor * s->factor;
}

static void norm_row(row_state *s)
{
    const plan *p = s->p;
    moments(s);
    sums(s);
    EACH_BLOCK(p, i, m)
    {
        if (p->n > BLOCK) {
            read_x(s, i, m);
            read_g(s, i, m);
        }
        p->loops->affine_grad(s->xs, s->gs, m, s->mean, s->error, s->a, s->b, s->factor);
        write_row(p, s->out, i, m, s->xs);
    }
}

static void exponentials(row_state *s, int64_t m)
{
    memset(s->other, 0, (size_t)m * sizeof *s->other);
    s->p->loops->exp[s->p->precise](s->xs, s->xs, s->other, m);
}

static void softmax_row(row_state *s)
{
    const plan *p = s->p;
    const int log_of = p->op == NDP_OP_log_softmax_grad;
    double sum = 0;
    EACH_BLOCK(p, i, m)
    {
        read_g(s, i, m);
        if (!log_of || p->n <= BLOCK)
            read_x(s, i, m);
        sum += log_of ? p->loops->sum(s->gs, m) : p->loops->dot(s->gs, s->xs, m);
    }
    EACH_BLOCK(p, i, m)
    {
        if (p->n > BLOCK) {
            read_x(s, i, m);
            read_g(s, i, m);
        }
        if (log_of)
            exponentials(s, m);
        (log_of ? p->loops->less_times : p->loops->times_less)(s->xs, s->gs, m, sum);
        write_row(p, s->out, i, m, s->xs);
    }
}

static void grad_rows(void *ctx, int64_t begin, int64_t end)
{
    row_state s;
    cpu_place at;
    s.p = ctx;
    const plan *p = s.p;
    cpu_place_seek(&at, &p->rows, begin);
    for (int64_t u = begin; u < end; u++, cpu_place_step(&at, 1)) {
        s.x = p->base[X] + at.offset[X];
        s.g = p->base[G] + at.offset[G];
        s.out = p->base[OUT] + at.offset[OUT];
        s.scale = p->base[SCALE] ? p->base[SCALE] + at.offset[SCALE] : NULL;
        if (is_softmax(p))
            softmax_row(&s);
        else
            norm_row(&s);
        if (p->statistics)
            cpu_norm_grad_keep(p, u, s.mean, s.error, s.factor);
    }
}

static int32_t run(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call)
{
    plan p;
    (void)kernel;
    (void)stream;
    plan_make(&p, call);
    cpu_single_grad_plan q;
    if (p.rows.size == 0 || p.n == 0)
        return NDP_OK;
    cpu_single_grad_make(&q, &p, call);
    if (q.way != CPU_SINGLE_NONE) {
        cpu_single_grad_run(&q, call);
        return NDP_OK;
    }
    int64_t units = p.rows.size, grain = GRAIN / p.n;
    if (p.tiles) {
        units = units / p.rows.shape[p.rows.ndim - 1] * p.tiles;
        grain = GRAIN / (p.n * p.across);
    }
    cpu_parallel(units, grain > 1 ? grain : 1, p.tiles ? cpu_norm_grad_tiles : grad_rows, &p);
    if (p.statistics)
        cpu_norm_weights(p.loops, p.dtype, call);
    return NDP_OK;
}

static uint64_t scratch(const ndp_kernel *kernel, const ndp_call *call)
{
    plan p;
    cpu_single_grad_plan q;
    (void)kernel;
    if (call->n_out < 2)
        return 0;
    plan_make(&p, call);
    cpu_single_grad_make(&q, &p, call);
    const int64_t doubles = q.way == CPU_SINGLE_NONE ? cpu_norm_weights_scratch(call)
                                                     : cpu_single_grad_scratch(&q, call);
    return (uint64_t)doubles * sizeof(double);
}

static const ndp_kernel the_kernel = {
    .size = sizeof(ndp_kernel), .max_ndim = NDP_MAX_NDIM, .scratch = scratch, .run = run};

static uint64_t dtypes(int32_t op)
{
    return cpu_domain_dtypes(op);
}

static const ndp_kernel *find(const ndp_call *like, char *why, size_t n)
{
    const int32_t dtype = like->in[0].dtype;
    int same = 1;
    for (uint32_t i = 0; i < like->n_out; i++)
        same &= like->out[i].dtype == dtype;
    for (uint32_t i = 1; i < like->n_in; i++)
        same &= like->in[i].dtype == dtype;
    if (cpu_domain_dtypes(like->op) >> dtype & 1 && same)
        return &the_kernel;
    snprintf(why, n, "the CPU plug-in has no %s of dtype %d", cpu_op_name(like->op), (int)dtype);
    return NULL;
}

const cpu_class cpu_norm_grad = {dtypes, find};
