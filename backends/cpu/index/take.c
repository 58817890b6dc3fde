/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * take and gather: elements are moved by their size, whatever their dtype. */
#include <string.h>
#include "index/index.h"

/* One run of the inner loop; strides in elements. */
typedef struct {
    int64_t n, extent, table_axis, table, at, value;
} index_run;
typedef void move_fn(char *value, const char *table, const int64_t *at, const index_run *r);

/* Elements are seen as integers here and as floats elsewhere. */
#define MOVED __attribute__((may_alias))
typedef uint8_t MOVED move_1;
typedef uint16_t MOVED move_2;
typedef uint32_t MOVED move_4;
typedef uint64_t MOVED move_8;
typedef struct MOVED {
    uint64_t part[2];
} move_16;

#define T move_1
#define FN(name) name##_1
#include "index/take_tmpl.h"
#define T move_2
#define FN(name) name##_2
#include "index/take_tmpl.h"
#define T move_4
#define FN(name) name##_4
#include "index/take_tmpl.h"
#define T move_8
#define FN(name) name##_8
#include "index/take_tmpl.h"
#define T move_16
#define FN(name) name##_16
#include "index/take_tmpl.h"

static move_fn *const gathers[17] = {
    [1] = gather_1, [2] = gather_2, [4] = gather_4, [8] = gather_8, [16] = gather_16};
static move_fn *const copies[17] = {
    [1] = copy_1, [2] = copy_2, [4] = copy_4, [8] = copy_8, [16] = copy_16};

/* Bytes moved by a chunk of work, and by a piece of a long row. */
#define CHUNK_NBYTES (int64_t)(256 << 10)
#define AHEAD 8

typedef struct {
    const index_plan *p;
    int64_t pieces, piece; /* a row is cut in pieces of so many elements */
    int along_axis, dense;
    move_fn *gather, *copy;
} job;

static void prefetch_row(const char *row, int64_t nbytes)
{
    /* The hardware follows a stream once it has begun; its first lines are asked for here. */
    for (int64_t at = 0; at < nbytes && at < 512; at += 64)
        __builtin_prefetch(row + at);
}

/* Rows at positions j to end-1 of one lane, with the same index along the whole row. */
static void copy_rows(const job *w, const int64_t offset[3], int64_t n, int64_t j, int64_t end)
{
    const index_plan *p = w->p;
    index_run r = {n, p->extent, 0, p->row_stride[INDEX_TABLE], 0, p->row_stride[INDEX_VALUE]};
    const int64_t *at = p->at + offset[INDEX_AT];
    int64_t at_step = p->axis_stride[INDEX_AT], nbytes = n * p->nbytes;
    int64_t step = p->axis_stride[INDEX_TABLE] * p->nbytes;
    const char *table = p->table + offset[INDEX_TABLE] * p->nbytes;
    char *value = p->value + offset[INDEX_VALUE] * p->nbytes;
    for (; j < end; j++) {
        const char *from = table + index_wrap(at[j * at_step], p->extent) * step;
        char *to = value + j * p->axis_stride[INDEX_VALUE] * p->nbytes;
        if (j + AHEAD < end && nbytes >= 64)
            prefetch_row(table + index_wrap(at[(j + AHEAD) * at_step], p->extent) * step, nbytes);
        if (w->dense)
            memcpy(to, from, (size_t)nbytes);
        else
            w->copy(to, from, at, &r);
    }
}

static void gather_rows(const job *w, const int64_t offset[3], int64_t n, int64_t j, int64_t end)
{
    const index_plan *p = w->p;
    const int64_t *s = p->row_stride, *a = p->axis_stride;
    index_run r = {n, p->extent, a[INDEX_TABLE], s[INDEX_TABLE], s[INDEX_AT], s[INDEX_VALUE]};
    for (; j < end; j++)
        w->gather(p->value + (offset[INDEX_VALUE] + j * a[INDEX_VALUE]) * p->nbytes,
                  p->table + offset[INDEX_TABLE] * p->nbytes,
                  p->at + offset[INDEX_AT] + j * a[INDEX_AT], &r);
}

static void gather_along_axis(const job *w, const int64_t offset[3], int64_t j, int64_t end)
{
    const index_plan *p = w->p;
    const int64_t *a = p->axis_stride;
    index_run r = {end - j, p->extent, a[INDEX_TABLE], 0, a[INDEX_AT], a[INDEX_VALUE]};
    w->gather(p->value + (offset[INDEX_VALUE] + j * a[INDEX_VALUE]) * p->nbytes,
              p->table + offset[INDEX_TABLE] * p->nbytes,
              p->at + offset[INDEX_AT] + j * a[INDEX_AT], &r);
}

/* Units are (outer, piece, j) in C order. */
static void move(void *ctx, int64_t begin, int64_t end)
{
    const job *w = ctx;
    const index_plan *p = w->p;
    cpu_place place;
    int64_t lane = begin / p->k, j = begin % p->k, piece = lane % w->pieces;
    cpu_place_seek(&place, &p->outer, lane / w->pieces);
    while (begin < end) {
        int64_t stop = p->k - j < end - begin ? p->k : j + end - begin;
        int64_t first = piece * w->piece;
        int64_t n = p->row - first < w->piece ? p->row - first : w->piece, offset[3];
        for (int o = 0; o < 3; o++)
            offset[o] = place.offset[o] + first * p->row_stride[o];
        if (w->along_axis)
            gather_along_axis(w, offset, j, stop);
        else if (p->row_stride[INDEX_AT] == 0)
            copy_rows(w, offset, n, j, stop);
        else
            gather_rows(w, offset, n, j, stop);
        begin += stop - j;
        j = 0;
        if (++piece == w->pieces) {
            piece = 0;
            cpu_place_step(&place, 1);
        }
    }
}

static int32_t run(const ndp_kernel *kernel, ndp_stream *s, const ndp_call *call)
{
    (void)kernel;
    (void)s;
    int axis = ((const ndp_index *)call->params)->axis;
    index_plan p;
    int32_t status = index_check(call, &call->in[1], call->in[0].shape[axis]);
    if (status != NDP_OK || ndp_view_size(&call->out[0]) == 0)
        return status;
    index_plan_make(&p, axis, &call->in[0], &call->in[1], &call->out[0], INDEX_VALUE);
    job w = {.p = &p, .gather = gathers[p.nbytes], .copy = copies[p.nbytes]};
    w.along_axis = p.row == 1;
    w.dense = p.row_stride[INDEX_TABLE] == 1 && p.row_stride[INDEX_VALUE] == 1;
    w.piece = p.row * p.nbytes > 2 * CHUNK_NBYTES ? CHUNK_NBYTES / p.nbytes : p.row;
    w.pieces = (p.row + w.piece - 1) / w.piece;
    int64_t grain = 1 + CHUNK_NBYTES / (w.piece * (p.nbytes + 8));
    cpu_parallel(p.outer.size * w.pieces * p.k, grain, move, &w);
    return NDP_OK;
}

const ndp_kernel index_take_kernel = {
    .size = sizeof(ndp_kernel), .max_ndim = NDP_MAX_NDIM, .run = run};
const ndp_kernel index_gather_kernel = {
    .size = sizeof(ndp_kernel), .max_ndim = NDP_MAX_NDIM, .run = run};
