/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The plan cache of a device: plans by key, least recently used first to go.
 *
 * A plan is kept (found by its key, counted against the limits) or retired. Whichever it is, it is
 * in use while somebody has acquired it or while work with it is queued. Of a kept plan only the
 * streams that have used it are noted, which costs a call nothing on the device; the ends of what
 * they have queued are marked by events when the plan is retired. A retired plan is destroyed when
 * these have passed; that is looked at whenever the cache is used, since nothing here waits. Plans
 * belong to the device and not to threads, so that nothing is left behind by a thread that ends. */
#include <stdlib.h>
#include "core/plugin/service/service.h"

enum { BUCKETS = 256, DEFAULT_MAX_SIZE = 4096, STREAMS_AT_FIRST = 8 };

typedef struct mark {
    ndp_event *event;
    struct mark *next;
} mark;

struct ndh_plan {
    nd_plan_cache *cache;
    void *value;
    void (*destroy)(void *value);
    uint64_t nbytes, hash;
    int64_t users;
    bool kept, immortal;     /* immortal: in a graph, or its end could not be marked */
    int on, room;            /* streams whose ends are not marked; how many fit */
    uint64_t *streams;       /* their ids */
    mark *first, **last;     /* ends of work, oldest first */
    ndh_plan *newer, *older; /* kept ones, by use */
    ndh_plan *chain;         /* of the bucket */
    ndh_plan *retired;       /* next retired one */
    size_t key_nbytes;
    char key[];
};

struct nd_plan_cache {
    pthread_mutex_t lock;
    nd_plan_hooks hooks;
    ndh_plan *bucket[BUCKETS];
    ndh_plan *newest, *oldest, *retired;
    int64_t max_size, max_bytes, count, nbytes, hits, misses, evictions, in_flight;
};

nd_status nd__plan_cache_create(const nd_plan_hooks *hooks, nd_plan_cache **out)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return nd__fail(ND_ERR_MEMORY, "plan_cache", -1, "no memory for a plan cache");
    pthread_mutex_init(&(*out)->lock, NULL);
    (*out)->hooks = *hooks;
    (*out)->max_size = DEFAULT_MAX_SIZE;
    (*out)->max_bytes = INT64_MAX;
    return ND_OK;
}

/* FNV-1a of words of eight bytes, whose upper half is mixed into the lower: keys are short and made
 * by plug-ins. */
static uint64_t hash_of(const void *key, size_t n)
{
    const char *p = key;
    uint64_t h = UINT64_C(0xcbf29ce484222325), word = 0;
    for (; n >= sizeof word; n -= sizeof word, p += sizeof word) {
        memcpy(&word, p, sizeof word);
        h = (h ^ word) * UINT64_C(0x100000001b3);
        h ^= h >> 32;
    }
    for (; n > 0; n--, p++)
        h = (h ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
    return h ^ h >> 32;
}

/* ---- under the lock ---- */

static ndh_plan *find(nd_plan_cache *c, uint64_t hash, const void *key, size_t n)
{
    ndh_plan *p = c->bucket[hash % BUCKETS];
    while (p && (p->hash != hash || p->key_nbytes != n || memcmp(p->key, key, n) != 0))
        p = p->chain;
    return p;
}

static void unlink_use(nd_plan_cache *c, ndh_plan *p)
{
    *(p->newer ? &p->newer->older : &c->newest) = p->older;
    *(p->older ? &p->older->newer : &c->oldest) = p->newer;
}

static void link_newest(nd_plan_cache *c, ndh_plan *p)
{
    p->newer = NULL;
    p->older = c->newest;
    *(c->newest ? &c->newest->newer : &c->oldest) = p;
    c->newest = p;
}

static void keep(nd_plan_cache *c, ndh_plan *p)
{
    p->kept = true;
    p->chain = c->bucket[p->hash % BUCKETS];
    c->bucket[p->hash % BUCKETS] = p;
    link_newest(c, p);
    c->count++;
    c->nbytes += (int64_t)p->nbytes;
}

static void push_retired(nd_plan_cache *c, ndh_plan *p)
{
    p->retired = c->retired;
    c->retired = p;
}

/* No longer kept. Whoever has acquired it puts it on the retired list when he is done. */
static void retire(nd_plan_cache *c, ndh_plan *p)
{
    ndh_plan **at = &c->bucket[p->hash % BUCKETS];
    while (*at != p)
        at = &(*at)->chain;
    *at = p->chain;
    unlink_use(c, p);
    p->kept = false;
    c->count--;
    c->nbytes -= (int64_t)p->nbytes;
    c->in_flight++;
    if (!p->users)
        push_retired(c, p);
}

/* That the stream has work with the plan queued; false: there is no room for that. */
static bool note_stream(ndh_plan *p, uint64_t stream)
{
    for (int i = 0; i < p->on; i++)
        if (p->streams[i] == stream)
            return true;
    if (p->on == p->room)
        return false;
    p->streams[p->on++] = stream;
    return true;
}

static bool add_room(ndh_plan *p)
{
    const int room = p->room ? 2 * p->room : STREAMS_AT_FIRST;
    uint64_t *grown = realloc(p->streams, (size_t)room * sizeof *grown);
    if (!grown)
        return false;
    p->streams = grown;
    p->room = room;
    return true;
}

static void shrink(nd_plan_cache *c)
{
    while (c->oldest && (c->count > c->max_size || c->nbytes > c->max_bytes)) {
        retire(c, c->oldest);
        c->evictions++;
    }
}

/* ---- without the lock ---- */

static void free_plan(ndh_plan *p)
{
    nd_plan_hooks *hooks = &p->cache->hooks;
    while (p->first) {
        mark *m = p->first;
        p->first = m->next;
        hooks->give_back(hooks->ctx, m->event);
        free(m);
    }
    p->destroy(p->value);
    free(p->streams);
    free(p);
}

/* ---- ends of work ---- */

/* An event at the end of what the stream has queued; NULL: that has been reached, or *status says
 * why there is none: ND_ERR_NOT_READY, to be asked again. */
static mark *mark_end(const nd_plan_hooks *hooks, uint64_t stream, nd_status *status)
{
    ndp_event *event = NULL;
    *status = hooks->record(hooks->ctx, stream, &event);
    if (*status != ND_OK || !event)
        return NULL;
    mark *m = malloc(sizeof *m);
    if (m) {
        *m = (mark){.event = event};
        return m;
    }
    hooks->give_back(hooks->ctx, event);
    *status = ND_ERR_MEMORY;
    return NULL;
}

/* The ends of these streams become marks of the plan; the ids of those that cannot be marked now come
 * first, and their number is returned. *failed: there is an end that cannot be marked at all. */
static int mark_each(nd_plan_cache *c, uint64_t *streams, int n, mark **made, bool *failed)
{
    int later = 0;
    for (int i = 0; i < n; i++) {
        nd_status status;
        mark *m = mark_end(&c->hooks, streams[i], &status);
        if (m) {
            m->next = *made;
            *made = m;
        } else if (status == ND_ERR_NOT_READY)
            streams[later++] = streams[i];
        else
            *failed |= status != ND_OK;
    }
    return later;
}

/* Marks the ends of the streams that are noted; those that cannot be marked now stay noted. Takes the
 * lock, but marks without it: recording takes locks of streams. */
static void mark_ends(nd_plan_cache *c, ndh_plan *p)
{
    mark *made = NULL;
    bool failed = false;
    pthread_mutex_lock(&c->lock);
    uint64_t *streams = p->streams;
    const int n = p->on;
    p->streams = NULL;
    p->on = p->room = 0;
    pthread_mutex_unlock(&c->lock);
    const int later = mark_each(c, streams, n, &made, &failed);
    pthread_mutex_lock(&c->lock);
    for (int i = 0; i < later; i++)
        failed |= !note_stream(p, streams[i]) && !(add_room(p) && note_stream(p, streams[i]));
    while (made) {
        mark *m = made;
        made = m->next;
        m->next = NULL;
        *p->last = m;
        p->last = &m->next;
    }
    p->immortal |= failed;
    pthread_mutex_unlock(&c->lock);
    free(streams);
}

/* Drops the marks that have passed, oldest first, up to the first that has not; true: none is left,
 * and no stream without one. A lost device does no more work. */
static bool passed(nd_plan_cache *c, ndh_plan *p)
{
    const nd_plan_hooks *hooks = &c->hooks;
    if (p->on)
        mark_ends(c, p);
    while (p->first) {
        mark *m = p->first;
        int32_t done = 0;
        nd_status status = hooks->query(hooks->ctx, m->event, &done);
        if (status != ND_ERR_LOST && (status != ND_OK || !done))
            return false;
        p->first = m->next;
        if (!p->first)
            p->last = &p->first;
        hooks->give_back(hooks->ctx, m->event);
        free(m);
    }
    return !p->immortal && !p->on;
}

/* Destroys the retired plans that nothing uses any more. The list is taken as a whole, so that the
 * device is asked, and destroy called, without the lock. */
static void sweep(nd_plan_cache *c)
{
    pthread_mutex_lock(&c->lock);
    ndh_plan *list = c->retired;
    c->retired = NULL;
    pthread_mutex_unlock(&c->lock);
    int64_t gone = 0;
    ndh_plan *rest = NULL, *next;
    for (ndh_plan *p = list; p; p = next) {
        next = p->retired;
        if (passed(c, p)) {
            free_plan(p);
            gone++;
        } else {
            p->retired = rest;
            rest = p;
        }
    }
    if (!list)
        return;
    pthread_mutex_lock(&c->lock);
    c->in_flight -= gone;
    for (ndh_plan *p = rest; p; p = next) {
        next = p->retired;
        push_retired(c, p);
    }
    pthread_mutex_unlock(&c->lock);
}

void nd__plan_cache_destroy(nd_plan_cache *c)
{
    if (!c)
        return;
    nd__plan_cache_clear(c);
    for (ndh_plan *p = c->retired, *next; p; p = next) {
        next = p->retired;
        mark_ends(c, p);
        for (mark *m = p->first; m; m = m->next)
            (void)c->hooks.synchronize(c->hooks.ctx, m->event);
        free_plan(p);
    }
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static nd_status new_plan(nd_plan_cache *c, uint64_t hash, const void *key, size_t n,
                          int32_t (*make)(void *, void **, uint64_t *), void *arg, ndh_plan **out)
{
    ndh_plan *p = calloc(1, sizeof *p + n);
    *out = NULL;
    if (!p)
        return nd__fail(ND_ERR_MEMORY, "plan_cache", -1,
                        "no memory for a plan with a key of %zu bytes", n);
    nd_status status = make(arg, &p->value, &p->nbytes);
    if (status != ND_OK) {
        free(p);
        return status;
    }
    p->cache = c;
    p->hash = hash;
    p->users = 1;
    p->last = &p->first;
    p->key_nbytes = n;
    memcpy(p->key, key, n);
    *out = p;
    return ND_OK;
}

/* Keeps p, unless another thread has made a plan of the same key meanwhile: then that one is used,
 * and p is the caller's to free. */
static ndh_plan *settle(nd_plan_cache *c, ndh_plan *p)
{
    pthread_mutex_lock(&c->lock);
    ndh_plan *use = find(c, p->hash, p->key, p->key_nbytes);
    if (use) {
        use->users++;
        unlink_use(c, use);
        link_newest(c, use);
    } else {
        use = p;
        if (c->max_size > 0 && p->nbytes <= (uint64_t)c->max_bytes)
            keep(c, p);
        else
            c->in_flight++;
        shrink(c);
    }
    pthread_mutex_unlock(&c->lock);
    return use;
}

nd_status nd__plan_acquire(nd_plan_cache *c, const void *key, size_t key_nbytes,
                           int32_t (*make)(void *arg, void **value, uint64_t *nbytes),
                           void (*destroy)(void *value), void *arg, ndh_plan **out, void **value)
{
    uint64_t hash = hash_of(key, key_nbytes);
    *out = NULL;
    *value = NULL;
    pthread_mutex_lock(&c->lock);
    ndh_plan *p = find(c, hash, key, key_nbytes);
    *(p ? &c->hits : &c->misses) += 1;
    if (p) {
        p->users++;
        unlink_use(c, p);
        link_newest(c, p);
    }
    pthread_mutex_unlock(&c->lock);
    if (!p) {
        sweep(c); /* a new plan wants memory */
        ND_RETURN_IF(new_plan(c, hash, key, key_nbytes, make, arg, &p));
        p->destroy = destroy;
        ndh_plan *made = p;
        p = settle(c, made);
        if (p != made)
            free_plan(made);
        sweep(c);
    }
    *out = p;
    *value = p->value;
    return ND_OK;
}

/* Drops the marks of a kept plan that it has passed. */
static void drop_passed(nd_plan_cache *c, ndh_plan *p)
{
    const nd_plan_hooks *hooks = &c->hooks;
    for (mark *m = NULL;; free(m)) {
        int32_t done = 0;
        pthread_mutex_lock(&c->lock);
        m = p->first;
        if (m && (hooks->query(hooks->ctx, m->event, &done) != ND_OK || !done))
            m = NULL;
        if (m)
            p->first = m->next;
        if (!p->first)
            p->last = &p->first;
        pthread_mutex_unlock(&c->lock);
        if (!m)
            return;
        hooks->give_back(hooks->ctx, m->event);
    }
}

/* Many streams use the plan, or have: the ends of those that can be marked now are. */
static bool make_room(nd_plan_cache *c, ndh_plan *p, uint64_t stream)
{
    if (p->room) {
        pthread_mutex_unlock(&c->lock);
        mark_ends(c, p);
        drop_passed(c, p);
        pthread_mutex_lock(&c->lock);
    }
    return note_stream(p, stream) || (add_room(p) && note_stream(p, stream));
}

void nd__plan_release(ndh_plan *p, ndp_stream *stream)
{
    nd_plan_cache *c = p->cache;
    const nd_plan_hooks *hooks = &c->hooks;
    uint64_t id = 0;
    bool unknown = (hooks->captures && hooks->captures(hooks->ctx, stream)) ||
                   !hooks->stream_id(hooks->ctx, stream, &id);
    pthread_mutex_lock(&c->lock);
    if (!unknown && id && !note_stream(p, id))
        unknown = !make_room(c, p, id);
    p->immortal |= unknown;
    if (--p->users == 0 && !p->kept)
        push_retired(c, p);
    const bool any = c->retired != NULL;
    pthread_mutex_unlock(&c->lock);
    if (any)
        sweep(c);
}

nd_status nd__plan_cache_limit(nd_plan_cache *c, int64_t max_size, int64_t max_bytes)
{
    pthread_mutex_lock(&c->lock);
    c->max_size = max_size >= 0 ? max_size : c->max_size;
    c->max_bytes = max_bytes >= 0 ? max_bytes : c->max_bytes;
    shrink(c);
    pthread_mutex_unlock(&c->lock);
    sweep(c);
    return ND_OK;
}

void nd__plan_cache_clear(nd_plan_cache *c)
{
    pthread_mutex_lock(&c->lock);
    while (c->oldest)
        retire(c, c->oldest);
    pthread_mutex_unlock(&c->lock);
    sweep(c);
}

void nd__plan_cache_stats(nd_plan_cache *c, nd_plan_stats *out)
{
    sweep(c);
    pthread_mutex_lock(&c->lock);
    out->max_size = c->max_size;
    out->max_bytes = c->max_bytes;
    out->count = c->count;
    out->nbytes = c->nbytes;
    out->hits = c->hits;
    out->misses = c->misses;
    out->evictions = c->evictions;
    out->in_flight = c->in_flight;
    pthread_mutex_unlock(&c->lock);
}

void nd__plan_cache_lock(nd_plan_cache *c, bool take)
{
    (void)(take ? pthread_mutex_lock(&c->lock) : pthread_mutex_unlock(&c->lock));
}
