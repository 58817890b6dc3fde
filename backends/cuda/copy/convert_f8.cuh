/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The 8-bit floating formats beside convert.cuh's: rounded once, to nearest even, and saturating. Their
 * instructions take f32; of f64 the library rounds in software. */
#ifndef NDOCK_CUDA_CONVERT_F8_CUH
#define NDOCK_CUDA_CONVERT_F8_CUH
#include "copy/convert.cuh"
#include <cuda_fp8.h>

struct cuda_f8_e4m3 {
    uint8_t byte;
};
struct cuda_f8_e5m2 {
    uint8_t byte;
};
template <> struct cuda_dtype<NDP_F8_E4M3> {
    typedef cuda_f8_e4m3 stored;
    typedef float computed;
};
template <> struct cuda_dtype<NDP_F8_E5M2> {
    typedef cuda_f8_e5m2 stored;
    typedef float computed;
};
#define CUDA_CONVERTS_F8_E4M3 ND_EXPAND_YES
#define CUDA_CONVERTS_F8_E5M2 ND_EXPAND_YES
/* As CUDA_OF_KIND, for the dtypes that kernels compute in or convert. */
#define CUDA_CONVERTED(NAME, KIND, row) \
    ND_EXPAND_IF(CUDA_COMPUTES_##KIND, row, CUDA_CONVERTED_ALONE(NAME, row))
#define CUDA_CONVERTED_ALONE(NAME, row) ND_EXPAND_IF(CUDA_CONVERTS_##NAME, row, CUDA_NO_ROW)

/* e5m2 is the upper half of binary16; e4m3 has one bit of the exponent less and no infinity. */
CONVERT_FN float cuda_widen(cuda_f8_e5m2 x)
{
    return __half2float(__ushort_as_half((unsigned short)(x.byte << 8)));
}
CONVERT_FN float cuda_widen(cuda_f8_e4m3 x)
{
    const unsigned short half = (unsigned short)((x.byte & 0x80) << 8 | (x.byte & 0x7f) << 7);
    const unsigned nan = 0x7fc00000u | (unsigned)(x.byte & 0x80) << 24;
    return (x.byte & 0x7f) == 0x7f ? __uint_as_float(nan)
                                   : __half2float(__ushort_as_half(half)) * 256.0f;
}

CONVERT_FN uint8_t convert_f8(float x, __nv_fp8_interpretation_t format)
{
    const uint8_t nan = (uint8_t)(__float_as_uint(x) >> 24 & 0x80) | 0x7f;
    return x == x ? __nv_cvt_float_to_fp8(x, __NV_SATFINITE, format) : nan;
}
CONVERT_FN uint8_t convert_f8(double x, __nv_fp8_interpretation_t format)
{
    const uint8_t nan = (uint8_t)(__double2hiint(x) >> 24 & 0x80) | 0x7f;
    return x == x ? __nv_cvt_double_to_fp8(x, __NV_SATFINITE, format) : nan;
}
template <class T> CONVERT_FN void convert_real(T x, cuda_f8_e4m3 *r)
{
    r->byte = convert_f8(convert_wide(x), __NV_E4M3);
}
template <class T> CONVERT_FN void convert_real(T x, cuda_f8_e5m2 *r)
{
    r->byte = convert_f8(convert_wide(x), __NV_E5M2);
}

#endif
