/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Direct convolution: products of weights and of what taps meet, both as they lie, without panels.
 *
 * A group's channels of an image are copied once, with the padding's zeros around them and elements a stride apart
 * side by side, so that what a tap meets at a position is a fixed distance from where the position is: its
 * displacement. Positions are numbered along the copy's rows, the few columns of padding included, whose sums are
 * left out in the end. */
#ifndef NDOCK_CPU_CONV_DIRECT_H
#define NDOCK_CPU_CONV_DIRECT_H
#include <stdint.h>

/* Number k of a sum: elements from the operands' beginnings to its factors. */
typedef struct {
    int64_t a, b;
} cv_step;
/* sum[i*pitch + j] is set to, or added, the sum over the steps of a[i*row + step.a] * b[j + step.b], as one chain of
 * fused multiply-adds. b may be read, and sums are written, up to a multiple of 64 bytes of columns. */
typedef struct {
    int64_t rows, columns, steps, row, pitch;
    const cv_step *step;
    const void *a, *b;
    void *sum;
    int add;
} cv_block;

enum { CV_LEAST_OUT = 4 /* channels of the result in a group, for which this pays */ };

/* Planes of the phases of a stride, of some rows of a channel: of rows and of columns, elements low + phase + i*scale
 * of the source. */
enum { CV_MOST_PHASES = 8 };
typedef struct {
    int64_t scale[2], low[2], reach[2]; /* reach: from the first tap's element to the last one's */
    int64_t rows, pitch;                /* of a plane */
    int64_t plane, channel;             /* elements from one to the next */
    unsigned char used[2][CV_MOST_PHASES];
} cv_grid;

/* How a call is cut up: rows of positions in a band; images' groups whose bands exist at a time; positions and channels
 * of the result in a tile; bytes of scratch memory. */
typedef struct {
    cv_grid grid;
    int64_t band, bands, units, unit_bytes;
    int64_t tile_p, tiles_p, tile_o, tiles_o;
    int64_t steps_at, weights_at, grid_at; /* in what threads share */
    int64_t w_out, w_in, w_space[3];       /* strides of the weights that are read */
    int32_t w_copied;                      /* as they are in the type of sums */
    int64_t run;                           /* channels whose taps follow each other */
} cv_direct;
#endif
