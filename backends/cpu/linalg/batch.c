/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The matrices of one call: their slots in the scratch memory, the threads that take them, and what
 * is said of those that fail. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "copy/copy.h"
#include "linalg/lapack.h"

#define LIN_ALONE_WORK 4e6     /* multiply-adds from which all threads work on one matrix */
#define LIN_MOVE_ELEMENTS 4096 /* from here on copies go by the kernels of copies */

int32_t lin_type_of(int32_t dtype)
{
    switch (dtype) {
    case NDP_F16:
    case NDP_BF16:
    case NDP_F32:
        return LIN_F32;
    case NDP_F64:
        return LIN_F64;
    case NDP_C64:
        return LIN_C64;
    case NDP_C128:
        return LIN_C128;
    default:
        return -1;
    }
}

static int32_t dtype_of_type(int32_t type)
{
    static const int32_t dtypes[LIN_DTYPES] = {NDP_F32, NDP_F64, NDP_C64, NDP_C128};
    return dtypes[type];
}

/* ---- the plan ---- */

void lin_begin(lin_call *c, const ndp_call *call, int check)
{
    memset(c, 0, sizeof *c);
    c->call = call;
    c->check = check;
    c->x.type = lin_type_of(call->in[0].dtype);
    c->x.size = ndp_dtype_size(dtype_of_type(c->x.type));
    c->x.real = c->x.type == LIN_F32 || c->x.type == LIN_C64 ? 4 : 8;
    c->x.leaf = &(*CPU_ISA_PICK(cpu_linalg_leaves))[c->x.type];
    c->x.mm = mm_kernels_for(dtype_of_type(c->x.type), dtype_of_type(c->x.type));
    c->count = call->out[0].shape[0];
}

int64_t lin_take_bytes(lin_call *c, int64_t nbytes)
{
    const int64_t at = c->slot_bytes;
    c->slot_bytes += mm_round_up(nbytes, 64);
    return at;
}

int64_t lin_take(lin_call *c, int64_t elements)
{
    return lin_take_bytes(c, elements * c->x.size);
}

void lin_take_product(lin_call *c, int64_t rows, int64_t columns, int64_t depth)
{
    const int64_t nbytes = lin_product_bytes(&c->x, rows, columns, depth);
    if (nbytes > c->product_bytes)
        c->product_bytes = nbytes;
}

/* One after the other, by all threads each. */
static int is_serial(const lin_call *c)
{
    return c->count == 1 || c->work >= LIN_ALONE_WORK;
}

static int64_t slots_of(const lin_call *c)
{
    return is_serial(c) || c->count == 1 ? 1 : cpu_threads();
}

static uint64_t scratch_bytes(const lin_call *c)
{
    const int64_t slots = slots_of(c);
    return (uint64_t)(mm_round_up(c->count * 8, 64) + mm_round_up(slots, 64) +
                      slots * (c->slot_bytes + c->product_bytes));
}

/* ---- the run ---- */

static void run_items(void *ctx, int64_t begin, int64_t end)
{
    lin_call *c = ctx;
    int32_t s = 0;
    while (atomic_exchange_explicit(&c->busy[s], 1, memory_order_acquire))
        s = s + 1 < c->n_slots ? s + 1 : 0;
    char *slot = c->slots + s * (c->slot_bytes + c->product_bytes);
    lin_context x = c->x;
    x.work = slot + c->slot_bytes;
    const int before = c->lapack ? lin_lapack_enter(is_serial(c)) : 0;
    for (int64_t i = begin; i < end; i++)
        c->failures[i] = c->one(c, &x, i, slot);
    if (c->lapack)
        lin_lapack_leave(before);
    atomic_store_explicit(&c->busy[s], 0, memory_order_release);
}

static int64_t pivots_of(const lin_call *c)
{
    return c->m && c->m < c->n ? c->m : c->n;
}

/* Matrix i is at fault; whoever called has gone on, and will look here. */
static int32_t report_later(const lin_call *c, int64_t i)
{
    int64_t word[5];
    memcpy(word, cpu_ptr(&c->call->status), sizeof word);
    if (word[0] != NDP_OK)
        return NDP_OK; /* the first one stays */
    word[0] = NDP_ERR_LINALG;
    word[1] = c->call->op;
    word[2] = i;
    word[3] = c->failures[i] < 0 ? -1 : c->failures[i] - 1;
    word[4] = pivots_of(c);
    memcpy(cpu_ptr(&c->call->status), word, sizeof word);
    return NDP_OK;
}

static int32_t report(const lin_call *c)
{
    int64_t i = 0;
    while (i < c->count && c->failures[i] == 0)
        i++;
    if (!c->check || i == c->count)
        return NDP_OK;
    if (c->call->status.mem)
        return report_later(c, i);
    char which[64] = "the matrix";
    if (c->count > 1)
        snprintf(which, sizeof which, "matrix %lld of the batch", (long long)i);
    if (c->failures[i] < 0)
        return cpu_error(NDP_ERR_LINALG, "%s: the iteration did not converge", which);
    return cpu_error(NDP_ERR_LINALG, "%s is %s: pivot %lld of %lld is %s", which, c->fault,
                     (long long)(c->failures[i] - 1), (long long)pivots_of(c), c->pivot);
}

static int32_t compute(lin_call *c)
{
    const uint64_t need = scratch_bytes(c);
    if (!c->call->scratch.mem || (uint64_t)ndp_view_size(&c->call->scratch) < need)
        return cpu_error(NDP_ERR_INTERNAL, "%s was called without its scratch memory",
                         ndp_op_name(c->call->op));
    c->n_slots = (int32_t)slots_of(c);
    c->failures = (int64_t *)(void *)cpu_ptr(&c->call->scratch);
    c->busy = (atomic_uchar *)(void *)((char *)c->failures + mm_round_up(c->count * 8, 64));
    c->slots = (char *)c->busy + mm_round_up(c->n_slots, 64);
    memset((void *)c->busy, 0, (size_t)c->n_slots);
    if (is_serial(c)) {
        run_items(c, 0, c->count);
        return report(c);
    }
    const double grain = 1 + LIN_ALONE_WORK / 64 / (c->work + 1);
    cpu_parallel(c->count, grain < (double)c->count ? (int64_t)grain : c->count, run_items, c);
    return report(c);
}

uint64_t lin_kernel_scratch(const ndp_kernel *kernel, const ndp_call *call)
{
    lin_call c;
    ((const lin_kernel *)kernel)->plan(&c, call);
    return scratch_bytes(&c);
}

int32_t lin_kernel_run(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call)
{
    lin_call c;
    (void)stream;
    ((const lin_kernel *)kernel)->plan(&c, call);
    return compute(&c);
}

/* ---- elements in and out ---- */

static char *item_of(const ndp_view *v, int64_t item)
{
    return cpu_ptr(v) + item * v->stride[0] * ndp_dtype_size(v->dtype);
}

/* Copies by the kernels of copies: any dtypes, blocks, threads. */
static void convert(int64_t m, int64_t n, int32_t from, const char *src, const int64_t *src_stride,
                    int32_t to, char *dst, const int64_t *dst_stride)
{
    const int64_t shape[2] = {m, n};
    struct ndp_mem mem = {.base = dst};
    const ndp_view out = {
        .mem = &mem, .shape = shape, .stride = dst_stride, .dtype = to, .ndim = 2};
    cpu_copy_strided(&out, from, src, src_stride);
}

static void strides_of(const ndp_view *v, int64_t *shape, int64_t *stride)
{
    shape[0] = v->shape[1];
    stride[0] = v->stride[1];
    shape[1] = v->ndim > 2 ? v->shape[2] : 1;
    stride[1] = v->ndim > 2 ? v->stride[2] : 1;
}

void lin_get(const lin_context *x, const ndp_view *v, int64_t item, void *dst, int64_t ld)
{
    int64_t shape[2], stride[2];
    const int64_t dense[2] = {1, ld};
    const int32_t dtype = dtype_of_type(x->type);
    strides_of(v, shape, stride);
    if (v->dtype == dtype && shape[0] * shape[1] < LIN_MOVE_ELEMENTS)
        x->leaf->move(shape[0], shape[1], item_of(v, item), stride[0], stride[1], dst, 1, ld);
    else
        convert(shape[0], shape[1], v->dtype, item_of(v, item), stride, dtype, dst, dense);
}

void lin_put(const lin_context *x, const void *src, int64_t ld, const ndp_view *v, int64_t item)
{
    int64_t shape[2], stride[2];
    const int64_t dense[2] = {1, ld};
    const int32_t dtype = dtype_of_type(x->type);
    strides_of(v, shape, stride);
    if (v->dtype == dtype && shape[0] * shape[1] < LIN_MOVE_ELEMENTS)
        x->leaf->move(shape[0], shape[1], src, 1, ld, item_of(v, item), stride[0], stride[1]);
    else
        convert(shape[0], shape[1], dtype, src, dense, v->dtype, item_of(v, item), stride);
}

void lin_get_integers(const ndp_view *v, int64_t item, int64_t *dst)
{
    const int64_t *src = (const int64_t *)(const void *)item_of(v, item);
    for (int64_t i = 0; i < v->shape[1]; i++)
        dst[i] = src[i * v->stride[1]];
}

void lin_put_integers(const int64_t *src, const ndp_view *v, int64_t item)
{
    int64_t *dst = (int64_t *)(void *)item_of(v, item);
    for (int64_t i = 0; i < v->shape[1]; i++)
        dst[i * v->stride[1]] = src[i];
}

void lin_put_nan(const lin_context *x, const ndp_view *v, int64_t item)
{
    static const int64_t none[2] = {0, 0};
    const double nan[2] = {NAN, NAN};
    int64_t shape[2], stride[2];
    (void)x;
    strides_of(v, shape, stride);
    const int32_t from = ndp_dtype_kind(v->dtype) == NDP_KIND_COMPLEX ? NDP_C128 : NDP_F64;
    convert(shape[0], shape[1], from, (const char *)nan, none, v->dtype, item_of(v, item), stride);
}
