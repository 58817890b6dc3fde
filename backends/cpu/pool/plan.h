/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A call of a pool or of its gradient: its geometry, and what its threads run. */
#ifndef NDOCK_CPU_POOL_PLAN_H
#define NDOCK_CPU_POOL_PLAN_H
#include "pool/pool.h"

/* Gradients of whole planes: added up where they lie, or apart. */
enum { PL_THERE = 1, PL_APART };
/* The rows of a slot. */
enum { PL_SUMS, PL_ROW, PL_POSITIONS, PL_ROWS, PL_PLANE = PL_ROWS };

typedef struct {
    pl_frame f;
    const ndp_pool *params;
    cv_image positions; /* data NULL: none */
    int32_t op, by_channels, by_planes;
    /* Of the windows along the last axis, for means, in the type that is computed in. */
    char *counts;
    int64_t image[3], grid[3];
} pl_plan;

/* Taps of window p along axis d: m from *first, before *end, at element origin + m*dilation. */
static inline int64_t pl_taps_of(const pl_plan *q, int d, int64_t p, int64_t *first, int64_t *end)
{
    const ndp_pool *w = q->params;
    int64_t origin;
    nd_window_taps(p, q->image[d], q->grid[d], w->adaptive, w->kernel[d], w->stride[d],
                   w->dilation[d], w->before[d], &origin, first, end);
    return origin;
}

static inline int64_t pl_count_of(const pl_plan *q, int d, int64_t p)
{
    const ndp_pool *w = q->params;
    return nd_window_count(p, q->image[d], q->grid[d], w->adaptive, w->kernel[d], w->stride[d],
                           w->before[d], w->exclude_padding);
}

/* Whether rows of the image are read whole, and rows of windows made whole (pool.c). */
int pl_takes_rows(const pl_plan *q);
/* Sums of the row of windows d, h become means (forward.c). */
void pl_divide_row(const pl_plan *q, char *sums, int64_t d, int64_t h);

/* Tasks begin..end of a pl_run: rows of windows, by planes or with channels side by side (forward.c). */
void pl_run_rows(void *run, int64_t begin, int64_t end);
void pl_run_channels(void *run, int64_t begin, int64_t end);
/* Rows of the gradient, and whole planes of it (backward.c). */
void pl_run_back(void *run, int64_t begin, int64_t end);
void pl_run_planes(void *run, int64_t begin, int64_t end);

#endif
