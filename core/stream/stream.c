/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Streams: their life, and the pools of shared ones. */
#include <stdlib.h>
#include "core/stream/tape.h"

static _Atomic uint64_t last_id;

static nd_status new_stream(nd_device *d, int32_t priority, nd_stream **out)
{
    nd_stream *s = calloc(1, sizeof *s);
    nd_op_record *ring = d->async ? calloc(ND_RING, sizeof *ring) : NULL;
    *out = s;
    if (!s || (d->async && !ring)) {
        free(s);
        free(ring);
        *out = NULL;
        return nd__fail(ND_ERR_MEMORY, "stream", -1, "no memory for a stream");
    }
    atomic_init(&s->refs, 1);
    atomic_init(&s->holds, 1);
    s->priority = priority;
    s->id = atomic_fetch_add(&last_id, 1) + 1;
    s->device = d;
    s->ring = ring;
    pthread_mutex_init(&s->lock, NULL);
    return ND_OK;
}

static void enlist(nd_stream *s)
{
    pthread_mutex_lock(&s->device->stream_lock);
    s->next = s->device->streams;
    s->device->streams = s;
    pthread_mutex_unlock(&s->device->stream_lock);
}

nd_status nd__streams_open(nd_device *d)
{
    ND_RETURN_IF(new_stream(d, 0, &d->stream0));
    d->stream0->immortal = true;
    enlist(d->stream0);
    return ND_OK;
}

void nd__stream_hold(nd_stream *s)
{
    if (s && !s->immortal)
        atomic_fetch_add_explicit(&s->holds, 1, memory_order_relaxed);
}

void nd__stream_unhold(nd_stream *s)
{
    if (!s || s->immortal || atomic_fetch_sub_explicit(&s->holds, 1, memory_order_acq_rel) != 1)
        return;
    if (s->release)
        s->release(s->ctx);
    pthread_mutex_destroy(&s->lock);
    nd__hazard_clock_free(s->clock);
    free(s->ring);
    free(s);
}

/* What is cached for the stream is told while its handle still works. */
static void retire(void *arg)
{
    nd_stream *s = arg;
    nd_device *d = s->device;
    if (nd__forked() && !d->host_visible)
        return; /* the parent's */
    /* A stream that joined a capture belongs to it until its end: before, no event could tell when
     * the work is done that it was given outside. */
    if (!s->capture && nd__capture_id(s) && nd__after_capture(d, retire, s))
        return;
    nd__capture_abandon(s);
    nd_status_word *word = atomic_exchange(&s->status, NULL);
    if (word)
        word->release(word);
    nd__on_stream_retired(s);
    nd__stream_leave(s);
    if (s->handle && !nd__out_of_reach(d))
        d->stream.destroy(d->dev, s->handle);
    s->handle = NULL;
    nd__stream_unhold(s);
}

nd_stream *nd_stream_retain(nd_stream *s)
{
    if (s && !s->immortal)
        atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

nd_stream *nd__stream_retain_live(nd_stream *s)
{
    int refs = s ? atomic_load(&s->refs) : 0;
    while (refs && !atomic_compare_exchange_weak(&s->refs, &refs, refs + !s->immortal))
        ;
    return refs ? s : NULL;
}

void nd_stream_release(nd_stream *s)
{
    if (s && !s->immortal && atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1)
        retire(s);
}

nd_status nd_stream_priority_range(nd_device *device, int32_t *lowest, int32_t *highest)
{
    nd_status status;
    ND_OUT("stream_priority_range", 1, lowest, 0);
    ND_OUT("stream_priority_range", 2, highest, 0);
    device = nd__or_current(device, &status);
    if (status == ND_OK && device->has_stream && device->stream.priority_range)
        status = device->stream.priority_range(device->dev, lowest, highest);
    return status;
}

static nd_status clamp_priority(nd_device *d, int32_t *priority)
{
    int32_t lowest, highest;
    ND_RETURN_IF(nd_stream_priority_range(d, &lowest, &highest)); /* lower numbers are higher */
    *priority = *priority > lowest ? lowest : *priority < highest ? highest : *priority;
    return ND_OK;
}

static nd_status create(nd_device *d, int32_t priority, nd_stream **out)
{
    nd_stream *s = NULL;
    ND_RETURN_IF(nd__usable(d, "stream_create"));
    ND_RETURN_IF(clamp_priority(d, &priority));
    ND_RETURN_IF(new_stream(d, priority, &s));
    nd_status status =
        d->has_stream ? d->stream.create(d->dev, priority, 0, &s->handle) : (nd_status)ND_OK;
    if (status != ND_OK) {
        nd__error_context("stream_create", d->name, d->slot->name);
        nd__stream_unhold(s);
        return status;
    }
    enlist(s);
    *out = s;
    return ND_OK;
}

nd_status nd_stream_create(nd_device *device, const nd_stream_opts *opts, nd_stream **out)
{
    nd_status status;
    ND_OUT("stream_create", 2, out, NULL);
    if (opts && opts->size < NDP_END(nd_stream_opts, priority))
        return nd__fail(ND_ERR_ARGUMENT, "stream_create", 1,
                        "the options' size field is %u, not sizeof(nd_stream_opts)",
                        (unsigned)opts->size);
    device = nd__or_current(device, &status);
    return status == ND_OK ? create(device, opts ? opts->priority : 0, out) : status;
}

/* Pools are made as they are asked for and live as long as the process. */
typedef struct pool {
    struct pool *next;
    nd_device *device;
    int32_t priority;
    nd_stream *slots[ND_STREAM_POOL_SLOTS];
} pool;
static pool *pools;
static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;

void nd__fork_stream_pools(nd_fork now)
{
    nd__fork_mutex(&pools_lock, now);
}

static pool *find_pool(nd_device *device, int32_t priority)
{
    pool *p = pools;
    while (p && (p->device != device || p->priority != priority))
        p = p->next;
    if (!p && (p = calloc(1, sizeof *p)) != NULL) {
        *p = (pool){.next = pools, .device = device, .priority = priority};
        pools = p;
    }
    return p;
}

nd_status nd_stream_pool_get(nd_device *device, int32_t priority, int32_t slot, nd_stream **out)
{
    nd_status status;
    ND_OUT("stream_pool_get", 3, out, NULL);
    if (slot < 0 || slot >= ND_STREAM_POOL_SLOTS)
        return nd__fail(ND_ERR_ARGUMENT, "stream_pool_get", 2, "slot %d is not one of 0 to %d",
                        (int)slot, ND_STREAM_POOL_SLOTS - 1);
    device = nd__or_current(device, &status);
    if (status != ND_OK)
        return status;
    ND_RETURN_IF(clamp_priority(device, &priority));
    pthread_mutex_lock(&pools_lock);
    pool *p = find_pool(device, priority);
    if (!p)
        status = nd__fail(ND_ERR_MEMORY, "stream_pool_get", -1, "no memory for a pool of streams");
    else if (!p->slots[slot])
        status = create(device, priority, &p->slots[slot]);
    if (status == ND_OK)
        *out = nd_stream_retain(p->slots[slot]);
    pthread_mutex_unlock(&pools_lock);
    return status;
}

nd_status nd_stream_wrap(nd_device *device, uint64_t handle, void (*release)(void *ctx), void *ctx,
                         nd_stream **out)
{
    nd_status status;
    nd_stream *s = NULL;
    ND_OUT("stream_wrap", 4, out, NULL);
    device = nd__or_current(device, &status);
    if (status != ND_OK)
        return status;
    if (handle == 0)
        return nd__fail(ND_ERR_ARGUMENT, "stream_wrap", 1,
                        "stream 0 is ambiguous: say 1 for the legacy default stream or 2 for the "
                        "per-thread one");
    if (!device->has_stream || !device->stream.wrap)
        return nd__fail(ND_ERR_UNSUPPORTED, "stream_wrap", 0,
                        "%s cannot take streams of other libraries", device->name);
    ND_RETURN_IF(nd__usable(device, "stream_wrap"));
    ND_RETURN_IF(new_stream(device, 0, &s));
    status = device->stream.wrap(device->dev, handle, &s->handle);
    if (status != ND_OK) {
        nd__error_context("stream_wrap", device->name, device->slot->name);
        nd__stream_unhold(s);
        return status;
    }
    s->foreign = true;
    s->native = handle;
    s->release = release; /* only now: on failure the caller keeps its stream */
    s->ctx = ctx;
    enlist(s);
    *out = s;
    return ND_OK;
}

nd_status nd_stream_default(nd_device *device, nd_stream **out)
{
    nd_status status;
    ND_OUT("stream_default", 1, out, NULL);
    device = nd__or_current(device, &status);
    *out = status == ND_OK ? device->stream0 : NULL;
    return status;
}

nd_device *nd_stream_device(const nd_stream *stream)
{
    ND_NEED_OR("stream_device", 0, stream, NULL);
    return stream->device;
}
uint64_t nd_stream_id(const nd_stream *stream)
{
    ND_NEED_OR("stream_id", 0, stream, 0);
    return stream->id;
}
int32_t nd_stream_priority(const nd_stream *stream)
{
    ND_NEED_OR("stream_priority", 0, stream, 0);
    return stream->priority;
}

nd_status nd_stream_native(const nd_stream *stream, uint64_t *out)
{
    ND_NEED("stream_native", 0, stream);
    ND_OUT("stream_native", 1, out, (uint64_t)(uintptr_t)stream->handle);
    nd_device *d = stream->device;
    return d->has_stream && d->stream.native ? d->stream.native(d->dev, stream->handle, out)
                                             : (nd_status)ND_OK;
}
