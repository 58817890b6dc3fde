/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Walking up to three operands of one shape in C order, with dimensions merged where all of them
 * allow it. */
#ifndef NDOCK_CPU_WALK_H
#define NDOCK_CPU_WALK_H
#include "cpu.h"

#define CPU_WALK_MAX 3

typedef struct {
    int ndim, n_op;
    int64_t shape[NDP_MAX_NDIM], stride[CPU_WALK_MAX][NDP_MAX_NDIM];
} cpu_walk;

/* A place in a walk: at[] are element offsets of each operand. */
typedef struct {
    int64_t index[NDP_MAX_NDIM], at[CPU_WALK_MAX];
} cpu_cursor;

/* Append an innermost dimension; extents of 1 vanish, and one that continues the last is merged
 * with it. */
static inline void cpu_walk_add(cpu_walk *w, int64_t extent, const int64_t stride[CPU_WALK_MAX])
{
    int last = w->ndim - 1, merge = last >= 0;
    if (extent == 1)
        return;
    for (int o = 0; o < w->n_op && merge; o++)
        merge = w->stride[o][last] == stride[o] * extent;
    int d = merge ? last : w->ndim++;
    w->shape[d] = merge ? w->shape[d] * extent : extent;
    for (int o = 0; o < w->n_op; o++)
        w->stride[o][d] = stride[o];
}

/* Dimensions from to to-1 of views of one shape; a NULL view has strides 0. */
static inline void cpu_walk_views(cpu_walk *w, int n_op, const ndp_view *const *view, int from,
                                  int to)
{
    w->ndim = 0;
    w->n_op = n_op;
    for (int d = from; d < to; d++) {
        int64_t stride[CPU_WALK_MAX] = {0};
        for (int o = 0; o < n_op; o++)
            stride[o] = view[o] ? view[o]->stride[d] : 0;
        cpu_walk_add(w, view[0]->shape[d], stride);
    }
}

static inline int64_t cpu_walk_size(const cpu_walk *w)
{
    int64_t n = 1;
    for (int d = 0; d < w->ndim; d++)
        n *= w->shape[d];
    return n;
}

/* Takes the innermost dimension off: its extent and strides, or 1 and zeros. */
static inline int64_t cpu_walk_pop(cpu_walk *w, int64_t stride[CPU_WALK_MAX])
{
    int d = --w->ndim;
    if (d < 0)
        w->ndim = 0;
    for (int o = 0; o < CPU_WALK_MAX; o++)
        stride[o] = d >= 0 && o < w->n_op ? w->stride[o][d] : 0;
    return d >= 0 ? w->shape[d] : 1;
}

/* The place of the element at a position in C order. */
static inline void cpu_cursor_set(cpu_cursor *c, const cpu_walk *w, int64_t position)
{
    for (int o = 0; o < CPU_WALK_MAX; o++)
        c->at[o] = 0;
    for (int d = w->ndim - 1; d >= 0; d--) {
        c->index[d] = position % w->shape[d];
        position /= w->shape[d];
        for (int o = 0; o < w->n_op; o++)
            c->at[o] += c->index[d] * w->stride[o][d];
    }
}

static inline void cpu_cursor_next(cpu_cursor *c, const cpu_walk *w)
{
    for (int d = w->ndim - 1; d >= 0; d--) {
        int64_t back = ++c->index[d] < w->shape[d] ? 0 : w->shape[d];
        for (int o = 0; o < w->n_op; o++)
            c->at[o] += w->stride[o][d] * (1 - back);
        if (!back)
            return;
        c->index[d] = 0;
    }
}
#endif
