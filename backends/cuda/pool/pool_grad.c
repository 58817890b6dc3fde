/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients of pools: which kernel, and its parameters. */
#include <string.h>
#include "pool/pool_call.h"

/* The kernels; the last, which means alone have, are pools. */
enum {
    ROWS_BACK,
    CHANNELS_BACK,
    BACK_220,
    BACK_311,
    BACK_321,
    BACK_STRIP_220,
    BACK_STRIP_311,
    BACK_STRIP_321,
    MIRROR_311,
    MIRROR_512,
    USUAL = 3
};
static const char *const back_suffixes[MIRROR_311] = {
    "rows", "channels", "220", "311", "321", "strip_220", "strip_311", "strip_321"};

/* Windows that have kernels of their own, and how strips of them are taken: rows and columns of windows of a thread. */
typedef struct {
    int32_t kernel, step, before;
    int64_t high, wide;
} back_windows;

static back_windows usual_windows(int i, int64_t V, int largest)
{
    const int64_t pairs = largest && V == 8 ? POOL_BACK_HALVES_321 : POOL_BACK_321;
    const back_windows usual[USUAL] = {{2, 2, 0, POOL_BACK_220, V / 2},
                                       {3, 1, 1, POOL_BACK_311, V < 4 ? V : 4},
                                       {3, 2, 1, pairs, V / 2}};
    return usual[i];
}

static int is_usual(const cuda_pooling *p, const back_windows *w)
{
    return !p->adaptive && p->dilation[2] == 1 && p->kernel[2] == w->kernel &&
           p->stride[2] == w->step && p->before[2] == w->before;
}

/* Whether strips of these windows serve: they are square, cover planes of whole vectors that are as many times as wide as
 * the step, and positions are read in pairs. */
static int are_strips(const cuda_pooling *p, const back_windows *w, const ndp_view *x,
                      const ndp_view *y, const ndp_view *positions)
{
    return pool_is_square(p) && x->shape[4] == w->step * y->shape[4] &&
           y->shape[4] % w->wide == 0 && window_is_whole(x, 4, w->wide * w->step) &&
           window_is_whole(y, 4, w->wide) &&
           (positions ? window_is_whole(positions, 4, w->wide > 1 ? 2 : 1) : w->step > 1) &&
           window_is_counted(x) && window_is_counted(y) &&
           (!positions || window_is_counted(positions)) && x->shape[3] * x->shape[4] <= INT32_MAX;
}

/* A mean's gradient by windows of steps of one is the mean of the gradients, of the same windows. */
static int how_to_mirror(const cuda_pooling *p, const ndp_view *x, const ndp_view *y)
{
    const int64_t V = 16 / ndp_dtype_size(x->dtype);
    for (int i = 0; i < 2; i++) {
        const int32_t before = 1 + i;
        if (pool_is_square(p) && !p->adaptive && p->dilation[2] == 1 && p->stride[2] == 1 &&
            p->before[2] == before && p->kernel[2] == 2 * before + 1 && x->shape[4] % V == 0 &&
            window_is_whole(x, 4, V) && window_is_whole(y, 4, V) && window_is_counted(x) &&
            window_is_counted(y))
            return MIRROR_311 + i;
    }
    return ROWS_BACK;
}

/* Which kernel gives gradients of planes back. */
static int how_to_return(const cuda_pooling *p, const ndp_view *x, const ndp_view *y,
                         const ndp_view *positions)
{
    const int64_t V = 16 / ndp_dtype_size(x->dtype);
    const int mirror = !positions && p->divisor ? how_to_mirror(p, x, y) : ROWS_BACK;
    if (mirror != ROWS_BACK)
        return mirror;
    for (int i = 0; i < USUAL; i++) {
        const back_windows w = usual_windows(i, V, positions != NULL);
        const int64_t row = V > 2 * w.step ? V : 2 * w.step;
        if (!is_usual(p, &w) || !(positions || p->divisor))
            continue;
        if (are_strips(p, &w, x, y, positions))
            return BACK_STRIP_220 + i;
        if (y->stride[4] == 1 && x->shape[4] % row == 0 && window_is_whole(x, 4, row) &&
            (!positions || positions->stride[4] == 1))
            return BACK_220 + i;
    }
    return ROWS_BACK;
}

/* Vectors of a row, or strips of rows, of the image, for the kernel. */
typedef struct {
    int64_t items, extent[3];
    int32_t n_extents;
} back_rows;

static back_rows rows_of(int how, int largest, const ndp_view *x, const ndp_view *y)
{
    const int64_t V = 16 / ndp_dtype_size(x->dtype), *n = x->shape;
    if (how == CHANNELS_BACK)
        return (back_rows){n[1] / V, {n[2], n[3], n[4]}, 3};
    if (how >= MIRROR_311) {
        const int64_t high = how == MIRROR_311 ? POOL_STRIP_311 : POOL_STRIP_512;
        return (back_rows){n[4] / V, {n[1], (n[3] + high - 1) / high}, 2};
    }
    if (how >= BACK_STRIP_220) {
        const back_windows w = usual_windows(how - BACK_STRIP_220, V, largest);
        const int64_t high = w.high * w.step;
        return (back_rows){y->shape[4] / w.wide, {n[1], (n[3] + high - 1) / high}, 2};
    }
    int64_t row = POOL_ROW_ELEMENTS;
    if (how >= BACK_220) {
        const back_windows w = usual_windows(how - BACK_220, V, largest);
        row = V > 2 * w.step ? V : 2 * w.step;
    }
    return (back_rows){(n[4] + row - 1) / row, {n[1], n[2], n[3]}, 3};
}

/* Parameters of the pool whose image the gradients are. */
static void mirror(cuda_pooling *p)
{
    const cuda_pooling back = *p;
    p->image = back.grid;
    p->grid = back.image;
    memcpy(p->image_stride, back.grid_stride, sizeof p->image_stride);
    memcpy(p->grid_stride, back.image_stride, sizeof p->grid_stride);
    memcpy(p->image_extent, back.grid_extent, sizeof p->image_extent);
    memcpy(p->grid_extent, back.image_extent, sizeof p->grid_extent);
}

/* What reads no window twice, or writes far more than it reads, ends sooner where a thread has one item. */
static int has_one_item(int how, int positions)
{
    return how == BACK_STRIP_220 || (how == BACK_STRIP_321 && !positions);
}

static int32_t run_grad(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    const ndp_view *x = &call->out[0], *y = &call->in[0];
    const ndp_view *positions = call->op == NDP_OP_max_pool_grad ? &call->in[1] : NULL;
    cuda_pooling p;
    if (ndp_view_size(x) == 0)
        return NDP_OK;
    const int32_t status = pool_params(&p, call, x, y, positions);
    if (status != NDP_OK)
        return status;
    const int64_t V = 16 / ndp_dtype_size(x->dtype);
    const int channels = y->stride[1] == 1 && y->shape[1] % V == 0 && window_is_whole(y, 1, V);
    p.vectors =
        channels ? window_is_whole(x, 1, V)
                 : x->shape[4] % POOL_ROW_ELEMENTS == 0 && window_is_whole(x, 4, POOL_ROW_ELEMENTS);
    const int how = channels ? CHANNELS_BACK : how_to_return(&p, x, y, positions);
    const back_rows rows = rows_of(how, positions != NULL, x, y);
    const int mirrored = how >= MIRROR_311;
    if (mirrored)
        mirror(&p);
    window_launch l = {.function = k->function[how],
                       .walk = &p.walk,
                       .moved = {&p.image, &p.grid, &p.positions},
                       .by = {pool_image_bytes(mirrored ? y : x),
                              pool_image_bytes(mirrored ? x : y),
                              positions ? pool_image_bytes(positions) : 0},
                       .images = x->shape[0],
                       .items = rows.items,
                       .extent = rows.extent,
                       .n_extents = rows.n_extents,
                       .n_moved = 3,
                       .waves = has_one_item(how, positions != NULL) ? WINDOW_WAVES : 0};
    return window_run(k, s, &l, &p);
}

static int32_t take_mean(cuda_kernel *k, int32_t dtype)
{
    static const char *const mirrors[2] = {"strip_311", "strip_512"};
    int32_t status =
        pool_functions(k, dtype, "pool_grad", "pool_grad_mean", back_suffixes, BACK_STRIP_311, 0);
    if (status == NDP_OK)
        status = pool_functions(k, dtype, "pool_grad", "pool_grad_mean",
                                back_suffixes + BACK_STRIP_321, 1, BACK_STRIP_321);
    return status == NDP_OK ? pool_functions(k, dtype, "pool", "pool_mean", mirrors, 2, MIRROR_311)
                            : status;
}

int32_t pool_make_grad(cuda_kernel *k, const ndp_call *like)
{
    const int32_t dtype = like->in[0].dtype;
    k->base.run = run_grad;
    if (like->op == NDP_OP_avg_pool_grad)
        return take_mean(k, dtype);
    return pool_functions(k, dtype, "pool_grad", "pool_grad_max", back_suffixes, MIRROR_311, 0);
}
