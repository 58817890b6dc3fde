/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Private pools: segments apart from everybody else's, for a stretch of a thread's code or for the
 * capture of a graph. */
#include <stdlib.h>
#include "core/memory/caching/caching.h"

struct nd_pool {
    atomic_int refs; /* creation, retains, open scopes */
    uint64_t id;
    nd_device *device;
    nd_caching *caching;
    nd_arena *arena;
    nd_allocator *upstream; /* held by the arena's hooks; NULL: none */
};
/* The calling thread's open scopes, innermost first. */
typedef struct pool_scope {
    nd_pool *pool;
    struct pool_scope *outer;
} pool_scope;
ND_TLS pool_scope *scopes;
static atomic_uint_fast64_t pool_ids;
atomic_int nd__pool_scopes;

void nd__arena_init(nd_arena *a, nd_caching *c)
{
    for (int i = 0; i < 2; i++) {
        a->bin[i].arena = a;
        a->bin[i].small = i;
    }
    a->hooks = c->maker.hooks;
    a->users = 1;
}

void nd__arena_forget(nd_caching *c, nd_arena *a)
{
    if (a == &c->everybody || a->users || a->segments)
        return;
    nd_arena **at = &c->arenas;
    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
    a->next = c->dead_arenas;
    c->dead_arenas = a;
}

nd_arena *nd__pushed_arena(const nd_caching *c)
{
    const pool_scope *s = scopes;
    while (s && s->pool->caching != c)
        s = s->outer;
    return s ? s->pool->arena : NULL;
}

static nd_status route_capture(nd_caching *c, nd_request *r)
{
    const nd_hooks *h = &c->maker.hooks;
    uint64_t id = h->capture_id ? h->capture_id(h->ctx, r->stream) : 0;
    if (!id)
        return ND_OK;
    nd__lock_take(&c->lock);
    for (const nd_capture *k = c->captures; k && !r->arena; k = k->next)
        r->arena = k->id == id ? k->pool->arena : NULL;
    nd__caching_leave(c);
    r->in_capture = true;
    if (r->arena)
        return ND_OK;
    return nd__fail(ND_ERR_CAPTURE, "alloc", -1,
                    "the stream is in capture %llu, which has no memory pool here; begin the "
                    "capture through ndock, or allocate before it",
                    (unsigned long long)id);
}

nd_status nd__route_apart(nd_caching *c, nd_request *r)
{
    if (atomic_load_explicit(&c->capturing, memory_order_acquire))
        ND_RETURN_IF(route_capture(c, r));
    if (!r->arena)
        r->arena = nd__pushed_arena(c);
    if (!r->arena)
        r->arena = &c->everybody;
    r->bin = &r->arena->bin[r->size <= ND_SMALL_SIZE];
    return ND_OK;
}

static nd_arena *arena_new(nd_caching *c, const nd_hooks *hooks)
{
    nd_arena *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    nd__arena_init(a, c);
    a->id = atomic_fetch_add(&pool_ids, 1) + 1;
    if (hooks) {
        a->hooks = *hooks;
        a->own_hooks = true;
    }
    nd__lock_take(&c->lock);
    a->next = c->arenas;
    c->arenas = a;
    nd__caching_leave(c);
    return a;
}

static nd_status pool_new(nd_maker *m, const nd_hooks *hooks, nd_pool **out)
{
    nd_caching *c = (nd_caching *)m;
    nd_pool *pool = calloc(1, sizeof *pool);
    nd_arena *arena = pool ? arena_new(c, hooks) : NULL;
    if (!arena) {
        free(pool);
        return nd__fail(ND_ERR_MEMORY, "pool_create", -1, "no host memory for a pool");
    }
    atomic_fetch_add(&m->refs, 1);
    atomic_init(&pool->refs, 1);
    *pool =
        (nd_pool){.refs = 1, .id = arena->id, .device = m->device, .caching = c, .arena = arena};
    *out = pool;
    return ND_OK;
}

static nd_status pool_with(nd_maker *m, const nd_pool_opts *o, nd_pool **out)
{
    nd_hooks hooks;
    if (o->upstream)
        ND_RETURN_IF(nd__allocator_hooks(o->upstream, m->device, &hooks));
    nd_status status = pool_new(m, o->upstream ? &hooks : NULL, out);
    if (status != ND_OK && o->upstream)
        nd__allocator_hooks_release(&hooks);
    ND_RETURN_IF(status);
    nd_arena *arena = (*out)->arena;
    (*out)->upstream = o->upstream;
    arena->use_on_oom = o->use_on_oom != 0;
    arena->no_split = o->no_split != 0;
    return ND_OK;
}

nd_status nd__caching_pool(nd_maker *m, const nd_pool_opts *opts, nd_pool **out)
{
    nd_pool_opts o = {0};
    *out = NULL;
    if (opts && opts->size < NDP_END(nd_pool_opts, use_on_oom))
        return nd__fail(ND_ERR_ARGUMENT, "pool_create", 1,
                        "the options' size field is %u; set it to sizeof(nd_pool_opts)",
                        (unsigned)opts->size);
    if (opts)
        memcpy(&o, opts, opts->size < sizeof o ? opts->size : sizeof o);
    if (nd__is_caching(m))
        return pool_with(m, &o, out);
    return nd__fail(ND_ERR_UNSUPPORTED, "pool_create", 0,
                    "the device's allocator is \"%s\"; pools are parts of \"caching\"",
                    m->type->name);
}

nd_status nd_pool_create(nd_device *device, const nd_pool_opts *opts, nd_pool **out)
{
    nd_status status = ND_OK;
    nd_maker *m;
    ND_OUT("pool_create", 2, out, NULL);
    device = nd__or_current(device, &status);
    if (!device)
        return status;
    ND_RETURN_IF(nd__device_maker(device, &m));
    return nd__caching_pool(m, opts, out);
}

nd_pool *nd_pool_retain(nd_pool *pool)
{
    if (pool)
        atomic_fetch_add_explicit(&pool->refs, 1, memory_order_relaxed);
    return pool;
}

void nd_pool_release(nd_pool *pool)
{
    if (!pool || atomic_fetch_sub_explicit(&pool->refs, 1, memory_order_acq_rel) != 1)
        return;
    nd_caching *c = pool->caching;
    nd__lock_take(&c->lock);
    pool->arena->users--;
    nd__arena_forget(c, pool->arena);
    nd__caching_leave(c);
    (void)nd__release(c, &(nd_giving){.unused_pools = true});
    nd__maker_release(&c->maker);
    free(pool);
}

/* The pool's own source of memory may want to know. */
static nd_status tell(const nd_pool *pool, bool begin)
{
    return pool->upstream ? nd__allocator_pool(pool->upstream, pool->device, pool->id, begin)
                          : (nd_status)ND_OK;
}

nd_status nd_pool_push(nd_pool *pool)
{
    if (!pool)
        return nd__fail(ND_ERR_ARGUMENT, "pool_push", 0, "pool is NULL");
    pool_scope *s = malloc(sizeof *s);
    if (!s)
        return nd__fail(ND_ERR_MEMORY, "pool_push", -1, "no host memory for a scope");
    nd_status status = tell(pool, true);
    if (status != ND_OK) {
        free(s);
        return status;
    }
    *s = (pool_scope){nd_pool_retain(pool), scopes};
    scopes = s;
    atomic_fetch_add(&nd__pool_scopes, 1);
    return ND_OK;
}

nd_status nd_pool_pop(nd_pool *pool)
{
    pool_scope *s = scopes;
    ND_NEED("pool_pop", 0, pool);
    if (!s || s->pool != pool)
        return nd__fail(ND_ERR_STATE, "pool_pop", 0,
                        s ? "the calling thread pushed another pool later: pop pool %llu first"
                          : "the calling thread has pushed no pool",
                        s ? (unsigned long long)s->pool->id : 0ull);
    scopes = s->outer;
    atomic_fetch_sub(&nd__pool_scopes, 1);
    free(s);
    nd_status status = tell(pool, false);
    nd_pool_release(pool);
    return status;
}

uint64_t nd_pool_id(const nd_pool *pool)
{
    ND_NEED_OR("pool_id", 0, pool, 0);
    return pool->id;
}

int32_t nd_pool_use_count(const nd_pool *pool)
{
    ND_NEED_OR("pool_use_count", 0, pool, 0);
    return atomic_load(&pool->refs);
}

static int64_t read_locked(const nd_pool *pool, const int64_t *field)
{
    nd__lock_take(&pool->caching->lock);
    int64_t value = *field;
    nd__caching_leave(pool->caching);
    return value;
}

int64_t nd_pool_segments(const nd_pool *pool)
{
    ND_NEED_OR("pool_segments", 0, pool, 0);
    return read_locked(pool, &pool->arena->segments);
}

int64_t nd_pool_reserved_bytes(const nd_pool *pool)
{
    ND_NEED_OR("pool_reserved_bytes", 0, pool, 0);
    return read_locked(pool, &pool->arena->reserved_bytes);
}

nd_status nd__caching_capture_begin(nd_maker *m, uint64_t id, nd_pool *pool, nd_pool **out)
{
    nd_caching *c = (nd_caching *)m;
    *out = NULL;
    nd_capture *k = malloc(sizeof *k);
    if (!k)
        return nd__fail(ND_ERR_MEMORY, "graph_begin", -1, "no host memory for a capture");
    nd_status status = pool ? ND_OK : pool_new(m, NULL, out);
    if (status != ND_OK) {
        free(k);
        return status;
    }
    *out = pool ? nd_pool_retain(pool) : *out;
    pool = nd_pool_retain(*out); /* the capture's own, until its end */
    nd__lock_take(&c->lock);
    *k = (nd_capture){id, pool, c->captures};
    c->captures = k;
    pool->arena->captured = true;
    atomic_fetch_add(&c->capturing, 1);
    nd__caching_leave(c);
    return ND_OK;
}

nd_status nd__caching_capture_end(nd_maker *m, uint64_t id)
{
    nd_caching *c = (nd_caching *)m;
    nd__lock_take(&c->lock);
    nd_capture **at = &c->captures, *k;
    while (*at && (*at)->id != id)
        at = &(*at)->next;
    k = *at;
    if (k) {
        *at = k->next;
        atomic_fetch_sub(&c->capturing, 1);
        nd__process_events(c);
    }
    nd__caching_leave(c);
    if (!k)
        return nd__fail(ND_ERR_STATE, "graph_end", -1, "no capture %llu is under way here",
                        (unsigned long long)id);
    nd_pool_release(k->pool);
    free(k);
    (void)nd__release(c, &(nd_giving){.unused_pools = true}); /* put off until now */
    return ND_OK;
}
