/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The kernels of backends/cuda/sort/order.cu, compiled for the host, for the libcuda.so.1 that only
 * pretends. */
#include "tests/cuda/emulate.h"
#include <ndock/plugin.h>
#include <string.h>
#include "walk/walk.cuh"
struct uint2 {
    unsigned x, y;
};
struct ulonglong2 {
    unsigned long long x, y;
};
#include "sort/keys.cuh"
#include "sort/place.cuh"
namespace
{
#include "sort/order.cu"

template <void (*KERNEL)(const order_params)> void run(const void *params)
{
    KERNEL(*(const order_params *)params);
}
#define KERNEL(name)                      \
    {                                     \
        "order_" #name, run<order_##name> \
    }
const struct {
    const char *name;
    void (*run)(const void *);
} kernels[] = {KERNEL(begin), KERNEL(count), KERNEL(pick), KERNEL(store),
               KERNEL(rows),  KERNEL(parts), KERNEL(scan), KERNEL(move)};
enum { COUNT = sizeof kernels / sizeof *kernels };
int runs[COUNT];
} // namespace

/* How many of the kernels were not run; the first of them in *name. */
extern "C" __attribute__((visibility("default"))) int stub_order_idle(const char **name)
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
extern "C" int stub_order_kernel(const char *name)
{
    for (int i = 0; i < COUNT; i++)
        if (strcmp(kernels[i].name, name) == 0)
            return i;
    return -1;
}

extern "C" int stub_order_launch(int i, const void *params, unsigned blocks_x, unsigned blocks_y,
                                 unsigned threads, unsigned)
{
    runs[i]++;
    return emulated_launch(kernels[i].run, params, {blocks_x, blocks_y, 1}, threads);
}
