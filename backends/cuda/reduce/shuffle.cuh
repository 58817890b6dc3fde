/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * States of several words that move between the lanes of a warp. */
#ifndef NDOCK_CUDA_SHUFFLE_CUH
#define NDOCK_CUDA_SHUFFLE_CUH
#include "walk/lines.cuh"

/* The state of the lane that is distance lanes below in the same group of width lanes. */
template <class S> LINE_FN S state_shuffle_down(S s, int distance, int width)
{
    union {
        S state;
        uint32_t word[sizeof(S) / 4];
    } u = {s};
    static_assert(sizeof(S) % 4 == 0, "states are whole words");
#pragma unroll
    for (int i = 0; i < (int)(sizeof(S) / 4); i++)
        u.word[i] = __shfl_down_sync(0xffffffffu, u.word[i], distance, width);
    return u.state;
}

template <class S> LINE_FN S state_shuffle_up(S s, int distance)
{
    union {
        S state;
        uint32_t word[sizeof(S) / 4];
    } u = {s};
    static_assert(sizeof(S) % 4 == 0, "states are whole words");
#pragma unroll
    for (int i = 0; i < (int)(sizeof(S) / 4); i++)
        u.word[i] = __shfl_up_sync(0xffffffffu, u.word[i], distance);
    return u.state;
}

#endif
