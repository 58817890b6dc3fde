/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Device memory: one anonymous file per device, mapped twice. The first mapping allows nothing and
 * gives the addresses the host is told, so that a host access faults; the second is the plug-in's
 * own. Blocks are placed first-fit, poisoned when allocated and when freed, and stand between red
 * zones. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "checker.h"
#include "simulator.h"

static ndp_mem *free_mems; /* handles, last freed first; never given back */

int32_t sim_range_create(ndp_dev *dev)
{
    /* Twice the memory, so that red zones and holes never cost capacity. */
    dev->range = 2 * dev->memory_bytes + (64u << 20);
    dev->fd = memfd_create("ndock-sim", MFD_CLOEXEC);
    if (dev->fd < 0 || ftruncate(dev->fd, (off_t)dev->range) != 0)
        return sim_fail(
            NDP_ERR_MEMORY, errno,
            "no anonymous file of %llu bytes for sim:%d; NDOCK_SIM_MEMORY sets the size",
            (unsigned long long)dev->range, dev->index);
    void *address = mmap(NULL, dev->range, PROT_NONE, MAP_SHARED | MAP_NORESERVE, dev->fd, 0);
    void *alias =
        mmap(NULL, dev->range, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, dev->fd, 0);
    dev->address = address == MAP_FAILED ? NULL : address;
    dev->alias = alias == MAP_FAILED ? NULL : alias;
    if (!dev->address || !dev->alias)
        return sim_fail(NDP_ERR_MEMORY, errno, "no %llu bytes of addresses for sim:%d",
                        (unsigned long long)dev->range, dev->index);
    return NDP_OK;
}

void sim_range_destroy(ndp_dev *dev)
{
    if (dev->address)
        munmap(dev->address, dev->range);
    if (dev->alias)
        munmap(dev->alias, dev->range);
    if (dev->fd > 0)
        close(dev->fd);
    dev->address = dev->alias = NULL;
    dev->fd = 0;
}

/* Puts mem behind `before`, or at the list's head. */
static void link_mem(ndp_mem *mem, ndp_mem *before, ndp_mem **head)
{
    ndp_mem **at = before ? &before->next : head;
    mem->prev = before;
    mem->next = *at;
    *at = mem;
    if (mem->next)
        mem->next->prev = mem;
}

static void unlink_mem(ndp_mem *mem, ndp_mem **head)
{
    *(mem->prev ? &mem->prev->next : head) = mem->next;
    if (mem->next)
        mem->next->prev = mem->prev;
}

ndp_mem *sim_mem_new(ndp_dev *dev, int32_t kind, uint64_t nbytes, char *alias, char *address)
{
    ndp_mem *mem = free_mems;
    if (mem)
        free_mems = mem->next;
    else if ((mem = malloc(sizeof *mem)) == NULL)
        return NULL;
    *mem =
        (ndp_mem){.dev = dev, .kind = kind, .nbytes = nbytes, .alias = alias, .address = address};
    if (sim_cpu_map->wrap(sim_cpu_dev, (uint64_t)(uintptr_t)alias, nbytes, &mem->cpu) != NDP_OK) {
        mem->next = free_mems;
        free_mems = mem;
        return NULL;
    }
    if (kind == SIM_PINNED || kind == SIM_RESERVED)
        link_mem(mem, NULL, &dev->others);
    return mem;
}

void sim_mem_delete(ndp_mem *mem)
{
    sim_accesses_free(mem);
    sim_cpu->free(sim_cpu_dev, mem->cpu);
    mem->cpu = NULL;
    mem->dead = 1;
    mem->next = free_mems;
    free_mems = mem;
}

/* First-fit: the block before the first hole that is wide enough, NULL for the range's begin. */
static int32_t find_hole(const ndp_dev *dev, uint64_t need, ndp_mem **before, uint64_t *start)
{
    uint64_t end = 0;
    *before = NULL;
    for (ndp_mem *m = dev->blocks; m; m = m->next) {
        if (m->start - SIM_RED_ZONE - end >= need)
            break;
        end = m->start + m->room + SIM_RED_ZONE;
        *before = m;
    }
    *start = end + SIM_RED_ZONE;
    return end <= dev->range && dev->range - end >= need;
}

static void paint(const ndp_mem *mem)
{
    memset(mem->alias - SIM_RED_ZONE, SIM_POISON_ZONE, SIM_RED_ZONE);
    memset(mem->alias, SIM_POISON_ALLOC, mem->nbytes);
    memset(mem->alias + mem->nbytes, SIM_POISON_ZONE, mem->room - mem->nbytes + SIM_RED_ZONE);
}

uint64_t sim_free_bytes(const ndp_dev *dev)
{
    uint64_t room = dev->memory_bytes < sim_set.usable ? dev->memory_bytes : sim_set.usable;
    return room > dev->used ? room - dev->used : 0;
}

int32_t sim_may_allocate(ndp_dev *dev, uint64_t nbytes)
{
    if (dev->failing_allocs) {
        dev->failing_allocs--;
        return sim_fail(NDP_ERR_MEMORY, 2, "sim:%d: an allocation of %llu bytes was told to fail",
                        dev->index, (unsigned long long)nbytes);
    }
    if (nbytes > dev->alloc_limit)
        return sim_fail(NDP_ERR_MEMORY, 2,
                        "sim:%d: %llu bytes exceed the planted limit, of which %llu are left",
                        dev->index, (unsigned long long)nbytes,
                        (unsigned long long)dev->alloc_limit);
    if (nbytes > sim_free_bytes(dev) && dev->dying)
        sim_drain(dev); /* freed blocks come back when the work that names them is done */
    if (nbytes > sim_free_bytes(dev))
        return sim_fail(NDP_ERR_MEMORY, 2, "sim:%d: no %llu bytes; %llu of %llu are in use%s",
                        dev->index, (unsigned long long)nbytes, (unsigned long long)dev->used,
                        (unsigned long long)dev->memory_bytes,
                        sim_set.usable < dev->memory_bytes ? ", and sim.memory_mb hides some" : "");
    if (dev->alloc_limit != UINT64_MAX)
        dev->alloc_limit -= nbytes;
    return NDP_OK;
}

int32_t sim_mem_alloc(ndp_dev *dev, uint64_t nbytes, ndp_mem **out)
{
    ndp_mem *before, *mem;
    uint64_t start;
    *out = NULL;
    int32_t status = sim_may_allocate(dev, nbytes);
    if (status != NDP_OK)
        return status;
    uint64_t room = (nbytes + SIM_RED_ZONE - 1) / SIM_RED_ZONE * SIM_RED_ZONE;
    if (!find_hole(dev, room + 2 * SIM_RED_ZONE, &before, &start))
        return sim_fail(NDP_ERR_MEMORY, 2, "sim:%d: its memory is too fragmented for %llu bytes",
                        dev->index, (unsigned long long)nbytes);
    mem = sim_mem_new(dev, SIM_BLOCK, nbytes, dev->alias + start, dev->address + start);
    if (!mem)
        return sim_fail(NDP_ERR_MEMORY, 0, "no host memory for a block's handle");
    mem->start = start;
    mem->room = room;
    link_mem(mem, before, &dev->blocks);
    dev->used += nbytes;
    paint(mem);
    *out = mem;
    return NDP_OK;
}

/* The first damaged byte of a block's red zones, counted from the block's begin. */
static int32_t find_damage(const ndp_mem *mem, int64_t *where)
{
    int64_t end = (int64_t)mem->room + SIM_RED_ZONE;
    for (int64_t i = -SIM_RED_ZONE; i < end; i++) {
        if (i == 0)
            i = (int64_t)mem->nbytes;
        if ((unsigned char)mem->alias[i] != SIM_POISON_ZONE) {
            *where = i;
            return 1;
        }
    }
    return 0;
}

static void describe_damage(const ndp_mem *mem, int64_t where, char *text, size_t n)
{
    snprintf(text, n, "sim:%d: byte %lld of the block of %llu bytes at %p was overwritten (%s it)",
             mem->dev->index, (long long)where, (unsigned long long)mem->nbytes,
             (void *)mem->address, where < 0 ? "before" : "after");
}

uint64_t sim_check_zones(ndp_dev *dev, char *text, size_t n)
{
    uint64_t count = dev->damaged;
    int64_t where;
    if (n)
        snprintf(text, n, "%s", dev->damage);
    for (const ndp_mem *m = dev->blocks; m; m = m->next) {
        if (!find_damage(m, &where))
            continue;
        if (count++ == 0)
            describe_damage(m, where, text, n);
    }
    return count;
}

static void release_block(ndp_mem *mem)
{
    ndp_dev *dev = mem->dev;
    int64_t where;
    if (find_damage(mem, &where) && dev->damaged++ == 0)
        describe_damage(mem, where, dev->damage, sizeof dev->damage);
    memset(mem->alias, SIM_POISON_FREE, mem->room);
    dev->used -= mem->nbytes;
}

static void release(ndp_mem *mem)
{
    if (mem->dying)
        mem->dev->dying--;
    if (mem->kind != SIM_WRAPPED)
        unlink_mem(mem, mem->kind == SIM_BLOCK ? &mem->dev->blocks : &mem->dev->others);
    if (mem->kind == SIM_BLOCK)
        release_block(mem);
    else if (mem->kind == SIM_RESERVED)
        sim_reserved_free(mem);
    else if (mem->kind == SIM_PINNED && !mem->lent)
        free(mem->alias);
    sim_mem_delete(mem);
}

void sim_mem_free(ndp_mem *mem)
{
    if (mem->kind != SIM_WRAPPED)
        sim_check_host(mem, 0, mem->nbytes, "free");
    mem->dead = 1;
    mem->dying = mem->uses > 0;
    mem->dev->dying += (uint32_t)mem->dying;
    if (!mem->dying)
        release(mem);
}

void sim_mem_unuse(ndp_mem *mem)
{
    if (--mem->uses == 0 && mem->dead)
        release(mem);
}

int32_t sim_check_range(ndp_dev *dev, const ndp_mem *mem, uint64_t offset, uint64_t nbytes,
                        const char *what)
{
    if (!mem || mem->dead || mem->freed_on)
        return sim_fail(NDP_ERR_ARGUMENT, 0, "%s on sim:%d: the block is %s", what, dev->index,
                        mem ? "freed" : "NULL");
    if (mem->dev != dev && mem->kind != SIM_PINNED && !dev->enabled_peers[mem->dev->index])
        return sim_fail(NDP_ERR_DEVICE, 0,
                        "%s on sim:%d: the block is of sim:%d, and peer access is not enabled",
                        what, dev->index, mem->dev->index);
    if (offset > mem->nbytes || nbytes > mem->nbytes - offset)
        return sim_fail(NDP_ERR_ARGUMENT, 0,
                        "%s on sim:%d: bytes %llu to %llu of a block of %llu bytes", what,
                        dev->index, (unsigned long long)offset,
                        (unsigned long long)(offset + nbytes), (unsigned long long)mem->nbytes);
    return NDP_OK;
}
