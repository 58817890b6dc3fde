/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Pools: which kernel, and its parameters. */
#include <stdio.h>
#include <string.h>
#include "pool/pool_call.h"

enum {
    ANY,
    CHANNELS,
    WARP,
    PLANE_220,
    PLANE_311,
    PLANE_321,
    PLANE_512,
    PLANES, /* with positions there are no strips */
    STRIP_220 = PLANES,
    STRIP_311,
    STRIP_321,
    STRIP_512,
    KERNELS
};
static const char *const suffixes[KERNELS] = {"any",       "channels",  "warp",     "220",
                                              "311",       "321",       "512",      "strip_220",
                                              "strip_311", "strip_321", "strip_512"};
/* Rows of windows of a thread, by kernel; 0: it makes no strips. */
static int64_t strip_rows(int how, int32_t op, int32_t dtype)
{
    static const int64_t rows[KERNELS] = {[STRIP_220] = POOL_STRIP_220,
                                          [STRIP_311] = POOL_STRIP_311,
                                          [STRIP_321] = POOL_STRIP_321,
                                          [STRIP_512] = POOL_STRIP_512};
    const int pairs = op == NDP_OP_max_pool && ndp_dtype_size(dtype) == 2;
    return how == STRIP_512 && pairs ? POOL_PAIRS_512 : rows[how];
}
enum { LARGE_WINDOW = 64 }; /* elements from which on a warp takes a window */

static void take_strides(int64_t out[5], const ndp_view *v)
{
    memcpy(out, v->stride, 5 * sizeof *out);
}

/* Whether a mean counts as many elements of every window. */
static int are_alike(const cuda_pooling *p)
{
    int alike = !p->adaptive && (double)p->kernel[0] * p->kernel[1] * p->kernel[2] < INT32_MAX;
    for (int d = 0; d < 3; d++) {
        const int32_t end = (p->grid_extent[d] - 1) * p->stride[d] - p->before[d] + p->kernel[d];
        alike = alike && end <= p->image_extent[d] + (p->exclude ? 0 : p->before[d]) &&
                !(p->exclude && p->before[d]);
    }
    return alike;
}

int32_t pool_params(cuda_pooling *p, const ndp_call *call, const ndp_view *image,
                    const ndp_view *grid, const ndp_view *positions)
{
    const ndp_pool *w = call->params;
    static const int64_t one[3] = {1, 1, 1}, zero[3] = {0, 0, 0};
    const int64_t *kernel = w->adaptive ? one : w->kernel, *stride = w->adaptive ? one : w->stride;
    const int64_t *dilation = w->adaptive ? one : w->dilation;
    const int64_t *before = w->adaptive ? zero : w->before;
    const int32_t status = window_reach_fits(call->op, image->shape + 2, grid->shape + 2, kernel,
                                             stride, dilation, before);
    if (status != NDP_OK)
        return status;
    if (w->divisor > INT32_MAX)
        return window_fits(call->op, &w->divisor, 1);
    *p = (cuda_pooling){.image = cuda_ptr(image),
                        .grid = cuda_ptr(grid),
                        .positions = positions ? cuda_ptr(positions) : 0,
                        .adaptive = w->adaptive,
                        .exclude = w->exclude_padding,
                        .divisor = (int32_t)w->divisor};
    take_strides(p->image_stride, image);
    take_strides(p->grid_stride, grid);
    if (positions)
        take_strides(p->position_stride, positions);
    window_take(p->image_extent, image->shape + 2);
    window_take(p->grid_extent, grid->shape + 2);
    window_take(p->kernel, kernel);
    window_take(p->stride, stride);
    window_take(p->dilation, dilation);
    window_take(p->before, before);
    for (int d = 0; d < 3; d++)
        p->step[d] = cuda_divisor_of((uint32_t)stride[d]);
    if (!p->divisor && are_alike(p))
        p->divisor = p->kernel[0] * p->kernel[1] * p->kernel[2];
    p->inverse = p->divisor ? 1.0 / p->divisor : 0;
    return NDP_OK;
}

int64_t pool_image_bytes(const ndp_view *v)
{
    return v->stride[0] * ndp_dtype_size(v->dtype);
}

int pool_is_square(const cuda_pooling *p)
{
    return p->grid_extent[0] == 1 && p->image_extent[0] == 1 && p->kernel[0] == 1 &&
           p->before[0] == 0 && p->dilation[1] == 1 && p->kernel[1] == p->kernel[2] &&
           p->stride[1] == p->stride[2] && p->before[1] == p->before[2];
}

int32_t pool_functions(cuda_kernel *k, int32_t dtype, const char *file, const char *prefix,
                       const char *const *suffix, int n, int first)
{
    int32_t status = NDP_OK;
    for (int i = 0; i < n && status == NDP_OK; i++) {
        char name[48];
        snprintf(name, sizeof name, "%s_%s", prefix, suffix[i]);
        status = window_function(k, file, dtype, name, &k->function[first + i]);
    }
    return status;
}

/* ---- forward ---- */

static int is_plane(const cuda_pooling *p, const ndp_call *call, int kernel, int step, int before)
{
    const int64_t V = 16 / ndp_dtype_size(call->in[0].dtype), n = p->grid_extent[2];
    return !p->adaptive && p->dilation[2] == 1 && p->kernel[2] == kernel && p->stride[2] == step &&
           p->before[2] == before && n % V == 0 && n * step <= p->image_extent[2] &&
           window_is_whole(&call->in[0], 4, V) && window_is_whole(&call->out[0], 4, V);
}

static int is_large(const cuda_pooling *p)
{
    double all = 1;
    for (int d = 0; d < 3; d++)
        all *= p->adaptive ? (double)p->image_extent[d] / p->grid_extent[d] : p->kernel[d];
    return all >= LARGE_WINDOW && all < (1 << 29);
}

static int how_to_pool(const cuda_pooling *p, const ndp_call *call)
{
    const ndp_view *x = &call->in[0];
    const int64_t V = 16 / ndp_dtype_size(x->dtype);
    const int beside = x->stride[1] == 1 && x->shape[1] % V == 0 && window_is_whole(x, 1, V) &&
                       (call->out[0].stride[1] != 1 || window_is_whole(&call->out[0], 1, V));
    static const int32_t usual[4][3] = {{2, 2, 0}, {3, 1, 1}, {3, 2, 1}, {5, 1, 2}};
    const int strips = pool_is_square(p) && call->n_out == 1 &&
                       (call->op == NDP_OP_max_pool || p->divisor) && window_is_counted(x) &&
                       window_is_counted(&call->out[0]);
    for (int i = 0; i < 4; i++)
        if (is_plane(p, call, usual[i][0], usual[i][1], usual[i][2]))
            return (strips ? STRIP_220 : PLANE_220) + i;
    return is_large(p) && x->stride[1] != 1 ? WARP : beside ? CHANNELS : ANY;
}

static int32_t run_pool(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    const ndp_view *x = &call->in[0], *y = &call->out[0];
    const ndp_view *positions = call->n_out > 1 ? &call->out[1] : NULL;
    cuda_pooling p;
    if (ndp_view_size(y) == 0)
        return NDP_OK;
    const int32_t status = pool_params(&p, call, x, y, positions);
    if (status != NDP_OK)
        return status;
    const int how = how_to_pool(&p, call);
    const int64_t V = 16 / ndp_dtype_size(x->dtype);
    const int64_t *g = y->shape;
    const int64_t planes[3] = {g[1], g[2], g[3]}, windows[3] = {g[2], g[3], g[4]};
    const int64_t n = strip_rows(how, call->op, x->dtype),
                  strips[2] = {g[1], n ? (g[3] + n - 1) / n : 0};
    const int64_t *extent = how == WARP ? g + 1 : how == CHANNELS ? windows : n ? strips : planes;
    window_launch l = {.function = k->function[positions ? KERNELS + how : how],
                       .walk = &p.walk,
                       .moved = {&p.image, &p.grid, &p.positions},
                       .by = {pool_image_bytes(x), pool_image_bytes(y),
                              positions ? pool_image_bytes(positions) : 0},
                       .images = g[0],
                       .items = how == CHANNELS ? g[1] / V
                                : how == ANY    ? g[4]
                                : how == WARP   ? 1
                                                : g[4] / V,
                       .extent = extent,
                       .n_extents = how == WARP ? 4
                                    : n         ? 2
                                                : 3,
                       .n_moved = 3,
                       .warps = how == WARP};
    return window_run(k, s, &l, &p);
}

/* ---- what there is ---- */

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    const int32_t dtype = like->in[0].dtype, op = like->op;
    int32_t status;
    if (op == NDP_OP_max_pool_grad || op == NDP_OP_avg_pool_grad)
        return pool_make_grad(k, like);
    k->base.run = run_pool;
    status = pool_functions(k, dtype, "pool", op == NDP_OP_max_pool ? "pool_max" : "pool_mean",
                            suffixes, KERNELS, 0);
    if (status == NDP_OK && op == NDP_OP_max_pool)
        status = pool_functions(k, dtype, "pool", "pool_index", suffixes, PLANES, KERNELS);
    return status;
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    const int32_t dtype = like->in[0].dtype;
    if (!(cuda_domain_dtypes(like->op) >> dtype & 1) || like->in[0].ndim != 5 ||
        like->out[0].dtype != dtype)
        return cuda_unsupported(like, why, n);
    return cuda_kernel_get(dev, like, 0, make, out);
}

const cuda_class cuda_pool = {.dtypes = cuda_domain_dtypes, .find = find};
