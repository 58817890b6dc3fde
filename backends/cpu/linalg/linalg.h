/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the files of linalg share.
 *
 * A kernel copies each matrix of the batch into a slot of its scratch memory in column-major order,
 * works there, and copies the results out. Large matrices are worked on by all threads, small ones
 * by one thread each. The algorithms recurse until what is left is small; nearly all arithmetic is
 * in products of blocks by the kernels of matmul (product.c), which like them give the same bits for
 * every number of threads and SIMD level. What is small is done by the leaves of leaf_isa.c. Where a
 * LAPACK was opened (lapack.c), matrices beyond LIN_SMALL are its affair. */
#ifndef NDOCK_CPU_LINALG_H
#define NDOCK_CPU_LINALG_H
#include <stdatomic.h>
#include "matmul/matmul.h"

enum { LIN_F32, LIN_F64, LIN_C64, LIN_C128, LIN_DTYPES };
#define LIN_SMALL 32 /* extents up to here are one leaf's */
#define LIN_PANEL 32 /* columns of a panel of reflectors */
#define LIN_LU_LEAF 16

/* An operand of a product or a triangular system: strides count elements. */
typedef struct {
    const char *data;
    int64_t row, column;
    int32_t conj;
} lin_matrix;

/* Rotations of neighbouring columns, j and j + 1 for j = first ... first + count - 1 in this order,
 * whose cosines and sines are values at, at + 1 ... */
enum { LIN_SWEEPS = 64 };
typedef struct {
    int64_t first, count, at;
} lin_sweep;
/* Rotations that were not yet applied to the columns of z (rows, ...), real numbers: a complex
 * element is two rows. */
typedef struct lin_rotations lin_rotations;
struct lin_rotations {
    const struct lin_context *x;
    void *z;
    int64_t rows, ldz;
    void *values; /* pairs, `most` of them */
    int64_t n_rotations, n_sweeps, most;
    lin_sweep sweeps[LIN_SWEEPS];
    void (*apply)(lin_rotations *r); /* and forgets them */
};

/* The leaves: small problems of one dtype at one SIMD level. Matrices are column-major with a
 * leading dimension unless they have strides. */
typedef struct {
    /* (m, n) elements between strides and columns one after the other. */
    void (*move)(int64_t m, int64_t n, const void *src, int64_t src_row, int64_t src_column,
                 void *dst, int64_t dst_row, int64_t dst_column);
    /* a (n, n), the lower triangle: becomes l. 0; i + 1: pivot i is not positive; -1: NaN. */
    int64_t (*cholesky)(int64_t n, void *a, int64_t lda);
    /* a (m, n), n <= LIN_SMALL: packed factors. */
    void (*lu)(int64_t m, int64_t n, void *a, int64_t lda, int64_t *pivots);
    /* a (n, n) with n <= LIN_SMALL, strides in elements: op(a) x = b for b (n, k). */
    void (*triangular)(int64_t n, int64_t k, const lin_matrix *a, int upper, int unit, void *b,
                       int64_t b_row, int64_t b_column);
    /* a (m, n), n <= LIN_PANEL <= m: r above the diagonal, reflectors below it; t (n, n) with
     * q = 1 - v t v^H, rows of t LIN_PANEL apart in columns. */
    void (*reflect)(int64_t m, int64_t n, void *a, int64_t lda, void *t);
    /* Rows i and pivots[i] of n columns are exchanged, i = first ... last - 1. */
    void (*exchange)(int64_t n, void *a, int64_t lda, int64_t first, int64_t last,
                     const int64_t *pivots);
    void (*one)(void *element); /* becomes one */
    int (*is_zero)(const void *element);
    /* Places of a packed panel of w lanes change their sign: of all, or of imaginary parts. */
    void (*negate)(int64_t n, int64_t w, void *panel, int all, int imaginary);

    /* spectral_tmpl.h: steps to tridiagonal and bidiagonal form */
    void (*hermitian)(int64_t n, int64_t begin, int64_t end, void *a, int64_t lda, const void *v,
                      const void *w, const void *u, void *y);
    void (*hermitian_end)(int64_t n, const void *tau, const void *u, void *y);
    void (*reflect_one)(int64_t n, void *x, void *beta, void *tau);
    void (*form_t)(int64_t m, int64_t n, const void *v, int64_t ldv, const void *tau, void *t);
    void (*bidiagonal_left)(int64_t m, int64_t begin, int64_t end, void *a, int64_t lda,
                            const void *u, const void *z, const void *x, const void *v,
                            const void *tau, const void *new_u, void *new_z);
    void (*bidiagonal_right)(int64_t m, int64_t begin, int64_t end, const void *a, int64_t lda,
                             const void *v, void *x);
    void (*bidiagonal_end)(int64_t m, int64_t n, const void *tau, const void *u, const void *z,
                           const void *v, void *x);
    void (*add)(int64_t n, const void *x, void *y);
    void (*row_of)(int64_t n, const void *a, int64_t lda, const void *z, void *row);
    void (*conjugate)(int64_t n, void *x);
    void (*real_part)(const void *x, void *re);
    double (*largest)(int64_t m, int64_t n, const void *a, int64_t lda, int lower);
    void (*scale_all)(int64_t m, int64_t n, void *a, int64_t lda, double s);
    void (*normalize)(int64_t n, void *x);

    /* iterate_tmpl.h: d and e are real; rotations NULL: values alone. Whether they converge. */
    int (*tridiagonal)(int64_t n, void *d, void *e, lin_rotations *r);
    int (*bidiagonal)(int64_t n, void *d, void *e, lin_rotations *u, lin_rotations *v);
    void (*rotate)(int64_t rows, void *z, int64_t ldz, const lin_rotations *r);
    /* order (n): places of d's values, ascending, or by magnitude descending. */
    void (*sort)(int64_t n, const void *d, int by_magnitude, int64_t *order);
} lin_leaves;
typedef lin_leaves lin_level[LIN_DTYPES];
CPU_ISA_DECLARE(extern const lin_level, cpu_linalg_leaves);

/* What the algorithms go by. */
typedef struct lin_context {
    int32_t type; /* LIN_F32 ... */
    int64_t size; /* of an element */
    int64_t real; /* of a real part */
    const lin_leaves *leaf;
    const mm_kernels *mm;
    char *work; /* lin_product_bytes() of the largest product */
} lin_context;

static inline char *lin_at(const lin_context *x, const void *a, int64_t ld, int64_t i, int64_t j)
{
    return (char *)(uintptr_t)a + (i + j * ld) * x->size;
}
static inline lin_matrix lin_columns(const void *a, int64_t ld)
{
    return (lin_matrix){.data = a, .row = 1, .column = ld};
}
static inline lin_matrix lin_transposed(lin_matrix a)
{
    return (lin_matrix){a.data, a.column, a.row, a.conj};
}
static inline lin_matrix lin_adjoint(lin_matrix a)
{
    return (lin_matrix){a.data, a.column, a.row, !a.conj};
}

/* ---- product.c ---- */
/* Bytes that products with results of up to so many rows and columns pack their operands into. */
int64_t lin_product_bytes(const lin_context *x, int64_t rows, int64_t columns, int64_t depth);
/* c (m, n), one of whose strides is one: a (m, k) @ b (k, n) is added, subtracted, or set. */
enum { LIN_SET, LIN_ADD, LIN_SUBTRACT };
void lin_product(const lin_context *x, int64_t m, int64_t n, int64_t k, lin_matrix a, lin_matrix b,
                 char *c, int64_t c_row, int64_t c_column, int how);

/* ---- triangular.c ---- */
/* a x = b for a (n, n) triangular with strides, b (n, k), one of whose strides is one. */
void lin_triangular(const lin_context *x, int64_t n, int64_t k, lin_matrix a, int upper, int unit,
                    char *b, int64_t b_row, int64_t b_column);

/* ---- own.c: column-major matrices; failures as those of the leaves ---- */
int64_t lin_cholesky(const lin_context *x, int64_t n, char *a, int64_t lda);
void lin_lu(const lin_context *x, int64_t m, int64_t n, char *a, int64_t lda, int64_t *pivots);
/* The first zero on the diagonal, from 1; 0: none. */
int64_t lin_zero_pivot(const lin_context *x, int64_t n, const char *a, int64_t lda);
/* a (m, n): r and reflectors, and the t of each panel in t, LIN_PANEL * LIN_PANEL a panel; v:
 * LIN_PANEL columns of m and max(n, columns of q) more rows of LIN_PANEL, to work in. */
void lin_qr(const lin_context *x, int64_t m, int64_t n, char *a, int64_t lda, char *t, char *v);
/* q (m, k) of what lin_qr has left in a. */
void lin_qr_form(const lin_context *x, int64_t m, int64_t n, int64_t k, const char *a, int64_t lda,
                 const char *t, char *v, char *q, int64_t ldq);
int64_t lin_qr_work(int64_t m, int64_t n, int64_t k); /* elements of v */

/* ---- batch.c: one kernel's call ---- */
typedef struct lin_call lin_call;
struct lin_call {
    const ndp_call *call;
    lin_context x;
    int64_t count; /* matrices */
    int64_t slot_bytes, product_bytes;
    double work; /* multiply-adds of one matrix, about */
    /* Computes matrix `item` in a slot. 0, or what pivot is at fault: from 1; below 0: none is, but
     * an iteration does not converge. */
    int64_t (*one)(const lin_call *c, const lin_context *x, int64_t item, char *slot);
    const char *fault; /* what a pivot at fault makes of a matrix, and is: see lin_kernel_run */
    const char *pivot;
    int32_t check;
    int32_t lapack;    /* a LAPACK computes the matrices */
    int64_t m, n, k;   /* extents, by class */
    int64_t place[8];  /* of memory in the slot, by class */
    int64_t *failures; /* a matrix each */
    char *slots;
    int32_t n_slots;
    atomic_uchar *busy;
};
/* LIN_F32 ... of a dtype, in which halves are computed; below 0: none. */
int32_t lin_type_of(int32_t dtype);
/* Fills in all but the places, the work and what is at fault. */
void lin_begin(lin_call *c, const ndp_call *call, int check);
/* Room for so many elements, or bytes, in the slot: its place. */
int64_t lin_take(lin_call *c, int64_t elements);
int64_t lin_take_bytes(lin_call *c, int64_t nbytes);
/* The largest product of the call. */
void lin_take_product(lin_call *c, int64_t rows, int64_t columns, int64_t depth);
/* A kernel whose calls a class of linear algebra plans. Its run computes every matrix, and is NDP_ERR_LINALG for the
 * first at fault, if that is to be checked. */
typedef struct {
    ndp_kernel base;
    void (*plan)(lin_call *c, const ndp_call *call);
} lin_kernel;
uint64_t lin_kernel_scratch(const ndp_kernel *kernel, const ndp_call *call);
int32_t lin_kernel_run(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call);
#define LIN_KERNEL(plan_of)                     \
    {                                           \
        .base = {.size = sizeof(ndp_kernel),    \
                 .max_ndim = NDP_MAX_NDIM,      \
                 .scratch = lin_kernel_scratch, \
                 .run = lin_kernel_run},        \
        .plan = (plan_of)                       \
    }
/* A matrix (rows, columns) of operand v, or a column of it where v has one axis behind the batch,
 * into or from column-major memory, in the dtype of the computation. */
void lin_get(const lin_context *x, const ndp_view *v, int64_t item, void *dst, int64_t ld);
void lin_put(const lin_context *x, const void *src, int64_t ld, const ndp_view *v, int64_t item);
/* Integers, dense or a column of v. */
void lin_put_integers(const int64_t *src, const ndp_view *v, int64_t item);
void lin_get_integers(const ndp_view *v, int64_t item, int64_t *dst);
/* NaN in all of the matrix of operand v. */
void lin_put_nan(const lin_context *x, const ndp_view *v, int64_t item);

#endif
