/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elements exchanged among the lanes of a warp, all of which take part. */
#ifndef NDOCK_CUDA_LINALG_SHUFFLE_CUH
#define NDOCK_CUDA_LINALG_SHUFFLE_CUH
#include "linalg/scalar.cuh"

/* The largest, and the least, of the lanes' numbers. */
LIN_FN uint32_t lin_lanes_most(uint32_t x)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    for (int apart = 16; apart > 0; apart /= 2) {
        const uint32_t other = __shfl_xor_sync(0xffffffffu, x, apart);
        x = other > x ? other : x;
    }
    return x;
#else
    return __reduce_max_sync(0xffffffffu, x);
#endif
}
LIN_FN uint32_t lin_lanes_least(uint32_t x)
{
    return ~lin_lanes_most(~x);
}

/* Of the lanes' magnitudes, each at a place, the place of the largest; of equal ones the first
 * place. NaN is larger than all numbers, and what is below zero counts as no magnitude. */
LIN_FN int lin_place_of_most(float size, int at)
{
    const uint32_t key = size != size ? ~0u : size < 0 ? 0 : __float_as_uint(size) + 1;
    return (int)lin_lanes_least(key == lin_lanes_most(key) ? (uint32_t)at : ~0u);
}
LIN_FN int lin_place_of_most(double size, int at) /* all lanes take part in each reduction */
{
    const uint64_t bits = (uint64_t)__double_as_longlong(size);
    const uint32_t high = size != size ? ~0u : size < 0 ? 0 : (uint32_t)(bits >> 32) + 1;
    const uint32_t most = lin_lanes_most(high);
    const uint32_t low = high == most && high != ~0u ? (uint32_t)bits : 0;
    const uint32_t last = lin_lanes_most(low);
    return (int)lin_lanes_least(high == most && low == last ? (uint32_t)at : ~0u);
}

#define LIN_SHUFFLE(R)                                 \
    LIN_FN R lin_shuffle(R x, int lane)                \
    {                                                  \
        return __shfl_sync(0xffffffffu, x, lane);      \
    }                                                  \
    LIN_FN R lin_shuffle_xor(R x, int apart)           \
    {                                                  \
        return __shfl_xor_sync(0xffffffffu, x, apart); \
    }
LIN_SHUFFLE(int)
LIN_SHUFFLE(float)
LIN_SHUFFLE(double)
#undef LIN_SHUFFLE
template <class R> LIN_FN lin_pair<R> lin_shuffle(lin_pair<R> x, int lane)
{
    return {lin_shuffle(x.re, lane), lin_shuffle(x.im, lane)};
}
template <class R> LIN_FN lin_pair<R> lin_shuffle_xor(lin_pair<R> x, int apart)
{
    return {lin_shuffle_xor(x.re, apart), lin_shuffle_xor(x.im, apart)};
}

#endif
