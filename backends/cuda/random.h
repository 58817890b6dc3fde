/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters of the kernels of random numbers. */
#ifndef NDOCK_CUDA_RANDOM_H
#define NDOCK_CUDA_RANDOM_H
#include "index.h"

enum { RANDOM_OUTER = 6, RANDOM_THREADS = 256 };

/* Elements first ... first + n of the sequence. Dense: one after the other from dst on, at an
 * address that suits a vector of one Philox block's results, first 0. Else by strides in elements,
 * the last dimension first, n below 2^31. */
typedef struct {
    uint64_t dst, n, first, key, counter[2];
    int32_t dense, ndim;
    cuda_divisor extent[RANDOM_OUTER];
    int64_t stride[RANDOM_OUTER];
    double a, range, below; /* uniform: low, high - low, largest result; normal: mean, deviation */
    float a_f32, range_f32, below_f32, high; /* the same in f32 */
    uint32_t half_below;                     /* uniform f16, bf16: what replaces high; 0: nothing */
    uint64_t low, width;                     /* integers: low, high - low */
} random_params;

#endif
