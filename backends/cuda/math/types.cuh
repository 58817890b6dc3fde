/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Element types of kernels: what lies in memory, what is computed in, and the way between. */
#ifndef NDOCK_CUDA_TYPES_CUH
#define NDOCK_CUDA_TYPES_CUH
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <ndock/op_expand.h>
#include <ndock/plugin.h>
#include <stdint.h>

struct alignas(8) cuda_c64 {
    float re, im;
};
struct alignas(16) cuda_c128 {
    double re, im;
};

/* A bool as it lies in memory that others wrote: any byte but 0 is true. */
struct cuda_bool {
    uint8_t byte;
    cuda_bool() = default;
    __device__ __forceinline__ explicit cuda_bool(int64_t x) : byte(x != 0) {}
    __device__ __forceinline__ operator uint8_t() const { return byte != 0; }
};

/* cuda_dtype<NDP_F16>::stored is __half, ::computed is float. */
template <int DTYPE> struct cuda_dtype;
#define CUDA_TYPE(NAME, STORED, COMPUTED, REAL)           \
    template <> struct cuda_dtype<NDP_##NAME> {           \
        typedef STORED stored;                            \
        typedef COMPUTED computed;                        \
        typedef REAL real; /* stored type of abs, real */ \
    };
CUDA_TYPE(BOOL, uint8_t, uint8_t, uint8_t)
CUDA_TYPE(I8, int8_t, int8_t, int8_t)
CUDA_TYPE(I16, int16_t, int16_t, int16_t)
CUDA_TYPE(I32, int32_t, int32_t, int32_t)
CUDA_TYPE(I64, int64_t, int64_t, int64_t)
CUDA_TYPE(U8, uint8_t, uint8_t, uint8_t)
CUDA_TYPE(U16, uint16_t, uint16_t, uint16_t)
CUDA_TYPE(U32, uint32_t, uint32_t, uint32_t)
CUDA_TYPE(U64, uint64_t, uint64_t, uint64_t)
CUDA_TYPE(F16, __half, float, __half)
CUDA_TYPE(BF16, __nv_bfloat16, float, __nv_bfloat16)
CUDA_TYPE(F32, float, float, float)
CUDA_TYPE(F64, double, double, double)
CUDA_TYPE(C64, cuda_c64, cuda_c64, float)
CUDA_TYPE(C128, cuda_c128, cuda_c128, double)
#undef CUDA_TYPE

/* CUDA_OF_KIND(KIND, row) is the macro row for the kinds of dtypes that kernels know; for dtypes
 * that are only stored it is one that drops its arguments. */
#define CUDA_COMPUTES_BOOL ND_EXPAND_YES
#define CUDA_COMPUTES_INT ND_EXPAND_YES
#define CUDA_COMPUTES_UINT ND_EXPAND_YES
#define CUDA_COMPUTES_FLOAT ND_EXPAND_YES
#define CUDA_COMPUTES_COMPLEX ND_EXPAND_YES
#define CUDA_OF_KIND(KIND, row) ND_EXPAND_IF(CUDA_COMPUTES_##KIND, row, CUDA_NO_ROW)
#define CUDA_NO_ROW(...)

/* Stored to computed, and back with one rounding to nearest even; NaN stays NaN. */
template <class T> static __device__ __forceinline__ T cuda_widen(T x)
{
    return x;
}
static __device__ __forceinline__ float cuda_widen(__half x)
{
    return __half2float(x);
}
static __device__ __forceinline__ float cuda_widen(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}
template <class S, class C> static __device__ __forceinline__ S cuda_narrow(C x)
{
    return (S)x;
}
template <> __device__ __forceinline__ cuda_c64 cuda_narrow<cuda_c64, cuda_c64>(cuda_c64 x)
{
    return x;
}
template <> __device__ __forceinline__ cuda_c128 cuda_narrow<cuda_c128, cuda_c128>(cuda_c128 x)
{
    return x;
}
template <> __device__ __forceinline__ __half cuda_narrow<__half, float>(float x)
{
    return __float2half_rn(x);
}
template <> __device__ __forceinline__ __nv_bfloat16 cuda_narrow<__nv_bfloat16, float>(float x)
{
    return __float2bfloat16_rn(x);
}

/* Several elements that are loaded or stored at once. */
template <class T, int N> struct alignas(sizeof(T) * N) cuda_vector {
    T at[N];
};

#endif
