/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What attention by tensor cores and its gradients share about weights. */
#ifndef NDOCK_CUDA_FLASH_WEIGHT_CUH
#define NDOCK_CUDA_FLASH_WEIGHT_CUH
#include "neural/attention.h"
#include "neural/mma.cuh"
#include "neural/neural.cuh"

#define FLASH_LOG2E 1.4426950408889634
#define FLASH_NOTHING __int_as_float((int)0xff800000u)

/* What is taken from scores, in powers of 2, for a logsumexp; of a query that sees nothing, so that
 * its weights are 0. */
MMA_FN float flash_shift(float lse)
{
    return lse > FLASH_NOTHING || lse != lse ? lse * (float)FLASH_LOG2E : -FLASH_NOTHING;
}

/* Whether a weight is kept: those of one number modulo 4 are words of one step of Philox. */
MMA_FN bool flash_is_kept(const attention_params &p, int64_t b, int64_t h, int64_t i, int64_t j)
{
    uint32_t word[4];
    const uint64_t at = ((uint64_t)(b * p.heads + h) * p.m + i) * p.n + j;
    neural_philox(p.counter, p.key[0], p.key[1], at / 4, word);
    const uint32_t low = at & 1 ? word[1] : word[0], high = at & 1 ? word[3] : word[2];
    return (at & 2 ? high : low) >= p.least;
}

#endif
