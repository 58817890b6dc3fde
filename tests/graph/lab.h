/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What tests of graphs share. Each case runs on the simulated device, which captures streams, and on
 * the CPU, where ndock records the calls. With GRAPHS_ON_CUDA on cuda:0. */
#ifndef NDOCK_TESTS_GRAPH_LAB_H
#define NDOCK_TESTS_GRAPH_LAB_H
#include <stdlib.h>
#include <string.h>
#include <ndock/ndock.h>
#include <ndock/sim.h>
#include "tests/tap.h"

#define UNUSED __attribute__((unused))
enum { N = 600 };

static nd_device *device; /* of the case that runs */
static const char *where; /* its name */
static nd_stream *stream; /* a stream of it, which is current */

#define DO(call) done((call), #call, __LINE__)
UNUSED static void done(nd_status status, const char *what, int line)
{
    if (status == ND_OK)
        return;
    tap_ok(0, __FILE__, line, "%s", what);
    diag("%s: %s", nd_status_name(status), nd_last_error()->message);
}

/* Like is_int, with printf text. */
#define same(got, want, ...)                          \
    do {                                              \
        const long long got_ = (got), want_ = (want); \
        if (!ok(got_ == want_, __VA_ARGS__))          \
            diag("got %lld, want %lld", got_, want_); \
    } while (0)

UNUSED static nd_stream *new_stream(void)
{
    nd_stream *s = NULL;
    DO(nd_stream_create(device, NULL, &s));
    return s;
}

UNUSED static nd_array *filled(int64_t n, double value)
{
    nd_array *a = NULL;
    DO(nd_full(device, ND_F32, 1, &n, nd_float(value), &a));
    return a;
}

/* The value of all elements; NaN if they differ. */
UNUSED static double value_of(const nd_array *a)
{
    static float room[1 << 16];
    size_t n = (size_t)nd_size(a);
    DO(nd_to_host(a, room, n * sizeof *room));
    for (size_t i = 1; i < n; i++)
        if (room[i] != room[0])
            return 0.0 / 0.0;
    return (double)room[0];
}

UNUSED static nd_graph *begin(void)
{
    nd_graph *g = NULL;
    DO(nd_graph_begin(stream, NULL, &g));
    return g;
}

UNUSED static void launch(nd_graph *g)
{
    DO(nd_graph_launch(g, NULL, NULL));
}

UNUSED static int64_t reserved(void)
{
    nd_memory_stats stats = {.size = sizeof stats};
    DO(nd_memory_stats_get(device, &stats));
    return stats.reserved_bytes.all.current;
}

/* Whatever the caches keep is given back: what is left is somebody's. */
UNUSED static int64_t settled(void)
{
    DO(nd_synchronize(device));
    DO(nd_memory_empty_cache(device));
    return reserved();
}

typedef void (*test)(void);
UNUSED static void on(const char *name, test fn)
{
    where = name;
    if (nd_device_get(name, &device) != ND_OK || nd_device_set_current(device) != ND_OK)
        bail(nd_last_error()->message);
    DO(nd_stream_create(device, NULL, &stream));
    DO(nd_stream_push(stream));
    fn();
    DO(nd_stream_pop(stream));
    nd_stream_release(stream);
}

/* Cases name##_on_both for TAP_MAIN. tests/cuda/ makes programs of the same sources for cuda:0. */
#ifdef GRAPHS_ON_CUDA
#include "tests/cuda/path.h"

__attribute__((constructor)) static void find_gpu(void)
{
    open_cuda(&device);
}
#define ON_BOTH(name)                \
    static void name##_on_both(void) \
    {                                \
        on("cuda:0", name);          \
    }
#else
#define ON_BOTH(name)                \
    static void name##_on_both(void) \
    {                                \
        on("sim:0", name);           \
        on("cpu", name);             \
    }
#endif

#endif
