/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters of the kernels of convolutions and their gradients. The same for host C and device C++.
 * Strides count elements; images and grids are (n, c, d, h, w), weights (o, c/groups, d, h, w). */
#ifndef NDOCK_CUDA_CONV_H
#define NDOCK_CUDA_CONV_H
#include "pool/pool.h"

enum { CONV_TILE = 64, CONV_DEPTH = 16, CONV_THREADS = 256, CONV_MOST_SPLITS = 256 };
/* Windows of a thread where channels lie side by side, across and down; pairs of elements of the image,
 * across, where windows are two apart. */
enum { CONV_ACROSS = 4, CONV_DOWN = 2, CONV_MET_PAIRS = 2 };
enum {
    CONV_HALF_BYTES = 8
}; /* of a vector of channels where a thread has several rows of windows */
/* The weight's gradient of windows of few elements: channels of the grid of a block, and elements at most. */
enum { CONV_SHORT_ROWS = 64, CONV_SHORT_COLUMNS = 160 };
enum { CONV_MADE = 8 }; /* channels that a thread sums, of groups of some */
enum {
    CONV_PIECE = 16,
    CONV_PIECES = 2,
    CONV_DIAGONAL_BLOCKS = 4 /* of a processor */
};                           /* channels that tensor cores take of groups at once; of a block */
/* Products of f32 that gather elements as they go: rows of a block's tile, or twice as many, its sums, terms at once,
 * how many pieces are under way, blocks of a processor, and how results are written. */
enum {
    CONV_GATHER_ROWS = 64,
    CONV_GATHER_SUMS = 128 * 96,
    CONV_GATHER_DEPTH = 16,
    CONV_GATHER_THREADS = 128,
    CONV_GATHER_STAGES = 3,
    CONV_GATHER_BLOCKS = 2
};
/* The shared memory of a tile, with a table of its columns' places for two taps. */
#define CONV_GATHER_BYTES(rows, columns)                                             \
    ((CONV_GATHER_STAGES *                                                           \
          (CONV_GATHER_DEPTH * ((rows) + 8) + (columns) * (CONV_GATHER_DEPTH + 4)) + \
      2 * (columns)) *                                                               \
     4)
/* The weight's gradient by products of warpgroups: a block's rows, columns and terms at once, the pitch of the grid's rows,
 * bytes of a stage (both parts of the columns, and the rows), stages, and bytes with gates and what begins at a slab. */
enum {
    CONV_WIDE_ROWS = 128,
    CONV_WIDE_COLUMNS = 128,
    CONV_WIDE_TERMS = 32,
    CONV_WIDE_PITCH = CONV_WIDE_TERMS + 4,
    CONV_WIDE_STAGE =
        (2 * CONV_WIDE_COLUMNS * CONV_WIDE_TERMS + CONV_WIDE_ROWS * CONV_WIDE_PITCH) * 4,
    CONV_WIDE_STAGES = 4,
    CONV_WIDE_THREADS = 512,
    CONV_WIDE_BYTES = CONV_WIDE_STAGES * (CONV_WIDE_STAGE + 16) + 1024
};
/* Images of few channels: channels of the image at most, taps at once, channels of the result of a block, pixels of a warp,
 * threads of a block at most (of 16 bits, of f32), and how many blocks of these a processor has registers for. */
enum {
    CONV_THIN_CHANNELS = 4,
    CONV_THIN_TAPS = 4,
    CONV_THIN_ROWS = 64,
    CONV_THIN_PIXELS = 32,
    CONV_THIN_THREADS_16 = 256,
    CONV_THIN_THREADS_32 = 192,
    CONV_THIN_BLOCKS = 2
};
enum { CONV_WHOLE_PIXELS = 1, CONV_WHOLE_CHANNELS = 2 };
enum { CONV_FORWARD, CONV_INPUT, CONV_WEIGHT };

typedef struct {
    uint64_t image, weight, grid, bias; /* bias 0: none */
    uint64_t partial;                   /* sums of parts of k, splits*groups*m*n of them; 0: none */
    int64_t image_stride[5], weight_stride[5], grid_stride[5], bias_stride;
    int32_t image_extent[3], grid_extent[3], kernel[3], stride[3], dilation[3], before[3];
    int32_t co, ci, groups, epilogue; /* channels of a group */
    int32_t splits, flip;             /* flip: taps are counted from the last */
    int32_t rows,
        by_taps; /* of products that gather: rows of whole tiles; partial sums are [row][tap][channel] */
    int64_t m, n, k, part; /* of a group's product; k of a split */
    cuda_divisor by_image[3], by_grid[3], by_kernel[3], step[3], tiles_m, by_co, by_ci;
    window_walk walk;
    uint32_t planes,
        all_planes;      /* kept by a block at once, as single channels in planes are; of all */
    uint32_t weights_at; /* bytes to their weights in shared memory */
    int32_t whole;       /* they begin at vectors; of groups: CONV_MADE channels of the grid do */
    /* Of groups: windows of a tile and elements kept for them (rows, columns), whether four channels of
     * image and grid are vectors, and tiles (down, across, of all images). */
    int32_t tile[2], kept[2], fours[2];
    int32_t pieces,
        columns; /* of channels that a block has for tensor cores; columns of elements among those kept */
    int32_t apart; /* elements of what tensor cores sum are `step` apart, zeros between them */
    uint32_t tiles;
    cuda_divisor by_tiles[2], by_column;
    cuda_divisor by_channel; /* by channels of all groups */
    cuda_divisor by_kept;    /* by columns of elements kept */
} cuda_convolving;

#endif
