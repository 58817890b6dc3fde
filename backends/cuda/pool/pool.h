/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters of the kernels of pools, resampling, unfold and fold. The same for host C and device C++.
 * Strides count elements; images and grids are (n, c, d, h, w). */
#ifndef NDOCK_CUDA_POOL_H
#define NDOCK_CUDA_POOL_H
#include <ndock/plugin.h>
#include "walk/divisor.h"

enum {
    WINDOW_THREADS = 256,
    WINDOW_WAVES = 1 << 10, /* blocks of a processor, where each thread is to have one item */
    WINDOW_SPLITS = 6,
    RESAMPLE_NEAR = 8,
    POOL_ROW_ELEMENTS = 4,
    RESAMPLE_COLUMNS = 4,
    /* rows of the result, that a thread makes columns of, by method */
    RESAMPLE_NEAREST_LINES = 4,
    RESAMPLE_LINES = 8,
    RESAMPLE_CUBIC_LINES = 16,
    RESAMPLE_ROWS = 2, /* of the source, that a thread doubles; by the cubic method */
    RESAMPLE_CUBIC_ROWS = 4,
    RESAMPLE_BACK_ROWS = 4 /* of the source, that a thread makes a column of */
};

/* Rows of windows that a thread makes below one another, of kernels by their extent, step and padding; PAIRS: of elements
 * that are compared in pairs. */
enum {
    POOL_STRIP_220 = 1,
    POOL_STRIP_311 = 4,
    POOL_STRIP_321 = 2,
    POOL_STRIP_512 = 8,
    POOL_PAIRS_512 = 4
};
/* Rows of windows whose elements a thread makes, of gradients; of maxima of elements of 16 bits, whose positions take
 * most of the registers. */
enum { POOL_BACK_220 = 1, POOL_BACK_311 = 2, POOL_BACK_321 = 2, POOL_BACK_HALVES_321 = 1 };

/* Rows of elements or vectors of them: threads take the items of a row side by side, lanes (a power of
 * two) of them, and those of a block several rows. The number of a row is cut by its divisors, the
 * last innermost, into as many coordinates and a first one. */
typedef struct {
    uint32_t rows, items, lanes, lane_bits;
    cuda_divisor split[WINDOW_SPLITS];
} window_walk;

typedef struct {
    uint64_t image, grid, positions; /* positions 0: none */
    int64_t image_stride[5], grid_stride[5], position_stride[5];
    int32_t image_extent[3], grid_extent[3], kernel[3], stride[3], dilation[3], before[3];
    int32_t adaptive, exclude;
    int32_t divisor;      /* of every sum; 0: windows are counted */
    double inverse;       /* of divisor */
    int32_t vectors;      /* gradients along w: whether they are stored as vectors */
    cuda_divisor step[3]; /* by stride */
    window_walk walk;
} cuda_pooling;

/* For each axis, of n elements of the result and m of the source: the taps of element i, tap t at
 * t*n + i, and their shares in the type of computation; then of each element of the source the first
 * and the end of those that it is a tap of, and the shares in the first RESAMPLE_NEAR of these. */
typedef struct {
    uint64_t element, share, begin, end, near;
} resample_table;

typedef struct {
    uint64_t image, grid;
    int64_t image_stride[5], grid_stride[5];
    int32_t image_extent[3], grid_extent[3];
    int32_t method, align_corners, taps, backward;
    double ratio[3];
    resample_table table[3];
    window_walk walk;
} cuda_resampling;

typedef struct {
    uint64_t image, windows;
    int64_t image_stride[5], windows_stride[8];
    int32_t image_extent[3], grid_extent[3], kernel[3], stride[3], dilation[3], before[3];
    cuda_divisor step[3]; /* by stride */
    window_walk walk;
} cuda_unfolding;

#endif
