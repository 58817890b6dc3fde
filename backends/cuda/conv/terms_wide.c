/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The gradient for the weight of f32 by products of warpgroups (terms_wide.cuh): which of the calls that gathered.c takes,
 * how many parts sums have, and the launch. */
#include "conv/plan.h"

enum { FEWEST_STEPS = 16 /* of a block */ };

static int64_t steps_of(const conv_plan *q)
{
    return (q->k + CONV_WIDE_TERMS - 1) / CONV_WIDE_TERMS;
}

int cuda_conv_is_wide(conv_plan *q, const ndp_dev *dev)
{
    const int64_t steps = steps_of(q), columns = q->ci * conv_plane(q->weight);
    const int64_t all = q->co / CONV_WIDE_ROWS * (columns / CONV_WIDE_COLUMNS) * steps;
    if (!CUDA_HAS_90A || dev->capability != 90 || q->co % CONV_WIDE_ROWS ||
        q->ci % CONV_WIDE_COLUMNS || all < (int64_t)FEWEST_STEPS * dev->sm_count || all > INT32_MAX)
        return 0;
    q->part = (all + dev->sm_count - 1) / dev->sm_count;
    q->blocks = (int32_t)((all + q->part - 1) / q->part);
    q->splits = (int32_t)((steps + q->part - 2) / q->part + 1); /* that a tile's steps can touch */
    return q->is_wide = 1;
}

int32_t cuda_conv_wide_run(const cuda_kernel *k, ndp_stream *s, const conv_plan *q,
                           cuda_convolving *p)
{
    const int beside = q->image->stride[4] != 1 || q->grid->stride[4] != 1;
    p->by_tiles[0] = cuda_divisor_of((uint32_t)q->grid->shape[4]);
    p->by_tiles[1] = cuda_divisor_of((uint32_t)conv_plane(q->grid));
    p->tiles_m = cuda_divisor_of((uint32_t)(p->m / CONV_WIDE_ROWS));
    p->by_taps = 1;
    p->whole = cuda_conv_whole_of(q->grid) == CONV_WHOLE_PIXELS;
    return cuda_launch(k, k->function[CONV_WIDE_TERMS_PLANES + beside], s, (uint32_t)q->blocks,
                       CONV_WIDE_THREADS, CONV_WIDE_BYTES, p);
}

int32_t cuda_conv_wide_make(cuda_kernel *k)
{
    static const char *const names[] = {"terms_wide", "terms_wide_beside"};
    CUfunction *f = &k->function[CONV_WIDE_TERMS_PLANES];
    int32_t status = NDP_OK;
    for (int i = 0; i < 2 && status == NDP_OK && CUDA_HAS_90A && k->dev->capability == 90; i++) {
        status = window_function(k, "terms_wide", NDP_F32, names[i], &f[i]);
        if (status == NDP_OK)
            status = cuda_fail(
                cu.cuFuncSetAttribute(f[i], CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                      (int)CONV_WIDE_BYTES),
                "shared memory for %s", names[i]);
    }
    return status;
}
