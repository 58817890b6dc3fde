/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The simulated device's table: settings, opening and closing, groups. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "checker.h"
#include "comm.h"
#include "graph.h"
#include "simulator.h"
#include <ndock/note.h>

NDP_PLUGIN_NOTE("sim", PACKAGE_VERSION, -100, ((uint64_t)1 << NDP_DTYPE_END) - 2,
                "ndp.op/1 ndp.stream/1 ndp.memory/1 ndp.map/1 ndp.peer/1 ndp.graph/1 ndp.info/1 "
                "ndp.code/1 ndp.pool/1 ndp.pointer/1 ndp.comm/1 ndp.fused/1 " NDSIM_GROUP)

const ndp_host *sim_host;
const ndp_plugin *sim_cpu;
ndp_dev *sim_cpu_dev;
const ndp_op_1 *sim_cpu_op;
const ndp_fused_1 *sim_cpu_fused;
const ndp_map_1 *sim_cpu_map;
ndp_dev sim_devices[SIM_MAX_DEVICES];

static int32_t probe(uint32_t *count, char *why, size_t n)
{
    *count = 0;
    if (!sim_read_settings(why, n))
        return NDP_OK;
    sim_cpu = sim_host->plugin(sim_host->ctx, "cpu");
    if (sim_cpu)
        *count = (uint32_t)sim_set.devices;
    else
        snprintf(why, n, "it computes with the cpu plug-in, which is not there");
    return NDP_OK;
}

static int32_t info(uint32_t index, ndp_device_info *out)
{
    if (index >= (uint32_t)sim_set.devices)
        return sim_fail(NDP_ERR_DEVICE, 101, "there is no sim:%u; NDOCK_SIM_DEVICES is %lld", index,
                        (long long)sim_set.devices);
    if (out->size < NDP_END(ndp_device_info, unique_id))
        return sim_fail(NDP_ERR_PLUGIN, 0, "ndp_device_info of %u bytes is too short", out->size);
    out->flags = NDP_DEV_ASYNC;
    out->memory_bytes = (uint64_t)sim_set.memory;
    out->align_bytes = SIM_RED_ZONE;
    out->max_alloc_bytes = (uint64_t)sim_set.memory;
    out->dtypes = ((uint64_t)1 << NDP_DTYPE_END) - 2;
    out->priority = -100; /* a tool for tests: never what "auto" means while there is a CPU */
    snprintf(out->name, sizeof out->name, "simulated device");
    snprintf(out->unique_id, sizeof out->unique_id, "SIM-%04u", index);
    return NDP_OK;
}

static int32_t open_cpu(void)
{
    if (sim_cpu_dev)
        return NDP_OK;
    int32_t status = sim_cpu->open(0, &sim_cpu_dev);
    if (status != NDP_OK)
        return status;
    sim_cpu_op = sim_cpu->group(sim_cpu_dev, "ndp.op/1");
    sim_cpu_map = sim_cpu->group(sim_cpu_dev, "ndp.map/1");
    sim_cpu_fused = sim_cpu->group(sim_cpu_dev, "ndp.fused/1");
    return sim_cpu_op && sim_cpu_map
               ? NDP_OK
               : sim_fail(NDP_ERR_PLUGIN, 0, "the cpu plug-in lacks ndp.op/1 or ndp.map/1");
}

static int32_t open_device(ndp_dev *dev, uint32_t index)
{
    dev->index = (int32_t)index;
    dev->mode = sim_set.mode;
    dev->memory_bytes = (uint64_t)sim_set.memory;
    dev->granularity = (uint64_t)sim_set.granularity;
    dev->alloc_limit = UINT64_MAX;
    dev->cost = SIM_DEFAULT_COST;
    dev->random = ((uint64_t)sim_set.seed + index + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
    dev->enabled_peers[index] = 1;
    int32_t status = open_cpu();
    /* Memory and the default stream outlive close(): blocks may be freed after it. */
    if (status == NDP_OK && !dev->address && (status = sim_range_create(dev)) != NDP_OK)
        sim_range_destroy(dev);
    if (status == NDP_OK && !dev->legacy &&
        (dev->legacy = sim_queue_new(dev, SIM_LOWEST_PRIORITY)) == NULL)
        status = sim_fail(NDP_ERR_MEMORY, 0, "no host memory for a stream");
    dev->opened = status == NDP_OK;
    if (sim_set.check && !sim_checking)
        sim_checker_reset(1);
    return status;
}

static int32_t dev_open(uint32_t index, ndp_dev **out)
{
    *out = NULL;
    if (index >= (uint32_t)sim_set.devices)
        return sim_fail(NDP_ERR_DEVICE, 101, "there is no sim:%u; NDOCK_SIM_DEVICES is %lld", index,
                        (long long)sim_set.devices);
    ndp_dev *dev = &sim_devices[index];
    pthread_mutex_lock(&sim_mutex);
    int32_t status = dev->lost     ? sim_fail_lost(dev)
                     : dev->opened ? NDP_OK
                                   : open_device(dev, index);
    if (status == NDP_OK) {
        sim_log(&(sim_call){.entry = SIM_open, .dev = dev}, status);
        *out = dev;
    }
    pthread_mutex_unlock(&sim_mutex);
    return status;
}

/* What was queued is done first, unless a test left it waiting for a step. */
static void close_device(ndp_dev *dev)
{
    if (!dev->opened)
        return;
    if (dev->mode == NDSIM_AUTO)
        sim_drain(dev);
    sim_worker_stop(dev);
    sim_plans_clear(dev);
    dev->opened = 0;
}

static void dev_close(ndp_dev *dev)
{
    pthread_mutex_lock(&sim_mutex);
    sim_log(&(sim_call){.entry = SIM_close, .dev = dev}, NDP_OK);
    close_device(dev);
    pthread_mutex_unlock(&sim_mutex);
}

static void shut_down(void)
{
    pthread_mutex_lock(&sim_mutex);
    for (int i = 0; i < SIM_MAX_DEVICES; i++) {
        ndp_dev *dev = &sim_devices[i];
        close_device(dev);
        free(dev->log);
        dev->log = NULL;
    }
    pthread_mutex_unlock(&sim_mutex);
}

static int32_t dev_alloc(ndp_dev *dev, uint64_t nbytes, ndp_mem **out)
{
    sim_call c = {.entry = SIM_alloc, .dev = dev, .nbytes = nbytes};
    int32_t status = sim_enter(&c);
    *out = NULL;
    if (status == NDP_OK)
        status = sim_capture_forbids("alloc", NULL);
    if (status == NDP_OK)
        status = sim_mem_alloc(dev, nbytes ? nbytes : 1, out);
    c.mem = *out;
    return sim_leave(&c, status);
}

static void dev_free(ndp_dev *dev, ndp_mem *mem)
{
    sim_call c = {.entry = SIM_free, .dev = dev, .mem = mem, .nbytes = mem ? mem->nbytes : 0};
    int32_t status = sim_enter(&c);
    if (status == NDP_OK)
        status = sim_capture_forbids("free", NULL);
    sim_log(&c, status);
    if (mem && !mem->dead)
        sim_mem_free(mem);
    pthread_mutex_unlock(&sim_mutex);
}

static int32_t info_item(ndp_dev *dev, uint32_t i, char *key, char *value, size_t n)
{
    static const char *const keys[] = {"capability", "mode", "peers", "computes with"};
    const char *const values[] = {
        sim_set.capability, dev->mode == NDSIM_STEPPED ? "stepped" : "auto", sim_set.peers, "cpu"};
    if (i >= sizeof keys / sizeof *keys)
        return NDP_ERR_INDEX;
    snprintf(key, n, "%s", keys[i]);
    snprintf(value, n, "%s", values[i]);
    return NDP_OK;
}

static const ndp_info_1 info_group = {.size = sizeof(ndp_info_1), .item = info_item};

static const void *group(ndp_dev *dev, const char *id)
{
    const struct {
        const char *id;
        const void *table;
    } groups[] = {
        {"ndp.op/1", &sim_op_group},           {"ndp.stream/1", &sim_stream_group},
        {"ndp.memory/1", &sim_memory_group},   {"ndp.map/1", &sim_map_group},
        {"ndp.peer/1", &sim_peer_group},       {"ndp.graph/1", &sim_graph_group},
        {"ndp.info/1", &info_group},           {"ndp.code/1", &sim_code_group},
        {NDSIM_GROUP, &sim_control_group},     {"ndp.pool/1", &sim_pool_group},
        {"ndp.pointer/1", &sim_pointer_group}, {"ndp.comm/1", sim_comm_group()},
        {"ndp.fused/1", &sim_fused_group},
    };
    (void)dev;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (strcmp(id, groups[i].id) == 0)
            return groups[i].table;
    return NULL;
}

static const ndp_plugin table = {
    .size = sizeof(ndp_plugin),
    .major = NDP_ABI_MAJOR,
    .minor = NDP_ABI_MINOR,
    .name = "sim",
    .version = PACKAGE_VERSION,
    .vendor = "ndock",
    .probe = probe,
    .info = info,
    .open = dev_open,
    .close = dev_close,
    .alloc = dev_alloc,
    .free = dev_free,
    .write = sim_write,
    .read = sim_read,
    .sync = sim_stream_sync,
    .shutdown = shut_down,
    .copy = sim_copy,
    .group = group,
};

NDP_EXPORT const ndp_plugin *ndock_plugin_entry_0(const ndp_host *host)
{
    if (host->size < NDP_END(ndp_host, plugin)) {
        host->error(host->ctx, NDP_ERR_PLUGIN, 0,
                    "sim needs a host that lends the cpu plug-in's table; this one's has %u bytes",
                    host->size);
        return NULL;
    }
    sim_host = host;
    return &table;
}
