/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Row normalisations of rows one by one. Rows are read into blocks of doubles that stay in L1, several
 * short ones at once; a row longer than a block is read again for each pass. */
#include "norm/lines.h"
#include "norm/plan.h"

enum { SHORT = 32 }; /* rows too short for a loop over exponentials of their own */

/* Elements from..from+n of a row of operand o, dense. */
static void read_row(const norm_plan *p, int o, const char *base, int64_t from, int64_t n,
                     double *dst)
{
    cpu_norm_read(p->loops, p->dtype, o > OUT ? &p->row : &p->line, o, base, from, n, dst);
}

static void write_row(const norm_plan *p, char *base, int64_t from, int64_t n, const double *src)
{
    cpu_norm_write(p->loops, p->dtype, &p->line, OUT, base, from, n, src);
}

/* By the sum of the exponentials. Single precision has bits to spare for a reciprocal. */
static void divide(const norm_plan *p, double *x, int64_t n, double sum)
{
    if (p->precise)
        p->loops->divide(x, n, sum);
    else
        p->loops->scale(x, n, 1 / sum);
}

/* ---- rows that fit a block ---- */
static void softmax_block(const norm_plan *p, double *x, double *other, int64_t rows)
{
    const cpu_norm_table *l = p->loops;
    int64_t n = p->n;
    for (int64_t r = 0; r < rows && n > SHORT; r++, x += n)
        divide(p, x, n, l->exp_sum[p->precise](x, n, l->max(x, n)));
    if (n > SHORT)
        return;
    /* Short rows share the loop over their exponentials. */
    for (int64_t r = 0; r < rows; r++)
        cpu_norm_fill(other + r * n, n, l->max(x + r * n, n));
    l->exp[p->precise](x, x, other, rows * n);
    for (int64_t r = 0; r < rows; r++)
        divide(p, x + r * n, n, l->sum(x + r * n, n));
}

static void log_softmax_block(const norm_plan *p, double *x, double *other, double *max,
                              int64_t rows)
{
    const cpu_norm_table *l = p->loops;
    int64_t n = p->n;
    for (int64_t r = 0; r < rows; r++) {
        max[r] = l->max(x + r * n, n);
        cpu_norm_fill(other + r * n, n, max[r]);
    }
    l->exp[p->precise](other, x, other, rows * n);
    for (int64_t r = 0; r < rows; r++) {
        double ones = 0, sum = l->sum_but_ones(other + r * n, n, &ones);
        l->subtract(x + r * n, n, max[r], log1p((ones - 1) + sum));
    }
}

static void moments_block(const norm_plan *p, double *x, int64_t rows, const double *scale,
                          const double *bias)
{
    for (int64_t r = 0; r < rows; r++, x += p->n) {
        double mean = 0, sum, squares;
        norm_statistics s;
        if (p->op == NDP_OP_layer_norm)
            mean = p->loops->sum(x, p->n) / (double)p->n;
        p->loops->squares(x, p->n, mean, &sum, &squares);
        cpu_norm_finish_moments(p, mean, p->op == NDP_OP_layer_norm ? sum : 0, squares, &s);
        p->loops->affine(x, p->n, s.mean, s.error, s.factor, scale, bias);
    }
}

static void short_rows(const norm_plan *p, int64_t begin, int64_t end)
{
    double x[BLOCK], other[BLOCK], bias[BLOCK];
    if (p->base[SCALE])
        read_row(p, SCALE, p->base[SCALE], 0, p->n, other);
    if (p->base[BIAS])
        read_row(p, BIAS, p->base[BIAS], 0, p->n, bias);
    cpu_place from, to;
    cpu_place_seek(&from, &p->rows, begin);
    to = from;
    for (int64_t u = begin, m; u < end; u += m) {
        m = end - u < p->batch ? end - u : p->batch;
        if (p->dense)
            p->loops->load[p->dtype](x, p->base[IN] + u * p->dense, p->dense / p->n, m * p->n);
        for (int64_t r = 0; r < m && !p->dense; r++, cpu_place_step(&from, 1))
            read_row(p, IN, p->base[IN] + from.offset[IN], 0, p->n, x + r * p->n);
        if (p->op == NDP_OP_softmax)
            softmax_block(p, x, other, m);
        else if (p->op == NDP_OP_log_softmax)
            log_softmax_block(p, x, other, bias, m);
        else
            moments_block(p, x, m, p->base[SCALE] ? other : NULL, p->base[BIAS] ? bias : NULL);
        if (p->dense)
            p->loops->store[p->dtype](p->base[OUT] + u * p->dense, p->dense / p->n, x, m * p->n);
        for (int64_t r = 0; r < m && !p->dense; r++, cpu_place_step(&to, 1))
            write_row(p, p->base[OUT] + to.offset[OUT], 0, p->n, x + r * p->n);
    }
}

/* ---- longer rows, block by block ---- */
static void long_softmax(const norm_plan *p, const char *in, double *x, double *other,
                         norm_statistics *s)
{
    s->max = -INFINITY;
    for (int64_t i = 0; i < p->n; i += BLOCK) {
        int64_t m = p->n - i < BLOCK ? p->n - i : BLOCK;
        read_row(p, IN, in, i, m, x);
        double most = p->loops->max(x, m);
        if (most > s->max) {
            double down = exp(s->max - most);
            s->sum = (s->sum + s->ones) * down;
            s->error *= down;
            s->ones = 0;
            s->max = most;
        }
        /* Before the first element above -inf nothing has weight, but a NaN must come through. */
        cpu_norm_fill(other, m, s->max > -INFINITY ? s->max : 0);
        p->loops->exp[p->precise](other, x, other, m);
        double more = p->loops->sum_but_ones(other, m, &s->ones);
        double sum = s->sum + more, b = sum - s->sum; /* Knuth's two-sum */
        s->error += (s->sum - (sum - b)) + (more - b);
        s->sum = sum;
    }
    s->sum = cpu_norm_whole(s->sum, s->error);
}

static void long_moments(const norm_plan *p, const char *in, double *x, norm_statistics *s)
{
    double total = 0, sum = 0, squares = 0;
    int centred = p->op == NDP_OP_layer_norm;
    for (int64_t i = 0; i < p->n && centred; i += BLOCK) {
        int64_t m = p->n - i < BLOCK ? p->n - i : BLOCK;
        read_row(p, IN, in, i, m, x);
        total += p->loops->sum(x, m);
    }
    double mean = total / (double)p->n;
    for (int64_t i = 0; i < p->n; i += BLOCK) {
        int64_t m = p->n - i < BLOCK ? p->n - i : BLOCK;
        double a, b;
        read_row(p, IN, in, i, m, x);
        p->loops->squares(x, m, mean, &a, &b);
        sum += a;
        squares += b;
    }
    cpu_norm_finish_moments(p, mean, centred ? sum : 0, squares, s);
}

static void long_row(const norm_plan *p, const char *in, char *out)
{
    double x[BLOCK], other[BLOCK], bias[BLOCK];
    int softmax = p->op == NDP_OP_softmax || p->op == NDP_OP_log_softmax;
    norm_statistics s = {0};
    if (softmax)
        long_softmax(p, in, x, other, &s);
    else
        long_moments(p, in, x, &s);
    for (int64_t i = 0; i < p->n; i += BLOCK) {
        int64_t m = p->n - i < BLOCK ? p->n - i : BLOCK;
        read_row(p, IN, in, i, m, x);
        if (p->base[SCALE])
            read_row(p, SCALE, p->base[SCALE], i, m, other);
        if (p->base[BIAS])
            read_row(p, BIAS, p->base[BIAS], i, m, bias);
        if (p->op == NDP_OP_softmax) {
            cpu_norm_fill(other, m, s.max);
            p->loops->exp[p->precise](x, x, other, m);
            divide(p, x, m, s.sum + s.ones);
        } else if (p->op == NDP_OP_log_softmax) {
            p->loops->subtract(x, m, s.max, log1p((s.ones - 1) + s.sum));
        } else {
            p->loops->affine(x, m, s.mean, s.error, s.factor, p->base[SCALE] ? other : NULL,
                             p->base[BIAS] ? bias : NULL);
        }
        write_row(p, out, i, m, x);
    }
}

/* ---- rows with weights of their own ---- */
static void grouped_row(const norm_plan *p, const int64_t *offset)
{
    double x[BLOCK], scale[BLOCK], bias[BLOCK], sum, squares;
    const char *in = p->base[IN] + offset[IN];
    norm_statistics s = {0};
    if (p->batch) {
        read_row(p, IN, in, 0, p->n, x);
        p->loops->squares(x, p->n, p->loops->sum(x, p->n) / (double)p->n, &sum, &squares);
        cpu_norm_finish_moments(p, p->loops->sum(x, p->n) / (double)p->n, sum, squares, &s);
    } else {
        long_moments(p, in, x, &s);
    }
    for (int64_t i = 0; i < p->n; i += BLOCK) {
        int64_t m = p->n - i < BLOCK ? p->n - i : BLOCK;
        if (!p->batch)
            read_row(p, IN, in, i, m, x);
        if (p->base[SCALE])
            read_row(p, SCALE, p->base[SCALE] + offset[SCALE], i, m, scale);
        if (p->base[BIAS])
            read_row(p, BIAS, p->base[BIAS] + offset[BIAS], i, m, bias);
        p->loops->affine(x, m, s.mean, s.error, s.factor, p->base[SCALE] ? scale : NULL,
                         p->base[BIAS] ? bias : NULL);
        write_row(p, p->base[OUT] + offset[OUT], i, m, x);
    }
    cpu_norm_store_moments(p, offset, s.mean + s.error, s.variance);
}

void cpu_norm_rows(void *ctx, int64_t begin, int64_t end)
{
    const norm_plan *p = ctx;
    cpu_place row;
    cpu_place_seek(&row, &p->rows, begin);
    if (p->grouped) {
        for (int64_t u = begin; u < end; u++, cpu_place_step(&row, 1))
            grouped_row(p, row.offset);
        return;
    }
    if (p->batch) {
        short_rows(p, begin, end);
        return;
    }
    for (int64_t u = begin; u < end; u++, cpu_place_step(&row, 1))
        long_row(p, p->base[IN] + row.offset[IN], p->base[OUT] + row.offset[OUT]);
}
