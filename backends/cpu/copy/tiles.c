/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Copies with strides: cut into tiles in which source and destination both advance in long runs. */
#include <string.h>
#include "copy/copy.h"

enum {
    CHUNK_BYTES = 128 << 10, /* bytes of destination that a thread takes at a time */
    TILE_BYTES = 64 << 10,   /* a tile whose rows are runs on both sides */
    SMALL_TILE = 8 << 10,    /* below this, choosing the next tile takes longer than copying it */
    SRC_RUN = 8 << 10,       /* wanted length of runs, for the memory pages and the prefetcher */
    DST_RUN = 2 << 10,
    TRANSPOSE_ROWS = 64,      /* bytes of a transposed tile along the source */
    TRANSPOSE_COLS = 1 << 10, /* and along the destination */
    DIRECT_COLS = 64,         /* rows from here on are converted in place, shorter ones together */
    BUFFER_BYTES = 16 << 10,  /* staging of a block within the first cache */
    STREAM_RUN = 256,         /* shortest run for which that pays */
};

/* A copy cut into tiles. Steps are in bytes. */
typedef struct {
    int ndim, row, col; /* a block lies in the dimensions row and col; row is -1 in one dimension */
    int n_outer;        /* further dimensions that extend within a tile, fastest first: */
    int outer[NDP_MAX_NDIM];
    int transposed, streamed, src_size, dst_size;
    int64_t shape[NDP_MAX_NDIM], src_step[NDP_MAX_NDIM], dst_step[NDP_MAX_NDIM];
    int64_t tile[NDP_MAX_NDIM]; /* extent of a tile, 1 in most dimensions */
    int64_t size, tiles, tile_size;
    char *dst;
    const char *src;
    void (*whole)(const cpu_block *);   /* NULL, or does all there is to do for a block */
    void (*move)(const cpu_block *);    /* source elements into a block of their own size */
    void (*scatter)(const cpu_block *); /* staged elements into the destination */
    cpu_cast_fn *cast;                  /* NULL: same dtype */
    const cpu_copy_loops *loops;
} copy_plan;

const cpu_copy_loops *cpu_copy_level(void)
{
    return CPU_ISA_PICK(cpu_copy_table);
}

static int log2_size(int64_t nbytes)
{
    return __builtin_ctzll((unsigned long long)nbytes);
}

static int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- the plan ---- */

/* Takes the dimensions over in order of falling destination step, without those of extent 1.
 * Returns 0 when there is no element. */
static int plan_dimensions(copy_plan *p, const ndp_view *out, const int64_t *src_stride)
{
    p->ndim = 0;
    p->size = 1;
    for (int d = 0; d < out->ndim; d++) {
        int64_t n = out->shape[d], dst = out->stride[d] * p->dst_size;
        int64_t src = src_stride ? src_stride[d] * p->src_size : 0;
        if (n == 0)
            return 0;
        p->size *= n;
        if (n == 1)
            continue;
        if (dst < 0) { /* walk it from the other end */
            p->dst += (n - 1) * dst;
            p->src += (n - 1) * src;
            dst = -dst;
            src = -src;
        }
        int at = p->ndim++;
        for (; at > 0 && p->dst_step[at - 1] < dst; at--) {
            p->shape[at] = p->shape[at - 1];
            p->src_step[at] = p->src_step[at - 1];
            p->dst_step[at] = p->dst_step[at - 1];
        }
        p->shape[at] = n;
        p->src_step[at] = src;
        p->dst_step[at] = dst;
    }
    return 1;
}

/* Joins neighbours that are one dimension in both operands; at least one dimension remains. A lone
 * element has no step, for tiles extend where there is one. */
static void plan_merge(copy_plan *p)
{
    int last = 0;
    if (p->ndim == 0) {
        p->shape[0] = 1;
        p->src_step[0] = 0;
        p->dst_step[0] = 0;
        p->ndim = 1;
        return;
    }
    for (int d = 1; d < p->ndim; d++) {
        int joined = p->dst_step[last] == p->shape[d] * p->dst_step[d] &&
                     p->src_step[last] == p->shape[d] * p->src_step[d];
        if (!joined)
            last++;
        p->shape[last] = p->shape[d] * (joined ? p->shape[last] : 1);
        p->src_step[last] = p->src_step[d];
        p->dst_step[last] = p->dst_step[d];
    }
    p->ndim = last + 1;
}

/* The dimension of the smallest step in which tiles do not extend yet, or -1. */
static int plan_nearest(const copy_plan *p, const int64_t *step)
{
    int best = -1;
    for (int d = p->ndim - 1; d >= 0; d--)
        if (p->tile[d] == 1 && step[d] != 0 &&
            (best < 0 || ndp_magnitude(step[d]) < ndp_magnitude(step[best])))
            best = d;
    return best;
}

static void plan_extend(copy_plan *p, int d, int64_t extent)
{
    p->tile[d] = min_i64(p->shape[d], extent > 1 ? extent : 1);
    p->tile_size *= p->tile[d];
}

static void plan_extend_outer(copy_plan *p, int d, int64_t extent)
{
    if (d < 0 || extent < 2)
        return;
    plan_extend(p, d, extent);
    p->outer[p->n_outer++] = d;
}

/* Blocks: col is the destination's fastest dimension, row the source's where that is another one.
 */
static void plan_block(copy_plan *p)
{
    p->col = p->ndim - 1;
    for (int d = 0; d < p->ndim; d++)
        p->tile[d] = 1;
    p->tile_size = 1;
    p->n_outer = 0;
    int large = p->size * p->dst_size >= CPU_COPY_STREAM_BYTES;
    int64_t wide = p->src_size > p->dst_size ? p->src_size : p->dst_size;
    int near = plan_nearest(p, p->src_step);
    p->transposed = p->src_step[p->col] != 0 && near != p->col &&
                    ndp_magnitude(p->src_step[near]) < ndp_magnitude(p->src_step[p->col]);
    if (p->transposed) {
        p->row = near;
        plan_extend(p, p->row, (large ? CPU_COPY_STRIP_RUN : TRANSPOSE_ROWS) / wide);
        plan_extend(p, p->col,
                    large ? cpu_copy_strip_cols(p->tile[p->row] * wide) : TRANSPOSE_COLS / wide);
        if (p->src_step[near] < 0) {
            p->src += (p->shape[near] - 1) * p->src_step[near];
            p->dst += (p->shape[near] - 1) * p->dst_step[near];
            p->src_step[near] = -p->src_step[near];
            p->dst_step[near] = -p->dst_step[near];
        }
    } else {
        plan_extend(p, p->col, TILE_BYTES / wide);
        p->row = plan_nearest(p, p->dst_step);
    }
}

static void plan_tiles(copy_plan *p)
{
    plan_block(p);
    int64_t dst_run = p->tile[p->col] * p->dst_size;
    int64_t src_run = p->tile[p->transposed ? p->row : p->col] * p->src_size;
    int64_t wide = p->src_size > p->dst_size ? p->src_size : p->dst_size;
    int src_next = p->src_step[p->col] == 0 ? -1 : plan_nearest(p, p->src_step);
    if (!p->transposed && p->row >= 0) {
        int apart = src_next >= 0 && src_next != p->row && src_run < SRC_RUN;
        plan_extend(p, p->row, (apart ? DST_RUN : TILE_BYTES) / dst_run);
        if (p->tile[p->row] == 1)
            p->row = -1;
    }
    if (p->transposed)
        plan_extend_outer(p, plan_nearest(p, p->dst_step), DST_RUN / dst_run);
    plan_extend_outer(p, plan_nearest(p, p->src_step), SRC_RUN / src_run);
    while (p->tile_size * wide < SMALL_TILE) { /* many small dimensions */
        int next = plan_nearest(p, p->dst_step);
        if (next < 0)
            break;
        plan_extend_outer(p, next, SMALL_TILE / wide / p->tile_size + 1);
    }
    p->tiles = 1;
    for (int d = 0; d < p->ndim; d++)
        p->tiles *= (p->shape[d] + p->tile[d] - 1) / p->tile[d];
    int dense_rows = p->row >= 0 && p->dst_step[p->row] == p->tile[p->col] * p->dst_size;
    p->streamed = p->size * p->dst_size >= CPU_COPY_STREAM_BYTES &&
                  p->dst_step[p->col] == p->dst_size && (dst_run >= STREAM_RUN || dense_rows);
}

/* ---- running it ---- */

/* Writes staged rows, dense one after the other, to their place. */
static void unstage(const copy_plan *p, const cpu_block *b, const char *staged)
{
    int64_t row_bytes = b->cols * p->dst_size;
    if (!p->streamed) {
        cpu_block out = *b;
        out.src = staged;
        out.src_row = row_bytes;
        out.src_col = p->dst_size;
        p->scatter(&out);
    } else if (b->dst_row == row_bytes) {
        p->loops->stream(b->dst, staged, b->rows * row_bytes);
    } else {
        for (int64_t r = 0; r < b->rows; r++)
            p->loops->stream(b->dst + r * b->dst_row, staged + r * row_bytes, row_bytes);
    }
}

static int rows_dense(int64_t row, int64_t col, const cpu_block *b, int size)
{
    return col == size && (b->rows == 1 || row == b->cols * size);
}

/* A block that fits the staging buffers: gathered, converted, put in place; steps not needed drop
 * out. */
static void run_staged(const copy_plan *p, const cpu_block *b)
{
    _Alignas(64) char gathered[BUFFER_BYTES], converted[BUFFER_BYTES];
    const char *dense = gathered;
    if (p->cast && rows_dense(b->src_row, b->src_col, b, p->src_size)) {
        dense = b->src;
    } else {
        cpu_block in = *b;
        in.dst = gathered;
        in.dst_row = b->cols * p->src_size;
        in.dst_col = p->src_size;
        p->move(&in);
    }
    if (!p->cast) {
        unstage(p, b, dense);
    } else if (!p->streamed && rows_dense(b->dst_row, b->dst_col, b, p->dst_size)) {
        p->cast(b->dst, dense, b->rows * b->cols);
    } else {
        p->cast(converted, dense, b->rows * b->cols);
        unstage(p, b, converted);
    }
}

static void run_block(const copy_plan *p, const cpu_block *b)
{
    if (p->whole) {
        p->whole(b);
        return;
    }
    int direct = b->src_col == p->src_size && b->dst_col == p->dst_size;
    if (direct &&
        (p->cast ? !p->streamed && b->cols >= DIRECT_COLS : b->cols * p->dst_size >= STREAM_RUN)) {
        for (int64_t r = 0; r < b->rows; r++) {
            char *dst = b->dst + r * b->dst_row;
            const char *src = b->src + r * b->src_row;
            p->cast ? p->cast(dst, src, b->cols)
                    : p->loops->stream(dst, src, b->cols * p->dst_size);
        }
        return;
    }
    int64_t capacity = BUFFER_BYTES / (p->src_size > p->dst_size ? p->src_size : p->dst_size);
    int64_t cols = min_i64(b->cols, capacity), rows = min_i64(b->rows, capacity / cols);
    cpu_block part = *b;
    for (int64_t r = 0; r < b->rows; r += rows)
        for (int64_t c = 0; c < b->cols; c += cols) {
            part.rows = min_i64(rows, b->rows - r);
            part.cols = min_i64(cols, b->cols - c);
            part.dst = b->dst + r * b->dst_row + c * b->dst_col;
            part.src = b->src + r * b->src_row + c * b->src_col;
            run_staged(p, &part);
        }
}

/* Blocks wait here for one turn, so that each knows where the next one reads. */
typedef struct {
    cpu_block held;
    int full;
} block_queue;

static void push_block(const copy_plan *p, block_queue *q, const cpu_block *b)
{
    if (q->full) {
        q->held.next = b->src;
        run_block(p, &q->held);
    }
    q->held = *b;
    q->full = 1;
}

static void run_tile(const copy_plan *p, block_queue *q, int64_t t)
{
    int64_t extent[NDP_MAX_NDIM], index[NDP_MAX_NDIM];
    cpu_block b = {.dst = p->dst, .src = p->src};
    for (int d = p->ndim - 1; d >= 0; d--) {
        int64_t n = (p->shape[d] + p->tile[d] - 1) / p->tile[d], start = t % n * p->tile[d];
        t /= n;
        extent[d] = min_i64(p->tile[d], p->shape[d] - start);
        b.dst += start * p->dst_step[d];
        b.src += start * p->src_step[d];
    }
    b.cols = extent[p->col];
    b.dst_col = p->dst_step[p->col];
    b.src_col = p->src_step[p->col];
    b.rows = p->row < 0 ? 1 : extent[p->row];
    b.dst_row = p->row < 0 ? 0 : p->dst_step[p->row];
    b.src_row = p->row < 0 ? 0 : p->src_step[p->row];
    memset(index, 0, sizeof index[0] * (size_t)p->n_outer);
    for (;;) {
        int k = 0;
        push_block(p, q, &b);
        for (; k < p->n_outer; k++) {
            int d = p->outer[k];
            b.dst += p->dst_step[d];
            b.src += p->src_step[d];
            if (++index[k] < extent[d])
                break;
            b.dst -= extent[d] * p->dst_step[d];
            b.src -= extent[d] * p->src_step[d];
            index[k] = 0;
        }
        if (k == p->n_outer)
            break;
    }
}

static void run_tiles(void *ctx, int64_t begin, int64_t end)
{
    const copy_plan *p = ctx;
    block_queue queue = {.full = 0};
    for (int64_t t = begin; t < end; t++)
        run_tile(p, &queue, t);
    if (queue.full)
        run_block(p, &queue.held);
    if (p->streamed)
        p->loops->fence();
}

static void plan_kernels(copy_plan *p)
{
    int src = log2_size(p->src_size), dst = log2_size(p->dst_size);
    int staged = p->cast || p->streamed;
    int tiles = p->transposed && p->src_step[p->row] == p->src_size;
    p->move = tiles && (staged || p->dst_step[p->col] == p->dst_size) ? p->loops->transpose[src]
                                                                      : p->loops->rows[src];
    p->scatter = p->loops->rows[dst];
    p->whole = NULL;
    if (!staged)
        p->whole = p->move;
    else if (!p->cast && tiles)
        p->whole = p->loops->transpose_stream[src];
}

void cpu_copy_strided(const ndp_view *out, int32_t src_dtype, const char *src,
                      const int64_t *src_stride)
{
    copy_plan p;
    p.loops = cpu_copy_level();
    p.src_size = (int)ndp_dtype_size(src_dtype);
    p.dst_size = (int)ndp_dtype_size(out->dtype);
    p.dst = cpu_ptr(out);
    p.src = src;
    p.cast = src_dtype == out->dtype ? NULL : p.loops->cast[src_dtype][out->dtype];
    if (!plan_dimensions(&p, out, src_stride))
        return;
    plan_merge(&p);
    plan_tiles(&p);
    plan_kernels(&p);
    int64_t wide = p.src_size > p.dst_size ? p.src_size : p.dst_size;
    cpu_parallel(p.tiles, CHUNK_BYTES / (p.tile_size * wide) + 1, run_tiles, &p);
}
