/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The caching allocator's slots as a backend: allocating, freeing, and its own end. */
#include <stdlib.h>
#include "core/memory/caching/caching.h"

static atomic_uint_fast64_t numbers;

static uint64_t segment_size(const nd_conf *conf, uint64_t size)
{
    if (size <= ND_SMALL_SIZE)
        return ND_SMALL_SEGMENT;
    if (size < conf->large_segment_size / 2)
        return conf->large_segment_size;
    return (size + ND_ROUND_LARGE - 1) / ND_ROUND_LARGE * ND_ROUND_LARGE;
}

static void trace(int32_t action, const nd_piece *p, const nd_stream *stream)
{
    nd__trace(action, p->b.backend->device, p->segment->address + p->b.offset, p->b.nbytes, stream,
              NULL);
}

static nd_status alloc_from_bins(nd_caching *c, const nd_conf *conf, nd_stream *stream,
                                 uint64_t nbytes, nd_block **out)
{
    nd_request r = {.stream = c->streams ? stream : NULL, .requested = nbytes, .conf = conf};
    r.id = nd__stream_id(r.stream);
    r.size = nd__round_size(conf, nbytes);
    ND_RETURN_IF(nd__route(c, &r));
    if (c->per_thread)
        nd__magazine_settle(c);
    nd__lock_take(&c->lock);
    if (c->pending || c->deferred)
        nd__process_events(c);
    bool found = r.size && nd__find(c, &r);
    nd__caching_leave(c);
    if (!found) {
        r.segment_size = segment_size(conf, r.size);
        ND_RETURN_IF(r.status != ND_OK ? r.status : nd__ladder(c, &r));
    }
    *out = &r.piece->b;
    trace(ND_TRACE_ALLOC, r.piece, stream);
    return ND_OK;
}

static nd_status caching_alloc(nd_backend *backend, nd_stream *stream, uint64_t nbytes,
                               nd_block **out)
{
    nd_caching *c = (nd_caching *)backend;
    const nd_conf *conf = nd__conf();
    *out = NULL;
    if (nbytes == 0)
        return ND_OK;
    nd_piece *p =
        c->per_thread && nbytes <= ND_MAGAZINE_SIZE ? nd__magazine_pop(c, conf, nbytes) : NULL;
    if (!p)
        return alloc_from_bins(c, conf, stream, nbytes, out);
    *out = &p->b;
    trace(ND_TRACE_ALLOC, p, stream);
    return ND_OK;
}

/* A block freed above the limit of cached bytes goes back to the device at once, if it is a whole
 * segment. Returns it, set aside; NULL: it stays. */
static nd_piece *over_limit(nd_caching *c, nd_piece *p)
{
    int64_t active = nd__stat_now(&c->stats.active_bytes.all);
    if (!c->max_cached || p->segment->bin->small || nd__is_split(p) || p->segment->page ||
        c->captures || (uint64_t)(c->reserved - active) <= c->max_cached)
        return NULL;
    nd__unshelve(p);
    p->state = ND_PIECE_BUSY;
    /* the call begins here, so that no BUSY block is without a thread inside */
    nd__calls_enter(&c->backend.calls);
    return p;
}

/* Live blocks keep the allocator after its users have left. Returns true once, to the caller that
 * has to finish it. */
static bool last_one(nd_caching *c)
{
    if (!c->dying || c->ending || c->freeing || nd__stat_now(&c->stats.allocation.all))
        return false;
    c->ending = true;
    return true;
}

static void finish(nd_caching *c);

/* Gives a segment, or those of unused pools, to the device. The freed block is gone, so that only
 * c->freeing keeps the allocator meanwhile. Returns last_one. */
static bool give_to_device(nd_caching *c, nd_piece *whole, bool unused)
{
    if (whole) {
        (void)nd__release(c, &(nd_giving){.only = whole});
        nd__calls_leave(&c->backend.calls, true);
    }
    if (unused)
        (void)nd__release(c, &(nd_giving){.unused_pools = true});
    nd__lock_take(&c->lock);
    c->freeing--;
    bool last = last_one(c);
    nd__caching_leave(c);
    return last;
}

static void free_to_bins(nd_caching *c, nd_piece *p)
{
    nd_arena *arena = p->segment->bin->arena;
    nd_piece *whole = NULL;
    int small = p->segment->bin->small;
    if (c->per_thread)
        nd__magazine_settle(c);
    nd__lock_take(&c->lock);
    nd__stat3_out(&c->stats.allocation, small, 1);
    nd__stat3_out(&c->stats.allocated_bytes, small, p->b.nbytes);
    if (p->oversize)
        nd__stat_out(&c->stats.oversize_allocations, 1);
    if (p->uses || p->queue != p->segment->queue) {
        nd__retire(c, p);
    } else {
        trace(ND_TRACE_FREE_COMPLETED, p, p->queue->stream);
        whole = over_limit(c, nd__give(c, p));
    }
    bool unused = arena != &c->common && arena->users == 0, gives = whole || unused;
    c->freeing += gives;
    bool last = last_one(c);
    nd__caching_leave(c);
    if (gives)
        last = give_to_device(c, whole, unused);
    if (last)
        finish(c);
}

static void caching_free(nd_block *b)
{
    nd_piece *p = (nd_piece *)b;
    if (!b)
        return;
    nd_caching *c = nd__caching_of(p);
    trace(ND_TRACE_FREE_REQUESTED, p, p->queue->stream);
    if (!c->per_thread || b->nbytes > ND_MAGAZINE_SIZE || !nd__magazine_push(c, p))
        free_to_bins(c, p);
}

static nd_status caching_empty(nd_backend *backend)
{
    nd_caching *c = (nd_caching *)backend;
    if (atomic_load(&c->capturing))
        return nd__fail(ND_ERR_CAPTURE, "memory_empty_cache", -1,
                        "not during a capture on %s: the graph may use the memory; end the "
                        "capture first",
                        backend->device ? backend->device->name : "the device");
    nd__magazines_flush(c, false);
    nd__lock_take(&c->lock);
    nd__process_events(c);
    nd__caching_leave(c);
    (void)nd__release(c, &(nd_giving){0});
    return ND_OK;
}

static void stream_gone(nd_backend *backend, nd_stream *stream)
{
    nd_caching *c = (nd_caching *)backend;
    if (c->streams)
        nd__stream_queue_gone(c, stream);
}

/* The end: nobody has a block any more, and last_one told one caller so. */
static void finish(nd_caching *c)
{
    (void)nd__synchronize_events(c);
    (void)nd__release(c, &(nd_giving){.synchronize = true, .force = true});
    nd__lock_take(&c->lock);
    if (c->orphan)
        nd__stream_queue_put(c, c->orphan);
    nd__caching_leave(c);
    nd__calls_destroy(&c->backend.calls);
    while (c->slabs) {
        void **slab = c->slabs;
        c->slabs = slab[0];
        free(slab);
    }
    free(c);
}

static void caching_destroy(nd_backend *backend)
{
    nd_caching *c = (nd_caching *)backend;
    nd__magazines_flush(c, true);
    nd__lock_take(&c->lock);
    c->dying = true;
    bool last = last_one(c);
    nd__caching_leave(c);
    if (last)
        finish(c);
}

static void cap_set(nd_backend *backend, uint64_t nbytes)
{
    nd_caching *c = (nd_caching *)backend;
    nd__lock_take(&c->lock);
    c->cap = nbytes;
    nd__caching_leave(c);
}

static uint64_t device_total(const nd_backend *backend)
{
    return ((const nd_caching *)backend)->total;
}

static const nd_backend_class caching_class = {.name = "caching",
                                               .alloc = caching_alloc,
                                               .free = caching_free,
                                               .record_stream = nd__record_stream,
                                               .record_use = nd__record_use,
                                               .empty_cache = caching_empty,
                                               .stream_gone = stream_gone,
                                               .stats = nd__caching_stats,
                                               .reset = nd__caching_reset,
                                               .snapshot = nd__caching_snapshot,
                                               .cap_set = cap_set,
                                               .total = device_total,
                                               .destroy = caching_destroy,
                                               .fork = nd__caching_fork};

static uint64_t device_memory(const nd_caching *c)
{
    const nd_hooks *h = &c->backend.hooks;
    uint64_t available = 0, total = 0;
    if (h->usage && h->usage(h->ctx, &available, &total) == ND_OK && total)
        return total;
    return c->backend.device ? c->backend.device->info.memory_bytes : 0;
}

nd_status nd__caching_create(nd_device *device, const nd_hooks *hooks, nd_backend **out)
{
    *out = NULL;
    ND_RETURN_IF(nd__conf_check());
    const nd_conf *conf = nd__conf();
    nd_caching *c = calloc(1, sizeof *c);
    if (!c)
        return nd__fail(ND_ERR_MEMORY, "alloc", -1, "no host memory for an allocator");
    c->backend.type = &caching_class;
    c->backend.device = device;
    c->backend.hooks = *hooks;
    nd__calls_init(&c->backend.calls);
    atomic_init(&c->backend.refs, 1);
    c->number = atomic_fetch_add(&numbers, 1) + 1;
    c->stats.size = sizeof c->stats;
    c->streams = hooks->record != NULL;
    c->host_visible = device ? device->host_visible : !c->streams;
    c->per_thread = c->host_visible && !c->streams;
    nd__arena_init(&c->common, c);
    c->total = device_memory(c);
    c->cap = (uint64_t)(conf->per_process_memory_fraction * (double)c->total);
    c->max_cached = conf->max_cached >= 0 ? (uint64_t)conf->max_cached
                    : c->host_visible     ? c->total / 4
                                          : 0;
    *out = &c->backend;
    return ND_OK;
}

bool nd__is_caching(const nd_backend *backend)
{
    return backend->type == &caching_class;
}
