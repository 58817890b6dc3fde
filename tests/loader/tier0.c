/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A plug-in with the required functions alone: memory that the host cannot see, and nothing else.
 * With MOCK_* defined it is broken in one way each, for the loader's tests; MOCK_COUNT and
 * MOCK_GROUP are functions for probe and group, of a file that includes this one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <ndock/note.h>

#ifndef MOCK_PRIORITY
#define MOCK_PRIORITY -1
#endif
#ifndef MOCK_VERSION
#define MOCK_VERSION "1.2"
#endif
#ifndef MOCK_NAME
#define MOCK_NAME "tier0"
#endif

static const ndp_host *host;

/* Its code runs: a line in the file MOCK_TRACE, a crash, or the end of the program. */
#if defined(MOCK_TRACED) || defined(MOCK_CRASHES) || defined(MOCK_EXITS)
__attribute__((constructor)) static void began(void)
{
    const char *path = getenv("MOCK_TRACE");
    FILE *f = path ? fopen(path, "a") : NULL;
    if (f) {
        fputs(MOCK_NAME "\n", f);
        fclose(f);
    }
#ifdef MOCK_CRASHES
    *(volatile int *)getenv("MOCK_NO_SUCH_VARIABLE") = 1;
#endif
#ifdef MOCK_EXITS
    _exit(3);
#endif
}
#endif

/* It takes its own file away while it is being loaded. */
#ifdef MOCK_REPLACED
__attribute__((constructor)) static void replace_itself(void)
{
    const char *other = getenv("MOCK_REPLACEMENT"), *own = getenv("MOCK_REPLACED");
    if (other && own)
        (void)rename(other, own);
}
#endif

struct ndp_mem {
    uint64_t nbytes;
    unsigned char bytes[];
};
struct ndp_dev {
    uint32_t index;
};
#ifdef MOCK_NO_LIBRARY
static int32_t open_driver(void)
{
    static const char *const sonames[] = {"libndock-mock.so.2", "libndock-mock.so.1"};
    static const ndh_library driver = {.size = sizeof driver,
                                       .n_sonames = 2,
                                       .name = "mock driver",
                                       .install = "install the package mock-driver",
                                       .sonames = sonames};
    const ndh_library_1 *libraries = host->service(host->ctx, "ndh.library/1");
    return libraries->open(host->ctx, &driver, NULL);
}
#endif

static int32_t probe(uint32_t *count, char *why, size_t n)
{
#if defined(MOCK_COUNT)
    return MOCK_COUNT(count, why, n);
#elif defined(MOCK_HANG)
    (void)why;
    (void)n;
    while (!getenv("MOCK_NO_SUCH_VARIABLE"))
        sleep(3600);
    *count = 1;
    return NDP_OK;
#elif defined(MOCK_MANY)
    (void)why;
    (void)n;
    *count = UINT32_MAX;
    return NDP_OK;
#elif defined(MOCK_NO_LIBRARY)
    (void)why;
    (void)n;
    *count = 0;
    return open_driver();
#elif defined(MOCK_OLD_DRIVER)
    (void)count;
    snprintf(why, n, "its driver is 12.1, and 12.4 or newer is needed: update it");
    return NDP_ERR_PLUGIN;
#elif defined(MOCK_NO_DEVICE)
    *count = 0;
    snprintf(why, n, "its driver is not installed: install mock-driver");
    return NDP_OK;
#else
    (void)why;
    (void)n;
    *count = 2;
    return NDP_OK;
#endif
}

static int32_t info(uint32_t index, ndp_device_info *out)
{
    snprintf(out->name, sizeof out->name, "storage %u", index);
    out->memory_bytes = UINT64_C(1) << 30;
    out->align_bytes = 16;
    out->dtypes = (UINT64_C(1) << NDP_DTYPE_END) - 2;
    out->priority = MOCK_PRIORITY;
#ifdef MOCK_UNIQUE_ID
    snprintf(out->unique_id, sizeof out->unique_id, MOCK_UNIQUE_ID, index);
#endif
    return NDP_OK;
}

static int32_t dev_open(uint32_t index, ndp_dev **out)
{
#ifdef MOCK_OPEN_FAILS
    (void)out;
    return host->error(host->ctx, NDP_ERR_DEVICE, 77, "device %u is busy", index);
#else
    static struct ndp_dev devices[2] = {{0}, {1}};
    *out = &devices[index];
    return NDP_OK;
#endif
}

static void dev_close(ndp_dev *dev)
{
    (void)dev;
}

static int32_t mem_alloc(ndp_dev *dev, uint64_t nbytes, ndp_mem **out)
{
    (void)dev;
    *out = nbytes > UINT64_C(1) << 30 ? NULL : malloc(sizeof **out + nbytes);
    if (!*out)
        return host->error(host->ctx, NDP_ERR_MEMORY, 2, "no %llu bytes on the storage device",
                           (unsigned long long)nbytes);
    (*out)->nbytes = nbytes;
    memset((*out)->bytes, 0xa5, (size_t)nbytes);
    return NDP_OK;
}

static void mem_free(ndp_dev *dev, ndp_mem *mem)
{
    (void)dev;
    free(mem);
}

static int32_t in_bounds(const ndp_mem *mem, uint64_t offset, uint64_t n)
{
    if (offset <= mem->nbytes && n <= mem->nbytes - offset)
        return NDP_OK;
    return host->error(host->ctx, NDP_ERR_INTERNAL, 0, "bytes %llu to %llu of a block of %llu",
                       (unsigned long long)offset, (unsigned long long)(offset + n),
                       (unsigned long long)mem->nbytes);
}

static int32_t write_bytes(ndp_dev *dev, ndp_stream *s, ndp_mem *mem, uint64_t offset,
                           const void *src, uint64_t n)
{
    (void)dev;
    (void)s;
    int32_t status = in_bounds(mem, offset, n);
    if (status == NDP_OK)
        memcpy(mem->bytes + offset, src, (size_t)n);
    return status;
}

static int32_t read_bytes(ndp_dev *dev, ndp_stream *s, ndp_mem *mem, uint64_t offset, void *dst,
                          uint64_t n)
{
    (void)dev;
    (void)s;
    int32_t status = in_bounds(mem, offset, n);
    if (status == NDP_OK)
        memcpy(dst, mem->bytes + offset, (size_t)n);
    return status;
}

static int32_t sync_nothing(ndp_dev *dev, ndp_stream *s)
{
    (void)dev;
    (void)s;
    return NDP_OK;
}

static void shutdown_nothing(void) {}

#ifndef MOCK_MINOR
#define MOCK_MINOR NDP_ABI_MINOR
#endif
#ifndef MOCK_SIZE
#define MOCK_SIZE NDP_PLUGIN_REQUIRED_END
#endif

#ifndef MOCK_NOTE_NAME
#define MOCK_NOTE_NAME MOCK_NAME
#endif
#ifndef MOCK_NO_NOTE
NDP_PLUGIN_NOTE(MOCK_NOTE_NAME, MOCK_VERSION, MOCK_PRIORITY, (UINT64_C(1) << NDP_DTYPE_END) - 2, "")
#endif

static const ndp_plugin table = {
    .size = MOCK_SIZE,
    .major = NDP_ABI_MAJOR,
    .minor = MOCK_MINOR,
    .name = MOCK_NAME,
    .version = MOCK_VERSION,
    .vendor = "tests",
    .probe = probe,
    .info = info,
    .open = dev_open,
    .close = dev_close,
    .alloc = mem_alloc,
    .free = mem_free,
    .write = write_bytes,
#ifndef MOCK_NO_READ
    .read = read_bytes,
#endif
    .sync = sync_nothing,
    .shutdown = shutdown_nothing,
#ifdef MOCK_GROUP
    .group = MOCK_GROUP,
#endif
};

#ifdef MOCK_NO_ENTRY
NDP_EXPORT const ndp_plugin *another_entry(const ndp_host *h);
NDP_EXPORT const ndp_plugin *another_entry(const ndp_host *h)
#else
NDP_EXPORT const ndp_plugin *ndock_plugin_entry_0(const ndp_host *h)
#endif
{
    host = h;
#ifdef MOCK_NO_READ
    (void)read_bytes;
#endif
#ifdef MOCK_ENTRY_REFUSES
    host->error(host->ctx, NDP_ERR_PLUGIN, 0, "it needs a newer host");
    (void)table;
    return NULL;
#else
    return &table;
#endif
}
