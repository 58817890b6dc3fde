/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the caching allocator says of itself: statistics in PyTorch's terms, and the layout of its
 * segments, for snapshots. */
#include "core/memory/caching/caching.h"

static nd_snapshot_segment describe(const nd_segment *s, const nd_caching *c, const nd_piece *from,
                                    const nd_piece *end)
{
    nd_snapshot_segment x = {.device = c->backend.device,
                             .address = s->address + from->b.offset,
                             .stream = s->queue == c->orphan ? 0 : s->queue->id,
                             .pool = s->bin->arena->id,
                             .large = !s->bin->small,
                             .expandable = s->page != 0};
    for (const nd_piece *p = from; p != end; p = p->next) {
        bool live = p->state == ND_PIECE_LIVE, active = live || p->state == ND_PIECE_PENDING;
        x.total += p->b.nbytes;
        x.allocated += live ? p->b.nbytes : 0;
        x.active += active ? p->b.nbytes : 0;
        x.requested += active ? p->b.requested : 0;
    }
    return x;
}

/* Adds pieces with memory behind them, which are all of a plain segment. */
static void add_stretch(nd_text *t, const nd_segment *s, const nd_caching *c, const nd_piece *from,
                        const nd_piece *end)
{
    nd_snapshot_segment x = describe(s, c, from, end);
    nd__snapshot_segment_begin(t, &x);
    for (const nd_piece *p = from; p != end; p = p->next) {
        bool active = p->state == ND_PIECE_LIVE || p->state == ND_PIECE_PENDING;
        nd__snapshot_block(t, s->address + p->b.offset, p->b.nbytes, active ? p->b.requested : 0,
                           p->state == ND_PIECE_LIVE      ? ND_BLOCK_ALLOCATED
                           : p->state == ND_PIECE_PENDING ? ND_BLOCK_PENDING_FREE
                                                          : ND_BLOCK_INACTIVE,
                           NULL);
    }
    nd__snapshot_segment_end(t);
}

static bool mapped(const nd_piece *p)
{
    return p && p->state != ND_PIECE_UNMAPPED && !(p->state == ND_PIECE_BUSY && p->unmapped);
}

void nd__caching_snapshot(nd_backend *backend, nd_text *segments)
{
    nd_caching *c = (nd_caching *)backend;
    nd__magazines_flush(c, false);
    nd__lock_take(&c->lock);
    for (const nd_segment *s = c->segments; s; s = s->next)
        for (const nd_piece *from = s->first, *end; from; from = end) {
            for (end = from->next; mapped(from) && mapped(end);)
                end = end->next;
            if (mapped(from))
                add_stretch(segments, s, c, from, end);
        }
    nd__caching_leave(c);
}

void nd__caching_stats(nd_backend *backend, nd_memory_stats *out)
{
    nd_caching *c = (nd_caching *)backend;
    uint64_t limit = nd__conf()->max_split_size;
    nd__magazines_flush(c, false);
    (void)nd__release(c, &(nd_giving){.unused_pools = true});
    nd__lock_take(&c->lock);
    nd__process_events(c);
    nd__stats_read(&c->stats, out);
    nd__caching_leave(c);
    out->max_split_size = limit == UINT64_MAX ? -1 : (int64_t)limit;
}

void nd__caching_reset(nd_backend *backend, bool peak, bool accumulated)
{
    nd_caching *c = (nd_caching *)backend;
    nd__magazines_flush(c, false);
    nd__lock_take(&c->lock);
    nd__stats_reset(&c->stats, peak, accumulated);
    nd__caching_leave(c);
}
