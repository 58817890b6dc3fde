/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * softmax and log_softmax of single precision and below: of dense rows, and of rows that lie dense side by side. */
#include <math.h>
#include "norm/plan.h"
#include "norm/single_rows.h"

enum {
    GRAIN = 1 << 14, /* elements of a task */
    FINE = GRAIN / 4 /* of one where each thread has a task at most */
};

typedef struct {
    const cpu_single_table *loops;
    const norm_plan *p;
    cpu_single_cut cut;
} plan;

/* ---- rows ---- */

typedef struct {
    float x[CPU_SINGLE_LONG], y[CPU_SINGLE_LONG];
    double e[CPU_SINGLE_LONG];
} buffers;

static const float *read(const plan *q, const char *from, int64_t i, int64_t m, float *buffer)
{
    return cpu_single_read(q->loops, q->p->dtype, from + cpu_single_bytes(q->p->dtype, i), m,
                           buffer);
}

static double largest(const plan *q, const char *in, buffers *b)
{
    float max = -INFINITY;
    CPU_SINGLE_EACH(q->p->n, CPU_SINGLE_LONG, i, m)
    {
        const float most = q->loops->max(read(q, in, i, m, b->x), m);
        max = most > max ? most : max;
    }
    return (double)max;
}

/* A block that was read before: the only one is there yet. */
static const float *again(const plan *q, const char *in, int64_t i, int64_t m, buffers *b)
{
    return q->p->batch && q->p->dtype != CPU_NORM_F32 ? b->x : read(q, in, i, m, b->x);
}

/* Exponentials of a block, whose elements are at `at`; meanwhile memory is asked for what the next row, `next` bytes
 * on, has there. */
static void exps_ahead(const plan *q, const float *x, int64_t n, double max, const char *at,
                       int64_t next, buffers *b)
{
    enum { SOME = 256, LINE = 64 };
    CPU_SINGLE_EACH(n, SOME, i, m)
    {
        const int64_t from = cpu_single_bytes(q->p->dtype, i),
                      bytes = next ? cpu_single_bytes(q->p->dtype, m) : 0;
        for (int64_t l = 0; l < bytes; l += LINE)
            __builtin_prefetch(at + next + from + l);
        q->loops->exps(b->e + i, x + i, m, max);
    }
}

/* The exponentials of a row that fits one block stay in e, and its elements in x. next: bytes to the next row, 0 where
 * there is none. */
static void some_row(const plan *q, const char *in, char *out, int64_t next, buffers *b)
{
    const norm_plan *p = q->p;
    const int rounding = cpu_single_rounding(p->dtype), log_of = p->op == NDP_OP_log_softmax;
    const double max = largest(q, in, b);
    double sum = 0, ones = 0;
    CPU_SINGLE_EACH(p->n, CPU_SINGLE_LONG, i, m)
    {
        exps_ahead(q, again(q, in, i, m, b), m, max, in + cpu_single_bytes(p->dtype, i), next, b);
        sum += log_of ? q->loops->sum_but_ones(b->e, m, &ones) : p->loops->sum(b->e, m);
    }
    const double by = log_of ? log1p((ones - 1) + sum) : 1 / sum;
    CPU_SINGLE_EACH(p->n, CPU_SINGLE_LONG, i, m)
    {
        char *end = out + cpu_single_bytes(p->dtype, i);
        float *to = cpu_single_place(p->dtype, end, b->y);
        const float *x = again(q, in, i, m, b);
        if (!log_of && !p->batch)
            q->loops->exps(b->e, x, m, max);
        if (log_of)
            q->loops->minus[rounding](to, x, m, max, by);
        else
            q->loops->scaled[rounding](to, b->e, m, by);
        cpu_single_write(q->loops, p->dtype, end, to, m);
    }
}

static void rows(void *ctx, int64_t begin, int64_t end)
{
    const plan *q = ctx;
    buffers b;
    cpu_place row;
    cpu_place_seek(&row, &q->cut.rows, begin);
    for (int64_t u = begin; u < end; u++) {
        const cpu_place at = row;
        cpu_place_step(&row, 1);
        some_row(q, q->p->base[IN] + at.offset[IN], q->p->base[OUT] + at.offset[OUT],
                 u + 1 < q->cut.rows.size ? row.offset[IN] - at.offset[IN] : 0, &b);
    }
}

/* Of n elements. Where threads have one task each or none, tasks are finer, so that others do what a late one would. */
static int64_t task_elements(int64_t n)
{
    return n <= GRAIN || n / GRAIN >= 2 * cpu_threads() ? GRAIN : FINE;
}

int cpu_norm_softmax_rows(const norm_plan *p, const ndp_view *const *view, int kept)
{
    plan q = {.loops = CPU_ISA_PICK(cpu_single_loops), .p = p};
    if (p->precise || p->tiles || (p->op != NDP_OP_softmax && p->op != NDP_OP_log_softmax) ||
        !cpu_single_cut_make(&q.cut, OUT + 1, view, 1u << IN | 1u << OUT, kept) ||
        q.cut.segments.size != 1)
        return 0;
    const int64_t grain = task_elements(q.cut.rows.size * p->n) / p->n;
    cpu_parallel(q.cut.rows.size, grain > 1 ? grain : 1, rows, &q);
    return 1;
}

/* ---- columns ---- */

typedef struct {
    const norm_plan *p;
    const cpu_single_table *loops;
    const char *in;
    char *out;
    int64_t m; /* rows */
    int kept;  /* exponentials of all lines fit in e */
    float max[CPU_NORM_WIDE], line[CPU_NORM_WIDE], made[CPU_NORM_WIDE];
    double sum[CPU_NORM_WIDE], ones[CPU_NORM_WIDE], aside[2][CPU_NORM_WIDE];
    double e[KEEP];
} tile;

static const float *line_at(tile *t, const cpu_place *at)
{
    return cpu_single_read(t->loops, t->p->dtype, t->in + at->offset[IN], t->m, t->line);
}

static void find_sums(tile *t)
{
    double *const sums[2] = {t->sum, t->ones};
    cpu_place at;
    for (int64_t j = 0; j < t->m; j++) {
        t->max[j] = -INFINITY;
        t->sum[j] = t->ones[j] = 0;
    }
    cpu_place_seek(&at, &t->p->row, 0);
    for (int64_t i = 0; i < t->p->n; i++, cpu_place_step(&at, 1))
        t->loops->max_line(t->max, line_at(t, &at), t->m);
    cpu_place_seek(&at, &t->p->row, 0);
    for (int64_t i = 0; i < t->p->n; i++, cpu_place_step(&at, 1))
        t->loops->exps_line(t->e + (t->kept ? i * t->m : 0), line_at(t, &at), t->m, t->max, sums);
}

static void write_lines(tile *t)
{
    const norm_plan *p = t->p;
    const int rounding = cpu_single_rounding(p->dtype), log_of = p->op == NDP_OP_log_softmax;
    double *const aside[2] = {t->aside[0], t->aside[1]};
    cpu_place at;
    for (int64_t j = 0; j < t->m; j++)
        t->sum[j] = log_of ? log1p((t->ones[j] - 1) + t->sum[j]) : 1 / (t->ones[j] + t->sum[j]);
    cpu_place_seek(&at, &p->row, 0);
    for (int64_t i = 0; i < p->n; i++, cpu_place_step(&at, 1)) {
        char *out = t->out + at.offset[OUT];
        float *to = cpu_single_place(p->dtype, out, t->made);
        double *e = t->e + (t->kept ? i * t->m : 0);
        if (!log_of && !t->kept)
            t->loops->exps_line(e, line_at(t, &at), t->m, t->max, aside);
        if (log_of)
            t->loops->minus_line[rounding](to, line_at(t, &at), t->m, t->max, t->sum);
        else
            t->loops->scaled_line[rounding](to, e, t->m, t->sum);
        cpu_single_write(t->loops, p->dtype, out, to, t->m);
    }
}

int cpu_norm_has_softmax_columns(const norm_plan *p)
{
    const int64_t bytes = cpu_single_bytes(p->dtype, 1);
    return !p->precise && p->tiles && (p->op == NDP_OP_softmax || p->op == NDP_OP_log_softmax) &&
           cpu_walk_inner(&p->rows, IN) == bytes && cpu_walk_inner(&p->rows, OUT) == bytes;
}

void cpu_norm_softmax_columns(void *ctx, int64_t begin, int64_t end)
{
    const norm_plan *p = ctx;
    tile t;
    t.p = p;
    t.loops = CPU_ISA_PICK(cpu_single_loops);
    t.kept = p->op == NDP_OP_softmax && p->across * p->n <= KEEP;
    for (int k = 0; k < 2; k++)
        for (int64_t j = 0; j < CPU_NORM_WIDE; j++)
            t.aside[k][j] = 0;
    for (int64_t u = begin; u < end; u++) {
        cpu_place row;
        (void)cpu_norm_seek_tile(&p->rows, p->tiles, p->across, u, &row, &t.m);
        t.in = p->base[IN] + row.offset[IN];
        t.out = p->base[OUT] + row.offset[OUT];
        find_sums(&t);
        write_lines(&t);
    }
}
