/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters of the kernels of take and gather: value[o, j, i] = table[o, at[o, j, i], i], where at
 * may repeat along any dimension. */
#ifndef NDOCK_CUDA_GATHER_H
#define NDOCK_CUDA_GATHER_H
#include "walk/walk.h"

enum {
    GATHER_ROW_THREADS = 256,
    GATHER_ROW_VECTORS = 4,
    GATHER_WARP_ROWS = 8,
    GATHER_FAR_TILE = 1 << 15, /* indices that a block puts in the order of memory */
    GATHER_FAR_THREADS = 512,
    GATHER_FAR_BINS = 64,
    GATHER_FAR_BYTES = 6 * GATHER_FAR_TILE + 4 * GATHER_FAR_BINS + GATHER_FAR_BINS / 8
};

typedef struct {
    cuda_walk walk; /* over value; for rows, over all dimensions but the innermost */
    uint64_t value, table, at, status;
    int64_t extent, axis_stride; /* of the table's axis */
    int64_t row;                 /* of the kernel of rows: elements of one */
    uint32_t pieces;             /* of a row, one for each block */
    uint32_t far_shift;          /* of places, that leaves the number of a bin */
    int32_t op;
    int64_t value_stride[CUDA_WALK_NDIM], table_stride[CUDA_WALK_NDIM], at_stride[CUDA_WALK_NDIM];
} gather_params;

#endif
