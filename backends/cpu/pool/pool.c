/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Pools and their gradients. Where channels lie side by side a row is one of channels, else of
 * positions along the last axis. */
#include <math.h>
#include <string.h>
#include "pool/pool.h"

enum { THERE = 1, APART };
enum { SUMS, ROW, POSITIONS, ROWS, PLANE = ROWS, PLANE_BYTES = 4 << 20 };

typedef struct {
    pl_frame f;
    const ndp_pool *params;
    cv_image positions; /* data NULL: none */
    int32_t op, by_channels, by_planes;
    char *
        counts; /* of the windows along the last axis, for means, in the type that is computed in */
    int64_t image[3], grid[3];
} plan;

/* Taps of window p along axis d: m from *first, before *end, at element origin + m*dilation. */
static int64_t taps_of(const plan *q, int d, int64_t p, int64_t *first, int64_t *end)
{
    const ndp_pool *w = q->params;
    int64_t origin;
    nd_window_taps(p, q->image[d], q->grid[d], w->adaptive, w->kernel[d], w->stride[d],
                   w->dilation[d], w->before[d], &origin, first, end);
    return origin;
}

static int64_t count_of(const plan *q, int d, int64_t p)
{
    const ndp_pool *w = q->params;
    return nd_window_count(p, q->image[d], q->grid[d], w->adaptive, w->kernel[d], w->stride[d],
                           w->before[d], w->exclude_padding);
}

/* Axes that one adaptive window covers, and that lie as one, are one: rows as long as can be. */
static void join_axes(plan *q)
{
    const int64_t *space = q->f.in.space;
    for (int d = 1; d >= 0 && q->grid[2] == 1 && q->grid[d] == 1; d--) {
        if (q->image[d] > 1 && space[d] != q->image[2] * space[2])
            return;
        q->image[2] *= q->image[d];
        q->image[d] = 1;
    }
}

/* Whether gradients of whole planes are added up where they lie, or apart, for they are not stored as sums are or
 * not densely. Each element's come in the same order either way, and row by row. */
static int sums_planes(const plan *q)
{
    const cv_image *out = &q->f.out;
    if (q->f.images * q->f.channels < 4 * cpu_threads() || cv_product(q->image) == 0)
        return 0;
    if (mm_is_native(q->f.k, out->dtype) && out->space[2] == 1 &&
        cv_is_line(out->space, out->extent))
        return THERE;
    return cv_product(q->image) * q->f.element <= PLANE_BYTES ? APART : 0;
}

/* Whether rows of the image are read whole, and rows of windows made whole: where they lie, or apart where they are
 * not stored as sums are. */
static int takes_rows(const plan *q)
{
    const pl_frame *f = &q->f;
    return !q->params->adaptive && !q->positions.data && f->out.channel == 1 &&
           (mm_is_native(f->k, f->in.dtype) || f->in.space[2] == f->channels) &&
           (mm_is_native(f->k, f->out.dtype) || f->out.space[2] == f->channels);
}

static void plan_call(plan *q, const ndp_call *call)
{
    const int grad = call->op == NDP_OP_max_pool_grad || call->op == NDP_OP_avg_pool_grad;
    const ndp_view *image = grad ? &call->out[0] : &call->in[0],
                   *grid = grad ? &call->in[0] : &call->out[0];
    memset(q, 0, sizeof *q);
    pl_frame_of(&q->f, call->in[0].dtype, &call->in[0], &call->out[0]);
    q->op = call->op;
    q->params = call->params;
    if (call->op == NDP_OP_max_pool && call->n_out > 1)
        q->positions = cv_image_of(&call->out[1]);
    if (call->op == NDP_OP_max_pool_grad)
        q->positions = cv_image_of(&call->in[1]);
    for (int d = 0; d < 3; d++) {
        q->image[d] = image->shape[2 + d];
        q->grid[d] = grid->shape[2 + d];
    }
    q->by_channels = !grad && q->f.in.channel == 1 && q->f.in.space[2] != 1 && q->f.channels > 1;
    if (!grad && !q->by_channels && q->params->adaptive)
        join_axes(q);
    int64_t width = q->image[2] > q->grid[2] ? q->image[2] : q->grid[2];
    if (q->by_channels) /* rows of pixels are not kept where they lie as they are computed */
        width =
            takes_rows(q) && q->f.in.size < q->f.element ? width * q->f.channels : q->f.channels;
    q->by_planes = call->op == NDP_OP_max_pool_grad ? sums_planes(q) : 0;
    const int64_t plane = q->by_planes == APART ? cv_product(q->image) * q->f.element : 0;
    pl_room(&q->f, ROWS + (plane ? (plane + 8 * width - 1) / (8 * width) : 0), width,
            8 * q->grid[2]);
}

/* ---- forward ---- */

/* One tap of `n` lanes: element at, `step` apart in x; its position, `by` apart. */
static void take_tap(const plan *q, char *sums, int64_t *positions, const char *x, int64_t step,
                     int64_t n, int64_t at, int64_t by)
{
    if (q->op == NDP_OP_avg_pool)
        q->f.loops->add(sums, x, step, n);
    else if (positions)
        q->f.loops->larger_at(sums, positions, x, step, n, at, by);
    else
        q->f.loops->larger(sums, x, step, n);
}

static void begin_row(const plan *q, char *sums, int64_t *positions, int64_t n)
{
    q->f.loops->fill(sums, q->op == NDP_OP_avg_pool ? 0 : -INFINITY, n);
    for (int64_t i = 0; positions && i < n; i++)
        positions[i] = -1;
}

/* All windows of a row of positions that meet row x of the image, whose first position is base. */
static void take_row(const plan *q, char *sums, int64_t *positions, const char *x, int64_t base)
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
        const int64_t origin = taps_of(q, 2, p, &first, &end);
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

static void divide_row(const plan *q, char *sums, int64_t d, int64_t h)
{
    if (q->params->divisor)
        q->f.loops->divide(sums, NULL, q->params->divisor, q->grid[2]);
    else
        q->f.loops->divide(sums, q->counts, count_of(q, 0, d) * count_of(q, 1, h), q->grid[2]);
}

static void save_positions(char *to, int64_t stride, const int64_t *positions, int64_t n)
{
    int64_t *out = (int64_t *)(void *)to;
    for (int64_t i = 0; i < n; i++)
        out[i * stride] = positions[i];
}

/* Tasks count rows of the result: images, channels, and the first axes. */
static void run_rows(void *ctx, int64_t begin, int64_t end)
{
    const pl_run *r = ctx;
    const plan *q = r->call;
    const pl_frame *f = &q->f;
    const int s = cpu_slot_take(r->busy, r->n_slots);
    char *sums = pl_row(r, s, SUMS);
    int64_t *positions = q->positions.data ? (int64_t *)(void *)pl_row(r, s, POSITIONS) : NULL;
    for (int64_t task = begin; task < end; task++) {
        const int64_t h = task % q->grid[1], d = task / q->grid[1] % q->grid[0];
        const int64_t plane = task / q->grid[1] / q->grid[0];
        const int64_t image = plane / f->channels, c = plane % f->channels;
        int64_t first[2], last[2];
        const int64_t d0 = taps_of(q, 0, d, &first[0], &last[0]);
        const int64_t h0 = taps_of(q, 1, h, &first[1], &last[1]);
        begin_row(q, sums, positions, q->grid[2]);
        for (int64_t i = first[0]; i < last[0]; i++)
            for (int64_t j = first[1]; j < last[1]; j++) {
                const int64_t at[2] = {d0 + i * q->params->dilation[0],
                                       h0 + j * q->params->dilation[1]};
                const char *x = pl_load(f, &f->in, pl_at(&f->in, image, c, at[0], at[1], 0),
                                        f->in.space[2], q->image[2], pl_row(r, s, ROW));
                take_row(q, sums, positions, x, (at[0] * q->image[1] + at[1]) * q->image[2]);
            }
        if (q->op == NDP_OP_avg_pool)
            divide_row(q, sums, d, h);
        f->k->save[f->out.dtype](sums, q->grid[2], pl_at(&f->out, image, c, d, h, 0),
                                 f->out.space[2]);
        if (positions)
            save_positions(pl_at(&q->positions, image, c, d, h, 0), q->positions.space[2],
                           positions, q->grid[2]);
    }
    cpu_slot_give(r->busy, s);
}

/* One window of all channels. */
static void pool_channels(const plan *q, const pl_run *r, int s, int64_t image, const int64_t p[3])
{
    const pl_frame *f = &q->f;
    const ndp_pool *w = q->params;
    char *sums = pl_row(r, s, SUMS);
    int64_t *positions = q->positions.data ? (int64_t *)(void *)pl_row(r, s, POSITIONS) : NULL;
    int64_t origin[3], first[3], last[3], t[3];
    for (int d = 0; d < 3; d++)
        origin[d] = taps_of(q, d, p[d], &first[d], &last[d]);
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
                                        f->channels, pl_row(r, s, ROW));
                take_tap(q, sums, positions, x, 1, f->channels, at, 0);
            }
    if (q->op == NDP_OP_avg_pool)
        f->loops->divide(sums, NULL,
                         w->divisor
                             ? w->divisor
                             : count_of(q, 0, p[0]) * count_of(q, 1, p[1]) * count_of(q, 2, p[2]),
                         f->channels);
    f->k->save[f->out.dtype](sums, f->channels, pl_at(&f->out, image, 0, p[0], p[1], p[2]),
                             f->out.channel);
    if (positions)
        save_positions(pl_at(&q->positions, image, 0, p[0], p[1], p[2]), q->positions.channel,
                       positions, f->channels);
}

/* A row of windows of all channels, `pitch` elements apart: a tap of all windows, then the next. Each window's are
 * taken in the order that pool_channels takes them in. */
static void fill_row(const plan *q, const pl_run *r, int s, int64_t image, int64_t d, int64_t h,
                     char *sums, int64_t pitch)
{
    const pl_frame *f = &q->f;
    const ndp_pool *w = q->params;
    const int64_t n = f->channels, size = f->element, step = f->in.space[2] * size;
    void (*const take)(void *, const void *, int64_t, int64_t) =
        q->op == NDP_OP_avg_pool ? f->loops->add : f->loops->larger;
    int64_t first[3], last[3], t[2], begin, end;
    const int64_t origin[2] = {taps_of(q, 0, d, &first[0], &last[0]),
                               taps_of(q, 1, h, &first[1], &last[1])};
    for (int64_t p = 0; p < q->grid[2]; p++)
        f->loops->fill(sums + p * pitch * size, q->op == NDP_OP_avg_pool ? 0 : -INFINITY, n);
    for (t[0] = first[0]; t[0] < last[0]; t[0]++)
        for (t[1] = first[1]; t[1] < last[1]; t[1]++) {
            const char *x = pl_at(&f->in, image, 0, origin[0] + t[0] * w->dilation[0],
                                  origin[1] + t[1] * w->dilation[1], 0);
            if (!mm_is_native(f->k, f->in.dtype))
                x = pl_load(f, &f->in, x, 1, q->image[2] * n, pl_row(r, s, ROW));
            for (int64_t k = 0; k < w->kernel[2]; k++) {
                const int64_t at = k * w->dilation[2] - w->before[2];
                nd_window_inside(q->grid[2], w->stride[2], at, q->image[2], &begin, &end);
                for (int64_t p = begin; p < end; p++)
                    take(sums + p * pitch * size, x + (at + p * w->stride[2]) * step, 1, n);
            }
        }
}

static void pool_row(const plan *q, const pl_run *r, int s, int64_t image, int64_t d, int64_t h)
{
    const pl_frame *f = &q->f;
    const ndp_pool *w = q->params;
    const int native = mm_is_native(f->k, f->out.dtype);
    char *const out = pl_at(&f->out, image, 0, d, h, 0);
    char *const sums = native ? out : pl_row(r, s, SUMS);
    const int64_t pitch = native ? f->out.space[2] : f->channels;
    fill_row(q, r, s, image, d, h, sums, pitch);
    for (int64_t p = 0; q->op == NDP_OP_avg_pool && p < q->grid[2]; p++)
        f->loops->divide(sums + p * pitch * f->element, NULL,
                         w->divisor ? w->divisor
                                    : count_of(q, 0, d) * count_of(q, 1, h) * count_of(q, 2, p),
                         f->channels);
    if (!native)
        f->k->save[f->out.dtype](sums, q->grid[2] * f->channels, out, 1);
}

/* Tasks count rows of windows. */
static void run_channels(void *ctx, int64_t begin, int64_t end)
{
    const pl_run *r = ctx;
    const plan *q = r->call;
    const int s = cpu_slot_take(r->busy, r->n_slots);
    for (int64_t task = begin; task < end; task++) {
        const int64_t image = task / q->grid[1] / q->grid[0];
        int64_t p[3] = {task / q->grid[1] % q->grid[0], task % q->grid[1], 0};
        if (takes_rows(q))
            pool_row(q, r, s, image, p[0], p[1]);
        else
            for (; p[2] < q->grid[2]; p[2]++)
                pool_channels(q, r, s, image, p);
    }
    cpu_slot_give(r->busy, s);
}

/* ---- backward ---- */

/* The windows that cover element e along an axis. */
static void covering(const plan *q, int d, int64_t e, int64_t *first, int64_t *end)
{
    const ndp_pool *w = q->params;
    nd_window_covering(e, q->image[d], q->grid[d], w->adaptive, w->kernel[d], w->stride[d],
                       w->dilation[d], w->before[d], first, end);
}

/* The tap at `at`, of windows first..end, and the next, of every other element: those of windows that have both at
 * once. */
static void spread_two(const plan *q, char *sums, const char *mean, int64_t at, int64_t first,
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
static void spread_row(const plan *q, char *sums, const char *grad, char *mean, int64_t d,
                       int64_t h)
{
    const ndp_pool *w = q->params;
    const int64_t size = q->f.element;
    int64_t first, end;
    memcpy(mean, grad, (size_t)(q->grid[2] * size));
    divide_row(q, mean, d, h);
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
        const int64_t origin = taps_of(q, 2, p, &first, &end);
        for (int64_t t = first; t < end; t++)
            q->f.loops->add(sums + (origin + t) * size, mean + p * size, 1, 1);
    }
}

/* Positions of a row of windows, dense. */
static const int64_t *positions_of(const plan *q, const pl_run *r, int s, int64_t image, int64_t c,
                                   int64_t d, int64_t h)
{
    const int64_t step = q->positions.space[2];
    const int64_t *from = (const int64_t *)(const void *)pl_at(&q->positions, image, c, d, h, 0);
    int64_t *row = (int64_t *)(void *)pl_row(r, s, POSITIONS);
    if (step == 1)
        return from;
    for (int64_t i = 0; i < q->grid[2]; i++)
        row[i] = from[i * step];
    return row;
}

/* What one row of windows gives to row (d, h) of the image. */
static void take_windows(const plan *q, const pl_run *r, int s, int64_t image, int64_t c,
                         const int64_t window[2], int64_t base)
{
    const pl_frame *f = &q->f;
    const char *grad = pl_load(f, &f->in, pl_at(&f->in, image, c, window[0], window[1], 0),
                               f->in.space[2], q->grid[2], pl_row(r, s, ROW));
    if (q->op == NDP_OP_avg_pool_grad) {
        spread_row(q, pl_row(r, s, SUMS), grad, pl_row(r, s, POSITIONS), window[0], window[1]);
        return;
    }
    f->loops->route(pl_row(r, s, SUMS), grad, positions_of(q, r, s, image, c, window[0], window[1]),
                    base, q->image[2], q->grid[2]);
}

/* Tasks count rows of the image. */
static void run_back(void *ctx, int64_t begin, int64_t end)
{
    const pl_run *r = ctx;
    const plan *q = r->call;
    const pl_frame *f = &q->f;
    const int s = cpu_slot_take(r->busy, r->n_slots);
    for (int64_t task = begin; task < end; task++) {
        const int64_t e[2] = {task / q->image[1] % q->image[0], task % q->image[1]};
        const int64_t plane = task / q->image[1] / q->image[0];
        const int64_t image = plane / f->channels, c = plane % f->channels;
        int64_t first[2], last[2], window[2];
        for (int d = 0; d < 2; d++)
            covering(q, d, e[d], &first[d], &last[d]);
        f->loops->fill(pl_row(r, s, SUMS), 0, q->image[2]);
        for (window[0] = first[0]; window[0] < last[0]; window[0]++)
            for (window[1] = first[1]; window[1] < last[1]; window[1]++)
                take_windows(q, r, s, image, c, window, (e[0] * q->image[1] + e[1]) * q->image[2]);
        f->k->save[f->out.dtype](pl_row(r, s, SUMS), q->image[2],
                                 pl_at(&f->out, image, c, e[0], e[1], 0), f->out.space[2]);
    }
    cpu_slot_give(r->busy, s);
}

/* Rows of a plane that was summed apart. */
static void save_plane(const plan *q, const char *x, int64_t image, int64_t c)
{
    const pl_frame *f = &q->f;
    for (int64_t d = 0; d < q->image[0]; d++)
        for (int64_t h = 0; h < q->image[1]; h++, x += q->image[2] * f->element)
            f->k->save[f->out.dtype](x, q->image[2], pl_at(&f->out, image, c, d, h, 0),
                                     f->out.space[2]);
}

/* Tasks count planes: channels of images. */
static void run_planes(void *ctx, int64_t begin, int64_t end)
{
    const pl_run *r = ctx;
    const plan *q = r->call;
    const pl_frame *f = &q->f;
    const int s = cpu_slot_take(r->busy, r->n_slots);
    const int64_t volume = cv_product(q->image);
    for (int64_t task = begin; task < end; task++) {
        const int64_t image = task / f->channels, c = task % f->channels;
        char *x = q->by_planes == APART ? pl_row(r, s, PLANE) : pl_at(&f->out, image, c, 0, 0, 0);
        memset(x, 0, (size_t)(volume * f->element));
        for (int64_t d = 0; d < q->grid[0]; d++)
            for (int64_t h = 0; h < q->grid[1]; h++)
                f->loops->route(x,
                                pl_load(f, &f->in, pl_at(&f->in, image, c, d, h, 0), f->in.space[2],
                                        q->grid[2], pl_row(r, s, ROW)),
                                positions_of(q, r, s, image, c, d, h), 0, volume, q->grid[2]);
        if (q->by_planes == APART)
            save_plane(q, x, image, c);
    }
    cpu_slot_give(r->busy, s);
}

/* ---- calls ---- */

static uint64_t scratch(const ndp_kernel *kernel, const ndp_call *call)
{
    plan q;
    (void)kernel;
    plan_call(&q, call);
    return pl_scratch(&q.f);
}

static int32_t run(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call)
{
    plan q;
    (void)kernel;
    (void)stream;
    plan_call(&q, call);
    const ndp_pool *w = q.params;
    if (!call->scratch.mem || (uint64_t)ndp_view_size(&call->scratch) < pl_scratch(&q.f))
        return cpu_error(NDP_ERR_INTERNAL, "a pool was called without its scratch memory");
    q.counts = cpu_ptr(&call->scratch);
    for (int64_t p = 0; p < q.grid[2]; p++)
        q.f.loops->fill(q.counts + p * q.f.element, (double)count_of(&q, 2, p), 1);
    const int grad = call->op == NDP_OP_max_pool_grad || call->op == NDP_OP_avg_pool_grad;
    const int64_t taps = !w->adaptive ? cv_product(w->kernel)
                         : grad       ? 4
                                      : 1 + cv_product(q.image) / (1 + cv_product(q.grid));
    const int64_t planes = q.f.images * q.f.channels;
    if (q.by_planes)
        return pl_parallel(&q.f, call, &q, planes, cv_product(q.image) + cv_product(q.grid),
                           run_planes);
    if (grad)
        return pl_parallel(&q.f, call, &q, planes * q.image[0] * q.image[1], q.image[2] * taps,
                           run_back);
    if (q.by_channels)
        return pl_parallel(&q.f, call, &q, q.f.images * q.grid[0] * q.grid[1],
                           q.f.channels * q.grid[2] * taps, run_channels);
    return pl_parallel(&q.f, call, &q, planes * q.grid[0] * q.grid[1], q.grid[2] * taps, run_rows);
}

static const ndp_kernel the_kernel = {
    .size = sizeof(ndp_kernel), .max_ndim = NDP_MAX_NDIM, .scratch = scratch, .run = run};

static const ndp_kernel *find(const ndp_call *like, char *why, size_t n)
{
    return pl_serves(like, 5, 5, why, n) ? &the_kernel : NULL;
}

const cpu_class cpu_pool = {pl_dtypes, find};
