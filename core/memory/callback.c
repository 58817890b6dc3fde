/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Free callbacks and out-of-memory observers: functions of the program that are asked, or told,
 * before a request fails. */
#include "core/memory/memory.h"

#define CALLBACKS 32

typedef struct {
    nd_memory_callback fn;
    void *ctx;
} callback;
typedef struct {
    callback items[CALLBACKS];
    int n;
} callback_list;
static callback_list callbacks, observers;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
ND_TLS bool running;      /* the calling thread is inside one of them */
static atomic_int listed; /* how many there are in both: none is the common case */

void nd__fork_callbacks(nd_fork now)
{
    nd__fork_mutex(&list_lock, now);
}

static nd_status add(callback_list *list, const char *op, nd_memory_callback fn, void *ctx)
{
    if (!fn)
        return nd__fail(ND_ERR_ARGUMENT, op, 0, "fn is NULL");
    pthread_mutex_lock(&list_lock);
    bool room = list->n < CALLBACKS;
    if (room) {
        list->items[list->n++] = (callback){fn, ctx};
        atomic_fetch_add(&listed, 1);
    }
    pthread_mutex_unlock(&list_lock);
    return room ? ND_OK
                : nd__fail(ND_ERR_STATE, op, 0, "there are %d already, the most there can be",
                           CALLBACKS);
}

static nd_status drop(callback_list *list, const char *op, nd_memory_callback fn, void *ctx)
{
    pthread_mutex_lock(&list_lock);
    int i = 0;
    while (i < list->n && !(list->items[i].fn == fn && list->items[i].ctx == ctx))
        i++;
    bool found = i < list->n;
    if (found) {
        list->n--;
        memmove(&list->items[i], &list->items[i + 1], sizeof(callback) * (size_t)(list->n - i));
        atomic_fetch_sub(&listed, 1);
    }
    pthread_mutex_unlock(&list_lock);
    return found ? ND_OK
                 : nd__fail(ND_ERR_ARGUMENT, op, 0, "no such function with this ctx was added");
}

/* The functions are called on a copy of the list, so that they may add, remove and free as they
 * like. What they themselves ask for is refused without calling them again: they would go round and
 * round. */
static bool run(const callback_list *list, nd_device *device, uint64_t nbytes)
{
    bool any = false;
    if (running || atomic_load_explicit(&listed, memory_order_relaxed) == 0)
        return false;
    pthread_mutex_lock(&list_lock);
    callback_list copy = *list;
    pthread_mutex_unlock(&list_lock);
    running = true;
    for (int i = 0; i < copy.n; i++)
        any |= copy.items[i].fn(copy.items[i].ctx, device, nbytes) != 0;
    running = false;
    return any;
}

bool nd__run_free_callbacks(nd_device *device, uint64_t nbytes)
{
    return run(&callbacks, device, nbytes);
}

void nd__run_oom_observers(nd_device *device, uint64_t nbytes)
{
    (void)run(&observers, device, nbytes);
}

nd_status nd_memory_free_callback_add(nd_memory_callback fn, void *ctx)
{
    return add(&callbacks, "memory_free_callback_add", fn, ctx);
}

nd_status nd_memory_free_callback_remove(nd_memory_callback fn, void *ctx)
{
    return drop(&callbacks, "memory_free_callback_remove", fn, ctx);
}

nd_status nd_memory_oom_observer_add(nd_memory_callback fn, void *ctx)
{
    return add(&observers, "memory_oom_observer_add", fn, ctx);
}

nd_status nd_memory_oom_observer_remove(nd_memory_callback fn, void *ctx)
{
    return drop(&observers, "memory_oom_observer_remove", fn, ctx);
}
