/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients of the normalisations of single precision and below, of rows that lie side by side in memory, each with
 * one scale: lines of elements of many rows at a time. */
#include <math.h>
#include "norm/single_grad.h"

typedef struct {
    const cpu_single_grad_plan *q;
    cpu_place row; /* the first */
    int64_t m;     /* rows */
    double shift[CPU_NORM_WIDE], sum[CPU_SUMS][CPU_NORM_WIDE];
    double mean[CPU_NORM_WIDE], a[CPU_NORM_WIDE], b[CPU_NORM_WIDE], factor[CPU_NORM_WIDE];
    float x[CPU_SINGLE_LINES][CPU_NORM_WIDE], g[CPU_SINGLE_LINES][CPU_NORM_WIDE],
        made[CPU_NORM_WIDE];
} tile;

static const float *line_at(const tile *t, int o, const cpu_place *at, float *buffer)
{
    const cpu_norm_grad_plan *p = t->q->p;
    return cpu_single_read(t->q->loops, p->dtype, p->base[o] + t->row.offset[o] + at->offset[o],
                           t->m, buffer);
}

static void find_sums(tile *t)
{
    const cpu_norm_grad_plan *p = t->q->p;
    double *const sums[] = {t->sum[0], t->sum[1], t->sum[2], t->sum[3]};
    const float *x[CPU_SINGLE_LINES], *g[CPU_SINGLE_LINES];
    cpu_place at;
    cpu_place_seek(&at, &p->row, 0);
    x[0] = line_at(t, X, &at, t->x[0]);
    for (int64_t j = 0; j < t->m; j++) {
        t->shift[j] = t->q->centred ? (double)x[0][j] : 0;
        for (int k = 0; k < CPU_SUMS; k++)
            sums[k][j] = 0;
    }
    for (int64_t i = 0; i < p->n;) {
        const int lines = p->n - i >= CPU_SINGLE_LINES ? CPU_SINGLE_LINES : 1;
        for (int l = 0; l < lines; l++, cpu_place_step(&at, 1)) {
            x[l] = line_at(t, X, &at, t->x[l]);
            g[l] = line_at(t, G, &at, t->g[l]);
        }
        t->q->loops->product_lines(x, g, lines, t->m, t->shift, sums);
        i += lines;
    }
}

/* What the formula has for each row, and the row's part of the weights' gradients. */
static void finish_sums(tile *t, int64_t first)
{
    const cpu_single_grad_plan *q = t->q;
    const cpu_norm_grad_plan *p = q->p;
    const double n = (double)p->n;
    cpu_place row = t->row;
    for (int64_t j = 0; j < t->m; j++, cpu_place_step(&row, 1)) {
        const double sums[CPU_SUMS] = {t->sum[0][j], t->sum[1][j], t->sum[2][j], t->sum[3][j]};
        const double off = q->centred ? sums[CPU_SUM_D] / n : 0;
        const double gd = cpu_single_about(sums[CPU_SUM_GD], sums[CPU_SUM_G], off);
        double variance, factor, scale = 1;
        cpu_single_finish(t->shift[j], sums, n, p->eps, q->centred, &t->mean[j], &variance,
                          &factor);
        if (p->base[SCALE])
            scale = cpu_single_number(q->loops, p->dtype, p->base[SCALE] + row.offset[SCALE]);
        if (q->partial) {
            q->partial[(first + j) * CPU_SINGLE_PARTIAL] = gd * factor;
            q->partial[(first + j) * CPU_SINGLE_PARTIAL + 1] = sums[CPU_SUM_G];
        }
        t->factor[j] = scale * factor;
        t->a[j] = q->centred ? sums[CPU_SUM_G] / n * t->factor[j] : 0;
        t->b[j] = gd / n * factor * factor * t->factor[j];
    }
}

static void write_lines(tile *t)
{
    const cpu_norm_grad_plan *p = t->q->p;
    const cpu_single_table *loops = t->q->loops;
    cpu_place at;
    cpu_place_seek(&at, &p->row, 0);
    for (int64_t i = 0; i < p->n; i++, cpu_place_step(&at, 1)) {
        char *out = p->base[OUT] + t->row.offset[OUT] + at.offset[OUT];
        float *to = cpu_single_place(p->dtype, out, t->made);
        loops->grad_line[cpu_single_rounding(p->dtype)](to, line_at(t, X, &at, t->x[0]),
                                                        line_at(t, G, &at, t->g[0]), t->m, t->mean,
                                                        t->a, t->b, t->factor);
        cpu_single_write(loops, p->dtype, out, to, t->m);
    }
}

void cpu_single_grad_columns(void *ctx, int64_t begin, int64_t end)
{
    tile t = {.q = ctx};
    const cpu_norm_grad_plan *p = t.q->p;
    for (int64_t u = begin; u < end; u++) {
        const int64_t first = cpu_norm_seek_tile(&p->rows, p->tiles, p->across, u, &t.row, &t.m);
        find_sums(&t);
        finish_sums(&t, first);
        write_lines(&t);
    }
}
