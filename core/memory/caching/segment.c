/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Segments of the caching allocator: taken from the device whole. */
#include <stdlib.h>
#include "core/memory/caching/caching.h"

nd_segment *nd__segment_new(nd_caching *c, nd_request *r, ndp_mem *mem, char *host, uint64_t nbytes,
                            uint64_t page)
{
    nd_segment *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    *s = (nd_segment){.mem = mem, .host = host, .nbytes = nbytes, .page = page, .bin = r->bin};
    s->address = nd__mem_address(c->maker.device, mem, host);
    nd__lock_take(&c->lock);
    s->lane = nd__lane_get(c, r->stream);
    s->first = s->lane ? nd__piece_new(c) : NULL;
    if (!s->first && s->lane)
        nd__lane_put(c, s->lane);
    nd__caching_leave(c);
    if (!s->first) {
        free(s);
        return NULL;
    }
    nd_piece *p = s->first;
    *p = (nd_piece){.b = {.maker = &c->maker, .mem = mem, .nbytes = nbytes}, .segment = s};
    p->state = page ? ND_PIECE_UNMAPPED : ND_PIECE_FREE;
    return s;
}

void nd__count_mapped(nd_caching *c, nd_segment *s, uint64_t nbytes)
{
    nd__stat_in(c, ND_STAT_RESERVED_BYTES, s->bin->small, nbytes);
    s->mapped += nbytes;
    s->bin->arena->reserved_bytes += (int64_t)nbytes;
    c->num_device_alloc++;
}

void nd__count_unmapped(nd_caching *c, nd_segment *s, uint64_t nbytes)
{
    nd__stat_out(c, ND_STAT_RESERVED_BYTES, s->bin->small, nbytes);
    s->mapped -= nbytes;
    s->bin->arena->reserved_bytes -= (int64_t)nbytes;
    c->reserved -= (int64_t)nbytes;
    c->refused = 0;
    c->num_device_free++;
}

void nd__segment_link(nd_caching *c, nd_segment *s)
{
    s->next = c->segments;
    if (s->next)
        s->next->prev = s;
    c->segments = s;
    s->bin->arena->segments++;
    s->first->born = s->bin->searches;
    nd__shelve(s->first);
    if (s->page)
        return;
    nd__count_mapped(c, s, s->nbytes);
    nd__stat_in(c, ND_STAT_SEGMENT, s->bin->small, 1);
    if (s->nbytes >= nd__conf()->max_split_size) {
        s->oversize = true;
        nd__tally_in(&c->oversize_segments, 1);
    }
}

void nd__segment_unlink(nd_caching *c, nd_segment *s)
{
    nd_arena *arena = s->bin->arena;
    if (s->prev)
        s->prev->next = s->next;
    else
        c->segments = s->next;
    if (s->next)
        s->next->prev = s->prev;
    arena->segments--;
    if (!s->page) {
        nd__count_unmapped(c, s, s->nbytes);
        nd__stat_out(c, ND_STAT_SEGMENT, s->bin->small, 1);
        nd__tally_out(&c->oversize_segments, s->oversize);
    }
    c->orphans -= s->lane == c->orphan;
    nd__lane_put(c, s->lane);
    if (s->last)
        nd__gate_put(c, s->last);
    nd__gates_drop(c, &s->first->gates);
    nd__piece_drop(c, s->first);
    free(s);
    nd__arena_forget(c, arena);
}

/* Promises the bytes under the lock, so that threads together stay below the cap. */
static bool promise(nd_caching *c, nd_request *r, bool retry)
{
    nd__lock_take(&c->lock);
    c->num_alloc_retries += retry;
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
    nd_status status = h->segment_alloc(h->ctx, r->stream, r->segment_size, &mem, &host);
    if (status != ND_OK) {
        take_back(c, r, status == ND_ERR_MEMORY);
        r->status = status == ND_ERR_MEMORY ? ND_OK : status;
        return false;
    }
    nd_segment *s = nd__segment_new(c, r, mem, host, r->segment_size, 0);
    if (!s) {
        h->segment_free(h->ctx, r->stream, mem, r->segment_size);
        take_back(c, r, false);
        return false;
    }
    nd__trace(ND_TRACE_SEGMENT_ALLOC, c->maker.device, s->address, s->nbytes, r->stream, NULL);
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
    c->num_alloc_retries += retry;
    nd__caching_leave(c);
    return nd__expand(c, r);
}

/* A request that fails gives what it promised, or mapped, back. */
bool nd__grow(nd_caching *c, nd_request *r, bool retry)
{
    nd__calls_enter(&c->maker.calls);
    bool grown = grow(c, r, retry);
    nd__calls_leave(&c->maker.calls, !grown);
    return grown;
}
