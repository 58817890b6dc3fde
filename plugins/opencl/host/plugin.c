/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The plug-in's note and table. */
#include <ndock/note.h>
#include <string.h>
#include "host/opencl.h"

NDP_PLUGIN_NOTE(OCL_NAME, OCL_VERSION, -10, NDP_NOTE_EVERY_DTYPE,
                "ndp.op/1 ndp.stream/1 ndp.memory/1 ndp.info/1")

const ndp_host *ocl_host;

static const void *group(ndp_dev *dev, const char *id)
{
    static const struct {
        const char *id;
        const void *table;
    } groups[] = {
        {"ndp.op/1", &ocl_op_group},
        {"ndp.stream/1", &ocl_stream_group},
        {"ndp.memory/1", &ocl_memory_group},
        {"ndp.info/1", &ocl_info_group},
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
    .name = OCL_NAME,
    .version = OCL_VERSION,
    .vendor = "ndock",
    .probe = ocl_probe,
    .info = ocl_info,
    .open = ocl_open,
    .close = ocl_close,
    .alloc = ocl_alloc,
    .free = ocl_free,
    .write = ocl_write,
    .read = ocl_read,
    .sync = ocl_sync,
    .shutdown = ocl_host_functions_stop,
    .copy = ocl_copy,
    .group = group,
};

NDP_EXPORT const ndp_plugin *ndock_plugin_entry_0(const ndp_host *host)
{
    if (host->size < NDP_END(ndp_host, param)) {
        if (host->size >= NDP_END(ndp_host, error))
            host->error(host->ctx, NDP_ERR_PLUGIN, 0,
                        "opencl needs a host with settings; this one's table has %u bytes, not %u",
                        host->size, (unsigned)NDP_END(ndp_host, param));
        return NULL;
    }
    ocl_host = host;
    return &table;
}
