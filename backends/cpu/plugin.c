/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The CPU plug-in's table: one device over host memory, every call complete when it returns. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "host/cpu.h"
#include <ndock/note.h>

NDP_PLUGIN_NOTE("cpu", PACKAGE_VERSION, 0, ((uint64_t)1 << NDP_DTYPE_END) - 2,
                "ndp.op/1 ndp.map/1 ndp.pointer/1 ndp.code/1 ndp.comm/1 ndp.info/1 ndp.fused/1")

struct ndp_dev cpu_device;

static int32_t probe(uint32_t *count, char *why, size_t n)
{
    (void)why;
    (void)n;
    cpu_read_parameters();
    *count = 1;
    return NDP_OK;
}

/* "AMD EPYC ..." from /proc/cpuinfo, else "CPU". */
static void cpu_model(char *out, size_t n)
{
    snprintf(out, n, "CPU");
    FILE *f = fopen("/proc/cpuinfo", "r");
    char line[256];
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon)
            continue;
        line[strcspn(line, "\n")] = 0;
        snprintf(out, n, "%.*s", (int)(n - 1), colon + 2);
        break;
    }
    if (f)
        fclose(f);
}

static int32_t no_device(uint32_t index)
{
    return cpu_error(NDP_ERR_DEVICE, "there is one CPU device, cpu:0, not cpu:%u", index);
}

static int32_t info(uint32_t index, ndp_device_info *out)
{
    if (index != 0)
        return no_device(index);
    if (out->size < NDP_END(ndp_device_info, unique_id))
        return cpu_error(NDP_ERR_PLUGIN, "ndp_device_info of %u bytes is too short", out->size);
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    out->flags = NDP_DEV_HOST_VISIBLE;
    out->memory_bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
    out->align_bytes = 64;
    out->max_alloc_bytes = INT64_MAX;
    out->dtypes = ((uint64_t)1 << NDP_DTYPE_END) - 2;
    out->priority = 0;
    cpu_model(out->name, sizeof out->name);
    out->unique_id[0] = 0;
    return NDP_OK;
}

static int32_t dev_open(uint32_t index, ndp_dev **out)
{
    *out = index == 0 ? &cpu_device : NULL;
    if (!*out)
        return no_device(index);
    return NDP_OK;
}

static void dev_close(ndp_dev *dev)
{
    (void)dev;
}

/* Memory that has never been touched gets its pages where it is first written: by the threads that will
 * work on it, and by several at a time. */
enum { SHARED_BYTES = 4 << 20, PIECE_BYTES = 1 << 20 };
typedef struct {
    char *to;
    const char *from;
} span;
static void move_piece(void *ctx, int64_t begin, int64_t end)
{
    const span *s = ctx;
    memcpy(s->to + begin, s->from + begin, (size_t)(end - begin));
}
static void move_bytes(void *to, const void *from, uint64_t n)
{
    if (n < SHARED_BYTES)
        memcpy(to, from, (size_t)n);
    else
        cpu_parallel((int64_t)n, PIECE_BYTES, move_piece, &(span){to, from});
}

static int32_t write_bytes(ndp_dev *dev, ndp_stream *s, ndp_mem *mem, uint64_t offset,
                           const void *src, uint64_t n)
{
    (void)dev;
    (void)s;
    move_bytes(mem->base + offset, src, n);
    return NDP_OK;
}

static int32_t read_bytes(ndp_dev *dev, ndp_stream *s, ndp_mem *mem, uint64_t offset, void *dst,
                          uint64_t n)
{
    (void)dev;
    (void)s;
    move_bytes(dst, mem->base + offset, n);
    return NDP_OK;
}

static int32_t copy_bytes(ndp_dev *dev, ndp_stream *s, ndp_mem *dst, uint64_t dst_offset,
                          ndp_mem *src, uint64_t src_offset, uint64_t n)
{
    (void)dev;
    (void)s;
    memmove(dst->base + dst_offset, src->base + src_offset, (size_t)n);
    return NDP_OK;
}

static int32_t sync_nothing(ndp_dev *dev, ndp_stream *s)
{
    (void)dev;
    (void)s;
    return NDP_OK; /* every call is complete when it returns */
}

static int32_t info_item(ndp_dev *dev, uint32_t i, char *key, char *value, size_t n)
{
    (void)dev;
    switch (i) {
    case 0:
        snprintf(key, n, "simd");
        snprintf(value, n, "%s", cpu_isa_name());
        return NDP_OK;
    case 1:
        snprintf(key, n, "threads");
        snprintf(value, n, "%d", cpu_threads());
        return NDP_OK;
    case 2:
        snprintf(key, n, "blas");
        snprintf(value, n, "%s", cpu_blas_name());
        return NDP_OK;
    case 3:
        snprintf(key, n, "lapack");
        snprintf(value, n, "%s", cpu_lapack_name());
        return NDP_OK;
    default:
        return NDP_ERR_INDEX;
    }
}

static const ndp_info_1 info_group = {.size = sizeof(ndp_info_1), .item = info_item};

static const void *group(ndp_dev *dev, const char *id)
{
    (void)dev;
    if (strcmp(id, "ndp.op/1") == 0)
        return &cpu_op_group;
    if (strcmp(id, "ndp.map/1") == 0)
        return &cpu_map_group;
    if (strcmp(id, "ndp.pointer/1") == 0)
        return &cpu_pointer_group;
    if (strcmp(id, "ndp.code/1") == 0)
        return &cpu_code_group;
    if (strcmp(id, "ndp.comm/1") == 0)
        return &cpu_comm_group;
    if (strcmp(id, "ndp.fused/1") == 0)
        return &cpu_fused_group;
    if (strcmp(id, "ndp.info/1") == 0)
        return &info_group;
    return NULL;
}

static const ndp_plugin table = {
    .size = sizeof(ndp_plugin),
    .major = NDP_ABI_MAJOR,
    .minor = NDP_ABI_MINOR,
    .name = "cpu",
    .version = PACKAGE_VERSION,
    .vendor = "ndock",
    .probe = probe,
    .info = info,
    .open = dev_open,
    .close = dev_close,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .write = write_bytes,
    .read = read_bytes,
    .sync = sync_nothing,
    .shutdown = cpu_threads_stop,
    .copy = copy_bytes,
    .group = group,
};

NDP_EXPORT const ndp_plugin *ndock_plugin_entry_0(const ndp_host *host)
{
    cpu_host = host;
    return &table;
}
