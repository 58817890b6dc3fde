/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The kernels of attention of f32 by tiles of registers, and of its gradients: by multiply-adds, and by tensor cores. */
#include "neural/tiled.cuh"
#include "neural/tiled_forward.cuh"
#include "neural/tiled_grad.cuh"
#include "neural/tripled.cuh"

/* Copies that go on beside multiply-adds are of compute capability 8.0 and later. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define TILED_RUN(...) __VA_ARGS__(p).run()
#else
#define TILED_RUN(...)
#endif
/* Registers are those that as many warps as a multiprocessor holds of the widest kernels, eight, can have: the compiler
 * took fewer where it was not told, and products waited for each other. */
#define TILED_KERNEL(name, warps, ...)                                      \
    extern "C" __global__ void __launch_bounds__(32 * (warps), 8 / (warps)) \
        name(const __grid_constant__ attention_params p)                    \
    {                                                                       \
        TILED_RUN(__VA_ARGS__);                                             \
    }
#define TILED(D, TM, TN, WARPS, SPLIT) \
    TILED_KERNEL(tiled_##D##_F32, WARPS, tiled_forward<tiled<D, TM, TN, WARPS, SPLIT>>)
#define TILED_QUERIES(D, TM, TN, WARPS, SPLIT) \
    TILED_KERNEL(tiled_queries_##D##_F32, WARPS, tiled_grad<tiled<D, TM, TN, WARPS, SPLIT>, false>)
#define TILED_KEYS(D, TM, TN, WARPS, SPLIT) \
    TILED_KERNEL(tiled_keys_##D##_F32, WARPS, tiled_grad<tiled<D, TM, TN, WARPS, SPLIT>, true>)
#define TRIPLED(D, M, N, WARPS, SPLIT) \
    TILED_KERNEL(tripled_##D##_F32, WARPS, tiled_forward<tripled<D, M, N, WARPS, SPLIT>>)
#define TRIPLED_KEYS(D, M, N, WARPS, SPLIT) \
    TILED_KERNEL(tripled_keys_##D##_F32, WARPS, tiled_grad<tripled<D, M, N, WARPS, SPLIT>, true>)
#include "neural/tiled.def"
