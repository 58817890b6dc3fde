/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The debug allocator (C20): every block is a segment between red zones, is poisoned when fresh and
 * when freed, and is kept for a while afterwards, so that stray writes show. Nothing aborts:
 * mistakes are logged, and told with the live blocks by nd_memory_debug_report. */
#include <stdlib.h>
#include "core/memory/conf/settings.h"
#include "core/memory/plain/debug.h"

enum { LIVE, FREED, KEPT, GONE }; /* GONE: its memory went back, and the record stays a while */
enum { RECORDS = 4096 };

static const nd_backend_class debug_class;

/* ---- records ---- */
static size_t bucket(const void *block)
{
    return (size_t)((uintptr_t)block >> 4) % ND_DEBUG_BUCKETS;
}

/* Finds the record of a block. Addresses alone are compared, since the block may be anything. */
static nd_debug_block *find(const nd_debug *d, const nd_block *block)
{
    nd_debug_block *r = d->table[bucket(block)];
    while (r && &r->plain.base != block)
        r = r->same_hash;
    return r;
}

static void insert(nd_debug *d, nd_debug_block *r)
{
    size_t k = bucket(r);
    pthread_mutex_lock(&d->plain.lock);
    r->same_hash = d->table[k];
    d->table[k] = r;
    pthread_mutex_unlock(&d->plain.lock);
}

static void forget(nd_debug *d, nd_debug_block *r)
{
    nd_debug_block **at = &d->table[bucket(r)];
    while (*at != r)
        at = &(*at)->same_hash;
    *at = r->same_hash;
    free(r);
}

static void append(nd_plain_block **first, nd_plain_block **last, nd_plain_block *b)
{
    b->next = NULL;
    if (*first)
        (*last)->next = b;
    else
        *first = b;
    *last = b;
}

static nd_plain_block *pop(nd_plain_block **first)
{
    nd_plain_block *b = *first;
    *first = b->next;
    b->next = NULL;
    return b;
}

/* ---- a freed block is pending, then kept, then gone ---- */
/* The oldest kept blocks beyond the limit lose their memory, the oldest records beyond theirs
 * go. */
static bool evict(nd_debug *d, int64_t limit)
{
    bool any = false;
    pthread_mutex_lock(&d->plain.lock);
    while (d->n_kept > limit) {
        nd_plain_block *b = pop(&d->kept);
        d->n_kept--;
        nd__debug_check_freed(d, (nd_debug_block *)b);
        ((nd_debug_block *)b)->state = GONE;
        pthread_mutex_unlock(&d->plain.lock);
        /* the lock is not held meanwhile */
        nd__plain_give_segment(&d->plain, b, b->uses.home.stream);
        pthread_mutex_lock(&d->plain.lock);
        append(&d->gone, &d->gone_last, b);
        if (++d->n_gone > RECORDS) {
            d->n_gone--;
            forget(d, (nd_debug_block *)pop(&d->gone));
        }
        any = true;
    }
    pthread_mutex_unlock(&d->plain.lock);
    return any;
}

/* Puts a block into the quarantine, and takes out what there is no room for any more. */
static bool finish(nd_plain *p, nd_plain_block *b)
{
    nd_debug *d = (nd_debug *)p;
    nd_debug_block *r = (nd_debug_block *)b;
    pthread_mutex_lock(&d->plain.lock);
    nd__debug_check_zones(d, r);
    r->reported =
        nd__debug_fill(&d->plain, b, b->base.offset, b->base.requested, ND_FILL_FREED) != ND_OK ||
        r->reported;
    r->state = KEPT;
    append(&d->kept, &d->kept_last, b);
    d->n_kept++;
    pthread_mutex_unlock(&d->plain.lock);
    bool gave = evict(d, nd__conf()->quarantine_blocks);
    nd__backend_release(&p->base);
    return gave;
}

static bool spare(nd_plain *p, bool wait)
{
    nd__plain_begin(p);
    bool gave = evict((nd_debug *)p, wait ? 0 : nd__conf()->quarantine_blocks);
    nd__plain_end(p, gave);
    return gave;
}

/* ---- the backend ---- */
static nd_status fill_fresh(nd_debug *d, const nd_plain_block *b)
{
    uint64_t end = b->base.offset + b->base.requested;
    ND_RETURN_IF(nd__debug_fill(&d->plain, b, 0, b->base.offset, ND_FILL_ZONE));
    ND_RETURN_IF(nd__debug_fill(&d->plain, b, b->base.offset, b->base.requested, ND_FILL_FRESH));
    return nd__debug_fill(&d->plain, b, end, b->segment - end, ND_FILL_ZONE);
}

static nd_status debug_alloc(nd_backend *backend, nd_stream *stream, uint64_t nbytes,
                             nd_block **out)
{
    nd_debug *d = (nd_debug *)backend;
    nd_plain_block *b;
    *out = NULL;
    ND_RETURN_IF(nd__plain_ready(&d->plain, stream));
    if (nbytes > UINT64_MAX / 2)
        return nd__fail(ND_ERR_MEMORY, "alloc", -1, "%llu bytes are more than any device has",
                        (unsigned long long)nbytes);
    ND_RETURN_IF(nd__plain_take(&d->plain, stream, nbytes, &b));
    nd_status status = fill_fresh(d, b);
    if (status != ND_OK) {
        nd__plain_give_segment(&d->plain, b, stream);
        free(b);
        return status;
    }
    insert(d, (nd_debug_block *)b);
    nd__plain_enter(&d->plain, b, stream);
    *out = &b->base;
    return ND_OK;
}

static void debug_free(nd_block *block)
{
    nd_debug *d = (nd_debug *)block->backend;
    pthread_mutex_lock(&d->plain.lock);
    nd_debug_block *r = find(d, block);
    bool fine = r && r->state == LIVE;
    if (!r)
        nd__debug_mistake(d, NULL, "foreign free: the block is not one of this allocator");
    else if (!fine)
        nd__debug_mistake(d, &r->plain, "double free");
    else
        r->state = FREED;
    pthread_mutex_unlock(&d->plain.lock);
    if (fine)
        nd__plain_free(block);
}

static nd_status debug_empty_cache(nd_backend *backend)
{
    (void)nd__plain_reclaim((nd_plain *)backend, false);
    (void)evict((nd_debug *)backend, 0);
    return ND_OK;
}

static void debug_snapshot(nd_backend *backend, nd_text *segments)
{
    nd_debug *d = (nd_debug *)backend;
    nd__plain_snapshot(backend, segments);
    pthread_mutex_lock(&d->plain.lock);
    for (const nd_plain_block *b = d->kept; b; b = b->next)
        nd__plain_snapshot_block(&d->plain, b, ND_BLOCK_INACTIVE, segments);
    pthread_mutex_unlock(&d->plain.lock);
}

static void debug_destroy(nd_backend *backend)
{
    nd_debug *d = (nd_debug *)backend;
    (void)evict(d, 0);
    while (d->gone)
        forget(d, (nd_debug_block *)pop(&d->gone));
    free(d->mistakes.data);
    nd__plain_destroy(backend);
}

static const nd_backend_class debug_class = {
    .name = "debug",
    .alloc = debug_alloc,
    .free = debug_free,
    .record_stream = nd__plain_record_stream,
    .record_use = nd__plain_record_use,
    .empty_cache = debug_empty_cache,
    .stream_gone = nd__plain_stream_gone,
    .stats = nd__plain_stats,
    .reset = nd__plain_reset,
    .snapshot = debug_snapshot,
    .destroy = debug_destroy,
    .fork = nd__plain_fork,
};

/* Checks all blocks that still have memory; under the lock. */
static void check_all(nd_debug *d)
{
    for (nd_plain_block *b = d->kept; b; b = b->next)
        nd__debug_check_freed(d, (nd_debug_block *)b);
    for (nd_plain_block *b = d->plain.live; b; b = b->next)
        nd__debug_check_zones(d, (nd_debug_block *)b);
}

/* At the end of the process, looks once more at what nobody freed or asked about. */
static void check_at_exit(void)
{
    for (nd_backend *backend = nd__backends(); backend; backend = backend->next) {
        nd_debug *d = (nd_debug *)backend;
        if (backend->type != &debug_class || !backend->device || nd__out_of_reach(backend->device))
            continue;
        pthread_mutex_lock(&d->plain.lock);
        check_all(d);
        pthread_mutex_unlock(&d->plain.lock);
    }
}

static void watch_exit(void)
{
    (void)atexit(check_at_exit);
}

nd_status nd__debug_create(nd_device *device, const nd_hooks *hooks, nd_backend **out)
{
    const nd_plain_way way = {.record = sizeof(nd_debug_block),
                              .zone = ND_ZONE,
                              .advice = "allocate before the capture",
                              .finish = finish,
                              .spare = spare};
    nd_debug *d = calloc(1, sizeof *d);
    *out = NULL;
    if (!d)
        return nd__fail(ND_ERR_MEMORY, "alloc", -1, "no %zu bytes for an allocator", sizeof *d);
    nd__plain_init(&d->plain, &debug_class, &way, device, hooks);
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_exit);
    *out = &d->plain.base;
    return ND_OK;
}

/* ---- the report ---- */
static int64_t report(nd_debug *d, nd_text *t)
{
    int64_t n = 0;
    pthread_mutex_lock(&d->plain.lock);
    check_all(d);
    if (d->mistakes.data)
        nd__text_add(t, "%s", d->mistakes.data);
    if (d->n_mistakes > ND_MOST_MISTAKES)
        nd__text_add(t, "and %lld mistakes more\n", (long long)(d->n_mistakes - ND_MOST_MISTAKES));
    for (const nd_plain_block *b = d->plain.live; b; b = b->next, n++)
        nd__text_add(t, "%s: live, block of %llu bytes at 0x%llx, %s%s%s\n",
                     d->plain.base.device ? d->plain.base.device->name : "",
                     (unsigned long long)b->base.requested,
                     (unsigned long long)(b->address + b->base.offset),
                     b->tag[0] ? "tag \"" : "no tag", b->tag, b->tag[0] ? "\"" : "");
    n += d->n_mistakes;
    pthread_mutex_unlock(&d->plain.lock);
    return n;
}

nd_status nd_memory_debug_report(nd_device *device, char **out, int64_t *count)
{
    nd_status status;
    nd_text t = {0};
    bool any = false;
    ND_OUT("memory_debug_report", 1, out, NULL);
    ND_OUT("memory_debug_report", 2, count, 0);
    device = nd__or_current(device, &status);
    if (status != ND_OK)
        return status;
    nd__text_add(&t, "%s", "");
    for (nd_backend *backend = nd__backends(); backend; backend = backend->next)
        if (backend->type == &debug_class && backend->device == device) {
            (void)nd__plain_reclaim((nd_plain *)backend, false);
            *count += report((nd_debug *)backend, &t);
            any = true;
        }
    if (any && !t.failed) {
        *out = t.data;
        return ND_OK;
    }
    free(t.data);
    *count = 0;
    return any ? nd__fail(ND_ERR_MEMORY, "memory_debug_report", -1, "no memory for the report")
               : nd__fail(ND_ERR_STATE, "memory_debug_report", 0,
                          "%s has no debug allocator: set NDOCK_ALLOC_CONF=backend:debug, or use "
                          "nd_allocator_named(\"debug\") and nd_allocator_set",
                          device->name);
}
