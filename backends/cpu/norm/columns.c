/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * group_norm of single precision and below, of rows that lie side by side in memory, each with one scale and
 * bias: lines of elements of many rows at a time. */
#include <math.h>
#include "norm/plan.h"
#include "norm/single_rows.h"

typedef struct {
    const norm_plan *p;
    const cpu_single_table *loops;
    const char *in;
    char *out;
    int64_t m; /* rows */
    double shift[CPU_NORM_WIDE], s[CPU_NORM_WIDE], q[CPU_NORM_WIDE];
    double mean[CPU_NORM_WIDE], variance[CPU_NORM_WIDE], factor[CPU_NORM_WIDE], bias[CPU_NORM_WIDE];
    float line[CPU_SINGLE_LINES][CPU_NORM_WIDE], made[CPU_NORM_WIDE];
} tile;

static const float *line_at(tile *t, const cpu_place *at, int i)
{
    return cpu_single_read(t->loops, t->p->dtype, t->in + at->offset[IN], t->m, t->line[i]);
}

static void find_sums(tile *t)
{
    const norm_plan *p = t->p;
    double *const sums[] = {t->s, t->q};
    const float *x[CPU_SINGLE_LINES];
    cpu_place at;
    cpu_place_seek(&at, &p->row, 0);
    x[0] = line_at(t, &at, 0);
    for (int64_t j = 0; j < t->m; j++) {
        t->shift[j] = (double)x[0][j];
        t->s[j] = t->q[j] = 0;
    }
    for (int64_t i = 0; i < p->n;) {
        const int lines = p->n - i >= CPU_SINGLE_LINES ? CPU_SINGLE_LINES : 1;
        for (int l = 0; l < lines; l++, cpu_place_step(&at, 1))
            x[l] = line_at(t, &at, l);
        t->loops->moment_lines(x, lines, t->m, t->shift, sums);
        i += lines;
    }
}

static void finish_sums(tile *t, cpu_place row)
{
    const norm_plan *p = t->p;
    for (int64_t j = 0; j < t->m; j++, cpu_place_step(&row, 1)) {
        const double sums[CPU_SUMS] = {t->s[j], t->q[j]};
        cpu_single_finish(t->shift[j], sums, (double)p->n, p->eps, 1, &t->mean[j], &t->variance[j],
                          &t->factor[j]);
        t->bias[j] = -0.0;
        if (p->base[SCALE])
            t->factor[j] *=
                cpu_single_number(t->loops, p->dtype, p->base[SCALE] + row.offset[SCALE]);
        if (p->base[BIAS])
            t->bias[j] = cpu_single_number(t->loops, p->dtype, p->base[BIAS] + row.offset[BIAS]);
        cpu_norm_store_moments(p, row.offset, t->mean[j], t->variance[j]);
    }
}

static void write_lines(tile *t)
{
    const norm_plan *p = t->p;
    cpu_place at;
    cpu_place_seek(&at, &p->row, 0);
    for (int64_t i = 0; i < p->n; i++, cpu_place_step(&at, 1)) {
        char *out = t->out + at.offset[OUT];
        float *to = cpu_single_place(p->dtype, out, t->made);
        t->loops->affine_line[cpu_single_rounding(p->dtype)](to, line_at(t, &at, 0), t->m, t->mean,
                                                             t->factor, t->bias);
        cpu_single_write(t->loops, p->dtype, out, to, t->m);
    }
}

/* Whether rows are dense side by side and their weights numbers. */
int cpu_norm_has_columns(const norm_plan *p)
{
    const int64_t bytes = cpu_single_bytes(p->dtype, 1);
    if (p->precise || !p->grouped || !p->tiles || cpu_walk_inner(&p->rows, IN) != bytes ||
        cpu_walk_inner(&p->rows, OUT) != bytes)
        return 0;
    for (int d = 0; d < p->row.ndim; d++)
        if (p->row.stride[SCALE][d] || p->row.stride[BIAS][d])
            return 0;
    return 1;
}

void cpu_norm_columns(void *ctx, int64_t begin, int64_t end)
{
    const norm_plan *p = ctx;
    tile t;
    t.p = p;
    t.loops = CPU_ISA_PICK(cpu_single_loops);
    for (int64_t u = begin; u < end; u++) {
        cpu_place row;
        (void)cpu_norm_seek_tile(&p->rows, p->tiles, p->across, u, &row, &t.m);
        t.in = p->base[IN] + row.offset[IN];
        t.out = p->base[OUT] + row.offset[OUT];
        find_sums(&t);
        finish_sums(&t, row);
        write_lines(&t);
    }
}
