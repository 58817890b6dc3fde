/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Where a request's memory comes from: the common segments, or those of a private pool. A pool
 * serves the calling thread while its scope is open, and the streams of a capture that it was given
 * to. */
#include "core/memory/caching/caching.h"

ND_TLS nd_pool_scope *scopes; /* the calling thread's, innermost first */
atomic_int nd__pool_scopes;

void nd__arena_init(nd_arena *a, nd_caching *c)
{
    for (int i = 0; i < 2; i++) {
        a->bin[i].arena = a;
        a->bin[i].small = i;
    }
    a->hooks = c->backend.hooks;
    a->users = 1;
}

void nd__arena_forget(nd_caching *c, nd_arena *a)
{
    if (a == &c->common || a->users || a->segments)
        return;
    nd_arena **at = &c->arenas;
    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
    a->next = c->dead_arenas;
    c->dead_arenas = a;
}

nd_pool_scope *nd__pool_scope_innermost(void)
{
    return scopes;
}

void nd__pool_scope_enter(nd_pool_scope *s)
{
    s->outer = scopes;
    scopes = s;
    atomic_fetch_add(&nd__pool_scopes, 1);
}

void nd__pool_scope_leave(void)
{
    scopes = scopes->outer;
    atomic_fetch_sub(&nd__pool_scopes, 1);
}

nd_pool_scope *nd__pool_scope_of(const nd_caching *c, uint64_t capture)
{
    nd_pool_scope **at = &scopes, *s;
    while (*at && ((*at)->caching != c || (*at)->capture != capture))
        at = &(*at)->outer;
    if ((s = *at) != NULL) {
        *at = s->outer;
        atomic_fetch_sub(&nd__pool_scopes, 1);
    }
    return s;
}

/* Whether the scope serves requests of the thread now. */
static bool is_open(const nd_pool_scope *s, const nd_caching *c)
{
    if (s->caching != c)
        return false;
    const nd_tape *t = s->capture ? nd__tape_here(c->backend.device) : NULL;
    return !s->capture || (t && t->id == s->capture);
}

nd_arena *nd__pushed_arena(const nd_caching *c)
{
    const nd_pool_scope *s = scopes;
    while (s && !is_open(s, c))
        s = s->outer;
    return s ? s->arena : NULL;
}

static nd_status route_capture(nd_caching *c, nd_request *r)
{
    const nd_hooks *h = &c->backend.hooks;
    uint64_t id = h->capture_id ? h->capture_id(h->ctx, r->stream) : 0;
    if (!id)
        return ND_OK;
    nd__lock_take(&c->lock);
    for (const nd_capture *k = c->captures; k && !r->arena; k = k->next)
        r->arena = k->id == id ? k->arena : NULL;
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
        r->arena = &c->common;
    r->bin = &r->arena->bin[r->size <= ND_SMALL_SIZE];
    return ND_OK;
}
