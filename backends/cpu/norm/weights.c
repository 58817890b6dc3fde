/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients for scale and bias of normalisations: sums of g times the normalised x, and of g, over
 * the dimensions that the weights lack. Sums are cut into parts, whose number depends on extents
 * alone, so that few weights keep all threads busy. */
#include <string.h>
#include "norm/norm.h"
#include "walk/walk.h"

/* FEW: lines that are summed plainly, in half the time, before the sum carries its error. APART: of arrays of a
 * chunk, whose elements of one number would have the same last bits of their address at a distance of CHUNK, and so
 * wait for each other. */
enum { CHUNK = 512, APART = CHUNK + 16, BLOCK = 2048, FEW = 32, PART = 1 << 15, MOST_PARTS = 64 };
/* Operands: ROW counts rows in C order of the kept dimensions. */
enum { X, G, ROW, SCALE, BIAS, OPERANDS };

typedef struct {
    const cpu_norm_table *loops;
    cpu_walk weights, sums; /* bytes; rows */
    const char *x, *g;
    char *out[2]; /* for scale and bias; NULL: not wanted */
    const double *statistics;
    double *partial; /* of part i for weight w: 2 at (i*weights + w) */
    int dtype;
    int64_t rows, chunk, chunks, parts;
} plan;

static void plan_walks(plan *p, const ndp_call *call)
{
    const ndp_norm *params = call->params;
    const ndp_view *x = &call->in[1], *weight = &call->out[1];
    const int64_t bytes = ndp_dtype_size(x->dtype);
    int64_t row_step[NDP_MAX_NDIM];
    p->rows = 1;
    for (int d = x->ndim - 1; d >= 0; d--) {
        row_step[d] = d < x->ndim - params->n_reduced ? p->rows : 0;
        p->rows *= d < x->ndim - params->n_reduced ? x->shape[d] : 1;
    }
    cpu_walk_begin(&p->weights, OPERANDS);
    cpu_walk_begin(&p->sums, OPERANDS);
    for (int d = 0; d < x->ndim; d++) {
        const int64_t step[OPERANDS] = {x->stride[d] * bytes, call->in[0].stride[d] * bytes,
                                        row_step[d], weight->stride[d] * bytes,
                                        call->n_out > 2 ? call->out[2].stride[d] * bytes : 0};
        cpu_walk_add(weight->shape[d] == 1 ? &p->sums : &p->weights, x->shape[d], step);
    }
    cpu_walk_sort(&p->weights);
    cpu_walk_end(&p->weights);
    cpu_walk_sort(&p->sums);
    cpu_walk_end(&p->sums);
}

static void plan_make(plan *p, const ndp_call *call)
{
    plan_walks(p, call);
    const uint64_t across = ndp_magnitude(cpu_walk_inner(&p->weights, X));
    const int columns = p->sums.size == 1 || across < ndp_magnitude(cpu_walk_inner(&p->sums, X));
    p->chunk = columns ? CHUNK : 1;
    p->chunks = 1;
    for (int d = 0; d < p->weights.ndim; d++)
        p->chunks *= d + 1 < p->weights.ndim ? p->weights.shape[d]
                                             : (p->weights.shape[d] + p->chunk - 1) / p->chunk;
    const int64_t elements = p->weights.size * p->sums.size;
    p->parts = elements / PART < MOST_PARTS ? elements / PART : MOST_PARTS;
    p->parts = p->parts < p->sums.size ? p->parts : p->sums.size;
    p->parts = p->parts > 1 ? p->parts : 1;
}

int64_t cpu_norm_weights_scratch(const ndp_call *call)
{
    plan p;
    if (ndp_view_size(&call->in[1]) == 0)
        return 0;
    plan_make(&p, call);
    return p.rows * CPU_NORM_STATISTICS + p.parts * p.weights.size * 2;
}

/* Two sums, for scale and bias, with what rounding took from them: they may cancel. */
typedef struct {
    double sum[2], error[2];
} pair;

static void pair_add(const plan *p, pair *to, const double x[2])
{
    p->loops->add_columns(to->sum, to->error, x, 2);
}

/* Elements of one row, n of them along the sums: into s. */
static void add_run(const plan *p, const cpu_place *at, const cpu_place *w, int64_t n, pair *s)
{
    double x[BLOCK], g[BLOCK];
    const double *row = p->statistics + (at->offset[ROW] + w->offset[ROW]) * CPU_NORM_STATISTICS;
    p->loops->load[p->dtype](x, p->x + at->offset[X] + w->offset[X], cpu_walk_inner(&p->sums, X),
                             n);
    p->loops->load[p->dtype](g, p->g + at->offset[G] + w->offset[G], cpu_walk_inner(&p->sums, G),
                             n);
    p->loops->subtract(x, n, row[0], row[1]);
    pair_add(p, s, (double[2]){p->loops->dot(x, g, n) * row[2], p->loops->sum(g, n)});
}

/* n weights side by side: plain sums of the last few lines, those of all before with what rounding took
 * from them, and the statistics of the rows that are at hand. */
typedef struct {
    double few[2][APART], sum[2][APART], lost[2][APART];
    double x[APART], g[APART], mean[APART], error[APART], factor[APART];
    int64_t row; /* of the first weight; -1: none yet */
    int lines;   /* in few */
} columns;

static void columns_begin(columns *c, int64_t n)
{
    for (int k = 0; k < 2; k++) {
        memset(c->few[k], 0, (size_t)n * sizeof *c->few[k]);
        memset(c->sum[k], 0, (size_t)n * sizeof *c->sum[k]);
        memset(c->lost[k], 0, (size_t)n * sizeof *c->lost[k]);
    }
    c->row = -1;
    c->lines = 0;
}

static void columns_fold(const plan *p, columns *c, int64_t n)
{
    for (int k = 0; k < 2; k++) {
        p->loops->add_columns(c->sum[k], c->lost[k], c->few[k], n);
        memset(c->few[k], 0, (size_t)n * sizeof *c->few[k]);
    }
    c->lines = 0;
}

static void columns_statistics(columns *c, const double *row, int64_t step, int64_t n)
{
    for (int64_t j = 0; j < n; j++, row += step) {
        c->mean[j] = row[0];
        c->error[j] = row[1];
        c->factor[j] = row[2];
    }
}

/* One element for each. */
static void add_columns(const plan *p, const cpu_place *at, const cpu_place *w, int64_t n,
                        columns *c)
{
    const cpu_walk *walk = &p->weights;
    const int64_t step = cpu_walk_inner(walk, ROW) * CPU_NORM_STATISTICS;
    const int64_t first = at->offset[ROW] + w->offset[ROW];
    const double *row = p->statistics + first * CPU_NORM_STATISTICS;
    if (c->lines == FEW)
        columns_fold(p, c, n);
    c->lines++;
    p->loops->load[p->dtype](c->x, p->x + at->offset[X] + w->offset[X], cpu_walk_inner(walk, X), n);
    p->loops->load[p->dtype](c->g, p->g + at->offset[G] + w->offset[G], cpu_walk_inner(walk, G), n);
    if (step == 0) {
        p->loops->weigh(c->few[0], c->few[1], c->x, c->g, row[0], row[1], row[2], n);
        return;
    }
    if (c->row != first)
        columns_statistics(c, row, step, n);
    c->row = first;
    p->loops->weigh_columns(c->few[0], c->few[1], c->x, c->g, c->mean, c->error, c->factor, n);
}

/* Where chunk c of the weights begins; returns how many there are. */
static int64_t seek_chunk(const plan *p, int64_t c, cpu_place *w, int64_t *number)
{
    const int64_t inner = p->weights.shape[p->weights.ndim - 1];
    const int64_t each = (inner + p->chunk - 1) / p->chunk;
    *number = c / each * inner + c % each * p->chunk;
    cpu_place_seek(w, &p->weights, *number);
    const int64_t room = cpu_place_room(w);
    return room < p->chunk ? room : p->chunk;
}

/* Sums from..to of one weight, of rows as long as they are along them: into s. */
static void sum_runs(const plan *p, const cpu_place *w, int64_t from, int64_t to, double s[2])
{
    cpu_place at;
    pair all = {0};
    cpu_place_seek(&at, &p->sums, from);
    for (int64_t i = from, m; i < to; i += m, cpu_place_step(&at, m)) {
        m = cpu_place_room(&at) < to - i ? cpu_place_room(&at) : to - i;
        m = m < BLOCK ? m : BLOCK;
        add_run(p, &at, w, m, &all);
    }
    for (int k = 0; k < 2; k++)
        s[k] = cpu_norm_whole(all.sum[k], all.error[k]);
}

/* The same of n weights side by side. */
static void sum_columns(const plan *p, const cpu_place *w, int64_t n, int64_t from, int64_t to,
                        double (*s)[2])
{
    cpu_place at;
    columns c;
    columns_begin(&c, n);
    cpu_place_seek(&at, &p->sums, from);
    for (int64_t i = from; i < to; i++, cpu_place_step(&at, 1))
        add_columns(p, &at, w, n, &c);
    columns_fold(p, &c, n);
    for (int64_t j = 0; j < n; j++)
        for (int k = 0; k < 2; k++)
            s[j][k] = cpu_norm_whole(c.sum[k][j], c.lost[k][j]);
}

/* Task u is a part of a chunk. */
static void sum_parts(void *ctx, int64_t begin, int64_t end)
{
    const plan *p = ctx;
    const int along = p->chunk == 1 && cpu_walk_inner(&p->sums, ROW) == 0;
    for (int64_t u = begin; u < end; u++) {
        const int64_t part = u / p->chunks, size = p->sums.size;
        const int64_t from = part * size / p->parts, to = (part + 1) * size / p->parts;
        cpu_place w;
        int64_t number;
        const int64_t n = seek_chunk(p, u % p->chunks, &w, &number);
        double(*s)[2] = (double(*)[2])p->partial + part * p->weights.size + number;
        if (along)
            sum_runs(p, &w, from, to, *s);
        else
            sum_columns(p, &w, n, from, to, s);
    }
}

static void write_weights(const plan *p)
{
    cpu_place w;
    cpu_place_seek(&w, &p->weights, 0);
    for (int64_t i = 0; i < p->weights.size; i++, cpu_place_step(&w, 1)) {
        pair all = {0};
        for (int64_t part = 0; part < p->parts; part++)
            pair_add(p, &all, p->partial + (part * p->weights.size + i) * 2);
        for (int k = 0; k < 2; k++) {
            const double s = cpu_norm_whole(all.sum[k], all.error[k]);
            if (p->out[k])
                p->loops->store[p->dtype](p->out[k] + w.offset[SCALE + k], 0, &s, 1);
        }
    }
}

void cpu_norm_weights(const cpu_norm_table *loops, int dtype, const ndp_call *call)
{
    plan p;
    plan_make(&p, call);
    p.loops = loops;
    p.dtype = dtype;
    p.x = cpu_ptr(&call->in[1]);
    p.g = cpu_ptr(&call->in[0]);
    p.statistics = (const double *)cpu_ptr(&call->scratch);
    p.partial = (double *)cpu_ptr(&call->scratch) + p.rows * CPU_NORM_STATISTICS;
    for (int k = 0; k < 2; k++)
        p.out[k] = call->n_out > (uint32_t)k + 1 ? cpu_ptr(&call->out[k + 1]) : NULL;
    const int64_t each = p.sums.size / p.parts * p.chunk, grain = PART / (each > 0 ? each : 1);
    cpu_parallel(p.chunks * p.parts, grain > 1 ? grain : 1, sum_parts, &p);
    write_weights(&p);
}
