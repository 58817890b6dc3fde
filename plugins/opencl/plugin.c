/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The plug-in's note and table. */
#include <ndock/note.h>
#include <stdio.h>
#include <string.h>
#include "matmul/product.h"

NDP_PLUGIN_NOTE(OCL_NAME, OCL_VERSION, -10, NDP_NOTE_EVERY_DTYPE,
                "ndp.op/1 ndp.stream/1 ndp.memory/1 ndp.code/1 ndp.fused/1 ndp.info/1")

static int32_t info_item(ndp_dev *dev, uint32_t i, char *key, char *value, size_t n)
{
    const ocl_facts *f = &dev->facts;
    char units[32], local[32];
    const int blast = f->clblast && ocl_clblast_there();
    snprintf(units, sizeof units, "%u", f->units);
    snprintf(local, sizeof local, "%llu", (unsigned long long)f->local_memory);
    const char *const items[][2] = {
        {"vendor", f->vendor},
        {"driver", f->driver},
        {"OpenCL", f->version},
        {"platform", f->platform_version},
        {"compute units", units},
        {"local memory", local},
        {"products", blast ? "CLBlast where it takes them" : "by own kernels"},
        {"own products", f->local_is_fast ? "tiles in local memory" : "strips"},
        {"f64", f->f64 ? "yes (cl_khr_fp64)" : "no: f64 and c128 are staged"},
        {"f16 and bf16", "stored, computed in f32"},
        {"f32 subnormals", f->denormals ? "kept" : "flushed by the device"},
        {"f32 division", f->correct_divide ? "correctly rounded"
                         : f->f64          ? "correctly rounded by way of f64"
                                           : "2.5 units in the last place"},
    };
    if (i >= sizeof items / sizeof *items)
        return NDP_ERR_INDEX;
    snprintf(key, n, "%s", items[i][0]);
    snprintf(value, n, "%s", items[i][1]);
    return NDP_OK;
}

static const ndp_info_1 info_group = {.size = sizeof(ndp_info_1), .item = info_item};

static const void *group(ndp_dev *dev, const char *id)
{
    static const struct {
        const char *id;
        const void *table;
    } groups[] = {
        {"ndp.op/1", &ocl_op_group},         {"ndp.stream/1", &ocl_stream_group},
        {"ndp.memory/1", &ocl_memory_group}, {"ndp.code/1", &ocl_code_group},
        {"ndp.fused/1", &ocl_fused_group},   {"ndp.info/1", &info_group},
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
