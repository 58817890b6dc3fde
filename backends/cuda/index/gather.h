/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters of the kernels of take and gather: value[o, j, i] = table[o, at[o, j, i], i], where at
 * may repeat along any dimension. */
#ifndef NDOCK_CUDA_GATHER_H
#define NDOCK_CUDA_GATHER_H
#include "walk/walk.h"

enum { GATHER_ROW_THREADS = 256, GATHER_ROW_VECTORS = 4, GATHER_WARP_ROWS = 8 };
/* Elements from far away: a tile of a block, the block, and the bins that a table is seen as. */
enum { GATHER_FAR_TILE = 16384, GATHER_FAR_THREADS = 1024, GATHER_FAR_BINS = 1024 };
#define GATHER_FAR_BYTES \
    (10 * GATHER_FAR_TILE + 4 * GATHER_FAR_BINS + 4 * 32) /* of shared memory */

typedef struct {
    cuda_walk walk; /* over value; for rows, over all dimensions but the innermost */
    uint64_t value, table, at, status;
    int64_t extent, axis_stride; /* of the table's axis */
    int64_t row;                 /* of the kernel of rows: elements of one */
    uint32_t pieces;             /* of a row, one for each block */
    int32_t op, far_shift;       /* far_shift: from an index to its bin */
    int64_t value_stride[CUDA_WALK_NDIM], table_stride[CUDA_WALK_NDIM], at_stride[CUDA_WALK_NDIM];
} gather_params;

#endif
