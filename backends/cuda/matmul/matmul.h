/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters of the matrix product's own kernels, the same for host C and device C++. */
#ifndef NDOCK_CUDA_MATMUL_H
#define NDOCK_CUDA_MATMUL_H
#include <stdint.h>

enum {
    MM_TILE = 64,
    MM_DEPTH = 16,
    MM_THREADS = 256,
    MM_VECTOR_ROWS = 4, /* of a matrix that a block multiplies by a vector */
    MM_FINISH = 1024    /* elements of a line that a block of matmul_finish takes at a time */
};

/* Matrices, one of each product of a batch; strides count elements. at 0: there is none. */
typedef struct {
    uint64_t at;
    int64_t row, column, batch;
    int32_t dtype, size; /* bytes of an element */
} mm_matrix;

/* matmul_tiles: out = epilogue(alpha * a@b * scale_a * scale_b + beta * out + bias), for the products from first on.
 * matmul_vector: the same of one product, m or n being 1, where lines along k lie dense.
 * matmul_finish: the same with a the sums already. matmul_pack: out = a. */
typedef struct {
    mm_matrix a, b, out, bias, scale_a, scale_b; /* scales are f32, of out's shape by stride 0 */
    int64_t m, n, k, batch, first; /* pack: a has m lines of n, made as long as k by zeros */
    double alpha, beta;
    int32_t epilogue, zero;
} mm_params;

#endif
