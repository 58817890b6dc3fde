/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What is known of a plug-in's handles: their numbers, and which are alive. A handle is forgotten
 * before the call that ends it and remembered after the one that made it, since the plug-in may use
 * its value again at once. */
#include <stdlib.h>
#include "core/plugin/hook/hook.h"

enum { BUCKETS = 4096, ENDED = 1024 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static hook_object *buckets[BUCKETS];
/* The latest that ended, so that a late use can be told from a foreign handle. */
static struct {
    const hook_instance *of;
    const void *handle;
    char type;
} ended[ENDED];
static uint32_t next_ended, numbers[128];

void nd__hook_lock(void)
{
    pthread_mutex_lock(&lock);
}

void nd__hook_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void nd__fork_hook(nd_fork now)
{
    nd__fork_mutex(&lock, now);
}

static hook_object **place(const hook_instance *of, char type, const void *handle)
{
    uint64_t h = ((uint64_t)(uintptr_t)handle ^ (uint64_t)type << 56 ^ (uint64_t)(uintptr_t)of) *
                 UINT64_C(0x9e3779b97f4a7c15);
    hook_object **at = &buckets[h >> 52];
    while (*at && ((*at)->handle != handle || (*at)->type != type || (*at)->of != of))
        at = &(*at)->next;
    return at;
}

hook_object *nd__hook_object_get(const hook_instance *of, char type, const void *handle)
{
    return *place(of, type, handle);
}

hook_object *nd__hook_object_add(const hook_instance *of, char type, const void *handle)
{
    hook_object **at = place(of, type, handle), *o = *at;
    if (!o && (o = calloc(1, sizeof *o)) != NULL)
        *at = o;
    if (o) {
        hook_object *next = o->next;
        *o = (hook_object){.of = of, .handle = handle, .type = type, .next = next};
        o->number = ++numbers[(unsigned char)type & 127];
    }
    return o;
}

static void object_drop(const hook_instance *of, char type, const void *handle)
{
    hook_object **at = place(of, type, handle), *o = *at;
    if (!o)
        return;
    *at = o->next;
    free(o);
    ended[next_ended].of = of;
    ended[next_ended].handle = handle;
    ended[next_ended].type = type;
    next_ended = (next_ended + 1) % ENDED;
}

bool nd__hook_object_ended(const hook_instance *of, char type, const void *handle)
{
    for (int i = 0; i < ENDED; i++)
        if (ended[i].handle == handle && ended[i].type == type && ended[i].of == of)
            return true;
    return false;
}

ndp_mem *nd__hook_any_block(const hook_instance *of, const ndp_dev *dev)
{
    const void *found = NULL;
    nd__hook_lock();
    for (int i = 0; i < BUCKETS && !found; i++)
        for (const hook_object *o = buckets[i]; o && !found; o = o->next)
            if (o->type == 'm' && o->of == of && o->dev == dev && o->given)
                found = o->handle;
    nd__hook_unlock();
    return (ndp_mem *)(uintptr_t)found;
}

static const void *handle_of(const hook_call *c, int i)
{
    return (const void *)(uintptr_t)c->word[i];
}

/* A handle that no hooked call made, of a wrapped stream say, is numbered when it is first seen. */
void nd__hook_objects_enter(hook_call *c)
{
    nd__hook_lock();
    for (uint32_t i = 0; i < c->slot->n; i++) {
        hook_kind kind = c->slot->arg[i].kind;
        int family = nd__hook_family(kind);
        char type = nd__hook_object(kind);
        if ((family != HOOK_HANDLE && family != HOOK_END) || type == 'd' || type == 'k' ||
            !c->word[i])
            continue;
        hook_object *o = nd__hook_object_get(c->of, type, handle_of(c, (int)i));
        if (!o && (o = nd__hook_object_add(c->of, type, handle_of(c, (int)i))) != NULL)
            o->dev = c->dev ? c->dev->dev : NULL;
        c->number[i] = o ? o->number : 0;
        if (family == HOOK_END)
            object_drop(c->of, type, handle_of(c, (int)i));
    }
    nd__hook_unlock();
}

static uint64_t bytes_of(const hook_call *c)
{
    int i = nd__hook_place(c->slot, HOOK_KIND_NBYTES);
    return i < 0 ? 0 : c->word[i];
}

void nd__hook_objects_leave(hook_call *c)
{
    if ((int32_t)c->result != NDP_OK || !c->slot->status)
        return;
    nd__hook_lock();
    for (uint32_t i = 0; i < c->slot->n; i++) {
        char type = nd__hook_object(c->slot->arg[i].kind);
        if (nd__hook_family(c->slot->arg[i].kind) != HOOK_OUT || type == 'd' || type == 'k')
            continue;
        const void *made = *(void **)(uintptr_t)c->word[i];
        hook_object *o = made ? nd__hook_object_add(c->of, type, made) : NULL;
        if (!o)
            continue;
        o->given = true;
        o->dev = c->dev ? c->dev->dev : NULL;
        o->nbytes = bytes_of(c);
        c->number[i] = o->number;
    }
    nd__hook_unlock();
}
