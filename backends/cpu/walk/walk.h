/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Walking up to six operands of one shape: dimensions with a stride for each operand, joined where
 * all of them allow it, and places that move over them, one by one or run by run. */
#ifndef NDOCK_CPU_WALK_H
#define NDOCK_CPU_WALK_H
#include "host/cpu.h"

enum { CPU_WALK_OPERANDS = 6 };

/* Dimensions, outermost first; there is always at least one. Strides are in whatever unit the user
 * put in: elements, bytes, positions. */
typedef struct {
    int ndim, operands;
    int64_t size;
    int64_t shape[NDP_MAX_NDIM], stride[CPU_WALK_OPERANDS][NDP_MAX_NDIM];
} cpu_walk;

/* A place in a walk: the offset of each operand there. */
typedef struct {
    const cpu_walk *walk;
    int64_t offset[CPU_WALK_OPERANDS], index[NDP_MAX_NDIM];
} cpu_place;

/* ---- making one: begin, add, perhaps sort, end ---- */
static inline void cpu_walk_begin(cpu_walk *w, int operands)
{
    w->ndim = 0;
    w->operands = operands;
    w->size = 1;
}

/* Append an innermost dimension. */
static inline void cpu_walk_append(cpu_walk *w, int64_t extent, const int64_t *stride)
{
    w->size *= extent;
    w->shape[w->ndim] = extent;
    for (int o = 0; o < w->operands; o++)
        w->stride[o][w->ndim] = stride[o];
    w->ndim++;
}

/* The same, but an extent of 1 is left out. */
static inline void cpu_walk_add(cpu_walk *w, int64_t extent, const int64_t *stride)
{
    if (extent != 1)
        cpu_walk_append(w, extent, stride);
}

/* Two dimensions change places. */
static inline void cpu_walk_swap(cpu_walk *w, int a, int b)
{
    int64_t extent = w->shape[a];
    w->shape[a] = w->shape[b];
    w->shape[b] = extent;
    for (int o = 0; o < w->operands; o++) {
        int64_t s = w->stride[o][a];
        w->stride[o][a] = w->stride[o][b];
        w->stride[o][b] = s;
    }
}

/* Order by falling distance in operand 0, so that the innermost dimension is the densest. Stable.
 */
static inline void cpu_walk_sort(cpu_walk *w)
{
    for (int i = 1; i < w->ndim; i++)
        for (int d = i; d > 0; d--) {
            int64_t outer = w->stride[0][d - 1], inner = w->stride[0][d];
            if ((outer < 0 ? -outer : outer) >= (inner < 0 ? -inner : inner))
                break;
            cpu_walk_swap(w, d - 1, d);
        }
}

/* A walk without dimensions gets one of extent 1. */
static inline void cpu_walk_fill(cpu_walk *w)
{
    if (w->ndim)
        return;
    w->ndim = 1;
    w->shape[0] = 1;
    for (int o = 0; o < w->operands; o++)
        w->stride[o][0] = 0;
}

/* Join neighbours that every operand steps through evenly, and close the walk. */
static inline void cpu_walk_end(cpu_walk *w)
{
    int n = 0;
    for (int d = 1; d < w->ndim; d++) {
        int joins = 1;
        for (int o = 0; o < w->operands; o++)
            joins &= w->stride[o][n] == w->stride[o][d] * w->shape[d];
        w->shape[joins ? n : n + 1] = joins ? w->shape[n] * w->shape[d] : w->shape[d];
        n += !joins;
        for (int o = 0; o < w->operands; o++)
            w->stride[o][n] = w->stride[o][d];
    }
    w->ndim = w->ndim ? n + 1 : 0;
    cpu_walk_fill(w);
}

/* Dimensions from to to-1 of views of one shape, in elements. */
static inline void cpu_walk_views(cpu_walk *w, int operands, const ndp_view *const *view, int from,
                                  int to)
{
    cpu_walk_begin(w, operands);
    for (int d = from; d < to; d++) {
        int64_t stride[CPU_WALK_OPERANDS];
        for (int o = 0; o < operands; o++)
            stride[o] = view[o]->stride[d];
        cpu_walk_add(w, view[0]->shape[d], stride);
    }
    cpu_walk_end(w);
}

/* Takes the innermost dimension off a walk that is not empty: its extent and strides. */
static inline int64_t cpu_walk_pop(cpu_walk *w, int64_t *stride)
{
    int d = --w->ndim;
    int64_t extent = w->shape[d];
    for (int o = 0; o < w->operands; o++)
        stride[o] = w->stride[o][d];
    w->size /= extent;
    cpu_walk_fill(w);
    return extent;
}

static inline int64_t cpu_walk_inner(const cpu_walk *w, int operand)
{
    return w->stride[operand][w->ndim - 1];
}

/* ---- places ---- */
/* To the linear-th index of the walk, counted with the innermost dimension fastest. */
static inline void cpu_place_seek(cpu_place *p, const cpu_walk *w, int64_t linear)
{
    p->walk = w;
    for (int o = 0; o < w->operands; o++)
        p->offset[o] = 0;
    for (int d = w->ndim - 1; d >= 0; d--) {
        int64_t i = linear;
        if (d > 0 && linear != 0) {
            i = linear % w->shape[d];
            linear /= w->shape[d];
        }
        p->index[d] = i;
        for (int o = 0; o < w->operands; o++)
            p->offset[o] += i * w->stride[o][d];
    }
}

/* Elements left in the innermost dimension. */
static inline int64_t cpu_place_room(const cpu_place *p)
{
    int d = p->walk->ndim - 1;
    return p->walk->shape[d] - p->index[d];
}

/* Go n elements on, at most cpu_place_room(). Beyond the last element no place means anything. */
static inline void cpu_place_step(cpu_place *p, int64_t n)
{
    const cpu_walk *w = p->walk;
    int d = w->ndim - 1;
    p->index[d] += n;
    for (int o = 0; o < w->operands; o++)
        p->offset[o] += n * w->stride[o][d];
    for (; d > 0 && p->index[d] == w->shape[d]; d--) {
        p->index[d] = 0;
        p->index[d - 1]++;
        for (int o = 0; o < w->operands; o++)
            p->offset[o] += w->stride[o][d - 1] - w->shape[d] * w->stride[o][d];
    }
}
#endif
