/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What tests of captures share. There is no public API of graphs yet, so they look inside. */
#ifndef NDOCK_TESTS_STREAM_CAPTURE_H
#define NDOCK_TESTS_STREAM_CAPTURE_H
#include <pthread.h>
#include "core/ops/ops.h"
#include "core/memory/memory.h"
#include "tests/stream/harness.h"

enum { N = 300 };

/* As the graph API will do it. */
typedef struct {
    nd_stream *stream;
    nd_pool *pool;
    uint64_t id;
    nd_captured *graph;
} session;

UNUSED static nd_backend *backend(void)
{
    nd_backend *m = NULL;
    DO(nd__device_backend(sim[0], &m));
    return m;
}

UNUSED static session begin(nd_stream *s, int32_t mode, nd_pool *pool)
{
    session c = {.stream = s};
    DO(nd__capture_begin(s, mode));
    c.id = nd__capture_id(s);
    DO(nd__caching_capture_begin(backend(), c.id, pool, &c.pool));
    return c;
}

UNUSED static void end(session *c, const char *what)
{
    nd_status status = nd__capture_end(c->stream, &c->graph);
    DO(nd__caching_capture_end(backend(), c->id));
    if (!ok(status == ND_OK && c->graph, "%s: the capture is still valid", what))
        diag("%s", nd_last_error()->message);
}

UNUSED static void drop(session *c)
{
    nd__captured_free(c->graph);
    nd_pool_release(c->pool);
}

UNUSED static void launch(const session *c)
{
    control->graph_launch(dev[0], nd__captured_graph(c->graph), handle_of(c->stream));
    DO(nd_stream_synchronize(c->stream));
}

/* Calls of the driver that are not mere questions about captures. */
UNUSED static uint64_t asked(void)
{
    return calls(0, NULL) - calls(0, "capture_info") - calls(0, "stream_native");
}

UNUSED static nd_status in_thread(void *(*fn)(void *), void *arg)
{
    pthread_t t;
    void *result;
    pthread_create(&t, NULL, fn, arg);
    pthread_join(t, &result);
    return (nd_status)(intptr_t)result;
}

/* What a capture on one thread leaves to others. */
UNUSED static void *work_elsewhere(void *arg)
{
    nd_array *a = NULL, *r = NULL;
    int64_t n = N;
    nd_scalar value = {0};
    (void)arg;
    nd_status status = nd_full(sim[0], ND_F32, 1, &n, nd_float(1), &a);
    if (status == ND_OK)
        status = nd_sum(a, NULL, &r);
    if (status == ND_OK)
        status = nd_item(r, &value);
    if (status != ND_OK)
        diag("%s", nd_last_error()->message);
    nd_release(a);
    nd_release(r);
    return (void *)(intptr_t)(status == ND_OK && value.v.f == N ? ND_OK : ND_ERR_STATE);
}

#endif
