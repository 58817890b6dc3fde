/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Backend none (NDOCK_NO_CACHE=1): every block is an allocation of the device, of exactly the bytes
 * asked for, so that a memory checker of the device sees every block's end. The backend over an
 * allocator of the program's own (C21) is the same but for what that allocator does by itself. */
#include <stdlib.h>
#include "core/memory/plain/plain.h"
#include "core/memory/pluggable/pluggable.h"

static bool finish(nd_plain *p, nd_plain_block *b)
{
    nd__plain_give(p, b, b->uses.home.stream);
    return true;
}

static const nd_backend_class single = {
    .name = "none",
    .alloc = nd__plain_alloc,
    .free = nd__plain_free,
    .record_stream = nd__plain_record_stream,
    .record_use = nd__plain_record_use,
    .empty_cache = nd__plain_empty_cache,
    .stream_gone = nd__plain_stream_gone,
    .stats = nd__plain_stats,
    .reset = nd__plain_reset,
    .snapshot = nd__plain_snapshot,
    .destroy = nd__plain_destroy,
    .fork = nd__plain_fork,
};

/* ---- over an allocator of the program's own ---- */
static nd_status pluggable_record_stream(nd_block *block, nd_stream *stream)
{
    if (nd__allocator_record_stream(block, stream))
        return ND_OK; /* the allocator keeps the memory for that stream by itself */
    return nd__plain_record_stream(block, stream);
}

static void pluggable_stats(nd_backend *backend, nd_memory_stats *out)
{
    uint64_t reserved;
    nd__plain_stats(backend, out);
    if (nd__allocator_reserved(backend, &reserved))
        out->reserved_bytes.all.current = (int64_t)reserved;
}

static void pluggable_destroy(nd_backend *backend)
{
    nd__allocator_hooks_release(&backend->hooks);
    nd__plain_destroy(backend);
}

static void pluggable_fork(nd_backend *backend, nd_fork now)
{
    nd__plain_fork(backend, now);
    nd__allocator_fork(backend, now);
}

static const nd_backend_class pluggable = {
    .name = "pluggable",
    .alloc = nd__plain_alloc,
    .free = nd__plain_free,
    .record_stream = pluggable_record_stream,
    .record_use = nd__plain_record_use,
    .empty_cache = nd__plain_empty_cache,
    .stream_gone = nd__plain_stream_gone,
    .stats = pluggable_stats,
    .reset = nd__plain_reset,
    .snapshot = nd__plain_snapshot,
    .destroy = pluggable_destroy,
    .fork = pluggable_fork,
};

static nd_status create(const nd_backend_class *type, nd_device *device, const nd_hooks *hooks,
                        nd_allocator *allocator, nd_backend **out)
{
    const nd_plain_way way = {.record = sizeof(nd_plain_block),
                              .advice = allocator ? "allocate before the capture"
                                                  : "allocate before it, or unset NDOCK_NO_CACHE",
                              .finish = finish};
    nd_plain *p = malloc(sizeof *p);
    *out = NULL;
    if (!p)
        return nd__fail(ND_ERR_MEMORY, "alloc", -1, "no %zu bytes for an allocator", sizeof *p);
    nd__plain_init(p, type, &way, device, hooks);
    p->base.allocator = allocator;
    *out = &p->base;
    return ND_OK;
}

nd_status nd__pluggable_create(nd_device *device, const nd_hooks *hooks, nd_allocator *allocator,
                               nd_backend **out)
{
    return create(&pluggable, device, hooks, allocator, out);
}

nd_status nd__single_create(nd_device *device, const nd_hooks *hooks, nd_backend **out)
{
    return create(&single, device, hooks, NULL, out);
}
