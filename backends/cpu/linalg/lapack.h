/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A LAPACK opened at run time, and its routines on column-major matrices. */
#ifndef NDOCK_CPU_LAPACK_H
#define NDOCK_CPU_LAPACK_H
#include "linalg/linalg.h"

/* Whether a LAPACK is there at all; opens it if that was not done yet. */
int lin_lapack_is_open(void);
/* Why there is none for an operation that needs it, and what to do. */
void lin_lapack_missing(const char *op, char *why, size_t n);
/* Whether it computes matrices of these extents: one is there, it may use as many threads as the
 * plug-in, and its integers hold what it needs. */
int lin_lapack_serves(const lin_context *x, int64_t m, int64_t n);
/* Whether it also computes factorisations of these extents (cholesky, lu, qr, solve) faster than our
 * own kernels would. */
int lin_lapack_factors(const lin_context *x, int64_t m, int64_t n);
/* Its threads follow ours while a call runs: `alone` says that all of them work on one matrix.
 * Returns what lin_lapack_leave wants. */
int lin_lapack_enter(int alone);
void lin_lapack_leave(int before);

/* Of a's upper triangle, a = u^H u, or of the lower one. Failures as those of the leaves. */
int64_t lin_lapack_cholesky(const lin_context *x, int64_t n, char *a, int64_t lda, int upper);
void lin_lapack_lu(const lin_context *x, int64_t m, int64_t n, char *a, int64_t lda,
                   int64_t *pivots);
/* op(a) x = b for a (n, n) of which these are factors and pivots, which are lost, and b (n, k),
 * both dense columns. */
void lin_lapack_lu_solve(const lin_context *x, int64_t n, int64_t k, int32_t trans, const char *lu,
                         int64_t *pivots, char *b);
/* r in a's upper triangle, and (q not NULL) q (m, k), which has room for max(m, n) columns of m. */
void lin_lapack_qr(const lin_context *x, int64_t m, int64_t n, int64_t k, char *a, int64_t lda,
                   char *q, char *work, int64_t work_bytes);
int64_t lin_lapack_qr_bytes(const lin_context *x, int64_t m, int64_t n, int64_t k);
/* a (n, n), lower triangle: w ascending; with vectors they take a's place. Whether it converged. */
int lin_lapack_eigh(const lin_context *x, int64_t n, int vectors, char *a, int64_t lda, char *w,
                    char *work, int64_t work_bytes);
int64_t lin_lapack_eigh_bytes(const lin_context *x, int64_t n, int vectors);
/* w (n) and v (n, n) complex, v NULL: values alone; a is overwritten. */
int lin_lapack_eig(const lin_context *x, int64_t n, char *a, int64_t lda, char *w, char *v,
                   char *work, int64_t work_bytes);
int64_t lin_lapack_eig_bytes(const lin_context *x, int64_t n, int vectors);
/* a (m, n) is overwritten; s descending; u (m, k), vt (l, n): u NULL: values alone. full: k = m and
 * l = n, else min(m, n). */
int lin_lapack_svd(const lin_context *x, int64_t m, int64_t n, int full, char *a, int64_t lda,
                   char *s, char *u, char *vt, char *work, int64_t work_bytes);
int64_t lin_lapack_svd_bytes(const lin_context *x, int64_t m, int64_t n, int full, int vectors);

#endif
