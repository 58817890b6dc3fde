/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters of the kernels of random numbers. */
#ifndef NDOCK_CUDA_RANDOM_H
#define NDOCK_CUDA_RANDOM_H
#include "walk/walk.h"

enum {
    RANDOM_THREADS = 256,
    RANDOM_MANY_THREADS = 1024, /* where tables fill much of shared memory */
    RANDOM_ROUNDS = 10,
    RANDOM_EACH = 1
};
/* Bytes of the tables: intervals of logarithms and directions. */
#define RANDOM_MANY_BYTES (16 * (24 * 64 + 1) + 16 * 2048)
#define RANDOM_M0 0xD2511F53u
#define RANDOM_M1 0xCD9E8D57u

/* Elements first ... first + n of the sequence. Dense: one after the other from dst on, at an
 * address that suits a vector of one Philox block's results, first 0, at most 2^31 blocks,
 * and the low 32 bits of the counter do not overflow. Else by strides in elements, the last
 * dimension first, n below 2^31. */
typedef struct {
    uint64_t dst, n, first, counter[2];
    uint32_t round_key[2][RANDOM_ROUNDS];
    uint32_t known[4]; /* of a dense one: what the first rounds add, whatever the low 32 bits */
    int32_t dense;
    cuda_walk_few walk;
    int64_t stride[CUDA_WALK_FEW];
    double a, range, below; /* uniform: low, high - low, largest result; normal: mean, deviation */
    float a_f32, range_f32, below_f32, high; /* the same in f32 */
    int32_t plain;    /* uniform: the range is a power of two, and no result exceeds the largest;
                       * normal: the deviation is 1, the mean not -0 */
    int32_t finite;   /* the range is, and with it all results before they are rounded to 16 bits */
    float below_half; /* what half_below is */
    uint32_t half_below; /* uniform f16, bf16: what replaces high; 0: nothing */
    uint64_t low, width; /* integers: low, high - low */
} random_params;

#endif
