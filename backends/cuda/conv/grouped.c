/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolutions of f32 and f64 in groups of some channels, and their gradients: the library's engines for
 * these take several times as long as memory does. Of 16 bits those in groups too small for tensor cores. Which tiles of windows a block has, and the launch. */
#include <string.h>
#include "conv/plan.h"

enum { MOST_CHANNELS = 16, MOST_WIDTH = 128, MOST_WINDOWS = 1024, MOST_BYTES = 48 << 10 };
enum { GOOD_BYTES = 40 << 10, WINDOWS = 4 /* of a thread */, BLOCKS = 8 /* of a processor */ };

typedef struct {
    int64_t tile[2], kept[2],
        tiles[2];           /* rows and columns of windows, of elements; tiles of an image */
    int64_t nbytes, second; /* of shared memory; to what follows the elements */
} geometry;

/* Bytes of an element as it is kept: halves are widened. */
static int64_t kept_bytes(const conv_plan *q)
{
    return q->made->dtype == NDP_F64 ? 8 : 4;
}

/* Jobs of the weight's gradient: of four channels of the image and CONV_MADE of the grid, for each tap. */
static int64_t jobs_of(const conv_plan *q)
{
    return conv_plane(q->weight) * (conv_round_up(q->ci, 4) / 4) *
           (conv_round_up(q->co, CONV_MADE) / CONV_MADE);
}

static void measure(geometry *g, const conv_plan *q, const ndp_conv *c)
{
    const int64_t size = kept_bytes(q), *kernel = q->weight->shape + 2;
    const int64_t from = q->kind == CONV_INPUT ? q->co : q->ci;
    const int64_t made = q->kind == CONV_INPUT ? q->ci : q->co;
    for (int d = 0; d < 2; d++)
        g->kept[d] =
            (g->tile[d] - 1) * c->stride[1 + d] + (kernel[1 + d] - 1) * c->dilation[1 + d] + 1;
    g->second = conv_round_up(g->kept[0] * g->kept[1] * conv_round_up(from, 4) * size, 32);
    if (q->kind == CONV_WEIGHT) {
        const int64_t sums = jobs_of(q) * 4 * CONV_MADE * size;
        g->nbytes = g->second + g->tile[0] * g->tile[1] * conv_round_up(q->co, CONV_MADE) * size;
        g->nbytes = g->nbytes > sums ? g->nbytes : sums;
    } else {
        g->nbytes = g->second + conv_plane(q->weight) * conv_round_up(from, 4) *
                                    conv_round_up(made, CONV_MADE) * size;
    }
}

/* Windows of the result, or for the weight of the grid, as rows of a part of its width. */
static geometry geometry_of(const conv_plan *q, const ndp_conv *c)
{
    const ndp_view *of = q->kind == CONV_WEIGHT ? q->grid : q->made;
    const int64_t height = of->shape[3], width = of->shape[4];
    geometry g = {.tiles = {1, (width + MOST_WIDTH - 1) / MOST_WIDTH}};
    g.tile[1] = (width + g.tiles[1] - 1) / g.tiles[1];
    for (int64_t rows = MOST_WINDOWS / g.tile[1];; rows /= 2) {
        rows = rows < height ? rows : height;
        g.tiles[0] = (height + rows - 1) / rows;
        g.tile[0] = (height + g.tiles[0] - 1) / g.tiles[0];
        measure(&g, q, c);
        if (g.nbytes <= GOOD_BYTES || g.tile[0] == 1)
            return g;
        rows = g.tile[0];
    }
}

int cuda_conv_is_grouped(conv_plan *q, const ndp_call *call, const ndp_dev *dev)
{
    const ndp_conv *c = call->params;
    const int32_t dtype = q->made->dtype;
    const int exact = dtype == NDP_F64 || (dtype == NDP_F32 && !(call->mode & NDP_MODE_FAST_MATH));
    const int narrow = ndp_dtype_size(dtype) == 2 && cuda_conv_is_narrow(q);
    if (c->groups < 2 || c->groups > UINT16_MAX || q->few || !(exact || narrow) ||
        !conv_has_two_axes(q, c) || q->co > MOST_CHANNELS || q->ci > MOST_CHANNELS ||
        ndp_view_size(q->image) == 0 || ndp_view_size(q->grid) == 0 ||
        (q->kind == CONV_INPUT && (c->stride[1] != 1 || c->stride[2] != 1)))
        return 0;
    const geometry g = geometry_of(q, c);
    const int64_t tiles = g.tiles[0] * g.tiles[1] * q->image->shape[0];
    if (g.nbytes > MOST_BYTES || tiles > INT32_MAX ||
        (q->kind == CONV_WEIGHT && jobs_of(q) > CONV_THREADS))
        return 0;
    if (q->kind == CONV_WEIGHT) {
        int64_t parts = (BLOCKS * (int64_t)dev->sm_count + c->groups - 1) / c->groups;
        parts = parts < tiles ? parts : tiles;
        q->splits = (int32_t)(parts < 2 ? 2 : parts < CONV_MOST_SPLITS ? parts : CONV_MOST_SPLITS);
    }
    return q->grouped = 1;
}

int32_t cuda_conv_grouped_run(const cuda_kernel *k, ndp_stream *s, const conv_plan *q,
                              cuda_convolving *p)
{
    const ndp_conv c = {.stride = {p->stride[0], p->stride[1], p->stride[2]},
                        .dilation = {p->dilation[0], p->dilation[1], p->dilation[2]}};
    const geometry g = geometry_of(q, &c);
    const int64_t tiles = g.tiles[0] * g.tiles[1] * q->image->shape[0];
    const ndp_view *from = q->kind == CONV_INPUT ? q->grid : q->image;
    const ndp_view *to = q->kind == CONV_INPUT ? q->image : q->grid;
    const int64_t channels = q->kind == CONV_INPUT ? q->co : q->ci;
    const int64_t windows = g.tile[0] * g.tile[1];
    int64_t threads =
        q->kind == CONV_WEIGHT ? jobs_of(q) * windows : (windows + WINDOWS - 1) / WINDOWS;
    if (q->kind == CONV_INPUT)
        cuda_conv_turn_around(p);
    threads = threads < CONV_THREADS ? conv_round_up(threads, 32) : CONV_THREADS;
    for (int d = 0; d < 2; d++) {
        p->tile[d] = (int32_t)g.tile[d];
        p->kept[d] = (int32_t)g.kept[d];
        p->by_tiles[d] = cuda_divisor_of((uint32_t)g.tiles[d]);
    }
    p->by_column = cuda_divisor_of((uint32_t)g.tile[1]);
    p->tiles = (uint32_t)tiles;
    p->weights_at = (uint32_t)g.second;
    p->fours[0] = channels % 4 == 0 && window_is_whole(from, 1, 4);
    p->fours[1] = q->co % 4 == 0 && window_is_whole(q->grid, 1, 4);
    p->whole = (q->kind == CONV_INPUT ? q->ci : q->co) % CONV_MADE == 0 &&
               window_is_whole(to, 1, CONV_MADE);
    const uint32_t across = (uint32_t)(q->kind == CONV_WEIGHT ? q->splits : tiles);
    return cuda_launch_2d(k, k->function[CONV_GROUPED], s, across, (uint32_t)p->groups,
                          (uint32_t)threads, (uint32_t)g.nbytes, p);
}
