/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolutions whose channels read one or few others each, without matrices: a row of sums at a
 * time, of positions along the last axis; beside.c has those whose channels lie side by side. */
#include <string.h>
#include "conv/conv.h"

typedef struct {
    const cv_run *r;
    nd_window_axis axis[3];
    int64_t image, group, o;
    int64_t at[2]; /* the row's position on the first axes */
    char *sums, *row, *bias;
    char *weights; /* (channels of the source, taps), in the type of the sums */
    int converted; /* rows of the source have to be */
} row_of;

static const char *weight_at(const cv_plan *p, const row_of *t, int64_t c, const int64_t tap[3])
{
    int64_t offset = t->group * (p->backward ? p->ci * p->w_in : p->co * p->w_out) +
                     t->o * p->w_out + c * p->w_in;
    for (int d = 0; d < 3; d++)
        offset += (t->axis[d].tap + tap[d] * t->axis[d].tap_step) * p->w_space[d];
    return p->weight + offset * ndp_dtype_size(p->w_dtype);
}

static void load_weights(const row_of *t)
{
    const cv_plan *p = t->r->p;
    char *to = t->weights;
    int64_t tap[3];
    for (int64_t c = 0; c < p->ci; c++)
        for (tap[0] = 0; tap[0] < t->axis[0].taps; tap[0]++)
            for (tap[1] = 0; tap[1] < t->axis[1].taps; tap[1]++)
                for (tap[2] = 0; tap[2] < t->axis[2].taps; tap[2]++, to += p->k->element)
                    p->k->load[p->w_dtype](weight_at(p, t, c, tap), 0, 1, 1, 1, to);
}

static void begin_taps(cv_taps *t, const nd_window_axis *a, int64_t extent)
{
    const int64_t last = a->origin + (a->taps - 1) * a->move;
    const int64_t least = last < a->origin ? last : a->origin;
    int64_t unused;
    t->n = a->n;
    t->extent = extent;
    t->scale = a->scale;
    t->origin = a->origin;
    t->move = a->move;
    t->taps = a->taps;
    t->rows = 0;
    nd_window_inside(a->n, a->scale, least, extent, &t->first, &unused);
    nd_window_inside(a->n, a->scale, least == last ? a->origin : last, extent, &unused, &t->end);
    t->end = t->end > t->first ? t->end : t->first;
}

static void add_rows(const row_of *t, cv_taps *taps)
{
    if (taps->rows > 0 || taps->start)
        t->r->p->isa->taps[t->r->p->k->dtype](t->sums, taps);
    taps->rows = taps->start = 0;
}

/* The taps of one row of the source, added at once where it is converted first, for there is room
 * for one. */
static void take_row(const row_of *t, int64_t c, const int64_t place[2], const int64_t tap[3],
                     cv_taps *taps)
{
    const cv_plan *p = t->r->p;
    const char *src =
        p->source.data + (t->image * p->source.image + (t->group * p->ci + c) * p->source.channel +
                          place[0] * p->source.space[0] + place[1] * p->source.space[1]) *
                             p->source.size;
    const int converted = t->converted;
    if (converted) {
        p->k->load[p->source.dtype](src, 0, p->source.space[2], 1, p->source.extent[2], t->row);
        src = t->row;
    }
    taps->weight[taps->rows] =
        t->weights +
        ((c * t->axis[0].taps + tap[0]) * t->axis[1].taps + tap[1]) * taps->taps * p->k->element;
    taps->row[taps->rows++] = src;
    if (converted || taps->rows == CV_MOST_ROWS)
        add_rows(t, taps);
}

static void sum_row(const row_of *t, cv_taps *taps)
{
    const cv_plan *p = t->r->p;
    int64_t tap[3], place[2];
    taps->start = 1;
    for (int64_t c = 0; c < p->ci; c++)
        for (tap[0] = 0; tap[0] < t->axis[0].taps; tap[0]++)
            for (tap[1] = 0; tap[1] < t->axis[1].taps; tap[1]++) {
                for (int d = 0; d < 2; d++)
                    place[d] =
                        t->at[d] * t->axis[d].scale + t->axis[d].origin + tap[d] * t->axis[d].move;
                if (place[0] >= 0 && place[0] < p->source.extent[0] && place[1] >= 0 &&
                    place[1] < p->source.extent[1])
                    take_row(t, c, place, tap, taps);
            }
    add_rows(t, taps);
}

/* Where the row goes. */
static char *result_of(const row_of *t)
{
    const cv_plan *p = t->r->p;
    int64_t offset = t->image * p->out.image + (t->group * p->co + t->o) * p->out.channel +
                     t->axis[2].first * p->out.space[2];
    for (int d = 0; d < 2; d++)
        offset += (t->axis[d].first + t->at[d] * t->axis[d].step) * p->out.space[d];
    return p->out.data + offset * p->out.size;
}

static void save_row(const row_of *t, char *result)
{
    const cv_plan *p = t->r->p;
    const int64_t channel = t->group * p->co + t->o, n = t->axis[2].n;
    if (p->bias) {
        const mm_scale scale = {.f_alpha = 1};
        p->k->load[p->out.dtype](p->bias + channel * p->bias_stride * p->out.size, 0, 0, 1, n,
                                 t->bias);
        p->k->combine(t->sums, n, &scale, NULL, t->bias);
    }
    if (p->epilogue)
        p->epilogue((char *const[]){t->sums, t->sums}, n);
    if (t->sums != result)
        p->k->save[p->out.dtype](t->sums, n, result, t->axis[2].step * p->out.space[2]);
}

/* Tasks count planes: phases of channels of images. */
static void run_planes(void *ctx, int64_t begin, int64_t end)
{
    const cv_run *r = ctx;
    const cv_plan *p = r->p;
    const int s = cpu_slot_take(r->busy, r->n_slots);
    char *slot = r->slots + s * p->slot_bytes;
    const int64_t phases = cv_product(p->phases);
    for (int64_t task = begin; task < end; task++) {
        row_of t = {.r = r,
                    .image = task / phases / p->co / p->groups,
                    .group = task / phases / p->co % p->groups,
                    .o = task / phases % p->co,
                    .sums = slot + p->slot_sums,
                    .converted = p->source.space[2] != 1 || !mm_is_native(p->k, p->source.dtype),
                    .row = slot + p->slot_row,
                    .bias = slot + p->slot_image,
                    .weights = slot + p->slot_weights};
        cv_phase(p, task % phases, t.axis);
        load_weights(&t);
        cv_taps taps;
        begin_taps(&taps, &t.axis[2], p->source.extent[2]);
        const int direct =
            mm_is_native(p->k, p->out.dtype) && t.axis[2].step * p->out.space[2] == 1;
        for (t.at[0] = 0; t.at[0] < t.axis[0].n; t.at[0]++)
            for (t.at[1] = 0; t.at[1] < t.axis[1].n && t.axis[2].n > 0; t.at[1]++) {
                char *result = result_of(&t);
                t.sums = direct ? result : slot + p->slot_sums;
                sum_row(&t, &taps);
                save_row(&t, result);
            }
    }
    cpu_slot_give(r->busy, s);
}

void cv_depthwise(cv_run *r)
{
    const cv_plan *p = r->p;
    const int64_t phases = cv_product(p->phases);
    const int64_t work = cv_product(p->out.extent) / phases * (p->ci * p->most_taps + 1);
    if (p->by_channels)
        cv_beside_rows(r);
    else {
        const int64_t planes = p->images * p->groups * p->co * phases;
        cpu_parallel(planes, cv_grain(planes, 1 + 65536 / (work + 1)), run_planes, r);
    }
}
