/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The locks of the caches around a fork. */
#include "core/cache/cache.h"

static void lock_all(bool take)
{
    nd__plans_lock(take);
    nd__kernels_lock(take);
    nd__workspaces_lock(take);
    nd__libraries_lock(take);
}

void nd__caches_before_fork(void)
{
    lock_all(true);
}

void nd__caches_after_fork(bool in_child)
{
    if (in_child)
        nd__kernels_forked();
    lock_all(false);
}
