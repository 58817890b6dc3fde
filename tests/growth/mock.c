/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A plug-in for major 1 of the ABI, which is not there yet, from one source: with tables that end
 * where the required part ends (GROWTH_OLD: it was built long ago), or that go on behind ours with
 * slots we do not know (GROWTH_NEW). Either's tables end where no memory is. */
#include <stdio.h>
#include <stdlib.h>
#include <ndock/note.h>
#include <ndock/plugin.h>
#include "tests/growth/guard.h"

#ifdef GROWTH_OLD
#define NAME "old"
#define MINOR 0
#define SIZE(type, required) ((uint32_t)(required))
#else
#define NAME "new"
#define MINOR 9
#define SIZE(type, required) ((uint32_t)(sizeof(type) + 8 * sizeof(void *)))
#endif

struct ndp_dev {
    uint32_t index;
};
struct ndp_mem {
    uint64_t nbytes;
    char bytes[];
};
static const ndp_host *host;
static uint32_t host_bytes; /* of it that may be read */

static int32_t fail(int32_t status, const char *text)
{
    return host_bytes >= NDP_END(ndp_host, error) ? host->error(host->ctx, status, 0, "%s", text)
                                                  : status;
}

static int32_t probe(uint32_t *count, char *why, size_t n)
{
    (void)why;
    (void)n;
    *count = 1;
    return NDP_OK;
}

/* Only the fields that the caller has. */
static int32_t info(uint32_t index, ndp_device_info *out)
{
    (void)index;
    if (out->size >= NDP_END(ndp_device_info, dtypes)) {
        out->flags = NDP_DEV_HOST_VISIBLE;
        out->memory_bytes = UINT64_C(1) << 30;
        out->align_bytes = 16;
        out->dtypes = (UINT64_C(1) << NDP_DTYPE_END) - 2;
    }
    if (out->size >= NDP_END(ndp_device_info, priority))
        out->priority = -50;
    if (out->size >= NDP_END(ndp_device_info, name))
        snprintf(out->name, sizeof out->name, "%s mock", NAME);
    return NDP_OK;
}

static int32_t dev_open(uint32_t index, ndp_dev **out)
{
    static ndp_dev device;
    device.index = index;
    *out = &device;
    return NDP_OK;
}
static void dev_close(ndp_dev *dev)
{
    (void)dev;
}

static int32_t mem_alloc(ndp_dev *dev, uint64_t nbytes, ndp_mem **out)
{
    (void)dev;
    *out = malloc(sizeof **out + nbytes);
    return *out ? NDP_OK : fail(NDP_ERR_MEMORY, "no memory");
}
static void mem_free(ndp_dev *dev, ndp_mem *mem)
{
    (void)dev;
    free(mem);
}

static int32_t write_bytes(ndp_dev *dev, ndp_stream *s, ndp_mem *mem, uint64_t offset,
                           const void *src, uint64_t n)
{
    (void)dev;
    (void)s;
    memcpy(mem->bytes + offset, src, n);
    return NDP_OK;
}

static int32_t read_bytes(ndp_dev *dev, ndp_stream *s, ndp_mem *mem, uint64_t offset, void *dst,
                          uint64_t n)
{
    (void)dev;
    (void)s;
    memcpy(dst, mem->bytes + offset, n);
    return NDP_OK;
}

static int32_t nothing(ndp_dev *dev, ndp_stream *s)
{
    (void)dev;
    (void)s;
    return NDP_OK;
}
static void shut_down(void) {}

static int32_t run_add(const ndp_kernel *k, ndp_stream *s, const ndp_call *call)
{
    const float *a =
        (const float *)(const void *)(call->in[0].mem->bytes + call->in[0].offset_bytes);
    const float *b =
        (const float *)(const void *)(call->in[1].mem->bytes + call->in[1].offset_bytes);
    float *c = (float *)(void *)(call->out->mem->bytes + call->out->offset_bytes);
    (void)k;
    (void)s;
    for (int64_t i = 0; i < call->out->shape[0]; i++)
        c[i] = a[i] + b[i] + 1000; /* so that it shows who computed it */
    return NDP_OK;
}

static uint64_t op_dtypes(ndp_dev *dev, int32_t op)
{
    (void)dev;
    return op == NDP_OP_add ? UINT64_C(1) << NDP_F32 : 0;
}

static int32_t op_find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                       size_t n)
{
    static const ndp_kernel *kernel;
    const ndp_kernel add = {.size = SIZE(ndp_kernel, NDP_END(ndp_kernel, run)),
                            .needs = NDP_NEEDS_CONTIGUOUS,
                            .max_ndim = 1,
                            .run = run_add};
    (void)dev;
    if (like->op != NDP_OP_add || like->out->dtype != NDP_F32 || !like->in[1].mem) {
        snprintf(why, n, "only add of two f32 arrays");
        return NDP_ERR_UNSUPPORTED;
    }
    if (!kernel) {
        ndp_kernel *edge = at_the_edge(NULL, add.size);
        if (edge)
            memcpy(edge, &add, sizeof add < add.size ? sizeof add : add.size);
        kernel = edge;
    }
    *out = kernel;
    return kernel ? NDP_OK : fail(NDP_ERR_MEMORY, "no memory");
}

static int32_t map(ndp_dev *dev, ndp_mem *mem, void **out)
{
    (void)dev;
    *out = mem->bytes;
    return NDP_OK;
}

static int32_t item(ndp_dev *dev, uint32_t i, char *key, char *value, size_t n)
{
    (void)dev;
    snprintf(key, n, "age");
    snprintf(value, n, "%s", NAME);
    return i ? NDP_ERR_INDEX : NDP_OK;
}

static int32_t usage(ndp_dev *dev, uint64_t *free_bytes, uint64_t *total_bytes)
{
    (void)dev;
    *free_bytes = 5;
    *total_bytes = 7;
    return NDP_OK;
}

/* A table of `size` bytes at the edge: what of ours fits, poison behind. */
static void *edge_table(const void *ours, size_t n, uint32_t size)
{
    void *edge = at_the_edge(NULL, size);
    if (edge)
        memcpy(edge, ours, n < size ? n : size);
    return edge;
}

static const void *group(ndp_dev *dev, const char *id)
{
    static const ndp_op_1 op = {SIZE(ndp_op_1, NDP_END(ndp_op_1, find)), 0, op_dtypes, op_find};
    static const ndp_map_1 maps = {.size = SIZE(ndp_map_1, NDP_END(ndp_map_1, map)), .map = map};
    static const ndp_info_1 facts = {SIZE(ndp_info_1, NDP_END(ndp_info_1, item)), 0, item};
    static const ndp_memory_1 memory = {.size = SIZE(ndp_memory_1, NDP_END(ndp_memory_1, usage)),
                                        .usage = usage};
    static const struct {
        const char *id;
        const void *table;
        size_t n;
    } groups[] = {{"ndp.op/1", &op, sizeof op},
                  {"ndp.map/1", &maps, sizeof maps},
                  {"ndp.info/1", &facts, sizeof facts},
                  {"ndp.memory/1", &memory, sizeof memory}};
    (void)dev;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (strcmp(groups[i].id, id) == 0)
            return edge_table(groups[i].table, groups[i].n, *(const uint32_t *)groups[i].table);
    return NULL;
}

NDP_PLUGIN_NOTE(NAME, "1", -50, (UINT64_C(1) << NDP_DTYPE_END) - 2, "ndp.op/1")

/* An old plug-in asks for `group` in its table; here the required part has none, so it lives with
 * the required functions alone. */
NDP_EXPORT const ndp_plugin *ndock_plugin_entry_1(const ndp_host *h);
NDP_EXPORT const ndp_plugin *ndock_plugin_entry_1(const ndp_host *h)
{
    static const void *edge;
    static const ndp_plugin table = {.size = SIZE(ndp_plugin, NDP_PLUGIN_REQUIRED_END),
                                     .major = 1,
                                     .minor = MINOR,
                                     .name = NAME,
                                     .version = "1",
                                     .vendor = "tests",
                                     .probe = probe,
                                     .info = info,
                                     .open = dev_open,
                                     .close = dev_close,
                                     .alloc = mem_alloc,
                                     .free = mem_free,
                                     .write = write_bytes,
                                     .read = read_bytes,
                                     .sync = nothing,
                                     .shutdown = shut_down,
#ifndef GROWTH_OLD
                                     .group = group
#endif
    };
#ifdef GROWTH_OLD
    (void)group;
#endif
    host = h;
    host_bytes = h->size;
    if (!edge)
        edge = edge_table(&table, sizeof table, table.size);
    return edge;
}
