/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolutions whose channels read one or few others each, without matrices: a row of sums at a
 * time, of positions along the last axis, or of channels where these lie side by side. */
#include <string.h>
#include "conv/conv.h"

/* ---- rows of positions ---- */

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

/* ---- rows of channels ---- */

/* Weights as (taps, channels), in the type of the sums. */
static void pack_taps(const cv_run *r)
{
    const cv_plan *p = r->p;
    const int64_t taps = cv_product(p->kernel), size = ndp_dtype_size(p->w_dtype);
    const int64_t step = p->backward ? p->w_in : p->w_out;
    for (int64_t t = 0; t < taps; t++) {
        const int64_t offset = t % p->kernel[2] * p->w_space[2] +
                               t / p->kernel[2] % p->kernel[1] * p->w_space[1] +
                               t / p->kernel[2] / p->kernel[1] * p->w_space[0];
        p->k->load[p->w_dtype](p->weight + offset * size, 0, step, 1, p->groups,
                               r->packed + t * p->groups * p->k->element);
    }
}

static void sum_channels(const cv_run *r, const nd_window_axis axis[3], int64_t image,
                         const int64_t at[3], char *sums)
{
    const cv_plan *p = r->p;
    const int64_t size = p->k->element;
    memset(sums, 0, (size_t)(p->groups * size));
    for (int64_t i = 0; i < axis[0].taps; i++)
        for (int64_t j = 0; j < axis[1].taps; j++)
            for (int64_t k = 0; k < axis[2].taps; k++) {
                const int64_t tap[3] = {i, j, k};
                int64_t offset = image * p->source.image, number = 0, inside = 1;
                for (int d = 0; d < 3; d++) {
                    int64_t e = at[d] * axis[d].scale + axis[d].origin + tap[d] * axis[d].move;
                    inside &= e >= 0 && e < p->source.extent[d];
                    offset += e * p->source.space[d];
                    number = number * p->kernel[d] + axis[d].tap + tap[d] * axis[d].tap_step;
                }
                if (inside)
                    p->isa->channels[p->k->dtype](sums, p->source.data + offset * p->source.size,
                                                  r->packed + number * p->groups * size, p->groups);
            }
}

/* Tasks count rows of the result, of all images. */
static void run_rows(void *ctx, int64_t begin, int64_t end)
{
    const cv_run *r = ctx;
    const cv_plan *p = r->p;
    const int s = cpu_slot_take(r->busy, r->n_slots);
    char *slot = r->slots + s * p->slot_bytes, *sums = slot + p->slot_sums,
         *bias = slot + p->slot_image;
    const int64_t *extent = p->out.extent;
    const mm_scale scale = {.f_alpha = 1};
    if (p->bias)
        p->k->load[p->out.dtype](p->bias, 0, p->bias_stride, 1, p->groups, bias);
    for (int64_t task = begin; task < end; task++)
        for (int64_t w = 0; w < extent[2]; w++) {
            const int64_t e[3] = {task / extent[1] % extent[0], task % extent[1], w};
            const int64_t image = task / extent[1] / extent[0];
            int64_t phase = 0, at[3], offset = image * p->out.image;
            nd_window_axis axis[3];
            for (int d = 0; d < 3; d++) {
                phase = phase * p->phases[d] + (p->backward ? e[d] % p->stride[d] : 0);
                at[d] = p->backward ? e[d] / p->stride[d] : e[d];
                offset += e[d] * p->out.space[d];
            }
            cv_phase(p, phase, axis);
            sum_channels(r, axis, image, at, sums);
            if (p->bias)
                p->k->combine(sums, p->groups, &scale, NULL, bias);
            if (p->epilogue)
                p->epilogue((char *const[]){sums, sums}, p->groups);
            p->k->save[p->out.dtype](sums, p->groups, p->out.data + offset * p->out.size, 1);
        }
    cpu_slot_give(r->busy, s);
}

void cv_depthwise(cv_run *r)
{
    const cv_plan *p = r->p;
    const int64_t taps = p->ci * p->most_taps + 1, line = p->out.extent[2];
    if (p->by_channels) {
        const int64_t work = p->groups * line * taps;
        pack_taps(r);
        cpu_parallel(p->images * p->out.extent[0] * p->out.extent[1], 1 + 65536 / (work + 1),
                     run_rows, r);
    } else {
        const int64_t phases = cv_product(p->phases);
        const int64_t work = cv_product(p->out.extent) / phases * taps;
        cpu_parallel(p->images * p->groups * p->co * phases, 1 + 65536 / (work + 1), run_planes, r);
    }
}
