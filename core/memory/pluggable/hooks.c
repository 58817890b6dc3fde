/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Hooks whose segments come from an allocator of the program's own (C21), by their pointers, and
 * what else that allocator may be told or asked. */
#include <stdlib.h>
#include "core/memory/pluggable/pluggable.h"

enum { BUCKETS = 256 };
typedef struct owned {
    ndp_mem *mem;
    void *ptr;
    struct owned *next;
} owned;
typedef struct {
    nd_device *device;
    nd_allocator *allocator; /* counted */
    pthread_mutex_t lock;
    owned *table[BUCKETS];
} source;

static size_t bucket(const ndp_mem *mem)
{
    return (size_t)((uintptr_t)mem >> 4) % BUCKETS;
}

static void *native(const nd_stream *stream)
{
    uint64_t handle = 0;
    if (stream && nd_stream_native(stream, &handle) != ND_OK)
        handle = 0;
    return (void *)(uintptr_t)handle;
}

static nd_status adopt(source *s, void *ptr, uint64_t nbytes, ndp_mem **mem)
{
    nd_device *d = s->device;
    owned *o = malloc(sizeof *o);
    if (!o)
        return nd__fail(ND_ERR_MEMORY, "alloc", -1, "no %zu bytes for a record", sizeof *o);
    nd_status status = d->map.wrap(d->dev, (uint64_t)(uintptr_t)ptr, nbytes, mem);
    if (status != ND_OK) {
        nd__error_context("alloc", d->name, d->slot ? d->slot->name : "");
        free(o);
        return status;
    }
    size_t k = bucket(*mem);
    o->mem = *mem;
    o->ptr = ptr;
    pthread_mutex_lock(&s->lock);
    o->next = s->table[k];
    s->table[k] = o;
    pthread_mutex_unlock(&s->lock);
    return ND_OK;
}

static nd_status take(void *ctx, nd_stream *stream, uint64_t nbytes, ndp_mem **mem, char **host)
{
    source *s = ctx;
    const nd_allocator_table *t = &s->allocator->table;
    int32_t index = (int32_t)s->device->index;
    *mem = NULL;
    *host = NULL;
    void *ptr = nbytes <= INT64_MAX
                    ? t->alloc(s->allocator->ctx, (int64_t)nbytes, index, native(stream))
                    : NULL;
    if (!ptr)
        return nd__fail(ND_ERR_MEMORY, "alloc", -1,
                        "the allocator set for %s returned NULL for %llu bytes", s->device->name,
                        (unsigned long long)nbytes);
    nd_status status = adopt(s, ptr, nbytes, mem);
    if (status != ND_OK)
        t->free(s->allocator->ctx, ptr, (int64_t)nbytes, index, native(stream));
    else if (s->device->host_visible)
        *host = ptr;
    return status;
}

/* Under the lock: the link that leads to the memory's record, or to NULL. */
static owned **find(source *s, const ndp_mem *mem)
{
    owned **at = &s->table[bucket(mem)];
    while (*at && (*at)->mem != mem)
        at = &(*at)->next;
    return at;
}

static void give(void *ctx, nd_stream *stream, ndp_mem *mem, uint64_t nbytes)
{
    source *s = ctx;
    pthread_mutex_lock(&s->lock);
    owned **at = find(s, mem), *o = *at;
    *at = o->next;
    pthread_mutex_unlock(&s->lock);
    nd__hazard_gone(mem);
    s->device->p.free(s->device->dev, mem); /* frees the handle alone */
    s->allocator->table.free(s->allocator->ctx, o->ptr, (int64_t)nbytes, (int32_t)s->device->index,
                             native(stream));
    free(o);
}

/* Calls the allocator's init(device count) once, with all devices of the plug-in. */
static nd_status start(nd_allocator *a, nd_device *device)
{
    nd_status status = ND_OK;
    pthread_mutex_lock(&a->lock);
    if (!a->started && a->table.init) {
        int32_t count = device->slot ? (int32_t)device->slot->device_count : 1;
        int32_t failed = a->table.init(a->ctx, count);
        if (failed)
            status =
                nd__fail(ND_ERR_PLUGIN, "allocator", -1,
                         "the allocator's init(%d devices) returned %d", (int)count, (int)failed);
    }
    a->started |= status == ND_OK;
    pthread_mutex_unlock(&a->lock);
    return status;
}

static nd_status check(const nd_allocator *a, const nd_device *device)
{
    if (a->kind != ND_KIND_PLUGGABLE)
        return nd__fail(ND_ERR_ARGUMENT, "allocator", -1,
                        "segments come from the device or from an allocator of one's own, not from "
                        "a named one");
    if (!device->map.wrap)
        return nd__fail(ND_ERR_UNSUPPORTED, "allocator", -1,
                        "%s cannot use memory by its address (group ndp.map/1), so other "
                        "allocators cannot serve it",
                        device->name);
    return ND_OK;
}

nd_status nd__allocator_hooks(nd_allocator *a, nd_device *device, nd_hooks *out)
{
    *out = (nd_hooks){0};
    ND_RETURN_IF(check(a, device));
    ND_RETURN_IF(start(a, device));
    source *s = calloc(1, sizeof *s);
    if (!s)
        return nd__fail(ND_ERR_MEMORY, "allocator", -1, "no %zu bytes", sizeof *s);
    s->device = device;
    s->allocator = nd_allocator_retain(a);
    pthread_mutex_init(&s->lock, NULL);
    nd_hooks h;
    nd__device_hooks(device, &h);
    *out = (nd_hooks){.segment_ctx = s,
                      .segment_alloc = take,
                      .segment_free = give,
                      .ctx = h.ctx,
                      .record = h.record,
                      .query = h.query,
                      .wait = h.wait,
                      .synchronize = h.synchronize,
                      .give_back = h.give_back,
                      .capture_id = h.capture_id,
                      .usage = h.usage};
    return ND_OK;
}

void nd__allocator_hooks_release(nd_hooks *hooks)
{
    source *s = hooks->segment_ctx;
    if (!s)
        return;
    nd_allocator_release(s->allocator);
    pthread_mutex_destroy(&s->lock);
    free(s);
    hooks->segment_ctx = NULL;
}

/* ---- optional slots ---- */
static void *pointer_of(source *s, const ndp_mem *mem)
{
    pthread_mutex_lock(&s->lock);
    const owned *o = *find(s, mem);
    void *ptr = o ? o->ptr : NULL;
    pthread_mutex_unlock(&s->lock);
    return ptr;
}

bool nd__allocator_record_stream(nd_block *block, nd_stream *stream)
{
    source *s = block->backend->hooks.segment_ctx;
    const nd_allocator_table *t = &s->allocator->table;
    if (!t->record_stream)
        return false;
    t->record_stream(s->allocator->ctx, pointer_of(s, block->mem), native(stream));
    return true;
}

void nd__allocator_fork(nd_backend *backend, nd_fork now)
{
    nd__fork_mutex(&((source *)backend->hooks.segment_ctx)->lock, now);
}

bool nd__allocator_reserved(nd_backend *backend, uint64_t *reserved)
{
    source *s = backend->hooks.segment_ctx;
    const nd_allocator_table *t = &s->allocator->table;
    uint64_t allocated;
    return t->stats &&
           t->stats(s->allocator->ctx, (int32_t)s->device->index, &allocated, reserved) == 0;
}

nd_status nd__allocator_pool(nd_allocator *a, nd_device *device, uint64_t pool, bool begin)
{
    int32_t (*fn)(void *ctx, int32_t device, uint64_t pool) =
        begin ? a->table.begin_pool : a->table.end_pool;
    int32_t failed = fn ? fn(a->ctx, (int32_t)device->index, pool) : 0;
    if (failed)
        return nd__fail(ND_ERR_PLUGIN, "allocator", -1, "the allocator's %s_pool(%llu) returned %d",
                        begin ? "begin" : "end", (unsigned long long)pool, (int)failed);
    return ND_OK;
}
