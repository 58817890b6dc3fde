/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Images of other extents: which kernel, its parameters, and where its tables lie. */
#include <stdio.h>
#include <string.h>
#include "pool/frame.h"

enum {
    TABLES,
    BACK_ANY,
    BACK_CHANNELS,
    BACK_NEAREST_TWICE,
    BACK_LINEAR_TWICE,
    BACK_BOX,
    BACK_KERNELS
};
static const char *const back_names[BACK_KERNELS] = {
    "tables", "back_any", "back_channels", "back_nearest_twice", "back_linear_twice", "back_box"};
enum { ANY, VECTORS, CHANNELS, TWICE, PLANES, WAYS, METHODS = 3 };
/* The forward kernels: the tables', the ways of each method, and one of the cubic method alone. */
enum { CUBIC_DOUBLED = 1 + METHODS * WAYS, FORWARD_KERNELS };
static const char *const methods[METHODS] = {"nearest", "linear", "cubic"};
static const char *const ways[WAYS] = {"", "_vectors", "_channels", "_twice", "_planes"};

static int method_of(const ndp_resample *r)
{
    return r->method == NDP_RESAMPLE_CUBIC ? 2 : r->method == NDP_RESAMPLE_LINEAR ? 1 : 0;
}

static uint64_t rounded(uint64_t nbytes)
{
    return (nbytes + 15) / 16 * 16;
}

/* Gives the tables their places from `at` on, and returns their end. */
static uint64_t place_tables(cuda_resampling *p, const ndp_view *image, const ndp_view *grid,
                             uint64_t at)
{
    const uint64_t real = image->dtype == NDP_F64 ? 8 : 4;
    for (int d = 0; d < 3; d++) {
        const uint64_t n = (uint64_t)grid->shape[2 + d], m = (uint64_t)image->shape[2 + d];
        resample_table *t = &p->table[d];
        t->element = at;
        at += rounded(4 * n * (uint64_t)p->taps);
        t->share = at;
        at += rounded(real * n * (uint64_t)p->taps);
        if (!p->backward)
            continue;
        t->begin = at;
        at += rounded(4 * m);
        t->end = at;
        at += rounded(4 * m);
        t->near = at;
        at += rounded(real * m * RESAMPLE_NEAR);
    }
    return at;
}

static void begin(cuda_resampling *p, const ndp_call *call)
{
    *p = (cuda_resampling){.taps = 1 << method_of(call->params),
                           .backward = call->op == NDP_OP_upsample_grad};
}

static uint64_t scratch(const ndp_kernel *kernel, const ndp_call *call)
{
    cuda_resampling p;
    (void)kernel;
    begin(&p, call);
    return place_tables(&p, p.backward ? &call->out[0] : &call->in[0],
                        p.backward ? &call->in[0] : &call->out[0], 0);
}

static int32_t params_of(cuda_resampling *p, const ndp_call *call, const ndp_view *image,
                         const ndp_view *grid)
{
    const ndp_resample *r = call->params;
    int32_t status = window_fits(call->op, image->shape + 2, 3);
    if (status == NDP_OK)
        status = window_fits(call->op, grid->shape + 2, 3);
    if (status != NDP_OK)
        return status;
    if (!call->scratch.mem)
        return cuda_error(NDP_ERR_INTERNAL, "%s was called without its scratch memory",
                          cuda_op_name(call->op));
    p->image = cuda_ptr(image);
    p->grid = cuda_ptr(grid);
    p->method = r->method;
    p->align_corners = r->align_corners;
    memcpy(p->ratio, r->ratio, sizeof p->ratio);
    memcpy(p->image_stride, image->stride, sizeof p->image_stride);
    memcpy(p->grid_stride, grid->stride, sizeof p->grid_stride);
    window_take(p->image_extent, image->shape + 2);
    window_take(p->grid_extent, grid->shape + 2);
    place_tables(p, image, grid, cuda_ptr(&call->scratch));
    return NDP_OK;
}

static int32_t write_tables(const cuda_kernel *k, ndp_stream *s, cuda_resampling *p)
{
    int32_t longest = 1;
    for (int d = 0; d < 3; d++) {
        longest = p->grid_extent[d] > longest ? p->grid_extent[d] : longest;
        if (p->backward)
            longest = p->image_extent[d] > longest ? p->image_extent[d] : longest;
    }
    const int32_t blocks = (longest + WINDOW_THREADS - 1) / WINDOW_THREADS;
    return cuda_launch_2d(k, k->function[TABLES], s, (uint32_t)(blocks < 1024 ? blocks : 1024), 3,
                          WINDOW_THREADS, 0, p);
}

/* Whether the result is twice as long along axis d, by half a step a place. */
static int is_twice(const cuda_resampling *p, int d)
{
    return p->grid_extent[d] == 2 * p->image_extent[d] && !p->align_corners &&
           (p->ratio[d] == 0 || p->ratio[d] == 0.5);
}

static int is_plane(const cuda_resampling *p)
{
    return p->grid_extent[0] == 1 && p->image_extent[0] == 1;
}

/* Whether planes have dense rows, whose bytes kernels count in 32 bits. */
static int are_planes(const cuda_resampling *p, const ndp_view *image)
{
    return is_plane(p) && image->stride[4] == 1 && image->shape[4] <= INT32_MAX / 8;
}

/* Whether planes of whole vectors become twice as wide and high by the cubic method. */
static int is_doubled(const cuda_resampling *p, const ndp_view *image)
{
    const int64_t V = 16 / ndp_dtype_size(image->dtype);
    return p->taps == 4 && is_plane(p) && is_twice(p, 1) && is_twice(p, 2) &&
           image->shape[4] % V == 0 && window_is_whole(image, 4, V);
}

/* Channels side by side, to be taken as vectors; `other` may have them otherwise. */
static int are_beside(const ndp_view *v, const ndp_view *other, int64_t V)
{
    return v->shape[1] % V == 0 && window_is_whole(v, 1, V) &&
           (other->stride[1] != 1 || window_is_whole(other, 1, V));
}

/* Rows of images: of what is made (channels, layers, rows), or strips of rows of planes: of what is made,
 * or of the source where they are doubled, which takes no tables. */
typedef struct {
    int64_t all[3], strips[2];
    int doubled;
} resample_rows;

static window_launch launch_of(const cuda_kernel *k, cuda_resampling *p, const ndp_view *image,
                               const ndp_view *grid, const ndp_view *made, resample_rows *rows)
{
    const int64_t size = ndp_dtype_size(image->dtype), V = 16 / size;
    const ndp_view *from = made == grid ? image : grid;
    const int channels = are_beside(from, made, V);
    const int twice = is_twice(p, 2) && grid->shape[4] % V == 0 && window_is_whole(grid, 4, V);
    window_launch l = {.walk = &p->walk,
                       .moved = {&p->image, &p->grid},
                       .by = {image->stride[0] * size, grid->stride[0] * size},
                       .images = image->shape[0],
                       .n_moved = 2};
    int how = channels ? CHANNELS : ANY, function;
    if (made == image) {
        if (twice && p->taps < 4 && image->shape[4] % V == 0 && window_is_whole(image, 4, V))
            how = TWICE;
        function = how == CHANNELS              ? BACK_CHANNELS
                   : how == ANY && p->taps == 1 ? BACK_BOX
                   : how == ANY                 ? BACK_ANY
                   : p->taps == 1               ? BACK_NEAREST_TWICE
                                                : BACK_LINEAR_TWICE;
    } else {
        rows->doubled = twice && is_doubled(p, image);
        if (twice && window_is_whole(image, 4, V / 2))
            how = TWICE;
        else if (!channels && grid->shape[4] % RESAMPLE_COLUMNS == 0 &&
                 window_is_whole(grid, 4, RESAMPLE_COLUMNS))
            how = are_planes(p, image) ? PLANES : VECTORS;
        function = rows->doubled ? CUBIC_DOUBLED : 1 + (p->taps / 2) * WAYS + how;
    }
    l.function = k->function[function];
    const int strips = rows->doubled || (made == grid && how == PLANES);
    const int64_t high = rows->doubled ? RESAMPLE_ROWS : RESAMPLE_LINES;
    rows->strips[1] = ((rows->doubled ? image : grid)->shape[3] + high - 1) / high;
    l.extent = how == CHANNELS ? made->shape + 2 : strips ? rows->strips : rows->all;
    l.n_extents = strips ? 2 : 3;
    l.items = how == CHANNELS                   ? made->shape[1] / V
              : how == ANY                      ? made->shape[4]
              : how == VECTORS || how == PLANES ? made->shape[4] / RESAMPLE_COLUMNS
              : rows->doubled                   ? image->shape[4] / V
                                                : made->shape[4] / V;
    return l;
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    cuda_resampling p;
    if (ndp_view_size(&call->out[0]) == 0)
        return NDP_OK;
    begin(&p, call);
    const ndp_view *made = &call->out[0];
    const ndp_view *image = p.backward ? made : &call->in[0];
    const ndp_view *grid = p.backward ? &call->in[0] : made;
    int32_t status = params_of(&p, call, image, grid);
    if (status != NDP_OK)
        return status;
    resample_rows rows = {.all = {made->shape[1], made->shape[2], made->shape[3]},
                          .strips = {made->shape[1]}};
    const window_launch l = launch_of(k, &p, image, grid, made, &rows);
    if (!rows.doubled)
        status = write_tables(k, s, &p);
    return status == NDP_OK ? window_run(k, s, &l, &p) : status;
}

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    const int back = like->op == NDP_OP_upsample_grad;
    const int n = back ? BACK_KERNELS : FORWARD_KERNELS;
    int32_t status = NDP_OK;
    k->base.run = run;
    k->base.scratch = scratch;
    for (int i = 0; i < n && status == NDP_OK; i++) {
        char name[48];
        if (i == TABLES || back)
            snprintf(name, sizeof name, "resample_%s", back_names[i]);
        else if (i == CUBIC_DOUBLED)
            snprintf(name, sizeof name, "resample_cubic_doubled");
        else
            snprintf(name, sizeof name, "resample_%s%s", methods[(i - 1) / WAYS],
                     ways[(i - 1) % WAYS]);
        status = window_function(k, "resample", like->in[0].dtype, name, &k->function[i]);
    }
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

const cuda_class cuda_resample = {.dtypes = cuda_domain_dtypes, .find = find};
