/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The life of blocks that are segments of their own: lists, statistics and trace. */
#include <stdio.h>
#include <stdlib.h>
#include "core/memory/plain/plain.h"

const char *nd__tag(void);

void nd__plain_init(nd_plain *p, const nd_backend_class *type, const nd_plain_way *way,
                    nd_device *device, const nd_hooks *hooks)
{
    memset(p, 0, sizeof *p);
    p->base.type = type;
    p->base.device = device;
    p->base.hooks = *hooks;
    p->way = *way;
    nd__calls_init(&p->base.calls);
    atomic_init(&p->base.refs, 1);
    pthread_mutex_init(&p->lock, NULL);
    p->stats.size = sizeof p->stats;
    p->stats.max_split_size = -1;
}

static void count(nd_memory_stat3 *s, const nd_plain_block *b, bool in, uint64_t n)
{
    bool small = b->segment <= ND_PLAIN_SMALL;
    if (in)
        nd__stat3_in(s, small, n);
    else
        nd__stat3_out(s, small, n);
}

static void count_live(nd_plain *p, const nd_plain_block *b, bool in)
{
    count(&p->stats.allocation, b, in, 1);
    count(&p->stats.allocated_bytes, b, in, b->base.nbytes);
    count(&p->stats.requested_bytes, b, in, b->base.requested);
}

static void count_active(nd_plain *p, const nd_plain_block *b, bool in)
{
    count(&p->stats.active, b, in, 1);
    count(&p->stats.active_bytes, b, in, b->base.nbytes);
}

static void link_block(nd_plain_block **list, nd_plain_block *b)
{
    b->prev = NULL;
    b->next = *list;
    if (*list)
        (*list)->prev = b;
    *list = b;
}

static void unlink_block(nd_plain_block **list, nd_plain_block *b)
{
    if (b->prev)
        b->prev->next = b->next;
    else
        *list = b->next;
    if (b->next)
        b->next->prev = b->prev;
    b->prev = b->next = NULL;
}

void nd__plain_enter(nd_plain *p, nd_plain_block *b, nd_stream *stream)
{
    const char *tag = nd__tag();
    b->base.backend = &p->base;
    atomic_fetch_add_explicit(&p->base.refs, 1, memory_order_relaxed);
    nd__uses_start(&b->uses, stream);
    snprintf(b->tag, sizeof b->tag, "%s", tag ? tag : "");
    pthread_mutex_lock(&p->lock);
    link_block(&p->live, b);
    count_live(p, b, true);
    count_active(p, b, true);
    nd__trace(ND_TRACE_ALLOC, p->base.device, b->address + b->base.offset, b->base.nbytes, stream,
              NULL);
    pthread_mutex_unlock(&p->lock);
}

void nd__plain_completed(nd_plain *p, nd_plain_block *b)
{
    pthread_mutex_lock(&p->lock);
    count_active(p, b, false);
    nd__trace(ND_TRACE_FREE_COMPLETED, p->base.device, b->address + b->base.offset, b->base.nbytes,
              b->uses.home.stream, NULL);
    pthread_mutex_unlock(&p->lock);
}

/* Holds the backend, as freeing one block may be its end. */
void nd__plain_begin(nd_plain *p)
{
    atomic_fetch_add_explicit(&p->base.refs, 1, memory_order_relaxed);
    nd__calls_enter(&p->base.calls);
}

void nd__plain_end(nd_plain *p, bool gave)
{
    nd__calls_leave(&p->base.calls, gave);
    nd__backend_release(&p->base);
}

/* While a stream is captured nothing is asked of events: on some devices that alone would break the
 * capture. */
static bool capturing(const nd_plain *p)
{
    return p->base.device && atomic_load(&p->base.device->captures) > 0;
}

static void end_live(nd_plain *p, nd_plain_block *b) /* under the lock */
{
    unlink_block(&p->live, b);
    count_live(p, b, false);
    nd__trace(ND_TRACE_FREE_REQUESTED, p->base.device, b->address + b->base.offset, b->base.nbytes,
              b->uses.home.stream, NULL);
}

void nd__plain_drop(nd_plain *p, nd_plain_block *b, bool pending)
{
    pthread_mutex_lock(&p->lock);
    end_live(p, b);
    if (pending)
        link_block(&p->pending, b);
    pthread_mutex_unlock(&p->lock);
}

/* Ends a live block. Returns true if nothing uses it any more, and it is in no list then; else it
 * is pending. */
static bool leave(nd_plain *p, nd_plain_block *b)
{
    pthread_mutex_lock(&p->lock);
    end_live(p, b);
    bool done = !capturing(p) && nd__uses_done(&b->uses, &p->base.hooks);
    if (!done)
        link_block(&p->pending, b);
    pthread_mutex_unlock(&p->lock);
    if (done)
        nd__plain_completed(p, b);
    return done;
}

/* Takes the pending blocks that are done off the list, linked by next. Waiting happens without the
 * lock, on blocks that nobody else can reach meanwhile. */
static nd_plain_block *take_done(nd_plain *p, bool wait)
{
    const nd_hooks *h = &p->base.hooks;
    nd_plain_block *done = NULL, *later = NULL, *b, *next;
    if (capturing(p))
        return NULL;
    pthread_mutex_lock(&p->lock);
    b = p->pending;
    p->pending = NULL;
    pthread_mutex_unlock(&p->lock);
    for (; b; b = next) {
        next = b->next;
        bool over = wait ? nd__uses_wait(&b->uses, h) : nd__uses_done(&b->uses, h);
        b->next = over ? done : later;
        *(over ? &done : &later) = b;
    }
    pthread_mutex_lock(&p->lock);
    for (; later; later = next) {
        next = later->next;
        link_block(&p->pending, later);
    }
    pthread_mutex_unlock(&p->lock);
    for (b = done; b; b = b->next)
        nd__plain_completed(p, b);
    return done;
}

bool nd__plain_reclaim(nd_plain *p, bool wait)
{
    nd__plain_begin(p);
    nd_plain_block *b = take_done(p, wait), *next;
    bool gave = false, any = b != NULL;
    for (; b; b = next) {
        next = b->next;
        gave |= p->way.finish(p, b);
    }
    nd__plain_end(p, any);
    return gave;
}

void nd__plain_free(nd_block *block)
{
    nd_plain *p = (nd_plain *)block->backend;
    nd_plain_block *b = (nd_plain_block *)block;
    nd__plain_begin(p);
    bool done = leave(p, b);
    if (done)
        (void)p->way.finish(p, b);
    nd__plain_end(p, done);
}

nd_status nd__plain_empty_cache(nd_backend *backend)
{
    nd_plain *p = (nd_plain *)backend;
    (void)nd__plain_reclaim(p, false);
    if (p->way.spare)
        (void)p->way.spare(p, false);
    return ND_OK;
}

nd_status nd__plain_record_stream(nd_block *block, nd_stream *stream)
{
    nd_plain *p = (nd_plain *)block->backend;
    pthread_mutex_lock(&p->lock);
    nd_status status = nd__uses_stream(&((nd_plain_block *)block)->uses, stream);
    pthread_mutex_unlock(&p->lock);
    return status;
}

nd_status nd__plain_record_use(nd_block *block, nd_stream *stream)
{
    nd_plain *p = (nd_plain *)block->backend;
    pthread_mutex_lock(&p->lock);
    nd_status status = nd__uses_record(&((nd_plain_block *)block)->uses, &p->base.hooks, stream);
    pthread_mutex_unlock(&p->lock);
    return status;
}

/* Blocks hold the streams that they were used on, but a stream without its handle can be asked
 * nothing. So what has to be known when the blocks are freed is marked now. */
void nd__plain_stream_gone(nd_backend *backend, nd_stream *stream)
{
    nd_plain *p = (nd_plain *)backend;
    pthread_mutex_lock(&p->lock);
    for (nd_plain_block *b = p->live; b; b = b->next)
        nd__uses_stream_gone(&b->uses, &backend->hooks, stream);
    for (nd_plain_block *b = p->pending; b; b = b->next)
        nd__uses_stream_gone(&b->uses, &backend->hooks, stream);
    pthread_mutex_unlock(&p->lock);
}

/* Blocks whose streams have ended meanwhile are counted no longer. */
void nd__plain_stats(nd_backend *backend, nd_memory_stats *out)
{
    nd_plain *p = (nd_plain *)backend;
    (void)nd__plain_reclaim(p, false);
    pthread_mutex_lock(&p->lock);
    nd__stats_read(&p->stats, out);
    pthread_mutex_unlock(&p->lock);
}

void nd__plain_reset(nd_backend *backend, bool peak, bool accumulated)
{
    nd_plain *p = (nd_plain *)backend;
    pthread_mutex_lock(&p->lock);
    nd__stats_reset(&p->stats, peak, accumulated);
    pthread_mutex_unlock(&p->lock);
}

void nd__plain_snapshot_block(const nd_plain *p, const nd_plain_block *b, int32_t state, nd_text *t)
{
    const bool live = state == ND_BLOCK_ALLOCATED;
    const uint64_t head = b->base.offset, tail = b->segment - head - b->base.nbytes;
    nd__snapshot_segment_begin(
        t, &(nd_snapshot_segment){.device = p->base.device,
                                  .address = b->address,
                                  .total = b->segment,
                                  .allocated = live ? b->base.nbytes : 0,
                                  .active = state == ND_BLOCK_INACTIVE ? 0 : b->base.nbytes,
                                  .requested = live ? b->base.requested : 0,
                                  .stream = nd__stream_id(b->uses.home.stream),
                                  .large = b->segment > ND_PLAIN_SMALL});
    if (head)
        nd__snapshot_block(t, b->address, head, 0, ND_BLOCK_INACTIVE, NULL);
    nd__snapshot_block(t, b->address + head, b->base.nbytes, b->base.requested, state, b->tag);
    if (tail)
        nd__snapshot_block(t, b->address + head + b->base.nbytes, tail, 0, ND_BLOCK_INACTIVE, NULL);
    nd__snapshot_segment_end(t);
}

void nd__plain_snapshot(nd_backend *backend, nd_text *segments)
{
    nd_plain *p = (nd_plain *)backend;
    pthread_mutex_lock(&p->lock);
    for (const nd_plain_block *b = p->live; b; b = b->next)
        nd__plain_snapshot_block(p, b, ND_BLOCK_ALLOCATED, segments);
    for (const nd_plain_block *b = p->pending; b; b = b->next)
        nd__plain_snapshot_block(p, b, ND_BLOCK_PENDING_FREE, segments);
    pthread_mutex_unlock(&p->lock);
}

void nd__plain_fork(nd_backend *backend, nd_fork now)
{
    nd__fork_mutex(&((nd_plain *)backend)->lock, now);
    nd__calls_fork(&backend->calls, now);
}

void nd__plain_destroy(nd_backend *backend)
{
    nd_plain *p = (nd_plain *)backend;
    pthread_mutex_destroy(&p->lock);
    nd__calls_destroy(&p->base.calls);
    free(p);
}
