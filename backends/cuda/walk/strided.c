/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Dimensions of two operands, ordered, merged and cut into what one kernel takes. */
#include "walk/strided.h"
#include <ndock/plugin_facts.h>

enum { MIN_LANES = 5 }; /* 32 threads beside each other, or as many as there are columns */

void strided_add(strided_plan *p, int64_t extent, int64_t dst_stride, int64_t src_stride)
{
    if (extent == 1)
        return;
    if (dst_stride < 0) {
        p->dst += (uint64_t)((extent - 1) * dst_stride);
        p->src += (uint64_t)((extent - 1) * src_stride);
        dst_stride = -dst_stride;
        src_stride = -src_stride;
    }
    int32_t at = p->n++;
    for (; at > 0; at--) {
        int64_t above = p->dst_stride[at - 1];
        if (above < dst_stride || (above == dst_stride && ndp_magnitude(p->src_stride[at - 1]) <=
                                                              ndp_magnitude(src_stride)))
            break;
        p->extent[at] = p->extent[at - 1];
        p->dst_stride[at] = above;
        p->src_stride[at] = p->src_stride[at - 1];
    }
    p->extent[at] = extent;
    p->dst_stride[at] = dst_stride;
    p->src_stride[at] = src_stride;
}

void strided_merge(strided_plan *p)
{
    int32_t kept = 0;
    for (int32_t d = 1; d < p->n; d++)
        if (p->dst_stride[d] == p->dst_stride[kept] * p->extent[kept] &&
            p->src_stride[d] == p->src_stride[kept] * p->extent[kept]) {
            p->extent[kept] *= p->extent[d];
        } else {
            kept++;
            p->extent[kept] = p->extent[d];
            p->dst_stride[kept] = p->dst_stride[d];
            p->src_stride[kept] = p->src_stride[d];
        }
    p->n = p->n > 0 ? kept + 1 : 0;
}

int64_t strided_size(const strided_plan *p)
{
    int64_t n = 1;
    for (int32_t d = 0; d < p->n; d++)
        n *= p->extent[d];
    return n;
}

/* Half of the outermost dimension, and the rest by the caller. Cuts of a single dimension keep the
 * phase of patterns of 16 units. */
static int64_t half_of(const strided_plan *p)
{
    int64_t half = p->extent[p->n - 1] / 2;
    return p->n == 1 ? half & ~INT64_C(15) : half;
}

int32_t strided_pieces(strided_plan *p, int most, int32_t (*launch)(void *, const strided_plan *),
                       void *ctx)
{
    if (p->n <= most && strided_size(p) <= INT32_MAX)
        return launch(ctx, p);
    int32_t last = p->n - 1, status = NDP_OK;
    int64_t n = p->extent[last], step = p->n > most ? 1 : half_of(p);
    strided_plan piece = *p;
    for (int64_t i = 0; i < n && status == NDP_OK; i += step) {
        piece = *p;
        piece.dst += (uint64_t)(i * p->dst_stride[last]);
        piece.src += (uint64_t)(i * p->src_stride[last]);
        piece.extent[last] = n - i < step ? n - i : step;
        if (piece.extent[last] == 1)
            piece.n--;
        status = strided_pieces(&piece, most, launch, ctx);
    }
    return status;
}

static uint32_t ceil_quotient(uint64_t n, uint64_t d)
{
    return (uint32_t)((n + d - 1) / d);
}

/* As many threads along the columns as there are, up to a warp; more only for long columns. */
static int32_t lanes_for(uint32_t columns, uint32_t items)
{
    int32_t lanes = 0;
    while (lanes < MIN_LANES && (UINT32_C(1) << lanes) < columns)
        lanes++;
    while (lanes >= MIN_LANES && lanes < 8 && columns >= (items << (lanes + 1)))
        lanes++;
    return lanes;
}

uint32_t strided_walk_of(const strided_plan *p, uint32_t items, strided_walk *w)
{
    w->dst = p->dst;
    w->src = p->src;
    w->columns = p->n > 0 ? (uint32_t)p->extent[0] : 1;
    w->dst_step = p->n > 0 ? p->dst_stride[0] : 0;
    w->src_step = p->n > 0 ? p->src_stride[0] : 0;
    w->rows = 1;
    w->outer = p->n > 1 ? p->n - 1 : 0;
    for (int32_t d = 0; d < w->outer; d++) {
        w->extent[d] = cuda_divisor_of((uint32_t)p->extent[d + 1]);
        w->dst_stride[d] = p->dst_stride[d + 1];
        w->src_stride[d] = p->src_stride[d + 1];
        w->rows *= (uint32_t)p->extent[d + 1];
    }
    w->lanes = lanes_for(w->columns, items);
    uint32_t across = UINT32_C(1) << w->lanes, down = STRIDED_THREADS >> w->lanes;
    w->items_along_rows = w->columns < across * items && w->rows > down;
    if (w->items_along_rows)
        down *= items;
    else
        across *= items;
    uint32_t column_blocks = ceil_quotient(w->columns, across);
    uint32_t row_blocks = ceil_quotient(w->rows, down);
    /* A few rows that share the lines of the source are read together. */
    w->rows_first = row_blocks <= 16;
    w->fast_blocks = cuda_divisor_of(w->rows_first ? row_blocks : column_blocks);
    return column_blocks * row_blocks;
}
