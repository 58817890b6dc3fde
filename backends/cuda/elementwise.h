/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters of the elementwise kernels, the same for host C and device C++. */
#ifndef NDOCK_CUDA_ELEMENTWISE_H
#define NDOCK_CUDA_ELEMENTWISE_H
#include "index.h"

enum { EW_INPUTS = 3, EW_MAX_NDIM = 6 };

/* An input: the address of its first element, or 0 for a scalar, which is stored here. */
typedef struct {
    uint64_t at;
    unsigned char scalar[16];
} ew_input;

/* Every operand dense in C order, or a scalar. */
typedef struct {
    uint64_t n, out;
    ew_input in[EW_INPUTS];
} ew_dense;

/* Any strides, in elements, the last dimension first. Fewer than 2^31 elements. */
typedef struct {
    uint32_t n;
    int32_t ndim;
    cuda_divisor extent[EW_MAX_NDIM];
    uint64_t out;
    ew_input in[EW_INPUTS];
    int64_t out_stride[EW_MAX_NDIM], in_stride[EW_INPUTS][EW_MAX_NDIM];
} ew_strided;

#endif
