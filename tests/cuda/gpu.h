/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What tests of the CUDA plug-in share: the device, its groups, and leaving with a reason where
 * there is none. */
#ifndef NDOCK_TESTS_CUDA_GPU_H
#define NDOCK_TESTS_CUDA_GPU_H
#include <stdbool.h>
#include <time.h>
#include <unistd.h>
#include <ndock/ndock.h>
#include <ndock/plugin.h>
#include "tests/cuda/path.h"
#include "tests/tap.h"

#define UNUSED __attribute__((unused))
UNUSED static nd_device *gpu;
UNUSED static ndp_dev *dev;

/* A call that must succeed for the test to make sense. */
#define DO(call) done((call), #call, __LINE__)
UNUSED static void done(nd_status status, const char *what, int line)
{
    if (status == ND_OK)
        return;
    tap_ok(0, __FILE__, line, "%s", what);
    diag("%s: %s", nd_status_name(status), nd_last_error()->message);
}

UNUSED static const void *group(const char *id)
{
    const void *table = NULL;
    DO(nd_device_group(gpu, id, &table, &dev));
    if (!table)
        bail(id);
    return table;
}

/* Ends the program, as skipped, where there is no GPU. */
UNUSED static void open_gpu(void)
{
    open_cuda(&gpu);
}

UNUSED static nd_array *upload(const void *data, nd_dtype dtype, int64_t n)
{
    const nd_layout layout = {.size = sizeof layout, .dtype = dtype, .ndim = 1, .shape = &n};
    nd_array *a = NULL;
    DO(nd_from_host(&layout, data, gpu, &a));
    return a;
}

UNUSED static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

UNUSED static uint64_t free_bytes(void)
{
    uint64_t free_now = 0, total = 0;
    DO(nd_memory_usage(gpu, &free_now, &total));
    return free_now;
}

/* Whether work leaves as much memory free as there was, but for slack bytes. How much is free is
 * known of the whole card, which others use too: what grows by work grows each time. */
UNUSED static bool stays_flat(void (*work)(void *), void *ctx, uint64_t slack)
{
    bool flat = false;
    for (int tries = 0; tries < 10 && !flat; tries++) {
        uint64_t before = free_bytes();
        work(ctx);
        flat = free_bytes() + slack >= before;
    }
    return flat;
}

#define GPU_MAIN(...)                                                              \
    int main(int argc, char **argv)                                                \
    {                                                                              \
        static const tap_case cases[] = {__VA_ARGS__};                             \
        open_gpu();                                                                \
        return tap_main(argc, argv, cases, (int)(sizeof cases / sizeof cases[0])); \
    }
#endif
