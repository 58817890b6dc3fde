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

/* Options of nd_scaled_mm. */
typedef struct {
    uint32_t size;  /* sizeof(nd_scaled_mm_opts) */
    nd_dtype dtype; /* of the result: ND_F16, ND_BF16 or ND_F32, which is the default */
    nd_stream *stream;
    const nd_array *bias;    /* broadcasts to the result, floating; NULL: none */
    int32_t fast_accumulate; /* not 0: sums may lose bits where a device is faster so, as with the
                                setting ND_MATH_FP8_FAST */
    int32_t zero;
} nd_scaled_mm_opts;

/* (a @ b) * scale_a * scale_b [+ bias] of a (m, k) and b (k, n), both of ND_F8_E4M3 or ND_F8_E5M2,
 * each its own. scale_a, scale_b: f32, for all of the matrix (any shape of one element), or of a's
 * rows (m, 1) and of b's columns (1, n); all on a's device. Products are summed in f32; one rounding
 * to the result's dtype. Devices are fastest where a is dense along k, and so is b, as a transposed
 * matrix is; other layouts are copied first. Errors: ND_ERR_DTYPE, ND_ERR_SHAPE for extents that do
 * not meet, ND_ERR_DEVICE. Queued on the current stream; from any thread. Formats: OCP 8-bit floating
 * point specification 1.0; call: PyTorch's scaled_mm. */
ND_API ND_MUST_USE nd_status nd_scaled_mm(const nd_array *a, const nd_array *b,
                                          const nd_array *scale_a, const nd_array *scale_b,
                                          const nd_scaled_mm_opts *opts, nd_array **out);
/* The same into dst (m, n), whose dtype may be any that the result's may be written into. */
ND_API ND_MUST_USE nd_status nd_scaled_mm_into(const nd_array *a, const nd_array *b,
                                               const nd_array *scale_a, const nd_array *scale_b,
                                               const nd_scaled_mm_opts *opts, const nd_array *dst);

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
/* ---- made of singular values. rtol: singular values up to rtol times the largest count as zero; an
 * array that broadcasts to the batch, NULL: max(m, n) times the dtype's precision ---- */
/* The pseudo-inverse (..., n, m) of a (..., m, n). */
ND_API ND_MUST_USE nd_status nd_pinv(const nd_array *a, const nd_array *rtol,
                                     const nd_linalg_opts *opts, nd_array **out);
/* The number of singular values that count: i64 (...). */
ND_API ND_MUST_USE nd_status nd_matrix_rank(const nd_array *a, const nd_array *rtol,
                                            const nd_linalg_opts *opts, nd_array **out);
/* x (..., n, k), or (..., n) for a vector b, of the least norm among those with the least |a x - b|
 * for a (..., m, n) and b (..., m, k) or (m). residuals: the squares |a x - b|^2 of each column,
 * (..., k), also where the rank is not full; rank: i64 (...); values: the singular values. */
ND_API ND_MUST_USE nd_status nd_lstsq(const nd_array *a, const nd_array *b, const nd_array *rtol,
                                      const nd_linalg_opts *opts, nd_array **x,
                                      nd_array **residuals, nd_array **rank, nd_array **values);

/* ---- norms ---- */
enum { ND_NORM_DEFAULT = 0, ND_NORM_P = 1, ND_NORM_FROBENIUS = 2, ND_NORM_NUCLEAR = 3 };
typedef struct {
    uint32_t size; /* sizeof(nd_norms_opts) */
    int32_t kind;  /* ND_NORM_*; P: by ord; DEFAULT: 2 of vectors, Frobenius of matrices */
    nd_stream *stream;
    const int32_t *axes; /* naxes of them; NULL and naxes 0: all (vector), the last two */
    int32_t naxes, keepdims;
    double ord; /* vectors: any, inf and -inf the largest and smallest magnitude, 0 the number of
                   nonzero elements; matrices: 1, -1 column sums, inf, -inf row sums, 2, -2
                   singular values */
} nd_norms_opts;
ND_API ND_MUST_USE nd_status nd_vector_norm(const nd_array *a, const nd_norms_opts *opts,
                                            nd_array **out);
ND_API ND_MUST_USE nd_status nd_matrix_norm(const nd_array *a, const nd_norms_opts *opts,
                                            nd_array **out);
/* NumPy's norm: of matrices for two axes, of vectors for one; by default the 2-norm of all
 * elements. */
ND_API ND_MUST_USE nd_status nd_norm(const nd_array *a, const nd_norms_opts *opts, nd_array **out);
/* The condition number of a (..., m, n) for inversion in a norm: by default largest over smallest
 * singular value; others need square matrices. Infinite, or NaN, for singular ones. */
ND_API ND_MUST_USE nd_status nd_cond(const nd_array *a, const nd_norms_opts *opts, nd_array **out);

/* ---- products ---- */
/* Index notation as NumPy's: "ij,jk->ik"; "..." for axes that are not named and broadcast; an index
 * twice in an operand is its diagonal; without "->" the indices that occur once, in alphabetical
 * order, behind those of "...". 1 to 64 operands, contracted pair by pair, the pair first whose
 * product is smallest beside what it takes the place of; dtypes are promoted, sums keep the dtype.
 * out may be a view of an operand, where nothing is computed. ARGUMENT for a text that says
 * nothing, SHAPE for extents that do not fit. */
typedef struct {
    uint32_t size;  /* sizeof(nd_einsum_opts) */
    nd_dtype dtype; /* to compute in */
    nd_stream *stream;
} nd_einsum_opts;
ND_API ND_MUST_USE nd_status nd_einsum(const char *subscripts, int n, const nd_array *const *arrays,
                                       const nd_einsum_opts *opts, nd_array **out);
/* a[i] * b[k] of the flattened arrays: (size of a, size of b). */
ND_API ND_MUST_USE nd_status nd_outer(const nd_array *a, const nd_array *b, nd_array **out);
/* Sum of conj(a) * b along the axis, counted in each by itself; the other axes broadcast. */
ND_API ND_MUST_USE nd_status nd_vecdot(const nd_array *a, const nd_array *b, int axis,
                                       nd_array **out);
/* Sum of products over n pairs of axes; the result has the other axes of a, then those of b. */
ND_API ND_MUST_USE nd_status nd_tensordot(const nd_array *a, const nd_array *b, int n,
                                          const int32_t *axes_a, const int32_t *axes_b,
                                          nd_array **out);
/* The vector product along an axis of extent 3; the other axes broadcast. */
ND_API ND_MUST_USE nd_status nd_cross(const nd_array *a, const nd_array *b, int axis,
                                      nd_array **out);
/* Every element of a times all of b: extents multiply, missing leading axes count as one. */
ND_API ND_MUST_USE nd_status nd_kron(const nd_array *a, const nd_array *b, nd_array **out);
/* The product of 2 to 80 matrices (the first and the last may be vectors), in the order with the
 * fewest multiplications. */
ND_API ND_MUST_USE nd_status nd_multi_dot(int n, const nd_array *const *arrays, nd_array **out);
/* a (..., n, n) times itself; power 0: the identity, below 0: of the inverse. */
ND_API ND_MUST_USE nd_status nd_matrix_power(const nd_array *a, int64_t power, nd_array **out);
/* The exponential of a (..., n, n). Waits. */
ND_API ND_MUST_USE nd_status nd_expm(const nd_array *a, nd_array **out);

/* ---- diagonals and blocks ---- */
/* The sum of the diagonal of the last two axes, which are gone; offset: as nd_diagonal's. dtype 0: by
 * nd_sum's rule. */
ND_API ND_MUST_USE nd_status nd_trace(const nd_array *a, int64_t offset, nd_dtype dtype,
                                      nd_array **out);
/* n >= 1 matrices one after the other on the diagonal of a matrix of zeros; vectors are rows. */
ND_API ND_MUST_USE nd_status nd_block_diag(int n, const nd_array *const *arrays, nd_array **out);

ND_END_DECLS
#endif
