/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What operations on batches of matrices share: the life of those with several results, the views
 * that kernels of the classes FACTOR, SOLVE, EIGEN and SVD take, and the small steps that
 * decompositions and products are composed of.
 *
 * An operation embeds an nd_matrices at the start of its own life:
 *
 *     nd_matrices m;
 *     nd_status status = start(..., &m);      checks, dtypes, nd__matrices_in and _out
 *     return nd__matrices_end(&m, status, results);
 */
#ifndef NDOCK_CORE_LINALG_H
#define NDOCK_CORE_LINALG_H
#include <ndock/linalg.h>
#include "core/ops/steps.h"

enum { ND_MATRICES_IN = 3, ND_MATRICES_OUT = 3 };

typedef union {
    uint32_t size;
    ndp_factor factor;
    ndp_solve solve;
    ndp_eigen eigen;
    ndp_svd svd;
} nd_matrix_params;

typedef struct {
    const nd_op_info *info;
    const char *name;        /* of the function, for errors */
    nd_linalg_opts o;        /* as they were given, or zeros */
    nd_device *device;       /* of the first operand */
    nd_dtype compute, given; /* halves are computed in f32, and given back as what they were */
    nd_scope scope;
    int batch_ndim; /* of the results' leading axes */
    int64_t batch[ND_MAX_NDIM];
    int n_in, n_out;
    nd_array *in[ND_MATRICES_IN], *out[ND_MATRICES_OUT];
    int in_axes[ND_MATRICES_IN], out_axes[ND_MATRICES_OUT]; /* behind the batch: 1 or 2 */
    nd_matrix_params params;
} nd_matrices;

/* Begins the operation `op`, which function `name` asks for with these options. */
nd_status nd__matrices_begin(nd_matrices *m, nd_op op, const char *name, const nd_array *a,
                             const nd_linalg_opts *opts);
/* The dtype to compute in, of what the operands have in common. */
nd_status nd__matrices_dtype(nd_matrices *m, nd_dtype common);
/* The next operand: a in the compute dtype, with so many axes behind its batch, which widens the
 * results' batch. It is argument `argument` of the function. */
nd_status nd__matrices_in(nd_matrices *m, const nd_array *a, int axes, int argument);
/* The next result: a new array of that dtype and of the batch, with axes of these extents. */
nd_status nd__matrices_out(nd_matrices *m, nd_dtype dtype, int axes, int64_t rows, int64_t columns);
/* Calls the kernel, if there is anything to compute. */
nd_status nd__matrices_run(nd_matrices *m);
/* Hands the results over, in the dtype that the caller expects, or drops them where status is an
 * error. results[i] NULL: result i is not wanted. */
nd_status nd__matrices_end(nd_matrices *m, nd_status status, nd_array **const *results);

/* The life of those with one result is an nd_operation (prepare.h), with what this adds. */
typedef struct {
    nd_operation of;
    nd_linalg_opts o;
    nd_dtype compute; /* of.result is halves again where this is f32 for them */
    int in_axes[ND_MATRICES_IN], out_axes;
    bool vector; /* the last operand and the result are columns without their last axis */
    nd_matrix_params params;
} nd_matrix_operation;

/* Begins it with its first operand; the function's name is `name`. */
nd_status nd__matrix_begin(nd_matrix_operation *p, nd_op op, const char *name, const nd_array *a,
                           const nd_linalg_opts *opts);
/* Casts operand `place` to the compute dtype; it has so many axes behind its batch. The results'
 * batch, which of.ndim and of.shape have, becomes what it broadcasts to with the operand's. */
nd_status nd__matrix_operand(nd_matrix_operation *p, int place, int axes, bool cast);
/* The result's axes behind its batch. */
nd_status nd__matrix_result(nd_matrix_operation *p, int axes, int64_t rows, int64_t columns);

/* Calls the op's kernel with operands whose batch has been merged to one dimension. Every array has
 * in_axes[i], out_axes[i] axes behind its batch; the inputs' batches broadcast to this one. An
 * output whose batch cannot be merged is computed elsewhere and copied. */
nd_status nd__run_matrices(nd_op op, const void *params, int batch_ndim, const int64_t *batch,
                           int n_in, const nd_array *const *in, const int *in_axes, int n_out,
                           const nd_array *const *out, const int *out_axes);

/* The options, zeros for NULL. */
nd_status nd__linalg_options(const char *op, const nd_linalg_opts *opts, nd_linalg_opts *o);
/* a has at least two axes. */
nd_status nd__check_matrix(const char *op, const nd_array *a, int argument);
/* The last two extents are equal as well. */
nd_status nd__check_square(const char *op, const nd_array *a, int argument);
/* The dtype for FACTOR, SOLVE, EIGEN and SVD, and the one that results are given back in. */
nd_status nd__linalg_dtypes(const char *op, nd_dtype common, nd_dtype *compute, nd_dtype *given);

/* ---- views and small steps that results are composed of ---- */
/* An extent of one at axis `axis` of the view, counted from the end. */
nd_array *nd__step_axis(nd_steps *s, const nd_array *a, int32_t axis);
/* Rows and columns [0, rows) and [0, columns) of each matrix; their diagonals. */
nd_array *nd__step_corner(nd_steps *s, const nd_array *a, int64_t rows, int64_t columns);
nd_array *nd__step_diagonal(nd_steps *s, const nd_array *a);
/* Which singular values of a count: those above rtol (of the batch's shape; NULL: the longest
 * extent times the dtype's precision) times the largest. */
nd_array *nd__step_above(nd_steps *s, const nd_array *values, const nd_array *a,
                         const nd_array *rtol);
/* 0, 1, 2 ... along the last axis; ones on the diagonal and zeros elsewhere. */
nd_status nd__fill_positions(const nd_array *dst);
nd_status nd__fill_identity(const nd_array *dst);

static inline int64_t nd__rows(const nd_array *a)
{
    return a->shape[a->ndim - 2];
}
static inline int64_t nd__columns(const nd_array *a)
{
    return a->shape[a->ndim - 1];
}

#endif
