/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The locks of the caches around a fork. */
#include "core/plugin/service/cache.h"
#include "core/lib/fork.h"

void nd__fork_caches(nd_fork now)
{
    const bool take = now == ND_FORK_TAKE;
    if (now == ND_FORK_CHILD)
        nd__kernels_forked();
    nd__plans_lock(take);
    nd__kernels_lock(take);
    nd__workspaces_lock(take);
    nd__libraries_lock(take);
}
