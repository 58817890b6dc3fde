/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The ends of streams that were released with work still queued: they are waited for in the place
 * of the streams. */
#include <stdlib.h>
#include "core/stream/streams.h"

struct nd_stream_end {
    nd_stream_end *next;
    uint64_t stream;
    ndp_event *event;
};

static bool passed(nd_device *d, ndp_event *event)
{
    int32_t done = 0;
    if (nd__capture_forbids(d) || d->stream.event_query(d->dev, event, &done) != NDP_OK || !done)
        return false;
    if (nd__hazards_now())
        nd__hazard_wait(NULL, event);
    return true;
}

static void drop_passed(nd_device *d) /* under stream_lock */
{
    for (nd_stream_end **at = &d->ends, *e; (e = *at) != NULL;) {
        if (!passed(d, e->event)) {
            at = &e->next;
            continue;
        }
        *at = e->next;
        nd__event_give(d, 0, e->event);
        free(e);
    }
}

static void strike_off(nd_stream *s) /* under stream_lock */
{
    nd_stream **at = &s->device->streams;
    while (*at && *at != s)
        at = &(*at)->next;
    if (*at)
        *at = s->next;
}

void nd__stream_leave(nd_stream *s)
{
    nd_device *d = s->device;
    nd_stream_end *end = NULL;
    bool reachable = d->has_stream && !nd__out_of_reach(d);
    if (reachable && s->seq && !nd__capture_id(s) && (end = calloc(1, sizeof *end)) != NULL) {
        end->stream = s->id;
        if (nd__mark(s, &end->event) != ND_OK || !end->event) {
            free(end);
            end = NULL;
        }
    }
    /* At once, since whoever finds neither the stream nor its end takes its work for done. */
    pthread_mutex_lock(&d->stream_lock);
    strike_off(s);
    if (reachable)
        drop_passed(d);
    if (end) {
        end->next = d->ends;
        d->ends = end;
    }
    pthread_mutex_unlock(&d->stream_lock);
}

nd_status nd__wait_ends(nd_device *d, const char *op)
{
    nd_status first = ND_OK;
    pthread_mutex_lock(&d->stream_lock);
    nd_stream_end *ends = d->ends;
    d->ends = NULL;
    pthread_mutex_unlock(&d->stream_lock);
    for (nd_stream_end *next; ends; ends = next) {
        next = ends->next;
        nd_status status = d->stream.event_sync(d->dev, ends->event);
        if (status == ND_OK && nd__hazards_now())
            nd__hazard_wait(NULL, ends->event);
        pthread_mutex_lock(&d->stream0->lock);
        if (first == ND_OK)
            first = nd__fault(d->stream0, op, status);
        pthread_mutex_unlock(&d->stream0->lock);
        nd__event_give(d, 0, ends->event);
        free(ends);
    }
    return first;
}

nd_status nd__query_ends(nd_device *d, const char *op, int32_t *done)
{
    nd_status status = ND_OK;
    pthread_mutex_lock(&d->stream_lock);
    for (nd_stream_end *e = d->ends; e && status == ND_OK && *done; e = e->next) {
        status = d->stream.event_query(d->dev, e->event, done);
        if (status == ND_OK && *done && nd__hazards_now())
            nd__hazard_wait(NULL, e->event);
    }
    pthread_mutex_unlock(&d->stream_lock);
    pthread_mutex_lock(&d->stream0->lock);
    status = nd__fault(d->stream0, op, status);
    pthread_mutex_unlock(&d->stream0->lock);
    return status;
}

static nd_stream *live_stream(nd_device *d, uint64_t id) /* under stream_lock; retained */
{
    nd_stream *s = d->streams;
    while (s && s->id != id)
        s = s->next;
    return nd__stream_retain_live(s);
}

nd_stream *nd__stream_by_id(nd_device *of, uint64_t id)
{
    pthread_mutex_lock(&of->stream_lock);
    nd_stream *s = live_stream(of, id);
    pthread_mutex_unlock(&of->stream_lock);
    return s;
}

/* What others may have queued, or a wait for others, is only known to be done when the host has
 * waited since: the answer does not depend on when things run. */
static bool quiet(nd_stream *s)
{
    if (s->foreign || nd__capture_id(s) || atomic_load(&s->lent))
        return false;
    pthread_mutex_lock(&s->lock);
    bool done = s->good >= s->seq && !s->waits;
    pthread_mutex_unlock(&s->lock);
    return done;
}

bool nd__stream_id_done(nd_device *of, uint64_t id)
{
    bool done = true;
    if (nd__out_of_reach(of))
        return true;
    pthread_mutex_lock(&of->stream_lock);
    nd_stream *s = live_stream(of, id);
    if (!s && of->ends) {
        drop_passed(of);
        for (const nd_stream_end *e = of->ends; e; e = e->next)
            done &= e->stream != id;
    }
    pthread_mutex_unlock(&of->stream_lock);
    if (s)
        done = quiet(s);
    nd_stream_release(s);
    return done;
}

bool nd__stream_id_gone(nd_device *of, uint64_t id)
{
    bool found = false;
    if (nd__out_of_reach(of))
        return true;
    pthread_mutex_lock(&of->stream_lock);
    for (const nd_stream *s = of->streams; s && !found; s = s->next)
        found = s->id == id;
    if (!found && of->ends)
        drop_passed(of);
    for (const nd_stream_end *e = of->ends; e && !found; e = e->next)
        found = e->stream == id;
    pthread_mutex_unlock(&of->stream_lock);
    return !found;
}

nd_status nd__wait_stream_id(nd_stream *s, nd_device *of, uint64_t id)
{
    nd_status status = ND_OK;
    pthread_mutex_lock(&of->stream_lock);
    nd_stream *other = live_stream(of, id);
    for (const nd_stream_end *e = other ? NULL : of->ends; e; e = e->next)
        if (e->stream == id)
            status = nd__wait_mark(s, e->event);
    pthread_mutex_unlock(&of->stream_lock);
    if (other)
        status = nd_stream_wait_stream(s, other);
    nd_stream_release(other);
    return status;
}
