/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Copies between views of one dtype and fills: by element size alone, in the widest units that
 * addresses and strides allow. Copies that convert are cast.c's. */
#include "copy/move.h"
#include <stdio.h>
#include <string.h>
#include "host/backend.h"
#include "copy/cast.h"
#include "walk/plan.h"

enum {
    MOVE_UNITS = 5,                /* of 1, 2, 4, 8 and 16 bytes */
    MOVE_TILES = MOVE_UNITS,       /* functions of a copy: walks, then tiles, */
    MOVE_REPEATS = 2 * MOVE_UNITS, /* then elements repeated */
    MOVE_FILL_DENSE = MOVE_UNITS,  /* of a fill: walks, then this one */
    MOVE_COPY = 0,                 /* choices */
    MOVE_FILL = 1,
    LINE_OF_MEMORY = 128, /* bytes */
    LONG_ROW = 1024,      /* units: where whole lines are most of a row */
    TILE_MIN = 12         /* shorter dimensions leave most of a tile empty */
};

/* What launch() needs besides a piece. */
typedef struct {
    const cuda_kernel *kernel;
    ndp_stream *stream;
    const unsigned char *pattern; /* fill: the element, repeated to 16 bytes */
    int unit;                     /* log2 of the bytes that are moved as one */
} move_job;

static uint32_t items_of(int unit)
{
    return unit == 4 ? 4 : 8;
}

static int32_t launch_walk(void *ctx, const walk_plan *piece)
{
    const move_job *job = ctx;
    line_rows rows = {.dst = 0};
    uint32_t blocks = line_rows_of(piece, items_of(job->unit), &rows);
    if (!rows.items_along_rows && rows.columns >= LONG_ROW &&
        rows.dst_step == INT64_C(1) << job->unit)
        rows.line = LINE_OF_MEMORY - 1;
    if (job->pattern)
        memcpy(rows.pattern, job->pattern, sizeof rows.pattern);
    return cuda_launch(job->kernel, job->kernel->function[job->unit], job->stream, blocks,
                       LINE_THREADS, 0, &rows);
}

/* ---- tiles ---- */

/* The dimension that is innermost in the source, where tiles are worth it; 0: they are not. */
static int32_t tiled_dimension(const walk_plan *p)
{
    const int64_t *src_stride = p->stride[1];
    int32_t best = 0;
    if (p->ndim < 2 || p->extent[0] < TILE_MIN)
        return 0;
    for (int32_t d = 1; d < p->ndim; d++)
        if (p->extent[d] >= TILE_MIN && src_stride[d] != 0 &&
            (best == 0 || ndp_magnitude(src_stride[d]) < ndp_magnitude(src_stride[best])))
            best = d;
    uint64_t inner = ndp_magnitude(src_stride[0]);
    return best && inner >= 32 && ndp_magnitude(src_stride[best]) * 4 <= inner ? best : 0;
}

/* Whether elements along one dimension of an operand make aligned words of 4 bytes. */
static int word_runs(const walk_plan *p, int operand, int32_t along, int64_t size)
{
    uint64_t bits = p->at[operand];
    for (int32_t d = 0; d < p->ndim; d++)
        if (d != along)
            bits |= (uint64_t)p->stride[operand][d];
    return p->stride[operand][along] == size && bits % 4 == 0;
}

static int32_t launch_tiles(void *ctx, const walk_plan *piece)
{
    static const uint8_t sides[MOVE_UNITS] = {128, 64, 64, 32, 32};
    const move_job *job = ctx;
    int32_t y = tiled_dimension(piece);
    if (y == 0) /* a piece that was cut out of a larger plan */
        return launch_walk(ctx, piece);
    int64_t size = INT64_C(1) << job->unit;
    line_planes planes = {.dst_words = word_runs(piece, 0, 0, size),
                          .src_words = word_runs(piece, 1, y, size)};
    uint32_t blocks = line_planes_of(piece, y, sides[job->unit], &planes);
    return cuda_launch(job->kernel, job->kernel->function[MOVE_TILES + job->unit], job->stream,
                       blocks, LINE_THREADS, 0, &planes);
}

/* ---- plans ---- */

/* The call as bytes: what lies side by side in both operands becomes one dimension, of bytes, and
 * then of units of up to 16. in NULL: all elements come from one place. */
static void make_plan(walk_plan *p, const ndp_view *out, const ndp_view *in, int *unit)
{
    int64_t size = ndp_dtype_size(out->dtype);
    walk_plan_begin(p);
    walk_plan_operand(p, cuda_ptr(out), 1);
    walk_plan_operand(p, in ? cuda_ptr(in) : 0, 1);
    for (int d = 0; d < out->ndim; d++)
        walk_plan_add(p, out->shape[d],
                      (int64_t[]){out->stride[d] * size, in ? in->stride[d] * size : 0});
    int64_t run = in != NULL; /* a fill has no source to run along */
    walk_plan_add(p, size, (int64_t[]){1, run});
    walk_plan_turn(p);
    walk_plan_sort(p);
    walk_plan_merge(p);
    /* A single byte is left out as a dimension of extent 1. */
    int bytes = p->ndim > 0 && p->stride[0][0] == 1 && p->stride[1][0] == run;
    uint64_t bits = p->at[0] | p->at[1] | (bytes ? (uint64_t)p->extent[0] : 1) | 16;
    for (int32_t d = bytes; d < p->ndim; d++)
        bits |= (uint64_t)p->stride[0][d] | (uint64_t)p->stride[1][d];
    for (*unit = 0; !(bits >> *unit & 1); ++*unit)
        ;
    if (!bytes)
        return;
    p->extent[0] >>= *unit;
    p->stride[0][0] <<= *unit;
    p->stride[1][0] <<= *unit;
    if (p->extent[0] > 1)
        return;
    for (int32_t d = 1; d < p->ndim; d++)
        walk_plan_swap(p, d - 1, d);
    p->ndim--;
}

/* ---- elements repeated ---- */

/* The copies of each of elements that lie side by side where the whole plan makes such; 0: it does not. */
static int64_t repeats_of(const walk_plan *p, int unit)
{
    const int64_t size = INT64_C(1) << unit;
    const int64_t most = MOVE_REPEAT_VECTORS * LINE_THREADS; /* an aligned part is a block's */
    return p->ndim == 2 && p->extent[0] <= most && p->at[0] % 16 == 0 && p->stride[0][0] == size &&
                   p->stride[1][0] == 0 && p->stride[0][1] == p->extent[0] * size &&
                   p->stride[1][1] == size
               ? p->extent[0]
               : 0;
}

static int32_t launch_repeat(const move_job *job, const walk_plan *p)
{
    const int64_t V = 16 >> job->unit, count = p->extent[0], n = p->extent[1];
    const int64_t each = MOVE_REPEAT_VECTORS * LINE_THREADS / count * V;
    move_repeat r = {.dst = p->at[0],
                     .src = p->at[1],
                     .n = (uint64_t)n,
                     .each = (uint32_t)each,
                     .pairs = count == 2 && p->at[1] % 8 == 0,
                     .count = cuda_divisor_of((uint32_t)count)};
    return cuda_launch(job->kernel, job->kernel->function[MOVE_REPEATS + job->unit], job->stream,
                       (uint32_t)((n + each - 1) / each), LINE_THREADS, 0, &r);
}

/* ---- copy ---- */

static int32_t copy_bytes(const cuda_kernel *k, ndp_stream *s, const ndp_call *call, int64_t nbytes)
{
    cuda_scope scope;
    int32_t status = cuda_patch_refuse("a copy");
    if (status == NDP_OK)
        status = cuda_enter(k->dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuMemcpyAsync(cuda_ptr(call->out), cuda_ptr(call->in), (size_t)nbytes,
                                  cuda_stream(k->dev, s));
    cuda_leave(&scope);
    return cuda_fail(r, "copying %lld bytes on cuda:%u", (long long)nbytes, k->dev->index);
}

static int32_t run_copy(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    int64_t n = ndp_view_size(call->out);
    move_job job = {.kernel = k, .stream = s};
    walk_plan plan;
    if (n == 0)
        return NDP_OK;
    if (call->in->flags & call->out->flags & NDP_VIEW_CONTIGUOUS)
        return copy_bytes(k, s, call, n * ndp_dtype_size(call->out->dtype));
    make_plan(&plan, call->out, call->in, &job.unit);
    if (repeats_of(&plan, job.unit))
        return launch_repeat(&job, &plan);
    int tiled = tiled_dimension(&plan) != 0;
    return walk_plan_pieces(&plan, CUDA_WALK_FEW + 1, tiled ? launch_tiles : launch_walk, &job);
}

/* ---- fill ---- */

/* The element over and over, from that byte on. */
static void repeat_pattern(const unsigned char element[16], int64_t size, uint64_t from,
                           unsigned char out[16])
{
    for (uint64_t i = 0; i < 16; i++)
        out[i] = element[(from + i) % (uint64_t)size];
}

static int32_t run_fill_dense(const cuda_kernel *k, ndp_stream *s, const ndp_call *call,
                              const unsigned char element[16])
{
    int64_t size = ndp_dtype_size(call->out->dtype);
    move_fill p = {.dst = cuda_ptr(call->out),
                   .nbytes = (uint64_t)(ndp_view_size(call->out) * size)};
    repeat_pattern(element, size, 0, p.pattern);
    repeat_pattern(element, size, (0 - p.dst) % 16, p.vector);
    uint64_t blocks = p.nbytes / (16 * LINE_THREADS * MOVE_FILL_VECTORS) + 1;
    return cuda_launch(k, k->function[MOVE_FILL_DENSE], s, (uint32_t)blocks, LINE_THREADS, 0, &p);
}

/* The scalar has the dtype of the destination. */
static int32_t run_fill(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    unsigned char element[16] = {0}, pattern[16];
    move_job job = {.kernel = k, .stream = s, .pattern = pattern};
    walk_plan plan;
    if (ndp_view_size(call->out) == 0)
        return NDP_OK;
    cuda_store_scalar(&call->scalar[call->in[0].offset_bytes], element);
    if (call->out->flags & NDP_VIEW_CONTIGUOUS)
        return run_fill_dense(k, s, call, element);
    repeat_pattern(element, ndp_dtype_size(call->out->dtype), 0, pattern);
    make_plan(&plan, call->out, NULL, &job.unit);
    return walk_plan_pieces(&plan, CUDA_WALK_FEW + 1, launch_walk, &job);
}

/* ---- the class ---- */

static int32_t load_units(cuda_kernel *k, const char *family, CUfunction *out)
{
    int32_t status = NDP_OK;
    for (int unit = 0; unit < MOVE_UNITS && status == NDP_OK; unit++) {
        char name[32];
        snprintf(name, sizeof name, "%s_%d", family, 1 << unit);
        status = cuda_function(k->dev, CUDA_MODULE_move_ANY, name, &out[unit]);
    }
    return status;
}

static int32_t make_copy(cuda_kernel *k, const ndp_call *like)
{
    (void)like;
    k->base.run = run_copy;
    int32_t status = load_units(k, "walk", k->function);
    if (status == NDP_OK)
        status = load_units(k, "tiles", k->function + MOVE_TILES);
    return status == NDP_OK ? load_units(k, "repeat", k->function + MOVE_REPEATS) : status;
}

static int32_t make_fill(cuda_kernel *k, const ndp_call *like)
{
    (void)like;
    k->base.run = run_fill;
    int32_t status = load_units(k, "fill_walk", k->function);
    return status != NDP_OK ? status
                            : cuda_function(k->dev, CUDA_MODULE_move_ANY, "fill_dense",
                                            &k->function[MOVE_FILL_DENSE]);
}

static int known(int32_t dtype)
{
    return dtype > 0 && dtype < NDP_DTYPE_END;
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    if (like->n_in != 1 || like->n_out != 1 || !known(like->in[0].dtype) ||
        !known(like->out[0].dtype))
        return cuda_unsupported(like, why, n);
    int same = like->in[0].dtype == like->out[0].dtype;
    if (same && !like->in[0].mem)
        return cuda_kernel_get(dev, like, MOVE_FILL, make_fill, out);
    if (same)
        return cuda_kernel_get(dev, like, MOVE_COPY, make_copy, out);
    return cuda_cast_find(dev, like, out);
}

const cuda_class cuda_move = {.dtypes = cuda_domain_dtypes, .find = find};
