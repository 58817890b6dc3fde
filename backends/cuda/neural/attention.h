/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters of the kernels of attention, the same for host C and device C++. Strides count
 * elements; operands are (b, h, row, column). */
#ifndef NDOCK_CUDA_ATTENTION_H
#define NDOCK_CUDA_ATTENTION_H
#include <ndock/plugin.h>

/* Queries and keys of a block, and columns of a result that it has. */
/* Kernels for any dtype and width. */
enum { ATTENTION_FORWARD, ATTENTION_QUERIES = 0, ATTENTION_KEYS, ATTENTION_VALUES };
enum { ATTENTION_DELTA = 3, ATTENTION_OWN };
enum { ATTENTION_BLOCK = 64, ATTENTION_COLUMNS = 64, ATTENTION_THREADS = 256 };
/* On tensor cores (flash.cuh): queries that a block has at most, keys that it takes at a time, and
 * the widest heads. */
enum { FLASH_THREADS = 128, FLASH_WARPS = 4, FLASH_KEYS = 64, FLASH_WIDEST = 256 };
/* Rows of the other side that gradients take at a time, and the widest heads that they serve. */
enum { FLASH_GRAD_STEP = 32, FLASH_GRAD_WIDEST = 128 };
/* Tiles whose queries there is room for, where a block takes one after another: the next one's are copied early. Of 128
 * columns and 4,096 keys that took 2 % longer than a block for each tile; of 256 there is no room. */
#define FLASH_WIDE_PLACES(columns) ((columns) > 96 ? 1 : 2)
/* Queries of a block whose warps share out the keys. */
enum { FLASH_SPREAD_ROWS = 16 };
/* Threads of a block that joins the parts of a row, and groups of them that share out the parts. */
enum { FLASH_JOIN_THREADS = 512, FLASH_JOIN_GROUPS = 4 };
/* Threads that sum a row for gradients. */
enum { ATTENTION_DELTA_BESIDE = 8 };
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
    /* On tensor cores. A row of a block is a query of one of `pack` heads that share keys: number
     * i*pack + head. The keys are cut in `splits` of keys_each, which leave their parts of results
     * behind: (part, b, h, i, column), then their logsumexp (part, b, h, i). */
    int32_t pack, whole, whole_result; /* whole: rows are taken 16 bytes at a time, or written */
    int32_t rows, row_blocks, splits, parts, keys_each, blocks; /* blocks: of all rows and splits */
    uint64_t part, part_lse;
    /* Of gradients: the result, whose products with g make delta, here in C order; whether rows of
     * both are taken 16 bytes at a time. Sums of gradients of queries, tile by tile, and whose turn
     * it is to add to a tile; tiles of a head. Of all kernels whose blocks differ in length: heads whose blocks begin
     * together. */
    attention_view o;
    uint64_t sums, turns;
    int64_t turn_count;
    int32_t whole_sums, tiles, together, tile_rows, tile_columns;
    /* Queries of a head in delta, and beside it logsumexp as it is taken from scores, in powers of 2:
     * those beyond m are there to be copied in pieces of 16 bytes, and have weights of 0. */
    int64_t sum_rows;
    uint64_t shift;
} attention_params;

#endif
