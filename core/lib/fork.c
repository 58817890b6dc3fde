/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The core's locks around a fork, in the order of lifecycle.def. */
#include "core/interop/interop.h"
#include "core/array/handles.h"
#include "core/lib/lib.h"
#include "core/memory/memory.h"
#include "core/run/fallback.h"
#include "core/run/workspace.h"
#include "core/plugin/param.h"
#include "core/plugin/hook/hook.h"
#include "core/plugin/service/service.h"

static void (*const locks[])(nd_fork now) = {
#define ND_FORK_LOCKS(take_or_drop) take_or_drop,
#include "core/lib/lifecycle.def"
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
