/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters of the kernels of scatter.
 *
 * Updates that meet lie in one lane: the same place in all dimensions but the axis. Either a thread
 * walks a lane in order, or all updates are sorted by destination, and a thread does those of one
 * destination in order. Dense rows with one index each are moved in vectors, a warp beside each
 * other: sorted ones by destination; those that are only set without a sort, since a first pass
 * finds the last update of each destination (`winner`, its number and one; 0: there is none). */
#ifndef NDOCK_CUDA_SCATTER_H
#define NDOCK_CUDA_SCATTER_H
#include "walk/walk.h"

enum {
    SCATTER_ROW_THREADS = 256,
    SCATTER_FEW_THREADS = 64, /* of a block where segments are long: they end at different times */
    SCATTER_ROW_UNROLL = 8,   /* rows of a warp under way when they are set */
    SCATTER_SEGMENT_UNROLL = 16, /* and when they are added up */
    SCATTER_SUM_UNROLL = 8 /* rows that are read while as many are added, of few destinations */
};
typedef enum { SCATTER_SET, SCATTER_ADD, SCATTER_MIN, SCATTER_MAX } scatter_mode;

typedef struct {
    uint64_t out, at, source, status; /* source 0: the scalar */
    uint64_t scalar[2];
    int64_t extent, out_axis_stride; /* of out's axis */
    int32_t op, mode;
    /* lanes: every dimension but the axis, which has k indices. Sorted: rows, the dimensions along
     * which indices repeat. */
    cuda_walk lanes;
    int64_t k, at_axis_stride, source_axis_stride;
    int64_t lane_out_stride[CUDA_WALK_NDIM], lane_at_stride[CUDA_WALK_NDIM],
        lane_source_stride[CUDA_WALK_NDIM];
    /* sorted: the axis and the dimensions along which indices differ, in C order. A key is the
     * number of the lane times extent, plus the index; bad_key that of a bad index. */
    cuda_walk items;
    uint64_t keys, order, bad_key;
    int32_t wide_keys, wide_order, axis; /* axis: its number in items */
    /* rows of vectors, 16 bytes each: how many a row has; a u32 of each destination; whether a warp
     * is for each destination, of which there are few, and finds its segment */
    uint32_t vectors;
    int32_t by_destination;
    uint64_t winner;
    int64_t out_row_vectors, source_row_vectors;
    int64_t item_out_stride[CUDA_WALK_NDIM], item_at_stride[CUDA_WALK_NDIM],
        item_source_stride[CUDA_WALK_NDIM];
} scatter_params;

#endif
