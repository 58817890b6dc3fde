/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * batch_norm: rows whose mean and variance are given, so that one pass over them is all. A unit of work is a
 * piece of one row, or lines of rows that lie side by side. Computed in single precision but for
 * f64, with numbers of a row that are found in double: the same bits whatever the layout. */
#include <math.h>
#include "copy/copy.h"
#include "norm/plan.h"
#include "norm/single_rows.h"

enum { PIECE = 1 << 14 }; /* elements of a unit */

typedef struct {
    const norm_plan *p;
    const cpu_single_table *single;
    const cpu_copy_loops *around; /* of the caches, where the result exceeds them; else NULL */
    int64_t piece, pieces;        /* elements, or lines, of a unit; units of a row or of a tile */
} plan;

/* (x - mean)*by + bias */
typedef struct {
    double mean, by, bias;
} affine;

static double number(const norm_plan *p, int o, const int64_t *offset, int wide, double absent)
{
    double x = absent;
    const int dtype = !wide ? p->dtype : p->precise ? CPU_NORM_F64 : CPU_NORM_F32;
    if (p->base[o])
        p->loops->load[dtype](&x, p->base[o] + offset[o], 0, 1);
    return x;
}

/* Of the row at those offsets. */
static affine affine_of(const norm_plan *p, const int64_t *offset)
{
    const double variance = number(p, VARIANCE, offset, 1, 0);
    return (affine){.mean = number(p, MEAN, offset, 1, 0),
                    .by = number(p, SCALE, offset, 0, 1) / sqrt(variance + p->eps),
                    .bias = number(p, BIAS, offset, 0, -0.0)}; /* neutral in every bit */
}

/* Whether m elements lie dense in both operands, and are of single precision or below. */
static int is_dense(const norm_plan *p, const int64_t step[2])
{
    const int64_t bytes = cpu_single_bytes(p->dtype, 1);
    return !p->precise && step[IN] == bytes && step[OUT] == bytes;
}

/* Where m results are made, and how they get to `to` from there. */
static float *place(const plan *q, char *to, float *buffer)
{
    return q->around ? buffer : cpu_single_place(q->p->dtype, to, buffer);
}

static void write(const plan *q, char *to, const float *made, int64_t m)
{
    uint16_t narrow[CPU_SINGLE_BLOCK];
    const int dtype = q->p->dtype;
    if (!q->around) {
        cpu_single_write(q->single, dtype, to, made, m);
        return;
    }
    if (dtype != CPU_NORM_F32)
        cpu_single_write(q->single, dtype, (char *)narrow, made, m);
    q->around->stream(to, dtype == CPU_NORM_F32 ? (const char *)made : (const char *)narrow,
                      cpu_single_bytes(dtype, m));
}

/* ---- rows one by one ---- */
static void dense_run(const plan *q, const char *in, char *out, int64_t n, const affine *a)
{
    const norm_plan *p = q->p;
    float x[CPU_SINGLE_BLOCK], y[CPU_SINGLE_BLOCK];
    CPU_SINGLE_EACH(n, CPU_SINGLE_BLOCK, i, m)
    {
        const int64_t at = cpu_single_bytes(p->dtype, i);
        float *to = place(q, out + at, y);
        q->single->given(to, cpu_single_read(q->single, p->dtype, in + at, m, x), m, (float)a->mean,
                         (float)a->by, (float)a->bias);
        write(q, out + at, to, m);
    }
}

/* As the loops over dense floats have it. */
static double single(double x, float mean, float by, float bias)
{
    return ((float)x - mean) * by + bias;
}

static void run_of(const norm_plan *p, const char *in, char *out, const int64_t step[2], int64_t n,
                   const affine *a)
{
    double x[CPU_SINGLE_BLOCK];
    CPU_SINGLE_EACH(n, CPU_SINGLE_BLOCK, i, m)
    {
        p->loops->load[p->dtype](x, in + i * step[IN], step[IN], m);
        for (int64_t j = 0; j < m; j++)
            x[j] = p->precise ? (x[j] - a->mean) * a->by + a->bias
                              : single(x[j], (float)a->mean, (float)a->by, (float)a->bias);
        p->loops->store[p->dtype](out + i * step[OUT], step[OUT], x, m);
    }
}

static void rows(void *ctx, int64_t begin, int64_t end)
{
    const plan *q = ctx;
    const norm_plan *p = q->p;
    const int64_t step[2] = {cpu_walk_inner(&p->line, IN), cpu_walk_inner(&p->line, OUT)};
    const int dense = is_dense(p, step);
    for (int64_t u = begin; u < end; u++) {
        const int64_t first = u % q->pieces * q->piece, rest = p->n - first;
        const int64_t n = rest < q->piece ? rest : q->piece;
        cpu_place row, at;
        cpu_place_seek(&row, &p->rows, u / q->pieces);
        cpu_place_seek(&at, &p->line, first);
        const affine a = affine_of(p, row.offset);
        for (int64_t i = 0, m; i < n; i += m, cpu_place_step(&at, m)) {
            const int64_t room = cpu_place_room(&at);
            const char *in = p->base[IN] + row.offset[IN] + at.offset[IN];
            char *out = p->base[OUT] + row.offset[OUT] + at.offset[OUT];
            m = room < n - i ? room : n - i;
            if (dense)
                dense_run(q, in, out, m, &a);
            else
                run_of(p, in, out, step, m, &a);
        }
    }
    if (q->around)
        q->around->fence();
}

/* ---- rows side by side ---- */
typedef struct {
    double mean[CPU_NORM_WIDE], by[CPU_NORM_WIDE], bias[CPU_NORM_WIDE], x[CPU_NORM_WIDE];
    float means[CPU_NORM_WIDE], factors[CPU_NORM_WIDE], biases[CPU_NORM_WIDE];
    float line[CPU_NORM_WIDE], made[CPU_NORM_WIDE];
} tile;

static void find_affines(const norm_plan *p, cpu_place row, int64_t m, tile *t)
{
    for (int64_t j = 0; j < m; j++, cpu_place_step(&row, 1)) {
        const affine a = affine_of(p, row.offset);
        t->mean[j] = a.mean;
        t->by[j] = a.by;
        t->bias[j] = a.bias;
        t->means[j] = (float)a.mean;
        t->factors[j] = (float)a.by;
        t->biases[j] = (float)a.bias;
    }
}

static void dense_line(const plan *q, tile *t, const char *in, char *out, int64_t m)
{
    const int dtype = q->p->dtype;
    float *to = place(q, out, t->made);
    q->single->given_line(to, cpu_single_read(q->single, dtype, in, m, t->line), m, t->means,
                          t->factors, t->biases);
    write(q, out, to, m);
}

static void line_of(const norm_plan *p, tile *t, const char *in, char *out, const int64_t step[2],
                    int64_t m)
{
    p->loops->load[p->dtype](t->x, in, step[IN], m);
    for (int64_t j = 0; j < m; j++)
        t->x[j] = p->precise ? (t->x[j] - t->mean[j]) * t->by[j] + t->bias[j]
                             : single(t->x[j], t->means[j], t->factors[j], t->biases[j]);
    p->loops->store[p->dtype](out, step[OUT], t->x, m);
}

/* How many lines lie behind each other in both operands, so that they may be taken as one; the numbers of the
 * rows are repeated for them. */
static int64_t lines_at_once(const norm_plan *p, int64_t m, tile *t)
{
    const int64_t bytes = cpu_single_bytes(p->dtype, m), most = CPU_NORM_WIDE / m;
    if (p->line.ndim != 1 || cpu_walk_inner(&p->line, IN) != bytes ||
        cpu_walk_inner(&p->line, OUT) != bytes)
        return 1;
    for (int64_t j = m; j < most * m; j++) {
        t->means[j] = t->means[j - m];
        t->factors[j] = t->factors[j - m];
        t->biases[j] = t->biases[j - m];
    }
    return most;
}

static void tiles(void *ctx, int64_t begin, int64_t end)
{
    const plan *q = ctx;
    const norm_plan *p = q->p;
    const int64_t step[2] = {cpu_walk_inner(&p->rows, IN), cpu_walk_inner(&p->rows, OUT)};
    const int dense = is_dense(p, step);
    int64_t known = -1, m = 0, most = 1;
    cpu_place row, at;
    tile t;
    for (int64_t u = begin; u < end; u++) {
        const int64_t first = u % q->pieces * q->piece, rest = p->n - first;
        const int64_t n = rest < q->piece ? rest : q->piece;
        if (u / q->pieces != known) {
            known = u / q->pieces;
            (void)cpu_norm_seek_tile(&p->rows, p->tiles, p->across, known, &row, &m);
            find_affines(p, row, m, &t);
            most = dense ? lines_at_once(p, m, &t) : 1;
        }
        cpu_place_seek(&at, &p->line, first);
        for (int64_t i = 0, lines; i < n; i += lines, cpu_place_step(&at, lines)) {
            const char *in = p->base[IN] + row.offset[IN] + at.offset[IN];
            char *out = p->base[OUT] + row.offset[OUT] + at.offset[OUT];
            lines = most < n - i ? most : n - i;
            if (dense)
                dense_line(q, &t, in, out, lines * m);
            else
                line_of(p, &t, in, out, step, m);
        }
    }
    if (q->around)
        q->around->fence();
}

/* Whether the result is written around the caches: it exceeds them, and its dense runs are whole lines of
 * memory, or long. */
static int is_streamed(const norm_plan *p)
{
    enum { LINE = 64, LONG = 1024 };
    const cpu_walk *along = p->tiles ? &p->rows : &p->line;
    const int64_t bytes = cpu_single_bytes(p->dtype, 1), all = p->rows.size * p->n * bytes;
    const int64_t run = along->shape[along->ndim - 1] * bytes;
    return !p->precise && all >= CPU_COPY_STREAM_BYTES && cpu_walk_inner(along, OUT) == bytes &&
           (run >= LONG || (run % LINE == 0 && (uintptr_t)p->base[OUT] % LINE == 0));
}

void cpu_norm_given(const norm_plan *made)
{
    norm_plan p = *made;
    plan q = {.p = &p, .single = CPU_ISA_PICK(cpu_single_loops)};
    int64_t units = p.rows.size, width = 1;
    q.around = is_streamed(&p) ? cpu_copy_level() : NULL;
    if (p.tiles) {
        const int64_t inner = p.rows.shape[p.rows.ndim - 1];
        width = p.across = inner < CPU_NORM_WIDE ? inner : CPU_NORM_WIDE;
        p.tiles = (inner + p.across - 1) / p.across;
        units = p.rows.size / inner * p.tiles;
    }
    q.piece = PIECE / width > 1 ? PIECE / width : 1;
    q.pieces = (p.n + q.piece - 1) / q.piece;
    const int64_t each = (p.n < q.piece ? p.n : q.piece) * width;
    cpu_parallel(units * q.pieces, PIECE / each > 1 ? PIECE / each : 1, p.tiles ? tiles : rows, &q);
}
