/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolutions with few channels of the result in a group, without matrices: rows of a group's source are
 * packed once, with zeros around them and in the type of the sums, so that each tap is one vector away
 * from every position; elements a stride apart lie side by side. A pass over the taps makes the sums of
 * up to four channels. */
#include <string.h>
#include "conv/conv.h"

enum { FEW = 8, MANY = 16, MOST_TAPS = 1024, LEAST_ROWS = 4, PACKED_BYTES = 160 << 10 };
enum { SLACK = 64 / 4 }; /* elements that the last vector of a row reaches beyond */

/* The source's rows or columns that some positions of all phases read: from `first` on. */
typedef struct {
    int64_t first, n;
} span;

static span span_of(const cv_plan *p, int d, int64_t from, int64_t end)
{
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (int64_t phase = 0; phase < p->phases[d]; phase++) {
        const nd_window_axis a = cv_phase_axis(p, d, phase);
        const int64_t last = (end < a.n ? end : a.n) - 1, reach = (a.taps - 1) * a.move;
        if (a.taps == 0 || last < from)
            continue;
        const int64_t low = from * a.scale + a.origin + (reach < 0 ? reach : 0);
        const int64_t high = last * a.scale + a.origin + (reach > 0 ? reach : 0);
        least = low < least ? low : least;
        most = high > most ? high : most;
    }
    return most < least ? (span){0, 0} : (span){least, most - least + 1};
}

static int64_t scale_of(const cv_plan *p, int d)
{
    return p->backward ? 1 : p->stride[d];
}

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
    const int64_t columns = span_of(p, 2, 0, p->out.extent[2]).n, scale = scale_of(p, 2);
    const int64_t rows = longest(p, 1);
    p->run = (columns + scale - 1) / scale + SLACK;
    const int64_t line = p->run * scale * p->ci * p->k->element;
    p->tile_p = rows;
    while (p->tile_p > LEAST_ROWS && span_of(p, 1, 0, p->tile_p).n * line > PACKED_BYTES)
        p->tile_p = (p->tile_p + 1) / 2;
    p->tiles_p = rows ? (rows + p->tile_p - 1) / p->tile_p : 1;
    p->packed_rows = 0;
    for (int64_t t = 0; t < p->tiles_p; t++) {
        const int64_t n = span_of(p, 1, t * p->tile_p, (t + 1) * p->tile_p).n;
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
    const cv_plan *p;
    int64_t image, group, from, end; /* positions down */
    span rows, columns;
    char *packed, *sums, *row, *weights;
    int64_t *offset;
    phase_taps phase[CV_PLANE_PHASES];
} tile;

int64_t cv_plane_pitch(const cv_plan *p)
{
    return p->run * scale_of(p, 2);
}

/* Elements of the source's rows first to end, of channel c, from `to` on. What lies around them is zero
 * already. */
static void pack_rows(const tile *t, int64_t c, int64_t first, int64_t end, char *to)
{
    const cv_plan *p = t->p;
    const int64_t size = p->k->element, space = p->source.space[2];
    const char *src =
        p->source.data + (t->image * p->source.image + (t->group * p->ci + c) * p->source.channel +
                          first * p->source.space[1]) *
                             p->source.size;
    cv_spread s = {.from = src,
                   .to = to,
                   .rows = end - first,
                   .row = p->source.space[1],
                   .run = p->run,
                   .scale = scale_of(p, 2),
                   .begin = t->columns.first};
    const int whole = space == 1 && mm_is_native(p->k, p->source.dtype) && s.scale <= CV_MOST_SCALE;
    for (int64_t run = 0; run < s.scale; run++) {
        const int64_t begin = s.begin + run;
        int64_t from, until;
        nd_window_inside(p->run, s.scale, begin, p->source.extent[2], &from, &until);
        if (whole) {
            s.first[run] = from;
            s.end[run] = until;
            continue;
        }
        for (int64_t r = 0; r < s.rows && until > from; r++)
            p->k->load[p->source.dtype](src + (r * s.row + (begin + from * s.scale) * space) *
                                                  p->source.size,
                                        0, s.scale * space, 1, until - from,
                                        to + ((r * s.scale + run) * p->run + from) * size);
    }
    if (whole)
        p->isa->spread[p->k->dtype](&s);
}

/* The same of all channels, which lie side by side. */
static void pack_beside(const tile *t, int64_t first, int64_t end)
{
    const cv_plan *p = t->p;
    const int64_t size = p->k->element, scale = scale_of(p, 2), pitch = cv_plane_pitch(p);
    for (int64_t r = first; r < end; r++) {
        char *src = p->source.data +
                    (t->image * p->source.image + t->group * p->ci + r * p->source.space[1]) * size;
        for (int64_t run = 0; run < scale; run++) {
            const int64_t begin = t->columns.first + run;
            int64_t from, until;
            nd_window_inside(p->run, scale, begin, p->source.extent[2], &from, &until);
            const cv_turn turn = {
                .beside = src + (begin + from * scale) * p->source.space[2] * size,
                .rows = t->packed + ((r - t->rows.first) * pitch + run * p->run + from) * size,
                .n = until - from,
                .channels = p->ci,
                .step = scale * p->source.space[2],
                .plane = p->packed_rows * pitch};
            if (until > from)
                p->isa->apart[p->k->dtype](&turn);
        }
    }
}

static void pack_source(const tile *t)
{
    const cv_plan *p = t->p;
    const int beside = p->source.channel == 1 && p->ci > 1 && mm_is_native(p->k, p->source.dtype);
    const int64_t pitch = cv_plane_pitch(p) * p->k->element, extent = p->source.extent[1];
    const int64_t stop = t->rows.first + t->rows.n;
    int64_t first = t->rows.first > 0 ? t->rows.first : 0, end = stop < extent ? stop : extent;
    if (end < first)
        first = end = t->rows.first;
    for (int64_t c = 0; c < p->ci; c++) {
        char *to = t->packed + c * p->packed_rows * pitch;
        memset(to, 0, (size_t)((first - t->rows.first) * pitch));
        if (!beside)
            pack_rows(t, c, first, end, to + (first - t->rows.first) * pitch);
        memset(to + (end - t->rows.first) * pitch, 0, (size_t)((stop - end) * pitch));
    }
    if (beside)
        pack_beside(t, first, end);
}

/* Where the tap meets the first position of a tile. */
static int64_t tap_offset(const tile *t, const nd_window_axis axis[3], int64_t c, int64_t i,
                          int64_t j)
{
    const cv_plan *p = t->p;
    const int64_t scale = scale_of(p, 2);
    const int64_t row = t->from * axis[1].scale + axis[1].origin + i * axis[1].move;
    const int64_t e = axis[2].origin + j * axis[2].move - t->columns.first;
    return (c * p->packed_rows + row - t->rows.first) * cv_plane_pitch(p) + e % scale * p->run +
           e / scale;
}

/* What tiles of other images and groups that begin there have in common. */
static void take_phase(tile *t, int64_t number, phase_taps *phase)
{
    const cv_plan *p = t->p;
    int64_t *offset = phase->offset;
    phase->none = cv_phase(p, number, phase->axis) < 0;
    for (int64_t c = 0; c < p->ci && !phase->none; c++)
        for (int64_t i = 0; i < phase->axis[1].taps; i++)
            for (int64_t j = 0; j < phase->axis[2].taps; j++)
                *offset++ = tap_offset(t, phase->axis, c, i, j);
}

/* The weights of a phase's taps for `outs` channels from o on, side by side. */
static void take_weights(const tile *t, const nd_window_axis axis[3], int64_t o, int outs)
{
    const cv_plan *p = t->p;
    const int64_t size = p->k->element;
    const int64_t group = t->group * (p->backward ? p->ci * p->w_in : p->co * p->w_out);
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
    const cv_plan *p = t->p;
    if (p->bias) {
        const mm_scale scale = {.f_alpha = 1};
        p->k->load[p->out.dtype](p->bias + (t->group * p->co + o) * p->bias_stride * p->out.size, 0,
                                 0, 1, along->n, t->row);
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
    const cv_plan *p = t->p;
    const nd_window_axis *axis = phase->axis;
    const int64_t size = p->k->element, end = t->end < axis[1].n ? t->end : axis[1].n;
    const int64_t down = axis[1].step * p->out.space[1];
    const int64_t across = axis[2].step * p->out.space[2];
    const int native = mm_is_native(p->k, p->out.dtype), direct = native && across == 1;
    const int plain = native && !p->bias && !p->epilogue;
    char *result[CV_PLANE_OUTS];
    cv_plane plane = {.n = axis[2].n,
                      .rows = end - t->from,
                      .row_step = axis[1].scale * cv_plane_pitch(p),
                      .pitch = direct ? down : mm_round_up(axis[2].n, 16),
                      .packed = t->packed,
                      .offset = phase->offset,
                      .weight = t->weights,
                      .taps = phase->none ? 0 : p->ci * axis[1].taps * axis[2].taps};
    if (plane.rows <= 0 || plane.n == 0)
        return;
    for (int k = 0; k < outs; k++) {
        result[k] =
            p->out.data + (t->image * p->out.image + (t->group * p->co + o + k) * p->out.channel +
                           (axis[1].first + t->from * axis[1].step) * p->out.space[1] +
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

int64_t cv_plane_packed(const cv_plan *p)
{
    return (p->ci * p->packed_rows * cv_plane_pitch(p) + SLACK) * p->k->element;
}

/* What does not change while tiles begin where the last one did. */
static void begin_at(tile *t, int64_t from)
{
    const cv_plan *p = t->p;
    const int64_t phases = cv_product(p->phases);
    if (from == t->from)
        return;
    t->from = from;
    t->end = from + p->tile_p;
    t->rows = span_of(p, 1, t->from, t->end);
    t->columns = span_of(p, 2, 0, p->out.extent[2]);
    for (int64_t i = 0; i < phases && phases <= CV_PLANE_PHASES; i++) {
        t->phase[i].offset = t->offset + i * p->ci * p->most_taps;
        take_phase(t, i, &t->phase[i]);
    }
}

static void run_tile(tile *t)
{
    const cv_plan *p = t->p;
    const int64_t phases = cv_product(p->phases);
    pack_source(t);
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
    tile t = {.p = p,
              .from = -1,
              .packed = slot + p->slot_image,
              .sums = slot + p->slot_sums,
              .row = slot + p->slot_row,
              .weights = slot + p->slot_weights,
              .offset = (int64_t *)(slot + p->slot_offsets)};
    memset(slot + p->slot_image, 0, (size_t)cv_plane_packed(p));
    for (int64_t task = begin; task < end; task++) {
        const int64_t unit = task / p->tiles_p;
        t.image = unit / p->groups;
        t.group = unit % p->groups;
        begin_at(&t, task % p->tiles_p * p->tile_p);
        run_tile(&t);
    }
    cpu_slot_give(r->busy, s);
}

/* ---- for gradients for the weight ---- */

void cv_plane_whole(cv_plan *p)
{
    const int64_t columns = span_of(p, 2, 0, p->out.extent[2]).n;
    p->run = (columns + p->stride[2] - 1) / p->stride[2] + SLACK;
    p->tile_p = p->out.extent[1];
    p->tiles_p = 1;
    p->packed_rows = span_of(p, 1, 0, p->tile_p).n;
}

static tile whole_tile(const cv_plan *p, int64_t image, int64_t group)
{
    return (tile){.p = p,
                  .image = image,
                  .group = group,
                  .end = p->tile_p,
                  .rows = span_of(p, 1, 0, p->tile_p),
                  .columns = span_of(p, 2, 0, p->out.extent[2])};
}

void cv_plane_offsets(const cv_plan *p, int64_t *offset)
{
    const tile t = whole_tile(p, 0, 0);
    nd_window_axis axis[3];
    cv_phase(p, 0, axis);
    for (int64_t c = 0; c < p->ci; c++)
        for (int64_t i = 0; i < axis[1].taps; i++)
            for (int64_t j = 0; j < axis[2].taps; j++)
                *offset++ = tap_offset(&t, axis, c, i, j);
}

void cv_plane_pack(const cv_plan *p, int64_t image, int64_t group, char *packed)
{
    tile t = whole_tile(p, image, group);
    t.packed = packed;
    pack_source(&t);
}

/* ---- all tiles ---- */

void cv_planes(cv_run *r)
{
    const cv_plan *p = r->p;
    const int64_t work = p->tile_p * p->out.extent[2] * p->co * (p->ci * p->most_taps + 1);
    cpu_parallel(p->images * p->groups * p->tiles_p, 1 + 65536 / (work + 1), run_tiles, r);
}
