/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Which makers of blocks there are, and the one a device begins with. */
#include <strings.h>
#include "core/memory/memory.h"
#include "core/base/param/param.h"

static _Atomic(nd_maker *) makers;
static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;

void nd__maker_release(nd_maker *m)
{
    if (m && atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) == 1)
        m->type->destroy(m);
}

void nd__maker_register(nd_maker *m)
{
    m->next = atomic_load(&makers);
    while (!atomic_compare_exchange_weak(&makers, &m->next, m))
        ;
}

nd_maker *nd__makers(void)
{
    return atomic_load_explicit(&makers, memory_order_acquire);
}

void nd__fork_makers_start(nd_fork now)
{
    nd__fork_mutex(&start_lock, now);
}

void nd__fork_makers(nd_fork now)
{
    static nd_maker *held; /* those that others make meanwhile are none of ours */
    if (now == ND_FORK_TAKE)
        held = nd__makers();
    for (nd_maker *m = held; m; m = m->next)
        m->type->fork(m, now);
}

/* "0", "off", "no", "false" and "" mean off, whatever else the variable holds means on (C19). */
static bool no_cache(void)
{
    static const char *const off[] = {"", "0", "off", "no", "false"};
    const char *text = nd__env(ND_ENV_NO_CACHE);
    for (size_t i = 0; text && i < sizeof off / sizeof *off; i++)
        if (strcasecmp(text, off[i]) == 0)
            return false;
    return text != NULL;
}

static nd_status first_maker(nd_device *device, nd_maker **out)
{
    enum { CACHING = 0, DEBUG = 1, NONE = 2, ASYNC = 3 };
    nd_hooks hooks;
    int32_t backend = no_cache() ? NONE : nd__conf()->backend;
    nd__device_hooks(device, &hooks);
    if (backend == ASYNC && nd__ordered_serves(device)) /* others, as the CPU, go on caching */
        return nd__ordered_create(device, &hooks, out);
    return backend == NONE    ? nd__single_create(device, &hooks, out)
           : backend == DEBUG ? nd__debug_create(device, &hooks, out)
                              : nd__caching_create(device, &hooks, out);
}

nd_status nd__device_maker_start(nd_device *device, nd_maker **out)
{
    nd__snapshot_from_environment();
    pthread_mutex_lock(&start_lock);
    nd_maker *m = atomic_load(&device->maker);
    nd_status status = m ? ND_OK : first_maker(device, &m);
    if (status == ND_OK && !atomic_load(&device->maker)) {
        nd__maker_register(m);
        atomic_store_explicit(&device->maker, m, memory_order_release);
    }
    pthread_mutex_unlock(&start_lock);
    *out = status == ND_OK ? m : NULL;
    return status;
}
