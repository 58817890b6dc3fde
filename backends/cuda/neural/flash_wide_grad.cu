/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The kernels of gradients of attention by products of warpgroups, as flash_wide.cu has those of
 * attention: for rows of queries and of keys. */
#include "neural/flash_wide_grad.cuh"

#define FLASH_DTYPE_(dtype) cuda_dtype<NDP_##dtype>::stored
#define FLASH_DTYPE(dtype) FLASH_DTYPE_(dtype)
typedef FLASH_DTYPE(CUDA_DTYPE) flash_wide_grad_element;

#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define FLASH_WIDE_RUN_GRAD(D, GROUPS, STEP, KEYS) \
    flash_wide_grad<flash_wide_grad_element, D, GROUPS, STEP, KEYS>(p).run()
#else
#define FLASH_WIDE_RUN_GRAD(D, GROUPS, STEP, KEYS)
#endif
#define FLASH_WIDE_GRAD_KERNEL_(name, dtype, threads, ...)         \
    extern "C" __global__ void __launch_bounds__(threads, 1)       \
        name##_##dtype(const __grid_constant__ attention_params p) \
    {                                                              \
        __VA_ARGS__;                                               \
    }
#define FLASH_WIDE_GRAD_KERNEL(name, dtype, threads, ...) \
    FLASH_WIDE_GRAD_KERNEL_(name, dtype, threads, __VA_ARGS__)
/* Columns; warpgroups that multiply and rows of the other side at once: wide_grad_shapes of flash.c
 * has the same. */
#define FLASH_WIDE_QUERIES(D, GROUPS, STEP)                                        \
    FLASH_WIDE_GRAD_KERNEL(flash_wide_queries_##D, CUDA_DTYPE, 128 * (GROUPS + 1), \
                           FLASH_WIDE_RUN_GRAD(D, GROUPS, STEP, false))
#define FLASH_WIDE_KEYS(D, GROUPS, STEP)                                        \
    FLASH_WIDE_GRAD_KERNEL(flash_wide_keys_##D, CUDA_DTYPE, 128 * (GROUPS + 1), \
                           FLASH_WIDE_RUN_GRAD(D, GROUPS, STEP, true))
FLASH_WIDE_QUERIES(64, 3, 64)
FLASH_WIDE_QUERIES(80, 2, 64)
FLASH_WIDE_QUERIES(96, 2, 64)
FLASH_WIDE_QUERIES(128, 2, 64)
FLASH_WIDE_KEYS(64, 2, 96)
FLASH_WIDE_KEYS(80, 2, 64)
FLASH_WIDE_KEYS(96, 2, 64)
FLASH_WIDE_KEYS(128, 2, 64)
