/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The gradient for the weight of single channels that lie side by side, without matrices: each tap is an
 * inner product of rows of the gradient with those of the source, for vectors of channels. Rows are cut
 * into parts by shapes alone, whose sums, in doubles, are added in order. */
#include <string.h>
#include "conv/conv.h"

enum {
    PARTS = 32,
    LEAST_WORK = 1 << 14,
    SLICE = 128 /* bytes of channels, whose rows stay in L1 */
};

static int64_t rows_of(const cv_plan *f)
{
    return f->images * f->out.extent[0] * f->out.extent[1];
}

static int64_t part_rows(const cv_plan *f)
{
    const int64_t work = f->groups * f->out.extent[2] * f->most_taps + 1;
    const int64_t least = LEAST_WORK / work + 1, even = (rows_of(f) + PARTS - 1) / PARTS;
    return even > least ? even : least;
}

static int64_t parts_of(const cv_plan *f)
{
    return (rows_of(f) + part_rows(f) - 1) / part_rows(f);
}

int cv_weight_is_beside(const cv_plan *f)
{
    return f->co == 1 && f->ci == 1 && f->groups > 1 && f->source.channel == 1 &&
           f->out.channel == 1 && mm_is_native(f->k, f->source.dtype) &&
           mm_is_native(f->k, f->out.dtype) && rows_of(f) > 0 && f->out.extent[2] > 0;
}

/* A row of the gradient, and the row of the source that some taps of its windows meet. */
typedef struct {
    const cv_plan *f;
    const nd_window_axis *along;
    int64_t source, gradient, c, n; /* where the rows begin; channels from c on */
    double *sum;                    /* of the row's first tap */
} row_pair;

/* Pixels first to end of the gradient with what `taps` taps from number t on meet. */
static void add_pixels(const row_pair *r, int64_t t, int64_t taps, int64_t first, int64_t end)
{
    const cv_plan *f = r->f;
    const nd_window_axis *a = r->along;
    const int64_t column = a->origin + t * a->move + first * a->scale;
    const cv_beside_dot d = {
        .n = r->n,
        .pixels = end - first,
        .step = a->scale * f->source.space[2],
        .pitch = f->out.space[2],
        .taps = taps,
        .sums = f->groups,
        .x = f->source.data + (r->source + column * f->source.space[2] + r->c) * f->source.size,
        .g = f->out.data + (r->gradient + first * f->out.space[2] + r->c) * f->out.size,
        .sum = r->sum + t * f->groups + r->c};
    if (end > first)
        f->isa->beside_dot[f->k->dtype](&d);
}

/* All taps of the row: pixels that have them all by one pass where taps lie side by side, others by tap. */
static void add_taps(const row_pair *r)
{
    const nd_window_axis *a = r->along;
    const int64_t extent = r->f->source.extent[2];
    const int together = a->taps == CV_DOT_ALONG && a->scale == 1 && a->move == 1;
    int64_t first[CV_DOT_ALONG], end[CV_DOT_ALONG], from = 0, until = 0;
    if (together) {
        for (int64_t t = 0; t < a->taps; t++)
            nd_window_inside(a->n, 1, a->origin + t, extent, &first[t], &end[t]);
        from = first[0];
        until = end[a->taps - 1] > from ? end[a->taps - 1] : from;
        if (until > from)
            add_pixels(r, 0, a->taps, from, until);
    }
    for (int64_t t = 0; t < a->taps; t++) {
        int64_t begin, stop;
        nd_window_inside(a->n, a->scale, a->origin + t * a->move, extent, &begin, &stop);
        if (until > from) {
            add_pixels(r, t, 1, begin, from);
            begin = until;
        }
        add_pixels(r, t, 1, begin, stop);
    }
}

/* Row e (image, d, h) of the gradient, of n channels from c on. */
static void add_row(const cv_plan *f, const nd_window_axis axis[3], const int64_t e[3], int64_t c,
                    int64_t n, double *sum)
{
    row_pair r = {.f = f, .along = &axis[2], .c = c, .n = n, .sum = sum};
    for (int64_t i = 0; i < axis[0].taps; i++)
        for (int64_t j = 0; j < axis[1].taps; j++, r.sum += axis[2].taps * f->groups) {
            const int64_t tap[2] = {i, j};
            int inside = 1;
            r.source = e[0] * f->source.image;
            r.gradient = e[0] * f->out.image;
            for (int d = 0; d < 2; d++) {
                const int64_t at =
                    e[1 + d] * axis[d].scale + axis[d].origin + tap[d] * axis[d].move;
                inside &= at >= 0 && at < f->source.extent[d];
                r.source += at * f->source.space[d];
                r.gradient += e[1 + d] * f->out.space[d];
            }
            if (inside)
                add_taps(&r);
        }
}

typedef struct {
    const cv_plan *f;
    double *sums;
    const ndp_view *out;
} work;

/* Tasks count parts. */
static void run_parts(void *ctx, int64_t begin, int64_t end)
{
    const work *w = ctx;
    const cv_plan *f = w->f;
    const int64_t size = f->most_taps * f->groups, each = part_rows(f);
    const int64_t slice = SLICE / f->k->element;
    nd_window_axis axis[3];
    for (int d = 0; d < 3; d++)
        axis[d] = nd_window_forward(f->out.extent[d], f->kernel[d], f->stride[d], f->dilation[d],
                                    f->before[d]);
    for (int64_t part = begin; part < end; part++) {
        double *sum = w->sums + part * size;
        const int64_t stop = (part + 1) * each < rows_of(f) ? (part + 1) * each : rows_of(f);
        memset(sum, 0, (size_t)size * sizeof *sum);
        for (int64_t row = part * each; row < stop; row++) {
            const int64_t e[3] = {row / f->out.extent[1] / f->out.extent[0],
                                  row / f->out.extent[1] % f->out.extent[0],
                                  row % f->out.extent[1]};
            for (int64_t c = 0; c < f->groups; c += slice)
                add_row(f, axis, e, c, f->groups - c < slice ? f->groups - c : slice, sum);
        }
    }
}

/* Tasks count taps: the parts' sums, in order, into the weight; in the type of the sums they take the place of the first. */
static void save_taps(void *ctx, int64_t begin, int64_t end)
{
    const work *w = ctx;
    const cv_plan *f = w->f;
    const ndp_view *out = w->out;
    const int64_t parts = parts_of(f), size = f->most_taps * f->groups;
    for (int64_t t = begin; t < end; t++) {
        double *sum = w->sums + t * f->groups;
        for (int64_t part = 1; part < parts; part++)
            for (int64_t i = 0; i < f->groups; i++)
                sum[i] += sum[part * size + i];
        for (int64_t i = 0; f->k->element == sizeof(float) && i < f->groups; i++)
            ((float *)sum)[i] = (float)sum[i];
        const int64_t offset = t / f->kernel[2] / f->kernel[1] * out->stride[2] +
                               t / f->kernel[2] % f->kernel[1] * out->stride[3] +
                               t % f->kernel[2] * out->stride[4];
        f->k->save[out->dtype]((char *)sum, f->groups,
                               (char *)cpu_ptr(out) + offset * ndp_dtype_size(out->dtype),
                               out->stride[0]);
    }
}

int64_t cv_weight_beside_bytes(const cv_plan *f)
{
    return parts_of(f) * f->most_taps * f->groups * (int64_t)sizeof(double);
}

void cv_weight_beside(const cv_plan *f, const ndp_view *out, void *scratch)
{
    work w = {.f = f, .sums = scratch, .out = out};
    cpu_parallel(parts_of(f), 1, run_parts, &w);
    cpu_parallel(f->most_taps, 1 + 8192 / (parts_of(f) * f->groups + 1), save_taps, &w);
}
