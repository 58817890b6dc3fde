/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * How a matrix product is cut up: kernels, orientation, tiles and scratch memory. Elements are the same
 * chains of multiply-adds whatever the tiles, whose number alone depends on how many threads there are. */
#include <math.h>
#include <string.h>
#include "matmul/matmul.h"

#define MM_FEW_ROWS 8
#define MM_FEW_ROWS_FROM (32 << 10) /* elements of b */
#define MM_SHORT_DEPTH 1024         /* bytes of columns of which a tile has many */
#define MM_SHARE_FROM (4 << 20)   /* multiply-adds of a product whose packed operands are shared */
#define MM_SHARE_BYTES (64 << 20) /* most memory for them */

/* Kernels for sums of a's products stored in out's dtype, or NULL. */
const mm_kernels *mm_kernels_for(int32_t dtype, int32_t out_dtype)
{
    const mm_kernels *level = *CPU_ISA_PICK(cpu_matmul_kernels);
    for (int i = 0; i < MM_KINDS; i++)
        if (level[i].load[dtype] && level[i].save[out_dtype])
            return &level[i];
    return NULL;
}

/* Integers in pairs, where there are rows and columns enough for panels and both operands' dtype has
 * such kernels; else p's own. */
static const mm_kernels *in_pairs(const mm_plan *p)
{
    const mm_kernels *level = *CPU_ISA_PICK(cpu_matmul_kernels);
    if (p->k != &level[MM_U32] || p->m <= MM_FEW_ROWS || p->n <= MM_FEW_ROWS)
        return p->k;
    for (int i = MM_PAIRS_I8; i < MM_KINDS; i++)
        if (level[i].reads == p->a.dtype && p->a.dtype == p->b.dtype)
            return &level[i];
    return p->k;
}

int mm_is_native(const mm_kernels *k, int32_t dtype)
{
    return k->save[dtype] && ndp_dtype_size(dtype) == k->element;
}

int mm_reads_in_place(const mm_plan *p, const mm_operand *x, int64_t stride)
{
    return stride == 1 && mm_is_native(p->k, x->dtype);
}

static mm_operand operand_of(const ndp_view *v)
{
    mm_operand x = {.data = cpu_ptr(v),
                    .row = v->stride[v->ndim - 2],
                    .column = v->stride[v->ndim - 1],
                    .size = ndp_dtype_size(v->dtype),
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

/* Tiles small enough for the caches, and for enough of them to keep threads busy: four for each, as the
 * threads that get one more than others are waited for. */
static void plan_tiles(mm_plan *p)
{
    const int64_t wanted = cpu_team() > 4 ? 4 * cpu_team() : 16;
    const int64_t size = p->k->element;
    /* Small products are one tile, as far as can be. A tile begins where a panel of a does. */
    const int is_small = p->m * p->n * p->depth <= 2 * MM_TASK_WORK;
    /* Multiply-adds of a tile that is not halved further: many threads take smaller ones. */
    const int64_t least = is_small || cpu_team() <= 8 ? 2 * MM_TASK_WORK : MM_TASK_WORK / 2;
    const int64_t step_m = 12, step_n = 128 / size;
    int64_t tm = (is_small ? 960 : 480) / size / step_m * step_m, tn = 2048 / size;
    if (tm > p->m)
        tm = (p->m + step_m - 1) / step_m * step_m;
    if (tn > p->n)
        tn = (p->n + step_n - 1) / step_n * step_n;
    for (;;) {
        int64_t tiles = (p->m + tm - 1) / tm * ((p->n + tn - 1) / tn);
        const int64_t rows = tm < p->m ? tm : p->m, columns = tn < p->n ? tn : p->n;
        if (tiles * p->batch >= wanted || rows * columns * p->depth <= least)
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

/* Whether operands are packed for all tiles, and for how much of the product at a time. */
static void plan_shared(mm_plan *p)
{
    const int64_t size = p->k->element, depth = p->depth;
    if (depth == 0)
        return;
    const int64_t lanes = MM_SHARE_BYTES / size / depth;
    if (p->m * p->n < MM_SHARE_FROM / depth || lanes < 1024 ||
        (p->m <= p->tile_m && p->n <= p->tile_n))
        return;
    p->path = MM_SHARED;
    p->super_m = p->m < lanes / 2 ? p->m : lanes / 2 / p->tile_m * p->tile_m;
    p->super_n = lanes - p->super_m < p->n ? (lanes - p->super_m) / p->tile_n * p->tile_n : p->n;
    p->shared_a = 0;
    p->shared_b = mm_round_up(p->super_m, p->k->rows) * depth * size;
    p->shared_bytes = p->shared_b + mm_round_up(p->super_n, p->k->columns) * depth * size;
    p->shared_bytes = mm_round_up(p->shared_bytes, 64);
}

/* Small products of one tile and one block of k, whose operands the kernels can read as they lie. */
static int is_plain(const mm_plan *p)
{
    return p->k->plain && p->direct && p->m >= p->k->rows && p->n >= p->k->columns &&
           p->depth > 0 && p->depth == p->kc && p->m <= p->tile_m && p->n <= p->tile_n &&
           p->m * p->n * p->depth <= 2 * MM_TASK_WORK && p->b.column == 1 &&
           mm_is_native(p->k, p->a.dtype) && mm_is_native(p->k, p->b.dtype);
}

/* The next bytes of a slot. */
static int64_t take(mm_plan *p, int64_t nbytes)
{
    int64_t at = p->slot_bytes;
    p->slot_bytes += mm_round_up(nbytes, 64);
    return at;
}

static void plan_slots(mm_plan *p)
{
    const int64_t size = p->k->element;
    p->pitch = mm_round_up(p->tile_n, 64 / size) + 64 / size;
    if (p->path == MM_SEPARATE) {
        p->slot_a = take(p, mm_round_up(p->tile_m, p->k->rows) * p->kc * size);
        p->slot_b = take(p, mm_round_up(p->tile_n, p->k->columns) * p->kc * size);
    } else if (p->path == MM_SWEEP) {
        p->slot_a = take(p, p->m * p->kc * size);
        p->slot_b = take(p, mm_is_native(p->k, p->b.dtype) ? 0 : MM_SWEEP_ROWS * p->tile_n * size);
        p->slot_chain = take(p, p->m * p->pitch * size);
    } else if (p->path == MM_DOT) {
        p->slot_a = take(p, p->m * p->kc * size);
        p->slot_b =
            take(p, mm_reads_in_place(p, &p->b, p->b.row) ? 0 : MM_DOT_COLUMNS * p->kc * size);
        p->slot_chain = take(p, p->m * p->tile_n * MM_DOT_BYTES);
    }
    if (!p->direct) {
        p->slot_sums = take(p, p->tile_m * p->pitch * size);
        p->slot_row = take(p, 2 * p->tile_n * size);
    }
}

/* The path for few rows, or MM_SEPARATE. */
static int32_t few_rows(const mm_plan *p)
{
    const int64_t b_elements = p->depth * p->n;
    if (!p->k->sweep || p->m > MM_FEW_ROWS || p->depth == 0 ||
        b_elements < (p->m == 1 ? 512 : MM_FEW_ROWS_FROM))
        return MM_SEPARATE;
    if (p->b.column == 1 && p->n > 1)
        return MM_SWEEP;
    return (p->b.row == 1 || p->n == 1) && p->depth * p->k->element >= MM_DOT_BYTES ? MM_DOT
                                                                                    : MM_SEPARATE;
}

/* out^T = b^T a^T */
static void swap_operands(mm_plan *p)
{
    mm_operand a = p->a;
    int64_t m = p->m;
    p->a = transposed(p->b);
    p->b = transposed(a);
    p->out = transposed(p->out);
    p->bias = transposed(p->bias);
    for (int i = 0; i < 2; i++)
        p->scales[i] = transposed(p->scales[i]);
    p->m = p->n;
    p->n = m;
}

static void plan_few_rows(mm_plan *p)
{
    mm_plan swapped = *p;
    swap_operands(&swapped);
    p->path = few_rows(p);
    if (p->path == MM_SEPARATE && p->n < p->m && few_rows(&swapped) != MM_SEPARATE) {
        swapped.path = few_rows(&swapped);
        *p = swapped;
    }
    if (p->path == MM_SEPARATE)
        return;
    p->direct = 0;
    p->tile_m = p->m;
    p->tile_n = 16384 / p->k->element;
    if (p->path == MM_DOT) {
        p->tile_n = p->depth * p->k->element <= MM_SHORT_DEPTH ? 256 : 64;
        p->kc = 16384 / p->k->element / p->m / MM_DOT_BYTES * MM_DOT_BYTES;
    } else {
        /* Bytes of a row of b: few threads read long runs, but none is to be without a tile. */
        const int64_t wanted = cpu_team() > 16 ? cpu_team() : 16;
        const int64_t least = cpu_team() > 4 ? 1024 : p->m == 1 ? 8192 : 4096;
        while (p->n / p->tile_n * p->batch < wanted &&
               p->tile_n * p->k->element >
                   (cpu_ceil_div(p->n, p->tile_n) * p->batch < cpu_team() ? 1024 : least))
            p->tile_n /= 2;
    }
}

/* Epilogues are ops of the table, applied to sums in their own type. */
ew_loop mm_epilogue_loop(const mm_kernels *k, int32_t epilogue)
{
    static const int32_t ops[] = {
        [NDP_EPILOGUE_NONE] = NDP_OP_NONE,       [NDP_EPILOGUE_RELU] = NDP_OP_relu,
        [NDP_EPILOGUE_GELU] = NDP_OP_gelu,       [NDP_EPILOGUE_GELU_TANH] = NDP_OP_gelu_tanh,
        [NDP_EPILOGUE_SIGMOID] = NDP_OP_sigmoid, [NDP_EPILOGUE_SILU] = NDP_OP_silu,
        [NDP_EPILOGUE_TANH] = NDP_OP_tanh,
    };
    if (epilogue <= NDP_EPILOGUE_NONE || epilogue >= (int32_t)(sizeof ops / sizeof *ops) ||
        (k->dtype != NDP_F32 && k->dtype != NDP_F64))
        return NULL;
    return CPU_ISA_PICK(elementwise_isa)->loops[k->dtype][ops[epilogue]];
}

void mm_plan_call(mm_plan *p, const ndp_call *call)
{
    const ndp_matmul *params = call->params;
    const ndp_view *out = &call->out[0];
    memset(p, 0, sizeof *p);
    p->k = mm_kernels_for(call->in[0].dtype, out->dtype);
    p->a = operand_of(&call->in[0]);
    p->b = operand_of(&call->in[1]);
    p->out = operand_of(out);
    p->has_bias = params->has_bias;
    if (p->has_bias)
        p->bias = operand_of(&call->in[2]);
    p->scaled = call->op == NDP_OP_scaled_mm;
    for (int i = 0; p->scaled && i < 2; i++)
        p->scales[i] = operand_of(&call->in[2 + p->has_bias + i]);
    p->n_batch = out->ndim - 2;
    p->batch_shape = out->shape;
    p->batch = 1;
    for (int d = 0; d < p->n_batch; d++)
        p->batch *= out->shape[d];
    p->m = out->shape[p->n_batch];
    p->n = out->shape[p->n_batch + 1];
    p->k = in_pairs(p);
    p->depth = call->in[0].shape[p->n_batch + 1];
    p->kc = mm_block_depth(p->depth);
    p->scale = (mm_scale){.f_alpha = params->alpha, .f_beta = params->beta};
    p->scale.u_alpha = wrap_integer(params->alpha);
    p->scale.u_beta = wrap_integer(params->beta);
    p->epilogue = params->epilogue;
    p->epilogue_loop = mm_epilogue_loop(p->k, params->epilogue);
    if (p->out.column != 1 && p->out.row == 1)
        swap_operands(p); /* rows of sums are then stored in runs */
    if (mm_is_empty(p))
        return;
    p->direct = mm_is_native(p->k, p->out.dtype) && p->out.column == 1 && params->alpha == 1 &&
                params->beta == 0 && !p->has_bias && !p->scaled && p->epilogue == NDP_EPILOGUE_NONE;
    plan_few_rows(p);
    if (p->path == MM_SEPARATE) {
        plan_tiles(p);
        plan_shared(p);
        if (p->path == MM_SEPARATE && is_plain(p))
            p->path = MM_PLAIN;
    }
    plan_slots(p);
}
