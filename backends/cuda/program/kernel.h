/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A program's kernel on the host's side. */
#ifndef NDOCK_CUDA_PROGRAM_KERNEL_H
#define NDOCK_CUDA_PROGRAM_KERNEL_H
#include "host/backend.h"
#include "program/program.h"

enum { CUDA_PROGRAM_FLAT, CUDA_PROGRAM_STRIDED, CUDA_PROGRAM_ROWS };

/* Code, loaded when it is first called. */
typedef struct {
    char *source; /* of CUDA C++; NULL: not yet */
    char *key; /* where the driver assembles it, to the same bits; else NULL: NVRTC compiles it */
    CUmodule module;
    CUfunction function;
    atomic_uint epoch; /* of the device when the function was found; 0: not yet */
} cuda_program_code;

typedef struct {
    ndp_kernel base;
    ndp_dev *dev;
    int how, width, dims; /* CUDA_PROGRAM_FLAT ...; elements of a thread; dimensions walked */
    uint32_t n_in, n_out;
    cuda_program_rows_facts rows;
    ndp_program program;  /* its arrays are the kernel's own */
    pthread_mutex_t lock; /* of what follows */
    cuda_program_code
        code[2]; /* for all calls, where it has a source; for those that move whole words */
} cuda_program_kernel;

/* ---- program.c ---- */
/* whole: which code. */
int32_t cuda_program_launch(cuda_program_kernel *k, int whole, ndp_stream *s, uint64_t blocks,
                            uint32_t threads, uint32_t shared_bytes, void *params);
void cuda_program_scalars(const ndp_call *call, cuda_program_scalar *to);

static inline const ndp_view *cuda_program_operand(const ndp_call *call, uint32_t i)
{
    return i < call->n_in ? &call->in[i] : &call->out[i - call->n_in];
}

/* ---- rows.c ---- */
int32_t cuda_program_rows_takes(ndp_dev *dev, const ndp_kernel *kernel, const ndp_call *call);
int32_t cuda_program_rows_run(cuda_program_kernel *k, ndp_stream *s, const ndp_call *call);

#endif
