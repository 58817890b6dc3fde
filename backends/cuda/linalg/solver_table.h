/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The tables of cuSOLVER's and cuBLAS's functions, and a device's handles: for solver.c, which opens
 * them, and solver_run.c, which calls them. */
#ifndef NDOCK_CUDA_SOLVER_TABLE_H
#define NDOCK_CUDA_SOLVER_TABLE_H
#include "linalg/solver.h"

enum { SOLVER_ALLOC_FAILED = 2 }; /* cusolverStatus_t; cuBLAS's is another number */

typedef struct {
#define SOLVER_FN(name, required, parameters) int(*name) parameters;
#define SOLVER_FOUR(field, s, d, c, z, parameters) int(*field[4]) parameters;
#define BLAS_FN(name, required, parameters)
#define BLAS_FOUR(field, s, d, c, z, parameters)
#include "linalg/solver.def"
} solver_functions;
extern solver_functions cuda_solver_fn;

typedef struct {
#define SOLVER_FN(name, required, parameters)
#define SOLVER_FOUR(field, s, d, c, z, parameters)
#define BLAS_FN(name, required, parameters) int(*name) parameters;
#define BLAS_FOUR(field, s, d, c, z, parameters) int(*field[4]) parameters;
#include "linalg/solver.def"
} blas_functions;
extern blas_functions cuda_solver_blas;

struct cuda_solver {
    void *solver, *params, *blas;
    pthread_mutex_t lock; /* of the handles */
};

#endif
