/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Words of topk: keys of up to 32 bits in the wanted order, with positions below them. */
#ifndef NDOCK_CUDA_SORT_TOPK_KEYS_CUH
#define NDOCK_CUDA_SORT_TOPK_KEYS_CUH
#include "sort/words.cuh"

/* Elements' bits as keys of the wanted order; U: unsigned, of the element's size. */
template <class U> struct topk_keys {
    U infinite, turn;
    uint32_t flip;
    bool floats, truth;
    __device__ __forceinline__ topk_keys(const sort_params &p)
        : infinite((U)(sizeof(U) == 4        ? 0x7f800000u
                       : p.dtype == NDP_BF16 ? 0x7f80u
                                             : 0x7c00u)),
          turn(p.dtype == NDP_I8 || p.dtype == NDP_I16 || p.dtype == NDP_I32
                   ? (U)((U)1 << (8 * sizeof(U) - 1))
                   : (U)0),
          flip((uint32_t)p.flip), floats(is_float(p.dtype)), truth(p.dtype == NDP_BOOL)
    {
    }
    __device__ __forceinline__ uint32_t of(U raw) const
    {
        const U plain = sizeof(U) == 1 && truth ? (U)(raw != 0) : (U)(raw ^ turn);
        return (uint32_t)(sizeof(U) > 1 && floats ? float_key<U>(raw, infinite) : plain) ^ flip;
    }
    /* Elements to keys, all of 32 bits: what kind they are of is asked once, not of each. */
    template <int N> __device__ __forceinline__ void turn_all(uint32_t (&key)[N]) const
    {
        if (sizeof(U) == 1 && truth) {
#pragma unroll
            for (int j = 0; j < N; j++)
                key[j] = (uint32_t)(key[j] != 0) ^ flip;
        } else if (sizeof(U) > 1 && floats) {
            const bool brain = infinite == (U)0x7f80u;
#pragma unroll
            for (int j = 0; j < N; j++)
                key[j] = of_single(sizeof(U) == 4 ? key[j]
                                   : brain        ? key[j] << 16
                                                  : __float_as_uint(half_of(key[j])));
        } else {
#pragma unroll
            for (int j = 0; j < N; j++)
                key[j] ^= (uint32_t)turn ^ flip;
        }
    }

  private:
    static __device__ __forceinline__ float half_of(uint32_t raw)
    {
        return __half2float(__ushort_as_half((unsigned short)raw));
    }
    /* key_f32() without branches: the sum turns -0 to +0 and every NaN to the one of largest bits. */
    __device__ __forceinline__ uint32_t of_single(uint32_t raw) const
    {
        const uint32_t x = __float_as_uint(__fadd_rn(__uint_as_float(raw), 0.0f));
        return x ^ ((0u - (x >> 31)) | 0x80000000u) ^ flip;
    }
};

static __device__ __forceinline__ uint64_t topk_word(uint32_t key, uint32_t position)
{
    return (uint64_t)key << 32 | position;
}

#endif
