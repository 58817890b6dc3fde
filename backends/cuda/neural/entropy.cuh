/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The targets of rows of scores, and what is told of a bad one. */
#ifndef NDOCK_CUDA_ENTROPY_CUH
#define NDOCK_CUDA_ENTROPY_CUH
#include "neural/neural.cuh"
#include "neural/neural.h"

/* The first bad target of the stream is told of. */
static __device__ __noinline__ void entropy_report(const neural_entropy &p, int64_t row, int64_t y)
{
    unsigned long long *word = (unsigned long long *)p.status;
    if (!word || atomicCAS(word, 0ull, (unsigned long long)NDP_ERR_INDEX) != 0ull)
        return;
    word[1] = (unsigned long long)p.op;
    word[2] = (unsigned long long)row;
    word[3] = (unsigned long long)y;
    word[4] = (unsigned long long)p.n;
}

/* The target of a row; -1: the row does not count. The thread that tells reports a bad target. */
NEURAL_FN int64_t entropy_target(const neural_entropy &p, int64_t row, bool tells)
{
    const int64_t y = ((const int64_t *)p.y)[row * p.y_step];
    if (y == p.ignore)
        return -1;
    if (y >= 0 && y < p.n)
        return y;
    if (tells)
        entropy_report(p, row, y);
    return -1;
}

#endif
