/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters of normalisations with weights of any dimensions, and of gradients for weights. The
 * same for host C and device C++. Strides count elements.
 *
 * A cell is what has one mean and one weight: a row, or a channel of it. Its items are elements, or
 * vectors of them; parts of its items are summed by different blocks, and joined in one order. */
#ifndef NDOCK_CUDA_GROUP_H
#define NDOCK_CUDA_GROUP_H
#include <ndock/plugin.h>
#include "walk/lines.h"

/* Rows that a cluster of blocks holds in shared memory: threads of a block, blocks, and parts of a block's share, at
 * most. */
enum { GROUP_RESIDENT_THREADS = 512, GROUP_CLUSTER = 16, GROUP_GATES = 8 };
enum { GROUP_THREADS = 256, GROUP_HELD_THREADS = 512, GROUP_GRID = 1 << 20 };

/* What is known of a row, in doubles: x less the shift was summed, delta is the mean of that. The
 * gradient for x is (g*scale - a - (x - mean)*b)*factor. */
enum { GROUP_SHIFT, GROUP_MEAN, GROUP_DELTA, GROUP_FACTOR, GROUP_A, GROUP_B, GROUP_ROW };

/* Strides of x and out are in `at`. */
typedef struct {
    line_dim at;
    int64_t g, scale, bias;
} group_dim;

typedef struct {
    uint64_t x, g, out, scale, bias;  /* 0: absent */
    uint64_t partial, rows_at;        /* sums of cells; doubles of rows */
    uint64_t mean, variance;          /* of rows, wide; their strides are those of g and bias */
    int64_t cells, items, per_row;    /* cells; items of a cell; cells of a row */
    int64_t chunk;                    /* items of a part */
    int64_t cell_step, part_step;     /* from one set of sums to the next */
    double count, inverse, eps;       /* elements of a row, and 1 over that */
    int32_t parts, lanes;             /* lanes: of a row of columns */
    int32_t centred;                  /* not for rms_norm */
    int32_t shifted;                  /* the shifts of rows are known */
    int64_t mean_step, variance_step; /* of rows that a cluster holds, in place of strides */
    cuda_divisor by_items;            /* of rows that a block holds */
    int32_t share, gate; /* of those that a cluster holds: vectors of a block, of a part */
    int32_t n_cell, n_item;
    group_dim dim[NDP_MAX_NDIM]; /* of cells, those of a row innermost; then of items, innermost
                                    first */
} group_params;

/* From sums of cells to the gradients for weights. */
typedef struct {
    uint64_t partial, rows_at, scale, bias; /* rows_at 0: sums are complete; results, 0: absent */
    int64_t weights, sums, per_row;         /* cells that each weight sums over */
    int64_t cell_step, part_step;
    int32_t parts, n_weight, n_sum, zero;
    /* Numbers of cells in at.in; results' strides in at.out and bias. */
    group_dim dim[NDP_MAX_NDIM];
} group_weights;

#endif
