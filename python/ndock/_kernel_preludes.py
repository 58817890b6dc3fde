# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of types in the languages of kernels, and what each source begins with."""
from __future__ import annotations

# dtype: (computed in C, CUDA C++, OpenCL C); stored as itself, but for bool and the types of 16 bits.
COMPUTED = {
    "bool": ("bool", "bool", "bool"), "int8": ("int8_t", "signed char", "char"), "int16": ("int16_t", "short", "short"),
    "int32": ("int32_t", "int", "int"), "int64": ("int64_t", "long long", "long"), "uint8": ("uint8_t", "unsigned char", "uchar"),
    "uint16": ("uint16_t", "unsigned short", "ushort"), "uint32": ("uint32_t", "unsigned int", "uint"),
    "uint64": ("uint64_t", "unsigned long long", "ulong"), "float16": ("float",) * 3, "bfloat16": ("float",) * 3,
    "float32": ("float",) * 3, "float64": ("double",) * 3}
STORED = {"bool": "uint8", "float16": "uint16", "bfloat16": "uint16"}
LANGUAGES = ("c", "cuda", "opencl")

HALVES = """
ND_FN float nd_load_bfloat16(nd_u16 h) { return nd_as_float((nd_u32)h << 16); }
ND_FN nd_u16 nd_store_bfloat16(float x)
{
    nd_u32 u = nd_as_uint(x);
    return (nd_u16)((u & 0x7fffffffu) > 0x7f800000u ? (u >> 16) | 0x40u : (u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}
ND_FN float nd_load_float16(nd_u16 h)
{
    nd_u32 sign = (nd_u32)(h & 0x8000u) << 16, m = h & 0x7fffu;
    if (m >= 0x7c00u)
        return nd_as_float(sign | 0x7f800000u | (m & 0x3ffu) << 13);
    if (m >= 0x400u)
        return nd_as_float(sign | ((m << 13) + 0x38000000u));
    return nd_as_float(sign | nd_as_uint((float)m * 5.9604644775390625e-8f));
}
ND_FN nd_u16 nd_store_float16(float x)
{
    nd_u32 u = nd_as_uint(x), a = u & 0x7fffffffu, sign = u >> 16 & 0x8000u, shift, middle, fraction, r;
    if (a > 0x7f800000u)
        return (nd_u16)(sign | 0x7e00u | (a >> 13 & 0x3ffu));
    if (a >= 0x477ff000u)
        return (nd_u16)(sign | 0x7c00u);
    if (a >= 0x38800000u)
        return (nd_u16)(sign | (a - 0x38000000u + 0xfffu + (a >> 13 & 1u)) >> 13);
    if (a < 0x33000000u)
        return (nd_u16)sign;
    shift = 126u - (a >> 23);
    middle = 1u << (shift - 1u);
    fraction = (a & 0x7fffffu) | 0x800000u;
    r = fraction >> shift;
    fraction &= (1u << shift) - 1u;
    return (nd_u16)(sign | (r + (fraction > middle || (fraction == middle && (r & 1u)))));
}
"""
PRELUDES = {
    "c": """#include "ndock_kernel.h"
#ifdef __clang__
#define ND_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define ND_IVDEP _Pragma("GCC ivdep")
#endif
#define nd_load_float16 cpu_f16_to_f32
#define nd_store_float16 cpu_f16_from_f32
#define nd_load_bfloat16 cpu_bf16_to_f32
#define nd_store_bfloat16 cpu_bf16_from_f32
""",
    "cuda": """typedef unsigned short nd_u16;
typedef unsigned int nd_u32;
typedef signed char int8;
typedef short int16;
typedef int int32;
typedef long long int64;
typedef unsigned char uint8;
typedef unsigned short uint16;
typedef unsigned int uint32;
typedef unsigned long long uint64;
typedef float float32;
typedef double float64;
#define ND_FN static __device__ __forceinline__
#define ND_KERNEL extern "C" __global__ void __launch_bounds__(256)
#define ND_GLOBAL
#define ND_SHARED __shared__
#define ND_SYNC() __syncthreads()
#define ND_THREAD ((int)threadIdx.x)
#define ND_BLOCK_X ((int64)blockIdx.x)
#define ND_BLOCK_Y ((int64)blockIdx.y)
#define ND_GROUP 256
#define nd_as_float(x) __uint_as_float(x)
#define nd_as_uint(x) __float_as_uint(x)
template <class T, int N> struct __align__(sizeof(T) * N) nd_vector { T at[N]; };
""" + HALVES,
    "opencl": """#pragma OPENCL FP_CONTRACT OFF
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
typedef ushort nd_u16;
typedef uint nd_u32;
#define ND_FN static inline
#define ND_KERNEL __kernel void
#define ND_GLOBAL __global
#define ND_SHARED __local
#define ND_SYNC() barrier(CLK_LOCAL_MEM_FENCE)
#define ND_THREAD ((int)get_local_id(0))
#define ND_BLOCK_X ((long)get_group_id(0))
#define ND_BLOCK_Y ((long)get_group_id(1))
#define ND_GROUP 64
#define nd_as_float(x) as_float(x)
#define nd_as_uint(x) as_uint(x)
""" + HALVES + """
#define int8 char
#define int16 short
#define int32 int
#define int64 long
#define uint8 uchar
#define uint16 ushort
#define uint32 uint
#define uint64 ulong
#define float32 float
#define float64 double
#define size_t ulong
"""}
