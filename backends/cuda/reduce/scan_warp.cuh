/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Running states of the lanes of a warp. */
#ifndef NDOCK_CUDA_SCAN_WARP_CUH
#define NDOCK_CUDA_SCAN_WARP_CUH
#include "reduce/shuffle.cuh"

/* Running states within the warp: x becomes what lies in front of this lane, sum the warp's whole. */
template <class OP> LINE_FN void scan_warp(typename OP::state *x, typename OP::state *sum)
{
    typedef typename OP::state S;
    int lane = threadIdx.x % 32;
    S s = *x;
#pragma unroll
    for (int h = 1; h < 32; h *= 2) {
        S below = state_shuffle_up(s, h);
        s = lane >= h ? OP::merge(below, s) : s;
    }
    S front = state_shuffle_up(s, 1);
    *x = lane ? front : OP::zero();
    *sum = state_shuffle(s, 31);
}

#endif
