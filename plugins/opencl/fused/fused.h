/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Programs as OpenCL C: what elements and rows share. */
#ifndef OCL_FUSED_H
#define OCL_FUSED_H
#include "host/opencl.h"

typedef struct {
    ocl_kernel
        kernel; /* its base is what the core has; of rows, function 0 has an item a row, 1 a group */
    uint32_t n_in, n_out, n_scalar;
    int ndim, is_rows;
} ocl_fused;

typedef struct {
    const ndp_program *p;
    int32_t dtype; /* that operations compute in */
    char *text;
    size_t n, room;
    int failed;
} ocl_writer;

/* ---- fused.c ---- */
NDP_PRINTF(2, 3) void ocl_put(ocl_writer *w, const char *fmt, ...);
int32_t ocl_fused_dtype_of(const ndp_program *p, int32_t value);
/* The kernel's head, up to the operands' places at an index into the first dims dimensions. */
void ocl_put_head(ocl_writer *w, const char *name, const char *index, int dims);
void ocl_put_load(ocl_writer *w, uint32_t input, const char *along);
void ocl_put_scalars(ocl_writer *w);
void ocl_put_instruction(ocl_writer *w, const ndp_instruction *k, uint32_t value);

/* ---- rows.c ---- */
int ocl_is_reduction(const ndp_instruction *k);
/* Both kernels; 0: its reductions are of other kinds. */
int ocl_put_rows(ocl_writer *w, int ndim, char *why, size_t n);
int32_t ocl_rows_takes(ndp_dev *dev, const ndp_kernel *kernel, const ndp_call *call);
int64_t ocl_rows_length(const ndp_call *call);
int64_t ocl_rows_count(const ndp_call *call);
int ocl_rows_in_groups(const ndp_call *call); /* which of the two serves the call */

#endif
