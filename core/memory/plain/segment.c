/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Segments for blocks of their own: they are taken from the device, by a ladder of ways to make
 * room, and given back. */
#include <stdlib.h>
#include "core/memory/plain/plain.h"

nd_status nd__plain_ready(nd_plain *p, nd_stream *stream)
{
    const nd_hooks *h = &p->base.hooks;
    if (h->capture_id && h->capture_id(h->ctx, stream) != 0)
        return nd__fail(ND_ERR_CAPTURE, "alloc", -1,
                        "the %s allocator takes every array's memory from the device itself, which "
                        "a capture cannot hold: %s",
                        p->base.type->name, p->way.advice);
    (void)nd__plain_reclaim(p, false);
    return ND_OK;
}

nd_status nd__plain_out_of_memory(nd_plain *p, const nd_stream *stream, nd_shortage s)
{
    pthread_mutex_lock(&p->lock);
    p->stats.num_ooms++;
    p->stats.num_cap_rejections += s.capped;
    s.allocated = (uint64_t)nd__stat_now(&p->stats.allocated_bytes.all);
    s.reserved = (uint64_t)nd__stat_now(&p->stats.reserved_bytes.all);
    pthread_mutex_unlock(&p->lock);
    return nd__out_of_memory(&p->base, stream, s);
}

/* Empties the caches of the device's other backends. Whether they held anything is for the device
 * to say. */
static bool empty_others(const nd_backend *self)
{
    bool any = false;
    for (nd_backend *backend = nd__backends(); backend; backend = backend->next)
        if (backend != self && backend->device == self->device && backend->type->empty_cache)
            any |= backend->type->empty_cache(backend) == ND_OK;
    return any;
}

/* One block that somebody wants memory for. */
typedef struct {
    nd_plain *of;
    nd_plain_block *block;
    nd_stream *stream;
    nd_status status;
} seeker;

static bool ask(seeker *s)
{
    const nd_hooks *h = &s->of->base.hooks;
    nd_block *b = &s->block->base;
    s->status = h->segment_alloc(h->segment_ctx, s->stream, s->block->segment, &b->mem, &b->host);
    return s->status != ND_ERR_MEMORY;
}

static bool ask_again(seeker *s, bool waited)
{
    pthread_mutex_lock(&s->of->lock);
    s->of->stats.num_alloc_retries++;
    s->of->stats.num_sync_all_streams += waited;
    pthread_mutex_unlock(&s->of->lock);
    return ask(s);
}

static bool make_room(nd_plain *p, bool wait)
{
    bool any = nd__plain_reclaim(p, wait);
    return (p->way.spare && p->way.spare(p, wait)) || any;
}

static bool run_callbacks(const seeker *s)
{
    return s->of->base.device && nd__run_free_callbacks(s->of->base.device, s->block->segment);
}

/* Goes up the rungs, from what costs least to what costs most. Returns true with an answer in
 * status. */
static bool seek(void *arg, bool again)
{
    seeker *s = arg;
    if (again) {
        (void)make_room(s->of, true);
        return ask_again(s, true);
    }
    return ask(s) || (make_room(s->of, false) && ask_again(s, false)) ||
           (make_room(s->of, true) && ask_again(s, true)) ||
           (run_callbacks(s) && ask_again(s, false)) ||
           (empty_others(&s->of->base) && ask_again(s, false));
}

static void count_segment(nd_plain *p, const nd_plain_block *b)
{
    bool small = b->segment <= ND_PLAIN_SMALL;
    pthread_mutex_lock(&p->lock);
    p->stats.num_device_alloc++;
    nd__stat3_in(&p->stats.segment, small, 1);
    nd__stat3_in(&p->stats.reserved_bytes, small, b->segment);
    pthread_mutex_unlock(&p->lock);
}

nd_status nd__plain_take(nd_plain *p, nd_stream *stream, uint64_t nbytes, nd_plain_block **out)
{
    const uint64_t zone = p->way.zone;
    nd_plain_block *b = calloc(1, p->way.record);
    if (!b)
        return nd__fail(ND_ERR_MEMORY, "alloc", -1, "no %zu bytes for a block's record",
                        p->way.record);
    b->base.nbytes = b->base.requested = nbytes;
    b->base.offset = zone;
    b->segment = zone ? 2 * zone + (nbytes + zone - 1) / zone * zone : nbytes;
    seeker s = {p, b, stream, ND_OK};
    nd__request(&p->base.calls, seek, &s);
    if (s.status == ND_ERR_MEMORY)
        s.status = nd__plain_out_of_memory(
            p, stream, (nd_shortage){.requested = nbytes, .rounded = b->segment});
    if (s.status != ND_OK) {
        free(b);
        return s.status;
    }
    b->address = nd__mem_address(p->base.device, b->base.mem, b->base.host);
    if (b->base.host)
        b->base.host += zone;
    count_segment(p, b);
    nd__trace(ND_TRACE_SEGMENT_ALLOC, p->base.device, b->address, b->segment, stream, NULL);
    *out = b;
    return ND_OK;
}

void nd__plain_give_segment(nd_plain *p, nd_plain_block *b, nd_stream *stream)
{
    const nd_hooks *h = &p->base.hooks;
    bool small = b->segment <= ND_PLAIN_SMALL;
    nd__trace(ND_TRACE_SEGMENT_FREE, p->base.device, b->address, b->segment, stream, NULL);
    h->segment_free(h->segment_ctx, stream, b->base.mem, b->segment);
    pthread_mutex_lock(&p->lock);
    p->stats.num_device_free++;
    nd__stat3_out(&p->stats.segment, small, 1);
    nd__stat3_out(&p->stats.reserved_bytes, small, b->segment);
    pthread_mutex_unlock(&p->lock);
    nd__uses_end(&b->uses, h);
}

void nd__plain_give(nd_plain *p, nd_plain_block *b, nd_stream *stream)
{
    nd__plain_give_segment(p, b, stream);
    free(b);
    nd__backend_release(&p->base);
}

nd_status nd__plain_alloc(nd_backend *backend, nd_stream *stream, uint64_t nbytes, nd_block **out)
{
    nd_plain *p = (nd_plain *)backend;
    nd_plain_block *b;
    *out = NULL;
    ND_RETURN_IF(nd__plain_ready(p, stream));
    ND_RETURN_IF(nd__plain_take(p, stream, nbytes, &b));
    nd__plain_enter(p, b, stream);
    *out = &b->base;
    return ND_OK;
}
