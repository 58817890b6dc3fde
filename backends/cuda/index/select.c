/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * compress and nonzero: parameters of their kernels. */
#include "index/select.h"
#include <string.h>
#include "host/backend.h"
#include "walk/plan.h"

enum { COUNT, SCAN, WRITE, POSITIONS, ROWS, COUNT_BYTES };
#define STARTS_NBYTES (SELECT_PARTS * 8)

static const struct {
    uint64_t low, high;
} counting_bits[NDP_DTYPE_END] = {
#define ALL 0xffffffffffffffffu
    [NDP_BOOL] = {ALL, 0},
    [NDP_I8] = {ALL, 0},
    [NDP_U8] = {ALL, 0},
    [NDP_I16] = {ALL, 0},
    [NDP_U16] = {ALL, 0},
    [NDP_I32] = {ALL, 0},
    [NDP_U32] = {ALL, 0},
    [NDP_I64] = {ALL, 0},
    [NDP_U64] = {ALL, 0},
    [NDP_F16] = {0x7fff, 0},
    [NDP_BF16] = {0x7fff, 0},
    [NDP_F32] = {0x7fffffff, 0},
    [NDP_F64] = {INT64_MAX, 0},
    [NDP_C64] = {0x7fffffff7fffffffu, 0},
    [NDP_C128] = {INT64_MAX, INT64_MAX},
};

static int32_t launch(const cuda_kernel *k, int function, ndp_stream *s, uint32_t blocks,
                      uint32_t threads, void *params)
{
    return blocks == 0 ? NDP_OK
                       : cuda_launch(k, k->function[function], s, blocks, threads, 0, params);
}

static uint64_t tiles_of(uint64_t n)
{
    return (n + SELECT_TILE - 1) / SELECT_TILE;
}

/* What both have: the tested array, where its parts begin and the count. */
static void set_tested(select_params *p, const ndp_call *call, const ndp_view *tested)
{
    memset(p, 0, sizeof *p);
    cuda_walk_begin(&p->walk);
    for (int d = tested->ndim - 1; d >= 0; d--)
        p->tested_stride[cuda_walk_add(&p->walk, tested->shape[d])] = tested->stride[d];
    cuda_walk_end(&p->walk);
    p->tested = p->walk.size > 0 ? cuda_ptr(tested) : 0;
    p->low_bits = counting_bits[tested->dtype].low;
    p->high_bits = counting_bits[tested->dtype].high;
    p->nbytes = (int32_t)ndp_dtype_size(tested->dtype);
    p->dense_bytes =
        p->nbytes == 1 && p->walk.ndim == 1 && p->tested_stride[0] == 1 && p->tested % 16 == 0;
    p->dense_words = p->nbytes == 4 && p->walk.ndim == 1 && p->tested_stride[0] == 1;
    const uint64_t part = (p->walk.size + SELECT_PARTS - 1) / SELECT_PARTS;
    p->per_part = tiles_of(part) * SELECT_TILE;
    p->parts = p->walk.size ? (p->walk.size + p->per_part - 1) / p->per_part : 0;
    p->tiles = tiles_of(p->walk.size);
    p->starts = cuda_ptr(&call->scratch);
    p->bits = p->starts + STARTS_NBYTES;
    p->count = cuda_ptr(&call->out[1]);
    p->capacity = call->out[0].shape[0];
}

/* Whether an earlier call has left counts and bits in the scratch memory. */
static int was_counted(const ndp_call *call)
{
    const ndp_select *params = call->params;
    return params && params->counted;
}

static int32_t count(const cuda_kernel *k, ndp_stream *s, select_params *p, int function)
{
    int32_t status = launch(k, function, s, (uint32_t)p->parts, SELECT_THREADS, p);
    return status == NDP_OK ? launch(k, SCAN, s, 1, SELECT_SCAN_THREADS, p) : status;
}

/* ---- nonzero ---- */
static int32_t run_nonzero(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    const ndp_view *out = &call->out[0];
    select_params p;
    set_tested(&p, call, &call->in[0]);
    /* Bytes in a line are tested as a mask is, and their places are the results. */
    int bytes = p.dense_bytes && out->stride[0] == 1;
    int32_t status = was_counted(call) ? NDP_OK : count(k, s, &p, bytes ? COUNT_BYTES : COUNT);
    if (status != NDP_OK || p.parts == 0 || p.capacity == 0)
        return status;
    p.out = cuda_ptr(out);
    p.out_stride = out->stride[0];
    p.coordinate_stride = out->stride[1];
    return launch(k, bytes ? POSITIONS : WRITE, s, (uint32_t)p.parts, SELECT_THREADS, &p);
}

/* ---- compress ---- */
static int64_t row_size(const ndp_call *call)
{
    int64_t size = 1;
    for (int d = 1; d < call->in[0].ndim; d++)
        size *= call->in[0].shape[d];
    return size;
}

/* The bits of what is tested: the positions of rows lie behind them. */
static uint64_t bits_nbytes(const ndp_call *call)
{
    const ndp_view *tested = &call->in[call->op == NDP_OP_compress];
    return tiles_of((uint64_t)ndp_view_size(tested)) * (SELECT_TILE / 8);
}

static int64_t most_rows(const ndp_call *call)
{
    int64_t n = call->in[0].shape[0], capacity = call->out[0].shape[0];
    return n < capacity ? n : capacity;
}

static int32_t copy_rows(const cuda_kernel *k, ndp_stream *s, const ndp_call *call,
                         uint64_t positions)
{
    const ndp_view *a = &call->in[0], *out = &call->out[0];
    select_rows_params p = {.a = cuda_ptr(a),
                            .out = cuda_ptr(out),
                            .positions = positions,
                            .count = cuda_ptr(&call->out[1]),
                            .capacity = out->shape[0],
                            .a_step = a->stride[0],
                            .out_step = out->stride[0],
                            .nbytes = (int32_t)ndp_dtype_size(a->dtype)};
    cuda_walk_begin(&p.row);
    for (int d = a->ndim - 1; d > 0; d--) {
        int at = cuda_walk_add(&p.row, a->shape[d]);
        p.a_stride[at] = a->stride[d];
        p.out_stride[at] = out->stride[d];
    }
    cuda_walk_end(&p.row);
    uint64_t items = (uint64_t)most_rows(call) * p.row.size;
    uint64_t blocks = (items + CUDA_THREADS - 1) / CUDA_THREADS;
    return launch(k, ROWS, s, (uint32_t)(blocks < 1 << 20 ? blocks : 1 << 20), CUDA_THREADS, &p);
}

static int32_t run_compress(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    const ndp_view *a = &call->in[0], *out = &call->out[0];
    select_params p;
    set_tested(&p, call, &call->in[1]);
    int32_t status = was_counted(call) ? NDP_OK : count(k, s, &p, COUNT);
    int64_t row = row_size(call);
    if (status != NDP_OK || p.parts == 0 || p.capacity == 0 || row == 0)
        return status;
    if (row == 1) {
        p.a = cuda_ptr(a);
        p.out = cuda_ptr(out);
        p.a_stride = a->stride[0];
        p.out_stride = out->stride[0];
        return launch(k, WRITE, s, (uint32_t)p.parts, SELECT_THREADS, &p);
    }
    p.out = cuda_ptr(&call->scratch) + STARTS_NBYTES + bits_nbytes(call);
    status = launch(k, POSITIONS, s, (uint32_t)p.parts, SELECT_THREADS, &p);
    return status == NDP_OK ? copy_rows(k, s, call, p.out) : status;
}

static uint64_t scratch(const ndp_kernel *base, const ndp_call *call)
{
    (void)base;
    uint64_t positions = 0;
    if (call->op == NDP_OP_compress && row_size(call) > 1)
        positions = (uint64_t)most_rows(call) * 8;
    return STARTS_NBYTES + bits_nbytes(call) + positions;
}

static const char *writer(const ndp_call *like)
{
    if (like->op == NDP_OP_nonzero)
        return "select_positions";
    switch (ndp_dtype_size(like->in[0].dtype)) {
    case 1:
        return "compress_1";
    case 2:
        return "compress_2";
    case 4:
        return "compress_4";
    case 8:
        return "compress_8";
    default:
        return "compress_16";
    }
}

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    int nonzero = like->op == NDP_OP_nonzero;
    const char *const names[] = {nonzero ? "select_count" : "select_count_mask",
                                 "select_scan",
                                 writer(like),
                                 "select_mask_positions",
                                 "compress_rows",
                                 "select_count_mask"};
    int32_t status = NDP_OK;
    k->base.run = nonzero ? run_nonzero : run_compress;
    k->base.scratch = scratch;
    k->base.flags = NDP_KERNEL_KEEPS_COUNTS;
    for (int i = COUNT; i <= COUNT_BYTES && status == NDP_OK; i++)
        status = cuda_function(k->dev, CUDA_MODULE_select_ANY, names[i], &k->function[i]);
    return status;
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    (void)why;
    (void)n;
    return cuda_kernel_get(dev, like, 0, make, out);
}

const cuda_class cuda_select = {.dtypes = cuda_domain_dtypes, .find = find};
