/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What pools, resampling, unfold and fold share. */
#include <stdio.h>
#include <string.h>
#include "pool/pool.h"

void pl_frame_of(pl_frame *f, int32_t dtype, const ndp_view *in, const ndp_view *out)
{
    memset(f, 0, sizeof *f);
    f->k = mm_kernels_for(dtype, dtype);
    f->loops = &CPU_ISA_PICK(cpu_pool_isa)->loops[f->k->dtype == NDP_F64];
    f->element = f->k->element;
    if (in)
        f->in = cv_image_of(in);
    if (out)
        f->out = cv_image_of(out);
    f->images = (in ? in : out)->shape[0];
    f->channels = (in ? in : out)->shape[1];
}

/* Rows hold positions too, and begin at multiples of 64 bytes. */
void pl_room(pl_frame *f, int64_t rows, int64_t width, int64_t fixed_bytes)
{
    f->rows = rows;
    f->width = mm_round_up(width, 8);
    f->slot_bytes = rows * f->width * 8;
    f->fixed_bytes = mm_round_up(fixed_bytes, 64);
}

uint64_t pl_scratch(const pl_frame *f)
{
    const int64_t slots = cpu_threads();
    return (uint64_t)(f->fixed_bytes + mm_round_up(slots, 64) + slots * f->slot_bytes);
}

int32_t pl_parallel(const pl_frame *f, const ndp_call *call, const void *plan, int64_t tasks,
                    int64_t work, void (*fn)(void *ctx, int64_t begin, int64_t end))
{
    pl_run r = {.f = f, .call = plan, .n_slots = cpu_threads()};
    if (!call->scratch.mem || (uint64_t)ndp_view_size(&call->scratch) < pl_scratch(f))
        return cpu_error(NDP_ERR_INTERNAL, "%s was called without its scratch memory",
                         cpu_op_name(call->op));
    r.fixed = cpu_ptr(&call->scratch);
    r.busy = (atomic_uchar *)(r.fixed + f->fixed_bytes);
    r.slots = (char *)r.busy + mm_round_up(r.n_slots, 64);
    memset(r.busy, 0, (size_t)r.n_slots);
    cpu_parallel(tasks, 1 + 32768 / (work + 1), fn, &r);
    return NDP_OK;
}

const char *pl_load(const pl_frame *f, const cv_image *i, const char *data, int64_t stride,
                    int64_t n, char *row)
{
    if (stride == 1 && mm_is_native(f->k, i->dtype))
        return data;
    f->k->load[i->dtype](data, 0, stride, 1, n, row);
    return row;
}

uint64_t pl_dtypes(int32_t op)
{
    return cpu_domain_dtypes(op);
}

int pl_serves(const ndp_call *like, int in_ndim, int out_ndim, char *why, size_t n)
{
    const int32_t dtype = like->in[0].dtype;
    if (cpu_domain_dtypes(like->op) >> dtype & 1 && like->in[0].mem &&
        like->in[0].ndim == in_ndim && like->out[0].dtype == dtype && like->out[0].ndim == out_ndim)
        return 1;
    snprintf(why, n, "the CPU plug-in has no %s of dtype %d", cpu_op_name(like->op), (int)dtype);
    return 0;
}
