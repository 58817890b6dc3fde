/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What norms of rows share: elements of bf16 widened, sums of two or four doubles over the threads of a row at
 * once, with few exchanges between lanes, and what follows from them: 1/sqrt without a quotient. */
#ifndef NDOCK_CUDA_ROW_SUM_CUH
#define NDOCK_CUDA_ROW_SUM_CUH
#include "neural/neural.cuh"
#ifdef __CUDACC__
#include "math/hw.cuh"
#endif

/* Of bf16, which is the upper half of a float: one instruction an element, where the conversion of one that was taken out of
 * its word needs two. */
template <int V> NEURAL_FN void neural_widen(const neural_raw<__nv_bfloat16, V> &raw, float (&x)[V])
{
#pragma unroll
    for (int k = 0; k < V; k++) {
        const uint32_t pair = raw.at[k / 2], word = k % 2 ? pair & 0xffff0000u : pair << 16;
        memcpy((void *)&x[k], &word, sizeof word);
    }
}

/* Sums of N values (4 or 2) over a warp: those of value n in lanes n*32/N and those that follow. Halves of
 * the lanes take over halves of the values, so that few words are exchanged. */
template <int N> NEURAL_FN double row_fold(const double (&s)[N])
{
    const bool upper = threadIdx.x & 16, odd = threadIdx.x & 8;
    double a;
    if (N == 4) {
        double kept[2];
#pragma unroll
        for (int k = 0; k < 2; k++)
            kept[k] = (upper ? s[N / 2 + k] : s[k]) +
                      __shfl_xor_sync(0xffffffffu, upper ? s[k] : s[N / 2 + k], 16);
        a = (odd ? kept[1] : kept[0]) + __shfl_xor_sync(0xffffffffu, odd ? kept[0] : kept[1], 8);
    } else {
        a = (upper ? s[1] : s[0]) + __shfl_xor_sync(0xffffffffu, upper ? s[0] : s[1], 16);
        a += __shfl_xor_sync(0xffffffffu, a, 8);
    }
#pragma unroll
    for (int h = 4; h; h /= 2)
        a += __shfl_xor_sync(0xffffffffu, a, h);
    return a;
}

/* The sums of N values over the threads of a row, in every thread, in one order. Calls of a block that alternate
 * between two slots need one barrier. */
template <int N, bool WARP> NEURAL_FN void row_join(double (&s)[N], int slot)
{
    enum { MOST = 16, EACH = 32 / N };
    __shared__ double all[2][WARP ? 1 : N][WARP ? 1 : MOST];
    const unsigned lane = threadIdx.x % 32, warps = blockDim.x / 32;
    double a = row_fold<N>(s);
    if (!WARP) {
        if (lane % EACH == 0)
            all[slot][lane / EACH][threadIdx.x / 32] = a;
        __syncthreads();
        a = 0;
#pragma unroll
        for (unsigned w = lane % EACH; w < MOST; w += EACH)
            if (w < warps)
                a += all[slot][lane / EACH][w];
#pragma unroll
        for (int h = EACH / 2; h; h /= 2)
            a += __shfl_xor_sync(0xffffffffu, a, h);
    }
#pragma unroll
    for (int k = 0; k < N; k++)
        s[k] = __shfl_sync(0xffffffffu, a, k * EACH);
}

/* 1/sqrt(x). Every thread computes it for every row: a root and a quotient of doubles would be many
 * times the instructions. */
NEURAL_FN double held_rsqrt(double x)
{
#ifdef __CUDA_ARCH__
    if (x > 1e-300 && x < 1e300)
        return cm_rsqrt(x);
#endif
    return 1.0 / sqrt(x);
}

/* The same of a normal float, within 2 ulp. */
NEURAL_FN float row_rsqrt(float x)
{
#ifdef __CUDA_ARCH__
    return cm_rsqrt(x);
#else
    return 1.0f / sqrtf(x);
#endif
}

#endif
