/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Kernels of backends/cuda/neural, compiled for the host, for the libcuda.so.1 that only pretends:
 * attention by tensor cores, norms with weights of any dimensions, and gradients of norms, of f32
 * alone, since their names have no dtype. */
/* Kernels that run a few times each take longer to be optimised than to run. */
#pragma GCC optimize("O1")
#include "tests/cuda/emulate_wide.h"
#include <ndock/plugin.h>
#include "neural/batch_norm.h"
#include "neural/flash_grad.cuh"
#include "neural/flash_join.cuh"
#define GROUP_SHARED(name) unsigned char *const name = (unsigned char *)warp_shared
#include "neural/group_cells.cuh"
#include "neural/group_columns.cuh"
#include "neural/flash_wide.cuh"
#include "neural/flash_wide_finish.cuh"
#include "neural/flash_wide_grad.cuh"
#include "neural/flash_wide_split.cuh"
#include "neural/tiled.cuh"
#include "neural/tiled_forward.cuh"
#include "neural/tiled_grad.cuh"
#include "neural/tripled.cuh"
#include "neural/tripled_part.cuh"
#include "neural/tripled_wide.cuh"
#include "neural/neural.h"
#define WEIGHED_SHARED(name) unsigned char *const name = (unsigned char *)warp_shared
#include "neural/norm_weighed.cuh"
#define CUDA_DTYPE F16
namespace f16
{
#include "neural/flash.cu"
#include "neural/flash_grad.cu"
#include "neural/batch_norm.cu"
#include "neural/group.cu"
#include "neural/flash_wide.cu"
#include "neural/attention_delta.cu"
#include "neural/flash_wide_grad.cu"
} // namespace f16
#undef CUDA_DTYPE
#define CUDA_DTYPE BF16
namespace bf16
{
#include "neural/flash.cu"
#include "neural/flash_grad.cu"
#include "neural/batch_norm.cu"
#include "neural/group.cu"
#include "neural/flash_wide.cu"
#include "neural/attention_delta.cu"
#include "neural/flash_wide_grad.cu"
} // namespace bf16
#undef CUDA_DTYPE
#define CUDA_DTYPE F32
namespace f32
{
#include "neural/batch_norm.cu"
#include "neural/group.cu"
#include "neural/norm_grad.cu"
#include "neural/attention_delta.cu"
#include "neural/tiled.cu"
#include "neural/tripled_wide.cu"
} // namespace f32
#undef CUDA_DTYPE
#define CUDA_DTYPE F64
namespace f64
{
#include "neural/batch_norm.cu"
#include "neural/group.cu"
} // namespace f64
using namespace f16;
using namespace f32;
using namespace f64;
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
#define FLASH_ALL(dtype)   \
    FLASH_ROWS(32, dtype)  \
    FLASH_ROWS(64, dtype)  \
    FLASH_ROWS(80, dtype)  \
    FLASH_ROWS(96, dtype)  \
    FLASH_ROWS(128, dtype) \
    FLASH_ROWS(256, dtype) \
    KERNEL(flash_join_##dtype, attention_params)
#define GRAD_ROWS(D, dtype)                               \
    KERNEL(flash_queries_##D##_##dtype, attention_params) \
    KERNEL(flash_keys_##D##_##dtype, attention_params)
#define GRAD_ALL(dtype)                               \
    GRAD_ROWS(32, dtype)                              \
    GRAD_ROWS(64, dtype)                              \
    GRAD_ROWS(80, dtype)                              \
    GRAD_ROWS(96, dtype)                              \
    GRAD_ROWS(128, dtype)                             \
    KERNEL(attention_delta_##dtype, attention_params) \
    KERNEL(flash_wide_finish_##dtype, attention_params)
#define NORM_ROWS(name)                   \
    KERNEL(name##_warp, neural_norm)      \
    KERNEL(name##_warp_vec, neural_norm)  \
    KERNEL(name##_block, neural_norm)     \
    KERNEL(name##_block_vec, neural_norm) \
    KERNEL(name##_held, neural_norm)      \
    KERNEL(name##_held4, neural_norm)     \
    KERNEL(name##_held8, neural_norm)     \
    KERNEL(name##_weighed_warp, neural_norm) \
    KERNEL(name##_weighed_block, neural_norm)
#define GROUP_ROWS(end, dtype)                                \
    KERNEL(group_sums##end##_##dtype, group_params)           \
    KERNEL(group_sums_vec##end##_##dtype, group_params)       \
    KERNEL(group_sums_warp##end##_##dtype, group_params)      \
    KERNEL(group_sums_warp_vec##end##_##dtype, group_params)  \
    KERNEL(group_sums_columns##end##_##dtype, group_params)   \
    KERNEL(group_apply##end##_##dtype, group_params)          \
    KERNEL(group_apply_vec##end##_##dtype, group_params)      \
    KERNEL(group_apply_warp##end##_##dtype, group_params)     \
    KERNEL(group_apply_warp_vec##end##_##dtype, group_params) \
    KERNEL(group_apply_columns##end##_##dtype, group_params)  \
    KERNEL(group_rows##end##_##dtype, group_params)
#define GROUP_ALL(dtype)                                  \
    GROUP_ROWS(, dtype)                                   \
    GROUP_ROWS(_grad, dtype)                              \
    KERNEL(batch_norm_whole_##dtype, batch_norm_params)   \
    KERNEL(batch_norm_parts_##dtype, batch_norm_params)   \
    KERNEL(batch_norm_columns_##dtype, batch_norm_params) \
    KERNEL(batch_norm_any_##dtype, batch_norm_params)     \
    KERNEL(group_held_##dtype, group_params)              \
    KERNEL(group_columns_##dtype, group_params)           \
    KERNEL(group_column_##dtype, group_params)            \
    KERNEL(group_weights_##dtype, group_weights)          \
    KERNEL(group_weights_beside_##dtype, group_weights)
const kernel kernels[] = {
#define WIDE_ROWS(name)                  \
    KERNEL(name##_F16, attention_params) \
    KERNEL(name##_BF16, attention_params)
#define FLASH_WIDE(D, GROUPS, KEYS, STAGES) WIDE_ROWS(flash_wide_##D) WIDE_ROWS(flash_wide_any_##D)
#define FLASH_WIDE_SPLIT(D)               \
    WIDE_ROWS(flash_wide_queries_##D)     \
    WIDE_ROWS(flash_wide_queries_any_##D) \
    WIDE_ROWS(flash_wide_keys_##D) WIDE_ROWS(flash_wide_keys_any_##D)
#define FLASH_WIDE_SHORT(D, GROUPS, KEYS, STAGES) WIDE_ROWS(flash_wide_short_##D)
#define FLASH_WIDE_GRAD(D, STEP) WIDE_ROWS(flash_wide_grad_##D) WIDE_ROWS(flash_wide_grad_any_##D)
#include "neural/flash_wide.def"
#define TILED(D, ROWS, OTHERS, WARPS, SPLIT) KERNEL(tiled_##D##_F32, attention_params)
#define TILED_QUERIES(D, ROWS, OTHERS, WARPS, SPLIT) \
    KERNEL(tiled_queries_##D##_F32, attention_params)
#define TILED_KEYS(D, ROWS, OTHERS, WARPS, SPLIT) KERNEL(tiled_keys_##D##_F32, attention_params)
#define TRIPLED(D, PIECES, OTHERS, WARPS, SPLIT) KERNEL(tripled_##D##_F32, attention_params)
#define TRIPLED_KEYS(D, PIECES, OTHERS, WARPS, SPLIT) \
    KERNEL(tripled_keys_##D##_F32, attention_params)
#include "neural/tiled.def"
#define TRIPLED_WIDE(D, KEYS) KERNEL(tripled_wide_##D##_F32, attention_params)
#include "neural/tripled_wide.def"
    KERNEL(attention_delta_F32, attention_params) GROUP_ALL(F16) GROUP_ALL(BF16) GROUP_ALL(F32)
        GROUP_ALL(F64) FLASH_ALL(F16) FLASH_ALL(BF16) GRAD_ALL(F16) GRAD_ALL(BF16)
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
