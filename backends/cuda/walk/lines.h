/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Walks by line: from the number of a line, or of a tile, to where it begins in two operands. Along
 * a line the kernel steps by strides. For host C and device C++; plan.h sets them up. */
#ifndef NDOCK_CUDA_LINES_H
#define NDOCK_CUDA_LINES_H
#include <ndock/plugin.h>
#include <stdalign.h>
#include "walk/walk.h"

enum { LINE_MAX_NDIM = NDP_MAX_NDIM };

/* A dimension that lines are numbered by, or one of several along a line. Strides count elements.
 * magic and shift divide by the extent; of an extent that does not fit 31 bits, shift is LINE_WIDE.
 */
enum { LINE_WIDE = 255 };
typedef struct {
    int64_t extent, in, out;
    uint32_t magic, shift;
} line_dim;

enum { LINE_THREADS = 256 };

/* The dimensions that lines are numbered by in pieces that a plan has cut a call into: fewer than
 * 2^31 elements. Strides count bytes. */
typedef struct {
    cuda_walk_few walk;
    int64_t out[CUDA_WALK_FEW], in[CUDA_WALK_FEW];
} line_few;

/* Lines, here rows, of columns: the dimension that is innermost in the destination. A block covers
 * some columns of some rows: its threads stand 1 << lanes beside each other, and each takes several
 * elements, further along the columns or the rows. */
typedef struct {
    uint64_t dst, src;
    uint32_t columns, rows;
    int32_t lanes, items_along_rows, kind; /* kind: the kernel's own */
    cuda_divisor fast_blocks; /* how many blocks lie side by side in the faster direction */
    int32_t rows_first;       /* the faster direction is that of the rows */
    /* Where threads go along dense columns of the destination: its lines of memory less 1, in bytes, so
     * that a warp stores whole ones (0: it does not matter); and how many columns have threads. */
    uint32_t line, slots;
    int64_t dst_step, src_step;
    line_few outer;                        /* of the rows */
    alignas(16) unsigned char pattern[16]; /* fill: the element, repeated */
} line_rows;

/* A plane of two dimensions is cut into tiles that go through shared memory: x is innermost in the
 * destination, y in the source. The others number the planes. */
typedef struct {
    uint64_t dst, src;
    uint32_t nx, ny;
    int32_t dst_words, src_words; /* whether runs may be moved as 4-byte words */
    cuda_divisor tiles_x, tiles_y;
    int64_t dst_x, dst_y, src_x, src_y;
    line_few outer;
} line_planes;

#endif
