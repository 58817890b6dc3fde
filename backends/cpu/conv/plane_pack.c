/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The source of convolutions by planes (plane.c) as tiles read it: rows of a group's channels, packed once with zeros
 * around them, elements a stride apart side by side; and all rows of an image for gradients for the weight. */
#include <string.h>
#include "conv/plane.h"

cv_span cv_plane_span(const cv_plan *p, int d, int64_t from, int64_t end)
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
    return most < least ? (cv_span){0, 0} : (cv_span){least, most - least + 1};
}

int64_t cv_plane_scale(const cv_plan *p, int d)
{
    return p->backward ? 1 : p->stride[d];
}

int64_t cv_plane_pitch(const cv_plan *p)
{
    return p->run * cv_plane_scale(p, 2);
}

/* Elements of the source's rows first to end, of channel c, from `to` on. What lies around them is zero
 * already. */
static void pack_rows(const cv_plane_tile *t, int64_t c, int64_t first, int64_t end, char *to)
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
                   .scale = cv_plane_scale(p, 2),
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
static void pack_beside(const cv_plane_tile *t, int64_t first, int64_t end)
{
    const cv_plan *p = t->p;
    const int64_t size = p->k->element, scale = cv_plane_scale(p, 2), pitch = cv_plane_pitch(p);
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

void cv_plane_pack_tile(const cv_plane_tile *t)
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

int64_t cv_plane_tap(const cv_plane_tile *t, const nd_window_axis axis[3], int64_t c, int64_t i,
                     int64_t j)
{
    const cv_plan *p = t->p;
    const int64_t scale = cv_plane_scale(p, 2);
    const int64_t row = t->from * axis[1].scale + axis[1].origin + i * axis[1].move;
    const int64_t e = axis[2].origin + j * axis[2].move - t->columns.first;
    return (c * p->packed_rows + row - t->rows.first) * cv_plane_pitch(p) + e % scale * p->run +
           e / scale;
}

int64_t cv_plane_packed(const cv_plan *p)
{
    return (p->ci * p->packed_rows * cv_plane_pitch(p) + CV_PLANE_SLACK) * p->k->element;
}

/* ---- for gradients for the weight ---- */

void cv_plane_whole(cv_plan *p)
{
    const int64_t columns = cv_plane_span(p, 2, 0, p->out.extent[2]).n;
    p->run = (columns + p->stride[2] - 1) / p->stride[2] + CV_PLANE_SLACK;
    p->tile_p = p->out.extent[1];
    p->tiles_p = 1;
    p->packed_rows = cv_plane_span(p, 1, 0, p->tile_p).n;
}

static cv_plane_tile whole_tile(const cv_plan *p, int64_t image, int64_t group)
{
    return (cv_plane_tile){.p = p,
                           .image = image,
                           .group = group,
                           .end = p->tile_p,
                           .rows = cv_plane_span(p, 1, 0, p->tile_p),
                           .columns = cv_plane_span(p, 2, 0, p->out.extent[2])};
}

void cv_plane_offsets(const cv_plan *p, int64_t *offset)
{
    const cv_plane_tile t = whole_tile(p, 0, 0);
    nd_window_axis axis[3];
    cv_phase(p, 0, axis);
    for (int64_t c = 0; c < p->ci; c++)
        for (int64_t i = 0; i < axis[1].taps; i++)
            for (int64_t j = 0; j < axis[2].taps; j++)
                *offset++ = cv_plane_tap(&t, axis, c, i, j);
}

void cv_plane_pack(const cv_plan *p, int64_t image, int64_t group, char *packed)
{
    cv_plane_tile t = whole_tile(p, image, group);
    t.packed = packed;
    cv_plane_pack_tile(&t);
}
