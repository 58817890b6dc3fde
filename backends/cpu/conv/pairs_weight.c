/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients of bf16 convolutions for the weight by sums of pairs: see pairs.h. Rows of sums are the result's channels,
 * whose gradients are copied position by position; columns are what the taps meet, 32 numbers of a step of the
 * convolution, joined into tiles for each 32 positions. */
#include <string.h>
#include "conv/conv.h"

enum {
    TURN_BYTES = 8 << 20, /* of copies that exist at a time */
    PAIR = 2 * CV_PAIRS_TILE,
    MOST_BLOCKS = 64, /* of positions that are joined at a time */
    TASK_OUT = 256
};

typedef struct {
    cv_plan f; /* the convolution */
    nd_window_axis axis[3];
    cv_pairs_runs runs;
    int64_t positions;
    int64_t out_stride[5];
    char *out, *scratch, *slots;
    atomic_uchar *busy;
    int32_t n_slots;
    int64_t slot_bytes, busy_at, bytes;
    int64_t first, units; /* of this turn */
    _Atomic cv_pairs_range pixels, gradient;
    int way;
} work;

static void plan_tiles(cv_pairs_plan *s, const cv_plan *f)
{
    s->tile_o = TASK_OUT;
    while (s->tile_o > PAIR &&
           f->groups * s->most_steps * cpu_ceil_div(f->co, s->tile_o) < 2 * (int64_t)cpu_threads())
        s->tile_o /= 2;
    s->tiles_o = cpu_ceil_div(f->co, s->tile_o);
}

static void plan_call(work *w, const ndp_call *call)
{
    cv_plan *f = &w->f;
    cv_pairs_plan *s = &f->pairs;
    const int64_t slots = cpu_threads();
    memset(w, 0, sizeof *w);
    cv_weight_plan(f, call);
    cv_phase(f, 0, w->axis);
    cv_pixels_plan(f, &s->pixels);
    w->runs = cv_pairs_runs_of(f->ci, &w->axis[2]);
    w->positions = f->out.extent[1] * f->out.extent[2];
    s->most_steps = w->axis[1].taps * w->runs.runs * w->runs.blocks;
    plan_tiles(s, f);
    s->blocks_o = cpu_ceil_div(f->co, CV_PAIRS_TILE);
    s->columns = mm_round_up(w->positions, CV_PAIRS_DEPTH) + CV_PAIRS_DEPTH;
    s->gradient_bytes = s->blocks_o * CV_PAIRS_TILE * s->columns * 2;
    s->lanes = s->most_steps * PAIR;
    s->units = TURN_BYTES / (s->pixels.bytes + s->gradient_bytes);
    s->units = s->units < 1                       ? 1
               : s->units > f->images * f->groups ? f->images * f->groups
                                                  : s->units;
    s->steps_at = 0;
    s->sums_at = mm_round_up(s->most_steps * (int64_t)sizeof(cv_pairs_step), 64);
    s->pixels_at = s->sums_at + f->groups * s->blocks_o * CV_PAIRS_TILE * s->lanes * 4;
    s->gradient_at = s->pixels_at + s->units * s->pixels.bytes;
    w->busy_at = s->gradient_at + s->units * s->gradient_bytes;
    w->slot_bytes = 2 * MOST_BLOCKS * CV_PAIRS_BYTES;
    if (w->slot_bytes < f->ci * f->most_taps * 4)
        w->slot_bytes = mm_round_up(f->ci * f->most_taps * 4, 64);
    w->bytes = w->busy_at + mm_round_up(slots, 64) + slots * w->slot_bytes;
}

/* ---- copies ---- */

static void pack_pixels(void *ctx, int64_t begin, int64_t end)
{
    work *w = ctx;
    const cv_pixels *g = &w->f.pairs.pixels;
    const int64_t pieces = cv_pixels_pieces(g);
    for (int64_t task = begin; task < end; task++)
        atomic_fetch_or(
            &w->pixels,
            cv_pixels_pack(&w->f, g, w->first + task / pieces, task % pieces,
                           w->scratch + w->f.pairs.pixels_at + task / pieces * g->bytes));
}

/* The gradients of n channels from `from` on, each channel's positions in one row. */
static void copy_gradients(const work *w, const char *from, int64_t n, char *to)
{
    const cv_image *g = &w->f.out;
    const int64_t pitch = w->f.pairs.columns;
    for (int64_t h = 0; h < g->extent[1]; h++, to += g->extent[2] * 2, from += g->space[1] * 2) {
        const cv_turn turn = {.beside = (char *)(uintptr_t)from,
                              .rows = to,
                              .n = g->extent[2],
                              .channels = n,
                              .step = g->space[2],
                              .plane = pitch};
        if (g->channel == 1) {
            w->f.isa->apart[NDP_BF16](&turn);
            continue;
        }
        for (int64_t c = 0; c < n; c++) {
            const char *x = from + c * g->channel * 2;
            if (g->space[2] == 1)
                memcpy(to + c * pitch * 2, x, (size_t)(g->extent[2] * 2));
            else
                for (int64_t i = 0; i < g->extent[2]; i++)
                    memcpy(to + (c * pitch + i) * 2, x + i * g->space[2] * 2, 2);
        }
    }
}

/* Tasks count units and tiles of channels; zeros are behind the positions, and channels. */
static void pack_gradients(void *ctx, int64_t begin, int64_t end)
{
    work *w = ctx;
    const cv_plan *f = &w->f;
    const cv_pairs_plan *s = &f->pairs;
    for (int64_t task = begin; task < end; task++) {
        const int64_t unit = w->first + task / s->blocks_o, o = task % s->blocks_o * CV_PAIRS_TILE;
        const int64_t n = f->co - o < CV_PAIRS_TILE ? f->co - o : CV_PAIRS_TILE;
        char *to = w->scratch + s->gradient_at + task * CV_PAIRS_TILE * s->columns * 2;
        const char *from =
            f->out.data +
            (unit / f->groups * f->out.image + (unit % f->groups * f->co + o) * f->out.channel) * 2;
        for (int64_t c = 0; c < CV_PAIRS_TILE; c++) {
            const int64_t filled = c < n ? w->positions : 0;
            memset(to + (c * s->columns + filled) * 2, 0, (size_t)((s->columns - filled) * 2));
        }
        copy_gradients(w, from, n, to);
        atomic_fetch_or(&w->gradient, f->isa->pairs_range((const uint16_t *)(const void *)to,
                                                          CV_PAIRS_TILE * s->columns));
    }
}

/* ---- sums ---- */

/* What a step's numbers are at positions `at` and on, as n tiles' columns for each 32 of them. */
static void join(const work *w, const char *pixels, const cv_pairs_step *step, int64_t at,
                 int64_t blocks, int n, char *first, char *second)
{
    static const char zeros[64];
    const cv_pixels *g = &w->f.pairs.pixels;
    const int64_t pixel = g->channels * 2, across = w->axis[2].scale * pixel;
    int64_t y = at / w->axis[2].n, x = at % w->axis[2].n;
    const char *row = pixels + step->at + y * w->axis[1].scale * g->columns * pixel;
    for (int64_t k = 0; k < blocks; k++) {
        const char *place[CV_PAIRS_DEPTH];
        for (int i = 0; i < CV_PAIRS_DEPTH; i++) {
            place[i] = y < w->axis[1].n ? row + x * across : zeros;
            if (++x == w->axis[2].n) {
                x = 0;
                y++;
                row += w->axis[1].scale * g->columns * pixel;
            }
        }
        w->f.isa->pairs_join(place, n, first + k * CV_PAIRS_BYTES, second + k * CV_PAIRS_BYTES);
    }
}

/* A unit's products for one step and some channels, added to the sums. */
static void add_unit(const work *w, int64_t unit, int64_t number, int64_t o, int64_t end,
                     char *joined)
{
    const cv_pairs_plan *s = &w->f.pairs;
    const cv_pairs_step *step =
        (const cv_pairs_step *)(const void *)(w->scratch + s->steps_at) + number;
    const char *pixels = w->scratch + s->pixels_at + (unit - w->first) * s->pixels.bytes;
    const char *gradient = w->scratch + s->gradient_at + (unit - w->first) * s->gradient_bytes;
    char *second = joined + MOST_BLOCKS * CV_PAIRS_BYTES;
    const int64_t all = cpu_ceil_div(w->positions, CV_PAIRS_DEPTH), group = unit % w->f.groups;
    float *sums = (float *)(void *)(w->scratch + s->sums_at) +
                  group * s->blocks_o * CV_PAIRS_TILE * s->lanes + number * PAIR;
    cv_pairs_step at[MOST_BLOCKS];
    cv_pairs_block b = {.a_row = s->columns * 2, .pitch = s->lanes, .step = at};
    b.n = step->live > CV_PAIRS_TILE ? 2 : 1;
    b.b[0] = joined;
    b.b[1] = second;
    for (int64_t k = 0; k < all; k += MOST_BLOCKS) {
        b.steps = all - k < MOST_BLOCKS ? all - k : MOST_BLOCKS;
        b.add = unit >= w->f.groups || k > 0;
        for (int64_t i = 0; i < b.steps; i++) {
            const int64_t left = w->positions - (k + i) * CV_PAIRS_DEPTH;
            at[i] = (cv_pairs_step){i * 64, left < CV_PAIRS_DEPTH ? left : CV_PAIRS_DEPTH};
        }
        join(w, pixels, step, k * CV_PAIRS_DEPTH, b.steps, b.n, joined, second);
        for (int64_t i = o; i < end; i += PAIR) {
            b.m = end - i > CV_PAIRS_TILE ? 2 : 1;
            b.a[0] = gradient + i * b.a_row + k * 64;
            b.a[1] = b.a[0] + CV_PAIRS_TILE * b.a_row;
            b.sum = sums + i * s->lanes;
            cv_pairs_compute(&w->f, &b, w->way);
        }
    }
}

/* Tasks count groups, steps and tiles of channels; a group's units in ascending order. */
static void run_tiles(void *ctx, int64_t begin, int64_t end)
{
    const work *w = ctx;
    const cv_plan *f = &w->f;
    const cv_pairs_plan *s = &f->pairs;
    const int slot = cpu_slot_take(w->busy, w->n_slots);
    cv_pairs_begin(w->way);
    for (int64_t task = begin; task < end; task++) {
        const int64_t group = task / s->tiles_o / s->most_steps;
        const int64_t number = task / s->tiles_o % s->most_steps;
        const int64_t o = task % s->tiles_o * s->tile_o;
        const int64_t last = o + s->tile_o < f->co ? o + s->tile_o : f->co;
        int64_t unit = w->first + (group - w->first % f->groups + f->groups) % f->groups;
        for (; unit < w->first + w->units; unit += f->groups)
            add_unit(w, unit, number, o, last, w->slots + slot * w->slot_bytes);
    }
    cv_pairs_end(w->way);
    cpu_slot_give(w->busy, slot);
}

/* ---- the result ---- */

/* Sums of one channel, in the order (in, window). */
static void in_order(const work *w, const float *sums, float *to)
{
    const cv_plan *f = &w->f;
    const cv_pairs_runs *r = &w->runs;
    const int64_t taps = f->kernel[1] * f->kernel[2];
    for (int64_t i = 0; i < f->kernel[1]; i++)
        for (int64_t run = 0; run < r->runs; run++, sums += r->blocks * PAIR)
            for (int64_t e = 0; e < r->length;) {
                const int64_t tap = cv_pairs_tap(r, &w->axis[2], f->ci, run, e);
                float *at = to + i * f->kernel[2] + tap;
                for (int64_t c = 0; c < f->ci; c++, e++)
                    at[c * taps] = sums[e];
            }
}

/* The same, where channels of the weight lie side by side. */
static void save_beside(const work *w, const float *sums, char *out)
{
    const cv_plan *f = &w->f;
    const cv_pairs_runs *r = &w->runs;
    for (int64_t i = 0; i < f->kernel[1]; i++)
        for (int64_t run = 0; run < r->runs; run++, sums += r->blocks * PAIR)
            for (int64_t e = 0; e < r->length; e += f->ci) {
                const int64_t tap = cv_pairs_tap(r, &w->axis[2], f->ci, run, e);
                f->k->save[NDP_BF16](sums + e, f->ci,
                                     out + (i * w->out_stride[3] + tap * w->out_stride[4]) * 2, 1);
            }
}

/* Tasks count channels of the result. */
static void save_rows(void *ctx, int64_t begin, int64_t end)
{
    const work *w = ctx;
    const cv_plan *f = &w->f;
    const cv_pairs_plan *s = &f->pairs;
    const int64_t taps = f->kernel[1] * f->kernel[2], *stride = w->out_stride;
    const int slot = cpu_slot_take(w->busy, w->n_slots);
    float *line = (float *)(void *)(w->slots + slot * w->slot_bytes);
    for (int64_t o = begin; o < end; o++) {
        const int64_t row = o / f->co * s->blocks_o * CV_PAIRS_TILE + o % f->co;
        const float *sums = (const float *)(const void *)(w->scratch + s->sums_at) + row * s->lanes;
        char *out = w->out + o * stride[0] * 2;
        if (stride[1] == 1) {
            save_beside(w, sums, out);
            continue;
        }
        in_order(w, sums, line);
        if (stride[4] == 1 && stride[3] == f->kernel[2] && stride[1] == taps) {
            f->k->save[NDP_BF16](line, f->ci * taps, out, 1);
            continue;
        }
        for (int64_t c = 0; c < f->ci; c++)
            for (int64_t i = 0; i < f->kernel[1]; i++)
                f->k->save[NDP_BF16](line + c * taps + i * f->kernel[2], f->kernel[2],
                                     out + (c * stride[1] + i * stride[3]) * 2, stride[4]);
    }
    cpu_slot_give(w->busy, slot);
}

/* ---- calls ---- */

uint64_t cv_pairs_weight_scratch(const ndp_call *call)
{
    work w;
    plan_call(&w, call);
    return (uint64_t)w.bytes;
}

static void run_turns(work *w)
{
    const cv_plan *f = &w->f;
    const cv_pairs_plan *s = &f->pairs;
    const int64_t all = f->images * f->groups;
    const int64_t task = (s->tile_o < f->co ? s->tile_o : f->co) * PAIR * w->positions;
    for (w->first = 0; w->first < all; w->first += s->units) {
        w->units = all - w->first < s->units ? all - w->first : s->units;
        w->pixels = w->gradient = 0;
        cpu_parallel(w->units * cv_pixels_pieces(&s->pixels), 1, pack_pixels, w);
        cpu_parallel(w->units * s->blocks_o, 1 + 8192 / (s->columns * CV_PAIRS_TILE),
                     pack_gradients, w);
        w->way = cv_pairs_way(w->pixels, w->gradient);
        cpu_parallel(f->groups * s->most_steps * s->tiles_o, 1 + MM_TASK_WORK / (task + 1),
                     run_tiles, w);
    }
}

int32_t cv_pairs_weight(const ndp_call *call)
{
    work w;
    plan_call(&w, call);
    if (!call->scratch.mem || ndp_view_size(&call->scratch) < w.bytes)
        return cpu_error(NDP_ERR_INTERNAL, "conv_weight was called without its scratch memory");
    w.n_slots = cpu_threads();
    w.scratch = cpu_ptr(&call->scratch);
    w.busy = (atomic_uchar *)(w.scratch + w.busy_at);
    w.slots = (char *)w.busy + mm_round_up(w.n_slots, 64);
    w.out = cpu_ptr(&call->out[0]);
    memcpy(w.out_stride, call->out[0].stride, sizeof w.out_stride);
    memset(w.busy, 0, (size_t)w.n_slots);
    cv_pairs_steps(&w.f.pairs.pixels, w.axis,
                   (cv_pairs_step *)(void *)(w.scratch + w.f.pairs.steps_at));
    run_turns(&w);
    const int64_t rows = w.f.groups * w.f.co;
    cpu_parallel(rows, cv_grain(rows, 1 + 16384 / (w.f.ci * w.f.most_taps + 1)), save_rows, &w);
    return NDP_OK;
}
