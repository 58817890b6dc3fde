/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Clocks, spans of bytes and histories of blocks, as history.h describes them. */
#include <stdlib.h>
#include "core/stream/history.h"

static nd_history *histories[ND_HISTORY_BUCKETS];
atomic_int nd__hazard_histories;
static int foreign_histories; /* those of them whose memory is not ours */

int nd__history_bucket(const void *p)
{
    return (int)(((uint64_t)(uintptr_t)p * UINT64_C(0x9e3779b97f4a7c15)) >> 56);
}

/* ---- clocks ---- */
uint64_t nd__clock_seen(const nd_clock *c, uint64_t stream)
{
    for (int i = 0; i < c->n; i++)
        if (c->ticks[i].stream == stream)
            return c->ticks[i].seq;
    return 0;
}

void nd__clock_advance(nd_clock *c, uint64_t stream, uint64_t seq)
{
    for (int i = 0; i < c->n; i++)
        if (c->ticks[i].stream == stream) {
            c->ticks[i].seq = seq > c->ticks[i].seq ? seq : c->ticks[i].seq;
            return;
        }
    if (c->n == c->room) {
        nd_tick *grown = realloc(c->ticks, (size_t)(c->room + 8) * sizeof *grown);
        if (!grown)
            return; /* an order forgotten: one wait too many, or a race reported that is none */
        c->ticks = grown;
        c->room += 8;
    }
    c->ticks[c->n++] = (nd_tick){stream, seq};
}

void nd__clock_join(nd_clock *to, const nd_clock *from)
{
    for (int i = 0; i < from->n; i++)
        nd__clock_advance(to, from->ticks[i].stream, from->ticks[i].seq);
}

/* ---- spans ---- */
static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a < 0 ? -a : a;
}

nd_span nd__span_of(const ndp_view *v, bool write)
{
    int64_t low = 0, high = 0, n = nd__itemsize(v->dtype), period = 0;
    (void)nd__extent(v->ndim, v->shape, v->stride, &low, &high); /* checked with the view */
    for (int d = 0; d < v->ndim; d++)
        period = v->shape[d] > 1 ? gcd(period, v->stride[d] * n) : period;
    nd_span s = {.mem = v->mem,
                 .low = v->offset_bytes + low * n,
                 .high = v->offset_bytes + high * n,
                 .period = period > n ? period : 0,
                 .item = n,
                 .write = write};
    s.phase = s.period ? ((v->offset_bytes % s.period) + s.period) % s.period : 0;
    return s;
}

/* Elements of both lie at their phase modulo a common period. */
static bool phases_meet(const nd_span *a, const nd_span *b)
{
    int64_t period = a->period && b->period ? gcd(a->period, b->period) : 0;
    if (period == 0)
        return true;
    int64_t apart = ((b->phase - a->phase) % period + period) % period;
    return apart < a->item || period - apart < b->item;
}

static bool conflict(const nd_span *a, const nd_span *b)
{
    return a->mem == b->mem && (a->write || b->write) && a->low < b->high && b->low < a->high &&
           phases_meet(a, b);
}

static bool covers(const nd_span *a, const nd_span *b)
{
    return a->mem == b->mem && !a->period && a->low <= b->low && b->high <= a->high;
}

/* ---- history ---- */
nd_history *nd__history_of(nd_device *device, ndp_mem *mem)
{
    nd_history **bucket = &histories[nd__history_bucket(mem)], *h = *bucket;
    while (h && h->mem != mem)
        h = h->next;
    if (!h && (h = calloc(1, sizeof *h)) != NULL) {
        *h = (nd_history){.next = *bucket, .mem = mem, .device = device};
        *bucket = h;
        atomic_fetch_add(&nd__hazard_histories, 1);
    }
    return h;
}

static void drop(nd_history *h, int i)
{
    h->accesses[i] = h->accesses[--h->n];
}

/* A write behind everything it covers makes that history; so does a stream's next read. */
void nd__history_append(nd_history *h, const nd_access *now)
{
    for (int i = h->n - 1; i >= 0; i--) {
        const nd_access *old = &h->accesses[i];
        if (covers(&now->at, &old->at) &&
            (now->at.write || (!old->at.write && old->stream == now->stream)))
            drop(h, i);
    }
    if (h->n == h->room) {
        nd_access *grown = realloc(h->accesses, (size_t)(h->room + 64) * sizeof *grown);
        if (!grown)
            return;
        h->accesses = grown;
        h->room += 64;
    }
    h->accesses[h->n++] = *now;
}

/* The first access not ordered before now, copied; what the host has waited for is dropped, since
 * all later work comes after it. */
static bool find_unordered(nd_history *h, const nd_clock *mine, const nd_clock *host,
                           const nd_access *now, nd_access *out)
{
    for (int i = h->n - 1; i >= 0; i--) {
        const nd_access *old = &h->accesses[i];
        if (nd__clock_seen(host, old->stream) >= old->seq) {
            drop(h, i);
        } else if (old->stream != now->stream && conflict(&old->at, &now->at) &&
                   nd__clock_seen(mine, old->stream) < old->seq) {
            *out = *old;
            return true;
        }
    }
    return false;
}

static uint64_t base_of(nd_history *h)
{
    const nd_device *d = h->device;
    if (!h->base && d->map.address && d->map.address(d->dev, h->mem, &h->base) != NDP_OK)
        h->base = 0;
    return h->base;
}

/* The access as seen from another block, which begins elsewhere. */
static nd_access seen_from(const nd_access *now, const nd_history *from, const nd_history *to)
{
    nd_access moved = *now;
    int64_t by = (int64_t)(from->base - to->base), period = now->at.period;
    moved.at.mem = to->mem;
    moved.at.low += by;
    moved.at.high += by;
    if (period)
        moved.at.phase = ((now->at.phase + by) % period + period) % period;
    return moved;
}

/* In the block's own history, and where foreign memory is about in those of other names for it. */
bool nd__history_conflict(nd_history *h, const nd_clock *mine, const nd_clock *host,
                          const nd_access *now, nd_access *out)
{
    if (find_unordered(h, mine, host, now, out))
        return true;
    for (int i = 0; foreign_histories && i < ND_HISTORY_BUCKETS; i++)
        for (nd_history *other = histories[i]; other; other = other->next) {
            if (other == h || other->device != h->device || !(other->foreign || h->foreign) ||
                !base_of(other) || !base_of(h))
                continue;
            const nd_access moved = seen_from(now, h, other);
            if (find_unordered(other, mine, host, &moved, out))
                return true;
        }
    return false;
}

void nd__history_foreign(nd_device *device, ndp_mem *mem, uint64_t address)
{
    nd_history *h = nd__history_of(device, mem);
    if (h) {
        foreign_histories += !h->foreign;
        h->foreign = true;
        h->base = address;
    }
}

void nd__history_drop(ndp_mem *mem)
{
    nd_history **at = &histories[nd__history_bucket(mem)], *h;
    while (*at && (*at)->mem != mem)
        at = &(*at)->next;
    if ((h = *at) != NULL) {
        *at = h->next;
        foreign_histories -= h->foreign;
        atomic_fetch_sub(&nd__hazard_histories, 1);
        free(h->accesses);
        free(h);
    }
}

void nd__history_empty_all(void)
{
    for (int i = 0; i < ND_HISTORY_BUCKETS; i++)
        for (nd_history *h = histories[i]; h; h = h->next)
            h->n = 0;
}
