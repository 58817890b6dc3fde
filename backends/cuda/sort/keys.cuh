/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elements as unsigned keys in the order of sorting, as in backends/cpu/sort/sort.h: keys of -0 and +0
 * are one, as are those of all NaNs, which is the largest. */
#ifndef NDOCK_CUDA_KEYS_CUH
#define NDOCK_CUDA_KEYS_CUH
#include <ndock/plugin.h>
#include <stdint.h>

/* U: unsigned, of the element's width; INFINITE: the bits of +infinity. */
template <class U> static __device__ __forceinline__ U float_key(U raw, U infinite)
{
    const U sign = (U)((U)1 << (8 * sizeof(U) - 1)), all = (U) ~(U)0;
    U size = raw & (U)~sign;
    if (size == 0)
        return sign;
    if (size > infinite)
        return all;
    return raw & sign ? (U)~raw : (U)(raw | sign);
}

static __device__ __forceinline__ uint32_t key_f32(uint32_t raw)
{
    return float_key<uint32_t>(raw, 0x7f800000u);
}
static __device__ __forceinline__ uint64_t key_f64(uint64_t raw)
{
    return float_key<uint64_t>(raw, 0x7ff0000000000000ull);
}

/* NaN in the imaginary part alone comes after all numbers, then NaN in the real part alone, then in
 * both; within these the other part decides. Keys of infinities leave room for the first. */
static __device__ __forceinline__ uint64_t key_c64(uint32_t re_raw, uint32_t im_raw)
{
    uint64_t re = key_f32(re_raw), im = key_f32(im_raw);
    return im == UINT32_MAX && re != UINT32_MAX ? (uint64_t)0xff900000u << 32 | re : re << 32 | im;
}
static __device__ __forceinline__ void key_c128(const uint64_t *raw, uint64_t *first,
                                                uint64_t *second)
{
    uint64_t re = key_f64(raw[0]), im = key_f64(raw[1]);
    bool im_alone = im == UINT64_MAX && re != UINT64_MAX;
    *first = im_alone ? 0xfff8000000000000ull : re;
    *second = im_alone ? re : im;
}

/* The key of element `at` of an array of any dtype but c128, in as many low bits as the element
 * has. */
static __device__ __forceinline__ uint64_t key_of(int32_t dtype, uint64_t array, int64_t at)
{
    switch (dtype) {
    case NDP_BOOL:
        return ((const uint8_t *)array)[at] != 0;
    case NDP_U8:
        return ((const uint8_t *)array)[at];
    case NDP_I8:
        return ((const uint8_t *)array)[at] ^ 0x80u;
    case NDP_U16:
        return ((const uint16_t *)array)[at];
    case NDP_I16:
        return ((const uint16_t *)array)[at] ^ 0x8000u;
    case NDP_F16:
        return float_key<uint16_t>(((const uint16_t *)array)[at], 0x7c00u);
    case NDP_BF16:
        return float_key<uint16_t>(((const uint16_t *)array)[at], 0x7f80u);
    case NDP_U32:
        return ((const uint32_t *)array)[at];
    case NDP_I32:
        return ((const uint32_t *)array)[at] ^ 0x80000000u;
    case NDP_F32:
        return key_f32(((const uint32_t *)array)[at]);
    case NDP_U64:
        return ((const uint64_t *)array)[at];
    case NDP_I64:
        return ((const uint64_t *)array)[at] ^ 0x8000000000000000ull;
    case NDP_F64:
        return key_f64(((const uint64_t *)array)[at]);
    default: { /* c64 */
        uint2 x = ((const uint2 *)array)[at];
        return key_c64(x.x, x.y);
    }
    }
}

/* Copies one element of nbytes. */
static __device__ __forceinline__ void copy_element(uint64_t to, int64_t at, uint64_t from,
                                                    int64_t from_at, int32_t nbytes)
{
    switch (nbytes) {
    case 1:
        ((uint8_t *)to)[at] = ((const uint8_t *)from)[from_at];
        break;
    case 2:
        ((uint16_t *)to)[at] = ((const uint16_t *)from)[from_at];
        break;
    case 4:
        ((uint32_t *)to)[at] = ((const uint32_t *)from)[from_at];
        break;
    case 8:
        ((uint64_t *)to)[at] = ((const uint64_t *)from)[from_at];
        break;
    default:
        ((ulonglong2 *)to)[at] = ((const ulonglong2 *)from)[from_at];
    }
}

#endif
