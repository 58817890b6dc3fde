/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * layer_norm, rms_norm and group_norm of single precision and below, of rows in runs of dense elements: one pass
 * finds a row's mean and variance, one makes the results. */
#include <math.h>
#include "norm/plan.h"
#include "norm/single_rows.h"

enum { GRAIN = 1 << 14 };

typedef struct {
    const cpu_single_table *loops;
    const norm_plan *p;
    cpu_single_cut cut;
    int by_rows; /* scale and bias are rows */
} plan;

typedef struct {
    float x[CPU_SINGLE_BLOCK], y[CPU_SINGLE_BLOCK], scale[CPU_SINGLE_BLOCK], bias[CPU_SINGLE_BLOCK];
} buffers;

static const float *read(const plan *q, const char *from, int64_t i, int64_t m, float *buffer)
{
    return cpu_single_read(q->loops, q->p->dtype, from + cpu_single_bytes(q->p->dtype, i), m,
                           buffer);
}

static void row_moments(const plan *q, const char *in, buffers *b, double *mean, double *variance,
                        double *factor)
{
    const int centred = q->p->op == NDP_OP_layer_norm;
    const double shift = centred ? cpu_single_number(q->loops, q->p->dtype, in) : 0;
    double sums[CPU_SUMS] = {0};
    cpu_place at;
    cpu_place_seek(&at, &q->cut.segments, 0);
    for (int64_t s = 0; s < q->cut.segments.size; s++, cpu_place_step(&at, 1))
        CPU_SINGLE_EACH(q->cut.run, CPU_SINGLE_BLOCK, i, m)
        {
            q->loops->moments(read(q, in + at.offset[IN], i, m, b->x), m, shift, sums);
        }
    cpu_single_finish(shift, sums, (double)q->p->n, q->p->eps, centred, mean, variance, factor);
}

/* The results of a segment. */
static void write_run(const plan *q, const int64_t *offset, buffers *b, double mean, double factor)
{
    const norm_plan *p = q->p;
    const char *scale = p->base[SCALE] ? p->base[SCALE] + offset[SCALE] : NULL;
    const char *bias = p->base[BIAS] ? p->base[BIAS] + offset[BIAS] : NULL;
    const int rounding = cpu_single_rounding(p->dtype);
    const double by =
        scale && !q->by_rows ? cpu_single_number(q->loops, p->dtype, scale) * factor : factor;
    const double add = bias && !q->by_rows ? cpu_single_number(q->loops, p->dtype, bias) : -0.0;
    CPU_SINGLE_EACH(q->cut.run, CPU_SINGLE_BLOCK, i, m)
    {
        const float *x = read(q, p->base[IN] + offset[IN], i, m, b->x);
        char *out = p->base[OUT] + offset[OUT] + cpu_single_bytes(p->dtype, i);
        float *to = cpu_single_place(p->dtype, out, b->y);
        if (q->by_rows)
            q->loops->affine_row[rounding](to, x, m, mean, factor,
                                           scale ? read(q, scale, i, m, b->scale) : NULL,
                                           bias ? read(q, bias, i, m, b->bias) : NULL);
        else
            q->loops->affine[rounding](to, x, m, mean, by, add);
        cpu_single_write(q->loops, p->dtype, out, to, m);
    }
}

static void rows(void *ctx, int64_t begin, int64_t end)
{
    const plan *q = ctx;
    buffers b;
    cpu_place row, at;
    cpu_place_seek(&row, &q->cut.rows, begin);
    for (int64_t u = begin; u < end; u++, cpu_place_step(&row, 1)) {
        double mean, variance, factor;
        row_moments(q, q->p->base[IN] + row.offset[IN], &b, &mean, &variance, &factor);
        cpu_place_seek(&at, &q->cut.segments, 0);
        for (int64_t s = 0; s < q->cut.segments.size; s++, cpu_place_step(&at, 1)) {
            int64_t offset[OPERANDS];
            for (int o = 0; o < OPERANDS; o++)
                offset[o] = row.offset[o] + at.offset[o];
            write_run(q, offset, &b, mean, factor);
        }
        cpu_norm_store_moments(q->p, row.offset, mean, variance);
    }
}

int cpu_norm_single(const norm_plan *p, const ndp_view *const *view, int kept)
{
    const unsigned rows_of = 1u << IN | 1u << OUT, weights = 1u << SCALE | 1u << BIAS;
    plan q = {.loops = CPU_ISA_PICK(cpu_single_loops), .p = p, .by_rows = !p->grouped};
    if (p->precise || p->tiles || p->op == NDP_OP_softmax || p->op == NDP_OP_log_softmax ||
        !cpu_single_cut_make(&q.cut, OPERANDS, view, rows_of | (q.by_rows ? weights : 0), kept))
        return 0;
    const int64_t grain = GRAIN / p->n;
    cpu_parallel(q.cut.rows.size, grain > 1 ? grain : 1, rows, &q);
    return 1;
}
