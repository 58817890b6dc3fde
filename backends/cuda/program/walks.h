/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Which walk over a row computes what of a program of rows. Walk n computes what the reductions of
 * that walk take and the results that need no later ones; then its reductions are merged. */
#ifndef NDOCK_CUDA_PROGRAM_WALKS_H
#define NDOCK_CUDA_PROGRAM_WALKS_H
#include "program/source.h"

enum { CUDA_WALKS = 8, CUDA_WALK_VALUES = 16 + 64 + 768 };
enum { CUDA_UNUSED, CUDA_MADE, CUDA_FETCHED }; /* a value in a walk */

typedef struct {
    const ndp_program *p;
    cuda_program_rows_facts *facts;
    int32_t first, n_values; /* of instructions; all of them */
    int32_t n_walks;
    char of_row[CUDA_WALK_VALUES];             /* one value for each row, or a scalar */
    uint8_t walk[CUDA_WALK_VALUES];            /* the first in which it can be computed */
    uint8_t use[CUDA_WALKS][CUDA_WALK_VALUES]; /* of elements, in each walk */
    int16_t kept[CUDA_WALK_VALUES];            /* its number among those; -1: it is not kept */
} cuda_walks;

static inline const ndp_instruction *cuda_walk_instruction(const cuda_walks *m, int32_t value)
{
    return &m->p->instruction[value - m->first];
}
static inline int cuda_walk_is_input(const cuda_walks *m, int32_t value)
{
    return value < (int32_t)m->p->n_in;
}
static inline int cuda_walk_is_reduction(const cuda_walks *m, int32_t value)
{
    return value >= m->first && cuda_source_is_reduction(cuda_walk_instruction(m, value));
}
static inline int cuda_walk_has_work(const cuda_walks *m, int32_t walk)
{
    for (int32_t v = 0; v < m->n_values; v++)
        if (m->use[walk][v])
            return 1;
    return 0;
}
/* Whether an earlier walk has made the value. */
static inline int cuda_walk_was_made(const cuda_walks *m, int32_t walk, int32_t value)
{
    for (int32_t w = 0; w < walk; w++)
        if (m->use[w][value] == CUDA_MADE)
            return 1;
    return 0;
}

/* Fills both in; 0: its rows are of more kinds, or walks, than kernels have. */
int cuda_walks_find(cuda_walks *, const ndp_program *, cuda_program_rows_facts *);
/* Fills in the second alone; 0 also: there is no memory. */
int cuda_walks_facts(const ndp_program *, cuda_program_rows_facts *);

#endif
