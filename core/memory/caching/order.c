/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Blocks that several streams use. A stream recorded on a block (record_stream) gets an event when
 * the block is freed, and the block is used again once the host has seen the event done. A use
 * recorded by itself (record_use) is a gate that the next user's stream waits for. */
#include <stdlib.h>
#include "core/memory/caching/caching.h"
#include "core/stream/tape.h"

/* Moves the block's first record to its stream's queue, or drops it if the stream is done. */
static bool queue_event(nd_caching *c, nd_piece *p)
{
    nd_recorded *u = p->uses;
    nd_stream_queue *queue = u->queue;
    if (nd__gate_new(c, queue, &u->gate) != ND_OK)
        return false;
    p->uses = u->next;
    u->next = NULL;
    if (u->gate) {
        u->piece = p;
        *queue->tail = u;
        queue->tail = &u->next;
        p->events++;
    } else {
        free(u);
    }
    if (queue->head && !queue->pending) {
        queue->pending = true;
        queue->refs++;
        queue->next_pending = c->pending;
        c->pending = queue;
    }
    nd__stream_queue_put(c, queue);
    return true;
}

/* Makes a block's segment's stream wait for the stream that had the block, if they are not the
 * same. */
static bool gate_home(nd_caching *c, nd_piece *p)
{
    nd_gate *gate = NULL;
    if (p->queue == p->segment->queue)
        return true;
    if (nd__gate_new(c, p->queue, &gate) != ND_OK)
        return false;
    bool known = !gate || nd__gates_add(c, &p->gates, gate);
    if (gate)
        nd__gate_put(c, gate);
    return known;
}

/* Records the events of all streams that used the block. What was recorded leaves p->uses, so that
 * a call that failed can be tried again. */
static bool record_all(nd_caching *c, nd_piece *p)
{
    while (p->uses)
        if (!queue_event(c, p))
            return false;
    return gate_home(c, p);
}

void nd__retire(nd_caching *c, nd_piece *p)
{
    p->state = ND_PIECE_PENDING;
    p->nodes = c->captures && !p->deferred ? nd__tape_length(p->queue->stream) : 0;
    if (c->captures || !record_all(c, p)) { /* no event of a capture can be asked about */
        p->deferred = true;
        p->chain = c->deferred;
        c->deferred = p;
    } else if (p->events == 0) {
        nd__give(c, p);
    }
}

static void retry_deferred(nd_caching *c)
{
    nd_piece *p = c->deferred;
    c->deferred = NULL;
    while (p) {
        nd_piece *next = p->chain;
        p->chain = NULL;
        p->deferred = false;
        nd__retire(c, p);
        p = next;
    }
}

static void completed(nd_caching *c, nd_piece *p)
{
    nd__trace(ND_TRACE_FREE_COMPLETED, c->backend.device, p->segment->address + p->b.offset,
              p->b.nbytes, p->queue->stream, NULL);
    nd__give(c, p);
}

static void pop_head(nd_caching *c, nd_stream_queue *queue)
{
    nd_recorded *w = queue->head;
    queue->head = w->next;
    if (!queue->head)
        queue->tail = &queue->head;
    nd__gate_put(c, w->gate);
    if (--w->piece->events == 0 && !w->piece->deferred)
        completed(c, w->piece);
    free(w);
}

void nd__process_events(nd_caching *c)
{
    const nd_hooks *h = &c->backend.hooks;
    if (c->captures)
        return;
    if (c->deferred)
        retry_deferred(c);
    for (nd_stream_queue **at = &c->pending; *at;) {
        nd_stream_queue *queue = *at;
        int32_t done = 1;
        while (queue->head && done)
            if (h->query(h->ctx, queue->head->gate->event, &done) != ND_OK)
                done = 0; /* the device is lost, and its memory is not used again */
            else if (done)
                pop_head(c, queue);
        if (queue->head) {
            at = &queue->next_pending;
        } else {
            *at = queue->next_pending;
            queue->pending = false;
            nd__stream_queue_put(c, queue);
        }
    }
}

/* Waits for the last event of each queue, which covers the ones before it. */
nd_status nd__synchronize_events(nd_caching *c)
{
    const nd_hooks *h = &c->backend.hooks;
    nd__lock_take(&c->lock);
    nd__process_events(c);
    while (c->pending && !c->captures) {
        nd_stream_queue *queue = c->pending;
        nd_recorded *w = queue->head;
        while (w->next)
            w = w->next;
        nd_gate *gate = w->gate;
        gate->refs++;
        nd__caching_leave(c);
        nd_status status = h->synchronize(h->ctx, gate->event);
        nd__lock_take(&c->lock);
        nd__gate_put(c, gate);
        nd__process_events(c);
        if (status != ND_OK) {
            nd__caching_leave(c);
            return status;
        }
    }
    nd__caching_leave(c);
    return ND_OK;
}

nd_status nd__record_stream(nd_block *b, nd_stream *stream)
{
    nd_piece *p = (nd_piece *)b;
    nd_caching *c = nd__caching_of(p);
    if (!c->streams)
        return ND_OK;
    nd_recorded *u = malloc(sizeof *u);
    if (!u)
        return nd__fail(ND_ERR_MEMORY, "record_stream", -1, "no host memory");
    nd__lock_take(&c->lock);
    uint64_t id = nd__stream_id(stream);
    bool known = p->queue->id == id;
    for (const nd_recorded *at = p->uses; at && !known; at = at->next)
        known = at->queue->id == id;
    u->queue = known ? NULL : nd__stream_queue_get(c, stream);
    nd_status status = ND_OK;
    if (u->queue) {
        u->next = p->uses;
        p->uses = u;
        u = NULL;
    } else if (!known) {
        status = nd__fail(ND_ERR_MEMORY, "record_stream", -1, "no host memory");
    }
    nd__caching_leave(c);
    free(u);
    return status;
}

nd_status nd__record_use(nd_block *b, nd_stream *stream)
{
    nd_piece *p = (nd_piece *)b;
    nd_caching *c = nd__caching_of(p);
    const nd_hooks *h = &c->backend.hooks;
    nd_gate *gate = NULL;
    if (!c->streams)
        return ND_OK;
    /* An event in a capture belongs to the graph, so that the stream counts until the block is
     * freed. */
    if (h->capture_id && h->capture_id(h->ctx, stream))
        return nd__record_stream(b, stream);
    nd__lock_take(&c->lock);
    nd_status status = ND_OK;
    if (p->queue->id != nd__stream_id(stream)) {
        nd_stream_queue *queue = nd__stream_queue_get(c, stream);
        status = queue ? nd__gate_new(c, queue, &gate)
                       : nd__fail(ND_ERR_MEMORY, "record_use", -1, "no host memory");
        if (gate && !nd__gates_add(c, &p->gates, gate))
            status = nd__fail(ND_ERR_MEMORY, "record_use", -1, "no host memory");
        if (gate)
            nd__gate_put(c, gate);
        if (queue)
            nd__stream_queue_put(c, queue);
    }
    nd__caching_leave(c);
    return status;
}
