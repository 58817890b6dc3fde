/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Backend async (C18): the device's plug-in allocates and frees in stream order, from a pool of its
 * own (group "ndp.pool/1"), so that nothing here waits for an event. A block that other streams use
 * as well is freed on one stream more, which waits for them all; the block's own stream goes on. */
#include <stdlib.h>
#include "core/memory/conf/settings.h"
#include "core/memory/plain/plain.h"

typedef struct {
    nd_plain plain;
    _Atomic(nd_stream *) unifier; /* where blocks of several streams end; NULL until the first */
    _Atomic uint64_t cap;         /* bytes; 0: none */
    uint64_t most_kept;           /* bytes that the pool may hold unused; UINT64_MAX: no limit */
    int64_t reserved_peak;        /* seen so far; under plain.lock */
    /* bytes of requests under way, which count against the cap; under plain.lock */
    uint64_t promised;
} nd_ordered;

/* ---- the pool, as hooks ---- */
static nd_status pool_alloc(void *ctx, nd_stream *s, uint64_t nbytes, ndp_mem **mem, char **host)
{
    nd_device *d = ctx;
    *mem = NULL;
    *host = NULL;
    ND_RETURN_IF(nd__usable(d, "alloc"));
    pthread_mutex_lock(&s->lock);
    nd_status status = d->pool.alloc(d->dev, s->handle, nbytes, mem);
    pthread_mutex_unlock(&s->lock);
    if (status != ND_OK)
        nd__error_context("alloc", d->name, d->slot->name);
    return status;
}

static void pool_free(void *ctx, nd_stream *s, ndp_mem *mem, uint64_t nbytes)
{
    nd_device *d = ctx;
    (void)nbytes;
    if (nd__out_of_reach(d))
        return;
    if (nd__hazards_now())
        nd__hazard_forget(mem);
    pthread_mutex_lock(&s->lock);
    d->pool.free(d->dev, s->handle, mem);
    pthread_mutex_unlock(&s->lock);
}

static bool look(const nd_ordered *o, uint64_t *used, uint64_t *reserved)
{
    nd_device *d = o->plain.base.device;
    *used = *reserved = 0;
    return !nd__out_of_reach(d) && d->pool.usage(d->dev, used, reserved) == NDP_OK;
}

/* Leaves the pool alone while a capture is under way that a trim might break. */
static void trim(const nd_ordered *o, uint64_t keep)
{
    nd_device *d = o->plain.base.device;
    if (!nd__out_of_reach(d) && !nd__capture_forbids(d))
        (void)d->pool.trim(d->dev, keep);
}

static void trim_unused(nd_ordered *o)
{
    uint64_t used, reserved;
    if (o->most_kept != UINT64_MAX && look(o, &used, &reserved) && reserved > used &&
        reserved - used > o->most_kept)
        trim(o, used + o->most_kept);
}

/* ---- the end of a block ---- */
static nd_stream *unifier(nd_ordered *o)
{
    nd_stream *s = atomic_load_explicit(&o->unifier, memory_order_acquire), *none = NULL;
    if (s || nd_stream_create(o->plain.base.device, NULL, &s) != ND_OK)
        return s;
    if (atomic_compare_exchange_strong(&o->unifier, &none, s))
        return s;
    nd_stream_release(s);
    return none;
}

/* Whether the stream of a use was marked for the last time, since it has ended; then *mark is where. */
static bool has_ended(nd_ordered *o, const nd_use *use, ndp_event **mark)
{
    pthread_mutex_lock(&o->plain.lock);
    const bool ended = use->closed;
    *mark = use->event;
    pthread_mutex_unlock(&o->plain.lock);
    return ended;
}

/* A stream that ends while it is waited for has left its mark. */
static nd_status wait_for(nd_ordered *o, nd_stream *s, const nd_uses *u)
{
    for (const nd_use *use = &u->home; use; use = use->next) {
        ndp_event *mark;
        if (!has_ended(o, use, &mark))
            ND_RETURN_IF(nd__wait_stream_id(s, s->device, nd__stream_id(use->stream)));
        if (has_ended(o, use, &mark))
            ND_RETURN_IF(nd__wait_mark(s, mark));
    }
    return ND_OK;
}

/* The stream to free the block on, retained; NULL: no stream can be told now. */
static nd_stream *last_stream(nd_ordered *o, nd_plain_block *b)
{
    nd_stream *home = b->uses.others ? NULL : nd__stream_retain_live(b->uses.home.stream);
    nd_stream *s = home ? home : unifier(o);
    return home || (s && wait_for(o, s, &b->uses) == ND_OK) ? s : NULL;
}

static bool capturing(const nd_ordered *o)
{
    return atomic_load(&o->plain.base.device->captures) > 0;
}

/* Ends a block that was freed in a capture, or while no stream could be told. */
static bool finish(nd_plain *p, nd_plain_block *b)
{
    nd_stream *s = unifier((nd_ordered *)p);
    nd__plain_give(p, b, s ? s : p->base.device->stream0);
    return true;
}

static void ordered_free(nd_block *block)
{
    nd_plain_block *b = (nd_plain_block *)block;
    nd_ordered *o = (nd_ordered *)block->backend;
    nd_stream *s = capturing(o) ? NULL : last_stream(o, b);
    nd__plain_begin(&o->plain);
    nd__plain_drop(&o->plain, b, s == NULL);
    if (s) {
        nd__plain_completed(&o->plain, b);
        trim_unused(o);
        nd__plain_give(&o->plain, b, s);
        if (s != atomic_load(&o->unifier))
            nd_stream_release(s);
    }
    nd__plain_end(&o->plain, s != NULL);
}

/* ---- allocation ---- */
/* Freed memory comes back when the streams have got there; wait sees to that. */
static bool spare(nd_plain *p, bool wait)
{
    if (wait)
        (void)nd__wait_device(p->base.device, ND_WAIT_MEMORY, "alloc");
    trim((nd_ordered *)p, 0);
    return true;
}

/* Refuses what would pass the cap, against which live bytes count. What the pool keeps unused makes
 * way. */
static nd_status within_cap(nd_ordered *o, nd_stream *stream, uint64_t nbytes, bool *promised)
{
    nd_plain *p = &o->plain;
    uint64_t cap = atomic_load(&o->cap), used, reserved;
    *promised = false;
    if (!cap)
        return ND_OK;
    pthread_mutex_lock(&p->lock);
    uint64_t live = (uint64_t)nd__stat_now(&p->stats.active_bytes.all) + o->promised;
    bool fits = nbytes <= cap && live <= cap - nbytes;
    o->promised += fits ? nbytes : 0;
    *promised = fits;
    pthread_mutex_unlock(&p->lock);
    if (!fits)
        return nd__plain_out_of_memory(
            p, stream,
            (nd_shortage){.requested = nbytes, .rounded = nbytes, .cap = cap, .capped = true});
    if (look(o, &used, &reserved) && reserved > cap - nbytes)
        trim(o, cap - nbytes);
    return ND_OK;
}

static nd_status ordered_alloc(nd_backend *backend, nd_stream *stream, uint64_t nbytes,
                               nd_block **out)
{
    nd_ordered *o = (nd_ordered *)backend;
    nd_plain_block *b;
    bool promised;
    *out = NULL;
    ND_RETURN_IF(nd__plain_ready(&o->plain, stream));
    ND_RETURN_IF(within_cap(o, stream, nbytes, &promised));
    nd_status status = nd__plain_take(&o->plain, stream, nbytes, &b);
    if (status == ND_OK) {
        nd__plain_enter(&o->plain, b, stream);
        *out = &b->base;
    }
    if (promised) {
        pthread_mutex_lock(&o->plain.lock);
        o->promised -= nbytes;
        pthread_mutex_unlock(&o->plain.lock);
    }
    return status;
}

/* ---- the rest ---- */
/* Reserved bytes are what the pool holds. The pool does not say them by size. */
static void ordered_stats(nd_backend *backend, nd_memory_stats *out)
{
    nd_ordered *o = (nd_ordered *)backend;
    uint64_t used, reserved;
    nd__plain_stats(backend, out);
    if (!look(o, &used, &reserved))
        return;
    nd_memory_stat *all = &out->reserved_bytes.all;
    pthread_mutex_lock(&o->plain.lock);
    if (o->reserved_peak < (int64_t)reserved)
        o->reserved_peak = (int64_t)reserved;
    all->current = (int64_t)reserved;
    if (all->peak < o->reserved_peak)
        all->peak = o->reserved_peak;
    pthread_mutex_unlock(&o->plain.lock);
}

static void ordered_reset(nd_backend *backend, bool peak, bool accumulated)
{
    nd_ordered *o = (nd_ordered *)backend;
    nd__plain_reset(backend, peak, accumulated);
    if (!peak)
        return;
    pthread_mutex_lock(&o->plain.lock);
    o->reserved_peak = 0;
    pthread_mutex_unlock(&o->plain.lock);
}

static void ordered_destroy(nd_backend *backend)
{
    nd_stream_release(atomic_load(&((nd_ordered *)backend)->unifier));
    nd__plain_destroy(backend);
}

static void cap_set(nd_backend *backend, uint64_t nbytes)
{
    atomic_store(&((nd_ordered *)backend)->cap, nbytes);
}

static uint64_t device_total(const nd_backend *backend)
{
    return backend->device->info.memory_bytes;
}

static const nd_backend_class ordered = {
    .name = "async",
    .alloc = ordered_alloc,
    .free = ordered_free,
    .record_stream = nd__plain_record_stream,
    .record_use = nd__plain_record_use,
    .empty_cache = nd__plain_empty_cache,
    .stream_gone = nd__plain_stream_gone,
    .stats = ordered_stats,
    .reset = ordered_reset,
    .snapshot = nd__plain_snapshot,
    .cap_set = cap_set,
    .total = device_total,
    .destroy = ordered_destroy,
    .fork = nd__plain_fork,
};

bool nd__ordered_serves(const nd_device *d)
{
    return d->has_stream && d->pool.alloc && d->pool.free && d->pool.trim && d->pool.usage;
}

nd_status nd__ordered_create(nd_device *device, const nd_hooks *hooks, nd_backend **out)
{
    const nd_plain_way way = {.record = sizeof(nd_plain_block),
                              .advice = "allocate before it, or use the caching allocator",
                              .finish = finish,
                              .spare = spare};
    *out = NULL;
    ND_RETURN_IF(nd__conf_check());
    const nd_conf *conf = nd__conf();
    nd_ordered *o = calloc(1, sizeof *o);
    if (!o)
        return nd__fail(ND_ERR_MEMORY, "alloc", -1, "no %zu bytes for an allocator", sizeof *o);
    nd__plain_init(&o->plain, &ordered, &way, device, hooks);
    o->plain.base.hooks.segment_alloc = pool_alloc;
    o->plain.base.hooks.segment_free = pool_free;
    o->most_kept = conf->max_cached > 0 ? (uint64_t)conf->max_cached : UINT64_MAX;
    atomic_init(&o->cap,
                (uint64_t)(conf->per_process_memory_fraction * (double)device->info.memory_bytes));
    *out = &o->plain.base;
    return ND_OK;
}
