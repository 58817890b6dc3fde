/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Free blocks of other streams: of those that are gone, and of those that lend. */
#include "core/memory/caching/caching.h"

/* Live blocks keep the lane, as lent ones do; free ones are gated by its last event. */
static void orphan_segment(nd_caching *c, nd_segment *s)
{
    nd_lane *lane = s->lane;
    for (nd_piece *p = s->first; p; p = p->next)
        if (p->state == ND_PIECE_FREE || p->state == ND_PIECE_UNMAPPED)
            nd__unshelve(p);
    s->lane = c->orphan;
    c->orphan->refs++;
    c->orphans++;
    s->last = lane->last;
    if (s->last)
        s->last->refs++;
    for (nd_piece *p = s->first; p; p = p->next) {
        if (p->state == ND_PIECE_FREE && lane->last && !nd__gates_add(c, &p->gates, lane->last)) {
            p->state = ND_PIECE_BUSY; /* no host memory to remember the event: never used again */
            continue;
        }
        if (p->state == ND_PIECE_FREE || p->state == ND_PIECE_UNMAPPED)
            nd__shelve(p);
        else if (p->lane == lane && p->state != ND_PIECE_BUSY)
            lane->refs++;
    }
    nd__lane_put(c, lane);
}

void nd__lane_gone(nd_caching *c, nd_stream *stream)
{
    nd__lock_take(&c->lock);
    nd_lane *lane = nd__lane_find(c, nd__stream_id(stream));
    if (lane && !lane->gone && lane != c->orphan &&
        (c->orphan || (c->orphan = nd__lane_new(c, NULL, ND_ORPHAN_ID)))) {
        /* Should recording fail, its memory stays where no other stream finds it. */
        lane->lost = nd__gate_new(c, lane, &lane->last) != ND_OK;
        lane->gone = true;
        lane->refs++;
        for (nd_segment *s = c->segments; s && !lane->lost; s = s->next)
            if (s->lane == lane)
                orphan_segment(c, s);
        nd__lane_put(c, lane);
    }
    nd__caching_leave(c);
}

static nd_piece *fit_of(const nd_bin *bin, uint64_t id, const nd_request *r)
{
    nd_piece *p = id == r->id || id == ND_ORPHAN_ID ? NULL : nd__first_fit(bin, id, r);
    return p && !p->segment->lane->gone ? p : NULL;
}

/* The smallest block that fits among all other streams, one look-up a stream. With many streams
 * that is long, and small blocks are much of a size: the stream that lent the last one is asked
 * before. */
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
    if (!p || nd__gate_new(c, p->segment->lane, &gate) != ND_OK)
        return false;
    bool known = !gate || nd__gates_add(c, &p->gates, gate);
    if (gate)
        nd__gate_put(c, gate);
    arena->bin[r->bin->small].donor = p->segment->lane->id;
    return known && nd__take(c, r, p);
}
