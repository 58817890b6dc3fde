/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters of the kernels that programs are compiled to. For host C and device C++; the device's
 * side is compiled from this text at run time. */
#ifndef NDOCK_CUDA_PROGRAM_PARAMS_H
#define NDOCK_CUDA_PROGRAM_PARAMS_H
#include "walk/divisor.h"

enum {
    CUDA_PROGRAM_IN = 16,
    CUDA_PROGRAM_OUT = 8,
    CUDA_PROGRAM_OPERANDS = CUDA_PROGRAM_IN + CUDA_PROGRAM_OUT,
    CUDA_PROGRAM_SCALARS = 64,
    CUDA_PROGRAM_NDIM = 6,
    CUDA_PROGRAM_THREADS = 256,
    CUDA_PROGRAM_EACH = 4, /* elements that a thread of the strided kernel computes */
    CUDA_PROGRAM_KEPT =
        16 /* values that a program of rows keeps from one walk over a row to the next */
};

/* An element of any dtype. */
typedef struct {
    uint64_t half[2];
} cuda_program_scalar;

/* Operands are inputs, then results. */
typedef struct {
    uint64_t n;
    int32_t aligned, zero; /* every operand lies at a multiple of 16 bytes */
    uint64_t operand[CUDA_PROGRAM_OPERANDS];
    cuda_program_scalar scalar[CUDA_PROGRAM_SCALARS];
} cuda_program_flat;

/* Fewer than 2^31 elements; dimensions are innermost first, strides in elements. */
typedef struct {
    uint32_t n, zero;
    uint64_t operand[CUDA_PROGRAM_OPERANDS];
    cuda_program_scalar scalar[CUDA_PROGRAM_SCALARS];
    cuda_divisor extent[CUDA_PROGRAM_NDIM];
    int64_t stride[CUDA_PROGRAM_OPERANDS][CUDA_PROGRAM_NDIM];
} cuda_program_strided;

/* A group of lanes has a row, items of as many elements each; strides and steps, along the row, count
 * elements. */
typedef struct {
    uint32_t rows, items;
    int32_t lanes, lanes_log2;
    uint32_t slots; /* rows of a block */
    uint32_t whole; /* bit i: operand i is moved an item at a time; the whole kernel's all are */
    int64_t count;  /* elements of a row */
    double inverse; /* 1/count */
    uint64_t operand[CUDA_PROGRAM_OPERANDS];
    cuda_program_scalar scalar[CUDA_PROGRAM_SCALARS];
    cuda_divisor extent[CUDA_PROGRAM_NDIM];
    int64_t stride[CUDA_PROGRAM_OPERANDS][CUDA_PROGRAM_NDIM], step[CUDA_PROGRAM_OPERANDS];
    uint32_t kept[CUDA_PROGRAM_KEPT]; /* where in shared memory, in bytes */
} cuda_program_rows;

/* What the host knows of such a kernel. */
typedef struct {
    int32_t width; /* elements of an item */
    int32_t n_kept, n_reductions;
    uint32_t moved;                        /* bit i: operand i has an element for each of a row */
    int32_t kept_bytes[CUDA_PROGRAM_KEPT]; /* of an element */
    int32_t op[CUDA_PROGRAM_KEPT], dtype[CUDA_PROGRAM_KEPT];
    int32_t input[CUDA_PROGRAM_KEPT]; /* that the reduction reads; -1: none */
} cuda_program_rows_facts;

#endif
