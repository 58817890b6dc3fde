/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Insertion positions of many values into one sorted row.
 *
 * Three ways give the same positions. By halves: for any row. By cells: the range of the row is cut
 * into equal cells, each of which knows how many elements lie in the cells before it, so that a
 * value is compared with the few elements of its own cell alone. The cell of a value is a rounded
 * difference times a rounded factor, which never falls where the value rises, and is computed alike
 * for elements and values; so the result does not depend on rounding. By distance: for integers
 * that follow each other. */
#ifndef NDOCK_CPU_SEARCH_H
#define NDOCK_CPU_SEARCH_H
#include "walk/walk.h"

typedef struct {
    const char *sorted;
    int64_t stride, n; /* of sorted, in elements */
    int right;
    /* Of positions by cells: */
    double low, scale; /* the cell of v is (v - low)*scale, cut to 0 .. cells-1 */
    int64_t cells, distinct;
    int compares;    /* most elements in one cell, different from each other */
    int32_t *before; /* by cell: different elements in cells before it */
    int32_t *place;  /* by number of different elements: elements; NULL: all are different */
    void *elements;  /* the different ones, dense, then room for `compares` more */
} search_row;
#define SEARCH_COMPARES 4
#define SEARCH_CELLS_MAX 65536 /* elements */
#define SEARCH_CELLS_FEW 256   /* elements whose finer cells stay in a cache */

/* Positions of m values, strides in elements. */
typedef void search_fn(const search_row *w, const char *values, int64_t value_stride, int64_t m,
                       int64_t *out, int64_t out_stride);
typedef struct {
    search_fn *by_halves, *by_cells, *by_distance; /* by_distance: NULL unless integers */
    /* Sets what by_cells needs, but for the number of cells, in memory of search_nbytes; 0: the row is not
     * fit for it. */
    int (*cells)(search_row *w, char *memory);
    /* How many of m values side by side lie behind the whole row, of one element at least; -1: not all lie
     * behind it or before it. */
    int64_t (*outside)(const search_row *w, const char *values, int64_t m);
    int (*follow)(const search_row *w); /* whether each element is the one before and 1 */
} search_functions;
typedef struct {
    search_functions same[NDP_DTYPE_END]; /* the row has the values' dtype */
    search_functions wide[NDP_DTYPE_END]; /* the row is f64 */
} search_table;
CPU_ISA_DECLARE(extern const search_table, search_table_of);

/* Cells of n elements for m values: few elements have finer ones, where there are many values. */
static inline int64_t search_cells(int64_t n, int64_t m)
{
    return n <= SEARCH_CELLS_FEW && m >= 64 * n ? 16 * n : 4 * n;
}

/* Memory for so many cells of n elements. */
static inline int64_t search_nbytes(int64_t n, int64_t cells)
{
    int64_t nbytes = 4 * cells + 4 * (n + 1) + 8 * (n + SEARCH_COMPARES);
    return (nbytes + 63) / 64 * 64;
}

#endif
