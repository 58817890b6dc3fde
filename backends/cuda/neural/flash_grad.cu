/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The kernels of gradients of attention by tensor cores, as flash.cu has those of attention: for
 * rows of queries and of keys. */
#include "neural/flash_grad.cuh"

#define FLASH_DTYPE_(dtype) cuda_dtype<NDP_##dtype>::stored
#define FLASH_DTYPE(dtype) FLASH_DTYPE_(dtype)
typedef FLASH_DTYPE(CUDA_DTYPE) flash_grad_element;

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define FLASH_RUN_GRAD(D, M, KEYS) flash_grad<flash_grad_element, D, M, KEYS>(p).run()
#else
#define FLASH_RUN_GRAD(D, M, KEYS)
#endif
#define FLASH_GRAD_KERNEL_(name, dtype, ...)                       \
    extern "C" __global__ void __launch_bounds__(FLASH_THREADS)    \
        name##_##dtype(const __grid_constant__ attention_params p) \
    {                                                              \
        __VA_ARGS__;                                               \
    }
#define FLASH_GRAD_KERNEL(name, dtype, ...) FLASH_GRAD_KERNEL_(name, dtype, __VA_ARGS__)
/* Pieces of 16 rows of a warp: of queries, of keys. */
#define FLASH_GRAD(D, M, N)                                                       \
    FLASH_GRAD_KERNEL(flash_queries_##D, CUDA_DTYPE, FLASH_RUN_GRAD(D, M, false)) \
    FLASH_GRAD_KERNEL(flash_keys_##D, CUDA_DTYPE, FLASH_RUN_GRAD(D, N, true))
FLASH_GRAD(32, 2, 2)
FLASH_GRAD(64, 2, 2)
FLASH_GRAD(80, 2, 1)
FLASH_GRAD(96, 2, 1)
FLASH_GRAD(128, 2, 1)
