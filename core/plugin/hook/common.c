/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What all files of the hook layer use: its settings, its instances, and where things are in a
 * call. */
#include <time.h>
#include "core/plugin/hook/hook.h"

hook_conf nd__hook_settings;
hook_instance nd__hook_instances[HOOK_INSTANCES];

int nd__hook_place(const hook_slot *slot, hook_kind kind)
{
    for (uint32_t i = 0; i < slot->n; i++)
        if (slot->arg[i].kind == kind)
            return (int)i;
    return -1;
}

hook_dev *nd__hook_find_dev(hook_instance *of, const ndp_dev *dev)
{
    hook_dev *d = atomic_load_explicit(&of->devs, memory_order_acquire);
    while (d && d->dev != dev)
        d = d->next;
    return d;
}

uint64_t nd__hook_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
