/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The frame of every call of the plug-in's tables: lock, lost device, planted failure, log. */
#include <stdlib.h>
#include <string.h>
#include "checker.h"
#include "simulator.h"

pthread_mutex_t sim_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t sim_changed = PTHREAD_COND_INITIALIZER;

static const char *const entry_names[SIM_ENTRY_COUNT] = {
#define SIM_ENTRY(name) #name,
    SIM_ENTRIES(SIM_ENTRY)
#undef SIM_ENTRY
};

const char *sim_entry_name(int32_t entry)
{
    return entry_names[entry];
}

int32_t sim_fail_lost(const ndp_dev *dev)
{
    return sim_fail(NDP_ERR_LOST, dev->lost_native,
                    "sim:%d is lost since an earlier fault (code %lld); start a new process",
                    dev->index, (long long)dev->lost_native);
}

int32_t sim_enter(const sim_call *c)
{
    pthread_mutex_lock(&sim_mutex);
    if (sim_in_host_function())
        return sim_fail(NDP_ERR_STATE, 0,
                        "%s on sim:%d: a host function on a stream may not call the device",
                        entry_names[c->entry], c->dev->index);
    if (c->dev->lost)
        return sim_fail_lost(c->dev);
    return sim_planned_failure(c->dev, c->entry);
}

int32_t sim_leave(const sim_call *c, int32_t status)
{
    char text[SIM_RACE_TEXT];
    sim_log(c, status);
    const char *race = sim_checking ? sim_race_unlogged() : NULL;
    if (race)
        memcpy(text, race, sizeof text);
    pthread_mutex_unlock(&sim_mutex);
    if (race) /* outside the lock: whoever gets it may wait for others */
        sim_host->log(sim_host->ctx, NDP_LOG_WARN, "race: %s", text);
    return status;
}

/* Calls about no stream of the device still name the default one: NULL is its name. */
static int32_t is_about_stream(int32_t entry)
{
    switch (entry) {
    case SIM_write:
    case SIM_read:
    case SIM_sync:
    case SIM_copy:
    case SIM_run:
    case SIM_stream_query:
    case SIM_stream_sync:
    case SIM_stream_wait:
    case SIM_launch_host:
    case SIM_event_record:
    case SIM_peer_copy:
    case SIM_pool_alloc:
    case SIM_pool_free:
    case SIM_capture_begin:
    case SIM_capture_end:
    case SIM_capture_info:
        return 1;
    default:
        return 0;
    }
}

void sim_log(const sim_call *c, int32_t status)
{
    ndp_dev *dev = c->dev;
    dev->counts[c->entry]++;
    dev->logged++;
    if (!dev->log && (dev->log = calloc(SIM_LOG_ENTRIES, sizeof *dev->log)) == NULL)
        return;
    dev->log[(dev->logged - 1) % SIM_LOG_ENTRIES] = (ndsim_call){
        .sequence = dev->logged,
        .entry = entry_names[c->entry],
        .op = c->op ? c->op : "",
        .stream = c->stream                   ? (c->stream->queue ? c->stream->queue->id : 0)
                  : is_about_stream(c->entry) ? dev->legacy->id
                                              : 0,
        .event = (uint64_t)(uintptr_t)c->event,
        .address = c->mem ? (uint64_t)(uintptr_t)c->mem->address : 0,
        .offset = c->offset,
        .nbytes = c->nbytes,
        .device = dev->index,
        .result = status,
    };
}
