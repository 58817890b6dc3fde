/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Driver of the reductions: how a call's dimensions are walked, cut and shared among threads.
 *
 * Where a reduced dimension is the densest in memory, each result is folded by itself ("inner").
 * Else neighbouring results are folded together, a row of elements at a time ("sweep"), so that
 * memory is read in the order it lies in. Long reductions with few results are cut into chunks
 * whose states are joined in order. All of it follows from shape and strides alone. */
#include <stdio.h>
#include "host/grain.h"
#include "reduce/reduce.h"
#include "walk/blocks.h"
#include "walk/walk.h"

enum {
    CHUNK =
        CPU_REDUCE_ROW_MOST, /* elements of one chunk of a long reduction, about 50 us of work */
    GRAIN = 1 << 17,         /* elements that are worth waking a thread */
    MAX_PARTIALS = 256,      /* chunks times results of an inner reduction */
    FAR_BYTES = 1 << 20,     /* operands beyond this are read from memory */
    MANY_FOLDS = 8,          /* as long as one, of extremes */
    SHORT =
        CPU_REDUCE_ROW_LEAST /* fewer elements per result than this do not pay for a fold each */
};

typedef struct {
    const cpu_reduce_cell *cell;
    cpu_walk kept, reduced; /* operands: in, out bytes; in bytes, C-order position */
    const char *in;
    char *out, *scratch;
    int64_t in_bytes, out_bytes; /* of an element */
    int64_t chunks, chunk, fold; /* of the reduced range, of a chunk */
    int64_t tile, tiles;         /* sweep: results of a tile */
    int64_t per_run;             /* sweep: tiles of one innermost run, 0 when tiles cross runs */
    int64_t wide;                /* sweep: short rows, one right after the other, taken as one */
    int sweep, unit, cut_runs, linear, far;
    int whole; /* inner: each result is of one dense run, in one fold */
    cpu_finish finish;
} plan;

static const cpu_reduce_cell *cell_of(int32_t op, int32_t dtype)
{
    static const uint8_t columns[NDP_OP_END] = {
#define COLUMN(name, DOMAIN, RESULT, ulp, doc) [NDP_OP_##name] = CPU_COLUMN_##name,
#define ND_EXPAND_REDUCE ND_EXPAND_BY(COLUMN)
#define ND_EXPAND_ARGREDUCE ND_EXPAND_BY(COLUMN)
#include <ndock/op_expand.h>
    };
    return &CPU_ISA_PICK(cpu_reduce_loops)->cell[columns[op]][dtype];
}

/* The dimensions of the call. Negative strides are turned round where order does not matter. */
static void plan_axes(plan *p, const ndp_view *in, const ndp_view *out, int n_reduced)
{
    int kept = in->ndim - n_reduced, arg = p->cell->finish == CPU_FINISH_POSITION;
    cpu_walk_begin(&p->kept, 2);
    for (int d = 0; d < kept; d++) {
        int64_t step[2] = {in->stride[d] * p->in_bytes, out->stride[d] * p->out_bytes};
        if (step[0] < 0) {
            p->in += step[0] * (in->shape[d] - 1);
            p->out += step[1] * (in->shape[d] - 1);
            step[0] = -step[0];
            step[1] = -step[1];
        }
        cpu_walk_add(&p->kept, in->shape[d], step);
    }
    cpu_walk_sort(&p->kept);
    cpu_walk_end(&p->kept);
    int64_t position = 1;
    for (int d = kept; arg && d < in->ndim; d++)
        position *= in->shape[d];
    cpu_walk_begin(&p->reduced, arg ? 2 : 1);
    for (int d = kept; d < in->ndim; d++) {
        if (arg)
            position = in->shape[d] ? position / in->shape[d] : 0;
        int64_t step[2] = {in->stride[d] * p->in_bytes, position};
        if (step[0] < 0 && !arg) {
            p->in += step[0] * (in->shape[d] - 1);
            step[0] = -step[0];
        }
        cpu_walk_add(&p->reduced, in->shape[d], step);
    }
}

/* How many rows of the innermost kept run make one worth sweeping, when they are short and follow
 * each other in memory without a gap; else 1. */
static int64_t rows_in_one(const plan *p)
{
    const cpu_walk *k = &p->kept, *r = &p->reduced;
    int64_t run = k->shape[k->ndim - 1], width = run * p->in_bytes;
    if (!p->cell->direct || run < 2 || run > 128)
        return 1;
    if (k->stride[0][k->ndim - 1] != p->in_bytes || r->ndim != 1 || r->stride[0][0] != width)
        return 1;
    return CPU_SWEEP_REALS / 2 / (run * p->cell->comps);
}

/* Inner or sweep. With few elements per result the calls cost more than the strides do. */
static void plan_mode(plan *p)
{
    uint64_t densest = INT64_MAX;
    int64_t results = p->kept.size, n = p->reduced.size;
    int arg = p->cell->finish == CPU_FINISH_POSITION;
    int narrow = p->kept.shape[p->kept.ndim - 1] < 8;
    if (!arg) {
        cpu_walk_sort(&p->reduced);
        cpu_walk_end(&p->reduced);
    }
    for (int d = 0; d < p->reduced.ndim; d++)
        if (ndp_magnitude(p->reduced.stride[0][d]) < densest)
            densest = ndp_magnitude(p->reduced.stride[0][d]);
    p->wide = results > 1 && !arg ? rows_in_one(p) : 1;
    if (n < 4 * p->wide)
        p->wide = 1;
    p->sweep = results > 1 && (p->wide > 1 || n < SHORT ||
                               ((int64_t)densest > cpu_walk_inner(&p->kept, 0) && !narrow));
    if (!arg)
        return;
    /* A sweep keeps positions in order, so that the first of equal elements is met first. */
    if (!p->sweep)
        cpu_walk_sort(&p->reduced);
    cpu_walk_end(&p->reduced);
}

static void plan_inner(plan *p)
{
    const cpu_walk *r = &p->reduced;
    int last = r->ndim - 1;
    p->unit = p->cell->direct && r->stride[0][last] == p->in_bytes;
    p->linear = r->operands == 1 || (r->ndim == 1 && (r->stride[1][0] == 1 || r->size <= 1));
    if (p->unit && p->cell->finish != CPU_FINISH_PRODUCT &&
        r->size * p->in_bytes > FAR_BYTES / p->kept.size)
        p->far = cpu_blocks_asks() ? CPU_FAR_ASKED : CPU_FAR_SEEN;
    p->cut_runs = !p->linear || (p->unit && r->shape[last] >= 256);
    /* No bit depends on how extremes are cut. What crosses runs is gathered, and the buffer has room for one fold. */
    if (p->unit && p->cut_runs && p->cell->finish == CPU_FINISH_VALUE && !p->cell->stop)
        p->fold *= MANY_FOLDS;
    p->chunk = r->size;
    p->chunks = 1;
    p->whole = p->unit && r->ndim == 1 && r->size > 0 && r->size <= p->fold &&
               (r->operands == 1 || r->stride[1][0] == 1);
    if (r->size > CHUNK && p->kept.size < MAX_PARTIALS) {
        int64_t least = cpu_ceil_div(r->size, MAX_PARTIALS / p->kept.size);
        p->chunk = cpu_ceil_div(least > CHUNK ? least : CHUNK, p->fold) * p->fold;
        p->chunks = cpu_ceil_div(r->size, p->chunk);
    }
}

/* Elements that must be gathered are gathered along a long dimension, where the innermost is a short one. */
static void turn_to_longest(cpu_walk *k)
{
    int last = k->ndim - 1, longest = last;
    for (int d = 0; d < last && k->shape[last] < SHORT / 2; d++)
        if (k->shape[d] > 4 * k->shape[longest])
            longest = d;
    cpu_walk_swap(k, longest, last);
}

static void plan_sweep(plan *p)
{
    cpu_walk *k = &p->kept;
    int last = k->ndim - 1;
    int64_t reals = CPU_SWEEP_REALS / p->cell->comps;
    p->unit = p->cell->direct && k->stride[0][last] == p->in_bytes &&
              (k->shape[last] >= SHORT || p->wide > 1);
    if (!p->unit)
        turn_to_longest(k);
    p->per_run = p->unit ? cpu_ceil_div(k->shape[last], reals) : 0;
    /* Rows that must be gathered share one buffer. */
    int64_t gathered = CPU_FOLD_BYTES / (CPU_SWEEP_ROWS / 2) / (p->cell->bytes * p->cell->comps);
    p->tile = p->unit || gathered > reals ? reals : gathered;
    p->tiles = p->unit ? k->size / k->shape[last] * p->per_run : cpu_ceil_div(k->size, p->tile);
    int64_t most_wide = p->unit ? k->shape[last] : k->size, n = p->reduced.size;
    int64_t width = p->tile < most_wide ? p->tile : most_wide;
    int64_t wanted = cpu_ceil_div(64, p->tiles), most = n * width / CHUNK;
    p->chunks = most < 2 || wanted < 2 ? 1 : most < wanted ? most : wanted;
    p->chunk = p->chunks == 1
                   ? n
                   : cpu_ceil_div(cpu_ceil_div(n, p->chunks), CPU_SWEEP_ROWS) * CPU_SWEEP_ROWS;
    p->chunks = p->chunk ? cpu_ceil_div(n, p->chunk) : 1;
}

static cpu_finish finish_of(const cpu_reduce_cell *cell, const ndp_call *call, int64_t count)
{
    const ndp_reduce *params = call->params;
    return (cpu_finish){.finish = cell->finish,
                        .dtype = call->out[0].dtype,
                        .comps = cell->comps,
                        .planes = cell->reducer->state_bytes / 8,
                        .count = count,
                        .correction = params->correction};
}

static void plan_make(plan *p, const ndp_call *call)
{
    const ndp_reduce *params = call->params;
    const ndp_view *in = &call->in[0], *out = &call->out[0];
    p->cell = cell_of(call->op, in->dtype);
    p->in = cpu_ptr(in);
    p->out = cpu_ptr(out);
    p->in_bytes = ndp_dtype_size(in->dtype);
    p->out_bytes = ndp_dtype_size(out->dtype);
    p->fold = p->cell->fold;
    p->far = CPU_FAR_NOT;
    plan_axes(p, in, out, params->n_reduced);
    plan_mode(p);
    if (p->kept.size == 0)
        return;
    if (p->sweep)
        plan_sweep(p);
    else
        plan_inner(p);
    p->finish = finish_of(p->cell, call, p->reduced.size);
}

/* n elements from where the walk is, dense: in place if they lie so, else in buf. */
static const void *take(const plan *p, cpu_place *w, const char *base, int64_t n, char *buf)
{
    const cpu_walk *a = w->walk;
    if (p->unit && cpu_place_room(w) >= n) {
        const char *at = base + w->offset[0];
        cpu_place_step(w, n);
        return at;
    }
    int64_t bytes = p->cell->bytes * p->cell->comps;
    for (char *to = buf; n > 0;) {
        int64_t room = cpu_place_room(w), m = room < n ? room : n;
        p->cell->load(to, base + w->offset[0], a->stride[0][a->ndim - 1], m);
        cpu_place_step(w, m);
        to += m * bytes;
        n -= m;
    }
    return buf;
}

static void fold_range(const plan *p, const char *base, int64_t from, int64_t to, cpu_fold *f)
{
    _Alignas(64) char buf[CPU_FOLD_BYTES];
    int64_t fold = p->fold;
    cpu_place w;
    cpu_place_seek(&w, &p->reduced, from);
    f->weight = p->linear ? 1 : cpu_walk_inner(&p->reduced, 1);
    while (from < to) {
        int64_t n = to - from < fold ? to - from : fold, room = cpu_place_room(&w);
        if (p->cut_runs && n > room)
            n = room;
        f->pos = p->linear ? from : w.offset[1];
        p->cell->reducer->inner(f, take(p, &w, base, n, buf), n * p->cell->comps);
        f->done += n;
        from += n;
        if (p->cell->stop && *(uint8_t *)f->state == p->cell->stop - 1)
            break;
    }
}

/* Units of inner reductions: chunk c of result k is unit k*chunks + c. */
static void inner_units(void *ctx, int64_t begin, int64_t end)
{
    const plan *p = ctx;
    const cpu_reducer *r = p->cell->reducer;
    cpu_place k;
    cpu_place_seek(&k, &p->kept, p->chunks == 1 ? begin : begin / p->chunks);
    int64_t c = p->chunks == 1 ? 0 : begin % p->chunks, comps = p->cell->comps;
    for (int64_t u = begin; u < end; u++) {
        _Alignas(16) char state[2 * CPU_STATE_BYTES];
        int64_t from = c * p->chunk, to = p->chunks == 1 ? p->chunk : from + p->chunk;
        cpu_fold f = {.state = state, .cap = comps, .comps = comps, .far = p->far};
        if (p->chunks > 1)
            f.state = p->scratch + u * comps * CPU_STATE_BYTES;
        r->init(&f, comps);
        if (p->whole) {
            f.weight = 1;
            r->inner(&f, p->in + k.offset[0], p->chunk * comps);
            f.done = p->chunk;
        } else
            fold_range(p, p->in + k.offset[0], from, to < p->reduced.size ? to : p->reduced.size,
                       &f);
        if (p->chunks == 1)
            cpu_reduce_finish(&p->finish, state, comps, 1, p->out + k.offset[1], 0);
        if (++c == p->chunks) {
            c = 0;
            cpu_place_step(&k, 1);
        }
    }
}

static void inner_join(const plan *p)
{
    int64_t comps = p->cell->comps;
    cpu_place k;
    cpu_place_seek(&k, &p->kept, 0);
    for (int64_t i = 0; i < p->kept.size; i++, cpu_place_step(&k, 1)) {
        char *state = p->scratch + i * p->chunks * comps * CPU_STATE_BYTES;
        cpu_fold f = {.state = state, .cap = comps, .comps = comps, .done = p->chunk};
        for (int64_t c = 1; c < p->chunks; c++, f.done += p->chunk) {
            cpu_fold g = f;
            int64_t left = p->reduced.size - c * p->chunk;
            g.state = state + c * comps * CPU_STATE_BYTES;
            g.done = left < p->chunk ? left : p->chunk;
            p->cell->reducer->merge(&f, &g, comps);
        }
        cpu_reduce_finish(&p->finish, state, comps, 1, p->out + k.offset[1], 0);
    }
}

/* The results of a tile: where it begins and how many they are. */
static int64_t tile_seek(const plan *p, int64_t t, cpu_place *k, int64_t *first)
{
    const cpu_walk *a = &p->kept;
    int64_t n = a->shape[a->ndim - 1];
    *first = p->per_run ? t / p->per_run * n + t % p->per_run * p->tile : t * p->tile;
    cpu_place_seek(k, a, *first);
    int64_t left = p->per_run ? cpu_place_room(k) : a->size - *first;
    return left < p->tile ? left : p->tile;
}

static void tile_finish(const plan *p, const cpu_fold *f, cpu_place *k, int64_t n)
{
    const cpu_walk *a = &p->kept;
    for (int64_t done = 0, m; done < n; done += m) {
        int64_t room = cpu_place_room(k);
        m = room < n - done ? room : n - done;
        /* States of one byte and of eight alike: the first plane's element size is the value's. */
        int64_t bytes = p->cell->reducer->state_bytes < 8 ? p->cell->reducer->state_bytes : 8;
        cpu_reduce_finish(&p->finish, (char *)f->state + done * p->cell->comps * bytes, f->cap, m,
                          p->out + k->offset[1], a->stride[1][a->ndim - 1]);
        cpu_place_step(k, m);
    }
}

/* Fold rows from.. by p->wide at a time; returns how many. Columns of the wide rows have states of
 * their own, which are joined into those of the results at the end. */
static int64_t sweep_wide(const plan *p, const cpu_place *k, int64_t n, int64_t from, int64_t to,
                          cpu_fold *f)
{
    _Alignas(64) char local[CPU_SWEEP_REALS / 2 * CPU_STATE_BYTES];
    const cpu_reducer *r = p->cell->reducer;
    const void *rows[CPU_SWEEP_ROWS];
    int64_t reals = n * f->comps, row_bytes = n * p->in_bytes, count = (to - from) / p->wide;
    int64_t element = r->state_bytes < 8 ? r->state_bytes : 8;
    const char *at = p->in + k->offset[0] + from * row_bytes;
    cpu_fold wide = {.state = local, .cap = p->wide * reals, .comps = f->comps};
    r->init(&wide, wide.cap);
    while (wide.done < count) {
        int64_t left = count - wide.done;
        int m = left < CPU_SWEEP_ROWS ? (int)left : CPU_SWEEP_ROWS;
        for (int i = 0; i < m; i++, at += p->wide * row_bytes)
            rows[i] = at;
        r->sweep(&wide, rows, m, wide.cap);
        wide.done += m;
    }
    for (int64_t i = 0; i < p->wide && count; i++, f->done += count) {
        cpu_fold part = wide;
        part.state = local + i * reals * element;
        r->merge(f, &part, reals);
    }
    return count * p->wide;
}

/* Fold rows from..to of the reduced range into the states of a tile of n results, which begin here. */
static void sweep_range(const plan *p, const cpu_place *k, int64_t n, int64_t from, int64_t to,
                        cpu_fold *f)
{
    _Alignas(64) char buf[2 * CPU_FOLD_BYTES];
    const void *rows[CPU_SWEEP_ROWS];
    int64_t row_bytes = n * p->cell->bytes * p->cell->comps;
    f->fresh = p->cell->reducer->begins && p->wide == 1 && from < to;
    if (!f->fresh)
        p->cell->reducer->init(f, n * f->comps);
    if (p->wide > 1)
        from += sweep_wide(p, k, n, from, to, f);
    cpu_place r;
    cpu_place_seek(&r, &p->reduced, from);
    f->weight = 1;
    while (from < to) {
        int m = to - from < CPU_SWEEP_ROWS ? (int)(to - from) : CPU_SWEEP_ROWS;
        for (int i = 0; i < m; i++, cpu_place_step(&r, 1)) {
            if (p->unit) {
                rows[i] = p->in + k->offset[0] + r.offset[0];
                continue;
            }
            cpu_place row = *k;
            rows[i] = take(p, &row, p->in + r.offset[0], n, buf + i * row_bytes);
        }
        f->pos = from;
        p->cell->reducer->sweep(f, rows, m, n * p->cell->comps);
        f->fresh = 0;
        f->done += m;
        from += m;
    }
}

/* Units of sweeps: tile t of chunk c is unit c*tiles + t. */
static void sweep_units(void *ctx, int64_t begin, int64_t end)
{
    const plan *p = ctx;
    _Alignas(64) char local[CPU_SWEEP_REALS * CPU_STATE_BYTES];
    for (int64_t u = begin; u < end; u++) {
        cpu_place k;
        int64_t c = u / p->tiles, first, n = tile_seek(p, u % p->tiles, &k, &first);
        int64_t from = c * p->chunk, to = from + p->chunk, comps = p->cell->comps;
        cpu_fold f = {.state = local, .cap = n * comps, .comps = comps};
        if (p->chunks > 1)
            f.state = p->scratch + (c * p->kept.size + first) * comps * CPU_STATE_BYTES;
        sweep_range(p, &k, n, from, to < p->reduced.size ? to : p->reduced.size, &f);
        if (p->chunks == 1)
            tile_finish(p, &f, &k, n);
    }
}

static void sweep_join(void *ctx, int64_t begin, int64_t end)
{
    const plan *p = ctx;
    int64_t comps = p->cell->comps, apart = p->kept.size * comps * CPU_STATE_BYTES;
    for (int64_t t = begin; t < end; t++) {
        cpu_place k;
        int64_t first, n = tile_seek(p, t, &k, &first);
        cpu_fold f = {.cap = n * comps, .comps = comps, .done = p->chunk};
        f.state = p->scratch + first * comps * CPU_STATE_BYTES;
        for (int64_t c = 1; c < p->chunks; c++, f.done += p->chunk) {
            cpu_fold g = f;
            int64_t left = p->reduced.size - c * p->chunk;
            g.state = (char *)f.state + c * apart;
            g.done = left < p->chunk ? left : p->chunk;
            p->cell->reducer->merge(&f, &g, n * comps);
        }
        tile_finish(p, &f, &k, n);
    }
}

static int64_t at_least_one(int64_t n)
{
    return n > 1 ? n : 1;
}

/* A small dense array reduced whole is one fold: what a plan would come to, without the plan. */
static int run_small(const ndp_call *call)
{
    const ndp_reduce *params = call->params;
    const ndp_view *in = &call->in[0];
    const cpu_reduce_cell *cell = cell_of(call->op, in->dtype);
    if (!(in->flags & NDP_VIEW_CONTIGUOUS) || params->n_reduced != in->ndim || !cell->direct)
        return 0;
    int64_t n = ndp_view_size(in);
    if (n == 0 || n > cell->fold)
        return 0;
    _Alignas(16) char state[2 * CPU_STATE_BYTES];
    cpu_fold f = {.state = state, .cap = cell->comps, .comps = cell->comps, .weight = 1};
    cell->reducer->init(&f, cell->comps);
    cell->reducer->inner(&f, cpu_ptr(in), n * cell->comps);
    cpu_finish finish = finish_of(cell, call, n);
    cpu_reduce_finish(&finish, state, cell->comps, 1, cpu_ptr(&call->out[0]), 0);
    return 1;
}

void cpu_reduce_row(int32_t op, int32_t dtype, const char *row, int64_t n, double correction,
                    char *to)
{
    _Alignas(64) char buf[CPU_FOLD_BYTES];
    _Alignas(16) char state[2 * CPU_STATE_BYTES];
    const cpu_reduce_cell *cell = cell_of(op, dtype);
    const int64_t nbytes = ndp_dtype_size(dtype);
    cpu_fold f = {.state = state, .cap = 1, .comps = 1, .weight = 1};
    cell->reducer->init(&f, 1);
    for (int64_t m; f.done < n; f.done += m, row += m * nbytes) {
        m = n - f.done < cell->fold ? n - f.done : cell->fold;
        if (!cell->direct)
            cell->load(buf, row, nbytes, m);
        cell->reducer->inner(&f, cell->direct ? row : buf, m);
    }
    cpu_reduce_finish(&(cpu_finish){.finish = cell->finish,
                                    .dtype = dtype,
                                    .comps = 1,
                                    .planes = cell->reducer->state_bytes / 8,
                                    .count = n,
                                    .correction = correction},
                      state, 1, 1, to, 0);
}

static int32_t run(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call)
{
    (void)kernel;
    (void)stream;
    if (run_small(call))
        return NDP_OK;
    plan p;
    plan_make(&p, call);
    if (p.kept.size == 0)
        return NDP_OK;
    p.scratch = p.chunks > 1 ? cpu_ptr(&call->scratch) : NULL;
    if (p.kept.size * p.reduced.size <= GRAIN) {
        /* Too little to share, and the divisions below would take longer than a small sum. */
        (p.sweep ? sweep_units : inner_units)(&p, 0, p.sweep ? p.tiles : p.kept.size);
        return NDP_OK;
    }
    if (!p.sweep) {
        int64_t grain = at_least_one(GRAIN / at_least_one(p.chunk));
        const int64_t units = p.kept.size * p.chunks;
        cpu_parallel(units, cpu_even_grain(units, grain, 1), inner_units, &p);
        if (p.chunks > 1)
            inner_join(&p);
        return NDP_OK;
    }
    int64_t width = p.tile < p.kept.size ? p.tile : p.kept.size;
    int64_t grain = at_least_one(GRAIN / at_least_one(p.chunk * width));
    const int64_t units = p.tiles * p.chunks;
    cpu_parallel(units, cpu_even_grain(units, grain, 1), sweep_units, &p);
    if (p.chunks > 1)
        cpu_parallel(p.tiles, at_least_one(GRAIN / at_least_one(p.chunks * width)), sweep_join, &p);
    return NDP_OK;
}

/* States of chunks that are yet to be joined. */
static uint64_t scratch(const ndp_kernel *kernel, const ndp_call *call)
{
    (void)kernel;
    if (ndp_view_size(&call->in[0]) <= CHUNK)
        return 0;
    plan p;
    plan_make(&p, call);
    if (p.kept.size == 0 || p.chunks == 1)
        return 0;
    return (uint64_t)(p.kept.size * p.chunks * p.cell->comps) * CPU_STATE_BYTES;
}

static const ndp_kernel the_kernel = {
    .size = sizeof(ndp_kernel),
    .max_ndim = NDP_MAX_NDIM,
    .scratch = scratch,
    .run = run,
};

static uint64_t dtypes(int32_t op)
{
    return cpu_domain_dtypes(op);
}

/* Whether op on dtype in gives dtype out: op.def's rule, or for sums their own dtype. */
static int gives(int32_t op, int32_t in, int32_t out)
{
    return out == ndp_result_dtype(op, in) || (ndp_op_result(op) == NDP_RESULT_SUM && out == in);
}

static const ndp_kernel *find(const ndp_call *like, char *why, size_t n)
{
    int32_t in = like->in[0].dtype, out = like->out[0].dtype;
    if (in > 0 && in < NDP_DTYPE_END && cell_of(like->op, in)->reducer && gives(like->op, in, out))
        return &the_kernel;
    snprintf(why, n, "the CPU plug-in has no %s from dtype %d to dtype %d", cpu_op_name(like->op),
             (int)in, (int)out);
    return NULL;
}

const cpu_class cpu_reduce = {dtypes, find};
