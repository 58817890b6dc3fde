/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Segments of the caching allocator: their records, lists and counts. */
#include <stdlib.h>
#include "core/memory/caching/caching.h"

nd_segment *nd__segment_new(nd_caching *c, nd_request *r, ndp_mem *mem, char *host, uint64_t nbytes,
                            uint64_t page)
{
    nd_segment *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    *s = (nd_segment){.mem = mem, .host = host, .nbytes = nbytes, .page = page, .bin = r->bin};
    s->address = nd__mem_address(c->backend.device, mem, host);
    nd__lock_take(&c->lock);
    s->queue = nd__stream_queue_get(c, r->stream);
    s->first = s->queue ? nd__piece_new(c) : NULL;
    if (!s->first && s->queue)
        nd__stream_queue_put(c, s->queue);
    nd__caching_leave(c);
    if (!s->first) {
        free(s);
        return NULL;
    }
    nd_piece *p = s->first;
    *p = (nd_piece){.b = {.backend = &c->backend, .mem = mem, .nbytes = nbytes}, .segment = s};
    p->state = page ? ND_PIECE_UNMAPPED : ND_PIECE_FREE;
    return s;
}

void nd__count_mapped(nd_caching *c, nd_segment *s, uint64_t nbytes)
{
    nd__stat3_in(&c->stats.reserved_bytes, s->bin->small, nbytes);
    s->mapped += nbytes;
    s->bin->arena->reserved_bytes += (int64_t)nbytes;
    c->stats.num_device_alloc++;
}

void nd__count_unmapped(nd_caching *c, nd_segment *s, uint64_t nbytes)
{
    nd__stat3_out(&c->stats.reserved_bytes, s->bin->small, nbytes);
    s->mapped -= nbytes;
    s->bin->arena->reserved_bytes -= (int64_t)nbytes;
    c->reserved -= (int64_t)nbytes;
    c->refused = 0;
    c->stats.num_device_free++;
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
    nd__stat3_in(&c->stats.segment, s->bin->small, 1);
    if (s->nbytes >= nd__conf()->max_split_size) {
        s->oversize = true;
        c->any_oversize = true;
        nd__stat_in(&c->stats.oversize_segments, 1);
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
        nd__stat3_out(&c->stats.segment, s->bin->small, 1);
        nd__stat_out(&c->stats.oversize_segments, s->oversize);
    }
    c->orphans -= s->queue == c->orphan;
    nd__stream_queue_put(c, s->queue);
    if (s->last)
        nd__gate_put(c, s->last);
    nd__gates_drop(c, &s->first->gates);
    nd__piece_drop(c, s->first);
    free(s);
    nd__arena_forget(c, arena);
}

/* The block's stream may have gone while it was BUSY. */
void nd__put_back(nd_caching *c, nd_piece *p)
{
    uint64_t born = p->born;
    nd_segment *s = p->segment;
    if (s->last && !nd__gates_add(c, &p->gates, s->last))
        return; /* there is no host memory to remember the event, so that it is never used again */
    nd__join(c, p, ND_PIECE_FREE)->born = born;
}
