/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Calls of programs of rows: how many threads have a row, as the reductions by themselves would have
 * it, and what of a row lies in shared memory. */
#include <string.h>
#include "program/kernel.h"
#include "reduce/keys.h"

enum { FEW_THREADS = 128 /* of a block whose rows belong to a warp or less */ };

typedef struct {
    uint64_t rows;
    int64_t length;
    int32_t lanes; /* 0: the kernel does not serve the call */
    uint32_t threads, slots, shared_bytes;
    uint32_t kept[CUDA_PROGRAM_KEPT];
} plan;

/* Reductions that are given an array of the call read it 16 bytes at a time. */
static int is_aligned(const cuda_program_kernel *k, const ndp_call *call)
{
    for (int32_t i = 0; i < k->rows.n_reductions; i++)
        if (k->rows.input[i] >= 0 && cuda_ptr(&call->in[k->rows.input[i]]) % 16)
            return 0;
    return 1;
}

static int32_t lanes_of(const cuda_program_kernel *k, const plan *p)
{
    int32_t lanes = 0;
    for (int32_t i = 0; i < k->rows.n_reductions; i++) {
        const int32_t own = cuda_reduce_row_lanes(k->rows.op[i], k->rows.dtype[i], p->rows,
                                                  p->length, k->dev->sm_count);
        if (own == 0 || (lanes && own != lanes))
            return 0;
        lanes = own;
    }
    return lanes;
}

static void make_plan(const cuda_program_kernel *k, const ndp_call *call, plan *p)
{
    const ndp_view *first = &call->out[0];
    uint64_t at = 0;
    p->length = p->rows = 1;
    for (uint32_t i = 0; i < call->n_in + call->n_out; i++) {
        const ndp_view *v = cuda_program_operand(call, i);
        const int64_t extent = v->shape[v->ndim - 1]; /* 1: it has one element for each row */
        p->length = extent > p->length ? extent : p->length;
    }
    for (int d = 0; d < first->ndim - 1; d++)
        p->rows *= (uint64_t)first->shape[d];
    p->lanes = p->rows < (UINT64_C(1) << 31) && p->length < (INT64_C(1) << 31) ? lanes_of(k, p) : 0;
    if (!p->lanes)
        return;
    p->threads = p->lanes > 32 ? CUDA_PROGRAM_THREADS : FEW_THREADS;
    p->slots = p->threads / (uint32_t)p->lanes;
    for (int32_t i = 0; i < k->rows.n_kept; i++) {
        p->kept[i] = (uint32_t)at;
        at += (uint64_t)p->length * p->slots * (uint64_t)k->rows.kept_bytes[i];
        at = (at + 15) & ~UINT64_C(15);
        if (at > INT32_MAX)
            break;
    }
    /* Of the most that a block may have, a little is the merging's own. */
    if (at + 4096 > (uint64_t)k->dev->shared_most)
        p->lanes = 0;
    p->shared_bytes = (uint32_t)at;
}

int32_t cuda_program_rows_takes(ndp_dev *dev, const ndp_kernel *kernel, const ndp_call *call)
{
    const cuda_program_kernel *k = (const cuda_program_kernel *)kernel;
    plan p;
    (void)dev;
    make_plan(k, call, &p);
    return p.lanes && is_aligned(k, call) ? NDP_OK : NDP_ERR_UNSUPPORTED;
}

/* Whether every item of the operand is whole, and lies at a multiple of its size, up to 16 bytes. */
static int is_whole(const ndp_view *v, int32_t width)
{
    const int64_t item = width * ndp_dtype_size(v->dtype), unit = item < 16 ? item : 16;
    if (v->stride[v->ndim - 1] != 1)
        return 0;
    for (int d = 0; d < v->ndim - 1; d++)
        if (v->shape[d] > 1 && v->stride[d] * ndp_dtype_size(v->dtype) % unit)
            return 0;
    return cuda_ptr(v) % (CUdeviceptr)unit == 0;
}

static void set_operand(cuda_program_rows *p, const ndp_view *v, uint32_t i, int32_t width,
                        int32_t dims)
{
    p->operand[i] = cuda_ptr(v);
    p->step[i] = v->stride[v->ndim - 1];
    p->whole |= (uint32_t)is_whole(v, width) << i;
    for (int d = 0; d < dims; d++)
        p->stride[i][d] = d < v->ndim - 1 ? v->stride[v->ndim - 2 - d] : 0;
}

int32_t cuda_program_rows_run(cuda_program_kernel *k, ndp_stream *s, const ndp_call *call)
{
    const ndp_view *first = &call->out[0];
    cuda_program_rows p;
    plan made;
    make_plan(k, call, &made);
    if (!made.lanes)
        return cuda_error(NDP_ERR_PLUGIN,
                          "an expression over rows was not asked whether it takes "
                          "rows of %lld elements",
                          (long long)made.length);
    p.rows = (uint32_t)made.rows;
    p.items = (uint32_t)(made.length / k->rows.width);
    p.lanes = made.lanes;
    p.lanes_log2 = 0;
    while (1 << p.lanes_log2 < made.lanes)
        p.lanes_log2++;
    p.slots = made.slots;
    p.whole = 0;
    p.count = made.length;
    p.inverse = 1.0 / (double)made.length;
    memcpy(p.kept, made.kept, sizeof p.kept);
    for (int d = 0; d < k->dims; d++)
        p.extent[d] =
            cuda_divisor_of(d < first->ndim - 1 ? (uint32_t)first->shape[first->ndim - 2 - d] : 1);
    for (uint32_t i = 0; i < call->n_in + call->n_out; i++)
        set_operand(&p, cuda_program_operand(call, i), i, k->rows.width, k->dims);
    cuda_program_scalars(call, p.scalar);
    return cuda_program_launch(k, (p.whole & k->rows.moved) == k->rows.moved, s,
                               (made.rows + made.slots - 1) / made.slots, made.threads,
                               made.shared_bytes, &p);
}
