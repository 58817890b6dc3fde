/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The kernels of backends/cuda/conv, compiled for the host, for the libcuda.so.1 that only pretends. */
#include "tests/cuda/emulate.h"
#include <math.h>
#include <ndock/plugin.h>
#include <string.h>
#include "tests/cuda/emulate_types.h"
#include "tests/cuda/emulate_mma.h"
#define CONV_SHARED(name) unsigned char *const name = (unsigned char *)emulated_shared
#include "conv/beside.cuh"
#include "conv/diagonal.cuh"
#include "conv/gathered_terms.cuh"
#include "conv/grouped.cuh"
#include "conv/planes.cuh"
#include "conv/short.cuh"
#include "conv/thin.cuh"

#define KERNELS_OF_DTYPE "tests/cuda/stub_conv_kernels.h"
#define CUDA_DTYPE F32
namespace conv_f32
{
#include KERNELS_OF_DTYPE
}
#undef CUDA_DTYPE
#define CUDA_DTYPE F64
namespace conv_f64
{
#include KERNELS_OF_DTYPE
}
#undef CUDA_DTYPE
#define CUDA_DTYPE BF16
namespace conv_bf16
{
#include KERNELS_OF_DTYPE
}

namespace
{
using namespace conv_f32;
using namespace conv_f64;
using namespace conv_bf16;
template <class P, void (*KERNEL)(P)> void run(const void *params)
{
    KERNEL(*(const P *)params);
}
struct kernel {
    const char *name;
    void (*run)(const void *);
};
#define ONE(name, dtype, P) {#name "_" #dtype, run<P, name##_##dtype>},
#define OF(name, P) ONE(name, F32, P) ONE(name, F64, P) ONE(name, BF16, P)
#define EACH(name) OF(name, cuda_convolving)
/* Those that run beside libraries come first. */
const kernel kernels[] = {
    OF(unfold_beside, cuda_unfolding) OF(unfold_beside_vectors, cuda_unfolding)
        OF(unfold_runs, cuda_unfolding) OF(fold_beside, cuda_unfolding)
            OF(fold_beside_vectors, cuda_unfolding) EACH(conv_spread) EACH(conv_finish_grid)
                EACH(conv_finish_image) EACH(conv_forward) EACH(conv_input) EACH(conv_weight)
                    EACH(conv_splits) EACH(thin_windows) EACH(thin_windows_fast) EACH(short_gradient) EACH(grouped_windows) EACH(grouped_gradient)
                        EACH(diagonal_last) EACH(diagonal_planes)
                        EACH(gathered_weights) EACH(gathered_planes) EACH(gathered_planes_tall) EACH(gathered_beside)
                        EACH(gathered_beside_tall) EACH(gathered_terms) EACH(gathered_terms_tall)
                        EACH(gathered_terms_beside) EACH(gathered_terms_beside_tall)
                        EACH(depthwise_forward) EACH(depthwise_input) EACH(depthwise_three)
                            EACH(depthwise_three_two) EACH(depthwise_single)
                                EACH(depthwise_single_input) EACH(planes_three) EACH(planes_any)
                                    EACH(planes_met) EACH(depthwise_weight) EACH(beside_three)
                                        EACH(beside_three_two) EACH(beside_square) EACH(beside_square_two)
                                            EACH(beside_met_square_input) EACH(beside_any)
                                            EACH(beside_any_input) EACH(beside_met_input)};
enum { COUNT = sizeof kernels / sizeof *kernels };
int runs[COUNT];
} // namespace

/* How many of the kernels were run with no dtype; the first and the last of them in name. */
extern "C" __attribute__((visibility("default"))) int stub_conv_idle(const char *name[2])
{
    int idle = 0;
    for (int i = 0; i < COUNT; i += 3)
        if (!runs[i] && !runs[i + 1] && !runs[i + 2]) {
            name[idle > 0] = kernels[i].name;
            idle++;
        }
    return idle;
}

/* The number of the kernel of that name, from 0; -1: there is none. */
extern "C" int stub_conv_kernel(const char *name)
{
    for (int i = 0; i < COUNT; i++)
        if (strcmp(kernels[i].name, name) == 0)
            return i;
    return -1;
}

extern "C" int stub_conv_launch(int i, const void *params, unsigned blocks_x, unsigned blocks_y,
                                unsigned threads, unsigned)
{
    runs[i]++;
    return emulated_launch(kernels[i].run, params, {blocks_x, blocks_y, 1}, threads);
}
