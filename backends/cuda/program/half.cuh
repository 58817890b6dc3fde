/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What types.cuh and convert.cuh use of cuda_fp16.h and cuda_bf16.h, which machines without the CUDA
 * toolkit do not have, by the same instructions. Compiled at run time in their place. */
#ifndef NDOCK_CUDA_PROGRAM_HALF_CUH
#define NDOCK_CUDA_PROGRAM_HALF_CUH
#include <stdint.h>

struct alignas(2) __half {
    uint16_t bits;
};
struct alignas(2) __nv_bfloat16 {
    uint16_t bits;
};
#define HALF_FN static __device__ __forceinline__
HALF_FN uint16_t __half_as_ushort(__half x)
{
    return x.bits;
}
HALF_FN __half __ushort_as_half(uint16_t x)
{
    __half r;
    r.bits = x;
    return r;
}
HALF_FN __nv_bfloat16 __ushort_as_bfloat16(uint16_t x)
{
    __nv_bfloat16 r;
    r.bits = x;
    return r;
}
HALF_FN float __half2float(__half x)
{
    float r;
    asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x.bits));
    return r;
}
/* One element as the lower of two: conversions of two at once are in a pipe that takes four times as
 * many as those of one. */
HALF_FN __half __float2half_rn(float x)
{
#if __CUDA_ARCH__ >= 800
    uint32_t r;
    asm("cvt.rn.f16x2.f32 %0, 0f00000000, %1;" : "=r"(r) : "f"(x));
    return __ushort_as_half((uint16_t)r);
#else
    uint16_t r;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x));
    return __ushort_as_half(r);
#endif
}
HALF_FN float __bfloat162float(__nv_bfloat16 x)
{
    return __uint_as_float((uint32_t)x.bits << 16);
}
HALF_FN __nv_bfloat16 __float2bfloat16_rn(float x)
{
#if __CUDA_ARCH__ >= 800
    uint32_t r;
    asm("cvt.rn.bf16x2.f32 %0, 0f00000000, %1;" : "=r"(r) : "f"(x));
    return __ushort_as_bfloat16((uint16_t)r);
#else
    uint32_t u = __float_as_uint(x);
    return __ushort_as_bfloat16(x == x ? (uint16_t)((u + 0x7fffu + ((u >> 16) & 1)) >> 16)
                                       : 0x7fff);
#endif
}
#undef HALF_FN
#endif
