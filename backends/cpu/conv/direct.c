/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Direct convolutions, and gradients for the input: see direct.h. */
#include <string.h>
#include "conv/conv.h"

enum {
    BAND_BYTES = 4 << 20, /* of copies that exist at a time, where bands are not too short */
    MOST_BYTES = 64 << 20,
    LEAST_BAND = 8,
    TILE_P = 256, /* positions */
    TILE_O = 192, /* channels */
    LEAST_P = 64,
    LEAST_O = 24,
    PACKED_CHANNELS = 16, /* copied by a task: a line where they lie side by side */
    PACKED_ROWS = 8,      /* and so many of them */
};

static int64_t rows_of(const cv_plan *p)
{
    return (p->out.extent[1] + p->phases[1] - 1) / p->phases[1];
}

int cv_is_direct(const cv_plan *p)
{
    const int beside = p->source.channel == 1 && p->source.space[2] != 1 && p->ci > 1;
    const int scaled =
        !p->backward && (p->stride[1] > CV_MOST_PHASES || p->stride[2] > CV_MOST_PHASES);
    if (!cv_is_flat(p) || scaled || p->co < CV_LEAST_OUT || p->ci < 1 ||
        cv_product(p->phases) > 16 || cv_product(p->out.extent) == 0 || p->images == 0 ||
        (beside && !mm_is_native(p->k, p->source.dtype)))
        return 0;
    cv_grid least;
    cv_grid_plan(p, rows_of(p) < LEAST_BAND ? rows_of(p) : LEAST_BAND, &least);
    return cv_grid_size(&least, p->ci) * p->k->element <= MOST_BYTES;
}

/* Bands of rows, where an image's group takes more than there may be; else several groups at a time. */
static void plan_bands(cv_plan *p)
{
    cv_direct *d = &p->windows;
    d->band = rows_of(p);
    for (;;) {
        cv_grid_plan(p, d->band, &d->grid);
        d->unit_bytes = mm_round_up(cv_grid_size(&d->grid, p->ci) * p->k->element, 64);
        if (d->unit_bytes <= BAND_BYTES || d->band <= LEAST_BAND)
            break;
        d->band = (d->band + 1) / 2;
    }
    d->bands = (rows_of(p) + d->band - 1) / d->band;
    d->units = d->unit_bytes < BAND_BYTES ? BAND_BYTES / d->unit_bytes : 1;
    if (d->units > p->images * p->groups)
        d->units = p->images * p->groups;
}

static void plan_tiles(cv_plan *p)
{
    cv_direct *d = &p->windows;
    const int64_t positions = d->band * d->grid.pitch, wanted = 4 * (int64_t)cpu_threads();
    d->tile_p = TILE_P;
    d->tile_o = p->co < TILE_O ? p->co : TILE_O;
    for (;;) {
        d->tiles_p = (positions + d->tile_p - 1) / d->tile_p;
        d->tiles_o = (p->co + d->tile_o - 1) / d->tile_o;
        if (d->units * cv_product(p->phases) * d->tiles_p * d->tiles_o >= wanted ||
            d->tile_p * d->tile_o * p->ci * p->most_taps < MM_TASK_WORK)
            return;
        if (d->tile_o >= 2 * LEAST_O && (d->tile_o > 48 || d->tile_p <= LEAST_P))
            d->tile_o = mm_round_up(d->tile_o / 2, 12);
        else if (d->tile_p > LEAST_P)
            d->tile_p /= 2;
        else
            return;
    }
}

/* Weights as they lie, or, of another type, copies in the order (out, in, window). */
static void plan_weights(cv_plan *p)
{
    cv_direct *d = &p->windows;
    d->w_copied = !mm_is_native(p->k, p->w_dtype);
    d->w_out = p->w_out;
    d->w_in = p->w_in;
    d->run = p->w_in == 1 ? 16 : 1;
    memcpy(d->w_space, p->w_space, sizeof d->w_space);
    if (d->w_copied) {
        const int64_t taps = cv_product(p->kernel);
        d->w_out = p->backward ? taps : p->ci * taps;
        d->w_in = p->backward ? p->co * taps : taps;
        d->w_space[2] = 1;
        d->w_space[1] = p->kernel[2];
        d->w_space[0] = taps;
    }
}

void cv_direct_plan(cv_plan *p)
{
    cv_direct *d = &p->windows;
    const int64_t size = p->k->element;
    plan_bands(p);
    plan_tiles(p);
    plan_weights(p);
    d->steps_at = 0;
    d->weights_at =
        mm_round_up(cv_product(p->phases) * p->ci * p->most_taps * (int64_t)sizeof(cv_step), 64);
    d->grid_at = d->weights_at;
    if (d->w_copied)
        d->grid_at += mm_round_up(p->groups * p->co * p->ci * cv_product(p->kernel) * size, 64);
    p->packed_bytes = d->grid_at + d->units * d->unit_bytes;
    p->pitch = d->tile_p + 64 / size;
}

void cv_direct_slot(const cv_plan *p, int64_t *sums, int64_t *row, int64_t *line)
{
    const cv_direct *d = &p->windows;
    const int turned = p->out.channel == 1 && !mm_is_native(p->k, p->out.dtype);
    *sums = d->tile_o * p->pitch;
    *row = d->tile_p;
    *line = turned ? d->tile_o * d->tile_p : 0;
}

/* ---- what threads share ---- */

/* A unit is an image's group; a turn has some units' bands. */
typedef struct {
    const cv_run *r;
    int64_t first, units,
        position; /* the first unit; how many; the band's first row of positions */
} turn;

/* Of the first `run` channels, tap by tap. */
static cv_step *make_run(const cv_plan *p, const nd_window_axis axis[3], int64_t run, cv_step *step)
{
    const cv_direct *d = &p->windows;
    for (int64_t i = 0; i < axis[1].taps; i++)
        for (int64_t j = 0; j < axis[2].taps; j++) {
            const int64_t a = (axis[1].tap + i * axis[1].tap_step) * d->w_space[1] +
                              (axis[2].tap + j * axis[2].tap_step) * d->w_space[2];
            const int64_t b = cv_grid_displacement(&d->grid, axis[1].origin + i * axis[1].move,
                                                   axis[2].origin + j * axis[2].move);
            for (int64_t c = 0; c < run; c++)
                *step++ = (cv_step){a + c * d->w_in, b + c * d->grid.channel};
        }
    return step;
}

/* Taps of a channel, or of as many channels as lie on a line of the cache; what comes after is as far further on. */
static void make_steps(const cv_plan *p, int64_t number, cv_step *step)
{
    const cv_direct *d = &p->windows;
    const int64_t whole = p->ci / d->run * d->run, rest = p->ci - whole;
    nd_window_axis axis[3];
    if (cv_phase(p, number, axis) < 0)
        return;
    const int64_t n = axis[1].taps * axis[2].taps * d->run;
    cv_step *at = step;
    if (whole > 0)
        at = make_run(p, axis, d->run, step);
    for (int64_t k = n; k < whole / d->run * n; k++, at++)
        *at = (cv_step){at[-n].a + d->run * d->w_in, at[-n].b + d->run * d->grid.channel};
    if (rest == 0)
        return;
    cv_step *end = make_run(p, axis, rest, at);
    for (; at < end; at++) {
        at->a += whole * d->w_in;
        at->b += whole * d->grid.channel;
    }
}

/* Tasks count (out, in) of the weight as it is given. */
static void copy_weights(void *ctx, int64_t begin, int64_t end)
{
    const cv_run *r = ctx;
    const cv_plan *p = r->p;
    const int64_t size = ndp_dtype_size(p->w_dtype), taps = cv_product(p->kernel);
    const int64_t inner = p->backward ? p->co : p->ci;
    char *to = r->packed + p->windows.weights_at + begin * taps * p->k->element;
    if (cv_is_line(p->w_space, p->kernel) && p->w_space[2] == 1 &&
        (p->backward ? p->w_out : p->w_in) == taps &&
        (p->backward ? p->w_in : p->w_out) == inner * taps) {
        p->k->load[p->w_dtype](p->weight + begin * taps * size, 0, 1, 1, (end - begin) * taps, to);
        return;
    }
    for (int64_t t = begin; t < end; t++)
        for (int64_t i = 0; i < p->kernel[1]; i++, to += p->kernel[2] * p->k->element) {
            const int64_t at = t / inner * (p->backward ? p->w_in : p->w_out) +
                               t % inner * (p->backward ? p->w_out : p->w_in) + i * p->w_space[1];
            p->k->load[p->w_dtype](p->weight + at * size, 0, p->w_space[2], 1, p->kernel[2], to);
        }
}

/* Tasks count runs of rows, units of a turn, and some channels of them: of groups whose channels lie side by side, all
 * find the run in the cache. */
static void pack_task(void *ctx, int64_t begin, int64_t end)
{
    const turn *t = ctx;
    const cv_plan *p = t->r->p;
    const cv_direct *d = &p->windows;
    const int64_t parts = (p->ci + PACKED_CHANNELS - 1) / PACKED_CHANNELS;
    for (int64_t task = begin; task < end; task++) {
        const int64_t i = task % (t->units * parts), row = task / (t->units * parts) * PACKED_ROWS;
        const int64_t left = d->grid.rows - row,
                      last = row + (left < PACKED_ROWS ? left : PACKED_ROWS);
        const int64_t unit = t->first + i / parts, c = i % parts * PACKED_CHANNELS;
        const int64_t n = p->ci - c < PACKED_CHANNELS ? p->ci - c : PACKED_CHANNELS;
        const char *from = p->source.data + (unit / p->groups * p->source.image +
                                             (unit % p->groups * p->ci + c) * p->source.channel) *
                                                p->source.size;
        cv_grid_pack(p, &d->grid, from, n, t->position, row, last,
                     t->r->packed + d->grid_at + i / parts * d->unit_bytes +
                         c * d->grid.channel * p->k->element);
    }
}

/* ---- tiles ---- */

typedef struct {
    const turn *t;
    int64_t unit, o, m; /* of the turn; channels of its group */
    nd_window_axis axis[3];
    int64_t rows, p0, np; /* of the band; positions, numbered along the copy's rows */
} tile;

static char *place(const tile *t, int64_t o, int64_t row, int64_t column)
{
    const cv_plan *p = t->t->r->p;
    const int64_t unit = t->t->first + t->unit;
    const int64_t at =
        unit / p->groups * p->out.image + (unit % p->groups * p->co + t->o + o) * p->out.channel +
        (t->axis[1].first + (t->t->position + row) * t->axis[1].step) * p->out.space[1] +
        (t->axis[2].first + column * t->axis[2].step) * p->out.space[2];
    return p->out.data + at * p->out.size;
}

/* Columns of some channels that lie side by side in the result. */
static void save_beside(const tile *t, const char *sums, int64_t n, char *to, char *line)
{
    const cv_plan *p = t->t->r->p;
    const int64_t size = p->k->element, step = t->axis[2].step * p->out.space[2];
    const int native = mm_is_native(p->k, p->out.dtype);
    const cv_turn turned = {.beside = native ? to : line,
                            .rows = (void *)(uintptr_t)sums,
                            .n = n,
                            .channels = t->m,
                            .step = native ? step : t->m,
                            .plane = p->pitch};
    p->isa->together[p->k->dtype](&turned);
    for (int64_t i = 0; i < n && !native; i++)
        p->k->save[p->out.dtype](line + i * t->m * size, t->m, to + i * step * p->out.size, 1);
}

static void save_row(const tile *t, const char *sums, int64_t n, char *to)
{
    const cv_plan *p = t->t->r->p;
    const int64_t step = t->axis[2].step * p->out.space[2];
    if (step == 1 && mm_is_native(p->k, p->out.dtype))
        memcpy(to, sums, (size_t)(n * p->out.size));
    else
        p->k->save[p->out.dtype](sums, n, to, step);
}

static void finish(const tile *t, char *sums, char *row, char *line)
{
    const cv_plan *p = t->t->r->p;
    const int64_t size = p->k->element, pitch = p->windows.grid.pitch;
    const int beside = p->out.channel == 1 && t->m > 1;
    const int64_t group = (t->t->first + t->unit) % p->groups;
    for (int64_t o = 0; o < t->m; o++)
        cv_adjust(p, group * p->co + t->o + o, sums + o * p->pitch * size, t->np, 1, row);
    for (int64_t i = 0, n; i < t->np; i += n) {
        const int64_t r = (t->p0 + i) / pitch, c = (t->p0 + i) % pitch;
        int64_t real = t->axis[2].n - c;
        n = pitch - c < t->np - i ? pitch - c : t->np - i;
        real = real < n ? real : n;
        if (r >= t->rows || real <= 0)
            continue;
        if (beside)
            save_beside(t, sums + i * size, real, place(t, 0, r, c), line);
        for (int64_t o = 0; o < t->m && !beside; o++)
            save_row(t, sums + (o * p->pitch + i) * size, real, place(t, o, r, c));
    }
}

static void compute(const tile *t, int64_t phase, char *slot)
{
    const cv_plan *p = t->t->r->p;
    const cv_direct *d = &p->windows;
    const cv_run *r = t->t->r;
    const int64_t size = p->k->element, group = (t->t->first + t->unit) % p->groups;
    const int64_t all = p->ci * t->axis[1].taps * t->axis[2].taps, depth = mm_block_depth(all);
    const cv_step *step = (const cv_step *)(r->packed + d->steps_at) + phase * p->ci * p->most_taps;
    const char *weight = d->w_copied ? r->packed + d->weights_at : p->weight;
    char *sums = slot + p->slot_sums;
    cv_block q = {
        .rows = t->m,
        .columns = t->np,
        .row = d->w_out,
        .pitch = p->pitch,
        .a = weight +
             (group * (p->backward ? p->ci * d->w_in : p->co * d->w_out) + t->o * d->w_out) * size,
        .b = r->packed + d->grid_at + t->unit * d->unit_bytes + t->p0 * size,
        .sum = sums};
    for (int64_t i = 0; all == 0 && i < t->m; i++)
        memset(sums + i * p->pitch * size, 0, (size_t)(t->np * size));
    for (int64_t k = 0; k < all; k += depth) {
        q.step = step + k;
        q.steps = all - k < depth ? all - k : depth;
        q.add = k > 0;
        p->isa->block[p->k->dtype](&q);
    }
    finish(t, sums, slot + p->slot_row, slot + p->slot_image);
}

/* Tasks count units, phases, tiles of channels, tiles of positions; where groups' channels lie side by side in the result,
 * tiles of positions before units, so that the groups write to what is in the cache. */
static void run_tiles(void *ctx, int64_t begin, int64_t end)
{
    const turn *u = ctx;
    const cv_run *r = u->r;
    const cv_plan *p = r->p;
    const cv_direct *d = &p->windows;
    const int s = cpu_slot_take(r->busy, r->n_slots);
    const int64_t phases = cv_product(p->phases);
    for (int64_t task = begin; task < end; task++) {
        const int by_place = p->groups > 1 && p->out.channel == 1;
        const int64_t others = u->units * phases * d->tiles_o;
        int64_t rest = by_place ? task % others : task / d->tiles_p;
        tile t = {.t = u, .p0 = (by_place ? task / others : task % d->tiles_p) * d->tile_p};
        t.o = rest % d->tiles_o * d->tile_o;
        rest /= d->tiles_o;
        const int64_t phase = rest % phases;
        t.unit = rest / phases;
        t.m = p->co - t.o < d->tile_o ? p->co - t.o : d->tile_o;
        const int none = cv_phase(p, phase, t.axis) < 0;
        t.rows = t.axis[1].n - u->position < d->band ? t.axis[1].n - u->position : d->band;
        t.np = (t.rows - 1) * d->grid.pitch + t.axis[2].n - t.p0;
        t.np = t.np < d->tile_p ? t.np : d->tile_p;
        if (none)
            t.axis[1].taps = 0;
        if (t.np > 0 && t.rows > 0 && t.axis[2].n > 0)
            compute(&t, phase, r->slots + s * p->slot_bytes);
    }
    cpu_slot_give(r->busy, s);
}

void cv_direct_run(cv_run *r)
{
    const cv_plan *p = r->p;
    const cv_direct *d = &p->windows;
    const int64_t phases = cv_product(p->phases), all = p->images * p->groups;
    const int64_t parts = (p->ci + PACKED_CHANNELS - 1) / PACKED_CHANNELS;
    const int64_t runs = (d->grid.rows + PACKED_ROWS - 1) / PACKED_ROWS;
    const int64_t packed = PACKED_CHANNELS * PACKED_ROWS * d->grid.pitch;
    const int64_t work = d->tile_p * d->tile_o * (p->ci * p->most_taps + 1);
    cv_step *step = (cv_step *)(r->packed + d->steps_at);
    for (int64_t i = 0; i < phases; i++)
        make_steps(p, i, step + i * p->ci * p->most_taps);
    if (d->w_copied)
        cpu_parallel(p->groups * p->co * p->ci, 1 + 16384 / (cv_product(p->kernel) + 1),
                     copy_weights, r);
    for (int64_t first = 0; first < all; first += d->units)
        for (int64_t band = 0; band < d->bands; band++) {
            turn t = {.r = r,
                      .first = first,
                      .units = all - first < d->units ? all - first : d->units,
                      .position = band * d->band};
            cpu_parallel(runs * t.units * parts, 1 + 8192 / (packed + 1), pack_task, &t);
            cpu_parallel(t.units * phases * d->tiles_o * d->tiles_p,
                         (MM_TASK_WORK / 2 + work - 1) / work, run_tiles, &t);
        }
}
