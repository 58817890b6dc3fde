/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters of the kernels of class QUANT, the same for host C and device C++. */
#ifndef NDOCK_CUDA_QUANT_H
#define NDOCK_CUDA_QUANT_H
#include <stdint.h>

enum {
    QUANT_THREADS = 256, /* of a block */
    QUANT_WARPS = QUANT_THREADS / 32,
    QUANT_PIECE =
        64, /* groups of 32 elements of a row of blocks in shared memory at a time; a multiple of 16
                         bytes in each format */
    QUANT_TILE = 4 /* rows of a that one pass over b serves where there is more than one */
};

/* Of dequantize: rows*n elements of blocks into out. Of activate: a, m rows of n elements, into
 * codes, d (each 32) and sums (each 16). Of product: out[i, r] of row i of a and row r of blocks. */
typedef struct {
    uint64_t blocks, a, out, codes, d, sums;
    int64_t rows, n, m, row_bytes;
    int32_t format, dtype; /* of blocks; of a or out */
    int32_t word;          /* blocks may be read 2 or 4 bytes at once; 1: they may not */
} quant_params;

#endif
