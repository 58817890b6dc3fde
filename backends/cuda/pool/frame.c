/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Walks over rows of images, and what kernels count in 32 bits. */
#include <stdio.h>
#include "pool/frame.h"

enum { MOST = 1 << 30, WAVES = 32, MOST_BLOCKS_Y = 65535 };

int32_t window_fits(int32_t op, const int64_t *extent, int n)
{
    for (int i = 0; i < n; i++)
        if (extent[i] > MOST)
            return cuda_error(NDP_ERR_UNSUPPORTED,
                              "%s on cuda: %lld elements along one axis, or windows that reach so "
                              "far; kernels count to 2^30. Cut the images, or use the CPU",
                              cuda_op_name(op), (long long)extent[i]);
    return NDP_OK;
}

int32_t window_reach_fits(int32_t op, const int64_t image[3], const int64_t grid[3],
                          const int64_t kernel[3], const int64_t stride[3],
                          const int64_t dilation[3], const int64_t before[3])
{
    int64_t reach[3 * 5];
    for (int d = 0; d < 3; d++) {
        const double span = (double)kernel[d] * (double)dilation[d],
                     last = (double)grid[d] * (double)stride[d];
        reach[5 * d] = image[d];
        reach[5 * d + 1] = before[d];
        reach[5 * d + 2] = span <= MOST ? (int64_t)span : INT64_MAX;
        reach[5 * d + 3] = last <= MOST ? (int64_t)last : INT64_MAX;
        reach[5 * d + 4] = grid[d];
    }
    return window_fits(op, reach, 3 * 5);
}

int32_t window_function(const cuda_kernel *k, const char *file, int32_t dtype, const char *name,
                        CUfunction *out)
{
    char whole[64];
    snprintf(whole, sizeof whole, "%s_%s", name, cuda_dtype_word(dtype));
    return cuda_function(k->dev, cuda_module_of(file, dtype), whole, out);
}

int window_is_whole(const ndp_view *v, int inner, int64_t count)
{
    if (v->stride[inner] != 1 || cuda_ptr(v) % (uint64_t)(count * ndp_dtype_size(v->dtype)))
        return 0;
    for (int32_t d = 0; d < v->ndim; d++)
        if (d != inner && v->shape[d] > 1 && v->stride[d] % count)
            return 0;
    return 1;
}

int window_is_counted(const ndp_view *v)
{
    enum { MORE = 32 };
    const double pitch = (double)(v->stride[3] < 0 ? -v->stride[3] : v->stride[3]);
    return pitch * (double)(v->shape[3] + MORE) + (double)v->shape[4] <= INT32_MAX;
}

void window_take(int32_t out[3], const int64_t in[3])
{
    for (int d = 0; d < 3; d++)
        out[d] = (int32_t)in[d];
}

static int64_t at_most(int64_t n, int64_t most)
{
    return n < most ? n : most;
}

/* So that blocks are full where rows are short, and rows side by side where they are not. */
static void choose_lanes(window_walk *w, uint32_t most)
{
    w->lanes = 1;
    w->lane_bits = 0;
    while (w->lanes < w->items && w->lanes < most) {
        w->lanes *= 2;
        w->lane_bits++;
    }
}

static int32_t launch(const cuda_kernel *k, ndp_stream *s, const window_launch *l, void *params)
{
    const window_walk *w = l->walk;
    const int64_t beside = l->warps ? WINDOW_THREADS / 32 : WINDOW_THREADS >> w->lane_bits;
    const int64_t blocks = (w->rows + beside - 1) / beside;
    const int64_t chunks = l->warps ? 1 : ((int64_t)w->items + w->lanes - 1) / w->lanes;
    const int64_t waves = (l->waves ? l->waves : WAVES) * (int64_t)k->dev->sm_count;
    return cuda_launch_2d(k, l->function, s, (uint32_t)at_most(blocks, waves),
                          (uint32_t)at_most(chunks, MOST_BLOCKS_Y), WINDOW_THREADS,
                          l->bytes_a_lane * w->lanes, params);
}

int32_t window_run(const cuda_kernel *k, ndp_stream *s, const window_launch *l, void *params)
{
    window_walk *w = l->walk;
    double image = 1;
    for (int32_t d = 0; d < l->n_extents; d++) {
        image *= (double)l->extent[d];
        if (image > INT32_MAX)
            return cuda_error(NDP_ERR_UNSUPPORTED,
                              "%s on cuda: one image has %g rows or more; kernels count to 2^31. "
                              "Cut the images, or use the CPU",
                              cuda_op_name(k->op), image);
        w->split[d] = cuda_divisor_of((uint32_t)l->extent[d]);
    }
    const int64_t rows = (int64_t)image, most = INT32_MAX / rows;
    w->items = (uint32_t)l->items;
    choose_lanes(w, l->most_lanes ? l->most_lanes : WINDOW_THREADS);
    for (int64_t done = 0; done < l->images; done += most) {
        const int64_t now = at_most(l->images - done, most);
        w->rows = (uint32_t)(now * rows);
        const int32_t status = launch(k, s, l, params);
        if (status != NDP_OK)
            return status;
        for (int32_t i = 0; i < l->n_moved; i++)
            if (*l->moved[i])
                *l->moved[i] += (uint64_t)(now * l->by[i]);
    }
    return NDP_OK;
}
