/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * More memory of the device for a request: a segment of its own, or pages of an expandable one. */
#include "core/memory/caching/caching.h"

/* Counts the bytes before the device is asked, so that threads together stay below the cap. */
static bool promise(nd_caching *c, nd_request *r, bool retry)
{
    nd__lock_take(&c->lock);
    c->stats.num_alloc_retries += retry;
    r->capped = c->cap && (uint64_t)c->reserved + r->segment_size > c->cap;
    if (!r->capped)
        c->reserved += (int64_t)r->segment_size;
    nd__caching_leave(c);
    return !r->capped;
}

static void take_back(nd_caching *c, const nd_request *r, bool refused)
{
    nd__lock_take(&c->lock);
    c->reserved -= (int64_t)r->segment_size;
    if (refused && (!c->refused || r->segment_size < c->refused))
        c->refused = r->segment_size;
    nd__caching_leave(c);
}

static bool grow_plain(nd_caching *c, nd_request *r, bool retry)
{
    const nd_hooks *h = &r->arena->hooks;
    ndp_mem *mem = NULL;
    char *host = NULL;
    if (!promise(c, r, retry))
        return false;
    nd_status status = h->segment_alloc(h->segment_ctx, r->stream, r->segment_size, &mem, &host);
    if (status != ND_OK) {
        take_back(c, r, status == ND_ERR_MEMORY);
        r->status = status == ND_ERR_MEMORY ? ND_OK : status;
        return false;
    }
    nd_segment *s = nd__segment_new(c, r, mem, host, r->segment_size, 0);
    if (!s) {
        h->segment_free(h->segment_ctx, r->stream, mem, r->segment_size);
        take_back(c, r, false);
        return false;
    }
    nd__trace(ND_TRACE_SEGMENT_ALLOC, c->backend.device, s->address, s->nbytes, r->stream, NULL);
    nd__lock_take(&c->lock);
    nd__segment_link(c, s);
    bool taken = nd__take(c, r, s->first);
    nd__caching_leave(c);
    return taken;
}

static bool grow(nd_caching *c, nd_request *r, bool retry)
{
    const nd_hooks *h = &r->arena->hooks;
    bool expand = r->conf->expandable_segments && h->reserve && h->commit && h->decommit &&
                  h->granularity && h->release && !r->arena->own_hooks;
    if (!expand)
        return grow_plain(c, r, retry);
    nd__lock_take(&c->lock);
    c->stats.num_alloc_retries += retry;
    nd__caching_leave(c);
    return nd__expand(c, r);
}

/* A failing request gives back what it promised or mapped, so that others may look again. */
bool nd__grow(nd_caching *c, nd_request *r, bool retry)
{
    nd__calls_enter(&c->backend.calls);
    bool grown = grow(c, r, retry);
    nd__calls_leave(&c->backend.calls, !grown);
    return grown;
}
