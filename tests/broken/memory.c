/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Blocks of host memory, transfers through the queues, and addresses. */
#include <sched.h>
#include <string.h>
#include "device.h"

static ndp_mem *pinned; /* under lock */

void *take_memory(size_t nbytes)
{
    void *p = host->alloc(host->ctx, nbytes ? nbytes : 64, 16);
    return p && nbytes ? memset(p, 0, nbytes) : p;
}

void give_memory(void *p)
{
    host->free(host->ctx, p);
}

int32_t no_memory(uint64_t nbytes)
{
    if (broken(break_host_alloc_text) && nbytes < ROOM)
        return NDP_ERR_MEMORY;
    if (broken(break_huge_text) && nbytes > ROOM)
        return NDP_ERR_MEMORY;
    if (broken(break_error_thread) && !pthread_equal(opener, pthread_self()))
        return NDP_ERR_MEMORY;
    return host->error(host->ctx, broken(break_huge_status) ? NDP_ERR_DEVICE : NDP_ERR_MEMORY, 0,
                       "no %llu bytes; there are %llu", (unsigned long long)nbytes,
                       (unsigned long long)ROOM);
}

/* By break_overlap: small blocks one after the other, too near by the remainder of 256. */
static char *carve(uint64_t nbytes, char *otherwise)
{
    enum { ARENA = 1 << 22, MOST = 1 << 15 };
    static char arena[ARENA] __attribute__((aligned(ALIGN)));
    static uint64_t used;
    if (nbytes < ALIGN || nbytes > MOST)
        return otherwise;
    if (used + nbytes > ARENA)
        used = 0;
    char *at = arena + used;
    used += nbytes / ALIGN * ALIGN;
    return at;
}

static int32_t new_block(uint64_t nbytes, ndp_mem **out)
{
    enum { OFF = 8 };
    ndp_mem *mem = take_memory(sizeof *mem);
    *out = NULL;
    if (!mem)
        return no_memory(sizeof *mem);
    mem->block = host->alloc(host->ctx, (size_t)nbytes + OFF, ALIGN);
    if (!mem->block) {
        give_memory(mem);
        return no_memory(nbytes);
    }
    mem->base = mem->block + (broken(break_alignment) ? OFF : 0);
    if (broken(break_overlap))
        mem->base = carve(nbytes, mem->base);
    mem->nbytes = nbytes;
    *out = mem;
    return NDP_OK;
}

int32_t mem_alloc(ndp_dev *dev, uint64_t nbytes, ndp_mem **out)
{
    static ndp_mem *last;
    (void)dev;
    *out = NULL;
    if (nbytes > ROOM && broken(break_huge_small))
        nbytes = 4096;
    if (nbytes > ROOM)
        return no_memory(nbytes);
    if (!broken(break_alloc_race))
        return new_block(nbytes ? nbytes : 1, out);
    int32_t status = new_block(nbytes ? nbytes : 1, &last);
    sched_yield();
    *out = last;
    return status;
}

void mem_free(ndp_dev *dev, ndp_mem *mem)
{
    (void)dev;
    pthread_mutex_lock(&lock);
    ndp_mem **at = &pinned;
    while (*at && *at != mem)
        at = &(*at)->next;
    if (*at)
        *at = mem->next;
    pthread_mutex_unlock(&lock);
    if (mem->block || (broken(break_wrap) && !mem->pinned))
        give_memory(mem->block ? mem->block : mem->base);
    give_memory(mem);
}

int32_t mem_write(ndp_dev *dev, ndp_stream *s, ndp_mem *mem, uint64_t offset, const void *src,
                  uint64_t n)
{
    uint64_t half = UINT64_C(1) << 19;
    if (n == 0)
        return broken(break_zero_size)
                   ? host->error(host->ctx, NDP_ERR_ARGUMENT, 0, "write of no bytes")
                   : NDP_OK;
    if (broken(break_roundtrip) && n > half)
        n = half;
    if (broken(break_odd_offsets) && n == 13)
        n = 12;
    job j = {.kind = JOB_BYTES, .to = mem->base + offset, .from = src, .n = n};
    j.arg = broken(break_guard) && offset + n < mem->nbytes ? mem : NULL;
    return submit(dev, s, &j, !(broken(break_host_reuse) && n == 65536));
}

int32_t mem_read(ndp_dev *dev, ndp_stream *s, ndp_mem *mem, uint64_t offset, void *dst, uint64_t n)
{
    if (n > 0 && broken(break_read_waits)) {
        memcpy(dst, mem->base + offset, n);
        return NDP_OK;
    }
    if (broken(break_far) && n < 16)
        offset &= 0xffff;
    job j = {.kind = JOB_BYTES, .to = dst, .from = mem->base + offset, .n = n};
    return n == 0 ? NDP_OK : submit(dev, s, &j, true);
}

int32_t mem_copy(ndp_dev *dev, ndp_stream *s, ndp_mem *dst, uint64_t d, ndp_mem *src, uint64_t o,
                 uint64_t n)
{
    job j = {.kind = JOB_BYTES, .to = dst->base + d, .from = src->base + o, .n = n};
    if (broken(break_copy_overtakes) && n >= 1 << 18) {
        memmove(j.to, j.from, n);
        return NDP_OK;
    }
    if (broken(break_copy))
        j.from = src->base;
    return n == 0 ? NDP_OK : submit(dev, s, &j, false);
}

static int32_t address(ndp_dev *dev, ndp_mem *mem, uint64_t *out)
{
    (void)dev;
    *out = (uint64_t)(uintptr_t)mem->base;
    return NDP_OK;
}

static int32_t wrap(ndp_dev *dev, uint64_t at, uint64_t nbytes, ndp_mem **out)
{
    ndp_mem *mem = *out = take_memory(sizeof *mem);
    (void)dev;
    if (!mem)
        return no_memory(sizeof *mem);
    mem->base = (char *)(uintptr_t)at;
    mem->nbytes = nbytes;
    return NDP_OK;
}

static int32_t map(ndp_dev *dev, ndp_mem *mem, void **out)
{
    (void)dev;
    *out = mem->base;
    if (!broken(break_map))
        return NDP_OK;
    *out = mem->mapped = take_memory(mem->nbytes);
    memcpy(mem->mapped, mem->base, mem->nbytes);
    return NDP_OK;
}

static int32_t unmap(ndp_dev *dev, ndp_mem *mem)
{
    (void)dev;
    if (mem->mapped)
        give_memory(mem->mapped);
    mem->mapped = NULL;
    return NDP_OK;
}

static void remember_pinned(ndp_mem *mem)
{
    mem->pinned = true;
    pthread_mutex_lock(&lock);
    mem->next = pinned;
    pinned = mem;
    pthread_mutex_unlock(&lock);
}

static int32_t pin(ndp_dev *dev, uint64_t nbytes, ndp_mem **out, void **at)
{
    int32_t status = mem_alloc(dev, nbytes, out);
    *at = NULL;
    if (status != NDP_OK)
        return status;
    *at = (*out)->base;
    remember_pinned(*out);
    return NDP_OK;
}

static bool any_pinned(const char *begin, uint64_t nbytes)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (const ndp_mem *m = pinned; m; m = m->next)
        found |= begin < m->base + m->nbytes && m->base < begin + nbytes;
    pthread_mutex_unlock(&lock);
    return found;
}

static int32_t register_host(ndp_dev *dev, void *at, uint64_t nbytes, ndp_mem **out)
{
    *out = NULL;
    if (any_pinned(at, nbytes) && !broken(break_register_host))
        return host->error(host->ctx, NDP_ERR_ARGUMENT, 0, "some of %p is registered", at);
    int32_t status = wrap(dev, (uint64_t)(uintptr_t)at, nbytes, out);
    if (status == NDP_OK)
        remember_pinned(*out);
    return status;
}

static int32_t is_pinned(ndp_dev *dev, const void *at, int32_t *yes)
{
    (void)dev;
    *yes = any_pinned(at, 1) && !broken(break_pin);
    return NDP_OK;
}

const ndp_map_1 map_group = {.size = sizeof(ndp_map_1),
                             .address = address,
                             .wrap = wrap,
                             .map = map,
                             .unmap = unmap,
                             .pin = pin,
                             .register_host = register_host,
                             .is_pinned = is_pinned};

static int32_t usage(ndp_dev *dev, uint64_t *free_bytes, uint64_t *total_bytes)
{
    (void)dev;
    *total_bytes = ROOM;
    *free_bytes = broken(break_reserve) ? 2 * ROOM : ROOM;
    return NDP_OK;
}

const ndp_memory_1 memory_group = {.size = sizeof(ndp_memory_1), .usage = usage};
