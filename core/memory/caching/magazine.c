/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Magazines: small blocks of host-visible devices that a thread freed and that are kept for its own
 * next request. To the bins these blocks are live. A magazine keeps the difference for the
 * statistics, and settles it before its thread does anything else with the allocator or a query
 * looks. A magazine's lock is taken by its own thread, and by queries and flushes. Order of locks:
 * registry, magazine, allocator. */
#include <stdlib.h>
#include "core/memory/caching/caching.h"

#define CLASSES (int)(ND_MAGAZINE_SIZE / ND_MIN_BLOCK)
#define CLASS_BYTES 65536 /* the most bytes kept of one size */

typedef struct {
    int64_t now, peak, in; /* since it was settled; what went out is in - now */
} difference;
struct nd_magazine {
    nd_lock lock;
    atomic_uint_fast64_t number; /* of the allocator; 0: it is gone */
    nd_caching *owner;
    nd_magazine *next; /* of the allocator */
    nd_magazine *next_of_thread;
    difference blocks, bytes, requested;
    nd_piece *list[CLASSES];
    int32_t count[CLASSES];
};

ND_TLS int registry_depth;
ND_TLS nd_magazine *magazines;
static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t exit_key;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;

static void add(difference *d, int64_t n)
{
    d->now += n;
    d->in += n;
    d->peak = d->now > d->peak ? d->now : d->peak;
}

static void subtract(difference *d, int64_t n)
{
    d->now -= n;
}

static void settle_stat(nd_memory_stat *s, const difference *d)
{
    int64_t high = nd__stat_now(s) + d->peak;
    s->peak = high > s->peak ? high : s->peak;
    s->current += d->in;
    s->freed += d->in - d->now;
}

/* Adds the difference to a statistic. All of a magazine's blocks count as small. */
static void settle(nd_memory_stat3 *s, const difference *d)
{
    settle_stat(&s->all, d);
    settle_stat(&s->small_pool, d);
}

/* Under both locks: adds all differences. */
static void settle_all(nd_caching *c, nd_magazine *m)
{
    settle(&c->stats.allocation, &m->blocks);
    settle(&c->stats.active, &m->blocks);
    settle(&c->stats.allocated_bytes, &m->bytes);
    settle(&c->stats.active_bytes, &m->bytes);
    settle(&c->stats.requested_bytes, &m->requested);
    m->blocks = m->bytes = m->requested = (difference){0};
}

static void empty_class(nd_caching *c, nd_magazine *m, int k, int32_t keep)
{
    while (m->count[k] > keep) {
        nd_piece *p = m->list[k];
        m->list[k] = p->chain;
        m->count[k]--;
        p->chain = NULL;
        (void)nd__join(c, p, ND_PIECE_FREE);
    }
}

static void flush(nd_caching *c, nd_magazine *m)
{
    nd__lock_take(&c->lock);
    settle_all(c, m);
    for (int k = 0; k < CLASSES; k++)
        empty_class(c, m, k, 0);
    nd__caching_leave(c);
}

static void registry_take(void)
{
    if (registry_depth++ == 0)
        pthread_mutex_lock(&registry);
}

static void registry_drop(void)
{
    if (--registry_depth == 0)
        pthread_mutex_unlock(&registry);
}

static void unlist(nd_magazine *m)
{
    nd_magazine **at = &m->owner->magazines;
    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
}

static void thread_exit(void *arg)
{
    registry_take();
    magazines = NULL;
    for (nd_magazine *m = arg, *next; m; m = next) {
        next = m->next_of_thread;
        if (m->owner) {
            nd__lock_take(&m->lock);
            flush(m->owner, m);
            nd__lock_drop(&m->lock);
            unlist(m);
        }
        free(m);
    }
    registry_drop();
}

static void key_create(void)
{
    (void)pthread_key_create(&exit_key, thread_exit);
}

/* Finds the thread's magazine of the allocator and brings it to the front of the thread's list. */
static __attribute__((noinline)) nd_magazine *search(const nd_caching *c)
{
    nd_magazine **at = &magazines;
    while (*at && atomic_load_explicit(&(*at)->number, memory_order_relaxed) != c->number)
        at = &(*at)->next_of_thread;
    nd_magazine *m = *at;
    if (m) {
        *at = m->next_of_thread;
        m->next_of_thread = magazines;
        magazines = m;
        (void)pthread_setspecific(exit_key, m);
    }
    return m;
}

static inline nd_magazine *find(const nd_caching *c)
{
    nd_magazine *m = magazines;
    return m && atomic_load_explicit(&m->number, memory_order_relaxed) == c->number ? m : search(c);
}

static nd_magazine *make(nd_caching *c)
{
    pthread_once(&exit_once, key_create);
    nd_magazine *m = calloc(1, sizeof *m);
    registry_take();
    if (m && !atomic_load(&c->magazines_closed)) {
        atomic_init(&m->number, c->number);
        m->owner = c;
        m->next = c->magazines;
        c->magazines = m;
        m->next_of_thread = magazines;
        magazines = m;
        (void)pthread_setspecific(exit_key, m);
    } else {
        free(m);
        m = NULL;
    }
    registry_drop();
    return m;
}

static inline bool elsewhere(const nd_caching *c)
{
    return atomic_load_explicit(&nd__pool_scopes, memory_order_relaxed) && nd__pushed_arena(c);
}

nd_piece *nd__magazine_pop(nd_caching *c, const nd_conf *conf, uint64_t nbytes)
{
    nd_magazine *m = elsewhere(c) ? NULL : find(c);
    if (!m)
        return NULL;
    uint64_t k = (nd__round_size(conf, nbytes) - 1) / ND_MIN_BLOCK;
    if (k >= (uint64_t)CLASSES)
        return NULL;
    nd__lock_take(&m->lock);
    nd_piece *p = m->list[k];
    if (p) {
        m->list[k] = p->chain;
        m->count[k]--;
        p->chain = NULL;
        p->b.requested = nbytes;
        add(&m->blocks, 1);
        add(&m->bytes, (int64_t)p->b.nbytes);
        add(&m->requested, (int64_t)nbytes);
    }
    nd__lock_drop(&m->lock);
    return p;
}

bool nd__magazine_push(nd_caching *c, nd_piece *p)
{
    if (p->segment->bin->arena != &c->common || !nd__conf()->thread_cache)
        return false;
    nd_magazine *m = find(c);
    if (!m && !(m = make(c)))
        return false;
    int k = (int)((p->b.nbytes - 1) / ND_MIN_BLOCK);
    nd__lock_take(&m->lock);
    bool open = m->owner != NULL;
    if (open) {
        nd__trace(ND_TRACE_FREE_COMPLETED, c->backend.device, p->segment->address + p->b.offset,
                  p->b.nbytes, p->queue->stream, NULL);
        subtract(&m->blocks, 1);
        subtract(&m->bytes, (int64_t)p->b.nbytes);
        subtract(&m->requested, (int64_t)p->b.requested);
        p->chain = m->list[k];
        m->list[k] = p;
        if (++m->count[k] * (int64_t)p->b.nbytes > CLASS_BYTES) {
            nd__lock_take(&c->lock);
            settle_all(c, m);
            empty_class(c, m, k, m->count[k] / 2);
            nd__caching_leave(c);
        }
    }
    nd__lock_drop(&m->lock);
    return open;
}

void nd__magazine_settle(nd_caching *c)
{
    nd_magazine *m = find(c);
    if (!m)
        return;
    nd__lock_take(&m->lock);
    if (m->owner && (m->blocks.in || m->blocks.now)) {
        nd__lock_take(&c->lock);
        settle_all(c, m);
        nd__caching_leave(c);
    }
    nd__lock_drop(&m->lock);
}

void nd__magazines_flush(nd_caching *c, bool close)
{
    if (!c->per_thread)
        return;
    registry_take();
    if (close)
        atomic_store(&c->magazines_closed, true);
    for (nd_magazine *m = c->magazines, *next; m; m = next) {
        next = m->next;
        nd__lock_take(&m->lock);
        flush(c, m);
        if (close) {
            m->owner = NULL;
            atomic_store_explicit(&m->number, 0, memory_order_relaxed);
        }
        nd__lock_drop(&m->lock);
    }
    if (close)
        c->magazines = NULL;
    registry_drop();
}

void nd__caching_fork(nd_backend *backend, nd_fork now)
{
    nd_caching *c = (nd_caching *)backend;
    const bool take = now == ND_FORK_TAKE;
    if (take)
        registry_take();
    for (nd_magazine *m = c->magazines; m; m = m->next)
        (take ? nd__lock_take : nd__lock_drop)(&m->lock);
    (take ? nd__lock_take : nd__lock_drop)(&c->lock);
    nd__calls_fork(&backend->calls, now);
    if (!take)
        registry_drop();
}
