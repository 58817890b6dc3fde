/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The kernels of attention by tensor cores of one dtype, CUDA_DTYPE, for heads of up to D columns.
 * On devices without such instructions they do nothing, and are not called. */
#include "neural/flash_join.cuh"

#define FLASH_DTYPE_(dtype) cuda_dtype<NDP_##dtype>::stored
#define FLASH_DTYPE(dtype) FLASH_DTYPE_(dtype)
typedef FLASH_DTYPE(CUDA_DTYPE) flash_element;

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define FLASH_RUN(D, M, N, SPREAD) flash<flash_element, D, M, N, SPREAD>(p).run()
#else
#define FLASH_RUN(D, M, N, SPREAD)
#endif
#define FLASH_KERNEL_(name, dtype, threads, blocks, ...)           \
    extern "C" __global__ void __launch_bounds__(threads, blocks)  \
        name##_##dtype(const __grid_constant__ attention_params p) \
    {                                                              \
        __VA_ARGS__;                                               \
    }
#define FLASH_KERNEL(name, dtype, threads, blocks, ...) \
    FLASH_KERNEL_(name, dtype, threads, blocks, __VA_ARGS__)
/* Columns; pieces of rows of a warp; keys at once; blocks of an SM. */
#define FLASH(D, M, N, BLOCKS)                                                            \
    FLASH_KERNEL(flash_##D, CUDA_DTYPE, FLASH_THREADS, BLOCKS, FLASH_RUN(D, M, N, false)) \
    FLASH_KERNEL(flash_spread_##D, CUDA_DTYPE, FLASH_THREADS, 1, FLASH_RUN(D, 1, N, true))
FLASH(32, 2, 64, 2)
FLASH(64, 2, 64, 2)
FLASH(80, 2, 64, 2)
FLASH(96, 2, 64, 2)
FLASH(128, 2, 64, 2)
FLASH(256, 1, 64, 1)
FLASH_KERNEL(flash_join, CUDA_DTYPE, FLASH_JOIN_THREADS, 1, flash_join<flash_element>(p))
