/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Divisors that kernels divide by: quotients of n below 2^31 as a multiplication and a shift. For
 * host C and device C++.
 *
 * Source: Granlund and Montgomery, Division by invariant integers using multiplication, PLDI 1994,
 * with shift = ceil(log2 d) and the 33-bit multiplier less 2^32. */
#ifndef NDOCK_CUDA_DIVISOR_H
#define NDOCK_CUDA_DIVISOR_H
#include <stdint.h>

typedef struct {
    uint32_t value, magic, shift;
} cuda_divisor;

/* d from 1 to 2^31 - 1. */
static inline cuda_divisor cuda_divisor_of(uint32_t d)
{
    cuda_divisor out = {d, 0, 0};
    while (((uint64_t)1 << out.shift) < d)
        out.shift++;
    out.magic = (uint32_t)((((uint64_t)1 << 32) * (((uint64_t)1 << out.shift) - d)) / d + 1);
    return out;
}

#endif
