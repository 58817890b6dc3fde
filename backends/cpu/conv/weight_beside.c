/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The gradient for the weight of single channels that lie side by side, without matrices: each tap is an
 * inner product of rows of the gradient with those of the source, for vectors of channels. Rows are cut
 * into parts by shapes alone, whose sums, in doubles, are added in order. */
#include <string.h>
#include "conv/conv.h"

enum { PARTS = 32, LEAST_WORK = 1 << 14 };

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

/* A row of the gradient with what tap number t of its windows meets. */
static void add_row(const cv_plan *f, const nd_window_axis axis[3], const int64_t e[3], int64_t t,
                    double *sum)
{
    const int64_t tap[3] = {t / f->kernel[2] / f->kernel[1], t / f->kernel[2] % f->kernel[1],
                            t % f->kernel[2]};
    int64_t from = e[0] * f->source.image, g = e[0] * f->out.image, first, end;
    for (int d = 0; d < 2; d++) {
        const int64_t at = e[1 + d] * axis[d].scale + axis[d].origin + tap[d] * axis[d].move;
        if (at < 0 || at >= f->source.extent[d])
            return;
        from += at * f->source.space[d];
        g += e[1 + d] * f->out.space[d];
    }
    const int64_t column = axis[2].origin + tap[2] * axis[2].move;
    nd_window_inside(axis[2].n, axis[2].scale, column, f->source.extent[2], &first, &end);
    from += (column + first * axis[2].scale) * f->source.space[2];
    g += first * f->out.space[2];
    const cv_beside_dot d = {.n = f->groups,
                             .pixels = end > first ? end - first : 0,
                             .step = axis[2].scale * f->source.space[2],
                             .pitch = f->out.space[2],
                             .x = f->source.data + from * f->source.size,
                             .g = f->out.data + g * f->out.size,
                             .sum = sum + t * f->groups};
    f->isa->beside_dot[f->k->dtype](&d);
}

typedef struct {
    const cv_plan *f;
    double *sums;
} work;

/* Tasks count parts. */
static void run_parts(void *ctx, int64_t begin, int64_t end)
{
    const work *w = ctx;
    const cv_plan *f = w->f;
    const int64_t size = f->most_taps * f->groups, each = part_rows(f);
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
            for (int64_t t = 0; t < f->most_taps; t++)
                add_row(f, axis, e, t, sum);
        }
    }
}

/* The parts' sums, in order, into the weight; in the type of the sums they take the place of the first. */
static void save(const work *w, const ndp_view *out)
{
    const cv_plan *f = w->f;
    const int64_t taps = f->most_taps, size = taps * f->groups;
    for (int64_t part = 1; part < parts_of(f); part++)
        for (int64_t i = 0; i < size; i++)
            w->sums[i] += w->sums[part * size + i];
    if (f->k->element == sizeof(float))
        for (int64_t i = 0; i < size; i++)
            ((float *)w->sums)[i] = (float)w->sums[i];
    for (int64_t t = 0; t < taps; t++) {
        const int64_t offset = t / f->kernel[2] / f->kernel[1] * out->stride[2] +
                               t / f->kernel[2] % f->kernel[1] * out->stride[3] +
                               t % f->kernel[2] * out->stride[4];
        f->k->save[out->dtype]((char *)w->sums + t * f->groups * f->k->element, f->groups,
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
    work w = {.f = f, .sums = scratch};
    cpu_parallel(parts_of(f), 1, run_parts, &w);
    save(&w, out);
}
