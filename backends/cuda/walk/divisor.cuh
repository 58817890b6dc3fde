/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Index arithmetic of kernels: quotients by multiplication. */
#ifndef NDOCK_CUDA_DIVISOR_CUH
#define NDOCK_CUDA_DIVISOR_CUH
#include "walk/divisor.h"

static __device__ __forceinline__ uint32_t cuda_quotient(uint32_t n, cuda_divisor d)
{
    return (__umulhi(n, d.magic) + n) >> d.shift;
}

#endif
