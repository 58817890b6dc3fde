/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * G18: two threads capture at once on streams of their own while a third allocates, frees, computes
 * and polls events. */
#include <pthread.h>
#include <stdatomic.h>
#include "tests/graph/lab.h"

enum { ROUNDS = 40 };
static atomic_int running, wrong;

static void check(nd_status status)
{
    if (status == ND_OK)
        return;
    atomic_fetch_add(&wrong, 1);
    diag("%s: %s", nd_status_name(status), nd_last_error()->message);
}

static void capture_once(nd_stream *s, const nd_array *x, int times)
{
    nd_graph *g = NULL;
    nd_array *a = NULL, *b = NULL;
    float room[N];
    check(nd_graph_begin(s, NULL, &g));
    check(nd_add(x, x, &a));
    for (int i = 0; i < times; i++) {
        check(nd_add(a, x, &b));
        nd_release(a);
        a = b;
    }
    check(nd_graph_end(g));
    check(nd_graph_launch(g, s, NULL));
    check(nd_to_host(a, room, sizeof room));
    for (int i = 0; i < N; i++)
        if (room[i] != (float)(2 + times)) {
            atomic_fetch_add(&wrong, 1);
            break;
        }
    nd_release(a);
    nd_graph_release(g);
}

static void *capture(void *unused)
{
    nd_stream *s = NULL;
    nd_array *x = NULL;
    const int64_t n = N;
    (void)unused;
    check(nd_stream_create(device, NULL, &s));
    check(nd_stream_push(s));
    check(nd_full(device, ND_F32, 1, &n, nd_float(1), &x));
    check(nd_stream_synchronize(s));
    for (int i = 0; i < ROUNDS; i++)
        capture_once(s, x, i % 5);
    nd_release(x);
    check(nd_stream_pop(s));
    nd_stream_release(s);
    atomic_fetch_sub(&running, 1);
    return NULL;
}

static void *work(void *unused)
{
    nd_event *e = NULL;
    nd_stream *s = NULL;
    (void)unused;
    check(nd_stream_create(device, NULL, &s));
    check(nd_stream_push(s));
    check(nd_event_create(device, NULL, &e));
    while (atomic_load(&running)) {
        nd_array *a = NULL, *b = NULL;
        nd_scalar v = {0};
        int32_t done = 0;
        const int64_t n = 1 << 12;
        check(nd_full(device, ND_F32, 1, &n, nd_float(1), &a));
        check(nd_event_record(e, s));
        check(nd_sum(a, NULL, &b));
        check(nd_event_query(e, &done));
        check(nd_item(b, &v));
        if (v.v.f != (double)n)
            atomic_fetch_add(&wrong, 1);
        nd_release(a);
        nd_release(b);
    }
    nd_event_release(e);
    check(nd_stream_pop(s));
    nd_stream_release(s);
    return NULL;
}

static void test_together(void)
{
    pthread_t t[3];
    atomic_store(&running, 2);
    atomic_store(&wrong, 0);
    DO(nd_synchronize(device));
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, i < 2 ? capture : work, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    same(atomic_load(&wrong), 0, "%s: G18: two capture while a third computes", where);
    same(settled(), 0, "%s: G18: and nothing is left", where);
}
ON_BOTH(test_together)

TAP_MAIN({"together", test_together_on_both})
