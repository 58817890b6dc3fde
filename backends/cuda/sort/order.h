/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters of the kernels of order statistics and partitions. */
#ifndef NDOCK_CUDA_ORDER_H
#define NDOCK_CUDA_ORDER_H
#include "walk/walk.h"

enum {
    ORDER_BITS = 11, /* of a key's digit, most significant first */
    ORDER_DIGITS = 1 << ORDER_BITS,
    ORDER_THREADS = 256,
    ORDER_PARTS = 1024,   /* a row is partitioned in at most so many parts */
    ORDER_AT_ONCE = 1024, /* problems in scratch memory */
    /* A block has a row of more than LEAST elements, of any number where there are many rows. */
    ORDER_ROW_LEAST = 512,
    ORDER_ROW_MOST = 8192,
    ORDER_LIST = 512,  /* keys that it keeps */
    ORDER_TOGETHER = 4 /* neighbours of the order that it finds */
};

/* What is known of an element of a row's order: digits of its key, and how many keys with the same
 * digits come before it. */
typedef struct {
    uint64_t key, rank;
} order_state;

/* A problem is one element of the order of one row: number `problem` is element
 * first + problem % k of row problem / k. A grid's y counts problems from `from` on. For order_rows,
 * which needs no scratch memory, `from` is how many groups of neighbours there are. */
typedef struct {
    cuda_walk rows;
    uint64_t a, values, positions; /* 0: not wanted */
    uint64_t n, k, first, from;
    uint64_t states, counts, parts; /* in scratch memory; parts: less and equal, ORDER_PARTS each */
    uint64_t per_part, n_parts;
    int64_t stride, values_stride, positions_stride;
    int32_t dtype, nbytes;
    int32_t shift, bits; /* of this pass's digit */
    int64_t row_stride[CUDA_WALK_NDIM], row_values_stride[CUDA_WALK_NDIM],
        row_positions_stride[CUDA_WALK_NDIM];
} order_params;

#ifndef __cplusplus /* of class SORT */
#include "host/backend.h"
int32_t cuda_order_find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                        size_t n);
#endif
#endif
