/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolutions with few channels of the result in a group, without matrices: rows of a group's source are
 * packed once, with zeros around them and in the type of the sums, so that each tap is one vector away
 * from every position; elements a stride apart lie side by side. A pass over the taps makes the sums of
 * up to four channels. */
#include <string.h>
#include "conv/plane.h"

enum { FEW = 8, MANY = 16, MOST_TAPS = 1024, LEAST_ROWS = 4, PACKED_BYTES = 160 << 10 };

static int64_t longest(const cv_plan *p, int d)
{
    return (p->out.extent[d] + p->phases[d] - 1) / p->phases[d];
}

int cv_is_plane(const cv_plan *p)
{
    const int flat =
        p->kernel[0] == 1 && p->source.extent[0] == 1 && p->out.extent[0] == 1 && p->before[0] == 0;
    const int beside = p->source.channel == 1 && p->source.space[2] != 1 && p->ci * p->groups > 1;
    if (beside && (p->ci * p->co == 1 || !mm_is_native(p->k, p->source.dtype)))
        return 0;
    return flat && p->ci * p->most_taps <= MOST_TAPS && p->most_taps > 1 &&
           (p->co <= CV_PLANE_OUTS || (p->co <= FEW && p->ci <= MANY));
}

void cv_plane_plan(cv_plan *p)
{
    const int64_t columns = cv_plane_span(p, 2, 0, p->out.extent[2]).n,
                  scale = cv_plane_scale(p, 2);
    const int64_t rows = longest(p, 1);
    p->run = (columns + scale - 1) / scale + CV_PLANE_SLACK;
    const int64_t line = p->run * scale * p->ci * p->k->element;
    p->tile_p = rows;
    while (p->tile_p > LEAST_ROWS && cv_plane_span(p, 1, 0, p->tile_p).n * line > PACKED_BYTES)
        p->tile_p = (p->tile_p + 1) / 2;
    p->tiles_p = rows ? (rows + p->tile_p - 1) / p->tile_p : 1;
    p->packed_rows = 0;
    for (int64_t t = 0; t < p->tiles_p; t++) {
        const int64_t n = cv_plane_span(p, 1, t * p->tile_p, (t + 1) * p->tile_p).n;
        p->packed_rows = n > p->packed_rows ? n : p->packed_rows;
    }
}

/* ---- a tile: rows of an image's group ---- */

/* Positions and taps of a phase; where each tap meets a tile's first position. */
typedef struct {
    nd_window_axis axis[3];
    int64_t *offset;
    int none;
} phase_taps;

typedef struct {
    cv_plane_tile of;
    char *sums, *row, *weights;
    int64_t *offset;
    phase_taps phase[CV_PLANE_PHASES];
} tile;

/* What tiles of other images and groups that begin there have in common. */
static void take_phase(tile *t, int64_t number, phase_taps *phase)
{
    const cv_plan *p = t->of.p;
    int64_t *offset = phase->offset;
    phase->none = cv_phase(p, number, phase->axis) < 0;
    for (int64_t c = 0; c < p->ci && !phase->none; c++)
        for (int64_t i = 0; i < phase->axis[1].taps; i++)
            for (int64_t j = 0; j < phase->axis[2].taps; j++)
                *offset++ = cv_plane_tap(&t->of, phase->axis, c, i, j);
}

/* The weights of a phase's taps for `outs` channels from o on, side by side. */
static void take_weights(const tile *t, const nd_window_axis axis[3], int64_t o, int outs)
{
    const cv_plan *p = t->of.p;
    const int64_t size = p->k->element;
    const int64_t group = t->of.group * (p->backward ? p->ci * p->w_in : p->co * p->w_out);
    int64_t tap = 0;
    for (int64_t c = 0; c < p->ci; c++)
        for (int64_t i = 0; i < axis[1].taps; i++, tap += axis[2].taps)
            for (int k = 0; k < outs; k++) {
                const int64_t at = group + c * p->w_in + (o + k) * p->w_out +
                                   (axis[1].tap + i * axis[1].tap_step) * p->w_space[1] +
                                   axis[2].tap * p->w_space[2];
                char *to = t->weights + (tap * outs + k) * size;
                p->k->load[p->w_dtype](p->weight + at * ndp_dtype_size(p->w_dtype), 0,
                                       axis[2].tap_step * p->w_space[2], 1, axis[2].taps,
                                       outs == 1 ? to : t->row);
                for (int64_t j = 0; j < axis[2].taps && outs > 1; j++)
                    memcpy(to + j * outs * size, t->row + j * size, (size_t)size);
            }
}

static void finish_row(const tile *t, const nd_window_axis *along, char *sums, char *result,
                       int64_t o)
{
    const cv_plan *p = t->of.p;
    if (p->bias) {
        const mm_scale scale = {.f_alpha = 1};
        p->k->load[p->out.dtype](p->bias + (t->of.group * p->co + o) * p->bias_stride * p->out.size,
                                 0, 0, 1, along->n, t->row);
        p->k->combine(sums, along->n, &scale, NULL, t->row);
    }
    if (p->epilogue)
        p->epilogue((char *const[]){sums, sums}, along->n);
    if (sums != result)
        p->k->save[p->out.dtype](sums, along->n, result, along->step * p->out.space[2]);
}

/* Rows of n sums, of the result's dtype, to elements `step` apart. */
static void scatter_rows(const cv_plane *plane, const void *sums, char *result, int64_t size,
                         int64_t step, int64_t down)
{
    for (int64_t r = 0; r < plane->rows; r++)
        if (size == 4) {
            const float *from = (const float *)sums + r * plane->pitch;
            float *to = (float *)result + r * down;
            for (int64_t i = 0; i < plane->n; i++)
                to[i * step] = from[i];
        } else {
            const double *from = (const double *)sums + r * plane->pitch;
            double *to = (double *)result + r * down;
            for (int64_t i = 0; i < plane->n; i++)
                to[i * step] = from[i];
        }
}

/* Rows of sums of some channels, which lie side by side in the result. */
static void join_rows(const cv_plan *p, const cv_plane *plane, int outs, char *result, int64_t step,
                      int64_t down)
{
    const int64_t size = p->k->element;
    for (int64_t r = 0; r < plane->rows; r++) {
        const cv_turn turn = {.beside = result + r * down * size,
                              .rows = (char *)plane->sum[0] + r * plane->pitch * size,
                              .n = plane->n,
                              .channels = outs,
                              .step = step,
                              .plane = plane->rows * plane->pitch};
        p->isa->together[p->k->dtype](&turn);
    }
}

/* Some channels of the result for the positions of one phase, straight into the result where its elements
 * are sums and lie side by side. */
static void compute(const tile *t, const phase_taps *phase, int64_t o, int outs)
{
    const cv_plan *p = t->of.p;
    const nd_window_axis *axis = phase->axis;
    const int64_t size = p->k->element, end = t->of.end < axis[1].n ? t->of.end : axis[1].n;
    const int64_t down = axis[1].step * p->out.space[1];
    const int64_t across = axis[2].step * p->out.space[2];
    const int native = mm_is_native(p->k, p->out.dtype), direct = native && across == 1;
    const int plain = native && !p->bias && !p->epilogue;
    char *result[CV_PLANE_OUTS];
    cv_plane plane = {.n = axis[2].n,
                      .rows = end - t->of.from,
                      .row_step = axis[1].scale * cv_plane_pitch(p),
                      .pitch = direct ? down : mm_round_up(axis[2].n, 16),
                      .packed = t->of.packed,
                      .offset = phase->offset,
                      .weight = t->weights,
                      .taps = phase->none ? 0 : p->ci * axis[1].taps * axis[2].taps};
    if (plane.rows <= 0 || plane.n == 0)
        return;
    for (int k = 0; k < outs; k++) {
        result[k] = p->out.data +
                    (t->of.image * p->out.image + (t->of.group * p->co + o + k) * p->out.channel +
                     (axis[1].first + t->of.from * axis[1].step) * p->out.space[1] +
                     axis[2].first * p->out.space[2]) *
                        p->out.size;
        plane.sum[k] = direct ? result[k] : t->sums + k * plane.rows * plane.pitch * size;
    }
    if (!phase->none)
        take_weights(t, axis, o, outs);
    p->isa->plane[p->k->dtype](&plane, outs);
    const int joined = plain && !direct && outs > 1 && p->out.channel == 1;
    if (joined)
        join_rows(p, &plane, outs, result[0], across, down);
    for (int k = 0; k < outs && plain && !direct && !joined; k++)
        scatter_rows(&plane, plane.sum[k], result[k], size, across, down);
    for (int k = 0; k < outs && !plain; k++)
        for (int64_t r = 0; r < plane.rows; r++)
            finish_row(t, &axis[2], (char *)plane.sum[k] + r * plane.pitch * size,
                       result[k] + r * down * p->out.size, o + k);
}

int64_t cv_plane_sums(const cv_plan *p)
{
    return CV_PLANE_OUTS * p->tile_p * mm_round_up(longest(p, 2), 16) * p->k->element;
}

/* What does not change while tiles begin where the last one did. */
static void begin_at(tile *t, int64_t from)
{
    const cv_plan *p = t->of.p;
    const int64_t phases = cv_product(p->phases);
    if (from == t->of.from)
        return;
    t->of.from = from;
    t->of.end = from + p->tile_p;
    t->of.rows = cv_plane_span(p, 1, t->of.from, t->of.end);
    t->of.columns = cv_plane_span(p, 2, 0, p->out.extent[2]);
    for (int64_t i = 0; i < phases && phases <= CV_PLANE_PHASES; i++) {
        t->phase[i].offset = t->offset + i * p->ci * p->most_taps;
        take_phase(t, i, &t->phase[i]);
    }
}

static void run_tile(tile *t)
{
    const cv_plan *p = t->of.p;
    const int64_t phases = cv_product(p->phases);
    cv_plane_pack_tile(&t->of);
    for (int64_t i = 0; i < phases; i++) {
        phase_taps *phase = &t->phase[phases <= CV_PLANE_PHASES ? i : 0];
        if (phases > CV_PLANE_PHASES) {
            phase->offset = t->offset;
            take_phase(t, i, phase);
        }
        for (int64_t o = 0; o < p->co; o += CV_PLANE_OUTS)
            compute(t, phase, o, (int)(p->co - o < CV_PLANE_OUTS ? p->co - o : CV_PLANE_OUTS));
    }
}

/* Tasks count tiles of groups of images. */
static void run_tiles(void *ctx, int64_t begin, int64_t end)
{
    const cv_run *r = ctx;
    const cv_plan *p = r->p;
    const int s = cpu_slot_take(r->busy, r->n_slots);
    char *slot = r->slots + s * p->slot_bytes;
    tile t = {.of = {.p = p, .from = -1, .packed = slot + p->slot_image},
              .sums = slot + p->slot_sums,
              .row = slot + p->slot_row,
              .weights = slot + p->slot_weights,
              .offset = (int64_t *)(slot + p->slot_offsets)};
    memset(slot + p->slot_image, 0, (size_t)cv_plane_packed(p));
    for (int64_t task = begin; task < end; task++) {
        const int64_t unit = task / p->tiles_p;
        t.of.image = unit / p->groups;
        t.of.group = unit % p->groups;
        begin_at(&t, task % p->tiles_p * p->tile_p);
        run_tile(&t);
    }
    cpu_slot_give(r->busy, s);
}

/* ---- all tiles ---- */

void cv_planes(cv_run *r)
{
    const cv_plan *p = r->p;
    const int64_t work = p->tile_p * p->out.extent[2] * p->co * (p->ci * p->most_taps + 1);
    const int64_t tasks = p->images * p->groups * p->tiles_p;
    cpu_parallel(tasks, cv_grain(tasks, 1 + 65536 / (work + 1)), run_tiles, r);
}
