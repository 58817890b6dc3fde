/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients of the normalisations of single precision and below: one pass over a row finds its statistics and the
 * sums of g that the formula needs, one makes the results; sums for the weights come from either. */
#include <math.h>
#include <string.h>
#include "norm/single_grad.h"

enum { GRAIN = 1 << 13, PART = 1 << 15, MOST_PARTS = 64 };

typedef cpu_single_grad_plan plan;

typedef struct {
    float x[CPU_SINGLE_BLOCK], g[CPU_SINGLE_BLOCK], scale[CPU_SINGLE_BLOCK], y[CPU_SINGLE_BLOCK];
} buffers;

/* ---- planning ---- */

static int is_softmax(int op)
{
    return op == NDP_OP_softmax_grad || op == NDP_OP_log_softmax_grad;
}

/* Whether rows lie side by side, each with a scale of its own that is a number. */
static int in_columns(const cpu_norm_grad_plan *p, const ndp_call *call, int kept)
{
    const int64_t bytes = cpu_single_bytes(p->dtype, 1);
    if (!p->tiles)
        return 0;
    for (int o = X; o <= OUT; o++)
        if (cpu_walk_inner(&p->rows, o) != bytes)
            return 0;
    for (int d = 0; d < p->row.ndim; d++)
        if (p->row.stride[SCALE][d])
            return 0;
    for (int d = kept; d < call->in[1].ndim && call->n_out > 1; d++)
        if (call->out[1].shape[d] > 1)
            return 0;
    return 1;
}

static void make_parts(plan *q)
{
    const int64_t rows = q->cut.rows.size, elements = rows * q->cut.run;
    q->parts = elements / PART < MOST_PARTS ? elements / PART : MOST_PARTS;
    q->parts = q->parts < rows ? q->parts : rows;
    q->parts = q->parts > 1 ? q->parts : 1;
}

void cpu_single_grad_make(plan *q, const cpu_norm_grad_plan *p, const ndp_call *call)
{
    const ndp_norm *params = call->params;
    const int kept = call->in[1].ndim - params->n_reduced;
    const unsigned rows = 1u << X | 1u << G | 1u << OUT, weights = 1u << SCALE | 1u << 4 | 1u << 5;
    const ndp_view *view[CPU_WALK_OPERANDS] = {&call->in[1],
                                               &call->in[0],
                                               &call->out[0],
                                               params->has_scale ? &call->in[2] : NULL,
                                               call->n_out > 1 ? &call->out[1] : NULL,
                                               call->n_out > 2 ? &call->out[2] : NULL};
    q->p = p;
    q->loops = CPU_ISA_PICK(cpu_single_loops);
    q->centred = p->op == NDP_OP_layer_norm_grad;
    q->partial = NULL;
    q->way = CPU_SINGLE_NONE;
    if (p->precise || p->rows.size == 0 || p->n == 0)
        return;
    if (is_softmax(p->op)) {
        if (cpu_single_cut_make(&q->cut, OUT + 1, view, rows, kept) && q->cut.segments.size == 1)
            q->way = CPU_SINGLE_SOFTMAX;
        return;
    }
    if (in_columns(p, call, kept)) {
        q->way = CPU_SINGLE_COLUMNS;
        return;
    }
    if (p->tiles)
        return;
    const int whole = call->n_out < 2 || ndp_view_size(&call->out[1]) == p->n;
    if (whole && cpu_single_cut_make(&q->cut, CPU_WALK_OPERANDS, view, rows | weights, kept) &&
        q->cut.segments.size == 1) {
        q->way = CPU_SINGLE_LAYERS;
        make_parts(q);
    } else if (cpu_single_cut_make(&q->cut, CPU_WALK_OPERANDS, view, rows, kept)) {
        q->way = CPU_SINGLE_NUMBERS;
    }
}

int64_t cpu_single_grad_scratch(const plan *q, const ndp_call *call)
{
    if (call->n_out < 2 || q->way == CPU_SINGLE_NONE)
        return 0;
    const int64_t sums = q->way == CPU_SINGLE_COLUMNS  ? q->p->rows.size
                         : q->way == CPU_SINGLE_LAYERS ? q->parts * q->p->n
                                                       : q->p->rows.size * q->cut.segments.size;
    return sums * CPU_SINGLE_PARTIAL;
}

/* ---- rows ---- */

static const float *read(const plan *q, const char *from, int64_t i, int64_t m, float *buffer)
{
    return cpu_single_read(q->loops, q->p->dtype, from + cpu_single_bytes(q->p->dtype, i), m,
                           buffer);
}

/* Of a row: (x - mean)*factor is normalised; a and b are the formula's means. */
typedef struct {
    double shift, mean, factor, a, b;
} statistics;

static void finish(const plan *q, const double *sums, statistics *s)
{
    const double n = (double)q->p->n, off = q->centred ? sums[CPU_SUM_D] / n : 0;
    double variance;
    cpu_single_finish(s->shift, sums, n, q->p->eps, q->centred, &s->mean, &variance, &s->factor);
    s->a = q->centred ? sums[CPU_SUM_G] / n : 0;
    s->b = cpu_single_about(sums[CPU_SUM_GD], sums[CPU_SUM_G], off) / n * s->factor * s->factor;
}

static double number_at(const plan *q, const char *row, const cpu_place *at)
{
    return row ? cpu_single_number(q->loops, q->p->dtype, row + at->offset[SCALE]) : 1;
}

/* The sums of a row, those of its segments for the weights beside them. */
static void segment_sums(const plan *q, const char *const base[4], buffers *b, double *partial,
                         statistics *s)
{
    double sums[CPU_SUMS] = {0};
    cpu_place at;
    cpu_place_seek(&at, &q->cut.segments, 0);
    for (int64_t i = 0; i < q->cut.segments.size; i++, cpu_place_step(&at, 1)) {
        double own[CPU_SUMS] = {0};
        CPU_SINGLE_EACH(q->cut.run, CPU_SINGLE_BLOCK, j, m)
        {
            q->loops->products(read(q, base[X] + at.offset[X], j, m, b->x),
                               read(q, base[G] + at.offset[G], j, m, b->g), NULL, m, s->shift, own);
        }
        const double scale = number_at(q, base[SCALE], &at);
        sums[CPU_SUM_D] += own[CPU_SUM_D];
        sums[CPU_SUM_DD] += own[CPU_SUM_DD];
        sums[CPU_SUM_G] += own[CPU_SUM_G] * scale;
        sums[CPU_SUM_GD] += own[CPU_SUM_GD] * scale;
        if (partial)
            memcpy(partial + i * CPU_SINGLE_PARTIAL, own + CPU_SUM_G,
                   CPU_SINGLE_PARTIAL * sizeof *own);
    }
    finish(q, sums, s);
    for (int64_t i = 0; i < q->cut.segments.size && partial; i++, partial += CPU_SINGLE_PARTIAL) {
        const double g = partial[0], off = q->centred ? sums[CPU_SUM_D] / (double)q->p->n : 0;
        partial[0] = cpu_single_about(partial[1], g, off) * s->factor;
        partial[1] = g;
    }
}

static void write_segments(const plan *q, const char *const base[4], char *out, buffers *b,
                           const statistics *s)
{
    const int dtype = q->p->dtype;
    cpu_place at;
    cpu_place_seek(&at, &q->cut.segments, 0);
    for (int64_t i = 0; i < q->cut.segments.size; i++, cpu_place_step(&at, 1)) {
        const double scale = number_at(q, base[SCALE], &at);
        CPU_SINGLE_EACH(q->cut.run, CPU_SINGLE_BLOCK, j, m)
        {
            const float *x = read(q, base[X] + at.offset[X], j, m, b->x);
            const float *g = read(q, base[G] + at.offset[G], j, m, b->g);
            char *end = out + at.offset[OUT] + cpu_single_bytes(dtype, j);
            float *to = cpu_single_place(dtype, end, b->y);
            q->loops->grad[cpu_single_rounding(dtype)](to, x, g, m, s->mean, s->a, s->b, s->factor,
                                                       scale);
            cpu_single_write(q->loops, dtype, end, to, m);
        }
    }
}

/* A row with a scale for each element. */
static void layer_row(const plan *q, const char *const base[4], char *out, buffers *b,
                      double *const weight[2], statistics *s)
{
    const int dtype = q->p->dtype, once = q->p->n <= CPU_SINGLE_BLOCK;
    const char *scale_at = base[SCALE];
    const float *x = NULL, *g = NULL, *scale = NULL;
    double sums[CPU_SUMS] = {0};
    CPU_SINGLE_EACH(q->p->n, CPU_SINGLE_BLOCK, i, m)
    {
        x = read(q, base[X], i, m, b->x);
        g = read(q, base[G], i, m, b->g);
        scale = scale_at ? read(q, scale_at, i, m, b->scale) : NULL;
        q->loops->products(x, g, scale, m, s->shift, sums);
    }
    finish(q, sums, s);
    CPU_SINGLE_EACH(q->p->n, CPU_SINGLE_BLOCK, i, m)
    {
        if (!once) {
            x = read(q, base[X], i, m, b->x);
            g = read(q, base[G], i, m, b->g);
            scale = scale_at ? read(q, scale_at, i, m, b->scale) : NULL;
        }
        double *const there[2] = {weight[0] ? weight[0] + i : NULL,
                                  weight[1] ? weight[1] + i : NULL};
        char *end = out + cpu_single_bytes(dtype, i);
        float *to = cpu_single_place(dtype, end, b->y);
        q->loops->grad_row[cpu_single_rounding(dtype)](to, x, g, m, s->mean, s->a, s->b, s->factor,
                                                       scale, there);
        cpu_single_write(q->loops, dtype, end, to, m);
    }
}

/* Rows of softmax and log_softmax. */
static void softmax_row(const plan *q, const char *const base[4], char *out, buffers *b)
{
    const int dtype = q->p->dtype, rounding = cpu_single_rounding(dtype);
    const int log_of = q->p->op == NDP_OP_log_softmax_grad, once = q->p->n <= CPU_SINGLE_BLOCK;
    const float *x = NULL, *g = NULL;
    double sum = 0;
    CPU_SINGLE_EACH(q->p->n, CPU_SINGLE_BLOCK, i, m)
    {
        g = read(q, base[G], i, m, b->g);
        x = once || !log_of ? read(q, base[X], i, m, b->x) : NULL;
        sum += log_of ? q->loops->sum(g, m) : q->loops->dot(x, g, m);
    }
    CPU_SINGLE_EACH(q->p->n, CPU_SINGLE_BLOCK, i, m)
    {
        char *end = out + cpu_single_bytes(dtype, i);
        float *to = cpu_single_place(dtype, end, b->y);
        if (!once) {
            x = read(q, base[X], i, m, b->x);
            g = read(q, base[G], i, m, b->g);
        }
        (log_of ? q->loops->less_exp : q->loops->times_less)[rounding](to, x, g, m, sum);
        cpu_single_write(q->loops, dtype, end, to, m);
    }
}

/* Rows begin..end; weight: what layers add to. */
static void some_rows(const plan *q, int64_t begin, int64_t end, double *const weight[2])
{
    const cpu_norm_grad_plan *p = q->p;
    buffers b;
    cpu_place row;
    cpu_place_seek(&row, &q->cut.rows, begin);
    for (int64_t u = begin; u < end; u++, cpu_place_step(&row, 1)) {
        const char *const base[4] = {p->base[X] + row.offset[X], p->base[G] + row.offset[G], NULL,
                                     p->base[SCALE] ? p->base[SCALE] + row.offset[SCALE] : NULL};
        char *out = p->base[OUT] + row.offset[OUT];
        statistics s = {.shift = q->centred ? cpu_single_number(q->loops, p->dtype, base[X]) : 0};
        if (q->way == CPU_SINGLE_LAYERS) {
            layer_row(q, base, out, &b, weight, &s);
        } else if (q->way == CPU_SINGLE_SOFTMAX) {
            softmax_row(q, base, out, &b);
        } else {
            segment_sums(
                q, base, &b,
                q->partial ? q->partial + u * q->cut.segments.size * CPU_SINGLE_PARTIAL : NULL, &s);
            write_segments(q, base, out, &b, &s);
        }
    }
}

static void rows(void *ctx, int64_t begin, int64_t end)
{
    double *const none[2] = {NULL, NULL};
    some_rows(ctx, begin, end, none);
}

/* Units are parts of the rows. */
static void parts(void *ctx, int64_t begin, int64_t end)
{
    const plan *q = ctx;
    const int64_t n = q->p->n, all = q->cut.rows.size;
    for (int64_t part = begin; part < end; part++) {
        double *weight[2] = {q->partial + part * n * CPU_SINGLE_PARTIAL, NULL};
        weight[1] = weight[0] + n;
        memset(weight[0], 0, (size_t)(n * CPU_SINGLE_PARTIAL) * sizeof(double));
        some_rows(q, part * all / q->parts, (part + 1) * all / q->parts, weight);
    }
}

void cpu_single_grad_run(plan *q, const ndp_call *call)
{
    const cpu_norm_grad_plan *p = q->p;
    const int64_t inner = p->rows.shape[p->rows.ndim - 1];
    if (call->n_out > 1)
        q->partial = (double *)cpu_ptr(&call->scratch);
    int64_t grain = GRAIN / p->n;
    if (q->way == CPU_SINGLE_COLUMNS) {
        grain = GRAIN / (p->n * p->across);
        cpu_parallel(p->rows.size / inner * p->tiles, grain > 1 ? grain : 1,
                     cpu_single_grad_columns, q);
    } else if (q->way == CPU_SINGLE_LAYERS && q->partial) {
        cpu_parallel(q->parts, 1, parts, q);
    } else {
        cpu_parallel(p->rows.size, grain > 1 ? grain : 1, rows, q);
    }
    if (q->partial)
        cpu_single_weights(q, call);
}
