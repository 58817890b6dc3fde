/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters of the kernels of class QUANT, the same for host C and device C++. */
#ifndef NDOCK_CUDA_QUANT_H
#define NDOCK_CUDA_QUANT_H
#include <stdint.h>

enum {
    QUANT_THREADS = 256, /* of a block */
    QUANT_WARPS = QUANT_THREADS / 32,
    QUANT_TILE = 4,   /* rows of a that one pass over b serves where there is more than one */
    FEW_MOST = 8,     /* rows of a that are few */
    FEW_ROWS = 2,     /* rows of blocks that a warp takes at a time, where a has few rows */
    FEW_LEAST = 8,    /* warps of a block of threads that takes few rows */
    FEW_STAGED = 9216 /* bytes of them on their way to a warp */
};
/* A block of threads, of which a multiprocessor runs one at once, has at most FEW_WARPS warps: more leave fewer registers
 * than q3_K needs. One row is multiplied by as many where each has one pair of rows, else by FEW_MANY_TURNS. Of 11,008
 * rows an H100 took with 18, 16 and 12 of them 13.4, 12.5 and 11.5 us (q3_K), 9.5, 9.2 and 8.9 (q2_K), 20.2, 19.9 and 19.7
 * (q8_0), 12.2, 12.1 and 12.3 (q4_0), and with 10 longer. */
enum { FEW_WARPS = 16, FEW_MANY_TURNS = 12 };
/* One row of a of so many elements at most stays in registers, of which FEW_MANY_TURNS warps leave enough. Of 11,008 rows an
 * H200 took with 12 and 8 of them, in a graph, 8.4 and 8.8 us (q3_K), 6.0 and 6.2 (q2_K), 6.6 and 7.4 (q4_0); of 32,000 as long. */
enum { HELD_MOST = 4096 };

/* Of dequantize: rows*n elements of blocks into out. Of activate: a, m rows of n elements, into
 * codes, d (each 32) and sums (each 16). Of product: out[i, r] of row i of a and row r of blocks. */
typedef struct {
    uint64_t blocks, a, out, codes, d, sums;
    int64_t rows, n, m, row_bytes;
    int32_t format, dtype; /* of blocks; of a or out */
    int32_t word;          /* blocks may be read 2 or 4 bytes at once; 1: they may not */
    int32_t rounded;       /* of product_few: bytes of a row of a in shared memory */
} quant_params;

#endif
