/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * NDOCK_NO_CACHE=1: every block is an allocation of the device, of exactly the bytes asked for, so
 * that a memory checker of the device sees every block's end. */
#include <stdlib.h>
#include "core/memory/plain/plain.h"
#include "core/memory/pluggable/pluggable.h"

static bool reclaim(nd_plain *p, bool wait)
{
    nd__plain_begin(p);
    nd_plain_block *b = nd__plain_done(p, wait), *next;
    bool any = b != NULL;
    for (; b; b = next) {
        next = b->next;
        nd__plain_give(p, b);
    }
    nd__plain_end(p, any);
    return any;
}

static nd_status single_alloc(nd_backend *backend, nd_stream *stream, uint64_t nbytes,
                              nd_block **out)
{
    nd_plain *p = (nd_plain *)backend;
    *out = NULL;
    ND_RETURN_IF(nd__plain_refuse_capture(p, stream,
                                          backend->allocator
                                              ? "allocate before the capture"
                                              : "allocate before it, or unset NDOCK_NO_CACHE"));
    (void)reclaim(p, false);
    nd_plain_block *b = calloc(1, sizeof *b);
    if (!b)
        return nd__fail(ND_ERR_MEMORY, "alloc", -1, "no %zu bytes for a block's record", sizeof *b);
    nd_status status = nd__plain_segment(p, stream, nbytes, reclaim, &b->base.mem, &b->base.host);
    if (status != ND_OK) {
        free(b);
        return status;
    }
    b->base.nbytes = b->base.requested = b->segment = nbytes;
    nd__plain_enter(p, b, stream);
    *out = &b->base;
    return ND_OK;
}

static void single_free(nd_block *block)
{
    nd_plain *p = (nd_plain *)block->backend;
    nd_plain_block *b = (nd_plain_block *)block;
    nd__plain_begin(p);
    bool done = nd__plain_leave(p, b);
    if (done)
        nd__plain_give(p, b);
    nd__plain_end(p, done);
}

static nd_status single_empty_cache(nd_backend *backend)
{
    (void)reclaim((nd_plain *)backend, false);
    return ND_OK;
}

/* Blocks whose streams have ended meanwhile count no longer. */
static void single_stats(nd_backend *backend, nd_memory_stats *out)
{
    (void)reclaim((nd_plain *)backend, false);
    nd__plain_stats(backend, out);
}

static const nd_backend_class single = {
    .name = "none",
    .alloc = single_alloc,
    .free = single_free,
    .record_stream = nd__plain_record_stream,
    .record_use = nd__plain_record_use,
    .empty_cache = single_empty_cache,
    .stream_gone = nd__plain_stream_gone,
    .stats = single_stats,
    .reset = nd__plain_reset,
    .snapshot = nd__plain_snapshot,
    .destroy = nd__plain_destroy,
    .fork = nd__plain_fork,
};

/* ---- the same over an allocator of somebody else (C21) ---- */
static nd_status foreign_record_stream(nd_block *block, nd_stream *stream)
{
    if (nd__allocator_record_stream(block, stream))
        return ND_OK; /* it keeps the memory for that stream by itself */
    return nd__plain_record_stream(block, stream);
}

static void foreign_stats(nd_backend *backend, nd_memory_stats *out)
{
    uint64_t reserved;
    single_stats(backend, out);
    if (nd__allocator_reserved(backend, &reserved))
        out->reserved_bytes.all.current = (int64_t)reserved;
}

static void foreign_destroy(nd_backend *backend)
{
    nd__allocator_hooks_release(&backend->hooks);
    nd__plain_destroy(backend);
}

static void foreign_fork(nd_backend *backend, nd_fork now)
{
    nd__plain_fork(backend, now);
    nd__allocator_fork(backend, now);
}

static const nd_backend_class foreign = {
    .name = "pluggable",
    .alloc = single_alloc,
    .free = single_free,
    .record_stream = foreign_record_stream,
    .record_use = nd__plain_record_use,
    .empty_cache = single_empty_cache,
    .stream_gone = nd__plain_stream_gone,
    .stats = foreign_stats,
    .reset = nd__plain_reset,
    .snapshot = nd__plain_snapshot,
    .destroy = foreign_destroy,
    .fork = foreign_fork,
};

static nd_status create(const nd_backend_class *type, nd_device *device, const nd_hooks *hooks,
                        nd_allocator *allocator, nd_backend **out)
{
    nd_plain *p = malloc(sizeof *p);
    *out = NULL;
    if (!p)
        return nd__fail(ND_ERR_MEMORY, "alloc", -1, "no %zu bytes for an allocator", sizeof *p);
    nd__plain_init(p, type, device, hooks);
    p->base.allocator = allocator;
    *out = &p->base;
    return ND_OK;
}

nd_status nd__pluggable_create(nd_device *device, const nd_hooks *hooks, nd_allocator *allocator,
                               nd_backend **out)
{
    return create(&foreign, device, hooks, allocator, out);
}

nd_status nd__single_create(nd_device *device, const nd_hooks *hooks, nd_backend **out)
{
    return create(&single, device, hooks, NULL, out);
}
