/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Storage: counted handles to blocks of device memory, which the device's backend of blocks
 * provides; and the free list of array headers. */
#include <stdlib.h>
#include "core/array/array.h"
#include "core/array/handles.h"
#include "core/memory/memory.h"

#define HEADERS_PER_THREAD 128

typedef struct {
    nd_array *arrays;
    int n_arrays;
} header_cache;

ND_TLS header_cache *cache;
static pthread_key_t cache_key;
static pthread_once_t cache_once = PTHREAD_ONCE_INIT;

static void cache_destroy(void *arg)
{
    header_cache *c = arg;
    cache = NULL;
    for (nd_array *a; (a = c->arrays) != NULL; free(a))
        c->arrays = a->next;
    free(c);
}

static void cache_key_create(void)
{
    (void)pthread_key_create(&cache_key, cache_destroy);
}

static header_cache *cache_make(void)
{
    pthread_once(&cache_once, cache_key_create);
    cache = calloc(1, sizeof *cache);
    if (cache)
        (void)pthread_setspecific(cache_key, cache);
    if (cache && nd__handles_on())
        cache->n_arrays = HEADERS_PER_THREAD; /* full: every header is allocated and freed */
    return cache;
}

static inline header_cache *cache_get(void)
{
    return cache ? cache : cache_make();
}

/* ---- storage ---- */
/* All but where it is: mem, base, host, block. */
static void fill_in(nd_storage *s, nd_device *device, uint64_t used, uint64_t user)
{
    atomic_init(&s->refs, 1);
    atomic_init(&s->pending, NULL);
    s->device = device;
    s->used = used;
    s->pinned = NULL;
    s->release = NULL;
    s->captured_in = 0;
    atomic_init(&s->kept_by, 0);
    atomic_init(&s->user, user);
    atomic_init(&s->ready, 0);
    atomic_init(&s->sharing, NULL);
}

nd_status nd__storage_alloc(nd_device *device, uint64_t nbytes, nd_storage **out)
{
    nd_block *block = NULL;
    nd_backend *backend;
    *out = NULL;
    ND_RETURN_IF(nd__device_backend(device, &backend));
    ND_RETURN_IF(nd__usable(device, "alloc"));
    const bool noted = nd__is_noted(device);
    nd_stream *stream = noted ? nd__stream(device) : NULL;
    nd_status status = backend->type->alloc(backend, stream, nbytes ? nbytes : 1, &block);
    if (status != ND_OK) {
        nd__error_context("alloc", device->name, device->slot->name);
        return status;
    }
    nd_storage *s = *out = &block->storage;
    /* there may still be work of who had the block before */
    fill_in(s, device, nbytes, nd__stream_id(stream));
    s->mem = block->mem;
    s->base = block->offset;
    s->host = block->host;
    s->block = block;
    if (noted && nd__captures_now())
        nd__captured_new(s);
    return ND_OK;
}

nd_status nd__storage_wrap(nd_device *device, void *ptr, uint64_t nbytes, void (*release)(void *),
                           void *ctx, nd_storage **out)
{
    *out = NULL;
    if (!device->map.wrap)
        return nd__fail(ND_ERR_UNSUPPORTED, "wrap", -1,
                        "%s has no addresses; copy with nd_from_host", device->name);
    ND_RETURN_IF(nd__usable(device, "wrap"));
    const size_t room = sizeof(nd_storage) + nd__sharing_room;
    nd_storage *s = malloc(room);
    if (!s)
        return nd__fail(ND_ERR_MEMORY, "wrap", -1, "no %zu bytes for a storage handle", room);
    nd_status status = device->map.wrap(device->dev, (uint64_t)(uintptr_t)ptr, nbytes, &s->mem);
    if (status != ND_OK) {
        nd__error_context("wrap", device->name, device->slot->name);
        free(s);
        return status;
    }
    fill_in(s, device, nbytes, 0);
    s->base = 0;
    s->host = device->host_visible ? ptr : NULL;
    s->block = NULL;
    s->release = release;
    s->ctx = ctx;
    if (s->host)
        nd__registered_adopt(s);
    if (device->async && nd__hazards_now())
        nd__hazard_foreign(device, s->mem, (uint64_t)(uintptr_t)ptr);
    *out = s;
    return ND_OK;
}

/* Whoever reads `pending` to use an event holds this until it has a reference of its own: another
 * thread may take the event away, and with it the last one. The links between events are under it
 * as well. */
static pthread_mutex_t pending_lock = PTHREAD_MUTEX_INITIALIZER;

void nd__fork_pending(nd_fork now)
{
    nd__fork_mutex(&pending_lock, now);
}

/* The newest, with a reference for the caller; NULL: none. */
static nd_event *newest_pending(nd_storage *s)
{
    pthread_mutex_lock(&pending_lock);
    nd_event *event = atomic_load(&s->pending);
    event = event ? nd_event_retain(event) : NULL;
    pthread_mutex_unlock(&pending_lock);
    return event;
}

/* A later event of the same stream covers the one before it. At no time does `pending` lack what is
 * not done: nd__settle looks at it without the lock. */
void nd__pending_add(nd_storage *s, nd_event *event)
{
    nd_event *newer = event, *covered;
    pthread_mutex_lock(&pending_lock);
    event->earlier = atomic_load(&s->pending);
    atomic_store(&s->pending, event);
    while ((covered = newer->earlier) != NULL && covered->stream != event->stream)
        newer = covered;
    if (covered)
        newer->earlier = covered->earlier;
    pthread_mutex_unlock(&pending_lock);
    nd_event_release(covered);
}

/* The event is done and leaves, unless another thread was quicker. */
static void settled(nd_storage *s, const nd_event *event)
{
    pthread_mutex_lock(&pending_lock);
    nd_event *newer = NULL, *e = atomic_load(&s->pending);
    while (e && e != event) {
        newer = e;
        e = e->earlier;
    }
    if (e && newer)
        newer->earlier = e->earlier;
    else if (e)
        atomic_store(&s->pending, e->earlier);
    pthread_mutex_unlock(&pending_lock);
    nd_event_release(e);
}

nd_status nd__settle_slow(const char *op, nd_storage *s)
{
    nd_event *event;
    nd_status status = ND_OK;
    if (nd__is_dead(s))
        return nd__handle_used(op, s);
    while (status == ND_OK && (event = newest_pending(s)) != NULL) {
        status = nd_event_synchronize(event);
        if (status == ND_OK)
            settled(s, event);
        else
            nd__error_context(op, NULL, NULL);
        nd_event_release(event);
    }
    return status;
}

static nd_status pending_query(nd_storage *s, int32_t *done)
{
    nd_event *event;
    nd_status status = ND_OK;
    *done = 1;
    while (status == ND_OK && *done && (event = newest_pending(s)) != NULL) {
        status = nd_event_query(event, done);
        if (status == ND_OK && *done)
            settled(s, event);
        nd_event_release(event);
    }
    return status;
}

nd_status nd_array_query(const nd_array *a, int32_t *done)
{
    ND_OUT("array_query", 1, done, 1);
    if (!a) /* nd__check_array would wait */
        return nd__fail(ND_ERR_ARGUMENT, "array_query", 0, "the array is NULL");
    nd_storage *s = a->storage;
    if (nd__is_dead(s))
        return nd__handle_used("array_query", s);
    nd_stream *stream = nd__stream(s->device);
    return stream ? nd_stream_query(stream, done) : pending_query(s, done);
}

/* Foreign memory is its owner's again once nothing that is queued uses it. */
static void let_go(void *storage)
{
    nd_storage *s = storage;
    nd_device *d = s->device;
    bool reachable = !nd__out_of_reach(d);
    if (reachable && d->async)
        nd__drain_users(s);
    if (reachable)
        nd__hazard_gone(s->mem);
    /* while the owner's stream is there, and the name of the memory is not another's */
    nd__sharing_end(atomic_load_explicit(&s->sharing, memory_order_acquire), true);
    if (reachable)
        d->p.free(d->dev, s->mem);
    if (s->pinned && (s->pinned_for->host_visible || !nd__forked()))
        nd__pinned_free(s->pinned);
    if (s->release)
        s->release(s->ctx);
    free(s);
}

void nd__storage_release(nd_storage *s)
{
    if (!s || !nd__last(&s->refs))
        return;
    nd_event *e = atomic_load_explicit(&s->pending, memory_order_acquire);
    if (e == ND_DEAD) {
        nd__handle_released_again(s);
        return;
    }
    for (nd_event *earlier; e; e = earlier) {
        earlier = e->earlier;
        nd_event_release(e);
    }
    if (s->block) {
        nd_sharing *sharing = atomic_load_explicit(&s->sharing, memory_order_acquire);
        if (s->device->host_visible || !nd__forked()) /* a child leaves the parent's alone */
            s->block->backend->type->free(s->block);
        if (sharing) /* only now: the allocator has recorded what it waits for */
            nd__sharing_end(sharing, false);
    } else if (!s->device->async || !nd__after_capture(s->device, let_go, s)) {
        let_go(s);
    }
}

bool nd__storage_waits(nd_storage *s)
{
    return !s->block && s->device->async &&
           atomic_load_explicit(&s->refs, memory_order_relaxed) == 1 && nd__drain_waits(s);
}

static nd_status record(const char *op, const nd_array *a, nd_stream *stream, bool exactly)
{
    ND_RETURN_IF(nd__check_array(op, a, 0));
    nd_block *block = a->storage->block;
    if (!stream)
        return nd__fail(ND_ERR_ARGUMENT, op, 1, "the stream is NULL");
    if (stream->device != a->storage->device)
        return nd__fail(ND_ERR_DEVICE, op, 1, "the stream is of %s, the array is on %s",
                        stream->device->name, a->storage->device->name);
    if (!block)
        return nd__fail(ND_ERR_ARGUMENT, op, 0,
                        "the array is over foreign memory, whose owner decides when it is reused");
    if (!a->storage->device->async)
        return ND_OK;
    return exactly ? block->backend->type->record_use(block, stream)
                   : block->backend->type->record_stream(block, stream);
}

nd_status nd_record_stream(const nd_array *a, nd_stream *stream)
{
    return record("record_stream", a, stream, false);
}

nd_status nd_record_use(const nd_array *a, nd_stream *stream)
{
    return record("record_use", a, stream, true);
}

/* ---- array headers ---- */
nd_array *nd__header_alloc(int ndim)
{
    header_cache *c = ndim <= ND_SMALL_NDIM ? cache_get() : NULL;
    nd_array *a = c ? c->arrays : NULL;
    int room = ndim <= ND_SMALL_NDIM ? ND_SMALL_NDIM : ndim;
    if (a) {
        c->arrays = a->next;
        c->n_arrays--;
    } else {
        a = nd__handles_on() ? nd__handle_alloc(room)
                             : malloc(sizeof *a + 2 * sizeof(int64_t) * (size_t)room);
    }
    if (a) {
        a->ndim = ndim;
        a->shape = a->dims;
        a->stride = a->dims + room;
    }
    return a;
}

void nd__header_free(nd_array *a)
{
    header_cache *c = a->ndim <= ND_SMALL_NDIM ? cache_get() : NULL;
    if (!c || c->n_arrays >= HEADERS_PER_THREAD) {
        if (nd__handles_on())
            nd__handle_free(a);
        else
            free(a);
        return;
    }
    a->next = c->arrays;
    c->arrays = a;
    c->n_arrays++;
}
