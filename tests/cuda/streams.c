/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * S3, S6, S9, S16: streams, made here and elsewhere, and functions of the host on them. */
#include "tests/cuda/gpu.h"

static void defaults(void)
{
    nd_stream *s = NULL;
    uint64_t native = 0;
    const char *wanted = getenv("NDOCK_CUDA_DEFAULT_STREAM");
    DO(nd_stream_default(gpu, &s));
    DO(nd_stream_native(s, &native));
    is_int(native, wanted && strcmp(wanted, "per_thread") == 0 ? 2 : 1,
           "S6: the default stream is 1, or 2 if the thread's own is asked for");
}

static void foreign(void)
{
    const ndp_stream_1 *g = group("ndp.stream/1");
    nd_stream *own = NULL;
    ndp_stream *wrapped = NULL;
    uint64_t handle = 0, again = 0;
    int32_t finished = 0;
    is_int(g->wrap(dev, 0, &wrapped), NDP_ERR_ARGUMENT, "S9: stream 0 is refused");
    has_text(nd_last_error()->message, "1 is the legacy", "S9: with an explanation");
    for (uint64_t i = 3; i <= 4096; i += 4093) {
        is_int(g->wrap(dev, i, &wrapped), NDP_ERR_ARGUMENT, "S9: so is a number without memory");
        has_text(nd_last_error()->message, "no CUstream", "S9: before the driver follows it");
    }
    for (uint64_t i = 1; i <= 2; i++) {
        is_int(g->wrap(dev, i, &wrapped), NDP_OK, "S9: 1 and 2 are accepted");
        DO(g->native(dev, wrapped, &again));
        is_int(again, i, "S9: and keep their handle");
        g->destroy(dev, wrapped);
    }
    DO(nd_stream_create(gpu, NULL, &own));
    DO(nd_stream_native(own, &handle));
    is_int(g->wrap(dev, handle, &wrapped), NDP_OK, "S9: a stream of this device is wrapped");
    g->destroy(dev, wrapped);
    DO(nd_stream_synchronize(own));
    is_int(nd_stream_query(own, &finished), ND_OK, "S9: and lives on without its wrapper");
    nd_stream_release(own);
}

static void set(void *arg)
{
    *(volatile int *)arg = 42;
}

static void host_function(void)
{
    nd_stream *s = NULL;
    int value = 0;
    DO(nd_stream_create(gpu, NULL, &s));
    DO(nd_stream_launch_host(s, set, &value));
    DO(nd_stream_synchronize(s));
    is_int(value, 42, "S16: a host function ran in its stream");
    nd_stream_release(s);
}

static void thousand(void *ctx)
{
    (void)ctx;
    for (int i = 0; i < 1000; i++) {
        nd_stream *one = NULL;
        DO(nd_stream_create(gpu, NULL, &one));
        nd_stream_release(one);
    }
}

static void many(void)
{
    uint64_t handles[100] = {0};
    nd_stream *s[100] = {NULL};
    int equal = 0;
    for (int i = 0; i < 100; i++) {
        DO(nd_stream_create(gpu, NULL, &s[i]));
        DO(nd_stream_native(s[i], &handles[i]));
        for (int j = 0; j < i; j++)
            equal += handles[i] == handles[j];
    }
    for (int i = 0; i < 100; i++)
        nd_stream_release(s[i]);
    is_int(equal, 0, "S3: 100 streams, 100 handles");
    DO(nd_synchronize(gpu));
    ok(stays_flat(thousand, NULL, 8 << 20), "1000 streams leave the device's memory flat");
}

GPU_MAIN({"S6", defaults}, {"S9", foreign}, {"S16", host_function}, {"S3", many})
