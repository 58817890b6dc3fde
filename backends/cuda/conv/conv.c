/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolutions and their gradients: by cuBLASLt, by cuDNN, or which kernel of ours, and its parameters. */
#include <stdio.h>
#include <string.h>
#include "conv/cudnn.h"
#include "conv/plan.h"
#include "conv/pointwise.h"
#include "conv/unfolded.h"

enum { FEW = 4 }; /* channels of a group on either side, below which there is no product */

static int64_t product(const int64_t v[3])
{
    return v[0] * v[1] * v[2];
}

static void plan_splits(conv_plan *q, const ndp_dev *dev)
{
    const int64_t groups = q->grid->shape[1] / q->co;
    const int64_t tiles = (q->co + CONV_TILE - 1) / CONV_TILE *
                          ((q->ci * product(q->weight->shape + 2) + CONV_TILE - 1) / CONV_TILE) *
                          groups;
    int64_t n = (2 * (int64_t)dev->sm_count + tiles - 1) / tiles;
    const int64_t most = (q->k + 4 * CONV_DEPTH - 1) / (4 * CONV_DEPTH);
    n = n < most ? n : most;
    n = n < CONV_MOST_SPLITS ? n : CONV_MOST_SPLITS;
    n = n < 1 ? 1 : n;
    q->part = ((q->k + n - 1) / n + CONV_DEPTH - 1) / CONV_DEPTH * CONV_DEPTH;
    q->splits = (int32_t)((q->k + q->part - 1) / q->part);
}

static conv_plan plan_of(const ndp_call *call, const ndp_dev *dev)
{
    const ndp_conv *c = call->params;
    conv_plan q = {.made = &call->out[0],
                   .bias = c->has_bias ? &call->in[2] : NULL,
                   .kind = call->op == NDP_OP_conv         ? CONV_FORWARD
                           : call->op == NDP_OP_conv_input ? CONV_INPUT
                                                           : CONV_WEIGHT,
                   .splits = 1};
    q.image = q.kind == CONV_INPUT ? q.made : &call->in[0];
    q.weight = q.kind == CONV_WEIGHT ? q.made : &call->in[1];
    q.grid = q.kind == CONV_FORWARD ? q.made : q.kind == CONV_INPUT ? &call->in[0] : &call->in[1];
    q.co = q.weight->shape[0] / c->groups;
    q.ci = q.weight->shape[1];
    q.few = c->groups > 1 && q.co < FEW && q.ci < FEW;
    q.k = q.kind == CONV_WEIGHT
              ? q.grid->shape[0] * product(q.grid->shape + 2)
              : (q.kind == CONV_INPUT ? q.co : q.ci) * product(q.weight->shape + 2);
    q.part = q.k;
    if (!cuda_conv_is_diagonal(&q, call, dev) && !cuda_conv_is_grouped(&q, call, dev) &&
        !cuda_conv_is_short(&q, call, dev) && !cuda_conv_is_thin(&q, call, dev) &&
        !cuda_conv_is_gathered(&q, call, dev) && q.kind == CONV_WEIGHT && !q.few)
        plan_splits(&q, dev);
    return q;
}

/* By kernels of ours that no library is asked for before. */
static int is_own(const conv_plan *q)
{
    return q->is_diagonal || q->grouped || q->is_short || q->is_thin || q->is_gathered;
}

static uint64_t own_scratch(const conv_plan *q)
{
    if (q->is_gathered && q->kind != CONV_WEIGHT)
        return cuda_conv_gathered_scratch(q);
    return q->splits > 1 ? (uint64_t)(q->splits * ndp_view_size(q->made)) *
                               (q->made->dtype == NDP_F64 ? 8 : 4)
                         : 0;
}

/* ---- cuDNN ---- */

static int is_aligned(const ndp_view *v)
{
    return cuda_ptr(v) % 16 == 0;
}

static int cudnn_takes(ndp_dev *dev, const conv_plan *q, const ndp_call *call, cudnn_key *key,
                       uint64_t *nbytes)
{
    *nbytes = 0;
    if (((const ndp_conv *)call->params)->groups > 1 && cuda_conv_is_narrow(q) &&
        ndp_dtype_size(q->made->dtype) == 2)
        return 0;
    return !cuda_conv_is_single(q, call->params) &&
           cuda_cudnn_key(key, call, q->image, q->weight, q->grid) &&
           cuda_cudnn_has(dev, key, nbytes);
}

static uint64_t scratch(const ndp_kernel *base, const ndp_call *call)
{
    ndp_dev *dev = ((const cuda_kernel *)base)->dev;
    const conv_plan q = plan_of(call, dev);
    const uint64_t own = own_scratch(&q);
    conv_pointwise product;
    conv_unfolded windows;
    cudnn_key key;
    uint64_t nbytes = 0;
    if (ndp_view_size(q.made) == 0 || is_own(&q))
        return own;
    if (cuda_conv_pointwise(&product, dev, call, q.kind, q.image, q.weight, q.grid))
        nbytes = product.sums + product.work;
    else if (cuda_conv_unfolded(&windows, dev, call, &q))
        nbytes = windows.sums + windows.columns + windows.work;
    else if (!cudnn_takes(dev, &q, call, &key, &nbytes))
        return own;
    return nbytes > own ? nbytes : own;
}

/* ---- our kernels ---- */

static int32_t params_of(cuda_convolving *p, const conv_plan *q, const ndp_call *call)
{
    const ndp_conv *c = call->params;
    const int64_t *image = q->image->shape, *grid = q->grid->shape, *kernel = q->weight->shape + 2;
    int64_t counts[4] = {product(image + 2), product(grid + 2), q->k, 1};
    int32_t status =
        window_reach_fits(call->op, image + 2, grid + 2, kernel, c->stride, c->dilation, c->before);
    if (status == NDP_OK)
        counts[3] = q->kind == CONV_INPUT ? image[0] * counts[0] : grid[0] * counts[1];
    if (status == NDP_OK)
        status = window_fits(call->op, counts, 4);
    if (status != NDP_OK)
        return status;
    *p = (cuda_convolving){.image = cuda_ptr(q->image),
                           .weight = cuda_ptr(q->weight),
                           .grid = cuda_ptr(q->grid),
                           .bias = q->bias ? cuda_ptr(q->bias) : 0,
                           .bias_stride = q->bias ? q->bias->stride[1] : 0,
                           .co = (int32_t)q->co,
                           .ci = (int32_t)q->ci,
                           .groups = (int32_t)c->groups,
                           .epilogue = c->epilogue,
                           .splits = q->splits,
                           .m = q->kind == CONV_INPUT ? q->ci : q->co,
                           .k = q->k,
                           .part = q->part};
    p->n = q->kind == CONV_WEIGHT ? q->ci * product(kernel) : counts[3];
    memcpy(p->image_stride, q->image->stride, sizeof p->image_stride);
    memcpy(p->weight_stride, q->weight->stride, sizeof p->weight_stride);
    memcpy(p->grid_stride, q->grid->stride, sizeof p->grid_stride);
    window_take(p->image_extent, image + 2);
    window_take(p->grid_extent, grid + 2);
    window_take(p->kernel, kernel);
    window_take(p->stride, c->stride);
    window_take(p->dilation, c->dilation);
    window_take(p->before, c->before);
    for (int d = 0; d < 3; d++) {
        p->by_image[d] = cuda_divisor_of((uint32_t)image[2 + d]);
        p->by_grid[d] = cuda_divisor_of((uint32_t)grid[2 + d]);
        p->by_kernel[d] = cuda_divisor_of((uint32_t)kernel[d]);
        p->step[d] = cuda_divisor_of((uint32_t)c->stride[d]);
    }
    p->by_co = cuda_divisor_of((uint32_t)q->co);
    p->by_ci = cuda_divisor_of((uint32_t)q->ci);
    return NDP_OK;
}

static int32_t run_product(const cuda_kernel *k, ndp_stream *s, const conv_plan *q,
                           cuda_convolving *p, const ndp_call *call)
{
    const int64_t columns = (p->n + CONV_TILE - 1) / CONV_TILE;
    const int64_t rows = (p->m + CONV_TILE - 1) / CONV_TILE;
    const int64_t blocks = rows * p->groups * q->splits;
    if (blocks > 65535)
        return window_fits(call->op, &(int64_t){INT64_MAX}, 1);
    p->tiles_m = cuda_divisor_of((uint32_t)rows);
    if (q->splits > 1) {
        if (!call->scratch.mem || (uint64_t)ndp_view_size(&call->scratch) < own_scratch(q))
            return cuda_error(NDP_ERR_INTERNAL, "%s was called without its scratch memory",
                              cuda_op_name(call->op));
        p->partial = cuda_ptr(&call->scratch);
    }
    int32_t status = cuda_launch_2d(k, k->function[CONV_PRODUCT], s, (uint32_t)columns,
                                    (uint32_t)blocks, CONV_THREADS, 0, p);
    if (status != NDP_OK || q->splits == 1)
        return status;
    const int64_t all = (ndp_view_size(q->made) + CONV_THREADS - 1) / CONV_THREADS;
    return cuda_launch(k, k->function[CONV_SPLITS], s, (uint32_t)(all < 65535 ? all : 65535),
                       CONV_THREADS, 0, p);
}

/* Sums of images, where a product left any, are added up as those of splits are. */
static int32_t add_up(const cuda_kernel *k, ndp_stream *s, const conv_plan *q, cuda_convolving *p,
                      CUdeviceptr sums, int64_t images)
{
    const int64_t all = (ndp_view_size(q->made) + CONV_THREADS - 1) / CONV_THREADS;
    p->partial = sums;
    p->splits = (int32_t)images;
    return cuda_launch(k, k->function[CONV_SPLITS], s, (uint32_t)(all < 65535 ? all : 65535),
                       CONV_THREADS, 0, p);
}

typedef struct {
    CUdeviceptr at;
    uint64_t nbytes;
} room;

static int32_t need(const ndp_call *call, const room *r, uint64_t nbytes)
{
    return r->nbytes >= nbytes
               ? NDP_OK
               : cuda_error(NDP_ERR_INTERNAL, "%s was called without its scratch memory",
                            cuda_op_name(call->op));
}

/* By matrix products of cuBLASLt. *served 0: it has none that suits; -1: it refuses the one it has, and there may be
 * scratch memory for our own kernels alone; 2: bias and epilogue are done. */
static int32_t run_by_products(const cuda_kernel *k, ndp_stream *s, const conv_plan *q,
                               cuda_convolving *p, const ndp_call *call, const room *r, int *served)
{
    conv_pointwise one;
    conv_unfolded windows;
    int32_t status = NDP_OK;
    uint64_t sums = 0;
    int64_t images = 1;
    *served = 1;
    if (cuda_conv_pointwise(&one, k->dev, call, q->kind, q->image, q->weight, q->grid)) {
        sums = one.sums;
        images = one.key.batch;
        status = need(call, r, one.sums + one.work);
        if (status == NDP_OK)
            status = cuda_conv_pointwise_run(k->dev, s, &one, r->at);
    } else if (cuda_conv_unfolded(&windows, k->dev, call, q)) {
        sums = windows.joint ? 0 : windows.sums;
        images = windows.key.batch;
        status = need(call, r, windows.sums + windows.columns + windows.work);
        if (status == NDP_OK)
            status = cuda_conv_unfolded_run(k, s, &windows, p, r->at);
        if (status == NDP_OK && windows.joint) {
            p->partial = r->at;
            status = cuda_conv_spread(k, s, q, p);
            *served = 2;
        }
    } else {
        *served = 0;
    }
    if (status == BLASLT_REFUSED) {
        *served = -1;
        return NDP_OK;
    }
    return status == NDP_OK && sums ? add_up(k, s, q, p, r->at, images) : status;
}

static int32_t run_own(const cuda_kernel *k, ndp_stream *s, const conv_plan *q, cuda_convolving *p,
                       const ndp_call *call, const room *r)
{
    int32_t status = need(call, r, own_scratch(q));
    p->partial = r->at;
    if (status == NDP_OK)
        status = q->is_diagonal   ? cuda_conv_diagonal_run(k, s, q, p)
                 : q->grouped     ? cuda_conv_grouped_run(k, s, q, p)
                 : q->is_thin     ? cuda_conv_thin_run(k, s, q, p, call)
                 : q->is_gathered ? cuda_conv_gathered_run(k, s, q, p)
                                  : cuda_conv_short_run(k, s, q, p);
    return status == NDP_OK && q->kind == CONV_WEIGHT ? add_up(k, s, q, p, r->at, q->splits)
                                                      : status;
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    const ndp_conv *c = call->params;
    const conv_plan q = plan_of(call, k->dev);
    const room r = {.at = call->scratch.mem ? cuda_ptr(&call->scratch) : 0,
                    .nbytes = call->scratch.mem ? (uint64_t)ndp_view_size(&call->scratch) : 0};
    cuda_convolving p;
    cudnn_key key;
    uint64_t nbytes;
    int served;
    if (ndp_view_size(q.made) == 0)
        return NDP_OK;
    int32_t status = params_of(&p, &q, call);
    if (status == NDP_OK && is_own(&q))
        return run_own(k, s, &q, &p, call, &r);
    if (status == NDP_OK)
        status = run_by_products(k, s, &q, &p, call, &r, &served);
    if (status != NDP_OK || served == 2)
        return status;
    if (served == 0 && is_aligned(q.image) && is_aligned(q.weight) && is_aligned(q.grid) &&
        cudnn_takes(k->dev, &q, call, &key, &nbytes))
        status = cuda_cudnn_run(k->dev, s, &key, p.image, p.weight, p.grid, r.at, r.nbytes);
    else if (served <= 0)
        return q.few ? cuda_conv_few_run(k, s, &q, &p, c) : run_product(k, s, &q, &p, call);
    return status == NDP_OK && (q.bias || c->epilogue) ? cuda_conv_finish(k, s, &q, &p) : status;
}

/* ---- what there is ---- */

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    const int32_t dtype = like->in[0].dtype;
    k->base.run = run;
    k->base.scratch = scratch;
    cuda_blaslt_open(k->dev);
    int32_t status = window_function(k, "conv", dtype,
                                     like->op == NDP_OP_conv         ? "conv_forward"
                                     : like->op == NDP_OP_conv_input ? "conv_input"
                                                                     : "conv_weight",
                                     &k->function[CONV_PRODUCT]);
    if (status == NDP_OK)
        status = window_function(k, "conv", dtype, "conv_splits", &k->function[CONV_SPLITS]);
    if (status == NDP_OK)
        status =
            window_function(k, "conv", dtype,
                            like->op == NDP_OP_conv_weight ? "grouped_gradient" : "grouped_windows",
                            &k->function[CONV_GROUPED]);
    if (status == NDP_OK && ndp_dtype_size(dtype) == 2)
        status =
            window_function(k, "conv", dtype, "diagonal_last", &k->function[CONV_DIAGONAL_LAST]);
    if (status == NDP_OK && ndp_dtype_size(dtype) == 2)
        status = window_function(k, "conv", dtype, "diagonal_planes",
                                 &k->function[CONV_DIAGONAL_PLANES]);
    if (status == NDP_OK && like->op == NDP_OP_conv && dtype != NDP_F64)
        status = cuda_conv_thin_make(k, dtype);
    if (status == NDP_OK && dtype == NDP_F32)
        status = window_function(k, "conv", dtype, "short_gradient", &k->function[CONV_SHORT]);
    if (status == NDP_OK && dtype == NDP_F32)
        status = cuda_conv_gathered_make(k);
    if (status == NDP_OK && (dtype == NDP_F32 || dtype == NDP_F64))
        status = cuda_conv_unfolded_make(k, dtype);
    return status == NDP_OK ? cuda_conv_few_make(k, like->op, dtype) : status;
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    const int32_t dtype = like->in[0].dtype;
    int same = like->out[0].dtype == dtype && like->in[0].ndim == 5;
    for (uint32_t i = 1; i < like->n_in; i++)
        same &= like->in[i].dtype == dtype;
    if (!same || !(cuda_domain_dtypes(like->op) >> dtype & 1))
        return cuda_unsupported(like, why, n);
    return cuda_kernel_get(dev, like, 0, make, out);
}

const cuda_class cuda_conv = {.dtypes = cuda_domain_dtypes, .find = find};
