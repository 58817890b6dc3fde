/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Storages in captures. A graph keeps what it reads and writes of the time before its capture. What
 * was allocated in the capture lies in the graph's pool, which it keeps as a whole: blocks of it
 * that are freed again serve the rest of the capture. */
#include "core/array/array.h"

static void drop(void *storage)
{
    nd__storage_release(storage);
}

void nd__captured_new(nd_storage *s)
{
    const nd_tape *t = nd__tape_here(s->device);
    if (t && !t->no_pool)
        s->captured_in = t->id;
}

void nd__captured_use(nd_storage *s)
{
    nd_tape *t = nd__tape_here(s->device);
    if (!t || t->weak || s->captured_in == t->id ||
        atomic_exchange_explicit(&s->kept_by, t->id, memory_order_relaxed) == t->id)
        return;
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    if (nd__tape_keep(t, s, drop) != ND_OK)
        nd__storage_release(s);
}
