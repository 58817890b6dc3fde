/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Row normalisations: softmax, log_softmax, layer_norm, rms_norm over the last dimensions; group_norm,
 * whose weights are of any; batch_norm, whose statistics are given. A row is the product of the reduced
 * dimensions. Here a call is planned; rows.c and tiles.c compute. */
#include <math.h>
#include <stdio.h>
#include "norm/plan.h"

enum { GRAIN = 1 << 14 }; /* elements that are worth waking a thread */

static int dtype_index(int32_t dtype)
{
    switch (dtype) {
    case NDP_F16:
        return CPU_NORM_F16;
    case NDP_BF16:
        return CPU_NORM_BF16;
    case NDP_F32:
        return CPU_NORM_F32;
    default:
        return CPU_NORM_F64;
    }
}

static void plan_axes(norm_plan *p, const ndp_view *view[OPERANDS], int n_reduced)
{
    const ndp_view *in = view[IN];
    int kept = in->ndim - n_reduced;
    cpu_walk_begin(&p->rows, p->grouped ? OPERANDS : 2);
    cpu_walk_begin(&p->row, 4);
    cpu_walk_begin(&p->line, 2);
    for (int d = 0; d < in->ndim; d++) {
        int64_t step[OPERANDS];
        for (int o = 0; o < OPERANDS; o++)
            step[o] = view[o] ? view[o]->stride[d] * ndp_dtype_size(view[o]->dtype) : 0;
        cpu_walk_add(d < kept ? &p->rows : &p->row, in->shape[d], step);
        if (d >= kept)
            cpu_walk_add(&p->line, in->shape[d], step);
    }
    cpu_walk_sort(&p->rows);
    cpu_walk_end(&p->rows);
    cpu_walk_sort(&p->row);
    cpu_walk_sort(&p->line);
    cpu_walk_end(&p->row);
    cpu_walk_end(&p->line);
}

static void find_views(const ndp_call *call, const ndp_view *view[OPERANDS])
{
    const ndp_norm *params = call->params;
    view[IN] = &call->in[0];
    view[OUT] = &call->out[0];
    const uint32_t given = call->op == NDP_OP_batch_norm;
    view[SCALE] = params->has_scale ? &call->in[given ? 3 : 1] : NULL;
    view[BIAS] = params->has_bias ? &call->in[call->n_in - 1] : NULL;
    for (uint32_t i = 0; i < 2; i++)
        view[MEAN + i] = given ? &call->in[i + 1] : i + 1 < call->n_out ? &call->out[i + 1] : NULL;
}

static void plan_make(norm_plan *p, const ndp_call *call, const ndp_view *view[OPERANDS])
{
    const ndp_norm *params = call->params;
    const ndp_view *in = view[IN];
    int64_t bytes = ndp_dtype_size(in->dtype);
    p->given = call->op == NDP_OP_batch_norm;
    p->grouped = p->given || call->op == NDP_OP_group_norm;
    for (int o = 0; o < OPERANDS; o++)
        p->base[o] = view[o] ? cpu_ptr(view[o]) : NULL;
    p->loops = CPU_ISA_PICK(cpu_norm_loops);
    p->op = p->grouped ? NDP_OP_layer_norm : call->op;
    p->dtype = dtype_index(in->dtype);
    p->precise = in->dtype == NDP_F64;
    p->eps = params->eps;
    plan_axes(p, view, params->n_reduced);
    p->n = p->row.size;
    p->batch = p->n && p->n <= BLOCK ? BLOCK / p->n : 0;
    int64_t width = p->n * bytes, inner = p->rows.shape[p->rows.ndim - 1];
    p->dense = 0;
    if (p->row.ndim == 1 && p->rows.ndim == 1) {
        int one = p->n == 1 || (p->row.stride[IN][0] == bytes && p->row.stride[OUT][0] == bytes);
        int after = p->rows.stride[IN][0] == width && p->rows.stride[OUT][0] == width;
        p->dense = one && after ? width : 0;
    }
    uint64_t beside = ndp_magnitude(cpu_walk_inner(&p->rows, IN));
    p->tiles = 0;
    p->across = p->n <= KEEP / TILE ? TILE
                : p->n <= KEEP / 32 ? 32
                : p->n <= KEEP / 16 ? 16
                                    : cpu_norm_wide(inner);
    if (inner >= 8 && p->n > 1 && ndp_magnitude(cpu_walk_inner(&p->row, IN)) > beside)
        p->tiles = (inner + p->across - 1) / p->across;
}

static void store_wide(const norm_plan *p, char *to, double x)
{
    if (p->precise)
        *(double *)to = x;
    else
        *(float *)to = (float)x;
}

void cpu_norm_store_moments(const norm_plan *p, const int64_t *offset, double mean, double variance)
{
    if (p->base[MEAN])
        store_wide(p, p->base[MEAN] + offset[MEAN], mean);
    if (p->base[VARIANCE])
        store_wide(p, p->base[VARIANCE] + offset[VARIANCE], variance);
}

static void run_tiles(norm_plan *p)
{
    const int64_t inner = p->rows.shape[p->rows.ndim - 1], rows = p->rows.size / inner;
    void (*work)(void *, int64_t, int64_t) =
        cpu_norm_has_softmax_columns(p) ? cpu_norm_softmax_columns : cpu_norm_tiles;
    /* Long runs of memory, where nothing is kept from pass to pass, or tiles that keep it would be narrow. */
    if (cpu_norm_has_columns(p) ||
        (work == cpu_norm_softmax_columns && (p->op == NDP_OP_log_softmax || p->across < TILE))) {
        work = work == cpu_norm_tiles ? cpu_norm_columns : work;
        p->across = cpu_norm_wide(inner);
        p->tiles = (inner + p->across - 1) / p->across;
    }
    const int64_t grain = GRAIN / (p->n * p->across);
    cpu_parallel(rows * p->tiles, grain > 1 ? grain : 1, work, p);
}

static int32_t run(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call)
{
    (void)kernel;
    (void)stream;
    norm_plan p;
    const ndp_view *view[OPERANDS];
    find_views(call, view);
    plan_make(&p, call, view);
    if (p.rows.size == 0 || p.n == 0)
        return NDP_OK;
    if (p.given) {
        cpu_norm_given(&p);
        return NDP_OK;
    }
    const int kept = view[IN]->ndim - ((const ndp_norm *)call->params)->n_reduced;
    if (cpu_norm_softmax_rows(&p, view, kept) || cpu_norm_single(&p, view, kept))
        return NDP_OK;
    if (p.tiles)
        run_tiles(&p);
    else
        cpu_parallel(p.rows.size, GRAIN / p.n > 1 ? GRAIN / p.n : 1, cpu_norm_rows, &p);
    return NDP_OK;
}

static const ndp_kernel the_kernel = {
    .size = sizeof(ndp_kernel),
    .max_ndim = NDP_MAX_NDIM,
    .run = run,
};

static uint64_t dtypes(int32_t op)
{
    return cpu_domain_dtypes(op);
}

static const ndp_kernel *find(const ndp_call *like, char *why, size_t n)
{
    int32_t dtype = like->in[0].dtype, same = like->out[0].dtype == dtype;
    const int32_t wide = dtype == NDP_F64 ? NDP_F64 : NDP_F32;
    const uint32_t statistics = like->op == NDP_OP_batch_norm ? 2 : 0;
    for (uint32_t i = 1; i < like->n_in; i++)
        same &= like->in[i].dtype == (i <= statistics ? wide : dtype);
    if (dtype >= NDP_F16 && dtype <= NDP_F64 && same)
        return &the_kernel;
    snprintf(why, n, "the CPU plug-in has no %s from dtype %d to dtype %d", cpu_op_name(like->op),
             (int)dtype, (int)like->out[0].dtype);
    return NULL;
}

const cpu_class cpu_norm = {dtypes, find};
