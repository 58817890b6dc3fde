/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Expandable segments: one long range of addresses for each stream and size kind, to which memory
 * is added and from which it is taken page by page, so that freed memory of one size serves
 * another. Blocks that a device call is about are BUSY meanwhile; a failing step undoes those
 * before it. */
#include "core/memory/caching/caching.h"

/* Neighbours in one segment, all BUSY, that are to become one free block. Nobody else cuts, joins
 * or drops a BUSY block, nor unlinks its segment, so that the links from first to last hold without
 * the lock. The neighbours outside may change at any time: they are looked at under the lock alone,
 * and never remembered across it. */
typedef struct {
    nd_piece *first, *last;
    uint64_t added; /* bytes to be mapped */
} stretch;

static bool page_size(nd_caching *c, nd_request *r, uint64_t *out)
{
    const nd_hooks *h = &c->backend.hooks;
    uint64_t grain = 0, page = r->bin->small ? ND_SMALL_SEGMENT : r->conf->large_segment_size;
    r->status = h->granularity(h->ctx, &grain);
    if (r->status != ND_OK)
        return false;
    *out = grain ? (page + grain - 1) / grain * grain : page;
    return true;
}

static uint64_t range_size(const nd_caching *c, const nd_request *r, uint64_t page)
{
    double reserve = r->conf->expandable_segments_reserve;
    uint64_t nbytes = (uint64_t)(reserve > 64 ? reserve : reserve * (double)c->total);
    nbytes = nbytes < r->size ? r->size : nbytes;
    return (nbytes + page - 1) / page * page;
}

static bool usable(const nd_piece *p, const nd_request *r)
{
    return p && (p->state == ND_PIECE_UNMAPPED ||
                 (p->state == ND_PIECE_FREE && !(r->in_capture && p->gates)));
}

static bool long_enough(const nd_piece *p, const nd_request *r)
{
    uint64_t nbytes = 0;
    for (; usable(p, r) && nbytes < r->size; p = p->next)
        nbytes += p->b.nbytes;
    return nbytes >= r->size;
}

/* Finds the lowest unmapped addresses with room for the request, and begins at the free block
 * before them if there is one. */
static nd_piece *candidate(const nd_request *r)
{
    nd_tree_node *n = nd__tree_lower_bound(&r->bin->unmapped, (nd_key){r->id, 0, 0});
    for (; n && n->key.a == r->id; n = n->after) {
        nd_piece *p = nd__piece_of(n);
        if (usable(p->prev, r) && p->prev->state == ND_PIECE_FREE)
            p = p->prev;
        if (long_enough(p, r))
            return p;
    }
    return NULL;
}

static nd_piece *claim(nd_caching *c, nd_piece *p, uint64_t want)
{
    uint64_t page = p->segment->page, need = (want + page - 1) / page * page;
    nd__unshelve(p);
    p->unmapped = p->state == ND_PIECE_UNMAPPED;
    if (p->unmapped && need < p->b.nbytes) {
        nd_piece *front = nd__cut_front(c, p, need);
        nd__shelve(p);
        if (!front)
            return NULL;
        front->unmapped = true;
        p = front;
    }
    p->state = ND_PIECE_BUSY;
    return p;
}

/* Under the lock: makes the stretch what it was. A block may be gone once it has joined others, so
 * that the next is looked at before. */
static void undo(nd_caching *c, const stretch *x)
{
    bool more = x->first != NULL;
    for (nd_piece *p = x->first, *next; more; p = next) {
        more = p != x->last;
        next = p->next;
        if (p->unmapped)
            (void)nd__join(c, p, ND_PIECE_UNMAPPED);
        else
            nd__put_back(c, p);
    }
}

/* Under the lock: claims blocks from p on until the request fits. Returns false if it does not, and
 * nothing is claimed then. */
static bool claim_stretch(nd_caching *c, nd_request *r, nd_piece *p, stretch *x)
{
    uint64_t nbytes = 0;
    *x = (stretch){0};
    if (!p)
        return false;
    while (nbytes < r->size) {
        nd_piece *got = claim(c, p, r->size - nbytes);
        if (!got)
            break;
        x->first = x->first ? x->first : got;
        x->last = got;
        x->added += got->unmapped ? got->b.nbytes : 0;
        nbytes += got->b.nbytes;
        p = got->next;
    }
    r->capped = c->cap && (uint64_t)c->reserved + x->added > c->cap;
    if (nbytes >= r->size && !r->capped) {
        c->reserved += (int64_t)x->added;
        return true;
    }
    undo(c, x);
    return false;
}

/* Maps page by page, since memory is unmapped by pages too. *done: how many bytes are mapped. */
static nd_status map_piece(nd_caching *c, const nd_piece *p, uint64_t *done)
{
    const nd_hooks *h = &c->backend.hooks;
    const nd_segment *s = p->segment;
    for (*done = 0; *done < p->b.nbytes; *done += s->page)
        ND_RETURN_IF(h->commit(h->ctx, s->mem, p->b.offset + *done, s->page));
    return h->set_access ? h->set_access(h->ctx, s->mem, p->b.offset, p->b.nbytes) : ND_OK;
}

static uint64_t unmap(nd_caching *c, const nd_segment *s, uint64_t offset, uint64_t nbytes)
{
    const nd_hooks *h = &c->backend.hooks;
    for (uint64_t at = 0; at < nbytes; at += s->page)
        if (h->decommit(h->ctx, s->mem, offset + at, s->page) != ND_OK)
            return at;
    return nbytes;
}

static nd_status map_stretch(nd_caching *c, const stretch *x)
{
    nd_status status = ND_OK;
    uint64_t done = 0;
    nd_piece *p = x->first;
    for (;; p = p->next) {
        if (p->unmapped && (status = map_piece(c, p, &done)) != ND_OK)
            break;
        if (p == x->last)
            return ND_OK;
    }
    (void)unmap(c, p->segment, p->b.offset, done);
    for (nd_piece *q = x->first; q != p; q = q->next)
        if (q->unmapped)
            (void)unmap(c, q->segment, q->b.offset, q->b.nbytes);
    return status;
}

/* Drops the segment if no memory is mapped in it. The lock is held by the caller and left here; s
 * may be gone afterwards. */
static void drop_if_empty(nd_caching *c, nd_segment *s)
{
    const nd_hooks *h = &c->backend.hooks;
    ndp_mem *mem = s->mem;
    uint64_t nbytes = s->nbytes;
    bool empty = s->first->state == ND_PIECE_UNMAPPED && !s->first->next;
    if (empty) {
        nd__unshelve(s->first);
        nd__segment_unlink(c, s);
    }
    nd__caching_leave(c);
    if (empty)
        h->release(h->ctx, mem, nbytes);
}

/* Reserves new addresses. They are claimed as they are linked, so that no other thread takes or
 * drops them in between. */
static bool add_range(nd_caching *c, nd_request *r, stretch *x)
{
    const nd_hooks *h = &c->backend.hooks;
    ndp_mem *mem = NULL;
    uint64_t page;
    if (!page_size(c, r, &page))
        return false;
    uint64_t nbytes = range_size(c, r, page);
    nd_status status = h->reserve(h->ctx, nbytes, &mem);
    if (status != ND_OK) {
        r->status = status == ND_ERR_MEMORY ? ND_OK : status;
        return false;
    }
    nd_segment *s = nd__segment_new(c, r, mem, NULL, nbytes, page);
    if (!s) {
        h->release(h->ctx, mem, nbytes);
        return false;
    }
    nd__lock_take(&c->lock);
    nd__segment_link(c, s);
    bool claimed = claim_stretch(c, r, s->first, x);
    if (claimed)
        nd__caching_leave(c);
    else
        drop_if_empty(c, s);
    return claimed;
}

/* Under the lock: makes the stretch one free block. */
static nd_piece *fuse(nd_caching *c, const stretch *x)
{
    nd_piece *whole = NULL, *next;
    bool more = true;
    for (nd_piece *p = x->first; more; p = next) {
        more = p != x->last;
        next = p->next;
        if (p->unmapped)
            nd__count_mapped(c, p->segment, p->b.nbytes);
        whole = nd__join(c, p, ND_PIECE_FREE);
    }
    return whole;
}

static bool claim_somewhere(nd_caching *c, nd_request *r, stretch *x)
{
    nd__lock_take(&c->lock);
    bool claimed = claim_stretch(c, r, candidate(r), x);
    nd__caching_leave(c);
    return claimed || (!r->capped && add_range(c, r, x));
}

bool nd__expand(nd_caching *c, nd_request *r)
{
    stretch x;
    if (!claim_somewhere(c, r, &x))
        return false;
    nd_segment *s = x.first->segment; /* the segment stays while blocks of it are BUSY */
    uint64_t address = s->address;
    nd_status status = map_stretch(c, &x);
    nd__lock_take(&c->lock);
    if (status == ND_OK) {
        bool taken = nd__take(c, r, fuse(c, &x));
        nd__caching_leave(c);
        nd__trace(ND_TRACE_SEGMENT_MAP, c->backend.device, address, x.added, r->stream, NULL);
        return taken;
    }
    c->reserved -= (int64_t)x.added;
    r->status = status == ND_ERR_MEMORY ? ND_OK : status;
    undo(c, &x);
    drop_if_empty(c, s);
    return false;
}

/* Under the lock: cuts p down to its whole pages. NULL: there is no host memory for that. */
static nd_piece *trim_to_pages(nd_caching *c, nd_piece *p)
{
    uint64_t page = p->segment->page, low = (p->b.offset + page - 1) / page * page;
    uint64_t high = (p->b.offset + p->b.nbytes) / page * page, before = low - p->b.offset;
    nd__gates_drop(c, &p->gates);
    if (before) {
        nd_piece *front = nd__cut_front(c, p, before);
        if (!front)
            return NULL;
        nd__put_back(c, front);
    }
    if (high - low < p->b.nbytes) {
        nd_piece *pages = nd__cut_front(c, p, high - low);
        if (!pages)
            return NULL;
        pages->state = ND_PIECE_BUSY;
        nd__put_back(c, p);
        p = pages;
    }
    return p;
}

uint64_t nd__shrink(nd_caching *c, nd_piece *p)
{
    nd_segment *s = p->segment;
    nd__lock_take(&c->lock);
    nd_piece *pages = trim_to_pages(c, p);
    if (!pages)
        nd__put_back(c, p);
    nd__caching_leave(c);
    if (!pages)
        return 0;
    nd__trace(ND_TRACE_SEGMENT_UNMAP, c->backend.device, s->address + pages->b.offset,
              pages->b.nbytes, NULL, NULL);
    uint64_t gone = unmap(c, s, pages->b.offset, pages->b.nbytes);
    nd__lock_take(&c->lock);
    if (gone < pages->b.nbytes) { /* what could not be unmapped stays free */
        nd_piece *front = gone ? nd__cut_front(c, pages, gone) : NULL;
        nd__put_back(c, pages);
        pages = front;
    }
    if (pages) {
        nd__count_unmapped(c, s, gone);
        (void)nd__join(c, pages, ND_PIECE_UNMAPPED);
    }
    drop_if_empty(c, s);
    return gone;
}
