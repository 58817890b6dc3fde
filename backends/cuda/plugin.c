/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The CUDA plug-in's table. */
#include <stdio.h>
#include <string.h>
#include "comm/comm.h"
#include "conv/cudnn.h"
#include "fft/cufft.h"
#include "host/backend.h"
#include "linalg/solver.h"
#include "matmul/blaslt.h"
#include <ndock/note.h>

NDP_PLUGIN_NOTE("cuda", PACKAGE_VERSION, 100, ((uint64_t)1 << NDP_DTYPE_END) - 2,
                "ndp.op/1 ndp.stream/1 ndp.memory/1 ndp.map/1 ndp.math/1 ndp.pool/1 ndp.peer/1 "
                "ndp.fused/1 ndp.graph/1 ndp.info/1 ndp.code/1 ndp.pointer/1 ndp.comm/1 ndp.ipc/1")

static int32_t info_item(ndp_dev *dev, uint32_t i, char *key, char *value, size_t n)
{
    switch (i) {
    case 0:
        snprintf(key, n, "compute capability");
        snprintf(value, n, "%d.%d", dev->capability / 10, dev->capability % 10);
        return NDP_OK;
    case 1:
        snprintf(key, n, "multiprocessors");
        snprintf(value, n, "%d", dev->sm_count);
        return NDP_OK;
    case 2:
        snprintf(key, n, "driver");
        snprintf(value, n, "CUDA %d.%d", cuda_driver_version() / 1000,
                 cuda_driver_version() % 1000 / 10);
        return NDP_OK;
    case 3:
        snprintf(key, n, "kernels");
        snprintf(value, n, "for %s, by CUDA %d.%d", CUDA_ARCH_LIST, CUDA_VERSION / 1000,
                 CUDA_VERSION % 1000 / 10);
        return NDP_OK;
    default:
        return NDP_ERR_INDEX;
    }
}

static const ndp_info_1 info_group = {.size = sizeof(ndp_info_1), .item = info_item};

static const void *group(ndp_dev *dev, const char *id)
{
    static const struct {
        const char *id;
        const void *table;
    } groups[] = {
        {"ndp.op/1", &cuda_op_group},         {"ndp.stream/1", &cuda_stream_group},
        {"ndp.memory/1", &cuda_memory_group}, {"ndp.map/1", &cuda_map_group},
        {"ndp.fused/1", &cuda_fused_group},   {"ndp.math/1", &cuda_math_group},
        {"ndp.pool/1", &cuda_pool_group},     {"ndp.peer/1", &cuda_peer_group},
        {"ndp.graph/1", &cuda_graph_group},   {"ndp.info/1", &info_group},
        {"ndp.code/1", &cuda_code_group},     {"ndp.pointer/1", &cuda_pointer_group},
        {"ndp.comm/1", &cuda_comm_group},     {"ndp.ipc/1", &cuda_ipc_group},
    };
    (void)dev;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (strcmp(id, groups[i].id) == 0)
            return groups[i].table != &cuda_graph_group || cu.cuStreamGetCaptureInfo_v2
                       ? groups[i].table
                       : NULL;
    return NULL;
}

/* The libraries of products, decompositions and transforms go before the modules, some of whose kernels they may
 * still run. */
static void close_device(ndp_dev *dev)
{
    static const cuda_closer closers[] = {
        cuda_rings_close, cuda_pool_close,  cuda_blaslt_close,   cuda_solver_close,
        cuda_cufft_close, cuda_cudnn_close, cuda_modules_unload, NULL};
    cuda_close(dev, closers);
}

static void shut_down(void)
{
    cuda_team_stop();
}

static const ndp_plugin table = {
    .size = sizeof(ndp_plugin),
    .major = NDP_ABI_MAJOR,
    .minor = NDP_ABI_MINOR,
    .name = "cuda",
    .version = PACKAGE_VERSION,
    .vendor = "ndock",
    .probe = cuda_probe,
    .info = cuda_info,
    .open = cuda_open,
    .close = close_device,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .write = cuda_write,
    .read = cuda_read,
    .sync = cuda_sync,
    .shutdown = shut_down,
    .copy = cuda_copy,
    .group = group,
};

NDP_EXPORT const ndp_plugin *ndock_plugin_entry_0(const ndp_host *host)
{
    if (host->size < NDP_END(ndp_host, service)) {
        host->error(host->ctx, NDP_ERR_PLUGIN, 0,
                    "cuda needs a host with services; this one's table has %u bytes", host->size);
        return NULL;
    }
    cuda_host = host;
    return &table;
}
