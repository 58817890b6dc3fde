/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Device memory, and foreign addresses. */
#include <stdlib.h>
#include "host/backend.h"

int32_t cuda_alloc(ndp_dev *dev, uint64_t nbytes, ndp_mem **out)
{
    cuda_scope scope;
    CUdeviceptr base = 0;
    *out = NULL;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUstreamCaptureMode mode = cuda_capture_relax();
    CUresult r = cu.cuMemAlloc(&base, nbytes);
    if (r != CUDA_SUCCESS)
        status = cuda_fail(r, "allocating %llu bytes on cuda:%u", (unsigned long long)nbytes,
                           dev->index);
    else if ((status = cuda_mem_new(base, nbytes, CUDA_MEM_DEVICE, out)) != NDP_OK)
        cu.cuMemFree(base);
    cuda_capture_restore(mode);
    cuda_leave(&scope);
    return status;
}

static void free_native(ndp_dev *dev, ndp_mem *m)
{
    switch (m->kind) {
    case CUDA_MEM_FOREIGN:
        break;
    case CUDA_MEM_PINNED:
        cuda_unpin(m);
        break;
    case CUDA_MEM_LENT:
        cu.cuMemHostUnregister(m->host);
        break;
    case CUDA_MEM_RESERVED:
        cuda_range_free(dev, m);
        break;
    case CUDA_MEM_DEVICE:
    case CUDA_MEM_POOL:
        cu.cuMemFree(m->base);
    }
}

/* A device that is lost, or gone at exit, needs nothing back; nobody could be told of a failure. */
void cuda_free(ndp_dev *dev, ndp_mem *m)
{
    cuda_scope scope;
    if (!m)
        return;
    if (m->kind != CUDA_MEM_FOREIGN && cuda_enter(dev, &scope) == NDP_OK) {
        CUstreamCaptureMode mode = cuda_capture_relax();
        free_native(dev, m);
        cuda_capture_restore(mode);
        cuda_leave(&scope);
    }
    free(m);
}

static int32_t address(ndp_dev *dev, ndp_mem *m, uint64_t *out)
{
    (void)dev;
    *out = (uint64_t)m->base;
    return NDP_OK;
}

/* Of memory that is not the device's: 0 where the driver does not know it. */
static CUresult host_address(CUdeviceptr at, CUdeviceptr *out)
{
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_DEVICE_POINTER};
    void *values[] = {out};
    return cu.cuPointerGetAttributes(1, which, values, at);
}

/* Where the device finds what lies at the address, or why it is not to be used. */
static int32_t look_up(const ndp_dev *dev, uint64_t where, CUdeviceptr *out)
{
    CUdeviceptr at = (CUdeviceptr)where;
    unsigned type = 0;
    int ordinal = -1;
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *values[] = {&type, &ordinal};
    CUresult r = cu.cuPointerGetAttributes(2, which, values, at);
    *out = at;
    if (r == CUDA_SUCCESS && type != CU_MEMORYTYPE_DEVICE) {
        ordinal = -1; /* the device that made it counts for nothing */
        *out = 0;
        r = host_address(at, out);
    }
    if (r == CUDA_ERROR_INVALID_CONTEXT || (r == CUDA_SUCCESS && (type == 0 || *out == 0)))
        return cuda_error(NDP_ERR_ARGUMENT,
                          "0x%llx is no address of CUDA memory; copy ordinary memory with "
                          "nd_from_host",
                          (unsigned long long)where);
    if (r == CUDA_SUCCESS && ordinal >= 0 && ordinal != (int)dev->ordinal)
        return cuda_error(NDP_ERR_DEVICE, "0x%llx is memory of cuda:%d, not of cuda:%u",
                          (unsigned long long)where, ordinal, dev->index);
    return cuda_fail(r, "looking at address 0x%llx", (unsigned long long)where);
}

static int32_t wrap(ndp_dev *dev, uint64_t where, uint64_t nbytes, ndp_mem **out)
{
    cuda_scope scope;
    CUdeviceptr at = (CUdeviceptr)where;
    *out = NULL;
    if (nbytes > 0) {
        int32_t status = cuda_enter(dev, &scope);
        if (status != NDP_OK)
            return status;
        status = look_up(dev, where, &at);
        cuda_leave(&scope);
        if (status != NDP_OK)
            return status;
    }
    return cuda_mem_new(at, nbytes, CUDA_MEM_FOREIGN, out);
}

static int32_t map(ndp_dev *dev, ndp_mem *m, void **host)
{
    if (!m->host)
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

const ndp_map_1 cuda_map_group = {.size = sizeof(ndp_map_1),
                                  .address = address,
                                  .wrap = wrap,
                                  .map = map,
                                  .unmap = unmap,
                                  .pin = cuda_pin,
                                  .register_host = cuda_register_host,
                                  .is_pinned = cuda_is_pinned};
