/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Blocks that are used again within the capture in which they were freed, by another stream than
 * theirs: where the tape says that all their users come before what the new user queues next. No
 * event is recorded and no driver asked. */
#include <stdlib.h>
#include "core/memory/caching/caching.h"
#include "core/stream/tape.h"

/* A free block of another stream of the same capture. */
static nd_piece *free_block(const nd_bin *bin, const nd_request *r)
{
    for (nd_tree_node *n = nd__tree_first(&bin->free); n;) {
        const uint64_t id = n->key.a;
        nd_piece *p = id == r->id || id == ND_ORPHAN_ID ? NULL : nd__first_fit(bin, id, r);
        if (p && !p->gates && !p->segment->page && !p->segment->queue->gone &&
            nd__tape_follows(r->stream, p->segment->queue->stream, p->nodes))
            return p;
        n = id == UINT64_MAX ? NULL : nd__tree_lower_bound(&bin->free, (nd_key){id + 1, 0, 0});
    }
    return NULL;
}

/* Whether the request's stream comes after all that used a block when that was freed. */
static bool follows_users(const nd_request *r, const nd_piece *p)
{
    bool all = p->queue->id == r->id || nd__tape_follows(r->stream, p->queue->stream, p->nodes);
    for (const nd_recorded *u = p->uses; u && all; u = u->next)
        all = u->queue->id == r->id || nd__tape_follows(r->stream, u->queue->stream, p->nodes);
    return all;
}

/* A block that several streams used, or that one stream had from another's segment, waits for the
 * capture's end before it is free; it may serve a request of its size sooner. */
static bool is_waiting(const nd_piece *p, const nd_request *r)
{
    return p->segment->bin == r->bin && !p->segment->page && !p->gates && p->nodes &&
           p->b.nbytes >= r->size && p->b.nbytes / 2 <= r->size && follows_users(r, p);
}

static void forget_users(nd_caching *c, nd_piece *p)
{
    for (nd_recorded *u; (u = p->uses) != NULL;) {
        p->uses = u->next;
        nd__stream_queue_put(c, u->queue);
        free(u);
    }
}

/* The block gets another owner without having been free. */
static bool hand_over(nd_caching *c, nd_request *r, nd_piece *p)
{
    nd_stream_queue *queue = nd__stream_queue_get(c, r->stream);
    if (!queue)
        return false;
    forget_users(c, p);
    if (p->queue != p->segment->queue)
        nd__stream_queue_put(c, p->queue);
    if (queue == p->segment->queue)
        nd__stream_queue_put(c, queue); /* its own blocks are not counted */
    p->queue = queue;
    p->deferred = false;
    p->chain = NULL;
    nd__count_freed(c, p);
    nd__set_live(c, r, p);
    return true;
}

static bool waiting_block(nd_caching *c, nd_request *r)
{
    for (nd_piece **at = &c->deferred, *p; (p = *at) != NULL; at = &p->chain) {
        if (!is_waiting(p, r))
            continue;
        nd_piece *next = p->chain;
        if (!hand_over(c, r, p))
            return false;
        *at = next;
        return true;
    }
    return false;
}

bool nd__reuse_in_capture(nd_caching *c, nd_request *r)
{
    if (!r->in_capture || !r->arena->captured)
        return false;
    nd_piece *p = free_block(r->bin, r);
    return waiting_block(c, r) || (p && nd__take(c, r, p));
}
