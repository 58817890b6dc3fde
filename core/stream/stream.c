/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Streams: their life, the pools of shared ones, and which one is current. */
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

/* ---- the current one ---- */
nd_stream *nd__stream_current(const nd_device *d)
{
    const nd_thread *t = nd__self;
    nd_stream *s = t && d->ordinal < t->n_current ? t->current[d->ordinal] : NULL;
    return s ? s : d->stream0;
}

nd_stream *nd__stream(nd_device *d)
{
    return !d->async ? NULL : d->has_stream ? nd__stream_current(d) : d->stream0;
}

nd_tape *nd__tape_here(nd_device *device)
{
    return nd__tape_of(nd__stream_current(device));
}

/* Takes over a reference to s. */
static nd_status make_current(nd_device *d, nd_stream *s)
{
    nd_thread *t = nd__thread();
    if (t && d->ordinal >= t->n_current) {
        nd_stream **all = realloc(t->current, (size_t)(d->ordinal + 1) * sizeof *all);
        if (all) {
            memset(all + t->n_current, 0, (size_t)(d->ordinal + 1 - t->n_current) * sizeof *all);
            t->current = all;
            t->n_current = d->ordinal + 1;
        }
    }
    if (!t || d->ordinal >= t->n_current) {
        nd_stream_release(s);
        return nd__fail(ND_ERR_MEMORY, "stream", -1, "no memory for the thread's streams");
    }
    nd_stream *before = t->current[d->ordinal];
    t->current[d->ordinal] = s == d->stream0 ? NULL : s;
    nd_stream_release(before);
    return ND_OK;
}

nd_status nd_stream_current(nd_device *device, nd_stream **out)
{
    nd_status status;
    ND_OUT("stream_current", 1, out, NULL);
    device = nd__or_current(device, &status);
    *out = status == ND_OK ? nd_stream_retain(nd__stream_current(device)) : NULL;
    return status;
}

nd_status nd_stream_set_current(nd_stream *stream)
{
    if (!stream)
        return nd__fail(ND_ERR_ARGUMENT, "stream_set_current", 0, "the stream is NULL");
    return make_current(stream->device, nd_stream_retain(stream));
}

nd_status nd__scope_enter(const char *op, nd_device *device, nd_stream *stream, nd_scope *scope)
{
    *scope = (nd_scope){NULL, NULL};
    if (!stream || stream == nd__stream_current(device))
        return ND_OK;
    if (stream->device != device)
        return nd__fail(ND_ERR_DEVICE, op, -1, "the stream is of %s, the arrays are on %s",
                        stream->device->name, device->name);
    nd_stream *before = nd_stream_retain(nd__stream_current(device));
    nd_status status = make_current(device, nd_stream_retain(stream));
    if (status == ND_OK)
        *scope = (nd_scope){device, before};
    else
        nd_stream_release(before);
    return status;
}

void nd__scope_leave(nd_scope *scope)
{
    if (scope->device)
        (void)make_current(scope->device, scope->before); /* room for it was made on entering */
}

void nd__thread_streams_release(nd_thread *thread)
{
    for (int i = 0; i < thread->n_current; i++)
        nd_stream_release(thread->current[i]);
    for (int i = 0; i < thread->n_guards; i++)
        nd_stream_release(thread->guards[i].stream);
}

/* ---- guards ---- */
static nd_status push(const char *op, const void *pushed, nd_device *device, nd_stream *stream)
{
    nd_thread *t = nd__thread();
    if (!t)
        return ND_ERR_MEMORY;
    if (t->n_guards == t->guard_room) {
        int room = t->guard_room ? 2 * t->guard_room : 8;
        nd_guard *guards = realloc(t->guards, (size_t)room * sizeof *guards);
        if (!guards)
            return nd__fail(ND_ERR_MEMORY, op, -1, "no memory for %d guards", room);
        t->guards = guards;
        t->guard_room = room;
    }
    nd_guard guard = {.device = t->device, .pushed = pushed};
    if (stream) {
        guard.stream = nd_stream_retain(nd__stream_current(device));
        nd_status status = make_current(device, nd_stream_retain(stream));
        if (status != ND_OK) {
            nd_stream_release(guard.stream);
            return status;
        }
    }
    if (device)
        t->device = device;
    t->guards[t->n_guards++] = guard;
    return ND_OK;
}

static nd_status pop(const char *op, const void *pushed)
{
    nd_thread *t = nd__self;
    if (!t || !t->n_guards)
        return nd__fail(ND_ERR_STATE, op, 0, "nothing was pushed on this thread");
    nd_guard *guard = &t->guards[t->n_guards - 1];
    if (guard->pushed != pushed)
        return nd__fail(ND_ERR_STATE, op, 0,
                        "out of order: the latest push on this thread was of something else");
    t->n_guards--;
    t->device = guard->device;
    return guard->stream ? make_current(guard->stream->device, guard->stream) : (nd_status)ND_OK;
}

nd_status nd_stream_push(nd_stream *stream)
{
    return push("stream_push", stream, stream ? stream->device : NULL, stream);
}
nd_status nd_stream_pop(nd_stream *stream)
{
    return pop("stream_pop", stream);
}
nd_status nd_device_push(nd_device *device)
{
    return push("device_push", device, device, NULL);
}
nd_status nd_device_pop(nd_device *device)
{
    return pop("device_pop", device);
}
