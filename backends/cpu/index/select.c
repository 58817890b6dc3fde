/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * compress and nonzero: what is selected depends on the data. Two passes over blocks whose size
 * does not depend on the threads: count, then write each block's part where the counts before it
 * say. */
#include <string.h>
#include "index/eights.h"
#include "index/index.h"
#include "index/select.h"

#define SELECTED __attribute__((may_alias))
typedef uint8_t SELECTED u8;
typedef uint16_t SELECTED u16;
typedef uint32_t SELECTED u32;
typedef uint64_t SELECTED u64;
typedef struct SELECTED {
    uint64_t re, im;
} u128;

/* Floating elements are nonzero when a bit other than the sign is set: NaN is, -0 is not. */
#define ANY(x) ((x) != 0)
#define ANY_F16(x) (((x)&0x7fffu) != 0)
#define ANY_F8(x) (((x)&0x7fu) != 0)
#define ANY_F32(x) (((x)&0x7fffffffu) != 0)
#define ANY_F64(x) (((x)&INT64_MAX) != 0)
#define ANY_C64(x) (((x)&0x7fffffff7fffffffu) != 0)
#define ANY_C128(x) ((((x).re | (x).im) & INT64_MAX) != 0)

#define TYPE(name) name##_1
#define T u8
#define ACC uint8_t
#define NONZERO ANY
#define MOVES 1
#define BY_EIGHT 1
#include "index/select_tmpl.h"
#define TYPE(name) name##_2
#define T u16
#define ACC uint16_t
#define NONZERO ANY
#define MOVES 1
#include "index/select_tmpl.h"
#define TYPE(name) name##_4
#define T u32
#define ACC uint32_t
#define NONZERO ANY
#define MOVES 1
#include "index/select_tmpl.h"
#define TYPE(name) name##_8
#define T u64
#define ACC uint64_t
#define NONZERO ANY
#define MOVES 1
#include "index/select_tmpl.h"
#define TYPE(name) name##_16
#define T u128
#define ACC uint64_t
#define NONZERO ANY_C128
#define MOVES 1
#include "index/select_tmpl.h"
#define TYPE(name) name##_f8
#define T u8
#define ACC uint8_t
#define NONZERO ANY_F8
#define MOVES 0
#include "index/select_tmpl.h"
#define TYPE(name) name##_f16
#define T u16
#define ACC uint16_t
#define NONZERO ANY_F16
#define MOVES 0
#include "index/select_tmpl.h"
#define TYPE(name) name##_f32
#define T u32
#define ACC uint32_t
#define NONZERO ANY_F32
#define MOVES 0
#include "index/select_tmpl.h"
#define TYPE(name) name##_f64
#define T u64
#define ACC uint64_t
#define NONZERO ANY_F64
#define MOVES 0
#include "index/select_tmpl.h"
#define TYPE(name) name##_c64
#define T u64
#define ACC uint64_t
#define NONZERO ANY_C64
#define MOVES 0
#include "index/select_tmpl.h"

typedef struct {
    int64_t (*count)(const char *a, int64_t stride, int64_t n);
    int64_t (*positions)(const char *a, int64_t stride, int64_t first, int64_t n, int64_t *out,
                         int64_t step, int64_t position, int64_t end);
} tester;

#define TESTER(kind)                   \
    {                                  \
        count_##kind, positions_##kind \
    }
static const tester testers[NDP_DTYPE_END] = {
    [NDP_BOOL] = TESTER(1),     [NDP_I8] = TESTER(1),       [NDP_U8] = TESTER(1),
    [NDP_I16] = TESTER(2),      [NDP_U16] = TESTER(2),      [NDP_I32] = TESTER(4),
    [NDP_U32] = TESTER(4),      [NDP_I64] = TESTER(8),      [NDP_U64] = TESTER(8),
    [NDP_F16] = TESTER(f16),    [NDP_BF16] = TESTER(f16),   [NDP_F32] = TESTER(f32),
    [NDP_F64] = TESTER(f64),    [NDP_C64] = TESTER(c64),    [NDP_C128] = TESTER(16),
    [NDP_F8_E4M3] = TESTER(f8), [NDP_F8_E5M2] = TESTER(f8),
};
static compress_fn *const compresses[17] = {
    [1] = compress_1, [2] = compress_2, [4] = compress_4, [8] = compress_8, [16] = compress_16};

static compress_fn *compress_for(int64_t nbytes, int64_t stride, int64_t mask_stride, int64_t step)
{
    compress_fn *dense = CPU_ISA_PICK(select_dense)->compress[nbytes];
    return dense && stride == 1 && mask_stride == 1 && step == 1 ? dense : compresses[nbytes];
}

#define BLOCK 32768
#define CHUNK_NBYTES (int64_t)(256 << 10)

/* Counts become the positions where blocks begin; returns their sum. */
static int64_t prefix(int64_t *counts, int64_t n)
{
    int64_t sum = 0;
    for (int64_t b = 0; b < n; b++) {
        int64_t here = counts[b];
        counts[b] = sum;
        sum += here;
    }
    return sum;
}

static void set_count(const ndp_call *call, int64_t count)
{
    *(int64_t *)cpu_ptr(&call->out[1]) = count;
}

/* ---- compress ---- */
typedef struct {
    const char *a;
    const uint8_t *mask;
    char *out;
    int64_t n, block, nbytes, mask_stride, stride,
        step; /* stride, step: from row to row, in elements */
    int64_t capacity, total, *starts, blocks;
    cpu_walk inner; /* one row, its last dimension taken off */
    int64_t row, row_stride, row_step;
    compress_fn *compress;
} compress_job;

static void compress_count(void *ctx, int64_t begin, int64_t end)
{
    compress_job *w = ctx;
    for (int64_t b = begin; b < end; b++) {
        int64_t first = b * w->block, n = w->n - first < w->block ? w->n - first : w->block;
        w->starts[b] = count_1((const char *)w->mask + first * w->mask_stride, w->mask_stride, n);
    }
}

static void copy_row(const compress_job *w, int64_t from, int64_t to)
{
    int64_t rows = w->inner.size, size = w->nbytes;
    cpu_place c;
    cpu_place_seek(&c, &w->inner, 0);
    for (int64_t r = 0; r < rows; r++) {
        const char *a = w->a + (from * w->stride + c.offset[0]) * size;
        char *out = w->out + (to * w->step + c.offset[1]) * size;
        if (w->row_stride == 1 && w->row_step == 1)
            memcpy(out, a, (size_t)(w->row * size));
        else /* every element of the row: an always true mask of stride 0 */
            w->compress(a, w->row_stride, (const uint8_t *)"\1", 0, w->row, out, w->row_step, 0,
                        w->row);
        cpu_place_step(&c, 1);
    }
}

static void compress_write(void *ctx, int64_t begin, int64_t end)
{
    compress_job *w = ctx;
    for (int64_t b = begin; b < end; b++) {
        int64_t first = b * w->block, n = w->n - first < w->block ? w->n - first : w->block;
        int64_t position = w->starts[b], stop = b + 1 < w->blocks ? w->starts[b + 1] : w->total;
        stop = stop < w->capacity ? stop : w->capacity;
        const uint8_t *mask = w->mask + first * w->mask_stride;
        if (w->row == 1 && w->inner.size == 1)
            w->compress(w->a + first * w->stride * w->nbytes, w->stride, mask, w->mask_stride, n,
                        w->out, w->step, position, stop);
        else
            for (int64_t i = 0; i < n && position < stop; i++)
                if (mask[i * w->mask_stride])
                    copy_row(w, first + i, position++);
    }
}

/* Returns the number of blocks. Rows in one: about BLOCK elements, or 256 KiB of them, but not
 * below LEAST, so that few rows need no divisions. */
enum { LEAST = 64 };
static int64_t compress_blocks(const ndp_call *call, int64_t *block)
{
    const ndp_view *a = &call->in[0];
    int64_t nbytes = ndp_dtype_size(a->dtype), n = a->shape[0];
    *block = LEAST;
    if (n <= LEAST)
        return n > 0;
    for (int d = 1; d < a->ndim; d++)
        nbytes *= a->shape[d];
    int64_t rows = nbytes > 0 ? CHUNK_NBYTES / nbytes : BLOCK;
    *block = rows > BLOCK ? BLOCK : rows < LEAST ? LEAST : rows;
    return (n + *block - 1) / *block;
}

/* Elements of one dimension, so few that counting and moving them takes less than a plan and its
 * threads would. */
enum { FEW = 4096 };
static int is_few(const ndp_view *a)
{
    return a->ndim == 1 && a->shape[0] > 0 && a->shape[0] <= FEW;
}

static void compress_few(const ndp_call *call)
{
    const ndp_view *a = &call->in[0], *mask = &call->in[1], *out = &call->out[0];
    const int64_t n = a->shape[0], capacity = out->shape[0];
    const uint8_t *at = (const uint8_t *)cpu_ptr(mask);
    const int64_t total = count_1((const char *)at, mask->stride[0], n);
    set_count(call, total);
    compress_fn *compress =
        compress_for(ndp_dtype_size(a->dtype), a->stride[0], mask->stride[0], out->stride[0]);
    compress(cpu_ptr(a), a->stride[0], at, mask->stride[0], n, cpu_ptr(out), out->stride[0], 0,
             total < capacity ? total : capacity);
}

static int32_t compress_run(const ndp_kernel *kernel, ndp_stream *s, const ndp_call *call)
{
    (void)kernel;
    (void)s;
    const ndp_view *a = &call->in[0], *mask = &call->in[1], *out = &call->out[0];
    if (is_few(a)) {
        compress_few(call);
        return NDP_OK;
    }
    const ndp_view *both[2] = {a, out};
    int64_t one, row_stride[CPU_WALK_OPERANDS];
    compress_job w; /* large: what is read of it was written */
    w.n = a->shape[0];
    w.blocks = compress_blocks(call, &w.block);
    w.starts = w.blocks > 1 ? (int64_t *)cpu_ptr(&call->scratch) : &one;
    w.mask_stride = mask->stride[0];
    if (w.n > 0) {
        w.mask = (const uint8_t *)cpu_ptr(mask);
        cpu_parallel(w.blocks, w.blocks > 1 ? 1 + 4 * BLOCK / w.block : 1, compress_count, &w);
    }
    w.total = prefix(w.starts, w.blocks);
    set_count(call, w.total);
    cpu_walk_views(&w.inner, 2, both, 1, a->ndim);
    if (w.total == 0 || out->shape[0] == 0 || w.inner.size == 0)
        return NDP_OK;
    w.a = cpu_ptr(a);
    w.out = cpu_ptr(out);
    w.nbytes = ndp_dtype_size(a->dtype);
    w.stride = a->stride[0];
    w.step = out->stride[0];
    w.capacity = out->shape[0];
    w.row = cpu_walk_pop(&w.inner, row_stride);
    w.compress = w.row == 1 && w.inner.size == 1
                     ? compress_for(w.nbytes, w.stride, w.mask_stride, w.step)
                     : compresses[w.nbytes];
    w.row_stride = row_stride[0];
    w.row_step = row_stride[1];
    cpu_parallel(w.blocks, 1, compress_write, &w);
    return NDP_OK;
}

static uint64_t compress_scratch(const ndp_kernel *kernel, const ndp_call *call)
{
    (void)kernel;
    if (is_few(&call->in[0]))
        return 0;
    int64_t block, blocks = compress_blocks(call, &block);
    return blocks > 1 ? (uint64_t)blocks * 8 : 0;
}

/* ---- nonzero ---- */
typedef struct {
    const char *a;
    int64_t *out;
    int64_t n, row, nbytes, stride, step, coordinate; /* step: from row to row of out */
    int64_t capacity, total, *starts, blocks;
    cpu_walk outer;  /* all dimensions but the last, as they are: their indices are the result */
    int coordinates; /* so many */
    tester with;
} nonzero_job;

static void nonzero_count(void *ctx, int64_t begin, int64_t end)
{
    nonzero_job *w = ctx;
    for (int64_t b = begin; b < end; b++) {
        int64_t at = b * BLOCK, stop = w->n - at < BLOCK ? w->n : at + BLOCK, count = 0;
        cpu_place c;
        cpu_place_seek(&c, &w->outer, at / w->row);
        for (int64_t i = at % w->row; at < stop; i = 0) {
            int64_t n = w->row - i < stop - at ? w->row - i : stop - at;
            count += w->with.count(w->a + (c.offset[0] + i * w->stride) * w->nbytes, w->stride, n);
            cpu_place_step(&c, 1);
            at += n;
        }
        w->starts[b] = count;
    }
}

static void nonzero_write(void *ctx, int64_t begin, int64_t end)
{
    nonzero_job *w = ctx;
    int outer = w->coordinates;
    for (int64_t b = begin; b < end; b++) {
        int64_t at = b * BLOCK, stop = w->n - at < BLOCK ? w->n : at + BLOCK;
        int64_t position = w->starts[b], limit = b + 1 < w->blocks ? w->starts[b + 1] : w->total;
        limit = limit < w->capacity ? limit : w->capacity;
        cpu_place c;
        cpu_place_seek(&c, &w->outer, at / w->row);
        for (int64_t i = at % w->row; at < stop && position < limit; i = 0) {
            int64_t n = w->row - i < stop - at ? w->row - i : stop - at;
            int64_t next =
                w->with.positions(w->a + (c.offset[0] + i * w->stride) * w->nbytes, w->stride, i, n,
                                  w->out + outer * w->coordinate, w->step, position, limit);
            for (int64_t k = position; outer > 0 && k < next; k++)
                for (int d = 0; d < outer; d++)
                    w->out[k * w->step + d * w->coordinate] = c.index[d];
            position = next;
            cpu_place_step(&c, 1);
            at += n;
        }
    }
}

static int32_t nonzero_run(const ndp_kernel *kernel, ndp_stream *s, const ndp_call *call)
{
    (void)kernel;
    (void)s;
    const ndp_view *a = &call->in[0], *out = &call->out[0];
    int64_t one;
    int last = a->ndim - 1;
    nonzero_job w = {.n = ndp_view_size(a), .capacity = out->shape[0]};
    set_count(call, 0);
    if (w.n == 0)
        return NDP_OK;
    w.a = cpu_ptr(a);
    pthread_once(&eights_once, eights_fill);
    w.row = a->shape[last];
    w.stride = a->stride[last];
    w.nbytes = ndp_dtype_size(a->dtype);
    w.with = testers[a->dtype];
    w.coordinates = last;
    cpu_walk_begin(&w.outer, 1);
    for (int d = 0; d < last; d++)
        cpu_walk_append(&w.outer, a->shape[d], &a->stride[d]);
    cpu_walk_fill(&w.outer);
    w.blocks = (w.n + BLOCK - 1) / BLOCK;
    w.starts = w.blocks > 1 ? (int64_t *)cpu_ptr(&call->scratch) : &one;
    cpu_parallel(w.blocks, 2, nonzero_count, &w);
    w.total = prefix(w.starts, w.blocks);
    set_count(call, w.total);
    if (w.total == 0 || w.capacity == 0)
        return NDP_OK;
    w.out = (int64_t *)cpu_ptr(out);
    w.step = out->stride[0];
    w.coordinate = out->stride[1];
    cpu_parallel(w.blocks, 1, nonzero_write, &w);
    return NDP_OK;
}

static uint64_t nonzero_scratch(const ndp_kernel *kernel, const ndp_call *call)
{
    (void)kernel;
    int64_t blocks = (ndp_view_size(&call->in[0]) + BLOCK - 1) / BLOCK;
    return blocks > 1 ? (uint64_t)blocks * 8 : 0;
}

const ndp_kernel select_compress_kernel = {.size = sizeof(ndp_kernel),
                                           .max_ndim = NDP_MAX_NDIM,
                                           .scratch = compress_scratch,
                                           .run = compress_run};
const ndp_kernel select_nonzero_kernel = {.size = sizeof(ndp_kernel),
                                          .max_ndim = NDP_MAX_NDIM,
                                          .scratch = nonzero_scratch,
                                          .run = nonzero_run};
