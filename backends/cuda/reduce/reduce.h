/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters of the reduction kernels, the same for host C and device C++. */
#ifndef NDOCK_CUDA_REDUCE_H
#define NDOCK_CUDA_REDUCE_H
#include "walk/lines.h"

enum { REDUCE_THREADS = 256, REDUCE_SHORT_UNROLL = 4 }; /* the latter: lines of a vector each */
enum { REDUCE_HELD_VECTORS = 4 }; /* of a thread that holds its part of a row */

/* What an op does at the end. */
enum { REDUCE_VALUE = 0, REDUCE_SQRT = 1, REDUCE_ANY = 2, REDUCE_ALL = 3 };

/* Every result belongs to a group of lanes; a long reduction is cut into chunks, whose states lie
 * in scratch, chunk after chunk, until a second kernel joins them. Items are elements, or vectors
 * of them: along the line ("row"), or across neighbouring lines ("col"). */
typedef struct {
    uint64_t in, out, scratch;
    uint64_t results;      /* how many; in "col", vectors of them */
    uint64_t items, chunk; /* along a line, and of a chunk */
    uint64_t tail;         /* elements that follow the last vector of a line */
    int64_t count;         /* elements of a line */
    double divisor;        /* sum, mean: 1 or the count; var: count - correction */
    int64_t flip;          /* min, max: what elements are turned by to be keys */
    int64_t nan_above;     /* magnitudes of NaN, as bits */
    int64_t nan_bits;      /* the NaN to store */
    int64_t nonzero;  /* bits that make an element nonzero, of its halves where it is complex */
    int64_t out_step; /* col: from one result to the next */
    int32_t finish;   /* REDUCE_* */
    int32_t out_nbytes, out_is_bool;
    int32_t chunks, lanes, width; /* lanes of a result; results of a block */
    int32_t across; /* neighbouring threads: of neighbouring results, else of the same one */
    /* col: how many results repeat along a line that was folded, a power of two up to 16, so that a block
     * joins what belongs to the same one; else 0. */
    int32_t repeated;
    int32_t n_kept, n_reduced;
    /* A thread goes on by `lanes` items: `step` elements and inner_step items of the inner reduced dimension, or,
     * where that leaves it, carry elements more. inner_extent 0: by dimensions, as there are too many. */
    int64_t step, carry;
    uint32_t inner_step, inner_extent;
    line_dim dim[LINE_MAX_NDIM]; /* kept, then reduced, each innermost first */
} reduce_params;

#endif
