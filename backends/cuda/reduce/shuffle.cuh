/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * States of several words that move between the lanes of a warp. */
#ifndef NDOCK_CUDA_SHUFFLE_CUH
#define NDOCK_CUDA_SHUFFLE_CUH
#include "walk/lines.cuh"

/* The state whose words are f(word). */
template <class S, class F> LINE_FN S state_moved(S s, const F &f)
{
    union {
        S state;
        uint32_t word[sizeof(S) / 4];
    } u = {s};
    static_assert(sizeof(S) % 4 == 0, "states are whole words");
#pragma unroll
    for (int i = 0; i < (int)(sizeof(S) / 4); i++)
        u.word[i] = f(u.word[i]);
    return u.state;
}

/* The state of the lane that is distance lanes below in the same group of width lanes. */
template <class S> LINE_FN S state_shuffle_down(S s, int distance, int width)
{
    return state_moved(
        s, [=](uint32_t word) { return __shfl_down_sync(0xffffffffu, word, distance, width); });
}

template <class S> LINE_FN S state_shuffle_up(S s, int distance)
{
    return state_moved(s,
                       [=](uint32_t word) { return __shfl_up_sync(0xffffffffu, word, distance); });
}

template <class S> LINE_FN S state_shuffle(S s, int lane)
{
    return state_moved(s, [=](uint32_t word) { return __shfl_sync(0xffffffffu, word, lane); });
}

#endif
