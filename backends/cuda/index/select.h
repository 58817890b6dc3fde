/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters of the kernels of compress and nonzero. Elements are tested in up to SELECT_PARTS
 * parts, one for each block: a first pass counts and leaves a bit for each element, set if it is
 * selected; a second reads the bits and writes where the counts before say. */
#ifndef NDOCK_CUDA_SELECT_H
#define NDOCK_CUDA_SELECT_H
#include "walk/walk.h"

enum { SELECT_PARTS = 8192, SELECT_THREADS = 256, SELECT_EACH = 16, SELECT_SCAN_THREADS = 1024 };
enum { SELECT_TILE = SELECT_THREADS * SELECT_EACH, SELECT_WARPS = SELECT_THREADS / 32 };

typedef struct {
    cuda_walk walk; /* over what is tested */
    uint64_t tested;
    int64_t tested_stride[CUDA_WALK_NDIM];
    uint64_t low_bits, high_bits; /* which bits of an element, or of its two halves, count */
    int32_t nbytes;               /* of a tested element */
    int32_t dense_bytes;          /* bytes without gaps at an address that 16 divides */
    int32_t dense_words;          /* elements of 4 bytes without gaps */
    uint64_t per_part, parts;     /* elements, a multiple of SELECT_TILE */
    uint64_t tiles;               /* of all elements, the last one perhaps not full */
    uint64_t starts, count;       /* i64: of each part, in scratch memory; the result */
    uint64_t bits;                /* of whole tiles, in scratch memory */
    int64_t capacity;
    /* compress of single elements: from a to out; of rows: their positions to out */
    uint64_t a, out;
    int64_t a_stride, out_stride;
    int64_t coordinate_stride; /* nonzero: from column to column of out */
} select_params;

/* Selected rows by their positions. */
typedef struct {
    cuda_walk row;
    uint64_t a, out, positions, count;
    int64_t capacity, a_step, out_step;
    int32_t nbytes;
    int64_t a_stride[CUDA_WALK_NDIM], out_stride[CUDA_WALK_NDIM];
} select_rows_params;

#endif
