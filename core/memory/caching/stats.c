/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Statistics of the caching allocator, in PyTorch's terms. */
#include "core/memory/caching/caching.h"

static nd_memory_stat stat_of(const nd_tally *t)
{
    return (nd_memory_stat){.current = t->in - t->out,
                            .peak = t->peak,
                            .allocated = t->in - t->in_reset,
                            .freed = t->out - t->out_reset};
}

static nd_memory_stat3 stat3_of(const nd_tally t[3])
{
    return (nd_memory_stat3){
        .all = stat_of(&t[2]), .small_pool = stat_of(&t[1]), .large_pool = stat_of(&t[0])};
}

static void fill(const nd_caching *c, nd_memory_stats *s)
{
    s->allocation = stat3_of(c->tally[ND_STAT_ALLOCATION]);
    s->allocated_bytes = stat3_of(c->tally[ND_STAT_ALLOCATED_BYTES]);
    s->requested_bytes = stat3_of(c->tally[ND_STAT_REQUESTED_BYTES]);
    s->segment = stat3_of(c->tally[ND_STAT_SEGMENT]);
    s->reserved_bytes = stat3_of(c->tally[ND_STAT_RESERVED_BYTES]);
    s->active = stat3_of(c->tally[ND_STAT_ACTIVE]);
    s->active_bytes = stat3_of(c->tally[ND_STAT_ACTIVE_BYTES]);
    s->inactive_split = stat3_of(c->tally[ND_STAT_INACTIVE_SPLIT]);
    s->inactive_split_bytes = stat3_of(c->tally[ND_STAT_INACTIVE_SPLIT_BYTES]);
    s->oversize_allocations = stat_of(&c->oversize_allocations);
    s->oversize_segments = stat_of(&c->oversize_segments);
    s->num_alloc_retries = c->num_alloc_retries;
    s->num_ooms = c->num_ooms;
    s->num_sync_all_streams = c->num_sync_all_streams;
    s->num_device_alloc = c->num_device_alloc;
    s->num_device_free = c->num_device_free;
    s->num_cap_rejections = c->num_cap_rejections;
    s->garbage_collections = c->garbage_collections;
    uint64_t limit = nd__conf()->max_split_size;
    s->max_split_size = limit == UINT64_MAX ? -1 : (int64_t)limit;
}

/* Writes only the fields that are this allocator's; the rest is others' or zero already. */
void nd__caching_stats(nd_backend *backend, nd_memory_stats *out)
{
    nd_caching *c = (nd_caching *)backend;
    nd__magazines_flush(c, false);
    (void)nd__release(c, &(nd_giving){.unused_pools = true});
    nd__lock_take(&c->lock);
    nd__process_events(c);
    fill(c, out);
    nd__caching_leave(c);
}

static void reset(nd_tally *t, bool peak, bool accumulated)
{
    if (peak)
        t->peak = t->in - t->out;
    if (accumulated) {
        t->in_reset = t->in;
        t->out_reset = t->out;
    }
}

void nd__caching_reset(nd_backend *backend, bool peak, bool accumulated)
{
    nd_caching *c = (nd_caching *)backend;
    nd__magazines_flush(c, false);
    nd__lock_take(&c->lock);
    for (int i = 0; i < ND_STAT_KINDS; i++)
        for (int k = 0; k < 3; k++)
            reset(&c->tally[i][k], peak, accumulated);
    reset(&c->oversize_allocations, peak, accumulated);
    reset(&c->oversize_segments, peak, accumulated);
    if (accumulated) {
        c->num_alloc_retries = c->num_ooms = c->num_sync_all_streams = 0;
        c->num_device_alloc = c->num_device_free = 0;
        c->num_cap_rejections = c->garbage_collections = 0;
    }
    nd__caching_leave(c);
}
