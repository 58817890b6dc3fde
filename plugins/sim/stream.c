/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Streams: handles, which are used again as soon as they are destroyed, over queues, which live
 * until they have run dry. */
#include <stdlib.h>
#include "checker.h"
#include "graph.h"
#include "simulator.h"

static ndp_stream *every_stream; /* that was ever made, alive or not */
static ndp_stream *free_streams; /* last destroyed first: a stale key shows at once */
static uint64_t last_id = SIM_MAX_DEVICES;

sim_queue *sim_queue_of(ndp_dev *dev, const ndp_stream *s)
{
    return s ? s->queue : dev->legacy;
}

sim_queue *sim_queue_new(ndp_dev *dev, int32_t priority)
{
    sim_queue *q = calloc(1, sizeof *q);
    if (!q)
        return NULL;
    q->refs = 1;
    q->dev = dev;
    q->priority = priority;
    q->id = dev->legacy ? ++last_id : (uint64_t)dev->index + 1;
    q->next = dev->queues;
    dev->queues = q;
    return q;
}

void sim_queue_unref(sim_queue *q)
{
    if (--q->refs)
        return;
    sim_queue **at = &q->dev->queues;
    while (*at && *at != q)
        at = &(*at)->next;
    if (*at)
        *at = q->next;
    sim_capture_abandon(q);
    sim_slot_release(q);
    sim_clock_free(&q->clock);
    free(q);
}

/* The stream is this device's and alive. */
static int32_t check_stream(ndp_dev *dev, const ndp_stream *s, const char *what)
{
    if (!s || (s->queue && s->queue->dev == dev))
        return NDP_OK;
    return s->queue ? sim_fail(NDP_ERR_DEVICE, 400, "%s: the stream is of sim:%d, not of sim:%d",
                               what, s->queue->dev->index, dev->index)
                    : sim_fail(NDP_ERR_ARGUMENT, 400, "%s: the stream was destroyed", what);
}

static int32_t new_handle(sim_queue *q, ndp_stream **out)
{
    ndp_stream *s = free_streams;
    if (s) {
        free_streams = s->next;
    } else if ((s = calloc(1, sizeof *s)) != NULL) {
        s->every = every_stream;
        every_stream = s;
    } else {
        return sim_fail(NDP_ERR_MEMORY, 0, "no host memory for a stream");
    }
    *s = (ndp_stream){.queue = q, .every = s->every};
    *out = s;
    return NDP_OK;
}

/* Other handles are not looked into. */
static int32_t is_handle(uint64_t handle)
{
    const ndp_stream *s = every_stream;
    while (s && (uint64_t)(uintptr_t)s != handle)
        s = s->every;
    return s != NULL;
}

static int32_t create_stream(ndp_dev *dev, int32_t priority, uint64_t flags, ndp_stream **out)
{
    if (flags)
        return sim_fail(NDP_ERR_ARGUMENT, 1, "stream flags %llu are not known; 0 is right",
                        (unsigned long long)flags);
    int32_t highest = SIM_LOWEST_PRIORITY - (int32_t)sim_set.priorities + 1;
    if (priority < highest || priority > SIM_LOWEST_PRIORITY)
        return sim_fail(NDP_ERR_ARGUMENT, 1, "stream priority %d lies outside %d to %d",
                        (int)priority, highest, SIM_LOWEST_PRIORITY);
    sim_queue *q = sim_queue_new(dev, priority);
    if (!q)
        return sim_fail(NDP_ERR_MEMORY, 0, "no host memory for a stream");
    int32_t status = new_handle(q, out);
    if (status != NDP_OK)
        sim_queue_unref(q);
    return status;
}

static int32_t stream_create(ndp_dev *dev, int32_t priority, uint64_t flags, ndp_stream **out)
{
    sim_call c = {.entry = SIM_stream_create, .dev = dev};
    int32_t status = sim_enter(&c);
    *out = NULL;
    if (status == NDP_OK)
        status = create_stream(dev, priority, flags, out);
    c.stream = *out;
    return sim_leave(&c, status);
}

static void stream_destroy(ndp_dev *dev, ndp_stream *s)
{
    sim_call c = {.entry = SIM_stream_destroy, .dev = dev, .stream = s};
    int32_t status = sim_enter(&c);
    sim_queue *q = s ? s->queue : NULL;
    sim_log(&c, status);
    if (q) {
        s->queue = NULL;
        s->next = free_streams;
        free_streams = s;
        if (!s->wrapper)
            sim_capture_abandon(q);
        sim_queue_unref(q); /* queued work holds it until that is done */
    }
    pthread_mutex_unlock(&sim_mutex);
}

static int32_t stream_query(ndp_dev *dev, ndp_stream *s, int32_t *done)
{
    sim_call c = {.entry = SIM_stream_query, .dev = dev, .stream = s};
    int32_t status = sim_enter(&c);
    *done = 0;
    if (status == NDP_OK)
        status = check_stream(dev, s, "stream_query");
    if (status == NDP_OK)
        status = sim_capture_forbids("stream_query", sim_queue_of(dev, s));
    if (status == NDP_OK) {
        sim_queue *q = sim_queue_of(dev, s);
        *done = q->done == q->queued;
        if (*done)
            sim_host_saw(&q->clock);
        status = sim_take_error(q);
    }
    return sim_leave(&c, status);
}

static int32_t sync_entry(ndp_dev *dev, ndp_stream *s, int32_t entry)
{
    sim_call c = {.entry = entry, .dev = dev, .stream = s};
    int32_t status = sim_enter(&c);
    if (status == NDP_OK)
        status = check_stream(dev, s, "sync");
    if (status == NDP_OK)
        status = sim_capture_forbids("sync", sim_queue_of(dev, s));
    if (status == NDP_OK) {
        sim_queue *q = sim_queue_of(dev, s);
        sim_host_saw(&q->clock);
        q->refs++;
        sim_need(q, q->queued);
        sim_host_waited(q->time);
        status = sim_take_error(q);
        sim_queue_unref(q);
    }
    return sim_leave(&c, status);
}

int32_t sim_stream_sync(ndp_dev *dev, ndp_stream *s)
{
    return sync_entry(dev, s, SIM_sync);
}

static int32_t stream_sync(ndp_dev *dev, ndp_stream *s)
{
    return sync_entry(dev, s, SIM_stream_sync);
}

int32_t sim_stream_wait(ndp_dev *dev, ndp_stream *s, ndp_event *e)
{
    sim_call c = {.entry = SIM_stream_wait, .dev = dev, .stream = s, .event = e};
    int32_t status = sim_enter(&c), queue_it = 1;
    if (status == NDP_OK)
        status = check_stream(dev, s, "stream_wait");
    sim_queue *q = sim_queue_of(dev, s);
    sim_record *r = e->latest;
    if (status == NDP_OK && dev->drop_wait && --dev->drop_wait == 0)
        r = NULL;
    if (status == NDP_OK && r)
        status = sim_capture_wait(q, r, &queue_it);
    /* A wait in the stream that made the record is always met. */
    if (status == NDP_OK && r && queue_it && r->queue != q)
        status = sim_push_mark(q, SIM_OP_WAIT, r);
    return sim_leave(&c, status);
}

static int32_t priority_range(ndp_dev *dev, int32_t *lowest, int32_t *highest)
{
    (void)dev;
    *lowest = SIM_LOWEST_PRIORITY;
    *highest = SIM_LOWEST_PRIORITY - (int32_t)sim_set.priorities + 1;
    return NDP_OK;
}

/* As with CUDA, the default stream's handle is 1. */
static int32_t stream_native(ndp_dev *dev, ndp_stream *s, uint64_t *handle)
{
    sim_call c = {.entry = SIM_stream_native, .dev = dev, .stream = s};
    int32_t status = sim_enter(&c);
    *handle = !s ? 1 : s->wrapper ? s->foreign : (uint64_t)(uintptr_t)s;
    return sim_leave(&c, status);
}

static pthread_key_t own_key;
static pthread_once_t own_once = PTHREAD_ONCE_INIT;

static void make_own_key(void)
{
    (void)pthread_key_create(&own_key, free);
}

/* The calling thread's own queues, by device; NULL: no memory. No thread-local array: static TLS is
 * too scarce for one, and LeakSanitizer cannot read the dynamic kind. */
static sim_queue **own_queues(void)
{
    pthread_once(&own_once, make_own_key);
    sim_queue **own = pthread_getspecific(own_key);
    if (!own && (own = calloc(SIM_MAX_DEVICES, sizeof(sim_queue *))) != NULL)
        (void)pthread_setspecific(own_key, own);
    return own;
}

/* The queue of a foreign handle. As with CUDA, 1 is the default stream, and 2 one that each thread
 * has to itself, made at its first use and kept. */
static int32_t find_foreign(ndp_dev *dev, uint64_t handle, sim_queue **out)
{
    sim_queue **own = own_queues();
    ndp_stream *s = handle <= 2 ? NULL : (ndp_stream *)(uintptr_t)handle;
    if (s && !is_handle(handle))
        return sim_fail(NDP_ERR_ARGUMENT, 400, "stream_wrap: 0x%llx is no stream of sim:%d",
                        (unsigned long long)handle, dev->index);
    int32_t status = check_stream(dev, s, "stream_wrap");
    if (status != NDP_OK)
        return status;
    if (handle == 2 && own && !own[dev->index])
        own[dev->index] = sim_queue_new(dev, SIM_LOWEST_PRIORITY);
    *out = handle != 2 ? sim_queue_of(dev, s) : own ? own[dev->index] : NULL;
    if (!*out)
        return sim_fail(NDP_ERR_MEMORY, 0, "no host memory for a stream");
    return NDP_OK;
}

static int32_t wrap_stream(ndp_dev *dev, uint64_t handle, ndp_stream **out)
{
    sim_queue *q = NULL;
    if (handle == 0)
        return sim_fail(
            NDP_ERR_ARGUMENT, 400,
            "stream handle 0 is ambiguous; 1 is the default stream, 2 the thread's own");
    int32_t status = find_foreign(dev, handle, &q);
    if (status == NDP_OK)
        status = new_handle(q, out);
    if (status == NDP_OK) {
        (*out)->wrapper = 1;
        (*out)->foreign = handle;
        q->refs++;
    }
    return status;
}

static int32_t stream_wrap(ndp_dev *dev, uint64_t handle, ndp_stream **out)
{
    sim_call c = {.entry = SIM_stream_wrap, .dev = dev};
    int32_t status = sim_enter(&c);
    *out = NULL;
    if (status == NDP_OK)
        status = wrap_stream(dev, handle, out);
    c.stream = *out;
    return sim_leave(&c, status);
}

static int32_t launch_host(ndp_dev *dev, ndp_stream *s, void (*fn)(void *), void *arg)
{
    sim_call c = {.entry = SIM_launch_host, .dev = dev, .stream = s};
    int32_t status = sim_enter(&c);
    if (status == NDP_OK)
        status = check_stream(dev, s, "launch_host");
    if (status == NDP_OK) {
        sim_body *b = sim_body_new(SIM_OP_HOST, "host function", dev, 0, NULL);
        if (b) {
            b->fn = fn;
            b->arg = arg;
            status = sim_push(sim_queue_of(dev, s), b, NULL);
        } else {
            status = sim_fail(NDP_ERR_MEMORY, 0, "no host memory to queue a host function");
        }
    }
    return sim_leave(&c, status);
}

const ndp_stream_1 sim_stream_group = {
    .size = sizeof(ndp_stream_1),
    .create = stream_create,
    .destroy = stream_destroy,
    .query = stream_query,
    .sync = stream_sync,
    .wait = sim_stream_wait,
    .event_create = sim_event_create,
    .event_destroy = sim_event_destroy,
    .event_record = sim_event_record,
    .event_query = sim_event_query,
    .event_sync = sim_event_sync,
    .event_elapsed = sim_event_elapsed,
    .priority_range = priority_range,
    .native = stream_native,
    .wrap = stream_wrap,
    .launch_host = launch_host,
};
