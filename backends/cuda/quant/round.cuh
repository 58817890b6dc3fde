/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What kernels of quantised blocks share: floats of any dtype, codes of 8 bits, sums of a warp, copies to
 * shared memory, the beginning of the next kernel. */
#ifndef NDOCK_CUDA_QUANT_ROUND_CUH
#define NDOCK_CUDA_QUANT_ROUND_CUH
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <ndock/plugin.h>
#include "quant/quant.h"

static __device__ __forceinline__ float load(uint64_t at, int32_t dtype, int64_t i)
{
    if (dtype == NDP_F16)
        return __half2float(((const __half *)at)[i]);
    if (dtype == NDP_BF16)
        return __bfloat162float(((const __nv_bfloat16 *)at)[i]);
    return dtype == NDP_F64 ? (float)((const double *)at)[i] : ((const float *)at)[i];
}

static __device__ __forceinline__ void store(uint64_t at, int32_t dtype, int64_t i, float x)
{
    if (dtype == NDP_F16)
        ((__half *)at)[i] = __float2half_rn(x);
    else if (dtype == NDP_BF16)
        ((__nv_bfloat16 *)at)[i] = __float2bfloat16_rn(x);
    else if (dtype == NDP_F64)
        ((double *)at)[i] = x;
    else
        ((float *)at)[i] = x;
}

/* What elements are multiplied by to have codes: 0 where d is not finite, or so small that its inverse is not. */
static __device__ __forceinline__ float inverse_of(float d)
{
    const float inverse = d > 0 ? __frcp_rn(d) : 0;
    return inverse < INFINITY ? inverse : 0;
}
/* The nearest integer of |v| < 2^22, halves away from 0; of NaN, 0. A sum that is rounded towards 0 never passes an
 * integer. */
static __device__ __forceinline__ int code_of(float v)
{
    return __float2int_rz(__fadd_rz(v, copysignf(0.5f, v)));
}

static __device__ __forceinline__ float sum_of_warp(float sum)
{
    for (int k = 16; k > 0; k /= 2)
        sum += __shfl_xor_sync(~0u, sum, k);
    return sum;
}

static __device__ __forceinline__ void copy_16(unsigned char *to, const unsigned char *from)
{
#if __CUDA_ARCH__ >= 800
    const uint32_t at = (uint32_t)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
#else
    *(uint4 *)to = *(const uint4 *)from;
#endif
}
static __device__ __forceinline__ void copies_end(void)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/* All copies but those of the last N groups that were ended are there. */
template <int N> static __device__ __forceinline__ void copies_wait(void)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
    __syncwarp();
}

/* The next kernel, if it waits for the end of this one by itself, may begin where this one's blocks of threads leave room,
 * once all of these have called it. */
static __device__ __forceinline__ void next_may_begin(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

#endif
