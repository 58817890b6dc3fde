/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The elements of windows side by side, and back to images. */
#include <string.h>
#include "pool/pool.h"

enum { SUMS, ROW, ROWS };

typedef struct {
    pl_frame f;
    const ndp_unfold *params;
    cv_image image;
    char *windows;
    int64_t stride[8], size; /* of windows: (n, c, kd, kh, kw, od, oh, ow) */
    int64_t kernel[3], grid[3];
} plan;

static void plan_call(plan *q, const ndp_call *call)
{
    const int folds = call->op == NDP_OP_fold;
    const ndp_view *image = folds ? &call->out[0] : &call->in[0];
    const ndp_view *windows = folds ? &call->in[0] : &call->out[0];
    memset(q, 0, sizeof *q);
    pl_frame_of(&q->f, image->dtype, image, NULL);
    q->params = call->params;
    q->image = q->f.in;
    q->windows = cpu_ptr(windows);
    q->size = ndp_dtype_size(windows->dtype);
    memcpy(q->stride, windows->stride, sizeof q->stride);
    for (int d = 0; d < 3; d++) {
        q->kernel[d] = windows->shape[2 + d];
        q->grid[d] = windows->shape[5 + d];
    }
    const int64_t extent = q->image.extent[2];
    pl_room(&q->f, ROWS, extent > q->grid[2] ? extent : q->grid[2], 0);
}

/* Row of windows: tap k, position (d, h, 0). */
static char *window_row(const plan *q, int64_t image, int64_t c, const int64_t k[3], int64_t d,
                        int64_t h)
{
    const int64_t *s = q->stride;
    return q->windows + (image * s[0] + c * s[1] + k[0] * s[2] + k[1] * s[3] + k[2] * s[4] +
                         d * s[5] + h * s[6]) *
                            q->size;
}

/* ---- unfold ---- */

static void unfold_row(const plan *q, const pl_run *r, int s, int64_t plane, const int64_t k[3],
                       int64_t d, int64_t h)
{
    const pl_frame *f = &q->f;
    const ndp_unfold *w = q->params;
    const int64_t image = plane / f->channels, c = plane % f->channels, n = q->grid[2];
    const int64_t e[2] = {d * w->stride[0] - w->before[0] + k[0] * w->dilation[0],
                          h * w->stride[1] - w->before[1] + k[1] * w->dilation[1]};
    const int64_t at = k[2] * w->dilation[2] - w->before[2];
    char *row = pl_row(r, s, SUMS), *out = window_row(q, image, c, k, d, h);
    int64_t first = 0, end = 0;
    if (e[0] >= 0 && e[0] < q->image.extent[0] && e[1] >= 0 && e[1] < q->image.extent[1])
        nd_window_inside(n, w->stride[2], at, q->image.extent[2], &first, &end);
    if (mm_is_native(f->k, q->image.dtype) && q->stride[7] == 1)
        row = out;
    memset(row, 0, (size_t)(first * f->element));
    memset(row + end * f->element, 0, (size_t)((n - end) * f->element));
    if (end > first)
        f->k->load[q->image.dtype](
            pl_at(&q->image, image, c, e[0], e[1], at + first * w->stride[2]), 0,
            w->stride[2] * q->image.space[2], 1, end - first, row + first * f->element);
    if (row != out)
        f->k->save[q->image.dtype](row, n, out, q->stride[7]);
}

/* Tasks count planes and taps. */
static void run_unfold(void *ctx, int64_t begin, int64_t end)
{
    const pl_run *r = ctx;
    const plan *q = r->call;
    const int s = cpu_slot_take(r->busy, r->n_slots);
    for (int64_t task = begin; task < end; task++) {
        int64_t rest = task, k[3];
        for (int d = 2; d >= 0; d--) {
            k[d] = rest % q->kernel[d];
            rest /= q->kernel[d];
        }
        for (int64_t d = 0; d < q->grid[0]; d++)
            for (int64_t h = 0; h < q->grid[1]; h++)
                unfold_row(q, r, s, rest, k, d, h);
    }
    cpu_slot_give(r->busy, s);
}

/* ---- fold ---- */

/* The window along an axis whose tap k is element e; -1: there is none. */
static int64_t window_at(const plan *q, int d, int64_t e, int64_t k)
{
    const ndp_unfold *w = q->params;
    const int64_t at = e + w->before[d] - k * w->dilation[d];
    return at >= 0 && at % w->stride[d] == 0 && at / w->stride[d] < q->grid[d] ? at / w->stride[d]
                                                                               : -1;
}

static void fold_tap(const plan *q, const pl_run *r, int s, const char *windows, int64_t k,
                     char *sums)
{
    const pl_frame *f = &q->f;
    const ndp_unfold *w = q->params;
    const int64_t at = k * w->dilation[2] - w->before[2];
    int64_t first, end;
    nd_window_inside(q->grid[2], w->stride[2], at, q->image.extent[2], &first, &end);
    if (end <= first)
        return;
    const char *x = pl_load(f, &q->image, windows + first * q->stride[7] * q->size, q->stride[7],
                            end - first, pl_row(r, s, ROW));
    f->loops->spread(sums + (at + first * w->stride[2]) * f->element, w->stride[2], x, end - first);
}

/* Tasks count rows of the images. */
static void run_fold(void *ctx, int64_t begin, int64_t end)
{
    const pl_run *r = ctx;
    const plan *q = r->call;
    const pl_frame *f = &q->f;
    const int s = cpu_slot_take(r->busy, r->n_slots);
    char *sums = pl_row(r, s, SUMS);
    for (int64_t task = begin; task < end; task++) {
        const int64_t *extent = q->image.extent;
        const int64_t e[2] = {task / extent[1] % extent[0], task % extent[1]};
        const int64_t plane = task / extent[1] / extent[0];
        const int64_t image = plane / f->channels, c = plane % f->channels;
        int64_t k[3];
        f->loops->fill(sums, 0, extent[2]);
        for (k[0] = 0; k[0] < q->kernel[0]; k[0]++)
            for (k[1] = 0; k[1] < q->kernel[1]; k[1]++) {
                const int64_t d = window_at(q, 0, e[0], k[0]), h = window_at(q, 1, e[1], k[1]);
                for (k[2] = 0; d >= 0 && h >= 0 && k[2] < q->kernel[2]; k[2]++)
                    fold_tap(q, r, s, window_row(q, image, c, k, d, h), k[2], sums);
            }
        f->k->save[q->image.dtype](sums, extent[2], pl_at(&q->image, image, c, e[0], e[1], 0),
                                   q->image.space[2]);
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
    const int64_t planes = q.f.images * q.f.channels, taps = cv_product(q.kernel);
    if (call->op == NDP_OP_fold)
        return pl_parallel(&q.f, call, &q, planes * q.image.extent[0] * q.image.extent[1],
                           q.image.extent[2] * taps, run_fold);
    return pl_parallel(&q.f, call, &q, planes * taps, cv_product(q.grid), run_unfold);
}

static const ndp_kernel the_kernel = {
    .size = sizeof(ndp_kernel), .max_ndim = NDP_MAX_NDIM, .scratch = scratch, .run = run};

static const ndp_kernel *find(const ndp_call *like, char *why, size_t n)
{
    const int folds = like->op == NDP_OP_fold;
    return pl_serves(like, folds ? 8 : 5, folds ? 5 : 8, why, n) ? &the_kernel : NULL;
}

const cpu_class cpu_unfold = {pl_dtypes, find};
