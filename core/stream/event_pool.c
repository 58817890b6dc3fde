/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The pool that handles of events come from, and which stream each mark was last recorded on. */
#include <stdlib.h>
#include "core/stream/streams.h"

/* Free handles by flags. */
#define EVENTS_AT_FIRST 8
/* Where a mark was last recorded: a fault may show up when the mark is all that is known. */
typedef struct {
    ndp_event *event;
    uint64_t stream;
} mark_origin;
struct nd_event_pool {
    pthread_mutex_t lock;
    struct {
        ndp_event **free;
        int count, room;
        bool filled;
    } kinds[ND_EVENT_KINDS];
    mark_origin *origins; /* open addressing; origin_room is a power of two, or 0 */
    size_t n_origins, origin_room;
};

nd_status nd__events_open(nd_device *d)
{
    if (!d->has_stream)
        return ND_OK;
    d->events = calloc(1, sizeof *d->events);
    if (!d->events)
        return nd__fail(ND_ERR_MEMORY, "device", -1, "no memory for a pool of events");
    pthread_mutex_init(&d->events->lock, NULL);
    return ND_OK;
}

static nd_status make_event(nd_device *d, int32_t flags, ndp_event **out)
{
    nd_status status = d->stream.event_create(d->dev, (uint64_t)flags, out);
    if (status != ND_OK)
        nd__error_context("event_create", d->name, d->slot->name);
    return status;
}

/* The first asker of a kind leaves some for the next ones, so that a steady state makes none. */
static void fill(nd_device *d, int32_t flags)
{
    ndp_event *made[EVENTS_AT_FIRST];
    int n = 0;
    while (n < EVENTS_AT_FIRST && make_event(d, flags, &made[n]) == ND_OK)
        n++;
    while (n > 0)
        nd__event_give(d, flags, made[--n]);
}

nd_status nd__event_take(nd_device *d, int32_t flags, ndp_event **out)
{
    nd_event_pool *pool = d->events;
    *out = NULL;
    pthread_mutex_lock(&pool->lock);
    bool first = !pool->kinds[flags].filled;
    pool->kinds[flags].filled = true;
    pthread_mutex_unlock(&pool->lock);
    if (first)
        fill(d, flags);
    pthread_mutex_lock(&pool->lock);
    if (pool->kinds[flags].count)
        *out = pool->kinds[flags].free[--pool->kinds[flags].count];
    pthread_mutex_unlock(&pool->lock);
    return *out ? (nd_status)ND_OK : make_event(d, flags, out);
}

void nd__event_give(nd_device *d, int32_t flags, ndp_event *handle)
{
    nd_event_pool *pool = d->events;
    if (!handle || nd__out_of_reach(d))
        return;
    if (flags & ND_EVENT_INTERPROCESS) { /* other processes may know its name */
        d->stream.event_destroy(d->dev, handle);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    int count = pool->kinds[flags].count, room = pool->kinds[flags].room;
    if (count == room) {
        ndp_event **grown = realloc(pool->kinds[flags].free, (size_t)(room + 16) * sizeof *grown);
        if (grown) {
            pool->kinds[flags].free = grown;
            pool->kinds[flags].room = room += 16;
        }
    }
    bool kept = count < room;
    if (kept)
        pool->kinds[flags].free[pool->kinds[flags].count++] = handle;
    pthread_mutex_unlock(&pool->lock);
    if (!kept)
        d->stream.event_destroy(d->dev, handle);
}

/* ---- where marks are ---- */
static mark_origin *origin_at(mark_origin *all, size_t room, const ndp_event *event)
{
    size_t i = (size_t)((uint64_t)(uintptr_t)event * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    for (i &= room - 1; all[i].event && all[i].event != event; i = (i + 1) & (room - 1))
        ;
    return &all[i];
}

static bool grow_origins(nd_event_pool *pool)
{
    size_t room = pool->origin_room ? 2 * pool->origin_room : 64;
    mark_origin *all = calloc(room, sizeof *all);
    if (!all)
        return false;
    for (size_t i = 0; i < pool->origin_room; i++)
        if (pool->origins[i].event)
            *origin_at(all, room, pool->origins[i].event) = pool->origins[i];
    free(pool->origins);
    pool->origins = all;
    pool->origin_room = room;
    return true;
}

void nd__mark_remember(nd_device *d, ndp_event *event, uint64_t stream)
{
    nd_event_pool *pool = d->events;
    pthread_mutex_lock(&pool->lock);
    if (2 * pool->n_origins < pool->origin_room || grow_origins(pool)) {
        mark_origin *at = origin_at(pool->origins, pool->origin_room, event);
        pool->n_origins += !at->event;
        *at = (mark_origin){event, stream};
    }
    pthread_mutex_unlock(&pool->lock);
}

uint64_t nd__mark_stream(nd_device *d, ndp_event *event)
{
    nd_event_pool *pool = d->events;
    uint64_t id = 0;
    pthread_mutex_lock(&pool->lock);
    if (pool->origin_room)
        id = origin_at(pool->origins, pool->origin_room, event)->stream;
    pthread_mutex_unlock(&pool->lock);
    return id;
}
