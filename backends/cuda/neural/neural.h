/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters of the kernels of neural operations: gradients of norms, cross entropy, rope, dropout.
 * The same for host C and device C++. Strides count elements. */
#ifndef NDOCK_CUDA_NEURAL_H
#define NDOCK_CUDA_NEURAL_H
#include <ndock/plugin.h>
#include "walk/divisor.h"

/* Threads of a block that takes a long row of scores at most, and vectors of it that each has under way. */
enum { NEURAL_ENTROPY_THREADS = 1024, NEURAL_ENTROPY_VECTORS = 8 };
enum { NEURAL_THREADS = 256, NEURAL_LONG_THREADS = 512, NEURAL_GRID = 1 << 20 };
/* Threads that hold a row of vectors of 16 bytes. */
enum { NEURAL_HELD_THREADS = 512 };
/* Rows with gradients for weights: elements of one that a thread has, and that a warp has; stages of shared memory
 * for rows of 16 bits (one less for wider ones). */
enum { NEURAL_WEIGHED_EACH = 16, NEURAL_WEIGHED_ITEMS = 512, NEURAL_WEIGHED_STAGES = 3 };
enum { NEURAL_X, NEURAL_G, NEURAL_OUT, NEURAL_SCALE, NEURAL_OPERANDS };

typedef struct {
    int64_t extent, stride[NEURAL_OPERANDS];
} neural_dim;

/* Gradients of norms. Items are elements, or vectors of them along the innermost dimension, whose
 * strides then count vectors. */
typedef struct {
    uint64_t at[NEURAL_OPERANDS]; /* scale 0: none */
    uint64_t rows_at;             /* as in group.h; 0: not wanted */
    uint64_t partial;             /* two doubles of each weight, for each block of threads */
    int64_t rows, items;
    double count, inverse, eps; /* elements of a row, and 1 over that */
    int32_t kept, reduced;
    neural_dim dim[NDP_MAX_NDIM]; /* kept ones, then reduced ones, each innermost first */
} neural_norm;

/* Cross entropy and its gradient; g, weights 0: none. */
typedef struct {
    uint64_t a, y, g, weights, out, status;
    int64_t rows, n, a_row, a_step, y_step, g_step, weights_step, out_row, out_step;
    int64_t ignore;
    double smoothing;
    int32_t op, vectors; /* a and out are taken in vectors along the classes */
} neural_entropy;

/* Pairs of (b, h, t): blocks take part of a (b, h)'s t * pairs. */
typedef struct {
    uint64_t in, cosine, sine, out;
    int64_t in_stride[4], cos_stride[4], sin_stride[4], out_stride[4];
    int64_t t, pairs;           /* pairs of a row, or vectors of them */
    int64_t apart, step;        /* elements between those of a pair, and from pair to pair */
    cuda_divisor heads, chunks; /* chunks of blocks of one (b, h) */
    float sign;
    int32_t zero;
} neural_rope;

/* Dense elements in C order. */
typedef struct {
    uint64_t in, out, n, counter[2];
    uint32_t key[2];
    uint32_t least, zero;
    double divisor;
} neural_dropout;

#endif
