/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolutions of 16 bits in groups of 4, 8 or 16 channels, and their gradients for the image, by tensor cores:
 * cuDNN's engines take two to four times as long as memory does, those for groups of fewer than 8 channels
 * round sums on the way, and those for more join groups, so that an infinity of one is NaN in others. Which tiles
 * of windows a block has, and the launch. */
#include "conv/plan.h"

enum { MOST_WIDTH = 128, MOST_WINDOWS = 448, MOST_BYTES = 48 << 10 };

typedef struct {
    int64_t tile[2], kept[2],
        tiles[2];            /* rows and columns of windows, of elements; tiles of an image */
    int64_t columns, pieces; /* of elements among those kept; of channels */
    int64_t nbytes, second;  /* of shared memory; to the weights */
} geometry;

/* Windows of the gradient for the image are one apart: of elements of the grid with zeros between them. */
static void measure(geometry *g, const conv_plan *q, const ndp_conv *c)
{
    const int64_t *kernel = q->weight->shape + 2, pixel = 2 * CONV_PIECE;
    const int64_t step[2] = {q->kind == CONV_INPUT ? 1 : c->stride[1],
                             q->kind == CONV_INPUT ? 1 : c->stride[2]};
    g->kept[0] = (g->tile[0] - 1) * step[0] + (kernel[1] - 1) * c->dilation[1] + 1;
    g->columns = (g->tile[1] - 1) * step[1] + (kernel[2] - 1) * c->dilation[2] + 1;
    g->kept[1] = g->columns | 1; /* for other banks */
    g->second = g->pieces * g->kept[0] * g->kept[1] * pixel;
    g->nbytes = g->second + g->pieces * kernel[1] * kernel[2] * CONV_PIECE * pixel;
}

/* Windows as rows of a part of the result's width, whose parts begin at vectors of four. */
static geometry geometry_of(const conv_plan *q, const ndp_conv *c)
{
    const int64_t height = q->made->shape[3], width = q->made->shape[4];
    const int64_t parts = (width + MOST_WIDTH - 1) / MOST_WIDTH;
    geometry g = {.pieces = q->made->shape[1] % (CONV_PIECES * CONV_PIECE) ? 1 : CONV_PIECES};
    g.tile[1] = conv_round_up((width + parts - 1) / parts, 4);
    g.tiles[1] = (width + g.tile[1] - 1) / g.tile[1];
    for (int64_t rows = MOST_WINDOWS / g.tile[1];; rows = g.tile[0] - 1) {
        rows = rows < 1 ? 1 : rows < height ? rows : height;
        g.tiles[0] = (height + rows - 1) / rows;
        g.tile[0] = (height + g.tiles[0] - 1) / g.tiles[0];
        measure(&g, q, c);
        if (g.nbytes <= MOST_BYTES || g.tile[0] == 1)
            return g;
    }
}

static const ndp_view *from_of(const conv_plan *q)
{
    return q->kind == CONV_INPUT ? q->grid : q->image;
}

/* Groups of fewer than 4 channels are faster by kernels for single channels. */
static int has_channels(const conv_plan *q)
{
    const int64_t channels = q->made->shape[1];
    return q->ci == q->co && (q->ci == 4 || q->ci == 8 || q->ci == CONV_PIECE) &&
           channels % CONV_PIECE == 0 && channels / CONV_PIECE <= UINT16_MAX;
}

int cuda_conv_is_diagonal(conv_plan *q, const ndp_call *call, const ndp_dev *dev)
{
    const ndp_conv *c = call->params;
    if (ndp_dtype_size(q->made->dtype) != 2 || dev->compiled < 80 || q->kind == CONV_WEIGHT ||
        c->groups < 2 || !has_channels(q) || !conv_has_two_axes(q, c) ||
        ndp_view_size(q->image) == 0 || ndp_view_size(q->grid) == 0)
        return 0;
    const geometry g = geometry_of(q, c);
    return q->is_diagonal =
               g.nbytes <= MOST_BYTES && g.tiles[0] * g.tiles[1] * q->image->shape[0] <= INT32_MAX;
}

/* How a block reads and writes: vectors along channels or pixels, where memory has them whole. */
static int take_vectors(cuda_convolving *p, const conv_plan *q)
{
    const ndp_view *from = from_of(q), *to = q->made;
    const int last = to->stride[1] == 1;
    p->fours[0] = window_is_whole(from, 1, 8);
    p->fours[1] = !p->apart && window_is_whole(from, 4, 8) && from->shape[4] % 8 == 0;
    p->whole =
        last ? window_is_whole(to, 1, 4) : window_is_whole(to, 4, 4) && to->shape[4] % 4 == 0;
    return last ? CONV_DIAGONAL_LAST : CONV_DIAGONAL_PLANES;
}

int32_t cuda_conv_diagonal_run(const cuda_kernel *k, ndp_stream *s, const conv_plan *q,
                               cuda_convolving *p)
{
    const ndp_conv c = {.stride = {p->stride[0], p->stride[1], p->stride[2]},
                        .dilation = {p->dilation[0], p->dilation[1], p->dilation[2]}};
    const geometry g = geometry_of(q, &c);
    p->apart = q->kind == CONV_INPUT && (p->stride[1] != 1 || p->stride[2] != 1);
    const int function = take_vectors(p, q);
    if (q->kind == CONV_INPUT)
        cuda_conv_turn_around(p);
    if (p->apart)
        p->stride[1] = p->stride[2] = 1;
    for (int d = 0; d < 2; d++) {
        p->tile[d] = (int32_t)g.tile[d];
        p->kept[d] = (int32_t)g.kept[d];
        p->by_tiles[d] = cuda_divisor_of((uint32_t)g.tiles[d]);
    }
    p->by_column = cuda_divisor_of((uint32_t)g.tile[1]);
    p->pieces = (int32_t)g.pieces;
    p->columns = (int32_t)g.columns;
    p->weights_at = (uint32_t)g.second;
    return cuda_launch_2d(k, k->function[function], s,
                          (uint32_t)(g.tiles[0] * g.tiles[1] * q->image->shape[0]),
                          (uint32_t)(q->made->shape[1] / (CONV_PIECE * g.pieces)), CONV_THREADS,
                          (uint32_t)g.nbytes, p);
}
