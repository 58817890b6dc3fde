/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Row normalisations of rows that lie side by side in memory: tiles of them are worked on a line of
 * elements at a time. */
#include "norm/plan.h"

typedef struct {
    const norm_plan *p;
    const char *in;
    char *out;
    const char *scale, *bias; /* of group_norm */
    int64_t m, step[4];       /* rows, and bytes from one to the next */
    int kept;                 /* all lines fit in x */
    double max[CPU_NORM_WIDE], sum[CPU_NORM_WIDE], ones[CPU_NORM_WIDE], squares[CPU_NORM_WIDE],
        mean[CPU_NORM_WIDE], error[CPU_NORM_WIDE], factor[CPU_NORM_WIDE];
    double x[KEEP];
} tile;

/* Line i of the tile: element i of each row. */
static double *tile_line(tile *t, int64_t i)
{
    return t->x + (t->kept ? i * t->m : 0);
}

/* A pass over all lines; what is kept need not be read again. */
typedef void (*tile_pass)(tile *t, const cpu_place *at, double *line);
static void tile_each(tile *t, tile_pass pass, int first)
{
    const norm_plan *p = t->p;
    cpu_place at;
    cpu_place_seek(&at, &p->row, 0);
    for (int64_t i = 0; i < p->n; i++, cpu_place_step(&at, 1)) {
        double *line = tile_line(t, i);
        if (first || !t->kept)
            p->loops->load[p->dtype](line, t->in + at.offset[IN], t->step[IN], t->m);
        pass(t, &at, line);
    }
}

static void tile_write(const tile *t, const cpu_place *at, const double *line)
{
    t->p->loops->store[t->p->dtype](t->out + at->offset[OUT], t->step[OUT], line, t->m);
}

static void pass_max(tile *t, const cpu_place *at, double *line)
{
    (void)at;
    t->p->loops->max_columns(t->max, line, t->m);
}

/* A kept line is replaced by its exponentials, but for log_softmax, which needs it. */
static void pass_exp(tile *t, const cpu_place *at, double *line)
{
    double aside[CPU_NORM_WIDE], *e = t->p->op == NDP_OP_log_softmax ? aside : line;
    (void)at;
    t->p->loops->exp[t->p->precise](e, line, t->max, t->m);
    t->p->loops->add_but_ones(t->sum, t->error, t->ones, e, t->m);
}

static void pass_softmax(tile *t, const cpu_place *at, double *line)
{
    if (!t->kept)
        t->p->loops->exp[t->p->precise](line, line, t->max, t->m);
    t->p->loops->divide_columns(line, t->sum, t->m);
    tile_write(t, at, line);
}

static void pass_log_softmax(tile *t, const cpu_place *at, double *line)
{
    t->p->loops->subtract_columns(line, t->max, t->sum, t->m);
    tile_write(t, at, line);
}

static void tile_softmax(tile *t)
{
    int log_of = t->p->op == NDP_OP_log_softmax;
    cpu_norm_fill(t->max, t->m, -INFINITY);
    cpu_norm_fill(t->sum, t->m, 0);
    cpu_norm_fill(t->error, t->m, 0);
    cpu_norm_fill(t->ones, t->m, 0);
    tile_each(t, pass_max, 1);
    tile_each(t, pass_exp, 0);
    for (int64_t j = 0; j < t->m; j++) {
        t->sum[j] = cpu_norm_whole(t->sum[j], t->error[j]);
        t->sum[j] = log_of ? log1p((t->ones[j] - 1) + t->sum[j]) : t->ones[j] + t->sum[j];
    }
    tile_each(t, log_of ? pass_log_softmax : pass_softmax, 0);
}

static void pass_mean(tile *t, const cpu_place *at, double *line)
{
    (void)at;
    t->p->loops->add_columns(t->mean, t->error, line, t->m);
}

static void pass_squares(tile *t, const cpu_place *at, double *line)
{
    (void)at;
    t->p->loops->square_columns(t->sum, t->squares, t->error, line, t->mean, t->m);
}

/* Each row of the tile has a scale and a bias of its own. */
static void grouped_columns(tile *t, const cpu_place *at, double *line)
{
    const norm_plan *p = t->p;
    double w[CPU_NORM_WIDE];
    p->loops->affine_columns(line, t->mean, t->error, t->factor, 1, -0.0, t->m);
    if (t->scale) {
        p->loops->load[p->dtype](w, t->scale + at->offset[SCALE], t->step[SCALE], t->m);
        p->loops->multiply(line, w, t->m);
    }
    if (t->bias) {
        p->loops->load[p->dtype](w, t->bias + at->offset[BIAS], t->step[BIAS], t->m);
        for (int64_t j = 0; j < t->m; j++)
            line[j] += w[j];
    }
    tile_write(t, at, line);
}

static void pass_affine(tile *t, const cpu_place *at, double *line)
{
    const norm_plan *p = t->p;
    double scale = 1, bias = -0.0; /* neutral in every bit */
    if (p->grouped) {
        grouped_columns(t, at, line);
        return;
    }
    if (p->base[SCALE])
        p->loops->load[p->dtype](&scale, p->base[SCALE] + at->offset[SCALE], 0, 1);
    if (p->base[BIAS])
        p->loops->load[p->dtype](&bias, p->base[BIAS] + at->offset[BIAS], 0, 1);
    p->loops->affine_columns(line, t->mean, t->error, t->factor, scale, bias, t->m);
    tile_write(t, at, line);
}

static void tile_moments(tile *t)
{
    const norm_plan *p = t->p;
    int centred = p->op == NDP_OP_layer_norm;
    cpu_norm_fill(t->mean, t->m, 0);
    cpu_norm_fill(t->sum, t->m, 0);
    cpu_norm_fill(t->squares, t->m, 0);
    cpu_norm_fill(t->error, t->m, 0);
    if (centred)
        tile_each(t, pass_mean, 1);
    for (int64_t j = 0; j < t->m; j++)
        t->mean[j] = cpu_norm_whole(t->mean[j], t->error[j]) / (double)p->n;
    cpu_norm_fill(t->error, t->m, 0);
    tile_each(t, pass_squares, !centred);
    for (int64_t j = 0; j < t->m; j++) {
        norm_statistics s;
        double squares = cpu_norm_whole(t->squares[j], t->error[j]);
        cpu_norm_finish_moments(p, t->mean[j], centred ? t->sum[j] : 0, squares, &s);
        t->error[j] = s.error;
        t->factor[j] = s.factor;
        t->squares[j] = s.variance;
    }
    tile_each(t, pass_affine, 0);
}

void cpu_norm_tiles(void *ctx, int64_t begin, int64_t end)
{
    const norm_plan *p = ctx;
    const cpu_walk *a = &p->rows;
    tile t;
    t.p = p;
    t.step[IN] = a->stride[IN][a->ndim - 1];
    t.step[OUT] = a->stride[OUT][a->ndim - 1];
    t.step[SCALE] = p->grouped ? a->stride[SCALE][a->ndim - 1] : 0;
    t.step[BIAS] = p->grouped ? a->stride[BIAS][a->ndim - 1] : 0;
    t.kept = p->across * p->n <= KEEP;
    for (int64_t u = begin; u < end; u++) {
        cpu_place row;
        (void)cpu_norm_seek_tile(a, p->tiles, p->across, u, &row, &t.m);
        t.in = p->base[IN] + row.offset[IN];
        t.out = p->base[OUT] + row.offset[OUT];
        t.scale = p->grouped && p->base[SCALE] ? p->base[SCALE] + row.offset[SCALE] : NULL;
        t.bias = p->grouped && p->base[BIAS] ? p->base[BIAS] + row.offset[BIAS] : NULL;
        if (p->op == NDP_OP_softmax || p->op == NDP_OP_log_softmax)
            tile_softmax(&t);
        else
            tile_moments(&t);
        for (int64_t j = 0; j < t.m && p->grouped; j++, cpu_place_step(&row, 1))
            cpu_norm_store_moments(p, row.offset, t.mean[j] + t.error[j], t.squares[j]);
    }
}
