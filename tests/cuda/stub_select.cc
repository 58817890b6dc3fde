/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The kernels of topk by selection (backends/cuda/sort) and of compress and nonzero
 * (backends/cuda/index/select.cu), compiled for the host, for the libcuda.so.1 that only pretends. */
#include "tests/cuda/emulate.h"
#include <ndock/plugin.h>
#include <string.h>
#include "tests/cuda/emulate_types.h"
#define __noinline__ /* after the library headers, which use the word */
struct uint2 {
    unsigned x, y;
};
struct uint4 {
    unsigned x, y, z, w;
};
struct ulonglong2 {
    unsigned long long x, y;
};
static inline longlong2 make_longlong2(long long x, long long y)
{
    return {x, y};
}
static inline int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
static inline uint32_t min(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}
template <class T> static inline void __stcs(T *to, T x)
{
    *to = x;
}
static inline uint32_t max(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}
static inline int __clz(int x)
{
    return x ? __builtin_clz((unsigned)x) : 32;
}
/* All ones in bytes that differ. */
static inline uint32_t __vcmpne4(uint32_t a, uint32_t b)
{
    uint32_t r = 0;
    for (int i = 0; i < 32; i += 8)
        r |= (a >> i & 0xffu) != (b >> i & 0xffu) ? 0xffu << i : 0;
    return r;
}
template <class T, int N> struct alignas(sizeof(T) * N) cuda_vector {
    T at[N];
};
#include "sort/words.cuh"
namespace
{
#include "index/select.cu"
#include "sort/topk_chunk.cuh"
#include "sort/topk_long.cuh"
#include "sort/topk_rows.cuh"

template <class P, void (*KERNEL)(const P)> void run(const void *params)
{
    KERNEL(*(const P *)params);
}
#define TOPK(name)                                             \
    {                                                          \
        "sort_topk_" #name, run<sort_params, sort_topk_##name> \
    }
#define SELECT(name)                      \
    {                                     \
#name, run < select_params, name> \
    }
const struct {
    const char *name;
    void (*run)(const void *);
} kernels[] = {TOPK(chunk),
               TOPK(bounded_1),
               TOPK(bounded_2),
               TOPK(bounded_4),
               TOPK(rows_1),
               TOPK(rows_2),
               TOPK(rows_4),
               SELECT(select_count),
               SELECT(select_count_mask),
               SELECT(select_scan),
               SELECT(select_positions),
               SELECT(select_mask_positions),
               SELECT(compress_1),
               SELECT(compress_2),
               SELECT(compress_4),
               SELECT(compress_8),
               SELECT(compress_16),
               {"compress_rows", run<select_rows_params, compress_rows>}};
enum { COUNT = sizeof kernels / sizeof *kernels };
int runs[COUNT];
} // namespace

/* How many of the kernels were not run; the first of them in *name. */
extern "C" __attribute__((visibility("default"))) int stub_select_idle(const char **name)
{
    int idle = 0;
    for (int i = COUNT - 1; i >= 0; i--)
        if (!runs[i]) {
            idle++;
            *name = kernels[i].name;
        }
    return idle;
}

/* How many launches counted what is to be selected. */
extern "C" __attribute__((visibility("default"))) int stub_select_counts(void)
{
    int n = 0;
    for (int i = 0; i < COUNT; i++)
        n += strncmp(kernels[i].name, "select_count", 12) == 0 ? runs[i] : 0;
    return n;
}

/* The number of the kernel of that name, from 0; -1: there is none. */
extern "C" int stub_select_kernel(const char *name)
{
    for (int i = 0; i < COUNT; i++)
        if (strcmp(kernels[i].name, name) == 0)
            return i;
    return -1;
}

extern "C" int stub_select_launch(int i, const void *params, unsigned blocks_x, unsigned blocks_y,
                                  unsigned threads, unsigned)
{
    runs[i]++;
    return emulated_launch(kernels[i].run, params, {blocks_x, blocks_y, 1}, threads);
}
