/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Free blocks of other streams: those of streams that are gone, and those taken over from
 * others. */
#include "core/memory/caching/caching.h"

/* Makes a segment one of no stream's. Live blocks keep their queue, as lent ones do; free blocks
 * are gated by its last event. */
static void orphan_segment(nd_caching *c, nd_segment *s)
{
    nd_stream_queue *queue = s->queue;
    for (nd_piece *p = s->first; p; p = p->next)
        if (p->state == ND_PIECE_FREE || p->state == ND_PIECE_UNMAPPED)
            nd__unshelve(p);
    s->queue = c->orphan;
    c->orphan->refs++;
    c->orphans++;
    s->last = queue->last;
    if (s->last)
        s->last->refs++;
    for (nd_piece *p = s->first; p; p = p->next) {
        if (p->state == ND_PIECE_FREE && queue->last && !nd__gates_add(c, &p->gates, queue->last)) {
            /* there is no host memory to remember the event, so that it is never used again */
            p->state = ND_PIECE_BUSY;
            continue;
        }
        if (p->state == ND_PIECE_FREE || p->state == ND_PIECE_UNMAPPED)
            nd__shelve(p);
        else if (p->queue == queue && p->state != ND_PIECE_BUSY)
            queue->refs++;
    }
    nd__stream_queue_put(c, queue);
}

void nd__stream_queue_gone(nd_caching *c, nd_stream *stream)
{
    nd__lock_take(&c->lock);
    nd_stream_queue *queue = nd__stream_queue_find(c, nd__stream_id(stream));
    if (queue && !queue->gone && queue != c->orphan &&
        (c->orphan || (c->orphan = nd__stream_queue_new(c, NULL, ND_ORPHAN_ID)))) {
        /* If the end cannot be recorded, its memory stays where no other stream finds it. */
        queue->lost = nd__gate_new(c, queue, &queue->last) != ND_OK;
        queue->gone = true;
        queue->refs++;
        for (nd_segment *s = c->segments; s && !queue->lost; s = s->next)
            if (s->queue == queue)
                orphan_segment(c, s);
        nd__stream_queue_put(c, queue);
    }
    nd__caching_leave(c);
}

static nd_piece *fit_of(const nd_bin *bin, uint64_t id, const nd_request *r)
{
    nd_piece *p = id == r->id || id == ND_ORPHAN_ID ? NULL : nd__first_fit(bin, id, r);
    return p && !p->segment->queue->gone ? p : NULL;
}

/* Finds the smallest block that fits among all other streams, by one look-up a stream. With many
 * streams that takes long, and small blocks are much of a size: for them the stream that lent the
 * last block is asked before. */
static nd_piece *best_of_others(const nd_bin *bin, const nd_request *r)
{
    nd_piece *best = bin->small && bin->donor ? fit_of(bin, bin->donor, r) : NULL;
    if (best)
        return best;
    nd_tree_node *n = nd__tree_first(&bin->free);
    while (n) {
        uint64_t id = n->key.a;
        nd_piece *p = fit_of(bin, id, r);
        if (p && (!best || p->b.nbytes < best->b.nbytes))
            best = p;
        n = id == UINT64_MAX ? NULL : nd__tree_lower_bound(&bin->free, (nd_key){id + 1, 0, 0});
    }
    return best;
}

bool nd__steal(nd_caching *c, nd_request *r, nd_arena *arena)
{
    nd_gate *gate = NULL;
    if (r->in_capture || c->captures)
        return false;
    nd_piece *p = best_of_others(&arena->bin[r->bin->small], r);
    if (!p || nd__gate_new(c, p->segment->queue, &gate) != ND_OK)
        return false;
    bool known = !gate || nd__gates_add(c, &p->gates, gate);
    if (gate)
        nd__gate_put(c, gate);
    arena->bin[r->bin->small].donor = p->segment->queue->id;
    return known && nd__take(c, r, p);
}
