/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group "ndp.pointer/1": what the driver knows of an address, whoever allocated there. Source: CUDA
 * Driver API, "Unified Addressing". */
#include "backend.h"

static CUresult attribute(void *out, CUpointer_attribute which, uint64_t address)
{
    return cu.cuPointerGetAttribute(out, which, (CUdeviceptr)address);
}

/* Where the driver does not say, the field stays 0. */
static void fill(uint64_t address, unsigned type, int ordinal, ndp_pointer_info *out)
{
    CUdeviceptr device = 0, base = 0;
    CUcontext context = NULL;
    void *host = NULL;
    unsigned managed = 0;
    size_t range = 0;
    *out = (ndp_pointer_info){.size = out->size, .index = (uint32_t)ordinal};
    if (attribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) == CUDA_SUCCESS && managed)
        out->flags |= NDP_POINTER_MANAGED;
    if (type == CU_MEMORYTYPE_HOST)
        out->flags |= NDP_POINTER_HOST;
    if (attribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address) == CUDA_SUCCESS)
        out->device_address = (uint64_t)device;
    if (attribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, address) == CUDA_SUCCESS)
        out->host_address = (uint64_t)(uintptr_t)host;
    if (attribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, address) == CUDA_SUCCESS)
        out->context = (uint64_t)(uintptr_t)context;
    if (attribute(&base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address) == CUDA_SUCCESS &&
        attribute(&range, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address) == CUDA_SUCCESS) {
        out->base = (uint64_t)base;
        out->nbytes = range;
    }
}

static int32_t info(ndp_dev *dev, uint64_t address, ndp_pointer_info *out)
{
    cuda_scope scope;
    unsigned type = 0;
    int ordinal = 0;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
    if (r == CUDA_SUCCESS)
        r = attribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address);
    if (r == CUDA_SUCCESS)
        fill(address, type, ordinal < 0 ? (int)dev->index : ordinal, out);
    cuda_leave(&scope);
    if (r == CUDA_ERROR_INVALID_VALUE)
        return cuda_error(NDP_ERR_ARGUMENT, "0x%llx is no address of CUDA memory",
                          (unsigned long long)address);
    return cuda_fail(r, "looking at address 0x%llx", (unsigned long long)address);
}

const ndp_pointer_1 cuda_pointer_group = {.size = sizeof(ndp_pointer_1), .info = info};
