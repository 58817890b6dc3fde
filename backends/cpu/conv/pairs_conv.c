/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolutions of bf16, and gradients for the input, by sums of pairs: see pairs.h. Rows of sums are positions, columns
 * the result's channels. Weights are packed into tiles once; images' groups are copied as pixels, whose rows of taps
 * tiles read as they lie. Where no stride parts them, all positions are one line, the few columns of padding between
 * rows of positions included, whose sums are left out in the end. */
#include "conv/conv.h"

enum {
    TURN_BYTES = 8 << 20, /* of copies that exist at a time */
    PAIR = 2 * CV_PAIRS_TILE,
    TASK_PAIRS = 8, /* of tiles of positions */
    TASK_OUT = 64
};

/* Lines of positions of a phase, and how many each has. */
typedef struct {
    int64_t lines, length, pairs; /* pairs of tiles in a line */
    int flat;
} lines;

static lines lines_of(const cv_plan *p, const nd_window_axis axis[3])
{
    /* Phases without taps may have more columns than there are pixels in a row. */
    const int taps = axis[1].taps > 0 && axis[2].taps > 0;
    lines l = {.flat = axis[1].scale == 1 && axis[2].scale == 1 && taps};
    if (axis[1].n == 0 || axis[2].n == 0)
        return l;
    l.lines = l.flat ? 1 : axis[1].n;
    l.length = l.flat ? (axis[1].n - 1) * p->pairs.pixels.columns + axis[2].n : axis[2].n;
    l.pairs = cpu_ceil_div(l.length, PAIR);
    return l;
}

/* Tasks of a unit's phase, and smaller ones where there are few. */
static void plan_tiles(cv_plan *p)
{
    cv_pairs_plan *s = &p->pairs;
    int64_t most = 1;
    for (int64_t i = 0; i < cv_product(p->phases); i++) {
        nd_window_axis axis[3];
        cv_phase(p, i, axis);
        const lines l = lines_of(p, axis);
        most = l.lines * l.pairs > most ? l.lines * l.pairs : most;
    }
    s->tile_p = TASK_PAIRS;
    s->tile_o = TASK_OUT;
    for (;;) {
        s->tiles_p = cpu_ceil_div(most, s->tile_p);
        s->tiles_o = cpu_ceil_div(p->co, s->tile_o);
        if (s->units * cv_product(p->phases) * s->tiles_p * s->tiles_o >=
            2 * (int64_t)cpu_threads())
            return;
        if (s->tile_o > PAIR && p->co > PAIR)
            s->tile_o = PAIR;
        else if (s->tile_p > 1)
            s->tile_p /= 2;
        else
            return;
    }
}

static int64_t count_steps(const cv_plan *p)
{
    int64_t most = 0;
    for (int64_t i = 0; i < cv_product(p->phases); i++) {
        nd_window_axis axis[3];
        if (cv_phase(p, i, axis) < 0)
            continue;
        const cv_pairs_runs r = cv_pairs_runs_of(p->ci, &axis[2]);
        const int64_t n = axis[1].taps * r.runs * r.blocks;
        most = n > most ? n : most;
    }
    return most;
}

void cv_pairs_conv_plan(cv_plan *p)
{
    cv_pairs_plan *s = &p->pairs;
    cv_pixels_plan(p, &s->pixels);
    s->units = TURN_BYTES / s->pixels.bytes;
    s->units = s->units < 1                       ? 1
               : s->units > p->images * p->groups ? p->images * p->groups
                                                  : s->units;
    plan_tiles(p);
    s->most_steps = count_steps(p);
    s->blocks_o = cpu_ceil_div(p->co, CV_PAIRS_TILE);
    s->weight_bytes = s->blocks_o * s->most_steps * CV_PAIRS_BYTES;
    s->steps_at = 0;
    s->weights_at =
        mm_round_up(cv_product(p->phases) * s->most_steps * (int64_t)sizeof(cv_pairs_step), 64);
    s->pixels_at = s->weights_at + cv_product(p->phases) * p->groups * s->weight_bytes;
    p->packed_bytes = s->pixels_at + s->units * s->pixels.bytes;
    p->pitch = mm_round_up(p->co < s->tile_o ? p->co : s->tile_o, CV_PAIRS_TILE);
}

/* Elements from one channel's positions to the next one's, where sums are turned. */
static int64_t line_pitch(const cv_plan *p)
{
    return p->pairs.tile_p * PAIR + 16;
}

void cv_pairs_slot(const cv_plan *p, int64_t *sums, int64_t *row, int64_t *line)
{
    const int64_t positions = p->pairs.tile_p * PAIR;
    *sums = positions * p->pitch;
    *row = positions > p->pitch ? positions : p->pitch;
    *line = p->out.channel == 1 ? 0 : p->pitch * line_pitch(p);
}

typedef struct {
    const cv_run *r;
    cv_pairs_range weights;
    _Atomic cv_pairs_range pixels;
} all;

/* ---- tiles ---- */

/* Some units of a call whose copies exist; way: how they are computed. */
typedef struct {
    all *a;
    int64_t first, units;
    int way;
} turn;

/* Tasks count units and pieces of their copies. */
static void pack_pixels(void *ctx, int64_t begin, int64_t end)
{
    const turn *t = ctx;
    const cv_plan *p = t->a->r->p;
    const cv_pixels *g = &p->pairs.pixels;
    const int64_t pieces = cv_pixels_pieces(g);
    for (int64_t task = begin; task < end; task++)
        atomic_fetch_or(&t->a->pixels, cv_pixels_pack(p, g, t->first + task / pieces, task % pieces,
                                                      t->a->r->packed + p->pairs.pixels_at +
                                                          task / pieces * g->bytes));
}

typedef struct {
    const turn *t;
    const cv_plan *p;
    nd_window_axis axis[3];
    lines l;
    int64_t phase, unit, q0, pairs, o,
        m; /* unit of the turn; pairs of tiles; channels of its group */
    char *sums, *row, *line;
} tile;

/* What pair q of tiles has: its line, its first position there, and how many of them. */
static int64_t positions_of(const tile *t, int64_t q, int64_t *line, int64_t *first)
{
    *line = q / t->l.pairs;
    *first = q % t->l.pairs * PAIR;
    return t->l.length - *first < PAIR ? t->l.length - *first : PAIR;
}

static void compute(const tile *t, int64_t steps)
{
    const cv_plan *p = t->p;
    const cv_pairs_plan *s = &p->pairs;
    const char *packed = t->t->a->r->packed;
    const int64_t pixel = p->ci * 2, group = (t->t->first + t->unit) % p->groups;
    const char *pixels = packed + s->pixels_at + t->unit * s->pixels.bytes;
    const char *weights = packed + s->weights_at +
                          ((t->phase * p->groups + group) * s->blocks_o + t->o / CV_PAIRS_TILE) *
                              s->most_steps * CV_PAIRS_BYTES;
    cv_pairs_block b = {.a_row = t->axis[2].scale * pixel, .steps = steps, .pitch = p->pitch};
    b.step = (const cv_pairs_step *)(const void *)(packed + s->steps_at) + t->phase * s->most_steps;
    for (int64_t o = 0; o < t->m; o += PAIR)
        for (int64_t q = 0; q < t->pairs; q++) {
            int64_t line, first;
            b.m = positions_of(t, t->q0 + q, &line, &first) > CV_PAIRS_TILE ? 2 : 1;
            b.n = t->m - o > CV_PAIRS_TILE ? 2 : 1;
            b.a[0] = pixels + line * t->axis[1].scale * s->pixels.columns * pixel + first * b.a_row;
            b.a[1] = b.a[0] + CV_PAIRS_TILE * b.a_row;
            b.b[0] = weights + o / CV_PAIRS_TILE * s->most_steps * CV_PAIRS_BYTES;
            b.b[1] = b.b[0] + s->most_steps * CV_PAIRS_BYTES;
            b.sum = (float *)(void *)t->sums + q * PAIR * p->pitch + o;
            cv_pairs_compute(p, &b, t->t->way);
        }
}

static char *place(const tile *t, int64_t o, int64_t y, int64_t x)
{
    const cv_plan *p = t->p;
    const int64_t unit = t->t->first + t->unit;
    return p->out.data + (unit / p->groups * p->out.image +
                          (unit % p->groups * p->co + t->o + o) * p->out.channel +
                          (t->axis[1].first + y * t->axis[1].step) * p->out.space[1] +
                          (t->axis[2].first + x * t->axis[2].step) * p->out.space[2]) *
                             p->out.size;
}

/* n positions from (y, x) on, whose sums begin with number `at` of the task's, into the result. */
static void finish_run(const tile *t, int64_t at, int64_t n, int64_t y, int64_t x)
{
    const cv_plan *p = t->p;
    const int64_t o = (t->t->first + t->unit) % p->groups * p->co + t->o;
    const int64_t step = t->axis[2].step * p->out.space[2];
    float *sums = (float *)(void *)t->sums + at * p->pitch;
    if (p->out.channel == 1 && !p->bias && !p->epilogue)
        p->isa->pairs_save(sums, p->pitch, n, t->m, (uint16_t *)(void *)place(t, 0, y, x), step);
    else if (p->out.channel == 1)
        for (int64_t i = 0; i < n; i++, sums += p->pitch) {
            cv_adjust(p, o, (char *)sums, t->m, 0, t->row);
            p->k->save[NDP_BF16](sums, t->m, place(t, 0, y, x + i), 1);
        }
    else
        for (int64_t c = 0; c < t->m; c++) {
            char *line = t->line + (c * line_pitch(p) + at) * (int64_t)sizeof(float);
            cv_adjust(p, o + c, line, n, 1, t->row);
            p->k->save[NDP_BF16](line, n, place(t, c, y, x), step);
        }
}

static void finish(const tile *t)
{
    const cv_plan *p = t->p;
    if (p->out.channel != 1) {
        const cv_turn turned = {.beside = t->sums,
                                .rows = t->line,
                                .n = t->pairs * PAIR,
                                .channels = t->m,
                                .step = p->pitch,
                                .plane = line_pitch(p)};
        p->isa->apart[NDP_F32](&turned);
    }
    for (int64_t q = 0; q < t->pairs; q++) {
        int64_t line, first;
        const int64_t n = positions_of(t, t->q0 + q, &line, &first);
        const int64_t columns = t->l.flat ? p->pairs.pixels.columns : t->l.length;
        for (int64_t i = 0, run; i < n; i += run) {
            const int64_t x = (first + i) % columns, y = line + (first + i) / columns;
            run = n - i < columns - x ? n - i : columns - x;
            if (x < t->axis[2].n)
                finish_run(t, q * PAIR + i, run < t->axis[2].n - x ? run : t->axis[2].n - x, y, x);
        }
    }
}

static void run_tile(tile *t)
{
    const cv_plan *p = t->p;
    const int64_t none = cv_phase(p, t->phase, t->axis) < 0;
    t->l = lines_of(p, t->axis);
    const int64_t left = t->l.lines * t->l.pairs - t->q0;
    t->pairs = left < p->pairs.tile_p ? left : p->pairs.tile_p;
    if (left <= 0)
        return;
    const cv_pairs_runs r = cv_pairs_runs_of(p->ci, &t->axis[2]);
    compute(t, none ? 0 : t->axis[1].taps * r.runs * r.blocks);
    finish(t);
}

/* Tasks count tiles of the result's channels, phases, units, tiles of positions. */
static void run_tiles(void *ctx, int64_t begin, int64_t end)
{
    const turn *u = ctx;
    const cv_run *r = u->a->r;
    const cv_plan *p = r->p;
    const int s = cpu_slot_take(r->busy, r->n_slots);
    char *slot = r->slots + s * p->slot_bytes;
    tile t = {.t = u,
              .p = p,
              .sums = slot + p->slot_sums,
              .row = slot + p->slot_row,
              .line = slot + p->slot_image};
    cv_pairs_begin(u->way);
    for (int64_t task = begin; task < end; task++) {
        int64_t rest = task / p->pairs.tiles_p;
        t.q0 = task % p->pairs.tiles_p * p->pairs.tile_p;
        t.unit = rest % u->units;
        rest /= u->units;
        t.phase = rest % cv_product(p->phases);
        t.o = rest / cv_product(p->phases) * p->pairs.tile_o;
        t.m = p->co - t.o < p->pairs.tile_o ? p->co - t.o : p->pairs.tile_o;
        run_tile(&t);
    }
    cv_pairs_end(u->way);
    cpu_slot_give(r->busy, s);
}

static void make_steps(const cv_run *r)
{
    const cv_plan *p = r->p;
    for (int64_t i = 0; i < cv_product(p->phases); i++) {
        nd_window_axis axis[3];
        if (cv_phase(p, i, axis) >= 0)
            cv_pairs_steps(&p->pairs.pixels, axis,
                           (cv_pairs_step *)(void *)(r->packed + p->pairs.steps_at) +
                               i * p->pairs.most_steps);
    }
}

void cv_pairs_conv(cv_run *r)
{
    const cv_plan *p = r->p;
    const cv_pairs_plan *s = &p->pairs;
    const int64_t phases = cv_product(p->phases), units = p->images * p->groups;
    const int64_t work = s->tile_p * PAIR * p->pitch * (s->most_steps + 1);
    all a = {.r = r, .weights = cv_pairs_pack_weights(r)};
    make_steps(r);
    for (int64_t first = 0; first < units; first += s->units) {
        turn t = {&a, first, units - first < s->units ? units - first : s->units, 0};
        a.pixels = 0;
        cpu_parallel(t.units * cv_pixels_pieces(&s->pixels), 1, pack_pixels, &t);
        t.way = cv_pairs_way(a.weights, a.pixels);
        cpu_parallel(t.units * phases * s->tiles_o * s->tiles_p, 1 + 32768 / (work + 1), run_tiles,
                     &t);
    }
}
