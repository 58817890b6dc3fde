/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group C: memory by the groups ndp.map/1, ndp.pool/1 and ndp.memory/1. */
#include <stdlib.h>
#include <string.h>
#include "map.h"

enum { BYTES = 20000 };

static void want(bool there, const char *what)
{
    if (!there)
        abi_skip("the device has no %s", what);
}

void abi_check_map(void)
{
    want(abi.map.map && abi.map.unmap, "ndp.map/1 with map");
    unsigned char *bytes = abi_bytes(BYTES);
    void *host = NULL;
    ndp_mem *m = abi_alloc(BYTES);
    abi_fill(bytes, BYTES, 1);
    abi_write(NULL, m, 0, bytes, BYTES);
    abi_call(abi.p.sync(abi.dev, NULL), "sync");
    int32_t status = abi.map.map(abi.dev, m, &host);
    if (status == NDP_ERR_UNSUPPORTED) {
        abi_expect(!(abi.info.flags & NDP_DEV_HOST_VISIBLE),
                   "info says NDP_DEV_HOST_VISIBLE, and map answers UNSUPPORTED");
        abi_expect(abi_error_text()[0] != 0, "map answers UNSUPPORTED without a text");
        abi_skip("blocks of this device are not mapped");
    }
    abi_call(status, "map");
    abi_filled(host, BYTES, 1, 0, "a mapped block");
    abi_fill(host, BYTES, 2);
    abi_call(abi.map.unmap(abi.dev, m), "unmap");
    abi_read(NULL, m, 0, bytes, BYTES);
    abi_filled(bytes, BYTES, 2, 0, "a block written to through its mapping");
    abi_free(m);
}

void abi_check_wrap(void)
{
    want(abi.map.address && abi.map.wrap, "ndp.map/1 with wrap");
    unsigned char *bytes = abi_bytes(BYTES);
    uint64_t address = 0, again = 0;
    ndp_mem *m = abi_alloc(BYTES), *w = NULL;
    abi_fill(bytes, BYTES, 3);
    abi_write(NULL, m, 0, bytes, BYTES);
    if (abi.map.address(abi.dev, m, &address) == NDP_ERR_UNSUPPORTED)
        abi_skip("blocks of this device have no addresses");
    abi_call(abi.map.wrap(abi.dev, address + 4096, BYTES - 4096, &w), "wrap");
    abi_call(abi.map.address(abi.dev, w, &again), "address of a wrapped block");
    abi_expect(again == address + 4096, "a block wrapped at 0x%llx says it is at 0x%llx",
               (unsigned long long)address + 4096, (unsigned long long)again);
    memset(bytes, 0, BYTES);
    abi_read(NULL, w, 4, bytes, BYTES - 4100);
    abi_filled(bytes, BYTES - 4100, 3, 4100, "memory read through its wrapper");
    abi_fill(bytes, 100, 4);
    abi_write(NULL, w, 0, bytes, 100);
    abi_free(w);
    abi_read(NULL, m, 4096, bytes, 100);
    abi_filled(bytes, 100, 4, 0, "memory written through its wrapper, which is freed");
    abi_read(NULL, m, 0, bytes, 4096);
    abi_filled(bytes, 4096, 3, 0, "memory beside a wrapper that is freed");
    abi_free(m);
}

/* Out and in again through host memory that the device reaches. */
static void through(ndp_mem *pinned, unsigned char *host, const char *what)
{
    ndp_mem *m = abi_alloc(BYTES);
    abi_fill(host, BYTES, 5);
    abi_copy(NULL, m, 0, pinned, 0, BYTES);
    abi_call(abi.p.sync(abi.dev, NULL), "sync");
    memset(host, 0, BYTES);
    abi_copy(NULL, pinned, 7, m, 7, BYTES - 7);
    abi_call(abi.p.sync(abi.dev, NULL), "sync");
    abi_filled(host + 7, BYTES - 7, 5, 7, what);
    abi_expect(host[0] == 0 && host[6] == 0, "%s: a copy to offset 7 wrote before it", what);
    abi_free(m);
}

static void expect_pinned(const void *host, int32_t wanted, const char *what)
{
    int32_t yes = -1;
    if (!abi.map.is_pinned)
        return;
    abi_call(abi.map.is_pinned(abi.dev, host, &yes), "is_pinned");
    abi_expect(!yes == !wanted, "is_pinned says %d of %s", (int)yes, what);
}

void abi_check_pin(void)
{
    want(abi.map.pin, "ndp.map/1 with pin");
    void *host = NULL;
    ndp_mem *pinned = NULL;
    abi_call(abi.map.pin(abi.dev, BYTES, &pinned, &host), "pin");
    abi_need(pinned && host, "pin answers NDP_OK with a NULL");
    expect_pinned(host, 1, "pinned memory");
    through(pinned, host, "bytes copied to the device and back to pinned memory");
    abi_free(pinned);
}

void abi_check_register(void)
{
    want(abi.map.register_host, "ndp.map/1 with register_host");
    size_t page = 4096, n = (BYTES + page - 1) / page * page;
    void *own = NULL;
    ndp_mem *m = NULL, *twice = NULL;
    abi_need(posix_memalign(&own, page, n) == 0, "conform-abi itself has no memory");
    int32_t status = abi.map.register_host(abi.dev, own, n, &m);
    if (status == NDP_ERR_UNSUPPORTED)
        abi_skip("memory of the program's own is not locked: %s", abi_error_text());
    abi_call(status, "register_host");
    expect_pinned(own, 1, "memory that was registered");
    through(m, own, "bytes copied to the device and back to registered memory");
    abi_refused(abi.map.register_host(abi.dev, own, n, &twice), NDP_ERR_ARGUMENT,
                "register_host of memory that is registered");
    abi_free(m);
    abi_filled((unsigned char *)own + 7, BYTES - 7, 5, 7, "memory no longer registered");
    expect_pinned(own, 0, "memory no longer registered");
    memset(own, 1, n);
    free(own);
}

static uint64_t pool_used(void)
{
    uint64_t used = 0, reserved = 0;
    abi_call(abi.pool.usage(abi.dev, &used, &reserved), "usage of the pool");
    abi_expect(used <= reserved, "the pool uses %llu bytes of %llu reserved",
               (unsigned long long)used, (unsigned long long)reserved);
    return used;
}

void abi_check_pool(void)
{
    want(abi.pool.alloc && abi.pool.free && abi.pool.usage && abi.pool.trim, "ndp.pool/1");
    uint64_t before = pool_used();
    unsigned char *bytes = abi_bytes(BYTES);
    ndp_mem *m[4] = {NULL}, *huge = NULL;
    for (uint64_t i = 0; i < 4; i++) {
        abi_call(abi.pool.alloc(abi.dev, NULL, BYTES, &m[i]), "alloc of the pool");
        abi_fill(bytes, BYTES, i);
        abi_write(NULL, m[i], 0, bytes, BYTES);
    }
    abi_expect(pool_used() >= before + 4 * BYTES, "the pool says %llu bytes more for 4 x %d",
               (unsigned long long)(pool_used() - before), BYTES);
    for (uint64_t i = 0; i < 4; i++) {
        abi_read(NULL, m[i], 0, bytes, BYTES);
        abi_filled(bytes, BYTES, i, 0, "a block of the pool");
        abi.pool.free(abi.dev, NULL, m[i]);
    }
    abi_call(abi.p.sync(abi.dev, NULL), "sync");
    abi_expect(pool_used() == before, "the pool says %lld bytes more after all was freed",
               (long long)(pool_used() - before));
    abi_call(abi.pool.trim(abi.dev, 0), "trim of the pool");
    abi_refused(abi.pool.alloc(abi.dev, NULL, INT64_MAX - 4095, &huge), NDP_ERR_MEMORY,
                "alloc of 2^63 bytes of the pool");
}

void abi_check_reserve(void)
{
    uint64_t free_bytes = 0, total = 0, step = 0;
    want(abi.memory.usage, "ndp.memory/1");
    abi_call(abi.memory.usage(abi.dev, &free_bytes, &total), "usage");
    abi_expect(free_bytes <= total && total > 0, "usage says %llu bytes free of %llu",
               (unsigned long long)free_bytes, (unsigned long long)total);
    want(abi.memory.reserve, "reserve of ndp.memory/1");
    int32_t status = abi.memory.granularity(abi.dev, &step);
    if (status == NDP_ERR_UNSUPPORTED)
        abi_skip("this device does not reserve addresses: %s", abi_error_text());
    abi_call(status, "granularity");
    abi_need(step > 0, "granularity says 0 bytes");
    ndp_mem *m = NULL;
    unsigned char *bytes = abi_bytes(step);
    abi_call(abi.memory.reserve(abi.dev, 4 * step, &m), "reserve");
    for (uint64_t i = 1; i <= 2; i++) {
        abi_call(abi.memory.commit(abi.dev, m, i * step, step), "commit");
        abi_call(abi.memory.set_access(abi.dev, m, i * step, step), "set_access");
        abi_fill(bytes, step, i);
        abi_write(NULL, m, i * step, bytes, step);
    }
    for (uint64_t i = 1; i <= 2; i++) {
        abi_read(NULL, m, i * step, bytes, step);
        abi_filled(bytes, step, i, 0, "memory committed behind reserved addresses");
        abi_call(abi.memory.decommit(abi.dev, m, i * step, step), "decommit");
    }
    abi_free(m);
}
