/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * cuBLASLt, opened at run time: one handle per device (it serves any thread), and its choices of
 * algorithm, kept by problem. */
#ifndef NDOCK_CUDA_BLASLT_H
#define NDOCK_CUDA_BLASLT_H
#include "host/backend.h"

/* Scales of 8-bit floating operands: none, one of each, or one of each row of a and column of b. */
enum { BLASLT_PLAIN, BLASLT_SCALED, BLASLT_SCALED_LINES };

/* All that a choice depends on. Rows are lines of dense elements, so products are in C order; a
 * transposed operand's lines are its columns. Every byte counts: clear it before it is filled. */
typedef struct {
    int64_t m, n, k, batch;
    int64_t line[3],
        step[3];           /* of a, b, out: elements from line to line, from product to product */
    int32_t transposed[2]; /* a, b */
    int32_t dtype, dtype_b, out; /* of a, b, the result */
    int32_t scaled;              /* BLASLT_*: by f32 numbers on the device */
    int32_t align[4];            /* bytes, a power of two up to 256: of a, b, out and the bias */
    uint32_t mode;               /* NDP_MODE_* */
    int32_t has_bias;            /* of n elements, added to each line */
    int32_t epilogue, zero;      /* NDP_EPILOGUE_NONE, RELU, or GELU_TANH; 0 */
} blaslt_key;

/* Opens the library and makes the device's handle, once; inside cuda_enter(). Without the library
 * (said once in the log) nothing is served. */
void cuda_blaslt_open(ndp_dev *);
void cuda_blaslt_close(ndp_dev *);
/* Whether the library serves the problem, and with how much workspace. */
int cuda_blaslt_serves(ndp_dev *, const blaslt_key *, uint64_t *workspace);
/* The bits of mode that count for products in the dtype. */
uint32_t cuda_blaslt_mode(const ndp_dev *, int32_t dtype, uint32_t mode);
/* out = epilogue(alpha * a@b [* scales] + beta * out [+ bias]). The workspace begins at a multiple of
 * BLASLT_WORKSPACE_ALIGN bytes, scales at one of BLASLT_SCALE_ALIGN. */
enum { BLASLT_WORKSPACE_ALIGN = 256, BLASLT_SCALE_ALIGN = 16 };
typedef struct {
    CUdeviceptr a, b, out, bias, workspace, scale[2]; /* scales of a, b */
    double alpha, beta;
} blaslt_operands;
/* BLASLT_REFUSED, which is no status of ours: the library refuses the operands though it serves the problem.
 * Nothing was queued, and the caller has another way. */
enum { BLASLT_REFUSED = -1 };
int32_t cuda_blaslt_run(ndp_dev *, ndp_stream *, const blaslt_key *, const blaslt_operands *);

#endif
