/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The list of all makers of blocks. */
#include "core/memory/memory.h"

static _Atomic(nd_maker *) makers;

const char *const nd__kind_names[] = {"caching", "debug", "none", "async", NULL};

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

void nd__fork_makers(nd_fork now)
{
    static nd_maker *held; /* those that others make meanwhile are none of ours */
    if (now == ND_FORK_TAKE)
        held = nd__makers();
    for (nd_maker *m = held; m; m = m->next)
        m->type->fork(m, now);
}
