/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Slots of a call's scratch memory: a task takes one for as long as it runs. The slot of its thread's
 * number is free, since a call has as many slots as threads, and lies in its processor's cache. */
#ifndef NDOCK_CPU_SLOTS_H
#define NDOCK_CPU_SLOTS_H
#include <stdatomic.h>
#include "host/cpu.h"

static inline int cpu_slot_take(atomic_uchar *busy, int n_slots)
{
    int s = cpu_thread() % n_slots;
    while (atomic_exchange_explicit(&busy[s], 1, memory_order_acquire))
        s = s + 1 < n_slots ? s + 1 : 0;
    return s;
}

static inline void cpu_slot_give(atomic_uchar *busy, int s)
{
    atomic_store_explicit(&busy[s], 0, memory_order_release);
}
#endif
