/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * How a matrix product is cut up: kernels, orientation, tiles and scratch memory, from the call's
 * shapes, strides and dtypes alone, so that the same call computes the same way on any number of
 * threads. */
#include <math.h>
#include "matmul.h"

#define MM_SHARE_FROM (4 << 20)     /* multiply-adds of a product whose packed operands are shared */
#define MM_SHARE_BYTES (64 << 20)   /* most memory for them */

/* Kernels for sums of a's products stored in out's dtype, or NULL. */
const mm_kernels *mm_kernels_for(int32_t dtype, int32_t out_dtype)
{
    const mm_kernels *level = *CPU_ISA_PICK(cpu_matmul_kernels);
    for (int i = 0; i < MM_KINDS; i++)
        if (level[i].load[dtype] && level[i].save[out_dtype])
            return &level[i];
    return NULL;
}

int mm_is_native(const mm_kernels *k, int32_t dtype)
{
    return k->save[dtype] && cpu_dtype_size(dtype) == k->element;
}

static mm_operand operand_of(const ndp_view *v)
{
    mm_operand x = {.data = cpu_ptr(v),
                    .row = v->stride[v->ndim - 2],
                    .column = v->stride[v->ndim - 1],
                    .size = cpu_dtype_size(v->dtype),
                    .dtype = v->dtype,
                    .batch = v->stride};
    return x;
}

static mm_operand transposed(mm_operand x)
{
    int64_t row = x.row;
    x.row = x.column;
    x.column = row;
    return x;
}

/* v truncated towards zero, modulo 2^64. */
static uint64_t wrap_integer(double v)
{
    double r = fmod(trunc(v), 0x1p64);
    if (!isfinite(r))
        return 0;
    return r < 0 ? 0 - (uint64_t)-r : (uint64_t)r;
}

/* Tiles small enough for the caches, and for enough of them to keep threads busy. */
static void plan_tiles(mm_plan *p)
{
    const int64_t size = p->k->element;
    int64_t tm = 960 / size, tn = 2048 / size;
    const int64_t step_m = 12, step_n = 128 / size;
    if (tm > p->m)
        tm = (p->m + step_m - 1) / step_m * step_m;
    if (tn > p->n)
        tn = (p->n + step_n - 1) / step_n * step_n;
    for (;;) {
        int64_t tiles = (p->m + tm - 1) / tm * ((p->n + tn - 1) / tn);
        if (tiles * p->batch >= 16 || tm * tn * p->depth <= 2 * MM_TASK_WORK)
            break;
        if (tm >= tn && tm > step_m)
            tm = (tm / 2 + step_m - 1) / step_m * step_m;
        else if (tn > step_n)
            tn = (tn / 2 + step_n - 1) / step_n * step_n;
        else
            break;
    }
    p->tile_m = tm;
    p->tile_n = tn;
}

/* Where the parts of a slot lie, and whether packed operands are shared. */
static void plan_memory(mm_plan *p)
{
    const int64_t size = p->k->element, depth = p->depth < 1 ? 1 : p->depth;
    const int64_t lanes = MM_SHARE_BYTES / size / depth;
    p->share = p->m * p->n >= MM_SHARE_FROM / depth && lanes >= 1024 &&
               (p->m > p->tile_m || p->n > p->tile_n);
    p->super_m = p->m < lanes / 2 ? p->m : lanes / 2 / p->tile_m * p->tile_m;
    p->super_n = lanes - p->super_m < p->n ? (lanes - p->super_m) / p->tile_n * p->tile_n : p->n;
    if (p->super_n > p->n)
        p->super_n = p->n;
    p->shared_a = 0;
    p->shared_b = mm_round_up(p->super_m, p->k->rows) * depth * size;
    p->shared_bytes = p->share ? p->shared_b + mm_round_up(p->super_n, p->k->columns) * depth * size : 0;
    p->shared_bytes = mm_round_up(p->shared_bytes, 64);
    int64_t at = 0;
    p->slot_a = at;
    at += p->share ? 0 : mm_round_up(mm_round_up(p->tile_m, p->k->rows) * p->kc * size, 64);
    p->slot_b = at;
    at += p->share ? 0 : mm_round_up(mm_round_up(p->tile_n, p->k->columns) * p->kc * size, 64);
    p->slot_sums = at;
    at += p->direct ? 0 : mm_round_up(p->tile_m * p->tile_n * size, 64);
    p->slot_row = at;
    at += p->direct ? 0 : mm_round_up(2 * p->tile_n * size, 64);
    p->slot_bytes = at;
}

void mm_plan_call(mm_plan *p, const ndp_call *call)
{
    const ndp_matmul *params = call->params;
    const ndp_view *out = &call->out[0];
    p->k = mm_kernels_for(call->in[0].dtype, out->dtype);
    p->a = operand_of(&call->in[0]);
    p->b = operand_of(&call->in[1]);
    p->out = operand_of(out);
    p->has_bias = params->has_bias;
    if (p->has_bias)
        p->bias = operand_of(&call->in[2]);
    p->n_batch = out->ndim - 2;
    p->batch_shape = out->shape;
    p->batch = 1;
    for (int d = 0; d < p->n_batch; d++)
        p->batch *= out->shape[d];
    p->m = out->shape[p->n_batch];
    p->n = out->shape[p->n_batch + 1];
    p->depth = call->in[0].shape[p->n_batch + 1];
    p->kc = mm_block_depth(p->depth);
    p->scale = (mm_scale){.f_alpha = params->alpha, .f_beta = params->beta};
    p->scale.u_alpha = wrap_integer(params->alpha);
    p->scale.u_beta = wrap_integer(params->beta);
    p->epilogue = params->epilogue;
    if (p->out.column != 1 && p->out.row == 1) { /* out^T = b^T a^T: rows of sums are stored in runs */
        mm_operand a = p->a;
        int64_t m = p->m;
        p->a = transposed(p->b);
        p->b = transposed(a);
        p->out = transposed(p->out);
        p->bias = transposed(p->bias);
        p->m = p->n;
        p->n = m;
    }
    p->direct = mm_is_native(p->k, p->out.dtype) && p->out.column == 1 && params->alpha == 1 &&
                params->beta == 0 && !p->has_bias && p->epilogue == NDP_EPILOGUE_NONE;
    plan_tiles(p);
    plan_memory(p);
}
