/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters of the kernels of distributions whose elements try until something is accepted. */
#ifndef NDOCK_CUDA_SAMPLER_H
#define NDOCK_CUDA_SAMPLER_H
#include "walk/walk.h"

enum { SAMPLER_THREADS = 128, SAMPLER_PARAMS = 4 };

/* Elements first ... first + n of the sequence, n below 2^31. Operand 0 is the destination, the
 * others are the parameters: at their addresses by strides in elements, or value where the address
 * is 0. same: none has an address. */
typedef struct {
    uint64_t n, first, key, counter[2];
    int32_t same, zero;
    cuda_walk_few walk;
    uint64_t at[1 + SAMPLER_PARAMS];
    int64_t stride[1 + SAMPLER_PARAMS][CUDA_WALK_FEW];
    double value[SAMPLER_PARAMS];
} sampler_params;

#endif
