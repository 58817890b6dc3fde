/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters of the elementwise kernels, the same for host C and device C++. */
#ifndef NDOCK_CUDA_ELEMENTWISE_H
#define NDOCK_CUDA_ELEMENTWISE_H
#include "index.h"

enum {
    EW_THREADS = 256,
    EW_INPUTS = 3,
    EW_MAX_NDIM = 6,      /* of a launch; the host loops over the dimensions beyond */
    EW_VECTOR_BYTES = 16, /* of operands of the op's own dtype; others have as many elements */
    EW_ROW_VECTORS = 2    /* vectors, or single elements, of a thread of op_rows */
};

/* Vectors of a thread of op_dense: four loads in flight. */
#define EW_DENSE_VECTORS(inputs) ((inputs) == 1 ? 4 : 2)
/* A tile of an input in shared memory: SIDE rows, PITCH elements apart; 48 KiB hold three. */
#define EW_TILE_SIDE(inputs, nbytes) ((inputs) == EW_INPUTS || (nbytes) >= 8 ? 32 : 64)
#define EW_TILE_PITCH(side, nbytes) ((side) + ((nbytes) < 4 ? 4 / (nbytes) : 1))
#define EW_TILE_BYTES(side, nbytes) (((side)*EW_TILE_PITCH(side, nbytes) * (nbytes) + 15) / 16 * 16)

/* An input: the address of its first element, or its value (bit i of scalars is set). */
typedef union {
    uint64_t at;
    unsigned char scalar[16];
} ew_input;

/* op_dense: every operand dense in C order from a 16-byte address on, or a scalar. */
typedef struct {
    uint64_t n, out;
    uint32_t scalars, zero;
    ew_input in[EW_INPUTS];
} ew_dense;

/* op_rows and op_tiled: any strides, in elements, the innermost dimension first. Fewer than 2^31
 * elements.
 *   rows of vectors   out_stride[0] is 1; columns: vectors of a row; n: of all rows
 *   rows of elements  columns: extent[0]; n: elements
 *   tiled             columns, lines: tiles along dimensions 0 and 1; n: tiles, a block for each.
 *                     Inputs whose bit of transposed is set are loaded along dimension 1. */
typedef struct {
    uint32_t n, scalars, by_element, transposed;
    int32_t ndim, zero;
    cuda_divisor columns, lines, extent[EW_MAX_NDIM];
    uint64_t out;
    ew_input in[EW_INPUTS];
    int64_t out_stride[EW_MAX_NDIM], in_stride[EW_INPUTS][EW_MAX_NDIM];
} ew_strided;

#endif
