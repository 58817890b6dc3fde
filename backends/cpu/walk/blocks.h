/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Blocks of rows x columns of an iteration space. Columns are the last dimension, rows the next
 * one, or where an operand lies transposed the dimension in which that is dense; the other
 * dimensions are outer ones. How large blocks are is the user's to say: whose loops take dense
 * elements only knows what room there is for others. */
#ifndef NDOCK_CPU_BLOCKS_H
#define NDOCK_CPU_BLOCKS_H
#include "host/cpu.h"

enum { CPU_BLOCKS_RUN_BYTES = 256 };                /* of a transposed operand, read in one go */
#define CPU_BLOCKS_STREAM_BYTES ((int64_t)16 << 20) /* larger results are not read back soon */

/* One operand; base and stride are set by the user, in bytes and in elements, row and col, both in
 * bytes, by cpu_blocks_choose. */
typedef struct {
    char *base;
    const int64_t *stride;
    int64_t nbytes, row, col;
} cpu_blocks_operand;

typedef struct {
    const int64_t *shape;
    cpu_blocks_operand *operand; /* n, of which none may have fewer dimensions */
    int n, n_outer, tiled;       /* tiled: rows are where a transposed operand is dense */
    int outer[NDP_MAX_NDIM];     /* dimensions besides rows and columns, innermost first */
    int64_t rows, cols, block_rows, block_cols, row_blocks, col_blocks;
} cpu_blocks;

/* Where a walk over blocks is: at[k] is operand k at row and column zero of the present outer
 * index. */
typedef struct {
    const cpu_blocks *blocks;
    char **at;
    int64_t index[NDP_MAX_NDIM], row_block, col_block;
} cpu_blocks_place;

/* A block: where it begins, and its extents. */
typedef struct {
    int64_t row, col, rows, cols;
} cpu_blocks_part;

/* Chooses rows, columns and outer dimensions. A rank of zero is one column. */
void cpu_blocks_choose(cpu_blocks *b, cpu_blocks_operand *operand, int n, const int64_t *shape,
                       int ndim);
/* Blocks of at most that many rows and columns, each at least one; how many there are. */
int64_t cpu_blocks_cut(cpu_blocks *b, int64_t block_rows, int64_t block_cols);
/* Whether operand k, a result of size elements, is so large that it is better written past the
 * cache: rows are dense and long, and it does not take the place of one of the first n_in operands,
 * whose lines are in the cache already. */
int cpu_blocks_streams(const cpu_blocks *b, int k, int n_in, int64_t size);
/* Whether what is read in order from memory is worth asking for ahead of the processor. */
int cpu_blocks_asks(void);
/* To the i-th block of all; at is the user's, n pointers. */
void cpu_blocks_seek(cpu_blocks_place *p, const cpu_blocks *b, char **at, int64_t i);
/* To the next outer index. */
void cpu_blocks_next_outer(cpu_blocks_place *p);

/* The block where the place is. */
static inline cpu_blocks_part cpu_blocks_here(const cpu_blocks_place *p)
{
    const cpu_blocks *b = p->blocks;
    cpu_blocks_part here = {.row = p->row_block * b->block_rows,
                            .col = p->col_block * b->block_cols};
    int64_t rows = b->rows - here.row, cols = b->cols - here.col;
    here.rows = rows < b->block_rows ? rows : b->block_rows;
    here.cols = cols < b->block_cols ? cols : b->block_cols;
    return here;
}

/* Where operand k lies in a block. */
static inline char *cpu_blocks_at(const cpu_blocks_place *p, int k, const cpu_blocks_part *block)
{
    const cpu_blocks_operand *o = &p->blocks->operand[k];
    return p->at[k] + block->row * o->row + block->col * o->col;
}

/* One block on: along the columns, then the rows, then the outer dimensions. */
static inline void cpu_blocks_next(cpu_blocks_place *p)
{
    if (++p->col_block < p->blocks->col_blocks)
        return;
    p->col_block = 0;
    if (++p->row_block < p->blocks->row_blocks)
        return;
    p->row_block = 0;
    cpu_blocks_next_outer(p);
}
#endif
