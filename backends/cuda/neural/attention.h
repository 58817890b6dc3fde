/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters of the kernels of attention, the same for host C and device C++. Strides count
 * elements; operands are (b, h, row, column). */
#ifndef NDOCK_CUDA_ATTENTION_H
#define NDOCK_CUDA_ATTENTION_H
#include <ndock/plugin.h>

/* Queries and keys of a block, and columns of a result that it has; of the kernel of tensor cores:
 * queries and keys, and the widest heads. */
enum { ATTENTION_BLOCK = 64, ATTENTION_COLUMNS = 64, ATTENTION_THREADS = 256 };
enum { FLASH_QUERIES = 64, FLASH_KEYS = 64, FLASH_WIDEST = 128, FLASH_THREADS = 128 };
enum { ATTENTION_NO_MASK, ATTENTION_BOOL, ATTENTION_ADDED };

typedef struct {
    uint64_t at;
    int64_t stride[4];
} attention_view;

typedef struct {
    attention_view q, k, v, g, mask, out[3];
    attention_view lse, delta; /* (b, h, row) */
    int64_t batch, heads, key_heads, m, n, d, e, diagonal;
    uint64_t counter[2];
    uint32_t key[2], least;
    int32_t mask_kind, causal;
    int64_t q_blocks, k_blocks, d_chunks, e_chunks;
    double scale, keep;
} attention_params;

#endif
