/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The kernels of gradients of attention by products of warpgroups, as flash_wide.cu has those of
 * attention, and the one that ends them. */
#include "neural/flash_wide_finish.cuh"
#include "neural/flash_wide_grad.cuh"
#include "neural/flash_wide_split.cuh"

#define FLASH_DTYPE_(dtype) cuda_dtype<NDP_##dtype>::stored
#define FLASH_DTYPE(dtype) FLASH_DTYPE_(dtype)
typedef FLASH_DTYPE(CUDA_DTYPE) flash_wide_grad_element;

#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define FLASH_WIDE_GRAD_RUN(D, STEP, PLAIN)                                   \
    flash_wide_grad<flash_wide_grad_element, D, STEP, PLAIN>(                 \
        p, attention_place(p, (int)blockIdx.x, (int)(p.batch * p.key_heads))) \
        .run()
#define FLASH_WIDE_SPLIT_RUN(D, KEYS, PLAIN) \
    flash_wide_split<flash_wide_grad_element, D, KEYS, PLAIN>(p).run()
#else
#define FLASH_WIDE_GRAD_RUN(D, STEP, PLAIN)
#define FLASH_WIDE_SPLIT_RUN(D, KEYS, PLAIN)
#endif
#define FLASH_WIDE_GRAD_KERNEL_(name, dtype, threads, ...)         \
    extern "C" __global__ void __launch_bounds__(threads, 1)       \
        name##_##dtype(const __grid_constant__ attention_params p) \
    {                                                              \
        __VA_ARGS__;                                               \
    }
#define FLASH_WIDE_GRAD_KERNEL(name, dtype, threads, ...) \
    FLASH_WIDE_GRAD_KERNEL_(name, dtype, threads, __VA_ARGS__)
#define FLASH_WIDE_GRAD(D, STEP)                                     \
    FLASH_WIDE_GRAD_KERNEL(flash_wide_grad_##D, CUDA_DTYPE, 384,     \
                           FLASH_WIDE_GRAD_RUN(D, STEP, true))       \
    FLASH_WIDE_GRAD_KERNEL(flash_wide_grad_any_##D, CUDA_DTYPE, 384, \
                           FLASH_WIDE_GRAD_RUN(D, STEP, false))
#define FLASH_WIDE_SPLIT(D)                                             \
    FLASH_WIDE_GRAD_KERNEL(flash_wide_queries_##D, CUDA_DTYPE, 384,     \
                           FLASH_WIDE_SPLIT_RUN(D, false, true))        \
    FLASH_WIDE_GRAD_KERNEL(flash_wide_queries_any_##D, CUDA_DTYPE, 384, \
                           FLASH_WIDE_SPLIT_RUN(D, false, false))       \
    FLASH_WIDE_GRAD_KERNEL(flash_wide_keys_##D, CUDA_DTYPE, 384,        \
                           FLASH_WIDE_SPLIT_RUN(D, true, true))         \
    FLASH_WIDE_GRAD_KERNEL(flash_wide_keys_any_##D, CUDA_DTYPE, 384,    \
                           FLASH_WIDE_SPLIT_RUN(D, true, false))
#include "neural/flash_wide.def"
FLASH_WIDE_GRAD_KERNEL(flash_wide_finish, CUDA_DTYPE, FLASH_THREADS,
                       flash_wide_finish<flash_wide_grad_element>(p))
