/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the files that write programs of rows share. */
#ifndef NDOCK_CUDA_PROGRAM_SOURCE_ROWS_H
#define NDOCK_CUDA_PROGRAM_SOURCE_ROWS_H
#include "program/walks.h"

typedef struct {
    cuda_walks w;
    cuda_text *t;
    int32_t unroll, whole,
        pairs; /* whole: all that is moved is moved an item at a time; pairs: halves
                                     are computed two at a time */
} cuda_rows_maker;

/* ---- source_rows.c ---- */
void cuda_rows_add_type(const cuda_rows_maker *m, int32_t value);
/* Whether the walk stores the value's elements: as a result, or for later walks. */
int cuda_rows_is_stored(const cuda_rows_maker *m, int32_t walk, int32_t value);
/* Whether the instruction divides elements by one value of the row. */
int cuda_rows_is_by_row(const cuda_rows_maker *m, int32_t value);

/* ---- source_pairs.c ---- */
/* Whether all that is computed for elements is of one dtype of two bytes. */
int cuda_rows_has_pairs(const cuda_rows_maker *m);
/* "const uint32_t wN = both of vN;" of what is one value for each row. */
void cuda_rows_pair_operands(const cuda_rows_maker *m, int32_t walk);
/* The loop over a walk's elements. */
void cuda_rows_pair_elements(const cuda_rows_maker *m, int32_t walk);

#endif
