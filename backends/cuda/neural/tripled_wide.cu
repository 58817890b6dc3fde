/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The kernels of attention of f32 by products of warpgroups. Code for other architectures than sm_90a is empty, and is
 * not called. */
#include "neural/tripled_wide.cuh"

#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define TRIPLED_WIDE_RUN(D, KEYS) tripled_wide<D, KEYS>(p).run()
#else
#define TRIPLED_WIDE_RUN(D, KEYS)
#endif
#define TRIPLED_WIDE(D, KEYS)                                              \
    extern "C" __global__ void __launch_bounds__(TRIPLED_WIDE_THREADS, 1)  \
        tripled_wide_##D##_F32(const __grid_constant__ attention_params p) \
    {                                                                      \
        TRIPLED_WIDE_RUN(D, KEYS);                                         \
    }
#include "neural/tripled_wide.def"
