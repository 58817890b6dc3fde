/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Matrix products and linear algebra.
 *
 * Matrices are the last two axes of an array, the axes before them a batch; batches of several
 * operands broadcast. Functions of linear algebra compute in f32, f64, c64 or c128; f16 and bf16 are
 * computed in f32 and given back as what they were, bool and integers are computed in f64. Arrays
 * may be empty. NaN in a matrix gives NaN in what is made of it, and of no other matrix of the
 * batch. NULL options mean the defaults; all is queued on the current stream, or that of the
 * options. The _into forms write an existing view of exactly the result's shape.
 *
 * Errors: SHAPE, DTYPE, DEVICE, ARGUMENT, MEMORY; LINALG where a matrix is singular or not positive
 * definite, or an iteration does not converge, with the matrix's place in the batch and the pivot.
 * On an asynchronous device LINALG is reported where the host next waits, as bad indices are. After
 * an error results are not there, those of _into may be written in part. */
#ifndef NDOCK_LINALG_H
#define NDOCK_LINALG_H
#include <ndock/base.h>

ND_BEGIN_DECLS

enum {
    ND_EPILOGUE_NONE = 0,
    ND_EPILOGUE_RELU = 1,
    ND_EPILOGUE_GELU = 2,
    ND_EPILOGUE_GELU_TANH = 3,
    ND_EPILOGUE_SIGMOID = 4,
    ND_EPILOGUE_SILU = 5,
    ND_EPILOGUE_TANH = 6
};
typedef struct {
    uint32_t size;  /* sizeof(nd_matmul_opts) */
    nd_dtype dtype; /* of the result; by rule the promoted dtype; ND_I32 with i8 or u8 operands sums
                       exactly, ND_F32 with f16/bf16 keeps f32 */
    nd_stream *stream;
    double alpha, beta;     /* both 0 stand for alpha 1, beta 0; beta only with _into: dst =
                               epilogue(alpha*a@b + beta*dst + bias) */
    const nd_array *bias;   /* broadcasts to the result; NULL: none */
    int32_t epilogue, zero; /* ND_EPILOGUE_*, floating dtypes only */
} nd_matmul_opts;

/* a (..., m, k) @ b (..., k, n) -> (..., m, n); leading axes broadcast; a 1-d operand is a row (a)
 * or column (b) whose axis is dropped from the result. Numeric dtypes; integers wrap; f16/bf16
 * accumulate in f32. 0-d operands are ND_ERR_SHAPE. Queued on the current stream. */
ND_API ND_MUST_USE nd_status nd_matmul(const nd_array *a, const nd_array *b,
                                       const nd_matmul_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_matmul_into(const nd_array *a, const nd_array *b,
                                            const nd_matmul_opts *opts, const nd_array *dst);

/* ---- options of what follows ---- */
enum { ND_TRANS_N = 0, ND_TRANS_T = 1, ND_TRANS_C = 2 }; /* a, a^T, a^H */
typedef struct {
    uint32_t size; /* sizeof(nd_linalg_opts) */
    /* not 0: LINALG is never reported, so that nothing is waited for; the results of such a matrix
     * are infinities or NaN */
    int32_t unchecked;
    nd_stream *stream;
    int32_t upper;         /* cholesky, cho_solve, solve_triangular, eigh: that triangle is meant */
    int32_t trans;         /* solve, solve_triangular, lu_solve: ND_TRANS_* of the matrix */
    int32_t unit_diagonal; /* solve_triangular: the diagonal counts as ones, and is not read */
    int32_t right;         /* solve_triangular: x a = b */
    int32_t full;          /* qr, svd: square orthogonal factors */
    int32_t normalize;     /* qr: r's diagonal is real and not negative */
} nd_linalg_opts;

/* ---- factorisations ---- */
/* a (..., n, n), Hermitian and positive definite, one triangle of which is read; out: l lower
 * triangular with l l^H = a, or (upper) u with u^H u = a. */
ND_API ND_MUST_USE nd_status nd_cholesky(const nd_array *a, const nd_linalg_opts *opts,
                                         nd_array **out);
ND_API ND_MUST_USE nd_status nd_cholesky_into(const nd_array *a, const nd_linalg_opts *opts,
                                              const nd_array *dst);
/* a (..., m, n); lu: the factors with partial pivoting, l's ones left out, in one array of a's
 * shape; pivots: i64 (..., min(m, n)), the rows, from 0, that rows 0, 1 ... were exchanged with in
 * this order. LINALG: a pivot is zero, so that lu_solve would divide by it. */
ND_API ND_MUST_USE nd_status nd_lu_factor(const nd_array *a, const nd_linalg_opts *opts,
                                          nd_array **lu, nd_array **pivots);
/* a = p l u: p (..., m, m) a permutation, l (..., m, k), u (..., k, n), k = min(m, n). Singular
 * matrices have such factors too. */
ND_API ND_MUST_USE nd_status nd_lu(const nd_array *a, const nd_linalg_opts *opts, nd_array **p,
                                   nd_array **l, nd_array **u);
/* a (..., m, n) = q r: q (..., m, k) with orthonormal columns, r (..., k, n) upper triangular; k =
 * min(m, n), or m with opts->full. q NULL: r alone is computed. */
ND_API ND_MUST_USE nd_status nd_qr(const nd_array *a, const nd_linalg_opts *opts, nd_array **q,
                                   nd_array **r);

/* ---- systems of equations. a (..., n, n); b (..., n, k), or a vector (n); the result as b, with
 * the batch that both broadcast to. ---- */
/* x with a x = b, by LU with partial pivoting. */
ND_API ND_MUST_USE nd_status nd_solve(const nd_array *a, const nd_array *b,
                                      const nd_linalg_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_solve_into(const nd_array *a, const nd_array *b,
                                           const nd_linalg_opts *opts, const nd_array *dst);
/* The same for a triangular a, the other triangle of which is not read; opts->right: b (..., k, n)
 * and x a = b. */
ND_API ND_MUST_USE nd_status nd_solve_triangular(const nd_array *a, const nd_array *b,
                                                 const nd_linalg_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_solve_triangular_into(const nd_array *a, const nd_array *b,
                                                      const nd_linalg_opts *opts,
                                                      const nd_array *dst);
/* The same with the factors that nd_lu_factor has made of a. A pivot that is no row counts as its
 * own row. */
ND_API ND_MUST_USE nd_status nd_lu_solve(const nd_array *lu, const nd_array *pivots,
                                         const nd_array *b, const nd_linalg_opts *opts,
                                         nd_array **out);
/* The same with the factor that nd_cholesky has made of a, with the same opts->upper. */
ND_API ND_MUST_USE nd_status nd_cho_solve(const nd_array *l, const nd_array *b,
                                          const nd_linalg_opts *opts, nd_array **out);
/* The inverse of a (..., n, n). */
ND_API ND_MUST_USE nd_status nd_inv(const nd_array *a, const nd_linalg_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_inv_into(const nd_array *a, const nd_linalg_opts *opts,
                                         const nd_array *dst);

/* ---- determinants of a (..., n, n): shape (...) ---- */
ND_API ND_MUST_USE nd_status nd_det(const nd_array *a, const nd_linalg_opts *opts, nd_array **out);
/* sign: the determinant over its magnitude, of a's dtype (0 for 0); logabsdet: the logarithm of the
 * magnitude, real (-inf for 0). */
ND_API ND_MUST_USE nd_status nd_slogdet(const nd_array *a, const nd_linalg_opts *opts,
                                        nd_array **sign, nd_array **logabsdet);

/* ---- eigenvalues and vectors of a (..., n, n): w (..., n); v (..., n, n), the vectors in its
 * columns, of length 1 and with their largest component real and positive ---- */
/* Of a Hermitian matrix, of which one triangle is read; w is real and ascends. */
ND_API ND_MUST_USE nd_status nd_eigh(const nd_array *a, const nd_linalg_opts *opts, nd_array **w,
                                     nd_array **v);
ND_API ND_MUST_USE nd_status nd_eigvalsh(const nd_array *a, const nd_linalg_opts *opts,
                                         nd_array **w);
/* Of any square matrix; w and v are complex, in no order. The CPU needs a LAPACK for these two:
 * else UNSUPPORTED, which says what to install. */
ND_API ND_MUST_USE nd_status nd_eig(const nd_array *a, const nd_linalg_opts *opts, nd_array **w,
                                    nd_array **v);
ND_API ND_MUST_USE nd_status nd_eigvals(const nd_array *a, const nd_linalg_opts *opts,
                                        nd_array **w);

/* ---- singular values of a (..., m, n) = u diag(s) vh: s (..., k), k = min(m, n), real, descending;
 * u (..., m, k) and vh (..., k, n), or square with opts->full ---- */
ND_API ND_MUST_USE nd_status nd_svd(const nd_array *a, const nd_linalg_opts *opts, nd_array **u,
                                    nd_array **s, nd_array **vh);
ND_API ND_MUST_USE nd_status nd_svdvals(const nd_array *a, const nd_linalg_opts *opts,
                                        nd_array **s);

ND_END_DECLS
#endif
