/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group "ndp.pointer/1": what the driver knows of an address, whoever allocated there. Source: CUDA
 * Driver API, "Unified Addressing". */
#include "host/backend.h"

/* What a driver that knows the address may still not say stays 0. */
static CUresult look(uint64_t address, int32_t *ordinal, ndp_pointer_info *out)
{
    unsigned type = 0, managed = 0;
    CUdeviceptr device = 0, base = 0;
    CUcontext context = NULL;
    void *host = NULL;
    size_t range = 0;
    CUpointer_attribute which[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        CU_POINTER_ATTRIBUTE_IS_MANAGED,       CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
        CU_POINTER_ATTRIBUTE_HOST_POINTER,     CU_POINTER_ATTRIBUTE_CONTEXT,
        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *values[] = {&type, ordinal, &managed, &device, &host, &context, &base, &range};
    CUresult r = cu.cuPointerGetAttributes(sizeof which / sizeof *which, which, values,
                                           (CUdeviceptr)address);
    if (r == CUDA_ERROR_INVALID_CONTEXT || (r == CUDA_SUCCESS && type == 0))
        return CUDA_ERROR_INVALID_VALUE;
    *out = (ndp_pointer_info){.size = out->size,
                              .flags = (managed ? NDP_POINTER_MANAGED : 0) |
                                       (type == CU_MEMORYTYPE_HOST ? NDP_POINTER_HOST : 0),
                              .device_address = (uint64_t)device,
                              .host_address = (uint64_t)(uintptr_t)host,
                              .base = (uint64_t)base,
                              .nbytes = range,
                              .context = (uint64_t)(uintptr_t)context};
    return r;
}

static int32_t info(ndp_dev *dev, uint64_t address, ndp_pointer_info *out)
{
    cuda_scope scope;
    if (out->size < NDP_END(ndp_pointer_info, context))
        return cuda_error(NDP_ERR_PLUGIN, "ndp_pointer_info of %u bytes is too short", out->size);
    int32_t ordinal = -1, status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = look(address, &ordinal, out);
    cuda_leave(&scope);
    if (r == CUDA_ERROR_INVALID_VALUE)
        return cuda_error(NDP_ERR_ARGUMENT, "0x%llx is no address of CUDA memory",
                          (unsigned long long)address);
    out->index = ordinal < 0 ? dev->index : (uint32_t)ordinal;
    return cuda_fail(r, "looking at address 0x%llx", (unsigned long long)address);
}

const ndp_pointer_1 cuda_pointer_group = {.size = sizeof(ndp_pointer_1), .info = info};
