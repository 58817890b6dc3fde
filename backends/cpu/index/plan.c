/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Indexing by arrays: the plan of the loops, and the check of indices. */
#include <stdatomic.h>
#include <stdio.h>
#include "index/index.h"

/* Lane dimensions by falling stride of the written operand, so that the last is the densest. */
static int sort_lanes(int lane[NDP_MAX_NDIM], int ndim, int axis, const int64_t *stride)
{
    int n = 0;
    for (int d = 0; d < ndim; d++) {
        if (d == axis)
            continue;
        int i = n++;
        for (; i > 0 && ndp_magnitude(stride[lane[i - 1]]) < ndp_magnitude(stride[d]); i--)
            lane[i] = lane[i - 1];
        lane[i] = d;
    }
    return n;
}

void index_plan_make(index_plan *p, int axis, const ndp_view *table, const ndp_view *at,
                     const ndp_view *value, int written)
{
    const ndp_view *shape = at->ndim == table->ndim ? at : value; /* take: indices are 1-d */
    int one_for_all = at->ndim != table->ndim || (at->ndim == 1 && table->ndim == 1);
    int lane[NDP_MAX_NDIM];
    int n =
        sort_lanes(lane, table->ndim, axis, written == INDEX_TABLE ? table->stride : value->stride);
    p->nbytes = ndp_dtype_size(table->dtype);
    p->table = cpu_ptr(table);
    p->at = (const int64_t *)cpu_ptr(at);
    p->value = value ? cpu_ptr(value) : NULL;
    p->extent = table->shape[axis];
    p->k = shape->shape[axis];
    p->axis_stride[INDEX_TABLE] = table->stride[axis];
    p->axis_stride[INDEX_AT] = at->stride[one_for_all ? 0 : axis];
    p->axis_stride[INDEX_VALUE] = value ? value->stride[axis] : 0;
    cpu_walk_begin(&p->outer, 3);
    for (int i = 0; i < n; i++) {
        int d = lane[i];
        int64_t stride[3] = {table->stride[d], one_for_all ? 0 : at->stride[d],
                             value ? value->stride[d] : 0};
        cpu_walk_add(&p->outer, shape->shape[d], stride);
    }
    cpu_walk_end(&p->outer);
    p->row = 1;
    for (int o = 0; o < 3; o++)
        p->row_stride[o] = 0;
    if (p->k == 1 ||
        ndp_magnitude(cpu_walk_inner(&p->outer, written)) <= ndp_magnitude(p->axis_stride[written]))
        p->row = cpu_walk_pop(&p->outer, p->row_stride);
}

typedef struct {
    const int64_t *at;
    uint64_t extent;
    int64_t row, stride;
    const cpu_walk *outer;
    atomic_int bad;
} check;

/* Whether an index of n is bad. Adding the extent maps what is allowed to 0 .. 2*extent-1 in
 * unsigned arithmetic. Where that is below 2^63, either x or 2*extent-1 - x of any other number x
 * has its highest bit set, and the loop needs no comparison, which SSE2 has not for 64 bits. */
static int any_bad(const int64_t *at, int64_t n, uint64_t extent)
{
    uint64_t bad = 0;
    const uint64_t last = 2 * extent - 1;
    if (extent == 0 || extent > UINT64_C(1) << 62) {
        for (int64_t i = 0; i < n; i++)
            bad |= (uint64_t)at[i] + extent >= 2 * extent;
        return bad != 0;
    }
    for (int64_t i = 0; i < n; i++) {
        const uint64_t x = (uint64_t)at[i] + extent;
        bad |= x | (last - x);
    }
    return bad >> 63 != 0;
}

/* Rows begin to end. */
static void check_rows(void *ctx, int64_t begin, int64_t end)
{
    check *c = ctx;
    cpu_place place;
    cpu_place_seek(&place, c->outer, begin);
    uint64_t bad = 0, extent = c->extent;
    for (int64_t r = begin; r < end; r++) {
        const int64_t *at = c->at + place.offset[0];
        if (c->stride == 1)
            bad |= (uint64_t)any_bad(at, c->row, extent);
        else
            for (int64_t i = 0; i < c->row; i++)
                bad |= (uint64_t)at[i * c->stride] + extent >= 2 * extent;
        cpu_place_step(&place, 1);
    }
    if (bad)
        atomic_store_explicit(&c->bad, 1, memory_order_relaxed);
}

/* The position counts the indices that were given: dimensions that repeat them are left out. The
 * core has merged dimensions, so that the axis has another number here than for the caller. */
static int32_t report_first(const ndp_call *call, const ndp_view *at, int64_t extent)
{
    cpu_walk all;
    cpu_place place;
    cpu_walk_begin(&all, 1);
    for (int d = 0; d < at->ndim; d++)
        if (at->stride[d] != 0)
            cpu_walk_add(&all, at->shape[d], &at->stride[d]);
    cpu_walk_end(&all);
    cpu_place_seek(&place, &all, 0);
    const int64_t *from = (const int64_t *)cpu_ptr(at);
    int64_t position = 0, value = from[place.offset[0]];
    while (value >= -extent && value < extent) {
        position++;
        cpu_place_step(&place, 1);
        value = from[place.offset[0]];
    }
    const char *op = cpu_op_name(call->op);
    if (extent == 0)
        return cpu_error(NDP_ERR_INDEX,
                         "%s: index %lld at position %lld is out of range: the axis has extent 0, "
                         "where no index is allowed",
                         op, (long long)value, (long long)position);
    return cpu_error(NDP_ERR_INDEX,
                     "%s: index %lld at position %lld is out of range for an axis of extent %lld; "
                     "allowed are %lld to %lld",
                     op, (long long)value, (long long)position, (long long)extent,
                     (long long)-extent, (long long)extent - 1);
}

int32_t index_check(const ndp_call *call, const ndp_view *at, int64_t extent)
{
    cpu_walk outer;
    cpu_walk_begin(&outer, 1);
    for (int d = 0; d < at->ndim; d++) {
        if (at->shape[d] == 0)
            return NDP_OK;
        if (at->stride[d] != 0) /* repetitions need one look */
            cpu_walk_add(&outer, at->shape[d], &at->stride[d]);
    }
    cpu_walk_end(&outer);
    int64_t stride, split = 16384, row = cpu_walk_pop(&outer, &stride);
    if (row > split && outer.size == 1) { /* one long row: pieces of it, then the rest */
        int64_t pieces = row / split, step = stride * split;
        check tail = {(const int64_t *)cpu_ptr(at) + pieces * step,
                      (uint64_t)extent,
                      row - pieces * split,
                      stride,
                      &outer,
                      0};
        check_rows(&tail, 0, 1);
        if (atomic_load(&tail.bad))
            return report_first(call, at, extent);
        cpu_walk_begin(&outer, 1);
        cpu_walk_add(&outer, pieces, &step);
        cpu_walk_end(&outer);
        row = split;
    }
    check c = {(const int64_t *)cpu_ptr(at), (uint64_t)extent, row, stride, &outer, 0};
    cpu_parallel(outer.size, 1 + 65536 / row, check_rows, &c);
    return atomic_load(&c.bad) ? report_first(call, at, extent) : NDP_OK;
}
