/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Private pools, as programs have them: segments apart from the common ones, for a stretch of a
 * thread's code or for the capture of a graph. */
#include <stdlib.h>
#include "core/memory/caching/caching.h"
#include "core/memory/pluggable/pluggable.h"

struct nd_pool {
    atomic_int refs; /* creation, retains, open scopes */
    uint64_t id;
    nd_device *device;
    nd_caching *caching;
    nd_arena *arena;
    nd_allocator *upstream; /* held by the arena's hooks; NULL: none */
};
static atomic_uint_fast64_t pool_ids;

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

static nd_status pool_new(nd_backend *backend, const nd_hooks *hooks, nd_pool **out)
{
    nd_caching *c = (nd_caching *)backend;
    nd_pool *pool = calloc(1, sizeof *pool);
    nd_arena *arena = pool ? arena_new(c, hooks) : NULL;
    if (!arena) {
        free(pool);
        return nd__fail(ND_ERR_MEMORY, "pool_create", -1, "no host memory for a pool");
    }
    atomic_fetch_add(&backend->refs, 1);
    atomic_init(&pool->refs, 1);
    *pool = (nd_pool){
        .refs = 1, .id = arena->id, .device = backend->device, .caching = c, .arena = arena};
    *out = pool;
    return ND_OK;
}

static nd_status pool_with(nd_backend *backend, const nd_pool_opts *o, nd_pool **out)
{
    nd_hooks hooks;
    if (o->upstream)
        ND_RETURN_IF(nd__allocator_hooks(o->upstream, backend->device, &hooks));
    nd_status status = pool_new(backend, o->upstream ? &hooks : NULL, out);
    if (status != ND_OK && o->upstream)
        nd__allocator_hooks_release(&hooks);
    ND_RETURN_IF(status);
    nd_arena *arena = (*out)->arena;
    (*out)->upstream = o->upstream;
    arena->use_on_oom = o->use_on_oom != 0;
    arena->no_split = o->no_split != 0;
    return ND_OK;
}

nd_status nd__caching_pool(nd_backend *backend, const nd_pool_opts *opts, nd_pool **out)
{
    nd_pool_opts o = {0};
    *out = NULL;
    if (opts && opts->size < NDP_END(nd_pool_opts, use_on_oom))
        return nd__fail(ND_ERR_ARGUMENT, "pool_create", 1,
                        "the options' size field is %u; set it to sizeof(nd_pool_opts)",
                        (unsigned)opts->size);
    if (opts)
        memcpy(&o, opts, opts->size < sizeof o ? opts->size : sizeof o);
    if (nd__is_caching(backend))
        return pool_with(backend, &o, out);
    return nd__fail(ND_ERR_UNSUPPORTED, "pool_create", 0,
                    "the device's allocator is \"%s\"; pools are parts of \"caching\"",
                    backend->type->name);
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
    nd__backend_release(&c->backend);
    free(pool);
}

/* Tells the program's allocator under the pool, if there is one, that its memory is asked for on
 * the pool's behalf, or no longer. */
static nd_status tell(const nd_pool *pool, bool begin)
{
    return pool->upstream ? nd__allocator_pool(pool->upstream, pool->device, pool->id, begin)
                          : (nd_status)ND_OK;
}

nd_status nd_pool_push(nd_pool *pool)
{
    if (!pool)
        return nd__fail(ND_ERR_ARGUMENT, "pool_push", 0, "pool is NULL");
    nd_pool_scope *s = malloc(sizeof *s);
    if (!s)
        return nd__fail(ND_ERR_MEMORY, "pool_push", -1, "no host memory for a scope");
    nd_status status = tell(pool, true);
    if (status != ND_OK) {
        free(s);
        return status;
    }
    *s = (nd_pool_scope){nd_pool_retain(pool), pool->caching, pool->arena, NULL, 0};
    nd__pool_scope_enter(s);
    return ND_OK;
}

nd_status nd_pool_pop(nd_pool *pool)
{
    nd_pool_scope *s = nd__pool_scope_innermost();
    ND_NEED("pool_pop", 0, pool);
    if (!s || s->pool != pool || s->capture)
        return nd__fail(ND_ERR_STATE, "pool_pop", 0,
                        s ? "the calling thread pushed another pool later: pop pool %llu first"
                          : "the calling thread has pushed no pool",
                        s ? (unsigned long long)s->pool->id : 0ull);
    nd__pool_scope_leave();
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

static nd_status not_of(const nd_caching *c, const nd_pool *pool)
{
    if (!pool || pool->caching == c)
        return ND_OK;
    return nd__fail(ND_ERR_DEVICE, "graph_begin", 1,
                    "pool %llu is of %s, or of an allocator that was replaced since; make one with "
                    "nd_pool_create",
                    (unsigned long long)pool->id, pool->device ? pool->device->name : "no device");
}

nd_status nd__caching_capture_begin(nd_backend *backend, uint64_t id, nd_pool *pool, nd_pool **out)
{
    nd_caching *c = (nd_caching *)backend;
    *out = NULL;
    ND_RETURN_IF(not_of(c, pool));
    nd_capture *k = malloc(sizeof *k);
    nd_pool_scope *s = malloc(sizeof *s);
    if (!k || !s) {
        free(k);
        free(s);
        return nd__fail(ND_ERR_MEMORY, "graph_begin", -1, "no host memory for a capture");
    }
    nd_status status = pool ? ND_OK : pool_new(backend, NULL, out);
    if (status != ND_OK) {
        free(k);
        free(s);
        return status;
    }
    *out = pool ? nd_pool_retain(pool) : *out;
    pool = nd_pool_retain(*out); /* the capture's reference, until its end */
    nd__lock_take(&c->lock);
    *k = (nd_capture){id, pool, pool->arena, c->captures};
    c->captures = k;
    pool->arena->captured = true;
    atomic_fetch_add(&c->capturing, 1);
    nd__caching_leave(c);
    if (c->streams) { /* the stream of a request tells */
        free(s);
        return ND_OK;
    }
    *s = (nd_pool_scope){pool, c, pool->arena, NULL, id};
    nd__pool_scope_enter(s);
    return ND_OK;
}

nd_status nd__caching_capture_end(nd_backend *backend, uint64_t id)
{
    nd_caching *c = (nd_caching *)backend;
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
    if (!c->streams)
        free(nd__pool_scope_of(c, id));
    nd_pool_release(k->pool);
    free(k);
    /* which was put off during the capture */
    (void)nd__release(c, &(nd_giving){.unused_pools = true});
    return ND_OK;
}
