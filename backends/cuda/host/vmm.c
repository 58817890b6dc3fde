/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Addresses without memory, and memory put behind them: what expandable segments are made of. */
#include <stdlib.h>
#include "host/backend.h"

/* A stretch of reserved addresses. mapped[i]: pages of the mapping that begins at page i, 0 if none
 * does. The driver keeps the memory of a mapping, so that no handle has to be kept. */
typedef struct cuda_range {
    CUdeviceptr base;
    uint64_t nbytes, page;
    uint32_t *mapped;
    struct cuda_range *next;
} cuda_range;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of lists and tables */

static CUmemAllocationProp property(const ndp_dev *dev)
{
    return (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = (int)dev->ordinal}};
}

static int32_t usage(ndp_dev *dev, uint64_t *free_bytes, uint64_t *total_bytes)
{
    cuda_scope scope;
    size_t free_now = 0, total = 0;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuMemGetInfo(&free_now, &total);
    cuda_leave(&scope);
    *free_bytes = free_now;
    *total_bytes = total;
    return cuda_fail(r, "asking cuda:%u for its free memory", dev->index);
}

static int32_t granularity(ndp_dev *dev, uint64_t *nbytes)
{
    cuda_scope scope;
    size_t page = 0;
    CUmemAllocationProp p = property(dev);
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuMemGetAllocationGranularity(&page, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    cuda_leave(&scope);
    *nbytes = page;
    return cuda_fail(r, "asking cuda:%u for the size of its pages", dev->index);
}

/* ---- reserving ---- */
static int32_t make_range(uint64_t nbytes, uint64_t page, CUdeviceptr base, ndp_mem **out)
{
    cuda_range *x = calloc(1, sizeof *x);
    uint32_t *mapped = calloc((size_t)(nbytes / page), sizeof *mapped);
    int32_t status = NDP_ERR_MEMORY;
    if (x && mapped)
        status = cuda_mem_new(base, nbytes, CUDA_MEM_RESERVED, out);
    else
        (void)cuda_error(status, "no host memory for the table of a range of addresses");
    if (status != NDP_OK) {
        free(mapped);
        free(x);
        return status;
    }
    *x = (cuda_range){.base = base, .nbytes = nbytes, .page = page, .mapped = mapped};
    (*out)->extra = x;
    return NDP_OK;
}

static int32_t reserve(ndp_dev *dev, uint64_t nbytes, ndp_mem **out)
{
    cuda_scope scope;
    uint64_t page = 0;
    CUdeviceptr base = 0;
    *out = NULL;
    int32_t status = granularity(dev, &page);
    if (status == NDP_OK && (nbytes == 0 || nbytes % page != 0))
        status = cuda_error(NDP_ERR_ARGUMENT, "%llu bytes are no multiple of a page of %llu",
                            (unsigned long long)nbytes, (unsigned long long)page);
    if (status == NDP_OK)
        status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuMemAddressReserve(&base, nbytes, 0, 0, 0);
    status = cuda_fail(r, "reserving %llu bytes of addresses on cuda:%u",
                       (unsigned long long)nbytes, dev->index);
    if (status == NDP_OK && (status = make_range(nbytes, page, base, out)) != NDP_OK)
        cu.cuMemAddressFree(base, nbytes);
    cuda_leave(&scope);
    if (status != NDP_OK)
        return status;
    cuda_range *x = (*out)->extra;
    pthread_mutex_lock(&lock);
    x->next = dev->ranges;
    dev->ranges = x;
    pthread_mutex_unlock(&lock);
    return NDP_OK;
}

void cuda_range_free(ndp_dev *dev, ndp_mem *m)
{
    cuda_range *x = m->extra;
    pthread_mutex_lock(&lock);
    cuda_range **at = &dev->ranges;
    while (*at && *at != x)
        at = &(*at)->next;
    if (*at)
        *at = x->next;
    pthread_mutex_unlock(&lock);
    for (uint64_t i = 0; i < x->nbytes / x->page; i++)
        if (x->mapped[i])
            cu.cuMemUnmap(x->base + i * x->page, x->mapped[i] * x->page);
    cu.cuMemAddressFree(x->base, x->nbytes);
    free(x->mapped);
    free(x);
}

/* ---- committing ---- */
static int32_t check(const ndp_mem *m, uint64_t offset, uint64_t nbytes, cuda_range **out)
{
    cuda_range *x = m->kind == CUDA_MEM_RESERVED ? m->extra : NULL;
    *out = x;
    if (!x)
        return cuda_error(NDP_ERR_ARGUMENT, "the block is no range of reserved addresses");
    if (nbytes == 0 || offset % x->page || nbytes % x->page || nbytes > x->nbytes ||
        offset > x->nbytes - nbytes)
        return cuda_error(
            NDP_ERR_ARGUMENT,
            "%llu bytes from %llu are no whole pages of %llu in a range of %llu bytes",
            (unsigned long long)nbytes, (unsigned long long)offset, (unsigned long long)x->page,
            (unsigned long long)x->nbytes);
    return NDP_OK;
}

static void note(cuda_range *x, uint64_t offset, uint64_t pages)
{
    pthread_mutex_lock(&lock);
    x->mapped[offset / x->page] = (uint32_t)pages;
    pthread_mutex_unlock(&lock);
}

static CUresult map_new(const ndp_dev *dev, CUdeviceptr at, uint64_t nbytes)
{
    CUmemGenericAllocationHandle memory;
    CUmemAllocationProp p = property(dev);
    CUresult r = cu.cuMemCreate(&memory, nbytes, &p, 0);
    if (r != CUDA_SUCCESS)
        return r;
    r = cu.cuMemMap(at, nbytes, 0, memory, 0);
    CUresult released = cu.cuMemRelease(memory); /* a mapping keeps it */
    if (r == CUDA_SUCCESS && released != CUDA_SUCCESS) {
        cu.cuMemUnmap(at, nbytes);
        r = released;
    }
    return r;
}

static int32_t commit(ndp_dev *dev, ndp_mem *m, uint64_t offset, uint64_t nbytes)
{
    cuda_scope scope;
    cuda_range *x;
    int32_t status = check(m, offset, nbytes, &x);
    if (status == NDP_OK)
        status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUstreamCaptureMode mode = cuda_capture_relax();
    CUresult r = map_new(dev, x->base + offset, nbytes);
    cuda_capture_restore(mode);
    cuda_leave(&scope);
    if (r == CUDA_SUCCESS)
        note(x, offset, nbytes / x->page);
    return cuda_fail(r, "putting %llu bytes of memory behind addresses of cuda:%u",
                     (unsigned long long)nbytes, dev->index);
}

/* For the device itself and every other one whose kernels may use its memory. */
static CUresult give_access(const ndp_dev *dev, CUdeviceptr at, uint64_t nbytes)
{
    CUmemAccessDesc access[CUDA_MAX_DEVICES];
    size_t n = 0;
    for (const ndp_dev *d = cuda_next_open(NULL); d; d = cuda_next_open(d))
        if (d == dev || (atomic_load(&d->peers) >> dev->index & 1))
            access[n++] = (CUmemAccessDesc){
                .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = (int)d->ordinal},
                .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    return cu.cuMemSetAccess(at, nbytes, access, n);
}

static int32_t set_access(ndp_dev *dev, ndp_mem *m, uint64_t offset, uint64_t nbytes)
{
    cuda_scope scope;
    cuda_range *x;
    int32_t status = check(m, offset, nbytes, &x);
    if (status == NDP_OK)
        status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUstreamCaptureMode mode = cuda_capture_relax();
    CUresult r = give_access(dev, x->base + offset, nbytes);
    cuda_capture_restore(mode);
    cuda_leave(&scope);
    return cuda_fail(r, "making %llu bytes of cuda:%u usable", (unsigned long long)nbytes,
                     dev->index);
}

/* Whole mappings from offset on that fill nbytes exactly. */
static int is_tiled(const cuda_range *x, uint64_t offset, uint64_t nbytes)
{
    uint64_t i = offset / x->page, end = i + nbytes / x->page;
    while (i < end && x->mapped[i])
        i += x->mapped[i];
    return i == end;
}

static CUresult unmap_tiles(cuda_range *x, uint64_t offset, uint64_t nbytes)
{
    CUresult r = CUDA_SUCCESS;
    for (uint64_t end = offset + nbytes; offset < end && r == CUDA_SUCCESS;) {
        uint64_t one = x->mapped[offset / x->page] * x->page;
        r = cu.cuMemUnmap(x->base + offset, one);
        if (r == CUDA_SUCCESS)
            note(x, offset, 0);
        offset += one;
    }
    return r;
}

static int32_t decommit(ndp_dev *dev, ndp_mem *m, uint64_t offset, uint64_t nbytes)
{
    cuda_scope scope;
    cuda_range *x;
    int32_t status = check(m, offset, nbytes, &x);
    if (status == NDP_OK && !is_tiled(x, offset, nbytes))
        status = cuda_error(NDP_ERR_ARGUMENT,
                            "memory is taken away as it was committed, not in other pieces");
    if (status == NDP_OK)
        status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUstreamCaptureMode mode = cuda_capture_relax();
    CUresult r = unmap_tiles(x, offset, nbytes);
    cuda_capture_restore(mode);
    cuda_leave(&scope);
    return cuda_fail(r, "taking %llu bytes of memory from cuda:%u", (unsigned long long)nbytes,
                     dev->index);
}

CUresult cuda_ranges_share(ndp_dev *dev)
{
    CUresult r = CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    for (const cuda_range *x = dev->ranges; x; x = x->next)
        for (uint64_t i = 0; i < x->nbytes / x->page && r == CUDA_SUCCESS; i++)
            if (x->mapped[i])
                r = give_access(dev, x->base + i * x->page, x->mapped[i] * x->page);
    pthread_mutex_unlock(&lock);
    return r;
}

const ndp_memory_1 cuda_memory_group = {.size = sizeof(ndp_memory_1),
                                        .usage = usage,
                                        .granularity = granularity,
                                        .reserve = reserve,
                                        .commit = commit,
                                        .set_access = set_access,
                                        .decommit = decommit};
