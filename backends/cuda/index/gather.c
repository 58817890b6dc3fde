/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * take and gather: which kernel, and its parameters. */
#include "index/gather.h"
#include <stdio.h>
#include "host/backend.h"
#include "walk/plan.h"

/* Functions 0 to 4: by log2 of the element. */
enum { GATHER_ROWS = 5, GATHER_WARPS, GATHER_FAR, GATHER_LONG_ROW = 512, GATHER_SHORT_ROW = 16 };
/* Elements of a table that no cache holds, and of indices that are worth an order. */
enum { FAR_TABLE = 1 << 25, FAR_INDICES = 1 << 22 };

/* A call with the innermost dimension perhaps seen as wider elements. */
typedef struct {
    int64_t row, nbytes; /* extent of the innermost dimension; of an element */
    int64_t scale;       /* how many elements one of these is */
    int wide;            /* the innermost dimension is of dense rows with one index each */
} element_view;

static int64_t at_stride(const ndp_call *call, int d)
{
    int axis = ((const ndp_index *)call->params)->axis;
    const ndp_view *at = &call->in[1];
    if (call->op == NDP_OP_take)
        return d == axis ? at->stride[0] : 0;
    return at->stride[d];
}

/* The widest element that all addresses and strides allow. */
static element_view widen(const ndp_call *call)
{
    const ndp_view *table = &call->in[0], *out = &call->out[0];
    int last = out->ndim - 1, axis = ((const ndp_index *)call->params)->axis;
    element_view e = {.nbytes = ndp_dtype_size(out->dtype), .scale = 1};
    e.row = out->shape[last];
    if (last == axis || table->stride[last] != 1 || out->stride[last] != 1 ||
        at_stride(call, last) != 0)
        return e;
    uint64_t bits = cuda_ptr(table) | cuda_ptr(out) | (uint64_t)(e.row * e.nbytes) | 16;
    for (int d = 0; d < last; d++)
        bits |= (uint64_t)(table->stride[d] * e.nbytes) | (uint64_t)(out->stride[d] * e.nbytes);
    e.wide = 1;
    e.scale = (int64_t)(bits & (0 - bits)) / e.nbytes;
    e.scale = e.scale > 1 ? e.scale : 1;
    e.row /= e.scale;
    e.nbytes *= e.scale;
    return e;
}

static void set_walk(gather_params *p, const ndp_call *call, const element_view *e, int rows)
{
    const ndp_view *table = &call->in[0], *out = &call->out[0];
    int axis = ((const ndp_index *)call->params)->axis, last = out->ndim - 1;
    cuda_walk_begin(&p->walk);
    for (int d = last - rows; d >= 0; d--) {
        int at = cuda_walk_add(&p->walk, d == last ? e->row : out->shape[d]);
        int64_t scale = d == last && e->wide ? 1 : e->scale;
        p->value_stride[at] = out->stride[d] / scale;
        p->table_stride[at] = d == axis ? 0 : table->stride[d] / scale;
        p->at_stride[at] = at_stride(call, d);
    }
    cuda_walk_end(&p->walk);
    p->axis_stride = table->stride[axis] / e->scale;
}

/* Dense elements of 4 bytes from a dense table, by dense indices. */
static int is_far(const cuda_kernel *k, const gather_params *p, const element_view *e)
{
    return e->nbytes == 4 && p->walk.ndim == 1 && p->walk.size >= FAR_INDICES &&
           p->extent >= FAR_TABLE && p->extent < UINT32_MAX && p->axis_stride == 1 &&
           p->value_stride[0] == 1 && p->table_stride[0] == 0 && p->at_stride[0] == 1 &&
           k->dev->shared_most >= GATHER_FAR_BYTES;
}

static int32_t run_far(const cuda_kernel *k, ndp_stream *s, gather_params *p)
{
    const uint64_t tiles = (p->walk.size + GATHER_FAR_TILE - 1) / GATHER_FAR_TILE;
    const uint64_t most = (uint64_t)k->dev->sm_count;
    while ((p->extent - 1) >> p->far_shift >= GATHER_FAR_BINS)
        p->far_shift++;
    return cuda_launch(k, k->function[GATHER_FAR], s, (uint32_t)(tiles < most ? tiles : most),
                       GATHER_FAR_THREADS, GATHER_FAR_BYTES, p);
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    if (ndp_view_size(call->out) == 0)
        return NDP_OK;
    int axis = ((const ndp_index *)call->params)->axis;
    element_view e = widen(call);
    gather_params p = {.value = cuda_ptr(call->out),
                       .table = cuda_ptr(&call->in[0]),
                       .at = cuda_ptr(&call->in[1]),
                       .status = call->status.mem ? cuda_ptr(&call->status) : 0,
                       .extent = call->in[0].shape[axis],
                       .row = e.row,
                       .op = call->op};
    int64_t block = GATHER_ROW_THREADS * GATHER_ROW_VECTORS, pieces = (e.row + block - 1) / block;
    if (e.wide && e.nbytes == 16 && e.row >= GATHER_LONG_ROW) {
        set_walk(&p, call, &e, 1);
        if (pieces < INT32_MAX && p.walk.size * (uint64_t)pieces < INT32_MAX) {
            p.pieces = (uint32_t)pieces;
            return cuda_launch(k, k->function[GATHER_ROWS], s, (uint32_t)p.walk.size * p.pieces,
                               GATHER_ROW_THREADS, 0, &p);
        }
    }
    if (e.wide && e.nbytes == 16 && e.row >= GATHER_SHORT_ROW) {
        int64_t rows = GATHER_ROW_THREADS / 32 * GATHER_WARP_ROWS;
        set_walk(&p, call, &e, 1);
        int64_t row_blocks = ((int64_t)p.walk.size + rows - 1) / rows;
        if (row_blocks < INT32_MAX)
            return cuda_launch(k, k->function[GATHER_WARPS], s, (uint32_t)row_blocks,
                               GATHER_ROW_THREADS, 0, &p);
    }
    set_walk(&p, call, &e, 0);
    if (is_far(k, &p, &e))
        return run_far(k, s, &p);
    uint64_t blocks = (p.walk.size / 4 + CUDA_THREADS) / CUDA_THREADS;
    return cuda_launch(k, k->function[__builtin_ctzll((uint64_t)e.nbytes)], s,
                       (uint32_t)(blocks < 1 << 20 ? blocks : 1 << 20), CUDA_THREADS, 0, &p);
}

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    static const char *const names[] = {"gather_1",  "gather_2",    "gather_4",     "gather_8",
                                        "gather_16", "gather_rows", "gather_warps", "gather_far"};
    int32_t status = NDP_OK;
    (void)like;
    k->base.run = run;
    for (int i = 0; i <= GATHER_FAR && status == NDP_OK; i++)
        status = cuda_function(k->dev, CUDA_MODULE_gather_ANY, names[i], &k->function[i]);
    if (status == NDP_OK && k->dev->shared_most >= GATHER_FAR_BYTES)
        status = cuda_fail(cu.cuFuncSetAttribute(k->function[GATHER_FAR],
                                                 CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                 GATHER_FAR_BYTES),
                           "shared memory for %s", names[GATHER_FAR]);
    return status;
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    (void)why;
    (void)n;
    return cuda_kernel_get(dev, like, 0, make, out);
}

const cuda_class cuda_gather = {.dtypes = cuda_domain_dtypes, .find = find};
