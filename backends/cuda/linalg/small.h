/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Batches of small matrices: one warp, or one block, has one matrix in shared memory, from the first
 * element that is read to the last result. For host C and device C++. */
#ifndef NDOCK_CUDA_LINALG_SMALL_H
#define NDOCK_CUDA_LINALG_SMALL_H
#include <stdint.h>

enum {
    LIN_SMALL = 32,       /* extents up to here are small */
    LIN_SMALL_SIDES = 32, /* right sides that are in shared memory at once */
    LIN_SMALL_WARPS = 4,  /* most warps of a block */
    LIN_SMALL_SHARED = 48 << 10,
    LIN_BLOCK_ROWS = 128, /* extents up to here are a block's, if it has room for them */
    LIN_BLOCK_THREADS = 256,
    LIN_BLOCK_SIDES = 32,   /* right sides that a block has in registers */
    LIN_SVD_THREADS = 1024, /* of a block whose matrix has singular values */
    LIN_CLUSTER = 8,        /* blocks that have a matrix of up to LIN_BLOCK_ROWS together */
    LIN_CLUSTER_THREADS = 32 * LIN_BLOCK_ROWS / 2 / LIN_CLUSTER /* a warp a pair of columns */
};
/* Blocks of matrices of up to half of LIN_BLOCK_ROWS that a multiprocessor is to have at once, by the
 * bytes of their elements: as many as registers are there for. */
#define LIN_HALF_BLOCKS(size) ((size) > 8 ? 2 : 4)
/* Of them where registers are fewer than those of elements of `size` bytes. */
#define LIN_SVD_THREADS_OF(size) ((size) > 8 ? LIN_SVD_THREADS / 2 : LIN_SVD_THREADS)

/* Which elements are read or written; the others are zero. */
enum { LIN_ALL, LIN_LOWER, LIN_UPPER };

/* A batch of matrices, or of vectors, which are columns; strides count elements. */
typedef struct {
    uint64_t at;
    int64_t batch, row, column;
} lin_side;

/* What became of a matrix, an int32_t each: 0; the pivot at fault, from 1; or one of these. */
enum { LIN_NOT_CONVERGED = -1, LIN_HAS_NAN = -2 };

/* in and out are the call's operands; of an operand that is transposed the host has exchanged the
 * strides.
 *   cholesky    in a, out l: the lower triangle. m
 *   lu          in a (m, n); out factors, pivots, perm
 *   qr          in a (m, n); out q (m, k), r (k, n); vectors 0: no q
 *   solve       in a (m, m), b (m, k); out x. trans: NDP_TRANS_*
 *   lu_solve    in factors, pivots, b; out x: solve with packed 1
 *   solve_columns  as solve, neither trans nor packed, m above half of LIN_SMALL
 *   triangular  in a (m, m), b (m, k); out x: a's elements are conjugated where conj is 1
 *   eigh        in a (m, m): the lower triangle, conjugated where conj is 1; out w, v. eigh8 and
 *               eigh16 are for as many rows, 32 / 8 or 32 / 16 matrices a warp
 *   svd         in a (m, n), m >= n, conjugated where conj is 1; out u (m, k), s, v (n, n); of u
 *               and v, the one numbered conj_out is conjugated when it is written. in[1]: room for
 *               v, column by column, where a block's shared memory has none, else at 0. Of a
 *               cluster: in[1] and in[2] are room for a and u in double precision; a's of dtypes
 *               that are not is at 0 */
typedef struct {
    lin_side in[3], out[3];
    uint64_t info;
    int64_t count, k;
    int32_t m, n, trans, conj, upper, unit, packed, vectors, conj_out;
    int32_t nbytes; /* of shared memory for a matrix; a multiple of 16 */
} lin_small;

/* Columns in shared memory are so far apart that rows do not share a bank. */
#define LIN_PITCH(m) ((m) | 1)
/* Where it is to be known to the compiler. */
#define LIN_SMALL_PITCH LIN_PITCH(LIN_SMALL)

#endif
