/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Calls of pools and of their gradients: how rows are cut for threads. */
#include <string.h>
#include "pool/plan.h"

enum { PLANE_BYTES = 4 << 20 }; /* what a thread's plane may take */

/* Axes that one adaptive window covers, and that lie as one, are one: rows as long as can be. */
static void join_axes(pl_plan *q)
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
static int sums_planes(const pl_plan *q)
{
    const cv_image *out = &q->f.out;
    if (q->f.images * q->f.channels < 4 * cpu_threads() || cv_product(q->image) == 0)
        return 0;
    if (mm_is_native(q->f.k, out->dtype) && out->space[2] == 1 &&
        cv_is_line(out->space, out->extent))
        return PL_THERE;
    return cv_product(q->image) * q->f.element <= PLANE_BYTES ? PL_APART : 0;
}

/* Whether rows of the image are read whole, and rows of windows made whole: where they lie, or apart where they are
 * not stored as sums are. */
int pl_takes_rows(const pl_plan *q)
{
    const pl_frame *f = &q->f;
    return !q->params->adaptive && !q->positions.data && f->out.channel == 1 &&
           (mm_is_native(f->k, f->in.dtype) || f->in.space[2] == f->channels) &&
           (mm_is_native(f->k, f->out.dtype) || f->out.space[2] == f->channels);
}

static void plan_call(pl_plan *q, const ndp_call *call)
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
            pl_takes_rows(q) && q->f.in.size < q->f.element ? width * q->f.channels : q->f.channels;
    q->by_planes = call->op == NDP_OP_max_pool_grad ? sums_planes(q) : 0;
    const int64_t plane = q->by_planes == PL_APART ? cv_product(q->image) * q->f.element : 0;
    pl_room(&q->f, PL_ROWS + (plane ? (plane + 8 * width - 1) / (8 * width) : 0), width,
            8 * q->grid[2]);
}

static uint64_t scratch(const ndp_kernel *kernel, const ndp_call *call)
{
    pl_plan q;
    (void)kernel;
    plan_call(&q, call);
    return pl_scratch(&q.f);
}

static int32_t run(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call)
{
    pl_plan q;
    (void)kernel;
    (void)stream;
    plan_call(&q, call);
    const ndp_pool *w = q.params;
    if (!call->scratch.mem || (uint64_t)ndp_view_size(&call->scratch) < pl_scratch(&q.f))
        return cpu_error(NDP_ERR_INTERNAL, "a pool was called without its scratch memory");
    q.counts = cpu_ptr(&call->scratch);
    for (int64_t p = 0; p < q.grid[2]; p++)
        q.f.loops->fill(q.counts + p * q.f.element, (double)pl_count_of(&q, 2, p), 1);
    const int grad = call->op == NDP_OP_max_pool_grad || call->op == NDP_OP_avg_pool_grad;
    const int64_t taps = !w->adaptive ? cv_product(w->kernel)
                         : grad       ? 4
                                      : 1 + cv_product(q.image) / (1 + cv_product(q.grid));
    const int64_t planes = q.f.images * q.f.channels;
    if (q.by_planes)
        return pl_parallel(&q.f, call, &q, planes, cv_product(q.image) + cv_product(q.grid),
                           pl_run_planes);
    if (grad)
        return pl_parallel(&q.f, call, &q, planes * q.image[0] * q.image[1], q.image[2] * taps,
                           pl_run_back);
    if (q.by_channels)
        return pl_parallel(&q.f, call, &q, q.f.images * q.grid[0] * q.grid[1],
                           q.f.channels * q.grid[2] * taps, pl_run_channels);
    return pl_parallel(&q.f, call, &q, planes * q.grid[0] * q.grid[1], q.grid[2] * taps,
                       pl_run_rows);
}

static const ndp_kernel the_kernel = {
    .size = sizeof(ndp_kernel), .max_ndim = NDP_MAX_NDIM, .scratch = scratch, .run = run};

static const ndp_kernel *find(const ndp_call *like, char *why, size_t n)
{
    return pl_serves(like, 5, 5, why, n) ? &the_kernel : NULL;
}

const cpu_class cpu_pool = {pl_dtypes, find};
