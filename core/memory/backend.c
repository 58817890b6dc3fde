/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The list of all allocator backends. */
#include "core/memory/memory.h"

static _Atomic(nd_backend *) backends;

const char *const nd__kind_names[] = {"caching", "debug", "none", "async", NULL};

void nd__backend_release(nd_backend *backend)
{
    if (backend && atomic_fetch_sub_explicit(&backend->refs, 1, memory_order_acq_rel) == 1)
        backend->type->destroy(backend);
}

void nd__backend_register(nd_backend *backend)
{
    backend->next = atomic_load(&backends);
    while (!atomic_compare_exchange_weak(&backends, &backend->next, backend))
        ;
}

nd_backend *nd__backends(void)
{
    return atomic_load_explicit(&backends, memory_order_acquire);
}

void nd__fork_backends(nd_fork now)
{
    static nd_backend *held; /* backends registered after TAKE were not locked */
    if (now == ND_FORK_TAKE)
        held = nd__backends();
    for (nd_backend *backend = held; backend; backend = backend->next)
        backend->type->fork(backend, now);
}
