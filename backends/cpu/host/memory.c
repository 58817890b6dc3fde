/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Host memory for arrays: aligned to cache lines, in huge pages where a block is large, since
 * faulting in small pages costs more than most operations do. Caching is the core's affair. */
#include <stdlib.h>
#include <sys/mman.h>
#include "host/cpu.h"

#define CPU_ALIGN 64u
#define CPU_HUGE (2u << 20)

int32_t cpu_alloc(ndp_dev *dev, uint64_t nbytes, ndp_mem **out)
{
    (void)dev;
    *out = NULL;
    uint64_t align = nbytes >= CPU_HUGE ? CPU_HUGE : CPU_ALIGN;
    void *base = NULL;
    ndp_mem *mem = malloc(sizeof *mem);
    if (nbytes > SIZE_MAX - align || !mem || posix_memalign(&base, align, (size_t)nbytes) != 0) {
        free(mem);
        return cpu_error(NDP_ERR_MEMORY, "no %llu bytes of host memory",
                         (unsigned long long)nbytes);
    }
#ifdef MADV_HUGEPAGE
    if (align == CPU_HUGE)
        (void)madvise(base, (size_t)nbytes, MADV_HUGEPAGE); /* a hint: refusal changes nothing */
#endif
    mem->base = base;
    mem->nbytes = nbytes;
    mem->foreign = 0;
    *out = mem;
    return NDP_OK;
}

void cpu_free(ndp_dev *dev, ndp_mem *mem)
{
    (void)dev;
    if (!mem)
        return;
    if (!mem->foreign)
        free(mem->base);
    free(mem);
}

static int32_t map_address(ndp_dev *dev, ndp_mem *mem, uint64_t *address)
{
    (void)dev;
    *address = (uint64_t)(uintptr_t)mem->base;
    return NDP_OK;
}

static int32_t map_wrap(ndp_dev *dev, uint64_t address, uint64_t nbytes, ndp_mem **out)
{
    (void)dev;
    ndp_mem *mem = malloc(sizeof *mem);
    *out = mem;
    if (!mem)
        return cpu_error(NDP_ERR_MEMORY, "no %zu bytes of host memory", sizeof *mem);
    mem->base = (char *)(uintptr_t)address;
    mem->nbytes = nbytes;
    mem->foreign = 1;
    return NDP_OK;
}

static int32_t map_map(ndp_dev *dev, ndp_mem *mem, void **host)
{
    (void)dev;
    *host = mem->base;
    return NDP_OK;
}

static int32_t map_unmap(ndp_dev *dev, ndp_mem *mem)
{
    (void)dev;
    (void)mem;
    return NDP_OK;
}

static int32_t map_pin(ndp_dev *dev, uint64_t nbytes, ndp_mem **out, void **host)
{
    int32_t status =
        cpu_alloc(dev, nbytes, out); /* host memory needs no pinning for a host device */
    *host = status == NDP_OK ? (*out)->base : NULL;
    return status;
}

const ndp_map_1 cpu_map_group = {
    .size = sizeof(ndp_map_1),
    .address = map_address,
    .wrap = map_wrap,
    .map = map_map,
    .unmap = map_unmap,
    .pin = map_pin,
};

/* Every address is the host's; the system does not say where allocations begin. */
static int32_t pointer_info(ndp_dev *dev, uint64_t address, ndp_pointer_info *out)
{
    (void)dev;
    if (out->size < NDP_END(ndp_pointer_info, context))
        return cpu_error(NDP_ERR_PLUGIN, "ndp_pointer_info of %u bytes is too short", out->size);
    out->flags = NDP_POINTER_HOST;
    out->index = 0;
    out->device_address = out->host_address = out->base = address;
    out->nbytes = out->context = 0;
    return address ? NDP_OK : cpu_error(NDP_ERR_ARGUMENT, "address 0 is no memory");
}

const ndp_pointer_1 cpu_pointer_group = {.size = sizeof(ndp_pointer_1), .info = pointer_info};
