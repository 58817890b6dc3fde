/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A convolution as one matrix product with the elements of all windows, which are written to memory: that
 * is twice their bytes more than an engine of cuDNN moves, but the products of f32 and f64 run two to four
 * times as fast as in its engines, Winograd's aside, whose errors are larger. So it pays off where there
 * are channels enough to share the windows. */
#include "conv/unfolded.h"
#include <string.h>
#include "conv/plan.h"

enum { A, B, OUT };
enum {
    PRODUCT_TILE = 128,
    FEW_CHANNELS = 8, /* of the image: fewer are no line of a warp */
    FORWARD_CHANNELS = 128,
    GRADIENT_CHANNELS = 64
};                                                      /* of the grid, from which on it pays off */
static const uint64_t most_columns = (uint64_t)1 << 30; /* bytes */

/* Strides of the windows' elements, (n, c, k0, k1, k2, g0, g1, g2): channels innermost in pixels of the
 * grid, or pixels innermost in channels and taps, of so many images together. */
static void windows_of(cuda_unfolding *w, int last, const int64_t kernel[3], const int64_t grid[3],
                       int64_t channels, int64_t joined)
{
    const int64_t taps = kernel[0] * kernel[1] * kernel[2], plane = grid[0] * grid[1] * grid[2];
    const int64_t tap = last ? channels : joined * plane, pixel = last ? channels * taps : 1;
    const int64_t stride[8] = {joined > 1 ? plane : channels * taps * plane,
                               last ? 1 : taps * tap,
                               kernel[1] * kernel[2] * tap,
                               kernel[2] * tap,
                               tap,
                               grid[1] * grid[2] * pixel,
                               grid[2] * pixel,
                               pixel};
    memcpy(w->windows_stride, stride, sizeof stride);
}

/* Lines in the order of a weight whose channels are innermost, each of all pixels. */
static void follow_weight(cuda_unfolding *w, const int64_t kernel[3], int64_t channels,
                          int64_t pixels)
{
    w->windows_stride[1] = pixels;
    w->windows_stride[4] = channels * pixels;
    w->windows_stride[3] = kernel[2] * w->windows_stride[4];
    w->windows_stride[2] = kernel[1] * w->windows_stride[3];
}

/* Whether each line of the weight is dense, in the order of the windows. */
static int is_weight(const ndp_view *v, int last, int64_t k)
{
    const int64_t channel = last ? 1 : conv_plane(v);
    return conv_is_merged(v, 2, last ? v->shape[1] : 1) &&
           (v->shape[1] == 1 || v->stride[1] == channel) && (v->shape[0] == 1 || v->stride[0] >= k);
}

static int32_t alignment(const ndp_view *v)
{
    const uint64_t bits = v ? (uint64_t)cuda_ptr(v) | 256 : 256;
    return (int32_t)(bits & (~bits + 1));
}

static void take(conv_unfolded *u, int i, const ndp_view *v, int64_t line, int64_t step,
                 int transposed)
{
    const ndp_view **const at[3] = {&u->a, &u->b, &u->out};
    *at[i] = v;
    u->key.line[i] = line;
    u->key.step[i] = step;
    u->key.align[i] = alignment(v);
    if (i != OUT)
        u->key.transposed[i] = transposed;
}

static void extents(conv_unfolded *u, int64_t m, int64_t n, int64_t k, int64_t batch)
{
    u->key.m = m;
    u->key.n = n;
    u->key.k = k;
    u->key.batch = batch;
}

/* A line for each pixel of the grid. */
static void by_pixels(conv_unfolded *u, const conv_plan *q, int64_t o, int64_t k, int64_t line)
{
    const ndp_view *w = q->weight;
    const int64_t pixels = q->grid->shape[0] * conv_plane(q->grid);
    const int64_t weight = o == 1 ? k : w->stride[0];
    if (u->kind == CONV_FORWARD) {
        extents(u, pixels, o, k, 1);
        take(u, A, NULL, k, 0, 0);
        take(u, B, w, weight, 0, 1);
        take(u, OUT, q->grid, line, 0, 0);
    } else if (u->kind == CONV_INPUT) {
        extents(u, pixels, k, o, 1);
        take(u, A, q->grid, line, 0, 0);
        take(u, B, w, weight, 0, 0);
        take(u, OUT, NULL, k, 0, 0);
    } else {
        extents(u, o, k, pixels, 1);
        take(u, A, q->grid, line, 0, 1);
        take(u, B, NULL, k, 0, 0);
        take(u, OUT, w, weight, 0, 0);
    }
}

/* A line for each element of a window, of all pixels, though channels of the grid are innermost: the gradient for an image
 * of few channels adds up elements of neighbouring pixels by threads side by side. */
static void by_elements(conv_unfolded *u, const conv_plan *q, int64_t o, int64_t k, int64_t line)
{
    const int64_t pixels = q->grid->shape[0] * conv_plane(q->grid);
    extents(u, k, pixels, o, 1);
    take(u, A, q->weight, o == 1 ? k : q->weight->stride[0], 0, 1);
    take(u, B, q->grid, line, 0, 1);
    take(u, OUT, NULL, pixels, 0, 0);
    u->last = 0;
}

/* A line for each channel, one product an image, or one of all where tiles of a product would reach far
 * beyond an image; those for the weight are added up. */
static void by_planes(conv_unfolded *u, const conv_plan *q, int64_t o, int64_t k)
{
    const ndp_view *w = q->weight, *g = q->grid;
    const int64_t plane = conv_plane(g), n = g->shape[0], size = ndp_dtype_size(g->dtype);
    const int64_t line = o == 1 ? plane : g->stride[1], step = n == 1 ? 0 : g->stride[0];
    const int64_t weight = o == 1 ? k : w->stride[0];
    u->joint = u->kind == CONV_FORWARD && n > 1 &&
               (plane + PRODUCT_TILE - 1) / PRODUCT_TILE * PRODUCT_TILE * 20 > plane * 23;
    if (u->joint) {
        extents(u, o, n * plane, k, 1);
        take(u, A, w, weight, 0, 0);
        take(u, B, NULL, n * plane, 0, 0);
        take(u, OUT, NULL, n * plane, 0, 0);
        u->sums = (uint64_t)(o * n * plane * size);
    } else if (u->kind == CONV_FORWARD) {
        extents(u, o, plane, k, n);
        take(u, A, w, weight, 0, 0);
        take(u, B, NULL, plane, k * plane, 0);
        take(u, OUT, g, line, step, 0);
    } else if (u->kind == CONV_INPUT) {
        extents(u, k, plane, o, n);
        take(u, A, w, weight, 0, 1);
        take(u, B, g, line, step, 0);
        take(u, OUT, NULL, plane, k * plane, 0);
    } else {
        extents(u, o, k, plane, n);
        take(u, A, g, line, step, 0);
        take(u, B, NULL, plane, k * plane, 1);
        take(u, OUT, NULL, k, o * k, 0);
        u->sums = (uint64_t)(n * o * k * size);
    }
}

/* For windows of three by three, a step apart, engines have a better way to the weight's gradient of f64, and with
 * few channels in planes to the image's; they need no copy of the elements that single taps skip in planes. */
static int pays_off(const conv_plan *q, const ndp_conv *c, int last)
{
    const int64_t o = q->weight->shape[0], *kernel = q->weight->shape + 2;
    int dense = 1;
    if (q->kind == CONV_FORWARD && !last && conv_plane(q->weight) == 1)
        return 0;
    for (int d = 0; d < 3; d++)
        dense = dense && c->stride[d] == 1 && (kernel[d] == 3 || kernel[d] == 1);
    if (q->kind == CONV_WEIGHT)
        return o >= GRADIENT_CHANNELS && (!dense || q->made->dtype == NDP_F32);
    return o >=
           (q->kind == CONV_FORWARD || (dense && !last) ? FORWARD_CHANNELS : GRADIENT_CHANNELS);
}

static int take_layout(conv_unfolded *u, const conv_plan *q, int64_t o, int64_t k)
{
    const ndp_view *g = q->grid;
    int64_t line = o;
    for (int d = 0; d < 5; d++)
        if (d != 1 && g->shape[d] != 1)
            line = g->stride[d];
    u->last =
        g->stride[1] == 1 && line >= o && conv_is_merged(g, 0, line) && is_weight(q->weight, 1, k);
    if (u->last) {
        u->by_elements = u->kind == CONV_INPUT && q->ci < FEW_CHANNELS && q->ci % 4;
        if (u->by_elements)
            by_elements(u, q, o, k, line);
        else
            by_pixels(u, q, o, k, line);
        return 1;
    }
    if (!conv_is_merged(g, 2, 1) || (o > 1 && g->stride[1] < conv_plane(g)) || g->stride[0] < 0 ||
        !(q->kind == CONV_WEIGHT || is_weight(q->weight, 0, k)))
        return 0;
    by_planes(u, q, o, k);
    return 1;
}

/* The walk of the kernel that writes windows, or adds them up in the image. */
static void take_walk(conv_unfolded *u, const conv_plan *q, const ndp_conv *conv)
{
    const int64_t *image = q->image->shape, *grid = q->grid->shape + 2;
    const int64_t *kernel = q->weight->shape + 2, size = ndp_dtype_size(q->image->dtype);
    const int64_t V = 16 / size, c = image[1];
    const int folds = u->kind == CONV_INPUT;
    const int whole = u->last ? window_is_whole(q->image, 1, V) && c % V == 0
                      : folds ? window_is_whole(q->image, 4, V) && image[4] % V == 0
                              : grid[2] % V == 0;
    const int64_t rows[4][6] = {{c, kernel[0], kernel[1], kernel[2], grid[0], grid[1]},
                                {c, image[2], image[3]},
                                {grid[0], grid[1], grid[2], kernel[0], kernel[1], kernel[2]},
                                {image[2], image[3], image[4]}};
    const int64_t in_runs[6] = {grid[0], grid[1], grid[2], kernel[0]};
    const int runs = u->last && !folds && !whole && conv->dilation[2] == 1 &&
                     (c == 1 || q->image->stride[1] == 1) &&
                     (image[4] == 1 || q->image->stride[4] == c) && image[4] * c <= INT32_MAX / 4;
    const int pairs = !u->last && !folds && !whole && grid[2] % 2 == 0;
    const int64_t all = runs ? kernel[2] * c : u->last ? c : folds ? image[4] : grid[2];
    memcpy(u->extent, runs ? in_runs : rows[2 * u->last + folds], sizeof u->extent);
    u->n_extents = runs ? 4 : folds ? 3 : 6;
    u->function = runs    ? CONV_RUNS
                  : pairs ? CONV_PAIRS
                          : (folds ? CONV_FOLD : CONV_UNFOLD) + 2 * u->last + whole;
    u->items = all / (whole ? V : pairs ? 2 : 1);
    u->images = image[0];
    u->image_step = q->image->stride[0] * size;
    u->window_step = u->windows.windows_stride[0] * size;
}

static int is_narrowed(const ndp_call *call, int32_t dtype)
{
    return dtype == NDP_F32 && call->mode & NDP_MODE_FAST_MATH;
}

int cuda_conv_unfolded(conv_unfolded *u, ndp_dev *dev, const ndp_call *call, const conv_plan *q)
{
    const ndp_conv *c = call->params;
    const int32_t dtype = q->image->dtype;
    const int64_t o = q->weight->shape[0], k = q->ci * conv_plane(q->weight);
    const int64_t pixels = q->grid->shape[0] * conv_plane(q->grid), size = ndp_dtype_size(dtype);
    memset(u, 0, sizeof *u);
    if (!dev->blaslt || c->groups != 1 || (dtype != NDP_F32 && dtype != NDP_F64) ||
        is_narrowed(call, dtype) || ndp_view_size(q->image) == 0 || pixels == 0 || k == 0 ||
        (double)pixels * (double)k * (double)size > (double)most_columns)
        return 0;
    u->kind = q->kind;
    u->key.dtype = u->key.dtype_b = u->key.out = dtype;
    u->key.mode = cuda_blaslt_mode(dev, dtype, call->mode & NDP_MODE_DETERMINISTIC);
    if (!take_layout(u, q, o, k) || !pays_off(q, c, u->last || u->by_elements))
        return 0;
    u->columns = ((uint64_t)(pixels * k * size) + 255) / 256 * 256;
    u->sums = (u->sums + 255) / 256 * 256;
    windows_of(&u->windows, u->last, q->weight->shape + 2, q->grid->shape + 2, q->ci,
               u->joint || u->by_elements ? q->grid->shape[0] : 1);
    if (u->by_elements)
        follow_weight(&u->windows, q->weight->shape + 2, q->ci, pixels);
    take_walk(u, q, c);
    const blaslt_key *key = &u->key;
    return key->batch <= UINT16_MAX && key->m <= INT32_MAX && key->n <= INT32_MAX &&
           key->k <= INT32_MAX && cuda_blaslt_serves(dev, key, &u->work);
}

static void set_geometry(cuda_unfolding *w, const cuda_convolving *p)
{
    memcpy(w->image_stride, p->image_stride, sizeof w->image_stride);
    memcpy(w->image_extent, p->image_extent, sizeof w->image_extent);
    memcpy(w->grid_extent, p->grid_extent, sizeof w->grid_extent);
    memcpy(w->kernel, p->kernel, sizeof w->kernel);
    memcpy(w->stride, p->stride, sizeof w->stride);
    memcpy(w->dilation, p->dilation, sizeof w->dilation);
    memcpy(w->before, p->before, sizeof w->before);
    memcpy(w->step, p->step, sizeof w->step);
    w->image = p->image;
}

static int32_t run_windows(const cuda_kernel *k, ndp_stream *s, conv_unfolded *u,
                           CUdeviceptr columns)
{
    u->windows.windows = columns;
    window_launch l = {.function = k->function[u->function],
                       .walk = &u->windows.walk,
                       .moved = {&u->windows.image, &u->windows.windows},
                       .by = {u->image_step, u->window_step},
                       .images = u->images,
                       .items = u->items,
                       .extent = u->extent,
                       .n_extents = u->n_extents,
                       .n_moved = 2};
    return window_run(k, s, &l, &u->windows);
}

int32_t cuda_conv_unfolded_run(const cuda_kernel *k, ndp_stream *s, conv_unfolded *u,
                               const cuda_convolving *p, CUdeviceptr scratch)
{
    const CUdeviceptr columns = scratch + u->sums;
    const CUdeviceptr in_scratch[3] = {columns, columns, u->sums ? scratch : columns};
    const blaslt_operands x = {.a = u->a ? cuda_ptr(u->a) : in_scratch[A],
                               .b = u->b ? cuda_ptr(u->b) : in_scratch[B],
                               .out = u->out ? cuda_ptr(u->out) : in_scratch[OUT],
                               .workspace = columns + u->columns,
                               .alpha = 1};
    int32_t status = NDP_OK;
    set_geometry(&u->windows, p);
    if (u->kind != CONV_INPUT)
        status = run_windows(k, s, u, columns);
    if (status == NDP_OK)
        status = cuda_blaslt_run(k->dev, s, &u->key, &x);
    if (status == NDP_OK && u->kind == CONV_INPUT)
        status = run_windows(k, s, u, columns);
    return status;
}

int32_t cuda_conv_unfolded_make(cuda_kernel *k, int32_t dtype)
{
    static const char *const names[8] = {
        "unfold_any", "unfold_vectors", "unfold_beside", "unfold_beside_vectors",
        "fold_any",   "fold_vectors",   "fold_beside",   "fold_beside_vectors"};
    int32_t status = window_function(k, "windows", dtype, "unfold_runs", &k->function[CONV_RUNS]);
    if (status == NDP_OK)
        status = window_function(k, "unfold", dtype, "unfold_pairs", &k->function[CONV_PAIRS]);
    for (int i = 0; i < 8 && status == NDP_OK; i++)
        status = window_function(k, i < 2 || i == 4 || i == 5 ? "unfold" : "windows", dtype,
                                 names[i], &k->function[CONV_UNFOLD + i]);
    return status;
}
