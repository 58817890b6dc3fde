/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Opening the plug-in, and short forms of its calls that end the check where they fail. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "abi.h"

abi_state abi;

abi_entry_fn abi_entry(const char *file)
{
    abi_entry_fn entry = NULL;
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    abi_need(handle != NULL, "dlopen: %s", handle ? "" : dlerror());
    abi_own_code(file);
    void *symbol = dlsym(handle, NDP_ENTRY);
    abi_need(symbol != NULL, "it exports no %s", NDP_ENTRY);
    memcpy(&entry, &symbol, sizeof entry);
    return entry;
}

void abi_load(void)
{
    abi.table = abi_entry(abi.file)(&abi_host);
    abi_need(abi.table != NULL, "its entry refuses this host: %s",
             abi_error_text()[0] ? abi_error_text() : "without a text through host->error");
    abi_need(abi.table->size >= NDP_PLUGIN_REQUIRED_END,
             "its table has %u bytes, the required part is %zu", abi.table->size,
             NDP_PLUGIN_REQUIRED_END);
    memcpy(&abi.p, abi.table, abi.table->size < sizeof abi.p ? abi.table->size : sizeof abi.p);
    abi_flight_watch();
}

const void *abi_group(ndp_dev *dev, const char *id)
{
    return abi.p.group ? abi.p.group(dev, id) : NULL;
}

static bool take(const char *id, void *copy, size_t n)
{
    uint32_t size = 0;
    const void *group = abi_group(abi.dev, id);
    memset(copy, 0, n);
    if (!group)
        return false;
    memcpy(&size, group, sizeof size);
    memcpy(copy, group, size < n ? size : n);
    return true;
}

void abi_take_groups(void)
{
    bool streams = take("ndp.stream/1", &abi.stream, sizeof abi.stream);
    abi.has_stream = streams && (abi.info.flags & NDP_DEV_ASYNC);
    if (!abi.has_stream)
        memset(&abi.stream, 0, sizeof abi.stream);
    take("ndp.map/1", &abi.map, sizeof abi.map);
    take("ndp.pool/1", &abi.pool, sizeof abi.pool);
    take("ndp.memory/1", &abi.memory, sizeof abi.memory);
    take("ndp.op/1", &abi.op, sizeof abi.op);
    abi_flight_watch();
}

void abi_open(void)
{
    char why[512] = "";
    int32_t status = abi.p.probe(&abi.n_devices, why, sizeof why);
    if (status != NDP_OK || abi.n_devices == 0)
        abi_skip("it has no device here: %s", why[0] ? why : abi_error_text());
    abi.info = (ndp_device_info){.size = NDP_END(ndp_device_info, unique_id)};
    abi_call(abi.p.info(0, &abi.info), "info(0)");
    abi_call(abi.p.open(0, &abi.dev), "open(0)");
    abi_need(abi.dev != NULL, "open(0) answers NDP_OK with a NULL device");
    abi_take_groups();
}

void abi_close(void)
{
    abi.p.close(abi.dev);
    abi.dev = NULL;
}

ndp_mem *abi_alloc(uint64_t nbytes)
{
    char what[64];
    ndp_mem *mem = NULL;
    snprintf(what, sizeof what, "alloc of %llu bytes", (unsigned long long)nbytes);
    abi_call(abi.p.alloc(abi.dev, nbytes, &mem), what);
    abi_need(mem != NULL, "%s answers NDP_OK with a NULL block", what);
    return mem;
}

void abi_free(ndp_mem *mem)
{
    abi.p.free(abi.dev, mem);
}

void abi_write(ndp_stream *s, ndp_mem *mem, uint64_t offset, const void *src, uint64_t n)
{
    abi_call(abi.p.write(abi.dev, s, mem, offset, src, n), "write");
}

void abi_read(ndp_stream *s, ndp_mem *mem, uint64_t offset, void *dst, uint64_t n)
{
    abi_call(abi.p.read(abi.dev, s, mem, offset, dst, n), "read");
}

void abi_copy(ndp_stream *s, ndp_mem *dst, uint64_t d, ndp_mem *src, uint64_t o, uint64_t n)
{
    abi_call(abi.p.copy(abi.dev, s, dst, d, src, o, n), "copy");
}

ndp_stream *abi_stream(void)
{
    ndp_stream *s = NULL;
    int32_t lowest = 0, highest = 0;
    if (abi.stream.priority_range)
        abi_call(abi.stream.priority_range(abi.dev, &lowest, &highest), "priority_range");
    abi_call(abi.stream.create(abi.dev, lowest, 0, &s), "create of a stream");
    abi_need(s != NULL, "create of a stream answers NDP_OK with NULL");
    return s;
}

ndp_event *abi_event(uint64_t flags)
{
    ndp_event *e = NULL;
    abi_call(abi.stream.event_create(abi.dev, flags, &e), "event_create");
    abi_need(e != NULL, "event_create answers NDP_OK with NULL");
    return e;
}

/* Where calls may fail, they must say why. */
static bool good(int32_t status, bool tolerant, const char *what)
{
    if (status == NDP_OK)
        return true;
    if (!tolerant)
        abi_call(status, what);
    abi_expect(abi_error_text()[0] != 0, "%s answers %d without a text", what, (int)status);
    abi_error_clear();
    return false;
}

static void use_streams(bool tolerant)
{
    ndp_stream *s = NULL;
    ndp_event *e = NULL;
    int32_t lowest = 0, highest = 0;
    if (abi.stream.priority_range &&
        !good(abi.stream.priority_range(abi.dev, &lowest, &highest), tolerant, "priority_range"))
        return;
    if (!good(abi.stream.create(abi.dev, lowest, 0, &s), tolerant, "create of a stream"))
        return;
    if (good(abi.stream.event_create(abi.dev, NDP_EVENT_TIMING, &e), tolerant, "event_create")) {
        if (good(abi.stream.event_record(abi.dev, e, s), tolerant, "event_record"))
            good(abi.stream.event_sync(abi.dev, e), tolerant, "event_sync");
        good(abi.stream.wait(abi.dev, NULL, e), tolerant, "wait");
        abi.stream.event_destroy(abi.dev, e);
    }
    good(abi.stream.sync(abi.dev, s), tolerant, "sync of a stream");
    abi.stream.destroy(abi.dev, s);
}

static void use_memory(bool tolerant)
{
    ndp_mem *a = NULL, *b = NULL;
    unsigned char bytes[1000], back[1000];
    abi_fill(bytes, sizeof bytes, 1);
    memset(back, 0, sizeof back);
    bool ok = good(abi.p.alloc(abi.dev, sizeof bytes, &a), tolerant, "alloc") &&
              good(abi.p.alloc(abi.dev, sizeof bytes, &b), tolerant, "alloc") &&
              good(abi.p.write(abi.dev, NULL, a, 0, bytes, sizeof bytes), tolerant, "write");
    ndp_mem *from = a;
    if (ok && abi.p.copy) {
        ok = good(abi.p.copy(abi.dev, NULL, b, 0, a, 0, sizeof bytes), tolerant, "copy");
        from = b;
    }
    ok = ok && good(abi.p.read(abi.dev, NULL, from, 0, back, sizeof back), tolerant, "read");
    ok = ok && good(abi.p.sync(abi.dev, NULL), tolerant, "sync");
    if (ok)
        abi_filled(back, sizeof back, 1, 0, "read after write");
    if (!ok && a)
        (void)abi.p.sync(abi.dev, NULL); /* what was queued still uses them */
    if (a)
        abi_free(a);
    if (b)
        abi_free(b);
}

void abi_life(bool tolerant)
{
    abi.info = (ndp_device_info){.size = NDP_END(ndp_device_info, unique_id)};
    abi.dev = NULL;
    if (!good(abi.p.info(0, &abi.info), tolerant, "info") ||
        !good(abi.p.open(0, &abi.dev), tolerant, "open"))
        return;
    abi_take_groups();
    use_memory(tolerant);
    if (abi.has_stream)
        use_streams(tolerant);
    abi_close();
}
