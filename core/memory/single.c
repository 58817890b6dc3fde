/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * NDOCK_NO_CACHE=1: every block is an allocation of the device, of exactly the bytes asked for, so
 * that a memory checker of the device sees every block's end. */
#include <stdlib.h>
#include "core/memory/plain.h"

static bool reclaim(nd_plain *p, bool wait)
{
    nd_plain_block *b = nd__plain_done(p, wait), *next;
    bool any = b != NULL;
    for (; b; b = next) {
        next = b->next;
        nd__plain_give(p, b);
    }
    return any;
}

static nd_status single_alloc(nd_maker *m, nd_stream *stream, uint64_t nbytes, nd_block **out)
{
    nd_plain *p = (nd_plain *)m;
    *out = NULL;
    ND_RETURN_IF(nd__plain_refuse_capture(p, stream, "unset NDOCK_NO_CACHE, or allocate before"));
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
    nd_plain *p = (nd_plain *)block->maker;
    nd_plain_block *b = (nd_plain_block *)block;
    if (nd__plain_leave(p, b))
        nd__plain_give(p, b);
}

static nd_status single_empty_cache(nd_maker *m)
{
    (void)reclaim((nd_plain *)m, false);
    return ND_OK;
}

static const nd_maker_class single = {
    .name = "none",
    .alloc = single_alloc,
    .free = single_free,
    .record_stream = nd__plain_record_stream,
    .record_use = nd__plain_record_use,
    .empty_cache = single_empty_cache,
    .stream_gone = nd__plain_stream_gone,
    .stats = nd__plain_stats,
    .reset = nd__plain_reset,
    .snapshot = nd__plain_snapshot,
    .destroy = nd__plain_destroy,
};

nd_status nd__single_create(nd_device *device, const nd_hooks *hooks, nd_maker **out)
{
    nd_plain *p = malloc(sizeof *p);
    *out = NULL;
    if (!p)
        return nd__fail(ND_ERR_MEMORY, "alloc", -1, "no %zu bytes for an allocator", sizeof *p);
    nd__plain_init(p, &single, device, hooks);
    *out = &p->base;
    return ND_OK;
}
