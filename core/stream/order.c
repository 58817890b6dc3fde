/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What orders streams: records and waits of the plug-in's events, streams that wait for others, and
 * the rule of backward passes. */
#include <stdlib.h>
#include "core/stream/tape.h"

/* ---- by handles ---- */
nd_status nd__record_handle(nd_stream *s, ndp_event *event, const char *op, uint64_t *seq)
{
    nd_device *d = s->device;
    ND_RETURN_IF(nd__usable(d, op));
    pthread_mutex_lock(&s->lock);
    nd_status status = nd__fault(s, op, d->stream.event_record(d->dev, event, s->handle));
    *seq = s->seq;
    if (status == ND_OK && nd__hazards_now() && !nd__capture_id(s))
        nd__hazard_record(s, event);
    pthread_mutex_unlock(&s->lock);
    return status;
}

nd_status nd__mark(nd_stream *s, ndp_event **out)
{
    uint64_t seq;
    *out = NULL;
    if (!s->device->has_stream)
        return ND_OK;
    ND_RETURN_IF(nd__event_take(s->device, 0, out));
    nd_status status = nd__record_handle(s, *out, "event_record", &seq);
    if (status == ND_OK) {
        nd__mark_remember(s->device, *out, s->id);
    } else {
        nd__event_give(s->device, 0, *out);
        *out = NULL;
    }
    return status;
}

bool nd__share_events(const nd_device *a, const nd_device *b)
{
    return a->slot == b->slot && a->has_stream && b->has_stream;
}

nd_status nd__wait_handle(nd_stream *s, ndp_event *event, uint64_t recorded_in, const char *op)
{
    nd_device *d = s->device;
    if (!event)
        return ND_OK;
    ND_RETURN_IF(nd__usable(d, op));
    ND_RETURN_IF(nd__refuse_join(s, recorded_in, op));
    pthread_mutex_lock(&s->lock);
    nd_status status = nd__fault(s, op, d->stream.wait(d->dev, s->handle, event));
    s->waits = true;
    if (status == ND_OK && nd__hazards_now() && !nd__capture_id(s))
        nd__hazard_wait(s, event);
    pthread_mutex_unlock(&s->lock);
    return status;
}

nd_status nd__wait_mark(nd_stream *s, ndp_event *event)
{
    return nd__wait_handle(s, event, 0, "stream_wait_event");
}

/* The capture that other is in, if it is in one, goes on in stream as well. */
static nd_status join_stream(nd_stream *stream, nd_stream *other, const char *op)
{
    nd_tape *t = nd__tape_of(other);
    uint32_t *seen, n;
    if (!t)
        return ND_OK;
    ND_RETURN_IF(nd__tape_mark(t, other, op, &seen, &n));
    nd_status status = nd__tape_join(t, stream, op, seen, n);
    free(seen);
    return status;
}

nd_status nd_stream_wait_stream(nd_stream *stream, nd_stream *other)
{
    ndp_event *mark;
    if (!stream || !other)
        return nd__fail(ND_ERR_ARGUMENT, "stream_wait_stream", !stream ? 0 : 1,
                        "the stream is NULL");
    ND_RETURN_IF(nd__usable(stream->device, "stream_wait_stream"));
    if (stream == other)
        return ND_OK;
    if (nd__captures_now() && stream->device->slot == other->device->slot) {
        ND_RETURN_IF(nd__refuse_join(stream, nd__capture_id(other), "stream_wait_stream"));
        ND_RETURN_IF(join_stream(stream, other, "stream_wait_stream"));
        if (nd__is_recorded(other))
            return ND_OK;
    }
    if (!nd__share_events(stream->device,
                          other->device)) /* one queue, or none, or the host waits */
        return stream->device == other->device
                   ? (nd_status)ND_OK
                   : nd__wait(other, ND_WAIT_EVENT, "stream_wait_stream");
    uint64_t recorded_in = nd__capture_id(other);
    if (stream->device->slot == other->device->slot)
        ND_RETURN_IF(nd__refuse_join(stream, recorded_in, "stream_wait_stream"));
    ND_RETURN_IF(nd__mark(other, &mark));
    nd_status status = nd__wait_handle(stream, mark, recorded_in, "stream_wait_stream");
    nd__event_give(other->device, 0, mark); /* the wait keeps the record it was issued on */
    return status;
}

/* ---- the backward rule ---- */
static nd_status order_all(const char *op, nd_stream *const *used, int32_t n, bool caller_waits)
{
    for (int32_t i = 0; i < n; i++) {
        nd_stream *current = NULL;
        if (!used || !used[i])
            return nd__fail(ND_ERR_ARGUMENT, op, 0, "stream %d is NULL", (int)i);
        ND_RETURN_IF(nd_stream_current(used[i]->device, &current));
        nd_status status = caller_waits ? nd_stream_wait_stream(current, used[i])
                                        : nd_stream_wait_stream(used[i], current);
        nd_stream_release(current);
        ND_RETURN_IF(status);
    }
    return ND_OK;
}

nd_status nd_backward_enter(nd_stream *const *used, int32_t n)
{
    return order_all("backward_enter", used, n, false);
}

nd_status nd_backward_exit(nd_stream *const *used, int32_t n)
{
    return order_all("backward_exit", used, n, true);
}
