/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * One long transform: cut into columns and rows, or made a convolution; its parts are work for
 * several threads. */
#include <string.h>
#include "fft/line.h"

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t blocks_of(int64_t n, int64_t lanes)
{
    return (n + lanes - 1) / lanes;
}

/* Bytes of n numbers and room for a vector more. */
static int64_t array_nbytes(int64_t n, int64_t size)
{
    return (n * size + 2 * CPU_FFT_ALIGN - 1) / CPU_FFT_ALIGN * CPU_FFT_ALIGN;
}

/* ---- memory ---- */

static cpu_fft_room node_room(const cpu_fft_shape *s, int32_t at, int64_t lanes, int64_t size)
{
    const cpu_fft_node *node = &s->node[at], *first = &s->node[node->first];
    const int64_t cell = 2 * lanes * size;
    if (node->kind == CPU_FFT_LEAF)
        return (cpu_fft_room){node->n * cell, node->work * cell};
    if (node->kind == CPU_FFT_CHIRP) {
        cpu_fft_room room = node_room(s, node->first, lanes, size);
        room.shared += 2 * array_nbytes(first->n, size);
        return room;
    }
    const int64_t n1 = first->n, n2 = node->n / n1;
    const int64_t column = blocks_of(n1, lanes) * lanes + first->work;
    return (cpu_fft_room){blocks_of(n1, lanes) * n2 * cell,
                          larger(column, s->node[node->second].work) * cell};
}

void cpu_fft_find_needs(const cpu_fft_shape *shape, int64_t lanes, int64_t size, cpu_fft_needs *out)
{
    const cpu_fft_node *root = &shape->node[shape->root];
    const cpu_fft_room room = node_room(shape, shape->root, lanes, size);
    *out = (cpu_fft_needs){.n = root->n,
                           .kind = root->kind,
                           .work = root->work,
                           .shared = room.shared,
                           .slot = room.slot};
}

cpu_fft_room cpu_fft_line_room(const cpu_fft_needs *needs, int kind, int64_t n, int64_t size)
{
    cpu_fft_room room = {needs->shared, needs->slot};
    if (kind != CPU_FFT_COMPLEX)
        room.shared += 2 * array_nbytes(n % 2 ? n : n / 2 + 1, size);
    return room;
}

/* ---- work in parts ---- */

typedef struct task task;
struct task {
    const cpu_fft_line *line;
    void (*run)(const task *t, int64_t begin, int64_t end, char *work);
    int64_t count;
    int32_t node, exchange;
    const cpu_fft_io *in, *out;
    char *rows;
    void *re, *im;
    const void *wr, *wi;
};

static void run_slots(void *ctx, int64_t begin, int64_t end)
{
    const task *t = ctx;
    const cpu_fft_line *l = t->line;
    for (int64_t s = begin; s < end; s++)
        t->run(t, t->count * s / l->slots, t->count * (s + 1) / l->slots,
               l->slot + s * l->slot_nbytes);
}

static void run_task(task t, void (*run)(const task *, int64_t, int64_t, char *), int64_t count)
{
    t.run = run;
    t.count = count;
    cpu_parallel(t.line->slots, 1, run_slots, &t);
}

static void do_columns(const task *t, int64_t begin, int64_t end, char *work)
{
    t->line->loops->columns(t->line->plan, t->node, t->in, begin, end, t->rows, work);
}

static void do_rows(const task *t, int64_t begin, int64_t end, char *work)
{
    t->line->loops->rows(t->line->plan, t->node, t->rows, begin, end, t->out, work);
}

static void do_load(const task *t, int64_t begin, int64_t end, char *work)
{
    (void)work;
    t->line->loops->load_line(t->in, begin, end, t->re, t->im);
}

static void do_store(const task *t, int64_t begin, int64_t end, char *work)
{
    (void)work;
    t->line->loops->store_line(t->re, t->im, begin, end, t->out);
}

static void do_multiply(const task *t, int64_t begin, int64_t end, char *work)
{
    (void)work;
    t->line->loops->multiply_line(t->re, t->im, t->wr, t->wi, begin, end, t->exchange);
}

static void do_part(const task *t, int64_t begin, int64_t end, char *work)
{
    (void)work;
    t->line->loops->part_line(t->line->plan, t->re, t->im, begin, end);
}

static void do_join(const task *t, int64_t begin, int64_t end, char *work)
{
    (void)work;
    t->line->loops->join_line(t->line->plan, t->re, t->im, begin, end, t->line->sign);
}

/* ---- complex ---- */

static int64_t size_of(const cpu_fft_line *l)
{
    return l->plan->dtype == NDP_F32 ? 4 : 8;
}

static cpu_fft_io io_of_arrays(const cpu_fft_line *l, void *re, void *im)
{
    return (cpu_fft_io){.re = re, .im = im, .step = size_of(l), .lanes = 1, .scale = {1, 1}};
}

static void complex_line(const cpu_fft_line *l, int32_t at, const cpu_fft_io *in,
                         const cpu_fft_io *out, char *shared);

static void chirp_line(const cpu_fft_line *l, int32_t at, const cpu_fft_io *in,
                       const cpu_fft_io *out, char *shared)
{
    const cpu_fft_node *node = &l->plan->shape.node[at];
    const int64_t n = node->n, m = l->plan->shape.node[node->first].n, size = size_of(l);
    const char *chirp = (const char *)l->plan->table + node->table * size;
    const char *spectrum = chirp + 2 * n * size;
    char *re = shared, *im = re + array_nbytes(m, size), *rest = im + array_nbytes(m, size);
    task t = {.line = l, .in = in, .out = out, .re = re, .im = im};
    const cpu_fft_io arrays = io_of_arrays(l, re, im);
    run_task(t, do_load, n);
    t.wr = chirp;
    t.wi = chirp + n * size;
    run_task(t, do_multiply, n);
    memset(re + n * size, 0, (size_t)((m - n) * size));
    memset(im + n * size, 0, (size_t)((m - n) * size));
    complex_line(l, node->first, &arrays, &arrays, rest);
    t.wr = spectrum;
    t.wi = spectrum + m * size;
    t.exchange = 1;
    run_task(t, do_multiply, m);
    complex_line(l, node->first, &arrays, &arrays, rest);
    t.wr = chirp;
    t.wi = chirp + n * size;
    t.exchange = 0;
    t.re = im;
    t.im = re;
    run_task(t, do_multiply, n);
    run_task(t, do_store, n);
}

static void complex_line(const cpu_fft_line *l, int32_t at, const cpu_fft_io *in,
                         const cpu_fft_io *out, char *shared)
{
    const cpu_fft_node *node = &l->plan->shape.node[at];
    const task t = {.line = l, .node = at, .in = in, .out = out, .rows = shared};
    if (node->kind == CPU_FFT_CHIRP) {
        chirp_line(l, at, in, out, shared);
    } else if (node->kind == CPU_FFT_LEAF) {
        l->loops->load(shared, in, node->n);
        l->loops->cells(l->plan, at, shared, l->slot);
        l->loops->store(shared, out, node->n);
    } else {
        const int64_t n1 = l->plan->shape.node[node->first].n, n2 = node->n / n1;
        run_task(t, do_columns, blocks_of(n2, l->loops->lanes));
        run_task(t, do_rows, blocks_of(n1, l->loops->lanes));
    }
}

/* ---- real ---- */

/* Elements past the middle of a transform of real numbers, and parts exchanged. */
static void mirror(const cpu_fft_line *l, int64_t n, char *re, char *im)
{
    for (int64_t k = 0; k <= n / 2; k++)
        if (l->plan->dtype == NDP_F32) {
            float x = ((float *)re)[k], y = k ? (float)l->sign * ((float *)im)[k] : 0;
            ((float *)re)[k] = y;
            ((float *)im)[k] = x;
            ((float *)re)[k ? n - k : 0] = -y;
            ((float *)im)[k ? n - k : 0] = x;
        } else {
            double x = ((double *)re)[k], y = k ? l->sign * ((double *)im)[k] : 0;
            ((double *)re)[k] = y;
            ((double *)im)[k] = x;
            ((double *)re)[k ? n - k : 0] = -y;
            ((double *)im)[k ? n - k : 0] = x;
        }
}

cpu_fft_io cpu_fft_io_of_part(const cpu_fft_io *io, int64_t parts, int64_t part, int exchanged)
{
    cpu_fft_io r = *io;
    char *first = (io->re ? io->re : io->im) + part * io->step;
    char *second = part ? first + io->step : NULL;
    r.step = parts * io->step;
    r.re = exchanged ? second : first;
    r.im = exchanged ? first : second;
    r.scale[0] = r.scale[1] = io->scale[0];
    return r;
}

/* An odd number that goes into parts. */
static void odd_line(const cpu_fft_line *l, const cpu_fft_io *in, const cpu_fft_io *out, char *re,
                     char *im, char *rest)
{
    const int to_real = l->kind == CPU_FFT_TO_REAL;
    const int64_t parts = cpu_fft_odd_parts(l->plan->n), half = l->plan->n / 2 + 1;
    const int64_t nbytes = l->plan->n / parts * size_of(l);
    const task t = {.line = l, .in = in, .out = out, .re = re, .im = im};
    if (to_real) {
        run_task(t, do_load, half);
        l->loops->join_odd_line(l->plan, re, im, l->sign);
    }
    for (int64_t p = 0; p <= parts / 2; p++) {
        const cpu_fft_io arrays = io_of_arrays(l, re + p * nbytes, im + p * nbytes);
        const cpu_fft_io part =
            cpu_fft_io_of_part(to_real ? out : in, parts, p ? 2 * p - 1 : 0, to_real);
        complex_line(l, l->plan->shape.root, to_real ? &arrays : &part, to_real ? &part : &arrays,
                     rest);
    }
    if (!to_real) {
        l->loops->part_odd_line(l->plan, re, im);
        run_task(t, do_store, half);
    }
}

void cpu_fft_line_run(const cpu_fft_line *l, const cpu_fft_io *in, const cpu_fft_io *out)
{
    const int64_t n = l->plan->n, half = n / 2 + 1, size = size_of(l);
    const int64_t nbytes = array_nbytes(n % 2 ? n : half, size), all_pairs = (n / 2 + 1) / 2;
    const int32_t root = l->plan->shape.root;
    char *re = l->shared, *im = re + nbytes, *rest = im + nbytes;
    const cpu_fft_io arrays = io_of_arrays(l, re, im);
    const task t = {.line = l, .in = in, .out = out, .re = re, .im = im};
    if (l->kind == CPU_FFT_COMPLEX) {
        complex_line(l, root, in, out, l->shared);
    } else if (cpu_fft_odd_parts(n)) {
        odd_line(l, in, out, re, im, rest);
    } else if (l->kind == CPU_FFT_TO_COMPLEX) {
        complex_line(l, root, in, &arrays, rest);
        if (n % 2 == 0)
            run_task(t, do_part, larger(all_pairs, 1));
        run_task(t, do_store, half);
    } else {
        run_task(t, do_load, half);
        if (n % 2 == 0)
            run_task(t, do_join, larger(all_pairs, 1));
        else
            mirror(l, n, re, im);
        complex_line(l, root, &arrays, out, rest);
    }
}
