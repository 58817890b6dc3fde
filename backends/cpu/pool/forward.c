/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Pools. Where channels lie side by side a row is one of channels, else of positions along the last
 * axis. */
#include <math.h>
#include <string.h>
#include "pool/plan.h"

/* One tap of `n` lanes: element at, `step` apart in x; its position, `by` apart. */
static void take_tap(const pl_plan *q, char *sums, int64_t *positions, const char *x, int64_t step,
                     int64_t n, int64_t at, int64_t by)
{
    if (q->op == NDP_OP_avg_pool)
        q->f.loops->add(sums, x, step, n);
    else if (positions)
        q->f.loops->larger_at(sums, positions, x, step, n, at, by);
    else
        q->f.loops->larger(sums, x, step, n);
}

static void begin_row(const pl_plan *q, char *sums, int64_t *positions, int64_t n)
{
    q->f.loops->fill(sums, q->op == NDP_OP_avg_pool ? 0 : -INFINITY, n);
    for (int64_t i = 0; positions && i < n; i++)
        positions[i] = -1;
}

/* All windows of a row of positions that meet row x of the image, whose first position is base. */
static void take_row(const pl_plan *q, char *sums, int64_t *positions, const char *x, int64_t base)
{
    const ndp_pool *w = q->params;
    const int64_t size = q->f.element;
    int64_t first, end;
    for (int64_t t = 0; !w->adaptive && t < w->kernel[2]; t++) {
        const int64_t at = t * w->dilation[2] - w->before[2];
        nd_window_inside(q->grid[2], w->stride[2], at, q->image[2], &first, &end);
        const int64_t e = at + first * w->stride[2];
        if (end > first)
            take_tap(q, sums + first * size, positions ? positions + first : NULL, x + e * size,
                     w->stride[2], end - first, base + e, w->stride[2]);
    }
    for (int64_t p = 0; w->adaptive && p < q->grid[2]; p++) {
        const int64_t origin = pl_taps_of(q, 2, p, &first, &end);
        const char *from = x + (origin + first) * size;
        if (q->op == NDP_OP_avg_pool)
            q->f.loops->add_run(sums + p * size, from, end - first);
        else if (!positions)
            q->f.loops->larger_run(sums + p * size, from, end - first);
        for (int64_t t = first; positions && t < end; t++)
            take_tap(q, sums + p * size, positions + p, x + (origin + t) * size, 1, 1,
                     base + origin + t, 0);
    }
}

void pl_divide_row(const pl_plan *q, char *sums, int64_t d, int64_t h)
{
    if (q->params->divisor)
        q->f.loops->divide(sums, NULL, q->params->divisor, q->grid[2]);
    else
        q->f.loops->divide(sums, q->counts, pl_count_of(q, 0, d) * pl_count_of(q, 1, h),
                           q->grid[2]);
}

static void save_positions(char *to, int64_t stride, const int64_t *positions, int64_t n)
{
    int64_t *out = (int64_t *)(void *)to;
    for (int64_t i = 0; i < n; i++)
        out[i * stride] = positions[i];
}

/* Tasks count rows of the result: images, channels, and the first axes. */
void pl_run_rows(void *ctx, int64_t begin, int64_t end)
{
    const pl_run *r = ctx;
    const pl_plan *q = r->call;
    const pl_frame *f = &q->f;
    const int s = cpu_slot_take(r->busy, r->n_slots);
    char *sums = pl_row(r, s, PL_SUMS);
    int64_t *positions = q->positions.data ? (int64_t *)(void *)pl_row(r, s, PL_POSITIONS) : NULL;
    for (int64_t task = begin; task < end; task++) {
        const int64_t h = task % q->grid[1], d = task / q->grid[1] % q->grid[0];
        const int64_t plane = task / q->grid[1] / q->grid[0];
        const int64_t image = plane / f->channels, c = plane % f->channels;
        int64_t first[2], last[2];
        const int64_t d0 = pl_taps_of(q, 0, d, &first[0], &last[0]);
        const int64_t h0 = pl_taps_of(q, 1, h, &first[1], &last[1]);
        begin_row(q, sums, positions, q->grid[2]);
        for (int64_t i = first[0]; i < last[0]; i++)
            for (int64_t j = first[1]; j < last[1]; j++) {
                const int64_t at[2] = {d0 + i * q->params->dilation[0],
                                       h0 + j * q->params->dilation[1]};
                const char *x = pl_load(f, &f->in, pl_at(&f->in, image, c, at[0], at[1], 0),
                                        f->in.space[2], q->image[2], pl_row(r, s, PL_ROW));
                take_row(q, sums, positions, x, (at[0] * q->image[1] + at[1]) * q->image[2]);
            }
        if (q->op == NDP_OP_avg_pool)
            pl_divide_row(q, sums, d, h);
        f->k->save[f->out.dtype](sums, q->grid[2], pl_at(&f->out, image, c, d, h, 0),
                                 f->out.space[2]);
        if (positions)
            save_positions(pl_at(&q->positions, image, c, d, h, 0), q->positions.space[2],
                           positions, q->grid[2]);
    }
    cpu_slot_give(r->busy, s);
}

/* One window of all channels. */
static void pool_channels(const pl_plan *q, const pl_run *r, int s, int64_t image,
                          const int64_t p[3])
{
    const pl_frame *f = &q->f;
    const ndp_pool *w = q->params;
    char *sums = pl_row(r, s, PL_SUMS);
    int64_t *positions = q->positions.data ? (int64_t *)(void *)pl_row(r, s, PL_POSITIONS) : NULL;
    int64_t origin[3], first[3], last[3], t[3];
    for (int d = 0; d < 3; d++)
        origin[d] = pl_taps_of(q, d, p[d], &first[d], &last[d]);
    begin_row(q, sums, positions, f->channels);
    for (t[0] = first[0]; t[0] < last[0]; t[0]++)
        for (t[1] = first[1]; t[1] < last[1]; t[1]++)
            for (t[2] = first[2]; t[2] < last[2]; t[2]++) {
                int64_t e[3], at = 0;
                for (int d = 0; d < 3; d++) {
                    e[d] = origin[d] + t[d] * w->dilation[d];
                    at = at * q->image[d] + e[d];
                }
                const char *x = pl_load(f, &f->in, pl_at(&f->in, image, 0, e[0], e[1], e[2]), 1,
                                        f->channels, pl_row(r, s, PL_ROW));
                take_tap(q, sums, positions, x, 1, f->channels, at, 0);
            }
    if (q->op == NDP_OP_avg_pool)
        f->loops->divide(sums, NULL,
                         w->divisor ? w->divisor
                                    : pl_count_of(q, 0, p[0]) * pl_count_of(q, 1, p[1]) *
                                          pl_count_of(q, 2, p[2]),
                         f->channels);
    f->k->save[f->out.dtype](sums, f->channels, pl_at(&f->out, image, 0, p[0], p[1], p[2]),
                             f->out.channel);
    if (positions)
        save_positions(pl_at(&q->positions, image, 0, p[0], p[1], p[2]), q->positions.channel,
                       positions, f->channels);
}

/* A row of windows of all channels, `pitch` elements apart: a tap of all windows, then the next. Each window's are
 * taken in the order that pool_channels takes them in. */
static void fill_row(const pl_plan *q, const pl_run *r, int s, int64_t image, int64_t d, int64_t h,
                     char *sums, int64_t pitch)
{
    const pl_frame *f = &q->f;
    const ndp_pool *w = q->params;
    const int64_t n = f->channels, size = f->element, step = f->in.space[2] * size;
    void (*const take)(void *, const void *, int64_t, int64_t) =
        q->op == NDP_OP_avg_pool ? f->loops->add : f->loops->larger;
    int64_t first[3], last[3], t[2], begin, end;
    const int64_t origin[2] = {pl_taps_of(q, 0, d, &first[0], &last[0]),
                               pl_taps_of(q, 1, h, &first[1], &last[1])};
    for (int64_t p = 0; p < q->grid[2]; p++)
        f->loops->fill(sums + p * pitch * size, q->op == NDP_OP_avg_pool ? 0 : -INFINITY, n);
    for (t[0] = first[0]; t[0] < last[0]; t[0]++)
        for (t[1] = first[1]; t[1] < last[1]; t[1]++) {
            const char *x = pl_at(&f->in, image, 0, origin[0] + t[0] * w->dilation[0],
                                  origin[1] + t[1] * w->dilation[1], 0);
            if (!mm_is_native(f->k, f->in.dtype))
                x = pl_load(f, &f->in, x, 1, q->image[2] * n, pl_row(r, s, PL_ROW));
            for (int64_t k = 0; k < w->kernel[2]; k++) {
                const int64_t at = k * w->dilation[2] - w->before[2];
                nd_window_inside(q->grid[2], w->stride[2], at, q->image[2], &begin, &end);
                for (int64_t p = begin; p < end; p++)
                    take(sums + p * pitch * size, x + (at + p * w->stride[2]) * step, 1, n);
            }
        }
}

static void pool_row(const pl_plan *q, const pl_run *r, int s, int64_t image, int64_t d, int64_t h)
{
    const pl_frame *f = &q->f;
    const ndp_pool *w = q->params;
    const int native = mm_is_native(f->k, f->out.dtype);
    char *const out = pl_at(&f->out, image, 0, d, h, 0);
    char *const sums = native ? out : pl_row(r, s, PL_SUMS);
    const int64_t pitch = native ? f->out.space[2] : f->channels;
    fill_row(q, r, s, image, d, h, sums, pitch);
    for (int64_t p = 0; q->op == NDP_OP_avg_pool && p < q->grid[2]; p++)
        f->loops->divide(sums + p * pitch * f->element, NULL,
                         w->divisor
                             ? w->divisor
                             : pl_count_of(q, 0, d) * pl_count_of(q, 1, h) * pl_count_of(q, 2, p),
                         f->channels);
    if (!native)
        f->k->save[f->out.dtype](sums, q->grid[2] * f->channels, out, 1);
}

/* Tasks count rows of windows. */
void pl_run_channels(void *ctx, int64_t begin, int64_t end)
{
    const pl_run *r = ctx;
    const pl_plan *q = r->call;
    const int s = cpu_slot_take(r->busy, r->n_slots);
    for (int64_t task = begin; task < end; task++) {
        const int64_t image = task / q->grid[1] / q->grid[0];
        int64_t p[3] = {task / q->grid[1] % q->grid[0], task % q->grid[1], 0};
        if (pl_takes_rows(q))
            pool_row(q, r, s, image, p[0], p[1]);
        else
            for (; p[2] < q->grid[2]; p[2]++)
                pool_channels(q, r, s, image, p);
    }
    cpu_slot_give(r->busy, s);
}
