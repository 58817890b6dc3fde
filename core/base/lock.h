/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A small spin lock for stretches of a few dozen instructions that never block. */
#ifndef NDOCK_CORE_LOCK_H
#define NDOCK_CORE_LOCK_H
#include <sched.h>
#include <stdatomic.h>

typedef struct {
    atomic_int held;
} nd_lock; /* {0} is open */

/* A holder may have lost its processor: after a while, give ours away too. */
static inline void nd__lock_wait(nd_lock *l)
{
    for (int spins = 0; atomic_load_explicit(&l->held, memory_order_relaxed); spins++) {
        if (spins > 200)
            (void)sched_yield();
#if defined(__x86_64__) || defined(__i386__)
        else
            __builtin_ia32_pause();
#endif
    }
}

static inline void nd__lock_take(nd_lock *l)
{
    while (atomic_exchange_explicit(&l->held, 1, memory_order_acquire))
        nd__lock_wait(l);
}

static inline void nd__lock_drop(nd_lock *l)
{
    atomic_store_explicit(&l->held, 0, memory_order_release);
}

#endif
