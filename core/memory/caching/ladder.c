/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What happens when no free block fits, rung by rung: free callbacks, collecting old blocks, the
 * device, oversize blocks, other pools and streams, waiting for everything, and the error. */
#include <stdio.h>
#include <stdlib.h>
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

/* Of pools whose streams were busy when their last user left. */
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

/* Pools that lend, first on the request's stream; then blocks of other streams. */
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

static const char *size_text(char *buf, size_t n, uint64_t nbytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)nbytes;
    int unit = 0;
    for (; value >= 1024 && unit < 5; unit++)
        value /= 1024;
    snprintf(buf, n, unit ? "%.2f %s" : "%.0f %s", value, units[unit]);
    return buf;
}
#define SIZE(nbytes) size_text((char[32]){0}, 32, nbytes)

typedef struct {
    uint64_t free_bytes, total, allocated, reserved, pools, cap;
    bool usage_known;
} situation;

static situation look(nd_caching *c)
{
    const nd_hooks *h = &c->backend.hooks;
    situation s = {.total = c->total};
    s.usage_known = h->usage && h->usage(h->ctx, &s.free_bytes, &s.total) == ND_OK && s.total;
    nd__lock_take(&c->lock);
    s.allocated = (uint64_t)c->stats.allocated_bytes.all.current;
    s.reserved = (uint64_t)c->stats.reserved_bytes.all.current;
    for (const nd_arena *a = c->arenas; a; a = a->next)
        s.pools += (uint64_t)a->reserved_bytes;
    s.cap = c->cap;
    nd__caching_leave(c);
    return s;
}

#define MOST_OF_ALL ((uint64_t)1 << 48) /* bytes; more than any address space has */

static const char *hint(const situation *s, const nd_request *r)
{
    uint64_t unused = s->reserved - s->allocated;
    if (r->capped)
        return "raise the cap (nd_memory_cap_set) or free arrays";
    if (r->size == 0 || r->requested >= MOST_OF_ALL || (s->total && r->requested > s->total))
        return "no device of this size: look at the shape, or work on parts of the array";
    if (unused >= r->size && unused - r->size >= s->reserved / 8)
        return "reserved memory is in pieces: try NDOCK_ALLOC_CONF=expandable_segments:1";
    if (s->pools >= r->size)
        return "release private pools, or create them with use_on_oom";
    if (s->usage_known && s->total > s->free_bytes + s->reserved + s->total / 4)
        return "other processes hold much of the device: stop them or use another device";
    return "free arrays, or use smaller ones";
}

static nd_status out_of_memory(nd_caching *c, const nd_request *r)
{
    nd_device *device = c->backend.device;
    nd__lock_take(&c->lock);
    c->stats.num_ooms++;
    c->stats.num_cap_rejections += r->capped;
    nd__caching_leave(c);
    nd__trace(ND_TRACE_OOM, device, 0, r->requested, r->stream, NULL);
    nd__run_oom_observers(device, r->requested);
    situation s = look(c);
    nd_text t = {0};
    nd__text_add(&t, "out of memory on %s: requested %s (%llu bytes, rounded to %llu)",
                 device ? device->name : "the device", SIZE(r->requested),
                 (unsigned long long)r->requested, (unsigned long long)r->size);
    if (s.usage_known)
        nd__text_add(&t, "; device total %s, free %s", SIZE(s.total), SIZE(s.free_bytes));
    else
        nd__text_add(&t, "; device total %s", s.total ? SIZE(s.total) : "unknown");
    nd__text_add(&t, "; allocated %s, reserved but unused %s, in private pools %s",
                 SIZE(s.allocated), SIZE(s.reserved - s.allocated), SIZE(s.pools));
    nd__text_add(&t, "; cap %s", s.cap ? SIZE(s.cap) : "none");
    if (s.usage_known && s.total > s.free_bytes + s.reserved)
        nd__text_add(&t, "; others use %s", SIZE(s.total - s.free_bytes - s.reserved));
    nd_status status = nd__fail(ND_ERR_MEMORY, "alloc", -1, "%s. Hint: %s",
                                t.data ? t.data : "out of memory", hint(&s, r));
    free(t.data);
    return status;
}

/* Whether the device had no such segment when it was last asked, and got nothing of ours since.
 * Others may have given it some, so that one of many requests asks again. */
static bool likely_full(nd_caching *c, const nd_request *r)
{
    enum { ASK_AGAIN = 64 };
    nd__lock_take(&c->lock);
    bool full = c->refused && r->segment_size >= c->refused && !c->any_oversize &&
                ++c->skipped % ASK_AGAIN != 0;
    nd__caching_leave(c);
    return full;
}

/* True: r->piece. False: nothing fits, or r->status. */
static bool climb(nd_caching *c, nd_request *r)
{
    if (nd__run_free_callbacks(c->backend.device, r->requested) && find_locked(c, r))
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

/* What the others gave: to the bins, or to the device. */
static bool look_again(nd_caching *c, nd_request *r)
{
    return find_locked(c, r) || (r->status == ND_OK && nd__grow(c, r, true)) ||
           (r->status == ND_OK && !r->conf->throw_early && borrow(c, r));
}

nd_status nd__ladder(nd_caching *c, nd_request *r)
{
    nd_attempt attempt;
    if (r->size == 0)
        return out_of_memory(c, r);
    nd__attempt_begin(&attempt, &c->backend.calls);
    bool found = climb(c, r);
    while (!found && r->status == ND_OK && nd__attempt_again(&attempt))
        found = look_again(c, r);
    nd__attempt_end(&attempt);
    return found ? (nd_status)ND_OK : r->status == ND_OK ? out_of_memory(c, r) : r->status;
}
