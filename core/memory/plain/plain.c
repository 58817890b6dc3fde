/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Blocks that are segments of their own: lists, statistics, trace, and the ladder of failures. */
#include <stdio.h>
#include <stdlib.h>
#include "core/memory/plain/plain.h"

const char *nd__tag(void);

enum { MOST_SMALL = 1 << 20 }; /* larger blocks count as large, as in the caching allocator */

void nd__plain_init(nd_plain *p, const nd_backend_class *type, nd_device *device,
                    const nd_hooks *hooks)
{
    memset(p, 0, sizeof *p);
    p->base.type = type;
    p->base.device = device;
    p->base.hooks = *hooks;
    nd__calls_init(&p->base.calls);
    atomic_init(&p->base.refs, 1);
    pthread_mutex_init(&p->lock, NULL);
    p->stats.size = sizeof p->stats;
    p->stats.max_split_size = -1;
}

nd_status nd__plain_refuse_capture(nd_plain *p, nd_stream *stream, const char *advice)
{
    const nd_hooks *h = &p->base.hooks;
    if (!h->capture_id || h->capture_id(h->ctx, stream) == 0)
        return ND_OK;
    return nd__fail(ND_ERR_CAPTURE, "alloc", -1,
                    "the %s allocator takes every array's memory from the device itself, which a "
                    "capture cannot hold: %s",
                    p->base.type->name, advice);
}

/* Memory that others keep for later; whether there was any is for the device to say. */
static bool empty_others(const nd_backend *self)
{
    bool any = false;
    for (nd_backend *backend = nd__backends(); backend; backend = backend->next)
        if (backend != self && backend->device == self->device && backend->type->empty_cache)
            any |= backend->type->empty_cache(backend) == ND_OK;
    return any;
}

static bool rung(nd_plain *p, int i, uint64_t nbytes, bool (*reclaim)(nd_plain *, bool))
{
    switch (i) {
    case 0:
        return reclaim(p, false);
    case 1:
        return reclaim(p, true);
    case 2:
        return p->base.device && nd__run_free_callbacks(p->base.device, nbytes);
    default:
        return empty_others(&p->base);
    }
}

static nd_status out_of_memory(nd_plain *p, nd_stream *stream, uint64_t nbytes)
{
    const nd_hooks *h = &p->base.hooks;
    uint64_t free_bytes = 0, total = 0;
    char device_text[96] = "";
    if (h->usage && h->usage(h->ctx, &free_bytes, &total) == ND_OK && total)
        snprintf(device_text, sizeof device_text, "; the device has %llu of %llu bytes free",
                 (unsigned long long)free_bytes, (unsigned long long)total);
    nd__trace(ND_TRACE_OOM, p->base.device, free_bytes, nbytes, stream, NULL);
    pthread_mutex_lock(&p->lock);
    p->stats.num_ooms++;
    long long live = p->stats.allocated_bytes.all.current,
              reserved = p->stats.reserved_bytes.all.current;
    pthread_mutex_unlock(&p->lock);
    if (p->base.device)
        nd__run_oom_observers(p->base.device, nbytes);
    return nd__fail(ND_ERR_MEMORY, "alloc", -1,
                    "%llu bytes asked of the %s allocator%s%s%s; it has %lld bytes in use and %lld "
                    "taken from the device. Free arrays, or work in smaller pieces",
                    (unsigned long long)nbytes, p->base.type->name, p->base.device ? " of " : "",
                    p->base.device ? p->base.device->name : "", device_text, live, reserved);
}

static nd_status retry(nd_plain *p, nd_stream *stream, uint64_t nbytes, bool waited, ndp_mem **mem,
                       char **host)
{
    pthread_mutex_lock(&p->lock);
    p->stats.num_alloc_retries++;
    p->stats.num_sync_all_streams += waited;
    pthread_mutex_unlock(&p->lock);
    return p->base.hooks.segment_alloc(p->base.hooks.ctx, stream, nbytes, mem, host);
}

static nd_status climb(nd_plain *p, nd_stream *stream, uint64_t nbytes,
                       bool (*reclaim)(nd_plain *, bool), ndp_mem **mem, char **host)
{
    enum { RUNGS = 4 };
    const nd_hooks *h = &p->base.hooks;
    nd_status status = h->segment_alloc(h->ctx, stream, nbytes, mem, host);
    for (int i = 0; i < RUNGS && status == ND_ERR_MEMORY; i++)
        if (rung(p, i, nbytes, reclaim))
            status = retry(p, stream, nbytes, i == 1, mem, host);
    return status;
}

nd_status nd__plain_segment(nd_plain *p, nd_stream *stream, uint64_t nbytes,
                            bool (*reclaim)(nd_plain *, bool), ndp_mem **mem, char **host)
{
    nd_attempt attempt;
    nd__attempt_begin(&attempt, &p->base.calls);
    nd_status status = climb(p, stream, nbytes, reclaim, mem, host);
    while (status == ND_ERR_MEMORY && nd__attempt_again(&attempt)) {
        (void)reclaim(p, true);
        status = retry(p, stream, nbytes, true, mem, host);
    }
    nd__attempt_end(&attempt);
    if (status == ND_ERR_MEMORY)
        return out_of_memory(p, stream, nbytes);
    if (status != ND_OK)
        return status;
    bool small = nbytes <= MOST_SMALL;
    pthread_mutex_lock(&p->lock);
    p->stats.num_device_alloc++;
    nd__stat3_in(&p->stats.segment, small, 1);
    nd__stat3_in(&p->stats.reserved_bytes, small, nbytes);
    pthread_mutex_unlock(&p->lock);
    nd__trace(ND_TRACE_SEGMENT_ALLOC, p->base.device, nd__mem_address(p->base.device, *mem, *host),
              nbytes, stream, NULL);
    return ND_OK;
}

static void count(nd_memory_stat3 *s, const nd_plain_block *b, bool in, uint64_t n)
{
    bool small = b->segment <= MOST_SMALL;
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
    b->address = nd__mem_address(p->base.device, b->base.mem,
                                 b->base.host ? b->base.host - b->base.offset : NULL);
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

/* Freeing one block may be the end of the allocator, so that it is held meanwhile. */
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

/* Then nothing is asked of events: on some devices that alone would break the capture. */
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

bool nd__plain_leave(nd_plain *p, nd_plain_block *b)
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

/* Waiting happens without the lock, on blocks that nobody else can reach meanwhile. */
nd_plain_block *nd__plain_done(nd_plain *p, bool wait)
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

static void give_segment(nd_plain *p, nd_plain_block *b, nd_stream *stream)
{
    const nd_hooks *h = &p->base.hooks;
    bool small = b->segment <= MOST_SMALL;
    nd__trace(ND_TRACE_SEGMENT_FREE, p->base.device, b->address, b->segment, stream, NULL);
    h->segment_free(h->ctx, stream, b->base.mem, b->segment);
    pthread_mutex_lock(&p->lock);
    p->stats.num_device_free++;
    nd__stat3_out(&p->stats.segment, small, 1);
    nd__stat3_out(&p->stats.reserved_bytes, small, b->segment);
    pthread_mutex_unlock(&p->lock);
    nd__uses_end(&b->uses, h);
}

void nd__plain_give_segment(nd_plain *p, nd_plain_block *b)
{
    give_segment(p, b, b->uses.home.stream);
}

void nd__plain_give_on(nd_plain *p, nd_plain_block *b, nd_stream *stream)
{
    give_segment(p, b, stream);
    free(b);
    nd__backend_release(&p->base);
}

void nd__plain_give(nd_plain *p, nd_plain_block *b)
{
    nd__plain_give_on(p, b, b->uses.home.stream);
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

/* Blocks hold the streams they were used on, but without its handle a stream can be asked nothing:
 * what is to be known when they are freed is marked now. */
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

void nd__plain_stats(nd_backend *backend, nd_memory_stats *out)
{
    nd_plain *p = (nd_plain *)backend;
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
                                  .large = b->segment > MOST_SMALL});
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
