/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Two operands of any strides, as kernels walk them: parameters for host C and device C++, and the
 * host's way of ordering, merging and cutting dimensions. Strides count bytes throughout. */
#ifndef NDOCK_CUDA_STRIDED_H
#define NDOCK_CUDA_STRIDED_H
#include <stdalign.h>
#include "walk/divisor.h"

enum { STRIDED_OUTER = 6, STRIDED_THREADS = 256, STRIDED_MAX_DIMS = 65 };

/* Columns are the dimension that is innermost in the destination; rows are all others together, at
 * most STRIDED_OUTER of them, innermost first. A block covers some columns of some rows: its
 * threads stand 1 << lanes beside each other, and each takes several elements, further along the
 * columns or the rows. Fewer than 2^31 elements. */
typedef struct {
    uint64_t dst, src;
    uint32_t columns, rows;
    int32_t lanes, items_along_rows, outer, kind; /* kind: the kernel's own */
    cuda_divisor fast_blocks; /* how many blocks lie side by side in the faster direction */
    int32_t rows_first;       /* the faster direction is that of the rows */
    int64_t dst_step, src_step;
    cuda_divisor extent[STRIDED_OUTER];
    int64_t dst_stride[STRIDED_OUTER], src_stride[STRIDED_OUTER];
    alignas(16) unsigned char pattern[16]; /* fill: the element, repeated */
} strided_walk;

/* A plane of two dimensions is cut into tiles that go through shared memory: x is innermost in the
 * destination, y in the source. The others are batches. */
typedef struct {
    uint64_t dst, src;
    uint32_t nx, ny;
    int32_t outer, dst_words, src_words; /* whether runs may be moved as 4-byte words */
    cuda_divisor tiles_x, tiles_y;
    int64_t dst_x, dst_y, src_x, src_y;
    cuda_divisor extent[STRIDED_OUTER];
    int64_t dst_stride[STRIDED_OUTER], src_stride[STRIDED_OUTER];
} strided_tiles;

#if !defined(__CUDACC__)
#include <ndock/plugin.h>

/* Dimensions sorted by destination, innermost first, without those of extent 1. */
typedef struct {
    uint64_t dst, src;
    int32_t n;
    int64_t extent[STRIDED_MAX_DIMS], dst_stride[STRIDED_MAX_DIMS], src_stride[STRIDED_MAX_DIMS];
} strided_plan;

/* Adds a dimension at its place, its destination stride made positive. Extent 0 is for the caller
 * to see before. */
void strided_add(strided_plan *, int64_t extent, int64_t dst_stride, int64_t src_stride);
/* Merges dimensions that step alike. */
void strided_merge(strided_plan *);
int64_t strided_size(const strided_plan *);
/* Calls launch() for pieces of fewer than 2^31 elements in at most STRIDED_OUTER + 1 dimensions
 * (most: at most so many). Changes the plan. */
int32_t strided_pieces(strided_plan *, int most, int32_t (*launch)(void *ctx, const strided_plan *),
                       void *ctx);
/* The walk of a piece with so many items a thread; returns the number of blocks. */
uint32_t strided_walk_of(const strided_plan *, uint32_t items, strided_walk *);

#endif
#endif
