/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * scatter: a destination updated in place at positions read from an array.
 *
 * Elements that meet lie in one lane (the same place in all dimensions but the axis), and a lane is
 * walked in order by one thread; so the result has the same bits for any number of threads. */
#include "math/half.h"
#include "index/index.h"

/* One run of the inner loop; strides in elements. */
typedef struct {
    int64_t n, extent, table_axis, table, at, value;
} index_run;
typedef void update_fn(char *table, const char *value, const int64_t *at, const index_run *r);
typedef struct {
    update_fn *scatter, *row; /* indices that differ from element to element; one for the row */
} updater;

#define SET(old, new) (new)
#define SAME(x) (x)
#define BYTES __attribute__((may_alias))
typedef uint8_t BYTES bytes_1;
typedef uint16_t BYTES bytes_2;
typedef uint32_t BYTES bytes_4;
typedef uint64_t BYTES bytes_8;
typedef struct BYTES {
    uint64_t part[2];
} bytes_16;
typedef struct {
    float re, im;
} complex_f32;
typedef struct {
    double re, im;
} complex_f64;

static inline complex_f32 add_c64(complex_f32 a, complex_f32 b)
{
    return (complex_f32){a.re + b.re, a.im + b.im};
}
static inline complex_f64 add_c128(complex_f64 a, complex_f64 b)
{
    return (complex_f64){a.re + b.re, a.im + b.im};
}

#define T bytes_1
#define UPDATE SET
#define FN(name) name##_set_1
#include "index/scatter_loop_tmpl.h"
#undef T
#define T bytes_2
#define UPDATE SET
#define FN(name) name##_set_2
#include "index/scatter_loop_tmpl.h"
#undef T
#define T bytes_4
#define UPDATE SET
#define FN(name) name##_set_4
#include "index/scatter_loop_tmpl.h"
#undef T
#define T bytes_8
#define UPDATE SET
#define FN(name) name##_set_8
#include "index/scatter_loop_tmpl.h"
#undef T
#define T bytes_16
#define UPDATE SET
#define FN(name) name##_set_16
#include "index/scatter_loop_tmpl.h"
#undef T
#define T complex_f32
#define UPDATE add_c64
#define FN(name) name##_add_c64
#include "index/scatter_loop_tmpl.h"
#undef T
#define T complex_f64
#define UPDATE add_c128
#define FN(name) name##_add_c128
#include "index/scatter_loop_tmpl.h"
#undef T

#define TYPE(name) name##_i8
#define T int8_t
#define C int8_t
#define LOAD SAME
#define STORE SAME
#define FLOATING 0
#include "index/scatter_tmpl.h"
#define TYPE(name) name##_i16
#define T int16_t
#define C int16_t
#define LOAD SAME
#define STORE SAME
#define FLOATING 0
#include "index/scatter_tmpl.h"
#define TYPE(name) name##_i32
#define T int32_t
#define C int32_t
#define LOAD SAME
#define STORE SAME
#define FLOATING 0
#include "index/scatter_tmpl.h"
#define TYPE(name) name##_i64
#define T int64_t
#define C int64_t
#define LOAD SAME
#define STORE SAME
#define FLOATING 0
#include "index/scatter_tmpl.h"
#define TYPE(name) name##_u8
#define T uint8_t
#define C uint8_t
#define LOAD SAME
#define STORE SAME
#define FLOATING 0
#include "index/scatter_tmpl.h"
#define TYPE(name) name##_u16
#define T uint16_t
#define C uint16_t
#define LOAD SAME
#define STORE SAME
#define FLOATING 0
#include "index/scatter_tmpl.h"
#define TYPE(name) name##_u32
#define T uint32_t
#define C uint32_t
#define LOAD SAME
#define STORE SAME
#define FLOATING 0
#include "index/scatter_tmpl.h"
#define TYPE(name) name##_u64
#define T uint64_t
#define C uint64_t
#define LOAD SAME
#define STORE SAME
#define FLOATING 0
#include "index/scatter_tmpl.h"
#define TYPE(name) name##_f16
#define T uint16_t
#define C float
#define LOAD cpu_f16_to_f32
#define STORE cpu_f16_from_f32
#define FLOATING 1
#include "index/scatter_tmpl.h"
#define TYPE(name) name##_bf16
#define T uint16_t
#define C float
#define LOAD cpu_bf16_to_f32
#define STORE cpu_bf16_from_f32
#define FLOATING 1
#include "index/scatter_tmpl.h"
#define TYPE(name) name##_f32
#define T float
#define C float
#define LOAD SAME
#define STORE SAME
#define FLOATING 1
#include "index/scatter_tmpl.h"
#define TYPE(name) name##_f64
#define T double
#define C double
#define LOAD SAME
#define STORE SAME
#define FLOATING 1
#include "index/scatter_tmpl.h"

#define UPDATER(kind)              \
    {                              \
        scatter_##kind, row_##kind \
    }
#define UPDATER_REALS(kind)                                             \
    [NDP_I8] = UPDATER(kind##_i8), [NDP_I16] = UPDATER(kind##_i16),     \
    [NDP_I32] = UPDATER(kind##_i32), [NDP_I64] = UPDATER(kind##_i64),   \
    [NDP_U8] = UPDATER(kind##_u8), [NDP_U16] = UPDATER(kind##_u16),     \
    [NDP_U32] = UPDATER(kind##_u32), [NDP_U64] = UPDATER(kind##_u64),   \
    [NDP_F16] = UPDATER(kind##_f16), [NDP_BF16] = UPDATER(kind##_bf16), \
    [NDP_F32] = UPDATER(kind##_f32), [NDP_F64] = UPDATER(kind##_f64)
static const updater sets[17] = {[1] = UPDATER(set_1),
                                 [2] = UPDATER(set_2),
                                 [4] = UPDATER(set_4),
                                 [8] = UPDATER(set_8),
                                 [16] = UPDATER(set_16)};
static const updater adds[NDP_DTYPE_END] = {
    UPDATER_REALS(add), [NDP_C64] = UPDATER(add_c64), [NDP_C128] = UPDATER(add_c128)};
static const updater mins[NDP_DTYPE_END] = {UPDATER_REALS(min), [NDP_BOOL] = UPDATER(min_u8)};
static const updater maxs[NDP_DTYPE_END] = {UPDATER_REALS(max), [NDP_BOOL] = UPDATER(max_u8)};

typedef struct {
    const index_plan *p;
    int64_t pieces, piece; /* a row is cut in pieces of so many elements */
    updater with;
} job;

/* One piece of a row (or a single lane), all positions in order. */
static void update_lanes(const job *w, const int64_t offset[3], int64_t n)
{
    const index_plan *p = w->p;
    const int64_t *a = p->axis_stride, *s = p->row_stride;
    char *table = p->table + offset[INDEX_TABLE] * p->nbytes;
    const char *value = p->value + offset[INDEX_VALUE] * p->nbytes;
    const int64_t *at = p->at + offset[INDEX_AT];
    int64_t step = a[INDEX_VALUE] * p->nbytes;
    if (p->row == 1) {
        index_run r = {p->k, p->extent, a[INDEX_TABLE], 0, a[INDEX_AT], a[INDEX_VALUE]};
        w->with.scatter(table, value, at, &r);
        return;
    }
    index_run r = {n, p->extent, a[INDEX_TABLE], s[INDEX_TABLE], s[INDEX_AT], s[INDEX_VALUE]};
    for (int64_t j = 0; j < p->k; j++, value += step, at += a[INDEX_AT])
        if (s[INDEX_AT] == 0)
            w->with.row(table + index_wrap(*at, p->extent) * a[INDEX_TABLE] * p->nbytes, value, at,
                        &r);
        else
            w->with.scatter(table, value, at, &r);
}

/* Units are (outer, piece) in C order. */
static void update(void *ctx, int64_t begin, int64_t end)
{
    const job *w = ctx;
    const index_plan *p = w->p;
    cpu_place place;
    int64_t piece = begin % w->pieces;
    cpu_place_seek(&place, &p->outer, begin / w->pieces);
    for (; begin < end; begin++) {
        int64_t first = piece * w->piece, offset[3];
        int64_t n = p->row - first < w->piece ? p->row - first : w->piece;
        for (int o = 0; o < 3; o++)
            offset[o] = place.offset[o] + first * p->row_stride[o];
        update_lanes(w, offset, n);
        if (++piece == w->pieces) {
            piece = 0;
            cpu_place_step(&place, 1);
        }
    }
}

static updater pick(int32_t op, int32_t dtype)
{
    switch (op) {
    case NDP_OP_scatter_add:
        return adds[dtype];
    case NDP_OP_scatter_min:
        return mins[dtype];
    case NDP_OP_scatter_max:
        return maxs[dtype];
    default:
        return sets[ndp_dtype_size(dtype)];
    }
}

static int32_t run(const ndp_kernel *kernel, ndp_stream *s, const ndp_call *call)
{
    (void)kernel;
    (void)s;
    int axis = ((const ndp_index *)call->params)->axis;
    const ndp_view *source = call->in[1].mem ? &call->in[1] : NULL;
    int64_t element[2];
    index_plan p;
    int32_t status = index_check(call, &call->in[0], call->out[0].shape[axis]);
    if (status != NDP_OK || ndp_view_size(&call->in[0]) == 0)
        return status;
    index_plan_make(&p, axis, &call->out[0], &call->in[0], source, INDEX_TABLE);
    if (!source) {
        cpu_store_scalar(&call->scalar[call->in[1].offset_bytes], element);
        p.value = (char *)element;
    }
    job w = {.p = &p, .with = pick(call->op, call->out[0].dtype)};
    /* Pieces of at least a cache line, so that threads do not share lines, and enough work. */
    int64_t piece = 32768 / p.k > 64 ? 32768 / p.k : 64;
    w.piece = piece < p.row ? piece : p.row;
    w.pieces = (p.row + w.piece - 1) / w.piece;
    int64_t lanes = p.outer.size * w.pieces;
    cpu_parallel(lanes, 1 + 32768 / (p.k * w.piece), update, &w);
    return NDP_OK;
}

const ndp_kernel index_scatter_kernel = {
    .size = sizeof(ndp_kernel), .max_ndim = NDP_MAX_NDIM, .run = run};
