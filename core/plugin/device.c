/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Facts about devices, and the thread's current one. */
#include "core/plugin/device.h"

const char *nd_device_name(const nd_device *device)
{
    ND_NEED_OR("device_name", 0, device, "");
    return device->name;
}

void nd_device_describe(const nd_device *device, nd_device_info *out)
{
    if (!device || !out) {
        (void)nd__refuse_null("device_describe", device ? 1 : 0, device ? "out" : "device");
        if (out)
            *out = (nd_device_info){"", "", "", "", 0, 0, 0, 0};
        return;
    }
    *out = (nd_device_info){
        .name = device->name,
        .plugin = device->slot->name,
        .description = device->info.name,
        .unique_id = device->info.unique_id,
        .memory_bytes = device->info.memory_bytes,
        .dtypes = device->info.dtypes,
        .host_visible = device->host_visible,
        .async = device->async,
    };
}

nd_status nd_device_fact(nd_device *device, int32_t i, char *key, char *value, size_t n)
{
    ND_NEED("device_fact", 0, device);
    ND_NEED("device_fact", 2, key);
    ND_NEED("device_fact", 3, value);
    if (i < 0 || !device->facts.item ||
        device->facts.item(device->dev, (uint32_t)i, key, value, n) != NDP_OK)
        return nd__fail(ND_ERR_INDEX, "device_fact", 1, "%s has no fact number %d", device->name,
                        (int)i);
    return ND_OK;
}

nd_status nd_device_current(nd_device **out)
{
    nd_thread *t = nd__thread();
    ND_OUT("device_current", 0, out, NULL);
    if (!t)
        return ND_ERR_MEMORY;
    ND_RETURN_IF(nd__refuse_inside("device_current"));
    if (!t->device) {
        nd_device *device = NULL;
        ND_RETURN_IF(nd_device_get("auto", &device));
        t->device = device;
    }
    *out = t->device;
    return ND_OK;
}

nd_status nd_device_set_current(nd_device *device)
{
    nd_thread *t = nd__thread();
    if (!device)
        return nd__fail(ND_ERR_ARGUMENT, "device_set_current", 0, "the device is NULL");
    if (!t)
        return ND_ERR_MEMORY;
    t->device = device;
    return ND_OK;
}

uint32_t nd__current_index(const nd_plugin_slot *slot)
{
    const nd_device *device = nd__self ? nd__self->device : NULL;
    return device && device->slot == slot ? device->index : 0;
}

nd_device *nd__or_current(nd_device *device, nd_status *status)
{
    *status = ND_OK;
    if (!device && nd__self && !nd__self->in_host_function)
        device = nd__self->device;
    if (!device)
        *status = nd_device_current(&device);
    return device;
}

nd_dl_device nd__dl_device(const char *plugin, uint32_t index, bool host_visible)
{
    static const struct {
        const char *plugin;
        int32_t type;
    } known[] = {{"cpu", ND_DL_CPU}, {"cuda", ND_DL_CUDA}, {"opencl", ND_DL_OPENCL}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(plugin, known[i].plugin) == 0)
            return (nd_dl_device){known[i].type, (int32_t)index};
    return (nd_dl_device){host_visible ? ND_DL_CPU : ND_DL_EXT, host_visible ? 0 : (int32_t)index};
}

nd_status nd_device_group(nd_device *device, const char *id, const void **table,
                          struct ndp_dev **dev)
{
    ND_OUT("device_group", 2, table, NULL);
    ND_OUT("device_group", 3, dev, NULL);
    ND_NEED("device_group", 0, device);
    ND_NEED("device_group", 1, id);
    if (strcmp(id, "ndp.plugin/0") == 0)
        *table = &device->p;
    else
        *table = device->p.group ? device->p.group(device->dev, id) : NULL;
    *dev = device->dev;
    return ND_OK;
}
