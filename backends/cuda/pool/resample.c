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
    BACK_PLANES,
    BACK_NEAREST_DOUBLED,
    BACK_LINEAR_DOUBLED,
    BACK_KERNELS
};
static const char *const back_names[BACK_KERNELS] = {
    "tables",   "back_any",    "back_channels",        "back_nearest_twice", "back_linear_twice",
    "back_box", "back_planes", "back_nearest_doubled", "back_linear_doubled"};
enum { ANY, VECTORS, CHANNELS, TWICE, PLANES, DOUBLED, WAYS, METHODS = 3 };
/* The forward kernels: the tables', and the ways of each method. */
enum { FORWARD_KERNELS = 1 + METHODS * WAYS };
static const char *const methods[METHODS] = {"nearest", "linear", "cubic"};
static const char *const ways[WAYS] = {"",       "_vectors", "_channels",
                                       "_twice", "_planes",  "_doubled"};

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

/* Whether planes become twice as wide and high, half vectors of rows to whole ones. */
static int are_doubled(const cuda_resampling *p, const ndp_view *image, const ndp_view *grid)
{
    const int64_t V = 16 / ndp_dtype_size(image->dtype);
    return is_plane(p) && is_twice(p, 1) && is_twice(p, 2) && grid->shape[4] % V == 0 &&
           window_is_counted(image) && window_is_counted(grid) && window_is_whole(grid, 4, V) &&
           window_is_whole(image, 4, V / 2);
}

/* Channels side by side, to be taken as vectors; `other` may have them otherwise. */
static int are_beside(const ndp_view *v, const ndp_view *other, int64_t V)
{
    return v->shape[1] % V == 0 && window_is_whole(v, 1, V) &&
           (other->stride[1] != 1 || window_is_whole(other, 1, V));
}

/* How the result is made of the image. */
static int how_to_make(const cuda_resampling *p, const ndp_view *image, const ndp_view *grid)
{
    const int64_t V = 16 / ndp_dtype_size(image->dtype);
    if (are_doubled(p, image, grid))
        return DOUBLED;
    if (is_twice(p, 2) && grid->shape[4] % V == 0 && window_is_whole(grid, 4, V) &&
        window_is_whole(image, 4, V / 2))
        return TWICE;
    if (are_beside(image, grid, V))
        return CHANNELS;
    if (grid->shape[4] % RESAMPLE_COLUMNS || !window_is_whole(grid, 4, RESAMPLE_COLUMNS))
        return ANY;
    return are_planes(p, image) ? PLANES : VECTORS;
}

/* Which kernel makes the source's gradients of the result's. */
static int how_to_return(const cuda_resampling *p, const ndp_view *image, const ndp_view *grid)
{
    const int64_t V = 16 / ndp_dtype_size(image->dtype);
    const int nearest = p->taps == 1;
    if (p->taps < 4 && are_doubled(p, image, grid))
        return nearest ? BACK_NEAREST_DOUBLED : BACK_LINEAR_DOUBLED;
    if (p->taps < 4 && is_twice(p, 2) && window_is_whole(grid, 4, V) && image->shape[4] % V == 0 &&
        window_is_whole(image, 4, V))
        return nearest ? BACK_NEAREST_TWICE : BACK_LINEAR_TWICE;
    if (are_beside(grid, image, V))
        return BACK_CHANNELS;
    if (nearest)
        return BACK_BOX;
    return is_plane(p) && image->stride[4] == 1 && grid->stride[4] == 1 ? BACK_PLANES : BACK_ANY;
}

/* Items of a row, and extents of rows, for each kernel: rows of what is made, or strips of so many of them; of those of the
 * source where the kernel doubles. */
typedef struct {
    int64_t items, extent[3];
    int32_t n_extents;
} resample_rows;

static resample_rows strips_of(const ndp_view *v, int64_t high, int64_t wide)
{
    return (resample_rows){v->shape[4] / wide, {v->shape[1], (v->shape[3] + high - 1) / high}, 2};
}

static resample_rows rows_of(const ndp_view *v, int64_t wide)
{
    return (resample_rows){v->shape[4] / wide, {v->shape[1], v->shape[2], v->shape[3]}, 3};
}

static resample_rows channels_of(const ndp_view *v)
{
    return (resample_rows){
        v->shape[1] / (16 / ndp_dtype_size(v->dtype)), {v->shape[2], v->shape[3], v->shape[4]}, 3};
}

static resample_rows rows_to_make(const cuda_resampling *p, int how, const ndp_view *image,
                                  const ndp_view *grid)
{
    const int64_t V = 16 / ndp_dtype_size(image->dtype);
    const int64_t lines = p->taps == 1   ? RESAMPLE_NEAREST_LINES
                          : p->taps == 2 ? RESAMPLE_LINES
                                         : RESAMPLE_CUBIC_LINES;
    switch (how) {
    case DOUBLED:
        return strips_of(image, p->taps == 4 ? RESAMPLE_CUBIC_ROWS : RESAMPLE_ROWS, V / 2);
    case PLANES:
        return strips_of(grid, lines, RESAMPLE_COLUMNS);
    case CHANNELS:
        return channels_of(grid);
    default:
        return rows_of(grid, how == TWICE ? V : how == VECTORS ? RESAMPLE_COLUMNS : 1);
    }
}

static resample_rows rows_to_return(int how, const ndp_view *image)
{
    const int64_t V = 16 / ndp_dtype_size(image->dtype);
    switch (how) {
    case BACK_NEAREST_DOUBLED:
    case BACK_LINEAR_DOUBLED:
        return strips_of(image, RESAMPLE_ROWS, V / 2);
    case BACK_PLANES:
        return strips_of(image, RESAMPLE_BACK_ROWS, 1);
    case BACK_CHANNELS:
        return channels_of(image);
    default:
        return rows_of(image, how == BACK_NEAREST_TWICE || how == BACK_LINEAR_TWICE ? V : 1);
    }
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
    const int how = p.backward ? how_to_return(&p, image, grid) : how_to_make(&p, image, grid);
    const resample_rows rows =
        p.backward ? rows_to_return(how, image) : rows_to_make(&p, how, image, grid);
    const int64_t size = ndp_dtype_size(image->dtype);
    const int known = p.backward ? how >= BACK_NEAREST_DOUBLED : how == DOUBLED;
    /* what writes more than it reads, or reads nothing twice, ends sooner where a thread has one item */
    const int whole = known && (p.backward ? p.taps == 1 : p.taps < 4);
    const window_launch l = {.function =
                                 k->function[p.backward ? how : 1 + p.taps / 2 * WAYS + how],
                             .walk = &p.walk,
                             .moved = {&p.image, &p.grid},
                             .by = {image->stride[0] * size, grid->stride[0] * size},
                             .images = image->shape[0],
                             .items = rows.items,
                             .extent = rows.extent,
                             .n_extents = rows.n_extents,
                             .n_moved = 2,
                             .waves = whole ? WINDOW_WAVES : 0};
    if (!known)
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
