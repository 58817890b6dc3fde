/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The kernels of backends/cuda/fft/fft.cu, compiled for the host, for the libcuda.so.1 that only
 * pretends. */
#include "tests/cuda/emulate.h"
#include <ndock/plugin.h>
#include <string.h>
struct float2 {
    float x, y;
};
struct double2 {
    double x, y;
};
#define __noinline__ /* after the library headers, which use the word */
#include "walk/lines.cuh"
namespace
{
#include "fft/fft.cu"

template <class P, void (*KERNEL)(P)> void run(const void *params)
{
    KERNEL(*(const P *)params);
}
#define KERNEL(name, P)                  \
    {                                    \
        "fft_" #name, run<P, fft_##name> \
    }
const struct {
    const char *name;
    void (*run)(const void *);
} kernels[] = {KERNEL(move_f32, const line_rows),   KERNEL(move_f64, const line_rows),
               KERNEL(move_c64, const line_rows),   KERNEL(move_c128, const line_rows),
               KERNEL(pairs_c64, const fft_pairs),  KERNEL(pairs_c128, const fft_pairs),
               KERNEL(paired_c64, const fft_pairs), KERNEL(paired_c128, const fft_pairs)};
enum { COUNT = sizeof kernels / sizeof *kernels };
int runs[COUNT];
} // namespace

/* How many of the kernels were not run; the first of them in *name. */
extern "C" __attribute__((visibility("default"))) int stub_fourier_idle(const char **name)
{
    int idle = 0;
    for (int i = COUNT - 1; i >= 0; i--)
        if (!runs[i]) {
            idle++;
            *name = kernels[i].name;
        }
    return idle;
}

/* The number of the kernel of that name, from 0; -1: there is none. */
extern "C" int stub_fourier_kernel(const char *name)
{
    for (int i = 0; i < COUNT; i++)
        if (strcmp(kernels[i].name, name) == 0)
            return i;
    return -1;
}

extern "C" int stub_fourier_launch(int i, const void *params, unsigned blocks_x, unsigned blocks_y,
                                   unsigned threads, unsigned)
{
    runs[i]++;
    return emulated_launch(kernels[i].run, params, {blocks_x, blocks_y, 1}, threads);
}
