/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters of the row normalisations, the same for host C and device C++. */
#ifndef NDOCK_CUDA_NORM_H
#define NDOCK_CUDA_NORM_H
#include "walk/lines.h"

enum { NORM_THREADS = 256 }; /* of a block at most */

/* Rows of vectors of 16 bytes that a thread holds: long ones of a block, short ones of a part of a
 * warp. */
enum { NORM_LONG_THREADS = 512, NORM_LONG_VECTORS = 8, NORM_SHORT_VECTORS = 4 };

/* Rows side by side that the blocks of a cluster hold together, each stage_row elements of every row;
 * width: vectors of 16 bytes side by side. */
enum { NORM_CLUSTER = 8, NORM_COLUMN_THREADS = 512, NORM_COLUMNS_MOST = 128 };
enum { NORM_COLUMN_HELD = 16 }; /* vectors of a thread whose rows are in registers */

typedef struct {
    int64_t scale, bias;
} norm_strides;

/* Items are vectors of elements, or elements. A row that fits is read once and staged in shared
 * memory: item j of the block's row r lies at r*stage_row + j*stage_step. */
typedef struct {
    uint64_t in, out, scale, bias; /* 0: absent */
    uint64_t rows, items;
    double count, eps; /* elements of a row */
    int32_t lanes, width, across, staged;
    int32_t stage_row, stage_step;
    int32_t n_kept, n_reduced;
    line_dim dim[LINE_MAX_NDIM];        /* kept, then reduced, each innermost first */
    norm_strides weight[LINE_MAX_NDIM]; /* along the reduced ones */
} norm_params;

#endif
