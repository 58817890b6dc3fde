/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The kernels of terms_wide.cuh. Code for other architectures than sm_90a is empty, and is not called. */
#include "conv/terms_wide.cuh"

#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define TERMS_WIDE_RUN(BESIDE) terms_wide<BESIDE>(p)
#else
#define TERMS_WIDE_RUN(BESIDE)
#endif
#define TERMS_WIDE_KERNEL(name, BESIDE)                                \
    extern "C" __global__ void __launch_bounds__(CONV_WIDE_THREADS, 1) \
        WINDOW_NAME(name)(const __grid_constant__ cuda_convolving p)   \
    {                                                                  \
        TERMS_WIDE_RUN(BESIDE);                                        \
    }
TERMS_WIDE_KERNEL(terms_wide, false)
TERMS_WIDE_KERNEL(terms_wide_beside, true)
