/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters of the kernels of ramps. */
#ifndef NDOCK_CUDA_IOTA_H
#define NDOCK_CUDA_IOTA_H
#include <stdint.h>

typedef struct {
    uint64_t dst, n;
    int64_t stride;         /* in elements */
    int32_t dense;          /* stride 1, and the address suits vectors of 16 bytes */
    uint64_t start, step;   /* integers */
    double start_f, step_f; /* floating, and the real parts */
    double start_im, step_im;
} iota_params;

#endif
