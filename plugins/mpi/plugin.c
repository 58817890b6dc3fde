/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The plug-in's note and table. It has no devices: it carries exchanges of host memory between the
 * processes that MPI has started. */
#include <ndock/note.h>
#include <stdio.h>
#include <string.h>
#include "ranks.h"

#define RANKS_VERSION "0.1"
NDP_PLUGIN_NOTE("mpi", RANKS_VERSION, -10, NDP_NOTE_EVERY_DTYPE, "ndp.comm/1")

const ndp_host *ranks_host;

int32_t ranks_cpu(ndp_comm_cpu *cpu)
{
    const ndp_plugin *p = ranks_host->plugin(ranks_host->ctx, "cpu");
    if (!p || p->open(0, &cpu->dev) != NDP_OK)
        return ranks_error(NDP_ERR_PLUGIN,
                           "the CPU plug-in, whose memory is exchanged, is missing");
    cpu->op = p->group(cpu->dev, "ndp.op/1");
    cpu->map = p->group(cpu->dev, "ndp.map/1");
    cpu->free = p->free;
    return cpu->op && cpu->map ? NDP_OK
                               : ranks_error(NDP_ERR_PLUGIN, "the CPU plug-in lacks a group");
}

int32_t ranks_address(const ndp_view *v, char **out)
{
    ndp_comm_cpu cpu;
    void *base = NULL;
    int32_t status = ranks_cpu(&cpu);
    if (status == NDP_OK)
        status = cpu.map->map(cpu.dev, v->mem, &base);
    *out = (char *)base + v->offset_bytes;
    return status;
}

/* ---- a device is not there ---- */
static int32_t no_device(void)
{
    return ranks_error(NDP_ERR_DEVICE, "mpi has no devices; it carries communicators of others");
}
static int32_t probe(uint32_t *count, char *why, size_t n)
{
    *count = 0;
    snprintf(why, n,
             "it has none: it carries communicators (ndp.comm/1) of processes that MPI started");
    return NDP_OK;
}
static int32_t info(uint32_t index, ndp_device_info *out)
{
    (void)index, (void)out;
    return no_device();
}
static int32_t dev_open(uint32_t index, ndp_dev **out)
{
    (void)index;
    *out = NULL;
    return no_device();
}
static void dev_close(ndp_dev *dev)
{
    (void)dev;
}
static int32_t dev_alloc(ndp_dev *dev, uint64_t nbytes, ndp_mem **out)
{
    (void)dev, (void)nbytes;
    *out = NULL;
    return no_device();
}
static void dev_free(ndp_dev *dev, ndp_mem *mem)
{
    (void)dev, (void)mem;
}
static int32_t dev_write(ndp_dev *dev, ndp_stream *s, ndp_mem *mem, uint64_t at, const void *src,
                         uint64_t n)
{
    (void)dev, (void)s, (void)mem, (void)at, (void)src, (void)n;
    return no_device();
}
static int32_t dev_read(ndp_dev *dev, ndp_stream *s, ndp_mem *mem, uint64_t at, void *dst,
                        uint64_t n)
{
    (void)dev, (void)s, (void)mem, (void)at, (void)dst, (void)n;
    return no_device();
}
static int32_t dev_sync(ndp_dev *dev, ndp_stream *s)
{
    (void)dev, (void)s;
    return no_device();
}
static void shut_down(void) {}

static const void *group(ndp_dev *dev, const char *id)
{
    (void)dev;
    return strcmp(id, "ndp.comm/1") == 0 ? &ranks_group : NULL;
}

static const ndp_plugin table = {
    .size = sizeof(ndp_plugin),
    .major = NDP_ABI_MAJOR,
    .minor = NDP_ABI_MINOR,
    .name = "mpi",
    .version = RANKS_VERSION,
    .vendor = "ndock",
    .probe = probe,
    .info = info,
    .open = dev_open,
    .close = dev_close,
    .alloc = dev_alloc,
    .free = dev_free,
    .write = dev_write,
    .read = dev_read,
    .sync = dev_sync,
    .shutdown = shut_down,
    .group = group,
};

NDP_EXPORT const ndp_plugin *ndock_plugin_entry_0(const ndp_host *host)
{
    if (host->size < NDP_END(ndp_host, plugin))
        return NULL;
    ranks_host = host;
    return &table;
}
