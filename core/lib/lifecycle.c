/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What happens at which moment: the functions of core/base/lifecycle.h, each made of its rows of
 * lifecycle.def. */
#include "core/interop/interop.h"
#include "core/lib/lib.h"
#include "core/memory/memory.h"
#include "core/run/fallback.h"
#include "core/run/workspace.h"
#include "core/plugin/param.h"
#include "core/plugin/service/service.h"

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
