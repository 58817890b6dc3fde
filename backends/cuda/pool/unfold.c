/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The elements of windows side by side, and back: which kernel, and its parameters. */
#include <string.h>
#include "pool/frame.h"

enum { UNFOLD_ANY, UNFOLD_PAIRS, UNFOLD_VECTORS };

static int32_t params_of(cuda_unfolding *p, const ndp_call *call, const ndp_view *image,
                         const ndp_view *windows)
{
    const ndp_unfold *w = call->params;
    const int64_t *kernel = windows->shape + 2, *grid = windows->shape + 5;
    const int32_t status = window_reach_fits(call->op, image->shape + 2, grid, kernel, w->stride,
                                             w->dilation, w->before);
    if (status != NDP_OK)
        return status;
    *p = (cuda_unfolding){.image = cuda_ptr(image), .windows = cuda_ptr(windows)};
    memcpy(p->image_stride, image->stride, sizeof p->image_stride);
    memcpy(p->windows_stride, windows->stride, sizeof p->windows_stride);
    window_take(p->image_extent, image->shape + 2);
    window_take(p->grid_extent, grid);
    window_take(p->kernel, kernel);
    window_take(p->stride, w->stride);
    window_take(p->dilation, w->dilation);
    window_take(p->before, w->before);
    for (int d = 0; d < 3; d++)
        p->step[d] = cuda_divisor_of((uint32_t)w->stride[d]);
    return NDP_OK;
}

/* Elements of a row of the result that a thread takes: a vector, two, or one. */
static int64_t each_of(int folds, const ndp_view *image, const ndp_view *windows)
{
    const ndp_view *to = folds ? image : windows;
    const int inner = folds ? 4 : 7;
    const int64_t V = 16 / ndp_dtype_size(image->dtype), sizes[3] = {V, 2, 1};
    int i = folds && windows->stride[7] != 1 ? 2 : 0;
    while (i < 2 && (to->shape[inner] % sizes[i] || !window_is_whole(to, inner, sizes[i])))
        i++;
    return sizes[i];
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    const int folds = call->op == NDP_OP_fold;
    const ndp_view *image = folds ? &call->out[0] : &call->in[0];
    const ndp_view *windows = folds ? &call->in[0] : &call->out[0];
    const int64_t size = ndp_dtype_size(image->dtype), each = each_of(folds, image, windows);
    cuda_unfolding p;
    if (ndp_view_size(&call->out[0]) == 0)
        return NDP_OK;
    const int32_t status = params_of(&p, call, image, windows);
    if (status != NDP_OK)
        return status;
    window_launch l = {.function = k->function[each == 1   ? UNFOLD_ANY
                                               : each == 2 ? UNFOLD_PAIRS
                                                           : UNFOLD_VECTORS],
                       .walk = &p.walk,
                       .moved = {&p.image, &p.windows},
                       .by = {image->stride[0] * size, windows->stride[0] * size},
                       .images = image->shape[0],
                       .items = (folds ? image->shape[4] : windows->shape[7]) / each,
                       .extent = folds ? image->shape + 1 : windows->shape + 1,
                       .n_extents = folds ? 3 : 6,
                       .n_moved = 2};
    return window_run(k, s, &l, &p);
}

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    const int32_t dtype = like->in[0].dtype;
    k->base.run = run;
    static const char *const names[2][3] = {{"unfold_any", "unfold_pairs", "unfold_vectors"},
                                            {"fold_any", "fold_pairs", "fold_vectors"}};
    const int folds = like->op == NDP_OP_fold;
    int32_t status = NDP_OK;
    for (int i = UNFOLD_ANY; i <= UNFOLD_VECTORS && status == NDP_OK; i++)
        status = window_function(k, "unfold", dtype, names[folds][i], &k->function[i]);
    return status;
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    const int32_t dtype = like->in[0].dtype;
    if (!(cuda_domain_dtypes(like->op) >> dtype & 1) || like->out[0].dtype != dtype)
        return cuda_unsupported(like, why, n);
    return cuda_kernel_get(dev, like, 0, make, out);
}

const cuda_class cuda_unfold = {.dtypes = cuda_domain_dtypes, .find = find};
