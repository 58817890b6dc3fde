/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolutions of single channels that lie side by side, without matrices: a row of the result at a time,
 * pixel by pixel; each tap is a pointer to a pixel of the source, and to a line of weights. */
#include <string.h>
#include "conv/conv.h"

typedef struct {
    const cv_run *r;
    nd_window_axis axis[3];
    int64_t image, at[2]; /* the row's position on the first axes, of the phase's positions */
    cv_beside all, some;  /* with all taps along the row, or those that one pixel has */
    int64_t *column;      /* of each tap: which element of the row it meets first */
} row_of;

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

/* Elements on the first two axes that taps i and j meet: whether they are there, and their place. */
static int meets(const row_of *t, int64_t i, int64_t j, int64_t *offset)
{
    const cv_plan *p = t->r->p;
    const int64_t tap[2] = {i, j};
    int inside = 1;
    *offset = t->image * p->source.image;
    for (int d = 0; d < 2; d++) {
        const int64_t e =
            t->at[d] * t->axis[d].scale + t->axis[d].origin + tap[d] * t->axis[d].move;
        inside &= e >= 0 && e < p->source.extent[d];
        *offset += e * p->source.space[d];
    }
    return inside;
}

static void take_taps(row_of *t)
{
    const cv_plan *p = t->r->p;
    const nd_window_axis *a = t->axis;
    const void **x = (const void **)t->all.x, **weight = (const void **)t->all.weight;
    t->all.taps = 0;
    for (int64_t i = 0; i < a[0].taps; i++)
        for (int64_t j = 0; j < a[1].taps; j++) {
            int64_t offset;
            if (!meets(t, i, j, &offset))
                continue;
            for (int64_t k = 0; k < a[2].taps; k++) {
                const int64_t column = a[2].origin + k * a[2].move, n = t->all.taps++;
                const int64_t number =
                    ((a[0].tap + i * a[0].tap_step) * p->kernel[1] + a[1].tap + j * a[1].tap_step) *
                        p->kernel[2] +
                    a[2].tap + k * a[2].tap_step;
                t->column[n] = column;
                x[n] = p->source.data + (offset + column * p->source.space[2]) * p->source.size;
                weight[n] = t->r->packed + number * p->groups * p->k->element;
            }
        }
}

/* One pixel, of whose taps some are outside. */
static void at_edge(row_of *t, int64_t at)
{
    const cv_plan *p = t->r->p;
    const void **x = (const void **)t->some.x, **weight = (const void **)t->some.weight;
    int64_t n = 0;
    for (int64_t i = 0; i < t->all.taps; i++) {
        const int64_t e = at * t->axis[2].scale + t->column[i];
        if (e < 0 || e >= p->source.extent[2])
            continue;
        x[n] = (const char *)t->all.x[i] + at * t->all.step * p->source.size;
        weight[n++] = t->all.weight[i];
    }
    t->some.taps = n;
    t->some.pixels = 1;
    t->some.sum = (char *)t->all.sum + at * t->all.pitch * p->k->element;
    p->isa->beside[p->k->dtype](&t->some);
}

/* Pixels all of whose taps are inside, from the last to the first where taps go backwards. */
static void sum_inside(row_of *t, int64_t first, int64_t end)
{
    const cv_plan *p = t->r->p;
    const nd_window_axis *a = &t->axis[2];
    const int64_t begin = a->move < 0 ? end - 1 : first, turn = a->move < 0 ? -1 : 1;
    const void **x = (const void **)t->some.x;
    cv_beside inner = t->all;
    for (int64_t i = 0; i < inner.taps; i++)
        x[i] = (const char *)t->all.x[i] + begin * t->all.step * p->source.size;
    inner.x = t->some.x;
    inner.sum = (char *)t->all.sum + begin * t->all.pitch * p->k->element;
    inner.step *= turn;
    inner.pitch *= turn;
    inner.pixels = end - first;
    inner.along = a->scale == 1 && a->move == turn ? a->taps : 0;
    p->isa->beside[p->k->dtype](&inner);
}

static void sum_row(row_of *t)
{
    const cv_plan *p = t->r->p;
    const nd_window_axis *a = &t->axis[2];
    const int64_t last = a->origin + (a->taps - 1) * a->move;
    const int64_t least = last < a->origin ? last : a->origin, most = a->origin + last - least;
    int64_t first, end, unused;
    nd_window_inside(a->n, a->scale, least, p->source.extent[2], &first, &unused);
    nd_window_inside(a->n, a->scale, most, p->source.extent[2], &unused, &end);
    end = end > first ? end : first;
    for (int64_t i = 0; i < first; i++)
        at_edge(t, i);
    if (end > first)
        sum_inside(t, first, end);
    for (int64_t i = end; i < a->n; i++)
        at_edge(t, i);
}

static void save_row(const row_of *t, char *result, const char *bias)
{
    const cv_plan *p = t->r->p;
    const mm_scale scale = {.f_alpha = 1};
    for (int64_t i = 0; i < t->axis[2].n; i++) {
        char *sums = (char *)t->all.sum + i * t->all.pitch * p->k->element;
        if (p->bias)
            p->k->combine(sums, p->groups, &scale, NULL, bias);
        if (p->epilogue)
            p->epilogue((char *const[]){sums, sums}, p->groups);
        p->k->save[p->out.dtype](sums, p->groups,
                                 result + i * t->axis[2].step * p->out.space[2] * p->out.size, 1);
    }
}

/* Pixels of one phase along the row (image, d, h) of the result. */
static void run_phase(row_of *t, const int64_t e[2], int64_t phase, char *sums, const char *bias)
{
    const cv_plan *p = t->r->p;
    int64_t number = 0, offset = t->image * p->out.image;
    for (int d = 0; d < 2; d++) {
        number = number * p->phases[d] + (p->backward ? e[d] % p->stride[d] : 0);
        t->at[d] = p->backward ? e[d] / p->stride[d] : e[d];
        offset += e[d] * p->out.space[d];
    }
    const int none = cv_phase(p, number * p->phases[2] + phase, t->axis) < 0;
    const int direct = mm_is_native(p->k, p->out.dtype) && !p->bias && !p->epilogue;
    char *result = p->out.data + (offset + t->axis[2].first * p->out.space[2]) * p->out.size;
    t->all.step = t->axis[2].scale * p->source.space[2];
    t->all.pitch = direct ? t->axis[2].step * p->out.space[2] : p->groups;
    t->all.sum = direct ? result : sums;
    t->some.step = t->all.step;
    t->some.pitch = t->all.pitch;
    t->all.taps = 0;
    if (!none)
        take_taps(t);
    sum_row(t);
    if (!direct)
        save_row(t, result, bias);
}

/* Tasks count rows of the result, of all images. */
static void run_rows(void *ctx, int64_t begin, int64_t end)
{
    const cv_run *r = ctx;
    const cv_plan *p = r->p;
    const int s = cpu_slot_take(r->busy, r->n_slots);
    char *slot = r->slots + s * p->slot_bytes, *bias = slot + p->slot_image;
    const void **lists = (const void **)(slot + p->slot_weights);
    const int64_t *extent = p->out.extent, most = p->most_taps;
    row_of t = {.r = r,
                .all = {.n = p->groups, .x = lists, .weight = lists + most},
                .some = {.n = p->groups, .x = lists + 2 * most, .weight = lists + 3 * most},
                .column = (int64_t *)(slot + p->slot_offsets)};
    if (p->bias)
        p->k->load[p->out.dtype](p->bias, 0, p->bias_stride, 1, p->groups, bias);
    for (int64_t task = begin; task < end; task++) {
        const int64_t e[2] = {task / extent[1] % extent[0], task % extent[1]};
        t.image = task / extent[1] / extent[0];
        for (int64_t phase = 0; phase < p->phases[2]; phase++)
            run_phase(&t, e, phase, slot + p->slot_sums, bias);
    }
    cpu_slot_give(r->busy, s);
}

void cv_beside_rows(cv_run *r)
{
    const cv_plan *p = r->p;
    const int64_t work = p->groups * p->out.extent[2] * (p->most_taps + 1);
    pack_taps(r);
    const int64_t rows = p->images * p->out.extent[0] * p->out.extent[1];
    cpu_parallel(rows, cv_grain(rows, 1 + 65536 / (work + 1)), run_rows, r);
}
