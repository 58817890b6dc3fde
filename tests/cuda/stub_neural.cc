/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Kernels of backends/cuda/neural, compiled for the host, for the libcuda.so.1 that only pretends:
 * attention by tensor cores, and gradients of norms, of f32 alone, since their names have no dtype.
 */
#include "tests/cuda/emulate_wide.h"
#include <ndock/plugin.h>
#include "neural/flash_grad.cuh"
#include "neural/flash_join.cuh"
#include "neural/flash_wide.cuh"
#include "neural/flash_wide_grad.cuh"
#include "neural/neural.h"
#include "neural/norm_held.cuh"
#define CUDA_DTYPE F16
namespace f16
{
#include "neural/flash.cu"
#include "neural/flash_grad.cu"
#include "neural/flash_wide.cu"
#include "neural/flash_wide_grad.cu"
} // namespace f16
#undef CUDA_DTYPE
#define CUDA_DTYPE BF16
namespace bf16
{
#include "neural/flash.cu"
#include "neural/flash_grad.cu"
#include "neural/flash_wide.cu"
#include "neural/flash_wide_grad.cu"
} // namespace bf16
#undef CUDA_DTYPE
#define CUDA_DTYPE F32
namespace f32
{
#include "neural/norm_grad.cu"
}
using namespace f16;
using namespace f32;
using namespace bf16;

namespace
{
template <class P, void (*KERNEL)(P)> void run(const void *params)
{
    KERNEL(*(const P *)params);
}
struct kernel {
    const char *name;
    void (*run)(const void *);
};
#define KERNEL(name, P) {#name, run<const P, name>},
#define FLASH_ROWS(D, dtype)                      \
    KERNEL(flash_##D##_##dtype, attention_params) \
    KERNEL(flash_spread_##D##_##dtype, attention_params)
#define FLASH_ALL(dtype)                             \
    FLASH_ROWS(32, dtype)                            \
    FLASH_ROWS(64, dtype)                            \
    FLASH_ROWS(80, dtype)                            \
    FLASH_ROWS(96, dtype)                            \
    FLASH_ROWS(128, dtype)                           \
    FLASH_ROWS(256, dtype)                           \
    KERNEL(flash_wide_64_##dtype, attention_params)  \
    KERNEL(flash_wide_80_##dtype, attention_params)  \
    KERNEL(flash_wide_96_##dtype, attention_params)  \
    KERNEL(flash_wide_128_##dtype, attention_params) \
    KERNEL(flash_wide_256_##dtype, attention_params) \
    KERNEL(flash_join_##dtype, attention_params)
#define GRAD_ROWS(D, dtype)                               \
    KERNEL(flash_queries_##D##_##dtype, attention_params) \
    KERNEL(flash_keys_##D##_##dtype, attention_params)
#define WIDE_ROWS(D, dtype)                                    \
    KERNEL(flash_wide_queries_##D##_##dtype, attention_params) \
    KERNEL(flash_wide_keys_##D##_##dtype, attention_params)
#define GRAD_ALL(dtype)   \
    GRAD_ROWS(32, dtype)  \
    GRAD_ROWS(64, dtype)  \
    GRAD_ROWS(80, dtype)  \
    GRAD_ROWS(96, dtype)  \
    GRAD_ROWS(128, dtype) \
    WIDE_ROWS(64, dtype)  \
    WIDE_ROWS(80, dtype)  \
    WIDE_ROWS(96, dtype)  \
    WIDE_ROWS(128, dtype)
#define NORM_ROWS(name)                   \
    KERNEL(name##_warp, neural_norm)      \
    KERNEL(name##_warp_vec, neural_norm)  \
    KERNEL(name##_block, neural_norm)     \
    KERNEL(name##_block_vec, neural_norm) \
    KERNEL(name##_held, neural_norm)      \
    KERNEL(name##_held4, neural_norm)     \
    KERNEL(name##_held8, neural_norm)
const kernel kernels[] = {FLASH_ALL(F16) FLASH_ALL(BF16) GRAD_ALL(F16) GRAD_ALL(BF16)
                              NORM_ROWS(layer_norm_grad) NORM_ROWS(rms_norm_grad)};
enum { COUNT = sizeof kernels / sizeof *kernels };
} // namespace

/* The number of the kernel of that name, from 0; -1: there is none. */
extern "C" int stub_neural_kernel(const char *name)
{
    for (int i = 0; i < COUNT; i++)
        if (strcmp(kernels[i].name, name) == 0)
            return i;
    return -1;
}

extern "C" int stub_neural_launch(int i, const void *params, unsigned blocks_x, unsigned blocks_y,
                                  unsigned threads, unsigned shared)
{
    if (i < 0 || i >= COUNT || shared > WARP_SHARED)
        return -1;
    memset(warp_shared, 0xff, WARP_SHARED); /* NaN, whatever the dtype */
    const int result = warp_launch(kernels[i].run, params, {blocks_x, blocks_y, 1}, threads);
    for (unsigned at = shared; at < WARP_SHARED; at++)
        if (warp_shared[at] != (char)0xff) /* beyond what was asked for */
            return -1;
    return result;
}
