/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What an allocator stands on, over a device's plug-in. Devices that finish their work before a
 * call returns have no events, so that record stays NULL for them. */
#include <stdlib.h>
#include "core/memory/memory.h"

static nd_status said(nd_device *d, const char *op, nd_status status)
{
    if (status != ND_OK)
        nd__error_context(op, d->name, d->slot->name);
    return status;
}

/* A capture's own streams may grow its pool; other memory would break it. */
static nd_status may_grow(nd_device *d, const char *op, const char *advice)
{
    const nd_tape *t = nd__captures_now() ? nd__tape_here(d) : NULL;
    return t && t->grows ? (nd_status)ND_OK : nd__refuse_unsafe(d, op, advice);
}

#define WARM_UP "run once before it, so that the memory is there, or capture relaxed"
static nd_status segment_alloc(void *ctx, nd_stream *s, uint64_t nbytes, ndp_mem **mem, char **host)
{
    nd_device *d = ctx;
    void *at = NULL;
    (void)s;
    *mem = NULL;
    *host = NULL;
    ND_RETURN_IF(nd__usable(d, "alloc"));
    ND_RETURN_IF(may_grow(d, "alloc", WARM_UP));
    nd__note_wait(ND_WAIT_DEVICE_ALLOC, d, "alloc");
    ND_RETURN_IF(said(d, "alloc", d->p.alloc(d->dev, nbytes, mem)));
    if (!d->host_visible || !d->map.map)
        return ND_OK;
    nd_status status = said(d, "map", d->map.map(d->dev, *mem, &at));
    if (status != ND_OK)
        d->p.free(d->dev, *mem);
    *host = at;
    return status;
}

typedef struct {
    nd_device *device;
    ndp_mem *mem;
} later;

static void free_later(void *arg)
{
    later *l = arg;
    l->device->p.free(l->device->dev, l->mem);
    free(l);
}

/* Freeing now would break a capture that is under way. Returns whether it is put off until the
 * end. */
static bool put_off(nd_device *d, ndp_mem *mem)
{
    later *l = malloc(sizeof *l);
    if (l)
        *l = (later){d, mem};
    bool done = l && nd__after_capture(d, free_later, l);
    if (!done)
        free(l);
    return done;
}

static void segment_free(void *ctx, nd_stream *s, ndp_mem *mem, uint64_t nbytes)
{
    nd_device *d = ctx;
    (void)s;
    (void)nbytes;
    if (nd__out_of_reach(d))
        return;
    nd__hazard_gone(mem);
    nd__note_wait(ND_WAIT_DEVICE_ALLOC, d, "free");
    if (!d->has_graph || !put_off(d, mem))
        d->p.free(d->dev, mem);
}

static nd_status record(void *ctx, nd_stream *s, ndp_event **out)
{
    (void)ctx;
    return nd__mark(s, out);
}

static nd_status query(void *ctx, ndp_event *event, int32_t *done)
{
    nd_device *d = ctx;
    *done = event == NULL;
    /* while it must not be asked, it is not done as far as we know */
    if (!event || nd__capture_forbids(d))
        return ND_OK;
    nd_status status = d->stream.event_query(d->dev, event, done);
    if (status == ND_OK && *done && nd__hazards_now())
        nd__hazard_wait(NULL, event);
    return said(d, "event_query", nd__fault_later(d, event, status));
}

static nd_status wait(void *ctx, nd_stream *s, ndp_event *event)
{
    (void)ctx;
    return nd__wait_mark(s, event);
}

static bool idle(void *ctx, nd_stream *s)
{
    nd_device *d = ctx;
    int32_t done = 0;
    if (nd__capture_forbids(d))
        return false;
    pthread_mutex_lock(&s->lock); /* so that no other thread begins a capture of it in between */
    const bool asked = !nd__capture_id(s) && d->stream.query(d->dev, s->handle, &done) == NDP_OK;
    pthread_mutex_unlock(&s->lock);
    if (!asked || !done)
        return false;
    if (nd__hazards_now())
        nd__hazard_settled(s);
    return true;
}

static nd_status synchronize(void *ctx, ndp_event *event)
{
    nd_device *d = ctx;
    if (!event)
        return ND_OK;
    ND_RETURN_IF(nd__refuse_unsafe(d, "alloc", WARM_UP));
    ND_RETURN_IF(nd__may_wait(ND_WAIT_MEMORY, d, "alloc"));
    nd_status status = d->stream.event_sync(d->dev, event);
    if (status == ND_OK && nd__hazards_now())
        nd__hazard_wait(NULL, event);
    return said(d, "event_sync", nd__fault_later(d, event, status));
}

static void give_back(void *ctx, ndp_event *event)
{
    nd__event_give(ctx, 0, event);
}

static uint64_t capture_id(void *ctx, nd_stream *s)
{
    (void)ctx;
    return nd__capture_id(s);
}

static nd_status usage(void *ctx, uint64_t *free_bytes, uint64_t *total_bytes)
{
    nd_device *d = ctx;
    ND_RETURN_IF(nd__usable(d, "usage"));
    return said(d, "usage", d->memory.usage(d->dev, free_bytes, total_bytes));
}

static nd_status granularity(void *ctx, uint64_t *nbytes)
{
    nd_device *d = ctx;
    return said(d, "granularity", d->memory.granularity(d->dev, nbytes));
}

static nd_status reserve(void *ctx, uint64_t nbytes, ndp_mem **out)
{
    nd_device *d = ctx;
    ND_RETURN_IF(nd__usable(d, "reserve"));
    ND_RETURN_IF(may_grow(d, "reserve", WARM_UP));
    return said(d, "reserve", d->memory.reserve(d->dev, nbytes, out));
}

static nd_status commit(void *ctx, ndp_mem *mem, uint64_t offset, uint64_t nbytes)
{
    nd_device *d = ctx;
    ND_RETURN_IF(nd__usable(d, "commit"));
    ND_RETURN_IF(may_grow(d, "commit", WARM_UP));
    nd__note_wait(ND_WAIT_DEVICE_ALLOC, d, "commit");
    return said(d, "commit", d->memory.commit(d->dev, mem, offset, nbytes));
}

static nd_status set_access(void *ctx, ndp_mem *mem, uint64_t offset, uint64_t nbytes)
{
    nd_device *d = ctx;
    return said(d, "set_access", d->memory.set_access(d->dev, mem, offset, nbytes));
}

static nd_status decommit(void *ctx, ndp_mem *mem, uint64_t offset, uint64_t nbytes)
{
    nd_device *d = ctx;
    if (nd__out_of_reach(d))
        return ND_OK;
    nd__note_wait(ND_WAIT_DEVICE_ALLOC, d, "decommit");
    return said(d, "decommit", d->memory.decommit(d->dev, mem, offset, nbytes));
}

static void release(void *ctx, ndp_mem *mem, uint64_t nbytes)
{
    segment_free(ctx, NULL, mem, nbytes);
}

void nd__device_hooks(nd_device *d, nd_hooks *out)
{
    *out = (nd_hooks){
        .ctx = d, .segment_ctx = d, .segment_alloc = segment_alloc, .segment_free = segment_free};
    if (d->has_stream) {
        out->record = record;
        out->query = query;
        out->idle = idle;
        out->wait = wait;
        out->synchronize = synchronize;
        out->give_back = give_back;
    }
    if (d->has_graph || d->has_stream)
        out->capture_id = capture_id;
    if (d->memory.usage)
        out->usage = usage;
    if (d->memory.reserve && d->memory.commit && d->memory.set_access && d->memory.decommit &&
        d->memory.granularity) {
        out->granularity = granularity;
        out->reserve = reserve;
        out->commit = commit;
        out->set_access = set_access;
        out->decommit = decommit;
        out->release = release;
    }
}

nd_status nd__mem_read(nd_device *d, ndp_mem *mem, uint64_t offset, void *dst, uint64_t n)
{
    return nd__read(d, "memory", ND_WAIT_MEMORY, mem, offset, dst, n);
}

nd_status nd__mem_write(nd_device *d, ndp_mem *mem, uint64_t offset, const void *src, uint64_t n)
{
    return nd__write(d, "memory", ND_WAIT_MEMORY, mem, offset, src, n);
}
