/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What happens at which moment: the functions of core/base/lifecycle.h, each made of its rows of
 * lifecycle.def. */
#include "core/array/handles.h"
#include "core/graph/graph.h"
#include "core/interop/interop.h"
#include "core/ops/ops.h"
#include "core/fuse/fuse.h"
#include "core/memory/memory.h"
#include "core/run/fallback.h"
#include "core/run/workspace.h"
#include "core/plugin/param.h"
#include "core/plugin/hook/hook.h"
#include "core/plugin/service/service.h"

/* ---- the core's locks around a fork ---- */
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

static void watch_forks(void)
{
    (void)pthread_atfork(before, after, after_in_child);
}

/* ---- what happens at which moment ---- */
void nd__on_first_use(void)
{
#define ND_ON_FIRST_USE(call) call;
#include "core/lib/lifecycle.def"
}

void nd__on_plugin_loaded(const nd_plugin_slot *slot)
{
#define ND_ON_PLUGIN_LOADED(call) call;
#include "core/lib/lifecycle.def"
}

nd_status nd__on_device_opened(nd_device *device)
{
#define ND_ON_DEVICE_OPENED(call) ND_RETURN_IF(call);
#include "core/lib/lifecycle.def"
    return ND_OK;
}

void nd__on_stream_retired(nd_stream *stream)
{
#define ND_ON_STREAM_RETIRED(call) call;
#include "core/lib/lifecycle.def"
}

void nd__on_thread_ended(nd_thread *thread)
{
#define ND_ON_THREAD_ENDED(call) call;
#include "core/lib/lifecycle.def"
}

bool nd__on_memory_wanted(nd_device *device)
{
    bool given = false;
#define ND_ON_MEMORY_WANTED(call) given |= call;
#include "core/lib/lifecycle.def"
    return given;
}

const void *nd__on_service_asked(const char *id)
{
    static const struct {
        const char *id;
        const void *table;
    } services[] = {
#define ND_SERVICE(name, service) {name, &service},
#include "core/lib/lifecycle.def"
    };
    for (size_t i = 0; i < sizeof services / sizeof *services; i++)
        if (strcmp(services[i].id, id) == 0)
            return services[i].table;
    return NULL;
}
