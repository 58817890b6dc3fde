/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Device and pinned memory, and foreign addresses. */
#include <stdlib.h>
#include "backend.h"

static int32_t new_mem(CUdeviceptr base, uint64_t nbytes, cuda_mem_kind kind, ndp_mem **out)
{
    ndp_mem *m = calloc(1, sizeof *m);
    *out = m;
    if (!m)
        return cuda_error(NDP_ERR_MEMORY, "no host memory for the record of a block");
    m->base = base;
    m->nbytes = nbytes;
    m->kind = kind;
    return NDP_OK;
}

int32_t cuda_alloc(ndp_dev *dev, uint64_t nbytes, ndp_mem **out)
{
    cuda_scope scope;
    CUdeviceptr base = 0;
    *out = NULL;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuMemAlloc(&base, nbytes);
    if (r != CUDA_SUCCESS)
        status = cuda_fail(r, "allocating %llu bytes on cuda:%u", (unsigned long long)nbytes,
                           dev->index);
    else if ((status = new_mem(base, nbytes, CUDA_MEM_DEVICE, out)) != NDP_OK)
        cu.cuMemFree(base);
    cuda_leave(&scope);
    return status;
}

void cuda_free(ndp_dev *dev, ndp_mem *m)
{
    cuda_scope scope;
    if (!m)
        return;
    if (m->kind != CUDA_MEM_FOREIGN && cuda_enter(dev, &scope) == NDP_OK) {
        if (m->kind == CUDA_MEM_PINNED)
            cu.cuMemFreeHost(m->host);
        else
            cu.cuMemFree(m->base);
        cuda_leave(&scope);
    }
    free(m);
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

static int32_t address(ndp_dev *dev, ndp_mem *m, uint64_t *out)
{
    (void)dev;
    *out = (uint64_t)m->base;
    return NDP_OK;
}

static int32_t wrap(ndp_dev *dev, uint64_t where, uint64_t nbytes, ndp_mem **out)
{
    (void)dev;
    return new_mem((CUdeviceptr)where, nbytes, CUDA_MEM_FOREIGN, out);
}

static int32_t map(ndp_dev *dev, ndp_mem *m, void **host)
{
    if (m->kind != CUDA_MEM_PINNED)
        return cuda_error(NDP_ERR_UNSUPPORTED,
                          "the memory of cuda:%u has no host address; copy it with nd_to_host",
                          dev->index);
    *host = m->host;
    return NDP_OK;
}

static int32_t unmap(ndp_dev *dev, ndp_mem *m)
{
    (void)dev;
    (void)m;
    return NDP_OK;
}

static int32_t pin(ndp_dev *dev, uint64_t nbytes, ndp_mem **out, void **host)
{
    cuda_scope scope;
    CUdeviceptr base = 0;
    *out = NULL;
    *host = NULL;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuMemHostAlloc(host, nbytes, CU_MEMHOSTALLOC_PORTABLE);
    if (r == CUDA_SUCCESS)
        r = cu.cuMemHostGetDevicePointer(&base, *host, 0);
    status = cuda_fail(r, "pinning %llu bytes of host memory", (unsigned long long)nbytes);
    if (status == NDP_OK)
        status = new_mem(base, nbytes, CUDA_MEM_PINNED, out);
    if (status == NDP_OK)
        (*out)->host = *host;
    else if (*host)
        cu.cuMemFreeHost(*host);
    cuda_leave(&scope);
    return status;
}

const ndp_memory_1 cuda_memory_group = {.size = sizeof(ndp_memory_1), .usage = usage};
const ndp_map_1 cuda_map_group = {.size = sizeof(ndp_map_1),
                                  .address = address,
                                  .wrap = wrap,
                                  .map = map,
                                  .unmap = unmap,
                                  .pin = pin};
