/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What is done beside cuSOLVER and cuBLAS, whose matrices are column-major in scratch memory:
 * copies to and from views, and what becomes of matrices that cannot be decomposed. For host C and
 * device C++. */
#ifndef NDOCK_CUDA_LINALG_LARGE_H
#define NDOCK_CUDA_LINALG_LARGE_H
#include "linalg/small.h"

enum { LIN_TILE = 32, LIN_MOVE_THREADS = 256, LIN_COLUMN_THREADS = 128, LIN_GRID_Y = 65535 };

/* lin_move: the matrices of a view become another's, conjugated or in part (small.h), whose rest
 * becomes zero. info and also, where they are not zero, have what became of each matrix: where one
 * of them is not 0, the result is NaN with `nan`, else the identity. real_diagonal: imaginary
 * parts there are left out. in_place: both views are the same, and only what changes is written.
 * lin_widen: of real matrices to complex ones. lin_double, lin_single: of the dtype to double
 * precision, and back. */
typedef struct {
    lin_side to, from;
    int64_t count, rows, columns;
    uint64_t info, also;
    int32_t part, conj, nan, real_diagonal, in_place, zero;
} lin_moving;

/* lin_examine: info becomes LIN_HAS_NAN for matrices with elements in the part that are not finite;
 * it is zero before. lin_excuse: the same for those alone whose info is a pivot, where NaN is. */
typedef struct {
    lin_side from;
    int64_t count, rows, columns;
    uint64_t info;
    int32_t part, zero;
} lin_looking;

/* lin_report: what became of the first matrix at fault goes to the status words. iteration: what
 * failed is none of the pivots. */
typedef struct {
    uint64_t info, status;
    int64_t count, n;
    int32_t op, iteration;
} lin_reporting;

/* lin_zeros: info becomes the first zero on the diagonal of each matrix, from 1. Parameters as
 * those of lin_examine. */

/* lin_pivots: pivots (count, least) of a library, from 1, become those of the call and the order of
 * rows that they make. lin_pivots_back: pivots of a call become those of a library. */
typedef struct {
    uint64_t library;
    lin_side pivots, perm;
    int64_t count, m, least;
} lin_pivoting;

/* lin_normalize: phases of dense columns (columns, n), as plugin.h has them for eigenvectors. */
typedef struct {
    uint64_t at;
    int64_t columns, n;
} lin_normalizing;

/* lin_roots: roots (columns) become the square roots of values in the other order, 0 for those below
 * it. lin_flip: column j of dense matrices v (n, n) changes its sign where element (j, j) of r, real,
 * is negative. columns: n for each matrix. */
typedef struct {
    uint64_t values, roots, v;
    lin_side r;
    int64_t columns, n;
} lin_rooting;

#endif
