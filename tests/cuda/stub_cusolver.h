/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the files of the cuSOLVER that pretends share: numbers of any dtype, and what its functions do
 * first. */
#ifndef NDOCK_TESTS_CUDA_STUB_CUSOLVER_H
#define NDOCK_TESTS_CUDA_STUB_CUSOLVER_H
#include <complex.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(default)

typedef double complex number;
typedef void *CUstream;
enum { WORK = 1024, HOST = 512, INVALID_VALUE = 3, NO_WORK = 31 };

/* Of all: handles made and destroyed; functions run; those among them that had too small a work
 * area, or no stream; matrices given to each way of an svd. */
typedef struct {
    _Atomic int made, destroyed, runs, without, polar, direct;
} solver_counts;
extern solver_counts stub_solver_counts;

typedef struct {
    int has_stream;
} handle;

#define SOLVER_FN(name, required, parameters) int name parameters;
#define SOLVER_FOUR(field, s, d, c, z, parameters) \
    int s parameters;                              \
    int d parameters;                              \
    int c parameters;                              \
    int z parameters;
#define BLAS_FN SOLVER_FN
#define BLAS_FOUR SOLVER_FOUR
#include "linalg/solver.def"

/* Whether a cudaDataType is of single precision. */
int stub_is_single(int type);
number stub_get(int type, const void *at, int64_t i);
void stub_put(int type, void *at, int64_t i, number x);
/* A copy of a matrix, column after column without gaps; what is stored goes back. */
number *stub_load(int type, const void *a, int64_t lda, int64_t m, int64_t n);
void stub_store(int type, void *a, int64_t lda, int64_t m, int64_t n, const number *x);
/* Looks at the work areas, which it fills; not 0: one is too small. */
int stub_begin(const handle *h, void *work, size_t nbytes, void *host, size_t host_bytes);
int stub_sizes(size_t *device, size_t *host, size_t host_bytes);

#endif
