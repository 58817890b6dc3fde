/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Hooks whose segments come from an allocator of the program's own (C21): its pointers as device
 * memory, and what else it may be told or asked. */
#include <stdlib.h>
#include "core/memory/pluggable/pluggable.h"

enum { BUCKETS = 256 };
typedef struct owned {
    ndp_mem *mem;
    void *ptr;
    struct owned *next;
} owned;
typedef struct {
    nd_hooks device; /* what the allocator does not do */
    nd_device *of;
    nd_allocator *allocator; /* counted */
    pthread_mutex_t lock;
    owned *table[BUCKETS];
} foreign;

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

static nd_status adopt(foreign *f, void *ptr, uint64_t nbytes, ndp_mem **mem)
{
    nd_device *d = f->of;
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
    pthread_mutex_lock(&f->lock);
    o->next = f->table[k];
    f->table[k] = o;
    pthread_mutex_unlock(&f->lock);
    return ND_OK;
}

static nd_status foreign_alloc(void *ctx, nd_stream *stream, uint64_t nbytes, ndp_mem **mem,
                               char **host)
{
    foreign *f = ctx;
    const nd_allocator_table *t = &f->allocator->table;
    int32_t index = (int32_t)f->of->index;
    *mem = NULL;
    *host = NULL;
    void *ptr = nbytes <= INT64_MAX
                    ? t->alloc(f->allocator->ctx, (int64_t)nbytes, index, native(stream))
                    : NULL;
    if (!ptr)
        return nd__fail(ND_ERR_MEMORY, "alloc", -1,
                        "the allocator set for %s returned NULL for %llu bytes", f->of->name,
                        (unsigned long long)nbytes);
    nd_status status = adopt(f, ptr, nbytes, mem);
    if (status != ND_OK)
        t->free(f->allocator->ctx, ptr, (int64_t)nbytes, index, native(stream));
    else if (f->of->host_visible)
        *host = ptr;
    return status;
}

static void foreign_free(void *ctx, nd_stream *stream, ndp_mem *mem, uint64_t nbytes)
{
    foreign *f = ctx;
    pthread_mutex_lock(&f->lock);
    owned **at = &f->table[bucket(mem)];
    while ((*at)->mem != mem)
        at = &(*at)->next;
    owned *o = *at;
    *at = o->next;
    pthread_mutex_unlock(&f->lock);
    nd__hazard_gone(mem);
    f->of->p.free(f->of->dev, mem); /* the handle alone */
    f->allocator->table.free(f->allocator->ctx, o->ptr, (int64_t)nbytes, (int32_t)f->of->index,
                             native(stream));
    free(o);
}

static nd_status pass_record(void *ctx, nd_stream *stream, ndp_event **out)
{
    const nd_hooks *h = &((foreign *)ctx)->device;
    return h->record(h->ctx, stream, out);
}
static nd_status pass_query(void *ctx, ndp_event *event, int32_t *done)
{
    const nd_hooks *h = &((foreign *)ctx)->device;
    return h->query(h->ctx, event, done);
}
static nd_status pass_wait(void *ctx, nd_stream *stream, ndp_event *event)
{
    const nd_hooks *h = &((foreign *)ctx)->device;
    return h->wait(h->ctx, stream, event);
}
static nd_status pass_synchronize(void *ctx, ndp_event *event)
{
    const nd_hooks *h = &((foreign *)ctx)->device;
    return h->synchronize(h->ctx, event);
}
static void pass_give_back(void *ctx, ndp_event *event)
{
    const nd_hooks *h = &((foreign *)ctx)->device;
    h->give_back(h->ctx, event);
}
static uint64_t pass_capture_id(void *ctx, nd_stream *stream)
{
    const nd_hooks *h = &((foreign *)ctx)->device;
    return h->capture_id ? h->capture_id(h->ctx, stream) : 0;
}
static nd_status pass_usage(void *ctx, uint64_t *free_bytes, uint64_t *total_bytes)
{
    const nd_hooks *h = &((foreign *)ctx)->device;
    return h->usage(h->ctx, free_bytes, total_bytes);
}

static const nd_hooks foreign_hooks = {
    .segment_alloc = foreign_alloc,
    .segment_free = foreign_free,
    .record = pass_record,
    .query = pass_query,
    .wait = pass_wait,
    .synchronize = pass_synchronize,
    .give_back = pass_give_back,
    .capture_id = pass_capture_id,
    .usage = pass_usage,
};

/* init(device count) once, with all devices of the plug-in. */
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

nd_status nd__allocator_hooks(nd_allocator *a, nd_device *device, nd_hooks *out)
{
    memset(out, 0, sizeof *out);
    if (a->kind != ND_KIND_PLUGGABLE)
        return nd__fail(ND_ERR_ARGUMENT, "allocator", -1,
                        "segments come from the device or from an allocator of one's own, not from "
                        "a named one");
    if (!device->map.wrap)
        return nd__fail(ND_ERR_UNSUPPORTED, "allocator", -1,
                        "%s cannot use memory by its address (group ndp.map/1), so other "
                        "allocators cannot serve it",
                        device->name);
    ND_RETURN_IF(start(a, device));
    foreign *f = calloc(1, sizeof *f);
    if (!f)
        return nd__fail(ND_ERR_MEMORY, "allocator", -1, "no %zu bytes", sizeof *f);
    nd__device_hooks(device, &f->device);
    f->of = device;
    f->allocator = nd_allocator_retain(a);
    pthread_mutex_init(&f->lock, NULL);
    *out = foreign_hooks;
    out->ctx = f;
    if (!f->device.usage)
        out->usage = NULL;
    if (!f->device.record) /* a device without events */
        out->record = NULL;
    return ND_OK;
}

void nd__allocator_hooks_release(nd_hooks *hooks)
{
    foreign *f = hooks->ctx;
    if (!f)
        return;
    nd_allocator_release(f->allocator);
    pthread_mutex_destroy(&f->lock);
    free(f);
    hooks->ctx = NULL;
}

/* ---- optional slots ---- */
static void *pointer_of(foreign *f, const ndp_mem *mem)
{
    pthread_mutex_lock(&f->lock);
    owned *o = f->table[bucket(mem)];
    while (o && o->mem != mem)
        o = o->next;
    void *ptr = o ? o->ptr : NULL;
    pthread_mutex_unlock(&f->lock);
    return ptr;
}

bool nd__allocator_record_stream(nd_block *block, nd_stream *stream)
{
    foreign *f = block->backend->hooks.ctx;
    const nd_allocator_table *t = &f->allocator->table;
    if (!t->record_stream)
        return false;
    t->record_stream(f->allocator->ctx, pointer_of(f, block->mem), native(stream));
    return true;
}

void nd__allocator_fork(nd_backend *backend, nd_fork now)
{
    nd__fork_mutex(&((foreign *)backend->hooks.ctx)->lock, now);
}

bool nd__allocator_reserved(nd_backend *backend, uint64_t *reserved)
{
    foreign *f = backend->hooks.ctx;
    const nd_allocator_table *t = &f->allocator->table;
    uint64_t allocated;
    return t->stats &&
           t->stats(f->allocator->ctx, (int32_t)f->of->index, &allocated, reserved) == 0;
}

nd_status nd__allocator_pool(nd_allocator *a, nd_device *device, uint64_t pool, bool begin)
{
    int32_t (*fn)(void *, int32_t, uint64_t) = begin ? a->table.begin_pool : a->table.end_pool;
    int32_t failed = fn ? fn(a->ctx, (int32_t)device->index, pool) : 0;
    if (failed)
        return nd__fail(ND_ERR_PLUGIN, "allocator", -1, "the allocator's %s_pool(%llu) returned %d",
                        begin ? "begin" : "end", (unsigned long long)pool, (int)failed);
    return ND_OK;
}
