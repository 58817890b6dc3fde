/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The plug-in's table: what it says of itself, opening, groups. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <ndock/note.h>
#include <ndock/sim.h>
#include "../asleep.h"
#include "device.h"

#define DTYPES (((UINT64_C(1) << NDP_DTYPE_END) - 1) & ~UINT64_C(1))
#define GROUPS "ndp.stream/1 ndp.map/1 ndp.memory/1 ndp.info/1 ndp.comm/1"
#define NOTE(version_, groups_) NDP_PLUGIN_NOTE("sound", version_, -50, DTYPES, groups_)
#ifdef NOTE_VERSION
NOTE("1.1", GROUPS " ndp.pool/1")
#elif defined(NOTE_GROUPS)
NOTE("1.0", GROUPS)
#else
NOTE("1.0", GROUPS " ndp.pool/1")
#endif

const ndp_host *host;
ndp_dev devices[DEVICES];
bool was_shut_down;
pthread_t opener;

static int32_t probe(uint32_t *count, char *why, size_t n)
{
    misbehave_in_probe();
    *count = broken(break_why_silent) ? 0 : DEVICES;
    if (broken(break_why_long))
        snprintf(why, 200, "%0150d", 0);
    else if (n > 0)
        why[0] = 0;
    return NDP_OK;
}

static int32_t no_device(uint32_t index)
{
    return host->error(host->ctx, NDP_ERR_DEVICE, 0, "there are %d devices, and no sound:%u",
                       DEVICES, index);
}

static int32_t info(uint32_t index, ndp_device_info *out)
{
    if (index >= DEVICES)
        return no_device(index);
    uint32_t size = out->size;
    if (broken(break_info_sizes))
        memset(out, 0, sizeof *out);
    out->size = size;
    ndp_device_info own = {.size = size,
                           .flags = NDP_DEV_ASYNC,
                           .memory_bytes = ROOM,
                           .align_bytes = broken(break_info_align) ? 48 : ALIGN,
                           .max_alloc_bytes = ROOM,
                           .dtypes = DTYPES,
                           .priority = -50,
                           .name = "sound device"};
    memcpy(out, &own,
           size < NDP_END(ndp_device_info, unique_id) ? size : NDP_END(ndp_device_info, unique_id));
    return NDP_OK;
}

static int32_t take_service(void)
{
    const ndh_library_1 *libraries;
    if (broken(break_host_truncated) ||
        (broken(break_no_services) && host->size >= NDP_END(ndp_host, service))) {
        libraries = host->service(host->ctx, "ndh.library/1");
        return libraries->size ? NDP_OK : NDP_ERR_PLUGIN;
    }
    return NDP_OK;
}

static int32_t dev_open(uint32_t index, ndp_dev **out)
{
    static atomic_uint opening; /* by break_open_race */
    *out = NULL;
    if (index >= DEVICES && !broken(break_bad_index))
        return no_device(index);
    static pthread_t first;
    if (broken(break_open_thread_bound) && first && !pthread_equal(first, pthread_self()))
        return host->error(host->ctx, NDP_ERR_STATE, 0, "another thread has opened it before");
    first = pthread_self();
    opening = index % DEVICES;
    if (broken(break_open_race)) /* the others come meanwhile */
        while (opening == index % DEVICES && !others_sleep())
            continue;
    ndp_dev *dev = &devices[broken(break_open_race) ? opening : index % DEVICES];
    int32_t status = take_service();
    if (status == NDP_OK)
        status = misbehave_in_open();
    dev->index = (int32_t)(dev - devices);
    dev->n_streams = 0;
    if (status == NDP_OK)
        status = queue_new(dev, &dev->own);
    dev->opened = status == NDP_OK;
    *out = dev->opened ? dev : NULL;
    return status;
}

static void dev_close(ndp_dev *dev)
{
    dev->opened = false;
    close_queues(dev);
}

static void shut_down(void)
{
    if (broken(break_shutdown_abort) && was_shut_down)
        abort();
    was_shut_down = true;
}

static int32_t item(ndp_dev *dev, uint32_t i, char *key, char *value, size_t n)
{
    (void)dev;
    if (i > 0)
        return NDP_ERR_INDEX;
    snprintf(key, n, "broken");
    snprintf(value, n, "%d", (int)BREAK_NOW);
    return NDP_OK;
}

static const ndp_info_1 info_group = {.size = sizeof(ndp_info_1), .item = item};

/* By break_race: filled when it is first asked for. */
static const void *lazy_pool(void)
{
    static ndp_pool_1 lazy;
    static volatile bool begun;
    if (!begun) {
        begun = true;
        lazy.size = pool_group.size;
        while (!others_sleep())
            continue;
        lazy = pool_group;
    }
    return &lazy;
}

static const void *group(ndp_dev *dev, const char *id)
{
    static const ndp_info_1 other[2] = {{.size = sizeof(ndp_info_1), .item = item},
                                        {.size = sizeof(ndp_info_1), .item = item}};
    static int asked;
    (void)dev;
    if (strcmp(id, "ndp.stream/1") == 0)
        return &stream_group;
    if (strcmp(id, "ndp.map/1") == 0)
        return &map_group;
    if (strcmp(id, "ndp.comm/1") == 0)
        return &comm_table;
    if (strcmp(id, "ndp.memory/1") == 0)
        return &memory_group;
    if (strcmp(id, "ndp.pool/1") == 0)
        return broken(break_race) ? lazy_pool() : &pool_group;
    if (strcmp(id, "ndp.info/1") == 0)
        return broken(break_groups_other) ? &other[asked++ % 2] : &info_group;
    if (strcmp(id, NDSIM_GROUP) == 0)
        return fault_group;
    return broken(break_groups_unknown) && strncmp(id, "org.", 4) == 0 ? &info_group : NULL;
}

static const ndp_plugin table = {
    .size = sizeof(ndp_plugin),
    .major = NDP_ABI_MAJOR,
    .minor = NDP_ABI_MINOR + broken_table(break_table_minor),
    .name = broken_table(break_table_name) ? "Sound" : "sound",
    .version = "1.0",
    .vendor = "tests",
    .probe = probe,
    .info = info,
    .open = dev_open,
    .close = dev_close,
    .alloc = mem_alloc,
    .free = mem_free,
    .write = mem_write,
    .read = broken_table(break_table_null) ? NULL : mem_read,
    .sync = stream_sync,
    .shutdown = shut_down,
    .copy = mem_copy,
    .group = group,
};

NDP_EXPORT const ndp_plugin *ndock_plugin_entry_0(const ndp_host *h)
{
    static ndp_plugin copies[2];
    static int calls;
    misbehave_in_entry(h);
    if (h->size < NDP_END(ndp_host, free) ||
        (broken(break_host_extended) && h->size != sizeof(ndp_host))) {
        h->error(h->ctx, NDP_ERR_PLUGIN, 0, "a host table of %u bytes does not do", h->size);
        return NULL;
    }
    host = h;
    opener = pthread_self();
    if (!broken(break_entry_table))
        return &table;
    copies[calls % 2] = table;
    return &copies[calls++ % 2];
}
