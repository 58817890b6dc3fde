/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Blocks of the caching allocator: sizes, finding the best fit, cutting, joining. */
#include <stdlib.h>
#include "core/memory/caching/caching.h"
#include "core/stream/tape.h"

#define SLAB 64 /* headers taken from the host at once */

/* Rounds up to the next of `divisions` equal steps between two powers of two. */
uint64_t nd__round_divisions(uint64_t nbytes, uint32_t divisions)
{
    if (divisions <= 1 || (nbytes & (nbytes - 1)) == 0)
        return nbytes;
    int low = 63 - __builtin_clzll(nbytes), parts = 31 - __builtin_clz(divisions);
    if (low < parts)
        return UINT64_C(1) << (low + 1);
    uint64_t step = UINT64_C(1) << (low - parts);
    return (nbytes + step - 1) & ~(step - 1);
}

uint64_t nd__round_large(const nd_conf *conf, uint64_t nbytes)
{
    if (nbytes <= ND_MIN_BLOCK)
        return ND_MIN_BLOCK;
    if (nbytes > (uint64_t)INT64_MAX / 2)
        return 0;
    uint32_t divisions = conf->roundup_power2_divisions[63 - __builtin_clzll(nbytes)];
    if (divisions > 1)
        nbytes = nd__round_divisions(nbytes, divisions);
    return (nbytes + ND_MIN_BLOCK - 1) & ~(ND_MIN_BLOCK - 1);
}

static bool slab_add(nd_caching *c)
{
    void **slab = calloc(1, sizeof(void *) * 2 + sizeof(nd_piece) * SLAB);
    if (!slab)
        return false;
    slab[0] = c->slabs;
    c->slabs = slab;
    nd_piece *pieces = (nd_piece *)(slab + 2);
    for (int i = SLAB - 1; i >= 0; i--) {
        pieces[i].b.backend = &c->backend;
        pieces[i].chain = c->spare;
        c->spare = &pieces[i];
    }
    return true;
}

nd_piece *nd__piece_new(nd_caching *c)
{
    if (!c->spare && !slab_add(c))
        return NULL;
    nd_piece *p = c->spare;
    c->spare = p->chain;
    p->chain = NULL;
    p->nodes = 0;
    return p;
}

void nd__piece_drop(nd_caching *c, nd_piece *p)
{
    p->chain = c->spare;
    c->spare = p;
}

static nd_key key_of(const nd_piece *p)
{
    uint64_t address = p->segment->address + p->b.offset;
    uint64_t id = p->segment->queue->id;
    return p->state == ND_PIECE_FREE ? (nd_key){id, p->b.nbytes, address}
                                     : (nd_key){id, address, 0};
}

static nd_tree *tree_of(const nd_piece *p)
{
    nd_bin *bin = p->segment->bin;
    return p->state == ND_PIECE_FREE ? &bin->free : &bin->unmapped;
}

void nd__shelve(nd_piece *p)
{
    p->node.key = key_of(p);
    nd__tree_insert(tree_of(p), &p->node);
}

void nd__unshelve(nd_piece *p)
{
    nd__tree_remove(tree_of(p), &p->node);
}

/* How many bytes an expandable segment's last block could grow to. */
static uint64_t reach(const nd_piece *p)
{
    bool grows = p->next && p->next->state == ND_PIECE_UNMAPPED;
    return p->b.nbytes + (grows ? p->next->b.nbytes : 0);
}

static bool usable(const nd_piece *p, const nd_request *r)
{
    return (r->conf->expandable_segments || !p->segment->page) && !(r->in_capture && p->gates);
}

nd_piece *nd__first_fit(const nd_bin *bin, uint64_t stream, const nd_request *r)
{
    nd_tree_node *n = nd__tree_lower_bound(&bin->free, (nd_key){stream, r->size, 0});
    while (n && n->key.a == stream && !usable(nd__piece_of(n), r))
        n = n->after;
    if (!n || n->key.a != stream)
        return NULL;
    nd_piece *p = nd__piece_of(n);
    while (p->segment->page && n->after && n->after->key.a == stream) {
        /* a block that cannot grow as far is better than p, which could serve a larger request */
        nd_piece *q = nd__piece_of(n->after);
        if (reach(q) >= reach(p) || !usable(q, r))
            break;
        p = q;
        n = n->after;
    }
    uint64_t limit = r->conf->max_split_size;
    if (r->size < limit && p->b.nbytes >= limit)
        return NULL;
    if (r->size >= limit && p->b.nbytes >= r->size + r->conf->max_non_split_rounding)
        return NULL;
    return p;
}

nd_piece *nd__cut_front(nd_caching *c, nd_piece *p, uint64_t nbytes)
{
    nd_piece *front = nd__piece_new(c);
    if (!front)
        return NULL;
    front->b.mem = p->b.mem;
    front->b.offset = p->b.offset;
    front->b.nbytes = nbytes;
    front->segment = p->segment;
    front->queue = p->queue;
    front->uses = NULL;
    front->gates = NULL;
    front->events = 0;
    front->state = p->state;
    front->born = p->born;
    front->nodes = p->nodes;
    front->unmapped = front->deferred = false;
    front->prev = p->prev;
    front->next = p;
    if (p->prev)
        p->prev->next = front;
    else
        p->segment->first = front;
    p->prev = front;
    p->b.offset += nbytes;
    p->b.nbytes -= nbytes;
    return front;
}

static bool should_split(const nd_request *r, const nd_piece *p)
{
    const nd_bin *bin = p->segment->bin;
    uint64_t rest = p->b.nbytes - r->size;
    if (bin->arena->no_split)
        return false;
    if (bin->small || p->segment->page)
        return rest >= ND_MIN_BLOCK;
    return r->size < r->conf->max_split_size && rest > ND_SMALL_SIZE;
}

static void count_taken(nd_caching *c, const nd_request *r, nd_piece *p)
{
    int small = p->segment->bin->small;
    nd__stat3_in(&c->stats.allocation, small, 1);
    nd__stat3_in(&c->stats.allocated_bytes, small, p->b.nbytes);
    nd__stat3_in(&c->stats.active, small, 1);
    nd__stat3_in(&c->stats.active_bytes, small, p->b.nbytes);
    nd__stat3_in(&c->stats.requested_bytes, small, r->requested);
    p->oversize = p->b.nbytes >= r->conf->max_split_size;
    if (p->oversize)
        nd__stat_in(&c->stats.oversize_allocations, 1);
}

/* Counts the inactive split blocks, free pieces that cannot be given back alone. Pages can be, so
 * that those of expandable segments do not count. */
static void count_cut(nd_caching *c, const nd_piece *whole, uint64_t taken, bool was_split,
                      bool split)
{
    int small = whole->segment->bin->small;
    if (whole->segment->page)
        return;
    if (split && was_split) {
        nd__stat3_out(&c->stats.inactive_split_bytes, small, taken);
    } else if (split) {
        nd__stat3_in(&c->stats.inactive_split_bytes, small, whole->b.nbytes);
        nd__stat3_in(&c->stats.inactive_split, small, 1);
    } else if (was_split) {
        nd__stat3_out(&c->stats.inactive_split_bytes, small, taken);
        nd__stat3_out(&c->stats.inactive_split, small, 1);
    }
}

/* For a request of another stream than the segment's: a whole segment changes over to the request's
 * stream, and a part of one is lent. *lent: the borrower's queue, with a reference; NULL: nothing
 * is lent. */
static bool change_sides(nd_caching *c, const nd_request *r, nd_piece *p, nd_stream_queue **lent)
{
    nd_segment *s = p->segment;
    nd_stream_queue *queue = nd__stream_queue_get(c, r->stream);
    *lent = queue;
    if (!queue || nd__is_split(p))
        return queue != NULL;
    nd__unshelve(p);
    c->orphans -= s->queue == c->orphan;
    nd__stream_queue_put(c, s->queue);
    if (s->last)
        nd__gate_put(c, s->last);
    s->last = NULL;
    s->queue = queue;
    *lent = NULL;
    nd__shelve(p);
    return true;
}

void nd__set_live(nd_caching *c, nd_request *r, nd_piece *p)
{
    p->state = ND_PIECE_LIVE;
    p->b.requested = r->requested;
    p->b.host = p->segment->host ? p->segment->host + p->b.offset : NULL;
    count_taken(c, r, p);
    r->piece = p;
}

void nd__count_freed(nd_caching *c, const nd_piece *p)
{
    int small = p->segment->bin->small;
    nd__stat3_out(&c->stats.active, small, 1);
    nd__stat3_out(&c->stats.active_bytes, small, p->b.nbytes);
    nd__stat3_out(&c->stats.requested_bytes, small, p->b.requested);
}

bool nd__take(nd_caching *c, nd_request *r, nd_piece *p)
{
    nd_stream_queue *lent = NULL;
    bool home = p->segment->queue->id == r->id, was_split = nd__is_split(p);
    if (p->gates && (r->status = nd__gates_wait(c, p->gates, r)) != ND_OK)
        return false;
    if (!home && !change_sides(c, r, p, &lent)) {
        r->status = nd__fail(ND_ERR_MEMORY, "alloc", -1, "no host memory to remember a stream");
        return false;
    }
    if (p->gates && !lent)
        nd__gates_drop(c, &p->gates);
    uint64_t nbytes = p->b.nbytes;
    nd_piece *front = should_split(r, p) ? nd__cut_front(c, p, r->size) : NULL;
    if (front) {
        nd__tree_rekey(&p->segment->bin->free, &p->node, key_of(p));
    } else {
        nd__unshelve(p);
        nd__gates_drop(c, &p->gates);
    }
    count_cut(c, p, front ? r->size : nbytes, was_split, front != NULL);
    p = front ? front : p;
    p->queue = lent ? lent : p->segment->queue;
    nd__set_live(c, r, p);
    return true;
}

bool nd__find(nd_caching *c, nd_request *r)
{
    r->bin->searches++;
    nd_piece *p = nd__first_fit(r->bin, r->id, r);
    if (!p && c->orphans && !r->in_capture)
        p = nd__first_fit(r->bin, ND_ORPHAN_ID, r);
    return p && nd__take(c, r, p);
}

/* Makes b, which follows a, a part of it. */
static void absorb(nd_caching *c, nd_piece *a, nd_piece *b)
{
    a->b.nbytes += b->b.nbytes;
    a->nodes = a->nodes > b->nodes ? a->nodes : b->nodes;
    a->next = b->next;
    if (b->next)
        b->next->prev = a;
    if (b->gates)
        nd__gates_join(c, &a->gates, b->gates);
    b->gates = NULL;
    nd__piece_drop(c, b);
}

/* Makes a a part of b, which follows it, since b's place in the tree is worth keeping. */
static void absorb_front(nd_caching *c, nd_piece *a, nd_piece *b)
{
    b->b.offset = a->b.offset;
    b->b.nbytes += a->b.nbytes;
    b->nodes = a->nodes > b->nodes ? a->nodes : b->nodes;
    b->prev = a->prev;
    if (a->prev)
        a->prev->next = b;
    else
        b->segment->first = b;
    if (a->gates)
        nd__gates_join(c, &b->gates, a->gates);
    a->gates = NULL;
    nd__piece_drop(c, a);
}

static void count_joined(nd_caching *c, int small, int64_t blocks, int64_t nbytes)
{
    if (blocks > 0)
        nd__stat3_in(&c->stats.inactive_split, small, (uint64_t)blocks);
    else if (blocks < 0)
        nd__stat3_out(&c->stats.inactive_split, small, (uint64_t)-blocks);
    if (nbytes > 0)
        nd__stat3_in(&c->stats.inactive_split_bytes, small, (uint64_t)nbytes);
    else
        nd__stat3_out(&c->stats.inactive_split_bytes, small, (uint64_t)-nbytes);
}

nd_piece *nd__join(nd_caching *c, nd_piece *p, int32_t state)
{
    nd_piece *prev = p->prev && p->prev->state == state ? p->prev : NULL;
    nd_piece *next = p->next && p->next->state == state ? p->next : NULL, *whole = p;
    int64_t blocks = -(prev != NULL) - (next != NULL);
    int64_t nbytes = -(int64_t)((prev ? prev->b.nbytes : 0) + (next ? next->b.nbytes : 0));
    p->state = state;
    if (prev) {
        whole = prev;
        absorb(c, prev, p);
        if (next) {
            nd__unshelve(next);
            absorb(c, prev, next);
        }
    } else if (next) {
        whole = next;
        absorb_front(c, p, next);
    }
    if (whole == p)
        nd__shelve(p);
    else
        nd__tree_rekey(tree_of(whole), &whole->node, key_of(whole));
    whole->born = whole->segment->bin->searches;
    if (state == ND_PIECE_FREE && !whole->segment->page) {
        bool split = nd__is_split(whole);
        count_joined(c, whole->segment->bin->small, blocks + split,
                     nbytes + (split ? (int64_t)whole->b.nbytes : 0));
    }
    return whole;
}

nd_piece *nd__give(nd_caching *c, nd_piece *p)
{
    nd__count_freed(c, p);
    p->nodes = c->captures ? nd__tape_length(p->queue->stream) : 0;
    if (p->queue != p->segment->queue)
        nd__stream_queue_put(c, p->queue);
    return nd__join(c, p, ND_PIECE_FREE);
}
