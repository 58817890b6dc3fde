/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients of layer_norm and rms_norm of rows that lie side by side in memory: tiles of them are
 * worked on a line of elements at a time, in passes for the mean, for the sums, and for the result. */
#include <math.h>
#include "norm/grad.h"

typedef struct {
    const cpu_norm_grad_plan *p;
    cpu_place row;
    int64_t m, step[4]; /* rows, and bytes from one to the next */
    int centred;
    double mean[CPU_NORM_WIDE], error[CPU_NORM_WIDE], factor[CPU_NORM_WIDE];
    double sum[CPU_NORM_WIDE], squares[CPU_NORM_WIDE], lost[CPU_NORM_WIDE];
    double a[CPU_NORM_WIDE], a_lost[CPU_NORM_WIDE], b[CPU_NORM_WIDE], b_lost[CPU_NORM_WIDE];
    double x[CPU_NORM_WIDE], g[CPU_NORM_WIDE], other[CPU_NORM_WIDE];
} tile;

static void load(const tile *t, int o, const cpu_place *at, double *to)
{
    const cpu_norm_grad_plan *p = t->p;
    p->loops->load[p->dtype](to, p->base[o] + t->row.offset[o] + at->offset[o], t->step[o], t->m);
}

/* A line of g times scale. */
static void load_g(tile *t, const cpu_place *at)
{
    load(t, G, at, t->g);
    if (!t->p->base[SCALE])
        return;
    load(t, SCALE, at, t->other);
    t->p->loops->multiply(t->g, t->other, t->m);
}

static void zero(const tile *t, double *v)
{
    for (int64_t j = 0; j < t->m; j++)
        v[j] = 0;
}

static void find_mean(tile *t)
{
    const cpu_norm_grad_plan *p = t->p;
    cpu_place at;
    zero(t, t->mean);
    zero(t, t->lost);
    cpu_place_seek(&at, &p->row, 0);
    for (int64_t i = 0; i < p->n && t->centred; i++, cpu_place_step(&at, 1)) {
        load(t, X, &at, t->x);
        p->loops->add_columns(t->mean, t->lost, t->x, t->m);
    }
    for (int64_t j = 0; j < t->m; j++)
        t->mean[j] = cpu_norm_whole(t->mean[j], t->lost[j]) / (double)p->n;
}

/* Of the distances from the mean as it was computed: their sum and squares; of g: its sum, and that
 * of its products with them. */
static void find_sums(tile *t)
{
    const cpu_norm_grad_plan *p = t->p;
    double *const sums[] = {t->sum,    t->squares, t->lost,   t->a,
                            t->a_lost, t->b,       t->b_lost, t->error};
    cpu_place at;
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        zero(t, sums[i]);
    cpu_place_seek(&at, &p->row, 0);
    for (int64_t i = 0; i < p->n; i++, cpu_place_step(&at, 1)) {
        load(t, X, &at, t->x);
        load_g(t, &at);
        p->loops->square_columns(t->sum, t->squares, t->lost, t->x, t->mean, t->m);
        p->loops->add_columns(t->a, t->a_lost, t->g, t->m);
        p->loops->subtract_columns(t->x, t->mean, t->error, t->m);
        p->loops->multiply(t->x, t->g, t->m);
        p->loops->add_columns(t->b, t->b_lost, t->x, t->m);
    }
}

/* What the formula has for each row. */
static void finish_sums(tile *t)
{
    const double n = (double)t->p->n;
    for (int64_t j = 0; j < t->m; j++) {
        const double a = cpu_norm_whole(t->a[j], t->a_lost[j]),
                     squares = cpu_norm_whole(t->squares[j], t->lost[j]);
        const double sum = t->centred ? t->sum[j] : 0, error = sum / n;
        double b = cpu_norm_whole(t->b[j], t->b_lost[j]);
        /* The products are of distances that the error of the mean is yet to be taken off. */
        b -= a - a == 0 ? error * a : 0;
        t->error[j] = error;
        t->factor[j] = 1 / sqrt((squares - sum * error) / n + t->p->eps);
        t->a[j] = t->centred ? a / n : 0;
        t->b[j] = b / n * t->factor[j] * t->factor[j];
    }
}

static void write_lines(tile *t)
{
    const cpu_norm_grad_plan *p = t->p;
    cpu_place at;
    cpu_place_seek(&at, &p->row, 0);
    for (int64_t i = 0; i < p->n; i++, cpu_place_step(&at, 1)) {
        load(t, X, &at, t->x);
        load_g(t, &at);
        p->loops->affine_grad_columns(t->x, t->g, t->mean, t->error, t->a, t->b, t->factor, t->m);
        p->loops->store[p->dtype](p->base[OUT] + t->row.offset[OUT] + at.offset[OUT], t->step[OUT],
                                  t->x, t->m);
    }
}

void cpu_norm_grad_tiles(void *ctx, int64_t begin, int64_t end)
{
    const cpu_norm_grad_plan *p = ctx;
    tile t;
    t.p = p;
    t.centred = p->op == NDP_OP_layer_norm_grad;
    for (int o = 0; o < 4; o++)
        t.step[o] = cpu_walk_inner(&p->rows, o);
    for (int64_t u = begin; u < end; u++) {
        const int64_t first = cpu_norm_seek_tile(&p->rows, p->tiles, p->across, u, &t.row, &t.m);
        find_mean(&t);
        find_sums(&t);
        finish_sums(&t);
        write_lines(&t);
        for (int64_t j = 0; j < t.m && p->statistics; j++)
            cpu_norm_grad_keep(p, first + j, t.mean[j], t.error[j], t.factor[j]);
    }
}
