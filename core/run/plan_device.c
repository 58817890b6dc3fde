/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The plan caches of opened devices, made with their first use: for plug-ins and for users. */
#include <stdlib.h>
#include "core/run/workspace.h"

typedef struct node {
    nd_device *device;
    nd_plan_cache *cache;
    struct node *next;
} node;
static _Atomic(node *) nodes; /* never removed, as devices are not */
static pthread_mutex_t nodes_lock = PTHREAD_MUTEX_INITIALIZER;

static bool captures(void *ctx, ndp_stream *s)
{
    nd_device *d = ctx;
    int32_t status = NDP_CAPTURE_NONE;
    uint64_t id = 0;
    return d->has_graph && d->graph.info(d->dev, s, &status, &id) == ND_OK &&
           status != NDP_CAPTURE_NONE;
}

static bool stream_id(void *ctx, ndp_stream *handle, uint64_t *id)
{
    nd_device *d = ctx;
    *id = 0;
    if (!d->has_stream)
        return true; /* every call of such a device ends with its work done */
    const nd_stream *s = nd__stream(d);
    if (s && s->handle == handle) {
        *id = s->id;
        return true;
    }
    pthread_mutex_lock(&d->stream_lock);
    for (s = d->streams; s && s->handle != handle;)
        s = s->next;
    *id = s ? s->id : 0;
    pthread_mutex_unlock(&d->stream_lock);
    return s != NULL;
}

/* *out stays NULL where the stream has nothing queued: an event would have passed too, but only a
 * moment later, and the plan, which is destroyed at the next look, would cost the next first call
 * its end. The stream is not asked while that would break a capture; a fault that the answer
 * tells is kept for the stream's next call. */
static nd_status record_on(nd_device *d, nd_stream *s, ndp_event **out)
{
    int32_t idle = 0;
    if (captures(d, s->handle))
        return ND_ERR_NOT_READY;
    if (!nd__capture_forbids(d) &&
        nd__fault_keep(s, d->stream.query(d->dev, s->handle, &idle)) == ND_OK && idle)
        return ND_OK;
    ND_RETURN_IF(nd__event_take(d, 0, out));
    nd_status status = d->stream.event_record(d->dev, *out, s->handle);
    if (status != ND_OK) {
        nd__event_give(d, 0, *out);
        *out = NULL;
    }
    return status;
}

/* Inside run() the core holds the lock of the thread's own stream, and that of no other may be waited
 * for; outside it one that is held is another thread's, which is queueing work. */
static nd_status record(void *ctx, uint64_t id, ndp_event **out)
{
    nd_device *d = ctx;
    nd_stream *own = nd__stream(d);
    nd_status status = ND_ERR_NOT_READY;
    *out = NULL;
    if (nd__stream_id_gone(d, id))
        return ND_OK;
    if (nd__in_run)
        return own && own->id == id ? record_on(d, own, out) : status;
    nd_stream *s = nd__stream_by_id(d, id);
    if (s && pthread_mutex_trylock(&s->lock) == 0) {
        status = record_on(d, s, out);
        pthread_mutex_unlock(&s->lock);
    }
    nd_stream_release(s);
    return status;
}

static nd_status query(void *ctx, ndp_event *event, int32_t *done)
{
    nd_device *d = ctx;
    if (nd__capture_forbids(d)) { /* while it must not be asked, it is not done as far as we know */
        *done = 0;
        return ND_OK;
    }
    nd_status status = d->stream.event_query(d->dev, event, done);
    return nd__fault_later(d, event, status);
}

static nd_status synchronize(void *ctx, ndp_event *event)
{
    nd_device *d = ctx;
    nd__note_wait(ND_WAIT_MEMORY, d, "plan_cache");
    nd_status status = d->stream.event_sync(d->dev, event);
    return nd__fault_later(d, event, status);
}

static void give_back(void *ctx, ndp_event *event)
{
    nd__event_give(ctx, 0, event);
}

static node *find_node(const nd_device *device)
{
    node *n = atomic_load_explicit(&nodes, memory_order_acquire);
    while (n && n->device != device)
        n = n->next;
    return n;
}

static nd_status add_node(nd_device *device)
{
    node *n = calloc(1, sizeof *n);
    if (!n)
        return nd__fail(ND_ERR_MEMORY, "plan_cache", -1, "no memory for the plan cache of %s",
                        device->name);
    n->device = device;
    const nd_plan_hooks hooks = {.ctx = device,
                                 .stream_id = stream_id,
                                 .record = record,
                                 .query = query,
                                 .synchronize = synchronize,
                                 .give_back = give_back,
                                 .captures = captures};
    nd_status status = nd__plan_cache_create(&hooks, &n->cache);
    if (status != ND_OK) {
        free(n);
        return status;
    }
    n->next = atomic_load_explicit(&nodes, memory_order_relaxed);
    atomic_store_explicit(&nodes, n, memory_order_release);
    return ND_OK;
}

static nd_status cache_of(nd_device *device, nd_plan_cache **out)
{
    nd_status status = ND_OK;
    *out = NULL;
    device = nd__or_current(device, &status);
    if (!device || status != ND_OK)
        return status;
    node *n = find_node(device);
    if (!n) {
        pthread_mutex_lock(&nodes_lock);
        if (!find_node(device))
            status = add_node(device);
        pthread_mutex_unlock(&nodes_lock);
        n = find_node(device);
    }
    *out = n ? n->cache : NULL;
    return status;
}

nd_status nd_plan_cache_set_max(nd_device *device, int64_t max_size)
{
    nd_plan_cache *c;
    if (max_size < 0)
        return nd__fail(ND_ERR_ARGUMENT, "plan_cache_set_max", 1,
                        "%lld plans: it must be 0 (keep none) or more", (long long)max_size);
    ND_RETURN_IF(cache_of(device, &c));
    return nd__plan_cache_limit(c, max_size, -1);
}

nd_status nd_plan_cache_set_max_bytes(nd_device *device, int64_t max_bytes)
{
    nd_plan_cache *c;
    if (max_bytes < 0)
        return nd__fail(ND_ERR_ARGUMENT, "plan_cache_set_max_bytes", 1,
                        "%lld bytes: it must be 0 (keep none) or more", (long long)max_bytes);
    ND_RETURN_IF(cache_of(device, &c));
    return nd__plan_cache_limit(c, -1, max_bytes);
}

nd_status nd_plan_cache_stats(nd_device *device, nd_plan_stats *out)
{
    nd_plan_cache *c;
    nd_plan_stats all = {0};
    if (!out || out->size < NDP_END(nd_plan_stats, zero))
        return nd__fail(ND_ERR_ARGUMENT, "plan_cache_stats", 1,
                        "set the size field to sizeof(nd_plan_stats) first");
    ND_RETURN_IF(cache_of(device, &c));
    nd__plan_cache_stats(c, &all);
    all.size = out->size;
    memcpy(out, &all, out->size < sizeof all ? out->size : sizeof all);
    return ND_OK;
}

nd_status nd_plan_cache_size(nd_device *device, int64_t *count)
{
    nd_plan_stats all = {.size = sizeof all};
    ND_OUT("plan_cache_size", 1, count, 0);
    ND_RETURN_IF(nd_plan_cache_stats(device, &all));
    *count = all.count;
    return ND_OK;
}

nd_status nd_plan_cache_clear(nd_device *device)
{
    nd_plan_cache *c;
    ND_RETURN_IF(cache_of(device, &c));
    nd__plan_cache_clear(c);
    return ND_OK;
}

nd_status nd__device_plan(nd_device *device, const void *key, size_t key_nbytes,
                          int32_t (*make)(void *arg, void **value, uint64_t *nbytes),
                          void (*destroy)(void *value), void *arg, ndh_plan **out, void **value)
{
    nd_plan_cache *c;
    ND_RETURN_IF(cache_of(device, &c));
    return nd__plan_acquire(c, key, key_nbytes, make, destroy, arg, out, value);
}

static int32_t service_acquire(void *ctx, ndp_dev *dev, const void *key, size_t key_nbytes,
                               int32_t (*make)(void *arg, void **value, uint64_t *nbytes),
                               void (*destroy)(void *value), void *arg, ndh_plan **out,
                               void **value)
{
    nd_device *device;
    *out = NULL;
    *value = NULL;
    ND_RETURN_IF(nd__host_device(ctx, dev, &device));
    return nd__device_plan(device, key, key_nbytes, make, destroy, arg, out, value);
}

static void service_release(void *ctx, ndh_plan *plan, ndp_stream *stream)
{
    (void)ctx;
    if (plan)
        nd__plan_release(plan, stream);
}

static void service_clear(void *ctx, ndp_dev *dev)
{
    nd_device *device;
    nd_plan_cache *c;
    if (nd__host_device(ctx, dev, &device) == ND_OK && cache_of(device, &c) == ND_OK)
        nd__plan_cache_clear(c);
}

const ndh_plan_1 nd__plan_service = {
    .size = sizeof(ndh_plan_1),
    .acquire = service_acquire,
    .release = service_release,
    .clear = service_clear,
};

void nd__fork_plans(nd_fork now)
{
    const bool take = now == ND_FORK_TAKE;
    if (take)
        pthread_mutex_lock(&nodes_lock);
    for (node *n = atomic_load(&nodes); n; n = n->next)
        nd__plan_cache_lock(n->cache, take);
    if (!take)
        pthread_mutex_unlock(&nodes_lock);
}
