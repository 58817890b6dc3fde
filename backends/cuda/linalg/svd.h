/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Singular values: what the ways for matrices that are not small share. */
#ifndef NDOCK_CUDA_LINALG_SVD_H
#define NDOCK_CUDA_LINALG_SVD_H
#include "linalg/linalg.h"

typedef struct {
    const ndp_view *u, *s, *vh; /* u, vh NULL: values alone */
    int64_t m, n, k;            /* m >= n; columns of the left factor */
    int32_t wide, adjoint;      /* adjoint: what there is of the right factor */
    uint64_t bad, matrix, values, left, right;
} svd_plan;

/* Of what the call has; no places. */
void lin_svd_plan(const lin_job *j, svd_plan *p);
/* The matrix, or of a wide one the transposed: it is still to be conjugated. */
lin_side lin_svd_operand(const lin_job *j, const svd_plan *p);
/* The factors, column by column in scratch memory, go to where they belong. m: which matrices are
 * to be NaN. */
int32_t lin_svd_put_vectors(const lin_job *j, const svd_plan *p, int place, lin_moving m);

/* ---- svd_cluster.c ---- */
/* Whether clusters have the call's matrices; what they want of scratch memory is taken for in[1] and
 * in[2] of their kernel's operands. */
int lin_svd_by_cluster(const lin_job *j, const svd_plan *q);
void lin_svd_cluster_take(lin_job *j, const svd_plan *q, lin_side *scratch);
int32_t lin_svd_cluster_run(const lin_job *j, const svd_plan *q, lin_small *p);
void lin_svd_cluster_find(cuda_kernel *k, int32_t dtype);

/* ---- svd_double.c ---- */
uint64_t lin_svd_double_scratch(lin_job *j);
int32_t lin_svd_double_run(lin_job *j);
int32_t lin_svd_double_find(cuda_kernel *k, int32_t dtype);

#endif
