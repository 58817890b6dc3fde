/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * cuSOLVER and cuBLAS: column-major matrices in device memory, one after the other. */
#ifndef NDOCK_CUDA_SOLVER_H
#define NDOCK_CUDA_SOLVER_H
#include "host/backend.h"
#include "linalg/small.h"

/* Opens the libraries with the first call; later ones say what became of them. NDP_ERR_UNSUPPORTED:
 * one is not there. */
int32_t cuda_solver_open(void);
/* What to say where one is not there: which, and what to install. */
const char *cuda_solver_missing(void);
int cuda_solver_has_geev(void);
const char *cuda_solver_no_geev(void);
int cuda_solver_has_syev_batched(void);

/* The device's handles; inside cuda_enter(), under the device's lock. */
int32_t cuda_solver_make(ndp_dev *dev);
void cuda_solver_close(ndp_dev *dev);

/* Types in the order of all tables here. */
enum { SOLVER_F32, SOLVER_F64, SOLVER_C64, SOLVER_C128 };
enum { SOLVER_LOWER, SOLVER_UPPER }; /* cublasFillMode_t */
enum { SOLVER_LEFT, SOLVER_RIGHT };  /* cublasSideMode_t */
typedef enum {
    SOLVER_POTRF, /* a, info */
    SOLVER_GETRF, /* a, pivots, info */
    SOLVER_GETRS, /* a, pivots, b; k sides */
    SOLVER_GEQRF, /* a, tau */
    SOLVER_ORGQR, /* a (m, n) of k reflectors, tau */
    SOLVER_SYEVD, /* a, w, info */
    SOLVER_SYEV_BATCHED,
    SOLVER_GEEV,   /* a, w, v, info; of complex matrices */
    SOLVER_GESVD,  /* a, w, u, v, info; v is the adjoint */
    SOLVER_GESVDP, /* the same, v as it is; *moved: by how much values may be off, 0 most times */
    SOLVER_TRSM,   /* a, b (m, n) */
    SOLVER_GEMM,   /* u (m, n) = a b, or with trans op(a) b; k: the extent summed over */
    SOLVER_FUNCTIONS
} solver_function;

/* An operand: of matrix i, at + i * step bytes. */
typedef struct {
    CUdeviceptr at;
    int64_t step, ld;
} solver_operand;

/* Sizes are those of the library's function. Of one that takes no batch, `count` matrices are asked
 * for one after the other. */
typedef struct {
    solver_function function;
    int32_t type, uplo, trans, side, unit, vectors, thin;
    int64_t m, n, k, count;
    solver_operand a, b, w, u, v, tau, pivots;
    CUdeviceptr info; /* int32_t each */
    CUdeviceptr work;
    uint64_t work_bytes;
    double moved;
} solver_job;

/* Bytes of work area that the function wants; scratch of the call. */
int32_t cuda_solver_work(ndp_dev *dev, const solver_job *j, uint64_t *nbytes);
/* Queues it on the stream. Those from SYEVD to GESVDP wait for parts of their own work, and are
 * refused while the stream is captured; the others do not wait. */
int32_t cuda_solver_run(ndp_dev *dev, ndp_stream *stream, solver_job *j);

#endif
