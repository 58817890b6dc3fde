/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The kernels of attention by products of warpgroups of one dtype, CUDA_DTYPE, for heads of up to D
 * columns. Code for other architectures than sm_90a is empty, and is not called. */
#include "neural/flash_wide.cuh"

#define FLASH_DTYPE_(dtype) cuda_dtype<NDP_##dtype>::stored
#define FLASH_DTYPE(dtype) FLASH_DTYPE_(dtype)
typedef FLASH_DTYPE(CUDA_DTYPE) flash_wide_element;

#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define FLASH_WIDE_RUN(D, GROUPS, KEYS, STAGES, PLAIN) \
    flash_wide_tiles<flash_wide<flash_wide_element, D, GROUPS, KEYS, STAGES, PLAIN>>::run(p)
#else
#define FLASH_WIDE_RUN(D, GROUPS, KEYS, STAGES, PLAIN)
#endif
#define FLASH_WIDE_KERNEL_(name, dtype, threads, ...)              \
    extern "C" __global__ void __launch_bounds__(threads, 1)       \
        name##_##dtype(const __grid_constant__ attention_params p) \
    {                                                              \
        __VA_ARGS__;                                               \
    }
#define FLASH_WIDE_KERNEL(name, dtype, threads, ...) \
    FLASH_WIDE_KERNEL_(name, dtype, threads, __VA_ARGS__)
#define FLASH_WIDE(D, GROUPS, KEYS, STAGES)                                 \
    FLASH_WIDE_KERNEL(flash_wide_##D, CUDA_DTYPE, 128 * ((GROUPS) + 1),     \
                      FLASH_WIDE_RUN(D, GROUPS, KEYS, STAGES, true))        \
    FLASH_WIDE_KERNEL(flash_wide_any_##D, CUDA_DTYPE, 128 * ((GROUPS) + 1), \
                      FLASH_WIDE_RUN(D, GROUPS, KEYS, STAGES, false))
#define FLASH_WIDE_SHORT(D, GROUPS, KEYS, STAGES)                             \
    FLASH_WIDE_KERNEL(flash_wide_short_##D, CUDA_DTYPE, 128 * ((GROUPS) + 1), \
                      FLASH_WIDE_RUN(D, GROUPS, KEYS, STAGES, true))
#include "neural/flash_wide.def"
