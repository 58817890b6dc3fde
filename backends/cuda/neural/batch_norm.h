/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters of batch_norm, whose rows (channels) are told their mean and variance. The same for host C and
 * device C++. Strides count elements. */
#ifndef NDOCK_CUDA_BATCH_NORM_H
#define NDOCK_CUDA_BATCH_NORM_H
#include "walk/lines.h"

/* BATCH_NORM_UNROLL: vectors that a thread loads at once; BATCH_NORM_TURNS: so many times where it keeps its
 * channels. */
enum { BATCH_NORM_THREADS = 256, BATCH_NORM_UNROLL = 4, BATCH_NORM_TURNS = 4 };
enum { BATCH_NORM_NDIM = 48 }; /* of a call, so that parameters stay below 4 KiB */
/* What a channel has, each with a stride of its own. */
enum { BATCH_NORM_MEAN, BATCH_NORM_VARIANCE, BATCH_NORM_SCALE, BATCH_NORM_BIAS, BATCH_NORM_OF };

typedef struct {
    line_dim at; /* strides of x and out */
    int64_t of[BATCH_NORM_OF];
} batch_norm_dim;

typedef struct {
    uint64_t x, out, of[BATCH_NORM_OF]; /* addresses; 0: absent */
    uint64_t size;                      /* elements */
    uint64_t threads;                   /* channels innermost: a multiple of vectors of a line */
    int64_t step[BATCH_NORM_OF];        /* from channel to channel */
    double eps;
    line_dim inner,
        channels; /* elements (vectors, where a vector is of one channel) from channel to
                                 channel; channels innermost: vectors of a line */
    int32_t ndim, zero;
    batch_norm_dim dim[BATCH_NORM_NDIM]; /* of any layout, innermost first */
} batch_norm_params;

#endif
