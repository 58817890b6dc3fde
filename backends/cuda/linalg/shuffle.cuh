/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elements exchanged among the lanes of a warp, all of which take part. */
#ifndef NDOCK_CUDA_LINALG_SHUFFLE_CUH
#define NDOCK_CUDA_LINALG_SHUFFLE_CUH
#include "linalg/scalar.cuh"

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
