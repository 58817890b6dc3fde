/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Running sums of long lines (backends/cuda/reduce/scan_pass.cuh) of int32, int64 and float32, compiled for
 * the host, for the libcuda.so.1 that only pretends. Blocks run one after another, and hear of those before.
 * Who waits for whom, tests on a card show. */
#include "tests/cuda/emulate.h"
#include <string.h>
#include "tests/cuda/emulate_types.h"
struct uint4 {
    unsigned x, y, z, w;
};
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
    return {x, y, z, w};
}
static inline void __threadfence() {}
template <class T, int N> struct alignas(sizeof(T) * N) cuda_vector {
    T at[N];
};
#include "reduce/scan.h"
namespace
{
enum { WARPS = SCAN_THREADS / 32 };
#include "reduce/scan_pass.cuh"

template <class T, class SUM> struct scan_of {
    typedef T element;
    typedef SUM state;
    typedef std::conditional_t<std::is_same_v<SUM, double>, T, SUM> result;
    LINE_FN state zero() { return 0; }
    LINE_FN state one(T x) { return (SUM)x; }
    LINE_FN state merge(state a, state b) { return a + b; }
    LINE_FN result value(state s) { return (result)s; }
};
template <class OP> void pass(const void *params)
{
    scan_pass<OP>(*(const scan_params *)params);
}
void clear(const void *params)
{
    scan_clear(*(const scan_params *)params);
}
const struct {
    const char *name;
    void (*run)(const void *);
} kernels[] = {{"scan_clear", clear},
               {"sum_I32_pass", pass<scan_of<int32_t, uint64_t>>},
               {"sum_I64_pass", pass<scan_of<int64_t, uint64_t>>},
               {"sum_F32_pass", pass<scan_of<float, double>>}};
enum { COUNT = sizeof kernels / sizeof *kernels };
int runs[COUNT];
} // namespace

/* How many of the kernels were not run; the first of them in *name. */
extern "C" __attribute__((visibility("default"))) int stub_scan_idle(const char **name)
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
extern "C" int stub_scan_kernel(const char *name)
{
    for (int i = 0; i < COUNT; i++)
        if (strcmp(kernels[i].name, name) == 0)
            return i;
    return -1;
}

extern "C" int stub_scan_launch(int i, const void *params, unsigned blocks_x, unsigned blocks_y,
                                unsigned threads, unsigned)
{
    runs[i]++;
    return emulated_launch(kernels[i].run, params, {blocks_x, blocks_y, 1}, threads);
}
