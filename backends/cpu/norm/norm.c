/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Row normalisations: softmax, log_softmax, layer_norm, rms_norm over the last dimensions; group_norm,
 * whose weights are of any.
 *
 * A row is the product of the reduced dimensions. Rows are read into blocks of doubles that stay in
 * L1, several short ones at once; a row longer than a block is read again for each pass. Where rows
 * lie side by side in memory, tiles of them are worked on a line of elements at a time. */
#include <math.h>
#include <stdio.h>
#include "walk/walk.h"
#include "norm/norm.h"

enum {
    BLOCK = 4096,   /* elements in flight */
    TILE = 64,      /* rows side by side */
    SHORT = 32,     /* rows too short for a loop over exponentials of their own */
    GRAIN = 1 << 14 /* elements that are worth waking a thread */
};
enum { KEEP = 16384 }; /* elements of a tile that are kept from pass to pass */
enum { IN, OUT, SCALE, BIAS, MEAN, VARIANCE, OPERANDS };

typedef struct {
    const cpu_norm_table *loops;
    cpu_walk rows, row;   /* bytes of all operands; of the row in, out, scale, bias */
    cpu_walk line;        /* the row of in and out alone, in the same order */
    char *base[OPERANDS]; /* those after out NULL where there is none */
    int op, dtype, precise;
    int grouped;    /* group_norm: rows differ in scale and bias, and say their mean and variance */
    int64_t n;      /* elements of a row */
    int64_t batch;  /* rows that fit a block, 0 when one does not */
    int64_t dense;  /* bytes of a row when all lie one after the other, in and out, else 0 */
    int64_t tiles;  /* of rows side by side in an innermost run, 0 when rows are taken one by one */
    int64_t across; /* rows of a tile */
    double eps;
} plan;

/* What a row's statistics make of its elements: (x - mean - error)*factor, or for the softmax
 * family the maximum, the sum of exponentials below 1, and how many are 1: with the ones apart,
 * log1p loses nothing where one element outweighs the rest. */
typedef struct {
    double max, sum, ones, mean, error, variance, factor;
} statistics;

static int dtype_index(int32_t dtype)
{
    switch (dtype) {
    case NDP_F16:
        return CPU_NORM_F16;
    case NDP_BF16:
        return CPU_NORM_BF16;
    case NDP_F32:
        return CPU_NORM_F32;
    default:
        return CPU_NORM_F64;
    }
}

static void plan_axes(plan *p, const ndp_view *view[OPERANDS], int n_reduced)
{
    const ndp_view *in = view[IN];
    int kept = in->ndim - n_reduced;
    cpu_walk_begin(&p->rows, p->grouped ? OPERANDS : 2);
    cpu_walk_begin(&p->row, 4);
    cpu_walk_begin(&p->line, 2);
    for (int d = 0; d < in->ndim; d++) {
        int64_t step[OPERANDS];
        for (int o = 0; o < OPERANDS; o++)
            step[o] = view[o] ? view[o]->stride[d] * ndp_dtype_size(view[o]->dtype) : 0;
        cpu_walk_add(d < kept ? &p->rows : &p->row, in->shape[d], step);
        if (d >= kept)
            cpu_walk_add(&p->line, in->shape[d], step);
    }
    cpu_walk_sort(&p->rows);
    cpu_walk_end(&p->rows);
    cpu_walk_sort(&p->row);
    cpu_walk_sort(&p->line);
    cpu_walk_end(&p->row);
    cpu_walk_end(&p->line);
}

static void plan_make(plan *p, const ndp_call *call)
{
    const ndp_norm *params = call->params;
    const ndp_view *in = &call->in[0], *view[OPERANDS] = {in, &call->out[0]};
    int64_t bytes = ndp_dtype_size(in->dtype);
    view[SCALE] = params->has_scale ? &call->in[1] : NULL;
    view[BIAS] = params->has_bias ? &call->in[call->n_in - 1] : NULL;
    p->grouped = call->op == NDP_OP_group_norm;
    for (uint32_t i = 1; i < call->n_out; i++)
        view[MEAN + i - 1] = &call->out[i];
    for (int o = 0; o < OPERANDS; o++)
        p->base[o] = view[o] ? cpu_ptr(view[o]) : NULL;
    p->loops = CPU_ISA_PICK(cpu_norm_loops);
    p->op = p->grouped ? NDP_OP_layer_norm : call->op;
    p->dtype = dtype_index(in->dtype);
    p->precise = in->dtype == NDP_F64;
    p->eps = params->eps;
    plan_axes(p, view, params->n_reduced);
    p->n = p->row.size;
    p->batch = p->n && p->n <= BLOCK ? BLOCK / p->n : 0;
    int64_t width = p->n * bytes, inner = p->rows.shape[p->rows.ndim - 1];
    p->dense = 0;
    if (p->row.ndim == 1 && p->rows.ndim == 1) {
        int one = p->n == 1 || (p->row.stride[IN][0] == bytes && p->row.stride[OUT][0] == bytes);
        int after = p->rows.stride[IN][0] == width && p->rows.stride[OUT][0] == width;
        p->dense = one && after ? width : 0;
    }
    uint64_t beside = ndp_magnitude(cpu_walk_inner(&p->rows, IN));
    p->tiles = 0;
    p->across = p->n <= KEEP / TILE ? TILE : p->n <= KEEP / 32 ? 32 : p->n <= KEEP / 16 ? 16 : TILE;
    if (inner >= 8 && p->n > 1 && ndp_magnitude(cpu_walk_inner(&p->row, IN)) > beside)
        p->tiles = (inner + p->across - 1) / p->across;
}

/* Elements from..from+n of a row of operand o, dense. */
static void read_row(const plan *p, int o, const char *base, int64_t from, int64_t n, double *dst)
{
    const cpu_walk *a = o > OUT ? &p->row : &p->line;
    cpu_place at;
    cpu_place_seek(&at, a, from);
    for (int64_t done = 0, m; done < n; done += m) {
        int64_t room = cpu_place_room(&at);
        m = room < n - done ? room : n - done;
        p->loops->load[p->dtype](dst + done, base + at.offset[o], a->stride[o][a->ndim - 1], m);
        cpu_place_step(&at, m);
    }
}

static void write_row(const plan *p, char *base, int64_t from, int64_t n, const double *src)
{
    const cpu_walk *a = &p->line;
    cpu_place at;
    cpu_place_seek(&at, a, from);
    for (int64_t done = 0, m; done < n; done += m) {
        int64_t room = cpu_place_room(&at);
        m = room < n - done ? room : n - done;
        p->loops->store[p->dtype](base + at.offset[OUT], a->stride[OUT][a->ndim - 1], src + done,
                                  m);
        cpu_place_step(&at, m);
    }
}

static void fill(double *dst, int64_t n, double v)
{
    for (int64_t i = 0; i < n; i++)
        dst[i] = v;
}

/* A sum with what it lost to rounding, which means nothing beside an infinity. */
static double whole(double sum, double error)
{
    return sum - sum == 0 ? sum + error : sum;
}

static void finish_moments(const plan *p, double mean, double sum, double squares, statistics *s)
{
    double n = (double)p->n;
    s->mean = mean;
    s->error = p->op == NDP_OP_layer_norm ? sum / n : 0;
    s->variance = (squares - sum * s->error) / n;
    s->factor = 1 / sqrt(s->variance + p->eps);
}

/* By the sum of the exponentials. Single precision has bits to spare for a reciprocal. */
static void divide(const plan *p, double *x, int64_t n, double sum)
{
    if (p->precise)
        p->loops->divide(x, n, sum);
    else
        p->loops->scale(x, n, 1 / sum);
}

/* ---- rows that fit a block ---- */
static void softmax_block(const plan *p, double *x, double *other, int64_t rows)
{
    const cpu_norm_table *l = p->loops;
    int64_t n = p->n;
    for (int64_t r = 0; r < rows && n > SHORT; r++, x += n)
        divide(p, x, n, l->exp_sum[p->precise](x, n, l->max(x, n)));
    if (n > SHORT)
        return;
    /* Short rows share the loop over their exponentials. */
    for (int64_t r = 0; r < rows; r++)
        fill(other + r * n, n, l->max(x + r * n, n));
    l->exp[p->precise](x, x, other, rows * n);
    for (int64_t r = 0; r < rows; r++)
        divide(p, x + r * n, n, l->sum(x + r * n, n));
}

static void log_softmax_block(const plan *p, double *x, double *other, double *max, int64_t rows)
{
    const cpu_norm_table *l = p->loops;
    int64_t n = p->n;
    for (int64_t r = 0; r < rows; r++) {
        max[r] = l->max(x + r * n, n);
        fill(other + r * n, n, max[r]);
    }
    l->exp[p->precise](other, x, other, rows * n);
    for (int64_t r = 0; r < rows; r++) {
        double ones = 0, sum = l->sum_but_ones(other + r * n, n, &ones);
        l->subtract(x + r * n, n, max[r], log1p((ones - 1) + sum));
    }
}

static void moments_block(const plan *p, double *x, int64_t rows, const double *scale,
                          const double *bias)
{
    for (int64_t r = 0; r < rows; r++, x += p->n) {
        double mean = 0, sum, squares;
        statistics s;
        if (p->op == NDP_OP_layer_norm)
            mean = p->loops->sum(x, p->n) / (double)p->n;
        p->loops->squares(x, p->n, mean, &sum, &squares);
        finish_moments(p, mean, p->op == NDP_OP_layer_norm ? sum : 0, squares, &s);
        p->loops->affine(x, p->n, s.mean, s.error, s.factor, scale, bias);
    }
}

static void short_rows(const plan *p, int64_t begin, int64_t end)
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
static void long_softmax(const plan *p, const char *in, double *x, double *other, statistics *s)
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
        fill(other, m, s->max > -INFINITY ? s->max : 0);
        p->loops->exp[p->precise](other, x, other, m);
        double more = p->loops->sum_but_ones(other, m, &s->ones);
        double sum = s->sum + more, b = sum - s->sum; /* Knuth's two-sum */
        s->error += (s->sum - (sum - b)) + (more - b);
        s->sum = sum;
    }
    s->sum = whole(s->sum, s->error);
}

static void long_moments(const plan *p, const char *in, double *x, statistics *s)
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
    finish_moments(p, mean, centred ? sum : 0, squares, s);
}

static void long_row(const plan *p, const char *in, char *out)
{
    double x[BLOCK], other[BLOCK], bias[BLOCK];
    int softmax = p->op == NDP_OP_softmax || p->op == NDP_OP_log_softmax;
    statistics s = {0};
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
            fill(other, m, s.max);
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
static void store_wide(const plan *p, char *to, double x)
{
    if (p->precise)
        *(double *)to = x;
    else
        *(float *)to = (float)x;
}

static void store_moments(const plan *p, const int64_t *offset, double mean, double variance)
{
    if (p->base[MEAN])
        store_wide(p, p->base[MEAN] + offset[MEAN], mean);
    if (p->base[VARIANCE])
        store_wide(p, p->base[VARIANCE] + offset[VARIANCE], variance);
}

static void grouped_row(const plan *p, const int64_t *offset)
{
    double x[BLOCK], scale[BLOCK], bias[BLOCK], sum, squares;
    const char *in = p->base[IN] + offset[IN];
    statistics s = {0};
    if (p->batch) {
        read_row(p, IN, in, 0, p->n, x);
        p->loops->squares(x, p->n, p->loops->sum(x, p->n) / (double)p->n, &sum, &squares);
        finish_moments(p, p->loops->sum(x, p->n) / (double)p->n, sum, squares, &s);
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
    store_moments(p, offset, s.mean + s.error, s.variance);
}

static void norm_rows(void *ctx, int64_t begin, int64_t end)
{
    const plan *p = ctx;
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

/* ---- rows side by side ---- */
typedef struct {
    const plan *p;
    const char *in;
    char *out;
    const char *scale, *bias; /* of group_norm */
    int64_t m, step[4];       /* rows, and bytes from one to the next */
    int kept;                 /* all lines fit in x */
    double max[TILE], sum[TILE], ones[TILE], squares[TILE], mean[TILE], error[TILE], factor[TILE];
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
    const plan *p = t->p;
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
    double aside[TILE], *e = t->p->op == NDP_OP_log_softmax ? aside : line;
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
    fill(t->max, t->m, -INFINITY);
    fill(t->sum, t->m, 0);
    fill(t->error, t->m, 0);
    fill(t->ones, t->m, 0);
    tile_each(t, pass_max, 1);
    tile_each(t, pass_exp, 0);
    for (int64_t j = 0; j < t->m; j++) {
        t->sum[j] = whole(t->sum[j], t->error[j]);
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
    const plan *p = t->p;
    double w[TILE];
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
    const plan *p = t->p;
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
    const plan *p = t->p;
    int centred = p->op == NDP_OP_layer_norm;
    fill(t->mean, t->m, 0);
    fill(t->sum, t->m, 0);
    fill(t->squares, t->m, 0);
    fill(t->error, t->m, 0);
    if (centred)
        tile_each(t, pass_mean, 1);
    for (int64_t j = 0; j < t->m; j++)
        t->mean[j] = whole(t->mean[j], t->error[j]) / (double)p->n;
    fill(t->error, t->m, 0);
    tile_each(t, pass_squares, !centred);
    for (int64_t j = 0; j < t->m; j++) {
        statistics s;
        double squares = whole(t->squares[j], t->error[j]);
        finish_moments(p, t->mean[j], centred ? t->sum[j] : 0, squares, &s);
        t->error[j] = s.error;
        t->factor[j] = s.factor;
        t->squares[j] = s.variance;
    }
    tile_each(t, pass_affine, 0);
}

static void norm_tiles(void *ctx, int64_t begin, int64_t end)
{
    const plan *p = ctx;
    const cpu_walk *a = &p->rows;
    int64_t inner = a->shape[a->ndim - 1];
    tile t;
    t.p = p;
    t.step[IN] = a->stride[IN][a->ndim - 1];
    t.step[OUT] = a->stride[OUT][a->ndim - 1];
    t.step[SCALE] = p->grouped ? a->stride[SCALE][a->ndim - 1] : 0;
    t.step[BIAS] = p->grouped ? a->stride[BIAS][a->ndim - 1] : 0;
    t.kept = p->across * p->n <= KEEP;
    for (int64_t u = begin; u < end; u++) {
        cpu_place row;
        cpu_place_seek(&row, a, u / p->tiles * inner + u % p->tiles * p->across);
        int64_t room = cpu_place_room(&row);
        t.m = room < p->across ? room : p->across;
        t.in = p->base[IN] + row.offset[IN];
        t.out = p->base[OUT] + row.offset[OUT];
        t.scale = p->grouped && p->base[SCALE] ? p->base[SCALE] + row.offset[SCALE] : NULL;
        t.bias = p->grouped && p->base[BIAS] ? p->base[BIAS] + row.offset[BIAS] : NULL;
        if (p->op == NDP_OP_softmax || p->op == NDP_OP_log_softmax)
            tile_softmax(&t);
        else
            tile_moments(&t);
        for (int64_t j = 0; j < t.m && p->grouped; j++, cpu_place_step(&row, 1))
            store_moments(p, row.offset, t.mean[j] + t.error[j], t.squares[j]);
    }
}

static int32_t run(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call)
{
    (void)kernel;
    (void)stream;
    plan p;
    plan_make(&p, call);
    if (p.rows.size == 0 || p.n == 0)
        return NDP_OK;
    int64_t units = p.rows.size, grain = GRAIN / p.n;
    if (p.tiles) {
        units = units / p.rows.shape[p.rows.ndim - 1] * p.tiles;
        grain = GRAIN / (p.n * p.across);
    }
    cpu_parallel(units, grain > 1 ? grain : 1, p.tiles ? norm_tiles : norm_rows, &p);
    return NDP_OK;
}

static const ndp_kernel the_kernel = {
    .size = sizeof(ndp_kernel),
    .max_ndim = NDP_MAX_NDIM,
    .run = run,
};

static uint64_t dtypes(int32_t op)
{
    return cpu_domain_dtypes(op);
}

static const ndp_kernel *find(const ndp_call *like, char *why, size_t n)
{
    int32_t dtype = like->in[0].dtype, same = like->out[0].dtype == dtype;
    for (uint32_t i = 1; i < like->n_in; i++)
        same &= like->in[i].dtype == dtype;
    if (dtype >= NDP_F16 && dtype <= NDP_F64 && same)
        return &the_kernel;
    snprintf(why, n, "the CPU plug-in has no %s from dtype %d to dtype %d", cpu_op_name(like->op),
             (int)dtype, (int)like->out[0].dtype);
    return NULL;
}

const cpu_class cpu_norm = {dtypes, find};
