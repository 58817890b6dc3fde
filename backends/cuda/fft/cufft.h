/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * cuFFT: its plans, kept in the device's plan cache, and carrying them out. */
#ifndef NDOCK_CUDA_CUFFT_H
#define NDOCK_CUDA_CUFFT_H
#include "host/backend.h"

/* Opens the library with the first call; later ones say what became of it. NDP_ERR_UNSUPPORTED: it
 * is not there. */
int32_t cuda_cufft_open(void);
/* What to say where it is not: the library, and what to install. */
const char *cuda_cufft_missing(void);

/* One side of a transform: element x0, x1, x2 of number b is ((x0*embed[1] + x1)*embed[2] +
 * x2)*step + b*apart elements from the first (one and two axes likewise). */
enum { CUFFT_AXES = 3 };
typedef struct {
    int64_t embed[CUFFT_AXES], step, apart;
} cufft_side;
enum { CUFFT_COMPLEX, CUFFT_TO_COMPLEX, CUFFT_TO_REAL };
/* What tells plans apart; unused parts are zero. n: of the real side. Both sides all zero: the
 * elements lie one after the other, without gaps. */
typedef struct {
    char name[8];
    uint64_t epoch; /* of the device: plans of one that was closed are gone */
    int32_t kind, single, rank, device;
    int64_t n[CUFFT_AXES], batch;
    cufft_side in, out;
} cufft_key;
void cuda_cufft_key(const ndp_dev *dev, int32_t kind, int32_t single, cufft_key *out);

/* Bytes of the work area that a plan wants, at least one; makes the plan if need be. */
int32_t cuda_cufft_work(ndp_dev *dev, const cufft_key *key, uint64_t *nbytes);
/* Queues the transform on the stream. sign: of the exponent, for CUFFT_COMPLEX. times: how often,
 * with both addresses moved by `move` bytes each time. */
typedef struct {
    CUdeviceptr in, out, work;
    int32_t sign, zero;
    int64_t times, move;
} cufft_run;
int32_t cuda_cufft_run(ndp_dev *dev, ndp_stream *s, const cufft_key *key, const cufft_run *run);
/* Forgets the device's plans. */
void cuda_cufft_close(ndp_dev *dev);

#endif
