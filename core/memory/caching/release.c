/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Giving unused memory back to the device. Blocks are first set aside under the lock, then checked
 * against what streams may still do with them, then freed without the lock or put back. */
#include "core/memory/caching/caching.h"

typedef struct {
    nd_piece *head, **tail;
} piece_list;

static void set_aside(piece_list *list, nd_piece *p)
{
    nd__unshelve(p);
    p->state = ND_PIECE_BUSY;
    p->chain = NULL;
    *list->tail = p;
    list->tail = &p->chain;
}

/* Whether the device can have it back: a segment without live blocks, or a block that holds whole
 * pages. */
static bool may_go(const nd_piece *p)
{
    uint64_t page = p->segment->page;
    if (!page)
        return !nd__is_split(p);
    uint64_t first = (p->b.offset + page - 1) / page, end = (p->b.offset + p->b.nbytes) / page;
    return first < end;
}

static void gather_bin(nd_bin *bin, piece_list *list)
{
    nd_tree_node *next;
    for (nd_tree_node *n = nd__tree_first(&bin->free); n; n = next) {
        next = n->after;
        if (may_go(nd__piece_of(n)))
            set_aside(list, nd__piece_of(n));
    }
}

static void gather_arenas(nd_caching *c, const nd_giving *which, piece_list *list)
{
    if (!which->unused_pools) {
        gather_bin(&c->common.bin[0], list);
        gather_bin(&c->common.bin[1], list);
    }
    for (nd_arena *a = c->arenas; a; a = a->next) {
        /* graphs use these addresses when they are replayed */
        bool replayed = a->captured && !which->force;
        if (a->users && (which->unused_pools || replayed))
            continue;
        gather_bin(&a->bin[0], list);
        gather_bin(&a->bin[1], list);
    }
}

/* Sets aside one block that is large enough, else the largest ones until they sum up to it. */
static void gather_oversize(const nd_request *r, piece_list *list)
{
    uint64_t limit = r->conf->max_split_size, want = r->size < limit ? limit : r->size, sum = 0;
    nd_tree *t = &r->bin->free;
    nd_tree_node *n = nd__tree_lower_bound(t, (nd_key){r->id, want, 0});
    if (n && n->key.a == r->id && may_go(nd__piece_of(n)) && !nd__piece_of(n)->segment->page) {
        set_aside(list, nd__piece_of(n));
        return;
    }
    nd_tree_node *before;
    for (n = n ? n->before : nd__tree_last(t); n && sum < want; n = before) {
        before = n->before;
        if (n->key.a != r->id || n->key.b < limit)
            break;
        if (nd__piece_of(n)->segment->page || !may_go(nd__piece_of(n)))
            continue;
        sum += n->key.b;
        set_aside(list, nd__piece_of(n));
    }
}

static bool old_enough(const nd_piece *p, const nd_bin *bin, double age)
{
    return !nd__is_split(p) && !p->segment->page && (double)(bin->searches - p->born) >= age;
}

/* Sets aside, in rounds, the blocks that are at least as old as the mean of those left. */
static void gather_old(nd_bin *bin, uint64_t target, piece_list *list)
{
    double total = 0, count = 0;
    uint64_t reclaimed = 0;
    for (nd_tree_node *n = nd__tree_first(&bin->free); n; n = n->after)
        if (old_enough(nd__piece_of(n), bin, 0)) {
            total += (double)(bin->searches - nd__piece_of(n)->born);
            count++;
        }
    for (bool any = true; any && count > 0 && reclaimed < target;) {
        double age = total / count;
        any = false;
        nd_tree_node *next;
        for (nd_tree_node *n = nd__tree_first(&bin->free); n; n = next) {
            nd_piece *p = nd__piece_of(n);
            next = n->after;
            if (!old_enough(p, bin, age))
                continue;
            any = true;
            reclaimed += p->b.nbytes;
            total -= (double)(bin->searches - p->born);
            count--;
            set_aside(list, p);
        }
    }
}

/* Asks about the gate, or waits for it, without the lock; the gate stays counted meanwhile. */
static bool passed(nd_caching *c, const nd_giving *which, nd_gate *gate)
{
    const nd_hooks *h = &c->backend.hooks;
    int32_t done = 0;
    if (which->synchronize)
        return h->synchronize(h->ctx, gate->event) == ND_OK || which->force;
    return h->query(h->ctx, gate->event, &done) == ND_OK && done;
}

/* Whether the streams' work so far is done. Blocks come sorted by stream, so that the last answer
 * is remembered. */
typedef struct {
    uint64_t id;
    bool known, idle;
} queue_answer;

static bool queue_idle(nd_caching *c, const nd_giving *which, const nd_piece *p, queue_answer *last)
{
    nd_gate *gate = NULL;
    nd__lock_take(&c->lock);
    nd_stream_queue *queue = p->segment->queue;
    uint64_t id = queue->id;
    bool known = queue == c->orphan || (last->known && last->id == id);
    bool idle = queue == c->orphan || last->idle;
    const nd_hooks *h = &c->backend.hooks;
    if (!known && !queue->gone && h->idle && h->idle(h->ctx, queue->stream))
        idle = true;
    else if (!known)
        idle = nd__gate_new(c, queue, &gate) == ND_OK || which->force;
    nd__caching_leave(c);
    if (gate) {
        idle = passed(c, which, gate);
        nd__lock_take(&c->lock);
        nd__gate_put(c, gate);
        nd__caching_leave(c);
    }
    *last = (queue_answer){id, true, idle};
    return idle;
}

static bool unused(nd_caching *c, const nd_giving *which, nd_piece *p, queue_answer *last)
{
    if (!c->streams)
        return true;
    for (nd_gates *g = p->gates; g; g = g->next)
        if (!passed(c, which, g->gate))
            return false;
    return queue_idle(c, which, p, last);
}

static uint64_t give_back(nd_caching *c, nd_piece *p)
{
    nd_segment *s = p->segment;
    const nd_hooks *h = &s->bin->arena->hooks;
    uint64_t nbytes = p->b.nbytes;
    if (s->page)
        return nd__shrink(c, p);
    nd__lock_take(&c->lock);
    nd_stream_queue *queue = s->queue;
    queue->refs++;
    nd__caching_leave(c);
    nd__trace(ND_TRACE_SEGMENT_FREE, c->backend.device, s->address, nbytes, queue->stream, NULL);
    h->segment_free(h->segment_ctx, queue->stream, s->mem, nbytes);
    nd__lock_take(&c->lock);
    nd__segment_unlink(c, s);
    nd__stream_queue_put(c, queue);
    nd__caching_leave(c);
    return nbytes;
}

static uint64_t release(nd_caching *c, const nd_giving *which)
{
    piece_list list = {which->only, &list.head};
    queue_answer last = {0};
    uint64_t sum = 0;
    nd__lock_take(&c->lock);
    if (which->only)
        ; /* set aside already */
    else if (c->captures)
        list.head = NULL;
    else if (which->oversize)
        gather_oversize(which->oversize, &list);
    else if (which->collect)
        gather_old(&c->common.bin[0], which->collect, &list);
    else
        gather_arenas(c, which, &list);
    nd__caching_leave(c);
    for (nd_piece *p = list.head, *next; p; p = next) {
        next = p->chain;
        p->chain = NULL;
        if (unused(c, which, p, &last)) {
            sum += give_back(c, p);
            continue;
        }
        nd__lock_take(&c->lock);
        nd__put_back(c, p);
        nd__caching_leave(c);
    }
    return sum;
}

uint64_t nd__release(nd_caching *c, const nd_giving *which)
{
    if (which->only) /* the caller, who set it aside, is inside already */
        return release(c, which);
    nd__calls_enter(&c->backend.calls);
    uint64_t sum = release(c, which);
    nd__calls_leave(&c->backend.calls, true);
    return sum;
}
