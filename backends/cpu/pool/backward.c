/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients of pools, by rows of the image or whole planes of it. */
#include <string.h>
#include "pool/plan.h"

/* The windows that cover element e along an axis. */
static void covering(const pl_plan *q, int d, int64_t e, int64_t *first, int64_t *end)
{
    const ndp_pool *w = q->params;
    nd_window_covering(e, q->image[d], q->grid[d], w->adaptive, w->kernel[d], w->stride[d],
                       w->dilation[d], w->before[d], first, end);
}

/* The tap at `at`, of windows first..end, and the next, of every other element: those of windows that have both at
 * once. */
static void spread_two(const pl_plan *q, char *sums, const char *mean, int64_t at, int64_t first,
                       int64_t end)
{
    const int64_t size = q->f.element;
    int64_t from, to;
    nd_window_inside(q->grid[2], 2, at + 1, q->image[2], &from, &to);
    const int64_t low = first > from ? first : from, high = end < to ? end : to;
    for (int k = 0; k < 2; k++) {
        const int64_t begin = k ? from : first, last = k ? to : end;
        for (int64_t p = begin; p < last; p++) {
            p = p >= low && p < high ? high : p;
            if (p < last)
                q->f.loops->add(sums + (at + k + 2 * p) * size, mean + p * size, 1, 1);
        }
    }
    if (high > low)
        q->f.loops->spread_twice(sums + (at + 2 * low) * size, mean + low * size, high - low);
}

/* Means of a row of windows go to every element that they cover. */
static void spread_row(const pl_plan *q, char *sums, const char *grad, char *mean, int64_t d,
                       int64_t h)
{
    const ndp_pool *w = q->params;
    const int64_t size = q->f.element;
    int64_t first, end;
    memcpy(mean, grad, (size_t)(q->grid[2] * size));
    pl_divide_row(q, mean, d, h);
    for (int64_t t = 0; !w->adaptive && t < w->kernel[2]; t++) {
        const int64_t at = t - w->before[2];
        nd_window_inside(q->grid[2], w->stride[2], at, q->image[2], &first, &end);
        if (w->stride[2] == 2 && t + 1 < w->kernel[2]) {
            spread_two(q, sums, mean, at, first, end);
            t++;
        } else if (end > first)
            q->f.loops->spread(sums + (at + first * w->stride[2]) * size, w->stride[2],
                               mean + first * size, end - first);
    }
    for (int64_t p = 0; w->adaptive && p < q->grid[2]; p++) {
        const int64_t origin = pl_taps_of(q, 2, p, &first, &end);
        for (int64_t t = first; t < end; t++)
            q->f.loops->add(sums + (origin + t) * size, mean + p * size, 1, 1);
    }
}

/* Positions of a row of windows, dense. */
static const int64_t *positions_of(const pl_plan *q, const pl_run *r, int s, int64_t image,
                                   int64_t c, int64_t d, int64_t h)
{
    const int64_t step = q->positions.space[2];
    const int64_t *from = (const int64_t *)(const void *)pl_at(&q->positions, image, c, d, h, 0);
    int64_t *row = (int64_t *)(void *)pl_row(r, s, PL_POSITIONS);
    if (step == 1)
        return from;
    for (int64_t i = 0; i < q->grid[2]; i++)
        row[i] = from[i * step];
    return row;
}

/* What one row of windows gives to row (d, h) of the image. */
static void take_windows(const pl_plan *q, const pl_run *r, int s, int64_t image, int64_t c,
                         const int64_t window[2], int64_t base)
{
    const pl_frame *f = &q->f;
    const char *grad = pl_load(f, &f->in, pl_at(&f->in, image, c, window[0], window[1], 0),
                               f->in.space[2], q->grid[2], pl_row(r, s, PL_ROW));
    if (q->op == NDP_OP_avg_pool_grad) {
        spread_row(q, pl_row(r, s, PL_SUMS), grad, pl_row(r, s, PL_POSITIONS), window[0],
                   window[1]);
        return;
    }
    f->loops->route(pl_row(r, s, PL_SUMS), grad,
                    positions_of(q, r, s, image, c, window[0], window[1]), base, q->image[2],
                    q->grid[2]);
}

/* Tasks count rows of the image. */
void pl_run_back(void *ctx, int64_t begin, int64_t end)
{
    const pl_run *r = ctx;
    const pl_plan *q = r->call;
    const pl_frame *f = &q->f;
    const int s = cpu_slot_take(r->busy, r->n_slots);
    for (int64_t task = begin; task < end; task++) {
        const int64_t e[2] = {task / q->image[1] % q->image[0], task % q->image[1]};
        const int64_t plane = task / q->image[1] / q->image[0];
        const int64_t image = plane / f->channels, c = plane % f->channels;
        int64_t first[2], last[2], window[2];
        for (int d = 0; d < 2; d++)
            covering(q, d, e[d], &first[d], &last[d]);
        f->loops->fill(pl_row(r, s, PL_SUMS), 0, q->image[2]);
        for (window[0] = first[0]; window[0] < last[0]; window[0]++)
            for (window[1] = first[1]; window[1] < last[1]; window[1]++)
                take_windows(q, r, s, image, c, window, (e[0] * q->image[1] + e[1]) * q->image[2]);
        f->k->save[f->out.dtype](pl_row(r, s, PL_SUMS), q->image[2],
                                 pl_at(&f->out, image, c, e[0], e[1], 0), f->out.space[2]);
    }
    cpu_slot_give(r->busy, s);
}

/* Rows of a plane that was summed apart. */
static void save_plane(const pl_plan *q, const char *x, int64_t image, int64_t c)
{
    const pl_frame *f = &q->f;
    for (int64_t d = 0; d < q->image[0]; d++)
        for (int64_t h = 0; h < q->image[1]; h++, x += q->image[2] * f->element)
            f->k->save[f->out.dtype](x, q->image[2], pl_at(&f->out, image, c, d, h, 0),
                                     f->out.space[2]);
}

/* Tasks count planes: channels of images. */
void pl_run_planes(void *ctx, int64_t begin, int64_t end)
{
    const pl_run *r = ctx;
    const pl_plan *q = r->call;
    const pl_frame *f = &q->f;
    const int s = cpu_slot_take(r->busy, r->n_slots);
    const int64_t volume = cv_product(q->image);
    for (int64_t task = begin; task < end; task++) {
        const int64_t image = task / f->channels, c = task % f->channels;
        char *x =
            q->by_planes == PL_APART ? pl_row(r, s, PL_PLANE) : pl_at(&f->out, image, c, 0, 0, 0);
        memset(x, 0, (size_t)(volume * f->element));
        for (int64_t d = 0; d < q->grid[0]; d++)
            for (int64_t h = 0; h < q->grid[1]; h++)
                f->loops->route(x,
                                pl_load(f, &f->in, pl_at(&f->in, image, c, d, h, 0), f->in.space[2],
                                        q->grid[2], pl_row(r, s, PL_ROW)),
                                positions_of(q, r, s, image, c, d, h), 0, volume, q->grid[2]);
        if (q->by_planes == PL_APART)
            save_plane(q, x, image, c);
    }
    cpu_slot_give(r->busy, s);
}
