/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The kernels of backends/cuda/pool, compiled for the host, for the libcuda.so.1 that only pretends. */
/* Kernels that run a few times each take longer to be optimised than to run. */
#pragma GCC optimize("O0")
#include "tests/cuda/emulate.h"
#include <math.h>
#include <ndock/plugin.h>
#include <string.h>
#include "tests/cuda/emulate_types.h"
#include <ndock/windows.h>
#undef ND_WINDOW_FN
#include "pool/taps.cuh"

#define KERNELS_OF_DTYPE "tests/cuda/stub_pool_kernels.h"
#define CUDA_DTYPE F32
namespace pool_f32
{
#include KERNELS_OF_DTYPE
}
#undef CUDA_DTYPE
#define CUDA_DTYPE F64
namespace pool_f64
{
#include KERNELS_OF_DTYPE
}
#undef CUDA_DTYPE
#define CUDA_DTYPE BF16
namespace pool_bf16
{
#include KERNELS_OF_DTYPE
}

namespace
{
using namespace pool_f32;
using namespace pool_f64;
using namespace pool_bf16;
template <class P, void (*KERNEL)(P)> void run(const void *params)
{
    KERNEL(*(const P *)params);
}
struct kernel {
    const char *name;
    void (*run)(const void *);
};
#define ONE(name, P, dtype) {#name "_" #dtype, run<const P, name##_##dtype>},
#define EACH(name, P) ONE(name, P, F32) ONE(name, P, F64) ONE(name, P, BF16)
#define POOLS(op)                            \
    EACH(pool_##op##_any, cuda_pooling)      \
    EACH(pool_##op##_channels, cuda_pooling) \
    EACH(pool_##op##_warp, cuda_pooling)     \
    EACH(pool_##op##_220, cuda_pooling)      \
    EACH(pool_##op##_311, cuda_pooling)      \
    EACH(pool_##op##_321, cuda_pooling)      \
    EACH(pool_##op##_512, cuda_pooling)
#define STRIPS(op)                             \
    EACH(pool_##op##_strip_220, cuda_pooling)  \
    EACH(pool_##op##_strip_311, cuda_pooling)  \
    EACH(pool_##op##_strip_321, cuda_pooling)  \
    EACH(pool_##op##_strip_512, cuda_pooling)
#define RESAMPLES(method)                               \
    EACH(resample_##method, cuda_resampling)            \
    EACH(resample_##method##_vectors, cuda_resampling)  \
    EACH(resample_##method##_channels, cuda_resampling) \
    EACH(resample_##method##_twice, cuda_resampling)    \
    EACH(resample_##method##_planes, cuda_resampling)   \
    EACH(resample_##method##_doubled, cuda_resampling)
#define GRADS(op)                                \
    EACH(pool_grad_##op##_rows, cuda_pooling)      \
    EACH(pool_grad_##op##_channels, cuda_pooling)  \
    EACH(pool_grad_##op##_220, cuda_pooling)       \
    EACH(pool_grad_##op##_311, cuda_pooling)       \
    EACH(pool_grad_##op##_321, cuda_pooling)       \
    EACH(pool_grad_##op##_strip_220, cuda_pooling) \
    EACH(pool_grad_##op##_strip_321, cuda_pooling)
#define RETURNS(name) EACH(resample_back_##name, cuda_resampling)
const kernel kernels[] = {
    POOLS(max) POOLS(index) POOLS(mean) STRIPS(max) STRIPS(mean)                    /* */
    GRADS(max) GRADS(mean) EACH(pool_grad_max_strip_311, cuda_pooling)              /* */
    EACH(resample_tables, cuda_resampling)                                          /* */
    RESAMPLES(nearest) RESAMPLES(linear) RESAMPLES(cubic)                           /* */
    RETURNS(any) RETURNS(channels) RETURNS(box) RETURNS(planes)                     /* */
    RETURNS(nearest_twice) RETURNS(linear_twice)                                    /* */
    RETURNS(nearest_doubled) RETURNS(linear_doubled)                                /* */
    EACH(unfold_any, cuda_unfolding) EACH(unfold_vectors, cuda_unfolding)           /* */
    EACH(fold_any, cuda_unfolding) EACH(fold_vectors, cuda_unfolding)               /* */
    EACH(unfold_pairs, cuda_unfolding) EACH(fold_pairs, cuda_unfolding)};
enum { COUNT = sizeof kernels / sizeof *kernels };
int runs[COUNT];
} // namespace

/* How many of the kernels were run with no dtype; the first of them in *name. */
extern "C" __attribute__((visibility("default"))) int stub_pool_idle(const char **name)
{
    int idle = 0;
    for (int i = COUNT - 3; i >= 0; i -= 3)
        if (!runs[i] && !runs[i + 1] && !runs[i + 2]) {
            idle++;
            *name = kernels[i].name;
        }
    return idle;
}

/* The number of the kernel of that name, from 0; -1: there is none. */
extern "C" int stub_pool_kernel(const char *name)
{
    for (int i = 0; i < COUNT; i++)
        if (strcmp(kernels[i].name, name) == 0)
            return i;
    return -1;
}

extern "C" int stub_pool_launch(int i, const void *params, unsigned blocks_x, unsigned blocks_y,
                                unsigned threads, unsigned)
{
    runs[i]++;
    return emulated_launch(kernels[i].run, params, {blocks_x, blocks_y, 1}, threads);
}
