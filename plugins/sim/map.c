/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Groups "ndp.memory/1" and "ndp.map/1": address ranges whose memory comes and goes, addresses,
 * foreign handles, and pinned host memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "checker.h"
#include "graph.h"
#include "simulator.h"

static int32_t usage(ndp_dev *dev, uint64_t *free_bytes, uint64_t *total_bytes)
{
    sim_call c = {.entry = SIM_usage, .dev = dev};
    int32_t status = sim_enter(&c);
    *free_bytes = sim_free_bytes(dev);
    *total_bytes = dev->memory_bytes;
    return sim_leave(&c, status);
}

static int32_t granularity(ndp_dev *dev, uint64_t *nbytes)
{
    *nbytes = dev->granularity;
    return NDP_OK;
}

/* Both mappings of a new file of nbytes. */
static int32_t map_reserved(uint64_t nbytes, int32_t *fd, char **address, char **alias)
{
    *fd = memfd_create("ndock-sim-reserved", MFD_CLOEXEC);
    if (*fd < 0 || ftruncate(*fd, (off_t)nbytes) != 0)
        return 0;
    void *a = mmap(NULL, nbytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, *fd, 0);
    void *b = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, *fd, 0);
    *address = a == MAP_FAILED ? NULL : a;
    *alias = b == MAP_FAILED ? NULL : b;
    return *address && *alias;
}

static void unmap_reserved(uint64_t nbytes, int32_t fd, char *address, char *alias)
{
    if (address)
        munmap(address, nbytes);
    if (alias)
        munmap(alias, nbytes);
    if (fd >= 0)
        close(fd);
}

static int32_t reserve_range(ndp_dev *dev, uint64_t nbytes, ndp_mem **out)
{
    int32_t fd = -1;
    char *address = NULL, *alias = NULL;
    *out = NULL;
    if (nbytes == 0 || nbytes % dev->granularity)
        return sim_fail(NDP_ERR_ARGUMENT, 1,
                        "sim:%d: reserve of %llu bytes; a multiple of %llu is needed", dev->index,
                        (unsigned long long)nbytes, (unsigned long long)dev->granularity);
    uint8_t *pages = calloc(nbytes / dev->granularity, 1);
    ndp_mem *mem = NULL;
    if (pages && map_reserved(nbytes, &fd, &address, &alias))
        mem = sim_mem_new(dev, SIM_RESERVED, nbytes, alias, address);
    if (!mem) {
        unmap_reserved(nbytes, fd, address, alias);
        free(pages);
        return sim_fail(NDP_ERR_MEMORY, errno, "sim:%d: no %llu bytes of addresses", dev->index,
                        (unsigned long long)nbytes);
    }
    mem->pages = pages;
    mem->fd = fd;
    *out = mem;
    return NDP_OK;
}

static int32_t mem_reserve(ndp_dev *dev, uint64_t nbytes, ndp_mem **out)
{
    sim_call c = {.entry = SIM_reserve, .dev = dev, .nbytes = nbytes};
    int32_t status = sim_enter(&c);
    *out = NULL;
    if (status == NDP_OK)
        status = sim_capture_forbids("reserve", NULL);
    if (status == NDP_OK)
        status = reserve_range(dev, nbytes, out);
    c.mem = *out;
    return sim_leave(&c, status);
}

void sim_reserved_free(ndp_mem *mem)
{
    for (uint64_t i = 0; i < mem->nbytes / mem->dev->granularity; i++)
        if (mem->pages[i])
            mem->dev->used -= mem->dev->granularity; /* decommit was forgotten */
    unmap_reserved(mem->nbytes, mem->fd, mem->address, mem->alias);
    free(mem->pages);
}

int32_t sim_is_backed(const ndp_mem *mem, uint64_t offset, uint64_t nbytes)
{
    if (mem->kind != SIM_RESERVED || nbytes == 0)
        return 1;
    uint64_t g = mem->dev->granularity;
    for (uint64_t i = offset / g; i <= (offset + nbytes - 1) / g; i++)
        if (mem->pages[i] != (SIM_PAGE_COMMITTED | SIM_PAGE_ACCESS))
            return 0;
    return 1;
}

/* The range consists of granules of a reserved block, each with the flags `have` alone. */
static int32_t check_granules(ndp_dev *dev, const ndp_mem *mem, uint64_t offset, uint64_t nbytes,
                              uint8_t mask, uint8_t have, const char *what)
{
    uint64_t g = dev->granularity;
    int32_t status = sim_check_range(dev, mem, offset, nbytes, what);
    if (status != NDP_OK)
        return status;
    if (mem->kind != SIM_RESERVED || offset % g || nbytes % g || nbytes == 0)
        return sim_fail(
            NDP_ERR_ARGUMENT, 1,
            "sim:%d: %s wants a reserved block and multiples of %llu bytes, not %llu at "
            "%llu",
            dev->index, what, (unsigned long long)g, (unsigned long long)nbytes,
            (unsigned long long)offset);
    for (uint64_t i = offset / g; i < (offset + nbytes) / g; i++)
        if ((mem->pages[i] & mask) != have)
            return sim_fail(NDP_ERR_STATE, 1, "sim:%d: %s: the memory at %llu is %scommitted",
                            dev->index, what, (unsigned long long)(i * g),
                            mem->pages[i] & SIM_PAGE_COMMITTED ? "already " : "not ");
    return NDP_OK;
}

static void set_pages(ndp_mem *mem, uint64_t offset, uint64_t nbytes, uint8_t value)
{
    uint64_t g = mem->dev->granularity;
    memset(mem->pages + offset / g, value, nbytes / g);
}

static int32_t mem_commit(ndp_dev *dev, ndp_mem *mem, uint64_t offset, uint64_t nbytes)
{
    sim_call c = {.entry = SIM_commit, .dev = dev, .mem = mem, .offset = offset, .nbytes = nbytes};
    int32_t status = sim_enter(&c);
    if (status == NDP_OK)
        status = sim_capture_forbids("commit", NULL);
    if (status == NDP_OK)
        status = check_granules(dev, mem, offset, nbytes, SIM_PAGE_COMMITTED, 0, "commit");
    if (status == NDP_OK)
        status = sim_may_allocate(dev, nbytes);
    if (status == NDP_OK) {
        set_pages(mem, offset, nbytes, SIM_PAGE_COMMITTED);
        memset(mem->alias + offset, SIM_POISON_ALLOC, nbytes);
        dev->used += nbytes;
    }
    return sim_leave(&c, status);
}

static int32_t mem_set_access(ndp_dev *dev, ndp_mem *mem, uint64_t offset, uint64_t nbytes)
{
    sim_call c = {
        .entry = SIM_set_access, .dev = dev, .mem = mem, .offset = offset, .nbytes = nbytes};
    int32_t status = sim_enter(&c);
    if (status == NDP_OK)
        status = check_granules(dev, mem, offset, nbytes, SIM_PAGE_COMMITTED, SIM_PAGE_COMMITTED,
                                "set_access");
    if (status == NDP_OK)
        set_pages(mem, offset, nbytes, SIM_PAGE_COMMITTED | SIM_PAGE_ACCESS);
    return sim_leave(&c, status);
}

static int32_t mem_decommit(ndp_dev *dev, ndp_mem *mem, uint64_t offset, uint64_t nbytes)
{
    sim_call c = {
        .entry = SIM_decommit, .dev = dev, .mem = mem, .offset = offset, .nbytes = nbytes};
    int32_t status = sim_enter(&c);
    if (status == NDP_OK)
        status = check_granules(dev, mem, offset, nbytes, SIM_PAGE_COMMITTED, SIM_PAGE_COMMITTED,
                                "decommit");
    if (status == NDP_OK) {
        sim_check_host(mem, offset, nbytes, "decommit");
        set_pages(mem, offset, nbytes, 0);
        (void)madvise(mem->alias + offset, nbytes, MADV_REMOVE); /* to the system; a hint */
        dev->used -= nbytes;
    }
    return sim_leave(&c, status);
}

static int32_t map_address(ndp_dev *dev, ndp_mem *mem, uint64_t *address)
{
    (void)dev;
    *address = (uint64_t)(uintptr_t)mem->address;
    return NDP_OK;
}

/* The block of the device that holds the whole range. */
static ndp_mem *find_block(ndp_dev *dev, const char *address, uint64_t nbytes)
{
    for (ndp_mem *m = dev->blocks; m; m = m->next)
        if (address >= m->address && address < m->address + m->nbytes &&
            nbytes <= (uint64_t)(m->address + m->nbytes - address))
            return m;
    return NULL;
}

static int32_t wrap_address(ndp_dev *dev, uint64_t address, uint64_t nbytes, ndp_mem **out)
{
    char *at = (char *)(uintptr_t)address;
    ndp_mem *base = find_block(dev, at, nbytes);
    if (!base)
        return sim_fail(NDP_ERR_DEVICE, 1,
                        "sim:%d: the %llu bytes at 0x%llx lie in no block of this device",
                        dev->index, (unsigned long long)nbytes, (unsigned long long)address);
    ndp_mem *mem = sim_mem_new(dev, SIM_WRAPPED, nbytes, base->alias + (at - base->address), at);
    if (!mem)
        return sim_fail(NDP_ERR_MEMORY, 0, "no host memory for a block's handle");
    mem->base = base;
    *out = mem;
    return NDP_OK;
}

static int32_t map_wrap(ndp_dev *dev, uint64_t address, uint64_t nbytes, ndp_mem **out)
{
    sim_call c = {.entry = SIM_wrap, .dev = dev, .nbytes = nbytes};
    int32_t status = sim_enter(&c);
    *out = NULL;
    if (status == NDP_OK)
        status = wrap_address(dev, address, nbytes, out);
    c.mem = *out;
    return sim_leave(&c, status);
}

static int32_t map_map(ndp_dev *dev, ndp_mem *mem, void **host)
{
    *host = NULL;
    if (mem->kind != SIM_PINNED)
        return sim_fail(NDP_ERR_UNSUPPORTED, 0,
                        "sim:%d: the host does not see device memory; read and write it",
                        dev->index);
    *host = mem->alias;
    return NDP_OK;
}

static int32_t map_unmap(ndp_dev *dev, ndp_mem *mem)
{
    (void)dev;
    (void)mem;
    return NDP_OK;
}

static int32_t pin_bytes(ndp_dev *dev, uint64_t nbytes, ndp_mem **out)
{
    void *p = NULL;
    if (nbytes > SIZE_MAX / 2 || posix_memalign(&p, 4096, nbytes ? (size_t)nbytes : 1) != 0)
        return sim_fail(NDP_ERR_MEMORY, 2, "sim:%d: no %llu bytes of host memory to pin",
                        dev->index, (unsigned long long)nbytes);
    *out = sim_mem_new(dev, SIM_PINNED, nbytes, p, p);
    if (*out)
        return NDP_OK;
    free(p);
    return sim_fail(NDP_ERR_MEMORY, 0, "no host memory for a block's handle");
}

static int32_t map_pin(ndp_dev *dev, uint64_t nbytes, ndp_mem **out, void **host)
{
    sim_call c = {.entry = SIM_pin, .dev = dev, .nbytes = nbytes};
    int32_t status = sim_enter(&c);
    *out = NULL;
    *host = NULL;
    if (status == NDP_OK)
        status = sim_capture_forbids("pin", NULL);
    if (status == NDP_OK)
        status = pin_bytes(dev, nbytes, out);
    if (status == NDP_OK)
        *host = (*out)->alias;
    c.mem = *out;
    return sim_leave(&c, status);
}

/* Pinned memory of the device that meets the range. */
static ndp_mem *find_pinned(ndp_dev *dev, const char *host, uint64_t nbytes)
{
    for (ndp_mem *m = dev->others; m; m = m->next)
        if (m->kind == SIM_PINNED && !m->dead && host < m->alias + m->nbytes &&
            m->alias < host + nbytes)
            return m;
    return NULL;
}

static int32_t lock_pages(ndp_dev *dev, char *host, uint64_t nbytes, ndp_mem **out)
{
    if (find_pinned(dev, host, nbytes))
        return sim_fail(NDP_ERR_ARGUMENT, 712, "sim:%d: some of the %llu bytes at %p are locked",
                        dev->index, (unsigned long long)nbytes, (void *)host);
    *out = sim_mem_new(dev, SIM_PINNED, nbytes, host, host);
    if (!*out)
        return sim_fail(NDP_ERR_MEMORY, 0, "no host memory for a block's handle");
    (*out)->lent = 1;
    return NDP_OK;
}

static int32_t map_register_host(ndp_dev *dev, void *host, uint64_t nbytes, ndp_mem **out)
{
    sim_call c = {.entry = SIM_register_host, .dev = dev, .nbytes = nbytes};
    int32_t status = sim_enter(&c);
    *out = NULL;
    if (status == NDP_OK)
        status = sim_capture_forbids("register_host", NULL);
    if (status == NDP_OK)
        status = lock_pages(dev, host, nbytes, out);
    c.mem = *out;
    return sim_leave(&c, status);
}

static int32_t map_is_pinned(ndp_dev *dev, const void *host, int32_t *yes)
{
    sim_call c = {.entry = SIM_is_pinned, .dev = dev};
    int32_t status = sim_enter(&c);
    *yes = status == NDP_OK && find_pinned(dev, host, 1) != NULL;
    return sim_leave(&c, status);
}

/* The block of any device, or pinned memory of one, that the address lies in. */
static const ndp_mem *find_memory(const char *at)
{
    for (uint32_t i = 0; i < SIM_MAX_DEVICES; i++) {
        const ndp_mem *lists[] = {sim_devices[i].blocks, sim_devices[i].others};
        for (int k = 0; k < 2; k++)
            for (const ndp_mem *m = lists[k]; m; m = m->next)
                if (!m->dead && at >= m->address && at < m->address + m->nbytes)
                    return m;
    }
    return NULL;
}

static int32_t pointer_info(ndp_dev *dev, uint64_t address, ndp_pointer_info *out)
{
    int32_t status = NDP_OK;
    if (out->size < NDP_END(ndp_pointer_info, context))
        return sim_fail(NDP_ERR_PLUGIN, 0, "ndp_pointer_info of %u bytes is too short", out->size);
    pthread_mutex_lock(&sim_mutex);
    const ndp_mem *m = find_memory((const char *)(uintptr_t)address);
    if (m) {
        out->flags = m->kind == SIM_PINNED ? NDP_POINTER_HOST : 0;
        out->index = (uint32_t)m->dev->index;
        out->device_address = address;
        out->host_address = m->kind == SIM_PINNED ? address : 0;
        out->base = (uint64_t)(uintptr_t)m->address;
        out->nbytes = m->nbytes;
        out->context = 0;
    } else {
        status = sim_fail(NDP_ERR_ARGUMENT, 1, "sim:%d: 0x%llx is no address of simulated memory",
                          dev->index, (unsigned long long)address);
    }
    pthread_mutex_unlock(&sim_mutex);
    return status;
}

const ndp_pointer_1 sim_pointer_group = {.size = sizeof(ndp_pointer_1), .info = pointer_info};

const ndp_memory_1 sim_memory_group = {
    .size = sizeof(ndp_memory_1),
    .usage = usage,
    .granularity = granularity,
    .reserve = mem_reserve,
    .commit = mem_commit,
    .set_access = mem_set_access,
    .decommit = mem_decommit,
};

const ndp_map_1 sim_map_group = {
    .size = sizeof(ndp_map_1),
    .address = map_address,
    .wrap = map_wrap,
    .map = map_map,
    .unmap = map_unmap,
    .pin = map_pin,
    .register_host = map_register_host,
    .is_pinned = map_is_pinned,
};
