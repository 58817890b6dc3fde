/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Events. Each recording is an object of its own, to which waits are bound; the event points at its
 * latest. */
#include <stdlib.h>
#include "checker.h"
#include "graph.h"
#include "simulator.h"

static ndp_event *free_events; /* last destroyed first */

void sim_record_unref(sim_record *r)
{
    if (--r->refs)
        return;
    sim_queue_unref(r->queue);
    if (r->capture)
        sim_capture_unref(r->capture);
    sim_clock_free(&r->clock);
    free(r->seen);
    free(r);
}

sim_record *sim_record_new(sim_queue *q)
{
    sim_record *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->refs = 1;
    r->queue = q;
    q->refs++;
    return r;
}

int32_t sim_event_create(ndp_dev *dev, uint64_t flags, ndp_event **out)
{
    sim_call c = {.entry = SIM_event_create, .dev = dev};
    int32_t status = sim_enter(&c);
    ndp_event *e = NULL;
    *out = NULL;
    if (status == NDP_OK && (flags & ~(uint64_t)(NDP_EVENT_TIMING | NDP_EVENT_BLOCKING)))
        status = sim_fail(flags & NDP_EVENT_INTERPROCESS ? NDP_ERR_UNSUPPORTED : NDP_ERR_ARGUMENT,
                          1, "event flags %llu are not supported by sim; timing is 1, blocking 2",
                          (unsigned long long)flags);
    if (status == NDP_OK) {
        if ((e = free_events) != NULL)
            free_events = e->next;
        else if ((e = malloc(sizeof *e)) == NULL)
            status = sim_fail(NDP_ERR_MEMORY, 0, "no host memory for an event");
    }
    if (e)
        *e = (ndp_event){.dev = dev, .flags = flags};
    *out = e;
    c.event = e;
    return sim_leave(&c, status);
}

void sim_event_destroy(ndp_dev *dev, ndp_event *e)
{
    sim_call c = {.entry = SIM_event_destroy, .dev = dev, .event = e};
    int32_t status = sim_enter(&c);
    if (e) {
        if (e->latest)
            sim_record_unref(e->latest);
        e->latest = NULL;
        e->dev = NULL;
        e->next = free_events;
        free_events = e;
    }
    sim_leave(&c, status);
}

static int32_t record(ndp_dev *dev, ndp_event *e, ndp_stream *s)
{
    sim_queue *q = sim_queue_of(dev, s);
    if (e->dev != dev || !q || q->dev != dev)
        return sim_fail(NDP_ERR_DEVICE, 400,
                        "an event of sim:%d is recorded on a stream of sim:%d; both must be of one "
                        "device",
                        e->dev ? e->dev->index : -1, q ? q->dev->index : -1);
    int32_t status = sim_capture_check_push(q);
    if (status != NDP_OK)
        return status;
    sim_record *r = sim_record_new(q);
    if (!r)
        return sim_fail(NDP_ERR_MEMORY, 0, "no host memory to record an event");
    if (q->capture)
        status = sim_capture_record(q, r);
    else
        status = sim_push_mark(q, SIM_OP_RECORD, r);
    if (status != NDP_OK) {
        sim_record_unref(r);
        return status;
    }
    if (e->latest)
        sim_record_unref(e->latest);
    e->latest = r;
    return NDP_OK;
}

int32_t sim_event_record(ndp_dev *dev, ndp_event *e, ndp_stream *s)
{
    sim_call c = {.entry = SIM_event_record, .dev = dev, .stream = s, .event = e};
    int32_t status = sim_enter(&c);
    if (status == NDP_OK)
        status = record(dev, e, s);
    return sim_leave(&c, status);
}

int32_t sim_event_query(ndp_dev *dev, ndp_event *e, int32_t *done)
{
    sim_call c = {.entry = SIM_event_query, .dev = dev, .event = e};
    int32_t status = sim_enter(&c);
    *done = 0;
    if (status == NDP_OK)
        status = sim_capture_event(e, "event_query");
    if (status == NDP_OK)
        status = sim_capture_forbids("event_query", NULL);
    if (status == NDP_OK) {
        *done = !e->latest || e->latest->done; /* an event never recorded has nothing to wait for */
        if (e->latest && *done) {
            sim_host_saw(&e->latest->clock);
            status = sim_take_error(e->latest->queue);
        }
    }
    return sim_leave(&c, status);
}

int32_t sim_event_sync(ndp_dev *dev, ndp_event *e)
{
    sim_call c = {.entry = SIM_event_sync, .dev = dev, .event = e};
    int32_t status = sim_enter(&c);
    if (status == NDP_OK)
        status = sim_capture_event(e, "event_sync");
    if (status == NDP_OK)
        status = sim_capture_forbids("event_sync", NULL);
    sim_record *r = e->latest;
    if (status == NDP_OK && r) {
        r->refs++;
        sim_host_saw(&r->clock);
        sim_need(r->queue, r->position);
        sim_host_waited(r->time);
        status = sim_take_error(r->queue);
        sim_record_unref(r);
    }
    return sim_leave(&c, status);
}

static int32_t elapsed(ndp_dev *dev, const ndp_event *start, const ndp_event *stop, double *ms)
{
    (void)dev;
    for (int i = 0; i < 2; i++) {
        const ndp_event *e = i ? stop : start;
        const char *which = i ? "stop" : "start";
        if (!(e->flags & NDP_EVENT_TIMING))
            return sim_fail(NDP_ERR_NOT_TIMED, 400, "the %s event was made without timing", which);
        if (!e->latest)
            return sim_fail(NDP_ERR_NOT_RECORDED, 400, "the %s event was never recorded", which);
        int32_t status = sim_capture_event(e, "event_elapsed");
        if (status != NDP_OK)
            return status;
        if (!e->latest->done)
            return sim_fail(NDP_ERR_NOT_READY, 600, "the %s event's work is not done yet", which);
    }
    *ms = ((double)stop->latest->time - (double)start->latest->time) * 1e-6;
    return NDP_OK;
}

int32_t sim_event_elapsed(ndp_dev *dev, ndp_event *start, ndp_event *stop, double *ms)
{
    sim_call c = {.entry = SIM_event_elapsed, .dev = dev, .event = start};
    int32_t status = sim_enter(&c);
    *ms = 0;
    if (status == NDP_OK)
        status = elapsed(dev, start, stop, ms);
    return sim_leave(&c, status);
}
