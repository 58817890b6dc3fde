/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What happens when no free block fits, rung by rung: free callbacks, collecting old blocks, the
 * device, oversize blocks, other pools and streams, waiting for everything, and the error. */
#include "core/memory/caching/caching.h"

static bool find_locked(nd_caching *c, nd_request *r)
{
    nd__lock_take(&c->lock);
    bool found = nd__find(c, r);
    nd__caching_leave(c);
    return found;
}

static void collect_garbage(nd_caching *c, const nd_request *r)
{
    uint64_t limit = c->cap ? c->cap : c->total;
    double threshold = r->conf->garbage_collection_threshold * (double)limit;
    if (threshold <= 0 || atomic_load(&c->capturing))
        return;
    nd__lock_take(&c->lock);
    double above = (double)c->reserved - threshold;
    c->stats.garbage_collections += above > 0;
    nd__caching_leave(c);
    uint64_t target = above > 0 ? (uint64_t)above : 0;
    target += (double)target < above;
    if (target)
        (void)nd__release(c, &(nd_giving){.collect = target});
}

/* Gives back pools whose streams were busy when their last user left. */
static void release_unused_pools(nd_caching *c)
{
    nd__lock_take(&c->lock);
    const nd_arena *a = c->arenas;
    while (a && a->users)
        a = a->next;
    nd__caching_leave(c);
    if (a)
        (void)nd__release(c, &(nd_giving){.unused_pools = true});
}

static bool release_oversize(nd_caching *c, nd_request *r)
{
    uint64_t limit = r->conf->max_split_size;
    if (limit == UINT64_MAX || atomic_load(&c->capturing))
        return false;
    uint64_t want = r->size < limit ? limit : r->size;
    return nd__release(c, &(nd_giving){.oversize = r, .synchronize = true}) >= want;
}

static bool steal(nd_caching *c, nd_request *r)
{
    nd__lock_take(&c->lock);
    bool found = nd__steal(c, r, r->arena);
    nd__caching_leave(c);
    return found;
}

static bool reuse_in_capture(nd_caching *c, nd_request *r)
{
    nd__lock_take(&c->lock);
    bool found = nd__reuse_in_capture(c, r);
    nd__caching_leave(c);
    return found;
}

/* Takes from pools that lend, first blocks of the request's stream, then of other streams. */
static bool borrow(nd_caching *c, nd_request *r)
{
    bool found = false, steals = r->conf->steal > 0;
    nd__lock_take(&c->lock);
    for (nd_arena *a = r->in_capture ? NULL : c->arenas; a && !found; a = a->next) {
        if (!a->use_on_oom || a == r->arena || (a->captured && a->users))
            continue;
        nd_piece *p = nd__first_fit(&a->bin[r->bin->small], r->id, r);
        found = (p && nd__take(c, r, p)) || (steals && nd__steal(c, r, a));
    }
    found = found || (steals && nd__steal(c, r, r->arena));
    nd__caching_leave(c);
    return found;
}

static bool synchronize(nd_caching *c, nd_request *r)
{
    if (atomic_load(&c->capturing))
        return false;
    nd__lock_take(&c->lock);
    c->stats.num_sync_all_streams++;
    nd__caching_leave(c);
    r->status = nd__synchronize_events(c);
    if (r->status != ND_OK)
        return false;
    if (find_locked(c, r))
        return true;
    (void)nd__release(c, &(nd_giving){.synchronize = true});
    return nd__grow(c, r, true);
}

static nd_status out_of_memory(nd_caching *c, const nd_request *r)
{
    nd__lock_take(&c->lock);
    c->stats.num_ooms++;
    c->stats.num_cap_rejections += r->capped;
    nd_shortage s = {.requested = r->requested,
                     .rounded = r->size,
                     .allocated = (uint64_t)nd__stat_now(&c->stats.allocated_bytes.all),
                     .reserved = (uint64_t)nd__stat_now(&c->stats.reserved_bytes.all),
                     .cap = c->cap,
                     .total = c->total,
                     .capped = r->capped};
    for (const nd_arena *a = c->arenas; a; a = a->next)
        s.pools += (uint64_t)a->reserved_bytes;
    nd__caching_leave(c);
    return nd__out_of_memory(&c->backend, r->stream, s);
}

/* Whether the device had no such segment when it was last asked, and got none of ours since. Other
 * processes may have given it some, so that one request of many asks all the same. */
static bool likely_full(nd_caching *c, const nd_request *r)
{
    enum { ASK_AGAIN = 64 };
    nd__lock_take(&c->lock);
    bool full = c->refused && r->segment_size >= c->refused && !c->any_oversize &&
                ++c->skipped % ASK_AGAIN != 0;
    nd__caching_leave(c);
    return full;
}

/* Goes up the rungs. Returns true with r->piece set; false if nothing fits, or with an error in
 * r->status. */
static bool climb(nd_caching *c, nd_request *r)
{
    if (nd__run_free_callbacks(c->backend.device, r->requested) && find_locked(c, r))
        return true;
    if (r->in_capture && r->status == ND_OK && reuse_in_capture(c, r))
        return true;
    if (r->status != ND_OK)
        return false;
    release_unused_pools(c);
    collect_garbage(c, r);
    if ((r->conf->steal == 2 || (r->conf->steal == 1 && likely_full(c, r))) && steal(c, r))
        return true;
    if (r->status == ND_OK && nd__grow(c, r, false))
        return true;
    if (r->status != ND_OK || r->conf->throw_early)
        return false;
    if (release_oversize(c, r) && nd__grow(c, r, false))
        return true;
    if (r->status == ND_OK && borrow(c, r))
        return true;
    return r->status == ND_OK && synchronize(c, r);
}

/* Looks for what other threads gave: to the bins, or to the device. */
static bool look_again(nd_caching *c, nd_request *r)
{
    return find_locked(c, r) || (r->status == ND_OK && nd__grow(c, r, true)) ||
           (r->status == ND_OK && !r->conf->throw_early && borrow(c, r));
}

typedef struct {
    nd_caching *of;
    nd_request *request;
} seeker;

static bool seek(void *arg, bool again)
{
    const seeker *s = arg;
    return (again ? look_again : climb)(s->of, s->request) || s->request->status != ND_OK;
}

nd_status nd__ladder(nd_caching *c, nd_request *r)
{
    if (r->size > 0)
        nd__request(&c->backend.calls, seek, &(seeker){c, r});
    return r->piece ? (nd_status)ND_OK : r->status == ND_OK ? out_of_memory(c, r) : r->status;
}
