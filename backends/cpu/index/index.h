/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What take, gather and scatter share: three operands walked together, one of them at positions
 * read from another.
 *
 * All dimensions but the axis are alike (lanes): value[o, j, i] belongs to table[o, index[o, j, i],
 * i]. take is the case where index has stride 0 on every lane dimension. The innermost loop runs
 * along one lane dimension (a row) or, where memory order makes that better, along the axis. */
#ifndef NDOCK_CPU_INDEX_H
#define NDOCK_CPU_INDEX_H
#include "walk/walk.h"

enum { INDEX_TABLE = 0, INDEX_AT = 1, INDEX_VALUE = 2 };

typedef struct {
    int64_t extent;         /* of the table's axis */
    int64_t k;              /* positions along the axis */
    int64_t axis_stride[3]; /* the table's is multiplied by the index */
    int64_t row;            /* elements along row_stride; 1: the inner loop runs along the axis */
    int64_t row_stride[3];
    cpu_walk outer;
    char *table, *value;
    const int64_t *at;
    int64_t nbytes; /* of an element */
} index_plan;

/* ---- index/plan.c ---- */
/* written: which operand's memory order decides the loop order. value NULL: a scalar, plan->value
 * is the caller's to set. */
void index_plan_make(index_plan *p, int axis, const ndp_view *table, const ndp_view *at,
                     const ndp_view *value, int written);
/* NDP_ERR_INDEX, naming the first bad one, unless every index lies in -extent .. extent-1. */
int32_t index_check(const ndp_call *call, const ndp_view *at, int64_t extent);

static inline int64_t index_wrap(int64_t i, int64_t extent)
{
    return i + ((i >> 63) & extent);
}

extern const ndp_kernel index_take_kernel, index_gather_kernel, index_scatter_kernel;
extern const ndp_kernel select_compress_kernel, select_nonzero_kernel;

#endif
