/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Copies of a source amid zeros, for direct convolutions: how large they are, where taps find their elements, and how
 * channels are copied. */
#include <string.h>
#include "conv/conv.h"

enum { SLACK = 64 /* elements that the last vectors may reach beyond */ };

/* Axis d, 1 for rows and 2 for columns, of all phases: the least and the greatest element that the first position's
 * taps meet. */
static void reach_of(const cv_plan *p, int d, int64_t *low, int64_t *reach)
{
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (int64_t phase = 0; phase < p->phases[d]; phase++) {
        const nd_window_axis a = cv_phase_axis(p, d, phase);
        const int64_t last = a.origin + (a.taps - 1) * a.move;
        if (a.taps == 0 || a.n == 0)
            continue;
        least = a.origin < least ? a.origin : least;
        least = last < least ? last : least;
        most = a.origin > most ? a.origin : most;
        most = last > most ? last : most;
    }
    *low = most < least ? 0 : least;
    *reach = most < least ? 0 : most - least;
}

/* Which phases of the scale taps meet. */
static void mark_used(const cv_plan *p, cv_grid *g, int d)
{
    for (int64_t phase = 0; phase < p->phases[d]; phase++) {
        const nd_window_axis a = cv_phase_axis(p, d, phase);
        for (int64_t k = 0; k < a.taps; k++)
            g->used[d - 1][(a.origin + k * a.move - g->low[d - 1]) % g->scale[d - 1]] = 1;
    }
}

static int64_t longest(const cv_plan *p, int d)
{
    return (p->out.extent[d] + p->phases[d] - 1) / p->phases[d];
}

void cv_grid_plan(const cv_plan *p, int64_t band, cv_grid *g)
{
    const int64_t line = 64 / p->k->element;
    memset(g, 0, sizeof *g);
    for (int d = 1; d < 3; d++) {
        g->scale[d - 1] = p->backward ? 1 : p->stride[d];
        reach_of(p, d, &g->low[d - 1], &g->reach[d - 1]);
        mark_used(p, g, d);
    }
    g->rows = band + g->reach[0] / g->scale[0];
    g->pitch = longest(p, 2) + g->reach[1] / g->scale[1];
    g->plane = g->rows * g->pitch;
    /* An odd number of lines: channels do not compete for the sets of a cache. */
    g->channel = mm_round_up(g->plane * g->scale[0] * g->scale[1], line);
    if (g->channel / line % 2 == 0)
        g->channel += line;
}

int64_t cv_grid_size(const cv_grid *g, int64_t channels)
{
    return channels * g->channel + SLACK;
}

int64_t cv_grid_displacement(const cv_grid *g, int64_t row, int64_t column)
{
    const int64_t r = row - g->low[0], c = column - g->low[1];
    const int64_t phase = r % g->scale[0] * g->scale[1] + c % g->scale[1];
    return phase * g->plane + r / g->scale[0] * g->pitch + c / g->scale[1];
}

/* Elements of a row that are `step` apart, side by side. */
static void copy_row(const cv_plan *p, const char *from, int64_t step, int64_t n, char *to)
{
    if (step == 1 && mm_is_native(p->k, p->source.dtype))
        memcpy(to, from, (size_t)(n * p->k->element));
    else
        p->k->load[p->source.dtype](from, 0, step, 1, n, to);
}

/* A row of `channels` channels, whose elements begin at `from`, into their planes' rows at `to`. */
static void pack_row(const cv_plan *p, const cv_grid *g, const char *from, int64_t channels,
                     int64_t phase, char *to)
{
    const int64_t size = p->k->element, scale = g->scale[1], space = p->source.space[2];
    const int64_t begin = g->low[1] + phase;
    const int beside =
        p->source.channel == 1 && channels > 1 && mm_is_native(p->k, p->source.dtype);
    int64_t first, end;
    nd_window_inside(g->pitch, scale, begin, p->source.extent[2], &first, &end);
    const char *src = from + (begin + first * scale) * space * p->source.size;
    for (int64_t c = 0; c < channels; c++) {
        char *row = to + c * g->channel * size;
        memset(row, 0, (size_t)(first * size));
        if (!beside && end > first)
            copy_row(p, src + c * p->source.channel * p->source.size, scale * space, end - first,
                     row + first * size);
        memset(row + end * size, 0, (size_t)((g->pitch - end) * size));
    }
    if (beside && end > first) {
        const cv_turn turn = {.beside = (void *)(uintptr_t)src,
                              .rows = to + first * size,
                              .n = end - first,
                              .channels = channels,
                              .step = scale * space,
                              .plane = g->channel};
        p->isa->apart[p->k->dtype](&turn);
    }
}

/* What the last vectors of a channel reach into: numbers of any kind would be slow there. */
static void clear_ends(const cv_grid *g, int64_t channels, int64_t size, char *to)
{
    const int64_t used = g->scale[0] * g->scale[1] * g->plane;
    for (int64_t c = 0; c < channels; c++)
        memset(to + (c * g->channel + used) * size, 0, (size_t)((g->channel - used) * size));
}

void cv_grid_pack(const cv_plan *p, const cv_grid *g, const char *from, int64_t channels,
                  int64_t position, int64_t first, int64_t end, char *to)
{
    const int64_t size = p->k->element;
    if (end == g->rows)
        clear_ends(g, channels, size, to);
    for (int64_t down = 0; down < g->scale[0]; down++)
        for (int64_t across = 0; across < g->scale[1] && g->used[0][down]; across++) {
            char *plane = to + ((down * g->scale[1] + across) * g->plane + first * g->pitch) * size;
            for (int64_t r = first; r < end && g->used[1][across]; r++, plane += g->pitch * size) {
                const int64_t row = g->low[0] + down + (position + r) * g->scale[0];
                if (row >= 0 && row < p->source.extent[1])
                    pack_row(p, g, from + row * p->source.space[1] * p->source.size, channels,
                             across, plane);
                else
                    for (int64_t c = 0; c < channels; c++)
                        memset(plane + c * g->channel * size, 0, (size_t)(g->pitch * size));
            }
        }
}
