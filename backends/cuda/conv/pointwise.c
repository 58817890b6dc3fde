/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A convolution whose windows are single elements is a matrix product: of the weight and each image
 * where the elements of a channel lie together, or of all pixels and the weight where a pixel's channels
 * do. So nothing changes its layout, as it does for the engines of cuDNN. */
#include "conv/pointwise.h"
#include <string.h>
#include "conv/plan.h"

enum { A, B, OUT };
enum {
    LEAST_PLANE = 32,
    UNIT = 16
}; /* elements; bytes that lines of 16-bit numbers are whole in */
enum {
    LEAST_COLUMNS = 128
}; /* of narrow numbers, where lines are pixels: else cuDNN is as fast or faster */

/* A matrix of lines of dense elements; the lines of a turned one are its columns. */
typedef struct {
    const ndp_view *view;
    int64_t line, step; /* step: from image to image */
    int turned;
} matrix;

static int is_pointwise(const ndp_conv *c, const ndp_view *image, const ndp_view *weight,
                        const ndp_view *grid)
{
    int fits = c->groups == 1 && conv_plane(weight) == 1;
    for (int d = 0; d < 3; d++)
        fits = fits && c->before[d] == 0 && c->stride[d] == 1 &&
               image->shape[2 + d] == grid->shape[2 + d];
    return fits;
}

/* Lines are channels, one matrix an image. */
static int planes_of(const ndp_view *v, matrix *m)
{
    const int64_t plane = conv_plane(v);
    *m = (matrix){.view = v,
                  .line = v->shape[1] == 1 ? plane : v->stride[1],
                  .step = v->shape[0] == 1 ? 0 : v->stride[0]};
    return conv_is_merged(v, 2, 1) && m->line >= plane && m->step >= 0;
}

/* Lines are pixels, of all images. */
static int pixels_of(const ndp_view *v, matrix *m)
{
    const int64_t channels = v->shape[1];
    int64_t step = channels;
    for (int d = 0; d < 5; d++)
        if (d != 1 && v->shape[d] != 1)
            step = v->stride[d];
    *m = (matrix){.view = v, .line = step};
    return (channels == 1 || v->stride[1] == 1) && step >= channels && conv_is_merged(v, 0, step);
}

static int weight_of(const ndp_view *v, matrix *m)
{
    const int64_t o = v->shape[0], c = v->shape[1];
    m->view = v;
    m->step = 0;
    m->turned = !(c == 1 || v->stride[1] == 1);
    m->line = m->turned ? (c == 1 ? o : v->stride[1]) : (o == 1 ? c : v->stride[0]);
    return m->line >= (m->turned ? o : c) && (!m->turned || o == 1 || v->stride[0] == 1);
}

static int32_t alignment(const ndp_view *v)
{
    const uint64_t bits = (uint64_t)cuda_ptr(v) | 256;
    return (int32_t)(bits & (~bits + 1));
}

static void take(conv_pointwise *p, int i, const matrix *m, int turned)
{
    const ndp_view **const at[3] = {&p->a, &p->b, &p->out};
    *at[i] = m->view;
    p->key.line[i] = m->line;
    p->key.step[i] = m->step;
    p->key.align[i] = alignment(m->view);
    if (i != OUT)
        p->key.transposed[i] = turned;
}

static void extents(conv_pointwise *p, int64_t m, int64_t n, int64_t k, int64_t batch)
{
    p->key.m = m;
    p->key.n = n;
    p->key.k = k;
    p->key.batch = batch;
}

/* The result has a line for each pixel, or is the weight. */
static int by_pixels(conv_pointwise *p, int kind, const matrix *image, const matrix *weight,
                     const matrix *grid)
{
    const int64_t o = weight->view->shape[0], c = weight->view->shape[1];
    const int64_t pixels = grid->view->shape[0] * conv_plane(grid->view);
    if (kind == CONV_FORWARD && ndp_dtype_size(p->key.dtype) == 2 && o < LEAST_COLUMNS)
        return 0;
    if (kind == CONV_FORWARD) {
        extents(p, pixels, o, c, 1);
        take(p, A, image, 0);
        take(p, B, weight, !weight->turned);
        take(p, OUT, grid, 0);
    } else if (kind == CONV_INPUT) {
        extents(p, pixels, c, o, 1);
        take(p, A, grid, 0);
        take(p, B, weight, weight->turned);
        take(p, OUT, image, 0);
    } else {
        extents(p, o, c, pixels, 1);
        take(p, A, grid, 1);
        take(p, B, image, 0);
        take(p, OUT, weight, 0);
        return !weight->turned;
    }
    return 1;
}

/* The weight's gradient is the sum of those of each image, which are computed apart, in the dtype of
 * sums, where that moves less than the operands. */
static int add_up(conv_pointwise *p, int64_t o, int64_t c, int64_t n, int64_t plane)
{
    const int64_t size = ndp_dtype_size(p->key.dtype), wide = size == 8 ? 8 : 4;
    if (o * c * wide > plane * (o + c) * size)
        return 0;
    p->sums = ((uint64_t)(n * o * c * wide) + BLASLT_WORKSPACE_ALIGN - 1) / BLASLT_WORKSPACE_ALIGN *
              BLASLT_WORKSPACE_ALIGN;
    p->key.out = size == 8 ? NDP_F64 : NDP_F32;
    p->key.line[OUT] = c;
    p->key.step[OUT] = o * c;
    p->key.align[OUT] = 256;
    return 1;
}

/* The result has a line for each channel, or is the weight. */
static int by_planes(conv_pointwise *p, int kind, const matrix *image, const matrix *weight,
                     const matrix *grid)
{
    const int64_t o = weight->view->shape[0], c = weight->view->shape[1];
    const int64_t n = grid->view->shape[0], plane = conv_plane(grid->view);
    if (plane < LEAST_PLANE && n > 1)
        return 0;
    if (kind == CONV_FORWARD) {
        extents(p, o, plane, c, n);
        take(p, A, weight, weight->turned);
        take(p, B, image, 0);
        take(p, OUT, grid, 0);
    } else if (kind == CONV_INPUT) {
        extents(p, c, plane, o, n);
        take(p, A, weight, !weight->turned);
        take(p, B, grid, 0);
        take(p, OUT, image, 0);
    } else {
        extents(p, o, c, plane, n);
        take(p, A, grid, 0);
        take(p, B, image, 1);
        take(p, OUT, weight, 0);
        return n == 1 ? !weight->turned : add_up(p, o, c, n, plane);
    }
    return 1;
}

/* Narrow numbers in lines that are not whole would be computed without tensor cores. */
static int has_whole_lines(const blaslt_key *k)
{
    int fits = 1;
    for (int i = A; i <= OUT && ndp_dtype_size(k->dtype) == 2; i++)
        fits = fits && k->line[i] * 2 % UNIT == 0 && k->step[i] * 2 % UNIT == 0 &&
               k->align[i] % UNIT == 0;
    return fits;
}

int cuda_conv_pointwise(conv_pointwise *p, ndp_dev *dev, const ndp_call *call, int kind,
                        const ndp_view *image, const ndp_view *weight, const ndp_view *grid)
{
    matrix x, w, y;
    memset(p, 0, sizeof *p);
    if (!dev->blaslt || !is_pointwise(call->params, image, weight, grid) ||
        ndp_view_size(image) == 0 || ndp_view_size(grid) == 0 || !weight_of(weight, &w))
        return 0;
    p->key.dtype = p->key.dtype_b = p->key.out = image->dtype;
    p->key.mode = cuda_blaslt_mode(dev, image->dtype,
                                   call->mode & (NDP_MODE_DETERMINISTIC | NDP_MODE_FAST_MATH));
    if (pixels_of(image, &x) && pixels_of(grid, &y)) {
        if (!by_pixels(p, kind, &x, &w, &y))
            return 0;
    } else if (!planes_of(image, &x) || !planes_of(grid, &y) || !by_planes(p, kind, &x, &w, &y)) {
        return 0;
    }
    const blaslt_key *k = &p->key;
    return k->batch <= UINT16_MAX && k->m <= INT32_MAX && k->n <= INT32_MAX && k->k <= INT32_MAX &&
           has_whole_lines(k) && cuda_blaslt_serves(dev, k, &p->work);
}

int32_t cuda_conv_pointwise_run(ndp_dev *dev, ndp_stream *s, const conv_pointwise *p,
                                CUdeviceptr scratch)
{
    const blaslt_operands x = {.a = cuda_ptr(p->a),
                               .b = cuda_ptr(p->b),
                               .out = p->sums ? scratch : cuda_ptr(p->out),
                               .workspace = scratch + p->sums,
                               .alpha = 1};
    return cuda_blaslt_run(dev, s, &p->key, &x);
}
