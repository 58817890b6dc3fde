/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * searchsorted: insertion positions into a sorted row. */
#include "math/half.h"
#include "sort/sort.h"
#include "walk/walk.h"

#define SEARCH_BATCH 16
typedef struct search_job search_job;
typedef void search_fn(const search_job *w, const char *values, int64_t value_stride, int64_t m,
                       int64_t *out, int64_t out_stride);
struct search_job {
    const char *sorted, *values;
    int64_t *out;
    int64_t stride, n, nbytes;
    int64_t row, value_stride, out_stride; /* the innermost dimension of values and out */
    int right;
    cpu_walk outer;
    search_fn *search;
};

#define SAME(x) (x)
#define TRUE(x) ((x) != 0) /* any byte but 0 */
#define T uint8_t
#define C uint8_t
#define VALUE TRUE
#define FLOATING 0
#define FN(name) name##_bool
#include "index/search_tmpl.h"
#define T int8_t
#define C int8_t
#define VALUE SAME
#define FLOATING 0
#define FN(name) name##_i8
#include "index/search_tmpl.h"
#define T int16_t
#define C int16_t
#define VALUE SAME
#define FLOATING 0
#define FN(name) name##_i16
#include "index/search_tmpl.h"
#define T int32_t
#define C int32_t
#define VALUE SAME
#define FLOATING 0
#define FN(name) name##_i32
#include "index/search_tmpl.h"
#define T int64_t
#define C int64_t
#define VALUE SAME
#define FLOATING 0
#define FN(name) name##_i64
#include "index/search_tmpl.h"
#define T uint8_t
#define C uint8_t
#define VALUE SAME
#define FLOATING 0
#define FN(name) name##_u8
#include "index/search_tmpl.h"
#define T uint16_t
#define C uint16_t
#define VALUE SAME
#define FLOATING 0
#define FN(name) name##_u16
#include "index/search_tmpl.h"
#define T uint32_t
#define C uint32_t
#define VALUE SAME
#define FLOATING 0
#define FN(name) name##_u32
#include "index/search_tmpl.h"
#define T uint64_t
#define C uint64_t
#define VALUE SAME
#define FLOATING 0
#define FN(name) name##_u64
#include "index/search_tmpl.h"
#define T uint16_t
#define C float
#define VALUE cpu_f16_to_f32
#define FLOATING 1
#define FN(name) name##_f16
#include "index/search_tmpl.h"
#define T uint16_t
#define C float
#define VALUE cpu_bf16_to_f32
#define FLOATING 1
#define FN(name) name##_bf16
#include "index/search_tmpl.h"
#define T float
#define C float
#define VALUE SAME
#define FLOATING 1
#define FN(name) name##_f32
#include "index/search_tmpl.h"
#define T double
#define C double
#define VALUE SAME
#define FLOATING 1
#define FN(name) name##_f64
#include "index/search_tmpl.h"

static search_fn *const searches[NDP_DTYPE_END] = {
    [NDP_BOOL] = search_bool, [NDP_I8] = search_i8,     [NDP_I16] = search_i16,
    [NDP_I32] = search_i32,   [NDP_I64] = search_i64,   [NDP_U8] = search_u8,
    [NDP_U16] = search_u16,   [NDP_U32] = search_u32,   [NDP_U64] = search_u64,
    [NDP_F16] = search_f16,   [NDP_BF16] = search_bf16, [NDP_F32] = search_f32,
    [NDP_F64] = search_f64,
};

/* Positions begin to end-1 of values in C order. */
static void search_chunk(void *ctx, int64_t begin, int64_t end)
{
    const search_job *w = ctx;
    cpu_place c;
    int64_t i = begin % w->row;
    cpu_place_seek(&c, &w->outer, begin / w->row);
    for (; begin < end; i = 0) {
        int64_t n = w->row - i < end - begin ? w->row - i : end - begin;
        w->search(w, w->values + (c.offset[0] + i * w->value_stride) * w->nbytes, w->value_stride,
                  n, w->out + c.offset[1] + i * w->out_stride, w->out_stride);
        cpu_place_step(&c, 1);
        begin += n;
    }
}

static int32_t run(const ndp_kernel *kernel, ndp_stream *s, const ndp_call *call)
{
    (void)kernel;
    (void)s;
    const ndp_view *sorted = &call->in[0], *values = &call->in[1], *out = &call->out[0];
    const ndp_view *both[2] = {values, out};
    int64_t size = ndp_view_size(out), element[2], row_stride[CPU_WALK_OPERANDS];
    if (size == 0)
        return NDP_OK;
    search_job w = {.n = sorted->shape[0], .stride = sorted->stride[0]};
    w.sorted = w.n > 0 ? cpu_ptr(sorted) : NULL;
    w.nbytes = ndp_dtype_size(sorted->dtype);
    w.right = ((const ndp_search *)call->params)->right != 0;
    w.out = (int64_t *)cpu_ptr(out);
    w.search = searches[sorted->dtype];
    cpu_walk_views(&w.outer, 2, both, 0, out->ndim);
    w.row = cpu_walk_pop(&w.outer, row_stride);
    w.value_stride = row_stride[0];
    w.out_stride = row_stride[1];
    if (values->mem)
        w.values = cpu_ptr(values);
    else { /* strides of a scalar are 0 */
        cpu_store_scalar(&call->scalar[values->offset_bytes], element);
        w.values = (const char *)element;
    }
    cpu_parallel(size, 4096, search_chunk, &w);
    return NDP_OK;
}

static const ndp_kernel the_kernel = {
    .size = sizeof(ndp_kernel), .max_ndim = NDP_MAX_NDIM, .run = run};

static const ndp_kernel *find(const ndp_call *like, char *why, size_t n)
{
    (void)like;
    (void)why;
    (void)n;
    return &the_kernel;
}

const cpu_class cpu_search = {cpu_domain_dtypes, find};
