/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The gradient for the weight of f32 where windows have few elements and there are many windows: cuDNN's engines
 * and products of unfolded windows take longer (3 channels of 224 by 224, 7 by 7: bench/conv.py). */
#include "conv/plan.h"

enum {
    FEWEST_COLUMNS = 81,    /* below which lanes are idle */
    FEWEST_TERMS = 1 << 13, /* of the sums */
    BLOCKS = 2              /* of a processor */
};

int cuda_conv_is_short(conv_plan *q, const ndp_call *call, const ndp_dev *dev)
{
    const ndp_conv *c = call->params;
    const int64_t columns = q->ci * conv_plane(q->weight);
    const int64_t rows = (q->co + CONV_SHORT_ROWS - 1) / CONV_SHORT_ROWS;
    if (q->kind != CONV_WEIGHT || q->made->dtype != NDP_F32 || call->mode & NDP_MODE_FAST_MATH ||
        c->groups != 1 || !conv_has_two_axes(q, c) || columns < FEWEST_COLUMNS ||
        columns > CONV_SHORT_COLUMNS || q->co < CONV_SHORT_ROWS / 2 || rows > UINT16_MAX ||
        q->k < FEWEST_TERMS || q->grid->stride[4] != 1)
        return 0;
    int64_t splits = (BLOCKS * (int64_t)dev->sm_count + rows - 1) / rows;
    splits = splits < 2 ? 2 : splits < CONV_MOST_SPLITS ? splits : CONV_MOST_SPLITS;
    q->part = ((q->k + splits - 1) / splits + CONV_DEPTH - 1) / CONV_DEPTH * CONV_DEPTH;
    q->splits = (int32_t)((q->k + q->part - 1) / q->part);
    return q->is_short = 1;
}

int32_t cuda_conv_short_run(const cuda_kernel *k, ndp_stream *s, const conv_plan *q,
                            cuda_convolving *p)
{
    const int64_t rows = (q->co + CONV_SHORT_ROWS - 1) / CONV_SHORT_ROWS;
    return cuda_launch_2d(k, k->function[CONV_SHORT], s, (uint32_t)q->splits, (uint32_t)rows,
                          CONV_THREADS, 0, p);
}
