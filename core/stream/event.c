/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Events of programs: points on streams that others wait for. */
#include <stdlib.h>
#include <time.h>
#include "core/stream/tape.h"

static double host_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

nd_status nd_event_create(nd_device *device, const nd_event_opts *opts, nd_event **out)
{
    nd_status status;
    int32_t flags = opts ? opts->flags : 0;
    ND_OUT("event_create", 2, out, NULL);
    if (opts && opts->size < NDP_END(nd_event_opts, flags))
        return nd__fail(ND_ERR_ARGUMENT, "event_create", 1,
                        "the options' size field is %u, not sizeof(nd_event_opts)",
                        (unsigned)opts->size);
    if (flags & ~(ND_EVENT_KINDS - 1))
        return nd__fail(ND_ERR_ARGUMENT, "event_create", 1,
                        "unknown flags %#x; ND_EVENT_TIMING, _BLOCKING, _INTERPROCESS are 1, 2, 4",
                        (unsigned)flags);
    device = nd__or_current(device, &status);
    if (status != ND_OK)
        return status;
    nd_event *e = calloc(1, sizeof *e);
    if (!e)
        return nd__fail(ND_ERR_MEMORY, "event_create", -1, "no memory for an event");
    if (device->has_stream) {
        status = nd__usable(device, "event_create");
        status = status == ND_OK ? nd__event_take(device, flags, &e->handle) : status;
    }
    if (status != ND_OK) {
        free(e);
        return status;
    }
    atomic_init(&e->refs, 1);
    e->flags = flags;
    e->device = device;
    pthread_mutex_init(&e->lock, NULL);
    *out = e;
    return ND_OK;
}

nd_event *nd_event_retain(nd_event *e)
{
    if (e)
        atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
    return e;
}

nd_device *nd_event_device(const nd_event *e)
{
    ND_NEED_OR("event_device", 0, e, NULL);
    return e->device;
}

void nd_event_release(nd_event *e)
{
    if (!e || atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1)
        return;
    nd__event_give(e->device, e->flags, e->handle);
    if (e->let_go)
        e->let_go(e->let_go_ctx);
    nd__stream_unhold(e->stream);
    nd__tape_release(e->tape);
    free(e->seen);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

nd_status nd__event_wrap(const char *op, nd_device *device, ndp_event *handle,
                         void (*let_go)(void *ctx), void *ctx, nd_event **out)
{
    nd_event *e = calloc(1, sizeof *e);
    if (!e)
        return nd__fail(ND_ERR_MEMORY, op, -1, "no memory for an event");
    atomic_init(&e->refs, 1);
    e->flags = ND_EVENT_INTERPROCESS;
    e->device = device;
    e->handle = handle;
    e->recorded = true; /* by whom and where, the plug-in knows */
    e->stream = device->stream0;
    nd__stream_hold(e->stream);
    e->let_go = let_go;
    e->let_go_ctx = ctx;
    pthread_mutex_init(&e->lock, NULL);
    *out = e;
    return ND_OK;
}

/* Where the stream is in its capture; NULL: the event is recorded outside any. */
static nd_status remember_place(nd_event *e, nd_stream *s, nd_tape *tape)
{
    uint32_t *seen = NULL, n = 0;
    if (tape)
        ND_RETURN_IF(nd__tape_mark(tape, s, "event_record", &seen, &n));
    nd__tape_release(e->tape);
    free(e->seen);
    e->tape = nd__tape_retain(tape);
    e->seen = seen;
    e->n_seen = n;
    return ND_OK;
}

nd_status nd_event_record(nd_event *e, nd_stream *stream)
{
    uint64_t seq = 0;
    if (!e)
        return nd__fail(ND_ERR_ARGUMENT, "event_record", 0, "the event is NULL");
    nd_stream *s = NULL;
    ND_RETURN_IF(nd__usable(e->device, "event_record"));
    ND_RETURN_IF(nd_stream_current(e->device, &s));
    nd_stream_release(s); /* the thread keeps its current stream */
    s = stream ? stream : s;
    if (s->device != e->device)
        return nd__fail(ND_ERR_DEVICE, "event_record", 1,
                        "the event is of %s, the stream of %s: an event is recorded on its own "
                        "device and may be waited for on any",
                        e->device->name, s->device->name);
    nd_stream *before = NULL;
    nd_tape *tape = nd__captures_now() ? nd__tape_of(s) : NULL;
    pthread_mutex_lock(&e->lock);
    nd_status status = e->handle && !nd__is_recorded(s)
                           ? nd__record_handle(s, e->handle, "event_record", &seq)
                           : (nd_status)ND_OK;
    if (status == ND_OK && (tape || e->tape))
        status = remember_place(e, s, tape);
    if (status == ND_OK) {
        nd__stream_hold(s);
        before = e->stream;
        e->stream = s;
        e->seq = e->handle ? seq : s->seq;
        e->capture = nd__capture_id(s);
        e->when_ms = host_ms();
        e->recorded = true;
    }
    pthread_mutex_unlock(&e->lock);
    nd__stream_unhold(before); /* may call its owner: under no lock */
    return status;
}

/* The latest record of an event, as its waiters see it. */
static nd_event snapshot_of(nd_event *e)
{
    nd_event now = {.flags = 0};
    pthread_mutex_lock(&e->lock);
    now.recorded = e->recorded;
    now.stream = e->stream;
    now.seq = e->seq;
    now.capture = e->capture;
    now.when_ms = e->when_ms;
    nd__stream_hold(now.stream);
    pthread_mutex_unlock(&e->lock);
    return now;
}

/* A fault seen through an event is its stream's. */
static nd_status event_result(const nd_event *now, const char *op, nd_status status, bool done)
{
    nd_stream *s = now->stream;
    pthread_mutex_lock(&s->lock);
    status = nd__fault(s, op, status);
    if (status == ND_OK && done) {
        nd__progress(s, now->seq);
        status = nd__sources_kept(s, op);
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

/* An event of a capture happens when the graph runs, if ever. */
static nd_status check_askable(const nd_event *now, nd_device *d, const char *op)
{
    ND_RETURN_IF(nd__usable(d, op));
    if (now->capture)
        return nd__fail(ND_ERR_CAPTURE, op, 0,
                        "the event was recorded in a capture, where nothing ran; record it again "
                        "outside");
    return nd__refuse_unsafe(d, op, "ask after the capture has ended");
}

/* The device's word on an event: *done, or done NULL: when it is. */
static nd_status ask_device(const nd_event *now, nd_device *d, const char *op, ndp_event *handle,
                            int32_t *done)
{
    if (!handle)
        return done ? nd_stream_query(now->stream, done) : nd__wait(now->stream, ND_WAIT_EVENT, op);
    if (!done)
        ND_RETURN_IF(nd__may_wait(ND_WAIT_EVENT, d, op));
    nd_status status =
        done ? d->stream.event_query(d->dev, handle, done) : d->stream.event_sync(d->dev, handle);
    const bool reached = !done || *done;
    status = event_result(now, op, status, reached);
    if (status == ND_OK && reached && nd__hazards_now())
        nd__hazard_wait(NULL, handle);
    return status;
}

static nd_status ask(const char *op, nd_event *e, int32_t *done)
{
    ND_NEED(op, 0, e);
    nd_device *d = e->device;
    nd_status status = ND_OK;
    ND_RETURN_IF(nd__usable(d, op));
    nd_event now = snapshot_of(e);
    if (now.recorded && (d->async || now.capture))
        status = check_askable(&now, d, op);
    if (now.recorded && d->async && status == ND_OK)
        status = ask_device(&now, d, op, e->handle, done);
    nd__stream_unhold(now.stream);
    return status;
}

nd_status nd_event_query(nd_event *e, int32_t *done)
{
    ND_OUT("event_query", 1, done, 1);
    return ask("event_query", e, done);
}

nd_status nd_event_synchronize(nd_event *e)
{
    return ask("event_synchronize", e, NULL);
}

/* Under the locks of both. */
static nd_status elapsed(nd_event *start, nd_event *stop, double *ms)
{
    nd_device *d = start->device;
    if (!start->recorded || !stop->recorded)
        return nd__fail(ND_ERR_NOT_RECORDED, "event_elapsed", start->recorded,
                        "the event has not been recorded");
    for (int i = 0; i < 2; i++) {
        nd_event *e = i ? stop : start;
        int32_t done = 1;
        if (e->handle) {
            nd_status status = d->stream.event_query(d->dev, e->handle, &done);
            ND_RETURN_IF(event_result(e, "event_elapsed", status, done));
        }
        if (!done)
            return nd__fail(ND_ERR_NOT_READY, "event_elapsed", i,
                            "the work before the event is not done; nd_event_synchronize waits");
    }
    if (!start->handle) {
        *ms = stop->when_ms - start->when_ms;
        return ND_OK;
    }
    nd_status status = d->stream.event_elapsed(d->dev, start->handle, stop->handle, ms);
    if (status != ND_OK)
        nd__error_context("event_elapsed", d->name, d->slot->name);
    return status;
}

nd_status nd_event_elapsed(nd_event *start, nd_event *stop, double *ms)
{
    ND_OUT("event_elapsed", 2, ms, 0);
    for (int i = 0; i < 2; i++) {
        nd_event *e = i ? stop : start;
        if (!e)
            return nd__fail(ND_ERR_ARGUMENT, "event_elapsed", i, "the event is NULL");
        if (!(e->flags & ND_EVENT_TIMING))
            return nd__fail(ND_ERR_NOT_TIMED, "event_elapsed", i,
                            "the event was made without ND_EVENT_TIMING");
    }
    if (start->device != stop->device)
        return nd__fail(ND_ERR_DEVICE, "event_elapsed", 1, "the events are of %s and %s",
                        start->device->name, stop->device->name);
    ND_RETURN_IF(nd__usable(start->device, "event_elapsed"));
    /* Both, so that no new record comes between the questions; in one order for all threads. */
    nd_event *first = start < stop ? start : stop, *second = start < stop ? stop : start;
    pthread_mutex_lock(&first->lock);
    if (first != second)
        pthread_mutex_lock(&second->lock);
    nd_status status = elapsed(start, stop, ms);
    if (first != second)
        pthread_mutex_unlock(&second->lock);
    pthread_mutex_unlock(&first->lock);
    return status;
}

/* The stream's device shares no events with the event's: the host waits. */
static nd_status wait_on_host(nd_stream *stream, nd_event *e)
{
    nd_event now = snapshot_of(e);
    bool ordered = !now.recorded || stream->device == e->device;
    nd_status status = ordered ? (nd_status)ND_OK : nd_event_synchronize(e);
    nd__stream_unhold(now.stream);
    return status;
}

/* *done: no device has to be told. */
static nd_status wait_in_capture(nd_stream *stream, nd_event *e, bool *done)
{
    static const char op[] = "stream_wait_event";
    nd_status status = ND_OK;
    pthread_mutex_lock(&e->lock);
    if (e->recorded && (e->tape || nd__captures_now()))
        status = nd__refuse_join(stream, e->capture, op);
    if (status == ND_OK && e->recorded && e->tape) {
        *done = !e->tape->native;
        status = nd__tape_join(e->tape, stream, op, e->seen, e->n_seen);
    }
    pthread_mutex_unlock(&e->lock);
    return status;
}

nd_status nd_stream_wait_event(nd_stream *stream, nd_event *e)
{
    nd_status status = ND_OK;
    if (!stream || !e)
        return nd__fail(ND_ERR_ARGUMENT, "stream_wait_event", !stream ? 0 : 1, "%s is NULL",
                        !stream ? "the stream" : "the event");
    ND_RETURN_IF(nd__usable(stream->device, "stream_wait_event"));
    bool in_order = false; /* by a tape alone */
    if (stream->device->slot == e->device->slot)
        ND_RETURN_IF(wait_in_capture(stream, e, &in_order));
    if (in_order)
        return ND_OK;
    if (!nd__share_events(stream->device, e->device))
        return wait_on_host(stream, e);
    pthread_mutex_lock(&e->lock); /* no new record in between */
    if (e->recorded)
        status = nd__wait_handle(stream, e->handle, e->capture, "stream_wait_event");
    pthread_mutex_unlock(&e->lock);
    return status;
}
