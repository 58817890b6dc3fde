/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolutions of groups of few channels, and their gradients: which kernel of ours, and its launch. */
#include <string.h>
#include "conv/plan.h"

enum { BESIDE_LANES = 16, BESIDE_BYTES = 48 << 10, BESIDE_WAVES = 4 /* which load weights once */ };
enum { PLANES_BYTES = 12 << 10, PLANES_MOST = 48 << 10, PLANES_BLOCKS = 8 /* of a processor */ };
enum { NONE, THREE, PLANES, SINGLE, BESIDE }; /* ways of single channels */

static int steps_of_one(const ndp_conv *c)
{
    return c->stride[0] == 1 && c->stride[1] == 1 && c->stride[2] == 1;
}

/* Channels in a vector of 16 bytes. */
static int64_t vector_of(const conv_plan *q)
{
    return 16 / ndp_dtype_size(q->made->dtype);
}

/* What a result is summed from besides the weight. */
static const ndp_view *from_of(const conv_plan *q)
{
    return q->kind == CONV_INPUT ? q->grid : q->image;
}

/* Rows of windows are of three elements with one of padding, and whole vectors; for the gradient for
 * the image, which is a convolution with the taps turned around, image and grid change places. */
static int is_three(const conv_plan *q, const ndp_conv *c)
{
    const ndp_view *from = from_of(q);
    const int64_t V = vector_of(q), step = c->stride[2];
    return q->weight->shape[4] == 3 && c->dilation[2] == 1 && c->before[2] == 1 &&
           (step == 1 || step == 2) && q->made->shape[4] % V == 0 &&
           q->made->shape[4] * step <= from->shape[4] && window_is_whole(from, 4, V) &&
           window_is_whole(q->made, 4, V) && (q->kind != CONV_INPUT || steps_of_one(c));
}

static int64_t beside_bytes(const conv_plan *q)
{
    const int64_t size = ndp_dtype_size(q->made->dtype), sum = size == 8 ? 8 : 4;
    return q->weight->shape[3] * q->weight->shape[4] * vector_of(q) * sum; /* for each lane */
}

/* Channels lie side by side, in whole vectors, and a block's weights have room. */
static int is_beside(const conv_plan *q, const ndp_conv *c)
{
    const int64_t V = vector_of(q);
    return conv_has_two_axes(q, c) && q->made->shape[1] % V == 0 &&
           window_is_whole(from_of(q), 1, V) && window_is_whole(q->made, 1, V) &&
           beside_bytes(q) <= BESIDE_BYTES / BESIDE_LANES;
}

/* Forward the library is as fast; of narrow numbers it is not asked (conv.c). */
static int is_behind(const conv_plan *q)
{
    return q->kind == CONV_INPUT || ndp_dtype_size(q->made->dtype) == 2;
}

/* Windows of three by three. */
static int is_single(const conv_plan *q, const ndp_conv *c)
{
    return conv_has_two_axes(q, c) && q->weight->shape[3] == 3 && q->weight->shape[4] == 3 &&
           is_behind(q);
}

static int64_t plane_elements(const ndp_view *v)
{
    return v->shape[3] * v->shape[4];
}

/* Bytes of shared memory for n planes, up to the weights (n of taps each) or with them. */
static int64_t planes_bytes(const conv_plan *q, int64_t n, int with_weights)
{
    const int64_t size = ndp_dtype_size(q->made->dtype), sum = size == 8 ? 8 : 4;
    const int64_t planes = (n * plane_elements(from_of(q)) * size + 15) / 16 * 16;
    return planes + (with_weights ? n * plane_elements(q->weight) * sum : 0);
}

/* Planes lie one behind the other, and one of them has room; windows that meet an element are found
 * without dilation. */
static int is_planes(const conv_plan *q, const ndp_conv *c)
{
    const ndp_view *v = from_of(q);
    const int64_t steps[5] = {v->shape[1] * plane_elements(v), plane_elements(v), 0, v->shape[4],
                              1};
    int fits = conv_has_two_axes(q, c) && is_behind(q) && v->shape[0] * v->shape[1] <= INT32_MAX &&
               (q->kind == CONV_FORWARD || (c->dilation[1] == 1 && c->dilation[2] == 1));
    for (int d = 0; d < 5; d++)
        fits = fits && (v->shape[d] == 1 || v->stride[d] == steps[d]);
    return fits && planes_bytes(q, 1, 1) <= PLANES_MOST;
}

static int way_of(const conv_plan *q, const ndp_conv *c)
{
    if (!q->few || q->kind == CONV_WEIGHT || q->co != 1 || q->ci != 1)
        return NONE;
    return is_beside(q, c)   ? BESIDE
           : is_three(q, c)  ? THREE
           : is_planes(q, c) ? PLANES
           : is_single(q, c) ? SINGLE
                             : NONE;
}

int cuda_conv_is_single(const conv_plan *q, const ndp_conv *c)
{
    return way_of(q, c) != NONE;
}

void cuda_conv_turn_around(cuda_convolving *p)
{
    const cuda_convolving was = *p;
    p->image = was.grid;
    p->grid = was.image;
    memcpy(p->image_stride, was.grid_stride, sizeof was.grid_stride);
    memcpy(p->grid_stride, was.image_stride, sizeof was.image_stride);
    memcpy(p->image_extent, was.grid_extent, sizeof was.grid_extent);
    memcpy(p->grid_extent, was.image_extent, sizeof was.image_extent);
    for (int d = 0; d < 3; d++)
        p->before[d] = (p->kernel[d] - 1) * p->dilation[d] - was.before[d];
    p->flip = 1;
}

/* A walk over the images of the result, whose rows have the coordinates of extent. */
static window_launch walk_of(const cuda_kernel *k, const conv_plan *q, cuda_convolving *p,
                             int function, const int64_t *extent, int32_t n_extents)
{
    const int64_t size = ndp_dtype_size(q->made->dtype);
    const int64_t bytes[2] = {q->image->stride[0] * size, q->grid->stride[0] * size};
    return (window_launch){.function = k->function[function],
                           .walk = &p->walk,
                           .moved = {&p->image, &p->grid},
                           .by = {bytes[p->flip], bytes[!p->flip]},
                           .images = q->made->shape[0],
                           .items = q->made->shape[4],
                           .extent = extent,
                           .n_extents = n_extents,
                           .n_moved = 2};
}

static int32_t run_three(const cuda_kernel *k, ndp_stream *s, const conv_plan *q,
                         cuda_convolving *p)
{
    const int function = p->stride[2] == 1 ? CONV_THREE : CONV_THREE_TWO;
    if (q->kind == CONV_INPUT)
        cuda_conv_turn_around(p);
    window_launch l = walk_of(k, q, p, function, q->made->shape + 1, 3);
    l.items /= vector_of(q);
    return window_run(k, s, &l, p);
}

static int32_t run_single(const cuda_kernel *k, ndp_stream *s, const conv_plan *q,
                          cuda_convolving *p)
{
    const int64_t rows[2] = {q->made->shape[1], q->made->shape[3]};
    window_launch l = walk_of(k, q, p, CONV_SINGLE, rows, 2);
    return window_run(k, s, &l, p);
}

static int32_t run_planes(const cuda_kernel *k, ndp_stream *s, const conv_plan *q,
                          cuda_convolving *p)
{
    const int64_t all = q->made->shape[0] * q->made->shape[1];
    const int64_t share = all / (PLANES_BLOCKS * (int64_t)k->dev->sm_count);
    const int three = q->weight->shape[3] == 3 && q->weight->shape[4] == 3;
    int64_t n = 1;
    while (2 * n <= share && planes_bytes(q, 2 * n, 1) <= PLANES_BYTES)
        n *= 2;
    p->planes = (uint32_t)n;
    p->all_planes = (uint32_t)all;
    p->weights_at = (uint32_t)planes_bytes(q, n, 0);
    p->whole = n * plane_elements(from_of(q)) % vector_of(q) == 0 && cuda_ptr(from_of(q)) % 16 == 0;
    p->by_channel = cuda_divisor_of((uint32_t)q->made->shape[1]);
    return cuda_launch(
        k, k->function[q->kind == CONV_FORWARD && three ? CONV_PLANES_THREE : CONV_PLANES], s,
        (uint32_t)((all + n - 1) / n), CONV_THREADS, (uint32_t)planes_bytes(q, n, 1), p);
}

/* A kernel for vectors of channels, and how many elements of the result a thread has of each row, and rows
 * (0: rows of the walk are elements). */
typedef struct {
    int function, across, down, turned;
} beside_way;

/* turned: the gradient for the image is a convolution with the taps turned around. */
static beside_way way_beside(const conv_plan *q, const cuda_convolving *p, const ndp_conv *c)
{
    const int turned = q->kind == CONV_INPUT && steps_of_one(c);
    const int near = p->dilation[1] == 1 && p->dilation[2] == 1, step = p->stride[2];
    const int square = near && p->kernel[1] == 3 && p->kernel[2] == 3 && p->stride[1] == step;
    if (turned || q->kind == CONV_FORWARD) {
        if (square && step == 1)
            return (beside_way){CONV_BESIDE_SQUARE, CONV_ACROSS, CONV_DOWN, turned};
        if (square && step == 2)
            return (beside_way){CONV_BESIDE_SQUARE_TWO, 2, CONV_DOWN, turned};
        if (p->kernel[2] == 3 && p->dilation[2] == 1 && step <= 2)
            return (beside_way){step == 1 ? CONV_BESIDE_THREE : CONV_BESIDE_THREE_TWO, CONV_ACROSS,
                                1, turned};
    } else if (square && step == 2 && p->before[1] & 1 && p->before[2] & 1) {
        return (beside_way){CONV_BESIDE_MET_SQUARE, 2 * CONV_MET_PAIRS, 2, 0};
    }
    return (beside_way){q->kind == CONV_INPUT && near ? CONV_BESIDE_MET : CONV_BESIDE_ANY, 1, 0, 0};
}

static int32_t run_beside(const cuda_kernel *k, ndp_stream *s, const conv_plan *q,
                          cuda_convolving *p, const ndp_conv *c)
{
    const int64_t *made = q->made->shape;
    const beside_way way = way_beside(q, p, c);
    const int64_t across = (made[4] + way.across - 1) / way.across;
    const int64_t tiles[2] = {across, way.down ? (made[3] + way.down - 1) / way.down : made[3]};
    const int64_t rows[2] = {made[3], made[4]};
    if (way.turned && way.down)
        cuda_conv_turn_around(p);
    window_launch l = walk_of(k, q, p, way.function, way.down ? tiles : rows, 2);
    const int halves = way.down > 1 ? 16 / CONV_HALF_BYTES : 1; /* of a vector of 16 bytes */
    l.items = made[1] / vector_of(q) * halves;
    l.most_lanes = BESIDE_LANES * (uint32_t)halves;
    l.waves = BESIDE_WAVES;
    l.bytes_a_lane = (uint32_t)beside_bytes(q) / (uint32_t)halves;
    return window_run(k, s, &l, p);
}

int32_t cuda_conv_few_run(const cuda_kernel *k, ndp_stream *s, const conv_plan *q,
                          cuda_convolving *p, const ndp_conv *c)
{
    if (q->kind == CONV_WEIGHT) {
        const int64_t all = ndp_view_size(q->made);
        return cuda_launch(k, k->function[CONV_DIRECT], s, (uint32_t)(all < 65535 ? all : 65535),
                           CONV_THREADS, 0, p);
    }
    switch (way_of(q, c)) {
    case BESIDE:
        return run_beside(k, s, q, p, c);
    case THREE:
        return run_three(k, s, q, p);
    case PLANES:
        return run_planes(k, s, q, p);
    case SINGLE:
        return run_single(k, s, q, p);
    default:
        break;
    }
    window_launch l = walk_of(k, q, p, CONV_DIRECT, q->made->shape + 1, 3);
    return window_run(k, s, &l, p);
}

int32_t cuda_conv_spread(const cuda_kernel *k, ndp_stream *s, const conv_plan *q,
                         cuda_convolving *p)
{
    const int64_t sum = ndp_dtype_size(q->made->dtype) == 8 ? 8 : 4;
    p->part = q->made->shape[0] * conv_plane(q->made);
    window_launch l = walk_of(k, q, p, CONV_SPREAD, q->made->shape + 1, 3);
    l.moved[0] = &p->partial;
    l.by[0] = conv_plane(q->made) * sum;
    return window_run(k, s, &l, p);
}

int32_t cuda_conv_finish(const cuda_kernel *k, ndp_stream *s, const conv_plan *q,
                         cuda_convolving *p)
{
    window_launch l = walk_of(k, q, p, CONV_FINISH, q->made->shape + 1, 3);
    return window_run(k, s, &l, p);
}

int32_t cuda_conv_few_make(cuda_kernel *k, int32_t op, int32_t dtype)
{
    const int input = op == NDP_OP_conv_input;
    const struct {
        int at;
        const char *name;
    } rows[] = {
        {CONV_DIRECT, op == NDP_OP_conv ? "depthwise_forward"
                      : input           ? "depthwise_input"
                                        : "depthwise_weight"},
        {CONV_SPREAD, "conv_spread"},
        {CONV_FINISH, input ? "conv_finish_image" : "conv_finish_grid"},
        {CONV_THREE, "depthwise_three"},
        {CONV_THREE_TWO, "depthwise_three_two"},
        {CONV_SINGLE, input ? "depthwise_single_input" : "depthwise_single"},
        {CONV_PLANES_THREE, "planes_three"},
        {CONV_PLANES, input ? "planes_met" : "planes_any"},
        {CONV_BESIDE_THREE, "beside_three"},
        {CONV_BESIDE_THREE_TWO, "beside_three_two"},
        {CONV_BESIDE_SQUARE, "beside_square"},
        {CONV_BESIDE_SQUARE_TWO, "beside_square_two"},
        {CONV_BESIDE_MET_SQUARE, "beside_met_square_input"},
        {CONV_BESIDE_ANY, input ? "beside_any_input" : "beside_any"},
        {CONV_BESIDE_MET, "beside_met_input"},
    };
    int32_t status = NDP_OK;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && status == NDP_OK; i++)
        status = window_function(k, "depthwise", dtype, rows[i].name, &k->function[rows[i].at]);
    return status;
}
