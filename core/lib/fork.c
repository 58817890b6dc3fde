/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The order of the core's locks, in which they are held around a fork. Not among them: the locks of
 * one stream, event or event pool, whose devices no child can use; those under which a program's
 * function runs (an allocator of its own that is set), which could want any other; and that of a
 * folder's name, which is worked out once. Plug-ins see to their own. */
#include <pthread.h>
#include <stddef.h>
#include "core/lib/fork.h"

/* A lock may be taken under those before it, never under those after it. */
static void (*const locks[])(nd_fork now) = {
    nd__fork_registry,
    nd__fork_makers_start,
    nd__fork_kernels,
    nd__fork_caches,
    nd__fork_makers,
    nd__fork_pinned,
    nd__fork_registered,
    nd__fork_callbacks,
    nd__fork_stream_pools,
    nd__fork_streams,
    nd__fork_params,
    nd__fork_fallback,
    /* from here on, each is the last one that its holder takes, but for the log's */
    nd__fork_captures,
    nd__fork_sharing,
    nd__fork_pending,
    nd__fork_stage,
    nd__fork_ops,
    nd__fork_custom,
    nd__fork_code,
    nd__fork_conf,
    nd__fork_texts,
    nd__fork_hook,
    nd__fork_trace,
    nd__fork_told,
    nd__fork_handles,
    nd__fork_log,
};
enum { LOCKS = sizeof locks / sizeof *locks };

static void before(void)
{
    for (int i = 0; i < LOCKS; i++)
        locks[i](ND_FORK_TAKE);
}

static void after(void)
{
    for (int i = LOCKS; i-- > 0;)
        locks[i](ND_FORK_DROP);
}

static void after_in_child(void)
{
    for (int i = LOCKS; i-- > 0;)
        locks[i](ND_FORK_CHILD);
}

void nd__fork_watch(void)
{
    (void)pthread_atfork(before, after, after_in_child);
}
