/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The streams of the training program: a pipeline of batches, ordered by events. The includer has
 * CHECK(call), which ends the program when a call fails. */
#ifndef FASHION_STREAMS_H
#define FASHION_STREAMS_H
#include <ndock/ndock.h>

enum { MOST_STREAMS = 8 };

/* Batches are gathered on one stream while others compute: as many batches as streams are on their
 * way. Of one stream, everything happens on the device's default one and the rest is NULL. */
typedef struct {
    int n;
    nd_stream *home, *gather, *compute[MOST_STREAMS];
    nd_event *ready[MOST_STREAMS], *used[MOST_STREAMS]; /* the batch of that number is */
} pipeline;

static pipeline make_pipeline(int n)
{
    pipeline p = {.n = n};
    CHECK(nd_stream_current(NULL, &p.home));
    if (n == 1)
        return p;
    CHECK(nd_stream_create(NULL, NULL, &p.gather));
    for (int i = 0; i < n - 1; i++)
        CHECK(nd_stream_create(NULL, NULL, &p.compute[i]));
    for (int i = 0; i < n; i++) {
        CHECK(nd_event_create(NULL, NULL, &p.ready[i]));
        CHECK(nd_event_create(NULL, NULL, &p.used[i]));
    }
    return p;
}

static void drop_pipeline(pipeline *p)
{
    for (int i = 0; i < MOST_STREAMS; i++) {
        nd_stream_release(p->compute[i]);
        nd_event_release(p->ready[i]);
        nd_event_release(p->used[i]);
    }
    nd_stream_release(p->gather);
    nd_stream_release(p->home);
}

/* Every stream goes on from where the home stream is, or the other way round. */
static void fork_streams(const pipeline *p)
{
    for (int i = 0; i < p->n - 1; i++)
        CHECK(nd_stream_wait_stream(p->compute[i], p->home));
    if (p->gather)
        CHECK(nd_stream_wait_stream(p->gather, p->home));
}
static void join_streams(const pipeline *p)
{
    for (int i = 0; i < p->n - 1; i++)
        CHECK(nd_stream_wait_stream(p->home, p->compute[i]));
    if (p->gather)
        CHECK(nd_stream_wait_stream(p->home, p->gather));
}

/* From here on the stream is current, and what it queues comes after the event. */
static void enter(nd_stream *s, nd_event *after)
{
    if (!s)
        return;
    CHECK(nd_stream_wait_event(s, after));
    CHECK(nd_stream_push(s));
}
static void leave(nd_stream *s, nd_event *done)
{
    if (!s)
        return;
    CHECK(nd_event_record(done, s));
    CHECK(nd_stream_pop(s));
}
#endif
