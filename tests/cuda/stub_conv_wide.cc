/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The kernels of backends/cuda/conv/terms_wide.cu, compiled for the host, for the libcuda.so.1 that only pretends. */
#pragma GCC optimize("O1")
#include "tests/cuda/emulate_wide.h"
#include <ndock/plugin.h>
#define CONV_SHARED(name) unsigned char *const name = (unsigned char *)warp_shared
#define CUDA_DTYPE F32
#include "conv/terms_wide.cu"

namespace
{
struct kernel {
    const char *name;
    void (*run)(const void *);
};
template <void (*KERNEL)(cuda_convolving)> void run(const void *params)
{
    KERNEL(*(const cuda_convolving *)params);
}
const kernel kernels[] = {{"terms_wide_F32", run<terms_wide_F32>},
                          {"terms_wide_beside_F32", run<terms_wide_beside_F32>}};
enum { COUNT = sizeof kernels / sizeof *kernels };
} // namespace

extern "C" int stub_conv_wide_count;
__attribute__((visibility("default"))) int stub_conv_wide_count; /* of launches */

extern "C" int stub_conv_wide_kernel(const char *name)
{
    for (int i = 0; i < COUNT; i++)
        if (strcmp(kernels[i].name, name) == 0)
            return i;
    return -1;
}

extern "C" int stub_conv_wide_launch(int i, const void *params, unsigned blocks_x,
                                     unsigned blocks_y, unsigned threads, unsigned shared)
{
    if (shared > WARP_SHARED)
        return -1;
    stub_conv_wide_count++;
    memset(warp_shared, 0xff, WARP_SHARED); /* NaN */
    const int result = warp_launch(kernels[i].run, params, {blocks_x, blocks_y, 1}, threads);
    for (unsigned at = shared; at < WARP_SHARED; at++)
        if (warp_shared[at] != (char)0xff) /* beyond what was asked for */
            return -1;
    return result;
}
