/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Groups of dimensions shared by up to four operands, and places that move over their index space
 * run by run. */
#ifndef NDOCK_CPU_AXES_H
#define NDOCK_CPU_AXES_H
#include "cpu.h"

enum { CPU_AXES_OPERANDS = 4 };

/* Dimensions, outermost first, with the stride of each operand. Extents of 1 are left out, but
 * there is always at least one dimension. Strides are in whatever unit the user put in, mostly
 * bytes. */
typedef struct {
    int n, operands;
    int64_t size;
    int64_t extent[NDP_MAX_NDIM], stride[CPU_AXES_OPERANDS][NDP_MAX_NDIM];
} cpu_axes;

/* A place in the index space of axes: the offset of each operand there. */
typedef struct {
    const cpu_axes *axes;
    int64_t offset[CPU_AXES_OPERANDS], index[NDP_MAX_NDIM];
} cpu_place;

static inline void cpu_axes_begin(cpu_axes *a, int operands)
{
    a->n = 0;
    a->operands = operands;
    a->size = 1;
}

/* Append a dimension as the innermost one. */
static inline void cpu_axes_add(cpu_axes *a, int64_t extent, const int64_t *stride)
{
    a->size *= extent;
    if (extent == 1)
        return;
    a->extent[a->n] = extent;
    for (int o = 0; o < a->operands; o++)
        a->stride[o][a->n] = stride[o];
    a->n++;
}

static inline int64_t cpu_axes_inner(const cpu_axes *a, int operand)
{
    return a->n ? a->stride[operand][a->n - 1] : 0;
}

/* Order by falling distance in operand 0, so that the innermost dimension is the densest. Stable.
 */
static inline void cpu_axes_sort(cpu_axes *a)
{
    for (int i = 1; i < a->n; i++)
        for (int d = i; d > 0; d--) {
            int64_t outer = a->stride[0][d - 1], inner = a->stride[0][d];
            if ((outer < 0 ? -outer : outer) >= (inner < 0 ? -inner : inner))
                break;
            int64_t extent = a->extent[d];
            a->extent[d] = a->extent[d - 1];
            a->extent[d - 1] = extent;
            for (int o = 0; o < a->operands; o++) {
                int64_t s = a->stride[o][d];
                a->stride[o][d] = a->stride[o][d - 1];
                a->stride[o][d - 1] = s;
            }
        }
}

/* Join neighbours that every operand steps through evenly, and close the group. */
static inline void cpu_axes_end(cpu_axes *a)
{
    int n = 0;
    for (int d = 1; d < a->n; d++) {
        int joins = 1;
        for (int o = 0; o < a->operands; o++)
            joins &= a->stride[o][n] == a->stride[o][d] * a->extent[d];
        a->extent[joins ? n : n + 1] = joins ? a->extent[n] * a->extent[d] : a->extent[d];
        n += !joins;
        for (int o = 0; o < a->operands; o++)
            a->stride[o][n] = a->stride[o][d];
    }
    a->n = a->n ? n + 1 : 0;
    if (a->n)
        return;
    a->n = 1;
    a->extent[0] = a->size;
    for (int o = 0; o < a->operands; o++)
        a->stride[o][0] = 0;
}

/* Start at the linear-th index, counted with the innermost dimension fastest. */
static inline void cpu_place_seek(cpu_place *w, const cpu_axes *a, int64_t linear)
{
    w->axes = a;
    for (int o = 0; o < a->operands; o++)
        w->offset[o] = 0;
    for (int d = a->n - 1; d >= 0; d--) {
        int64_t i = linear;
        if (d > 0 && linear != 0) {
            i = linear % a->extent[d];
            linear /= a->extent[d];
        }
        w->index[d] = i;
        for (int o = 0; o < a->operands; o++)
            w->offset[o] += i * a->stride[o][d];
    }
}

/* Elements left in the innermost dimension. */
static inline int64_t cpu_place_room(const cpu_place *w)
{
    int d = w->axes->n - 1;
    return w->axes->extent[d] - w->index[d];
}

/* Go n elements on, at most cpu_place_room(). */
static inline void cpu_place_step(cpu_place *w, int64_t n)
{
    const cpu_axes *a = w->axes;
    int d = a->n - 1;
    w->index[d] += n;
    for (int o = 0; o < a->operands; o++)
        w->offset[o] += n * a->stride[o][d];
    for (; d > 0 && w->index[d] == a->extent[d]; d--) {
        w->index[d] = 0;
        w->index[d - 1]++;
        for (int o = 0; o < a->operands; o++)
            w->offset[o] += a->stride[o][d - 1] - a->extent[d] * a->stride[o][d];
    }
}
#endif
