/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group "ndp.ipc/1": memory and events named for other processes of this machine. Source: CUDA Driver
 * API, "Memory Management", cuIpcGetMemHandle and its like. */
#include <string.h>
#include "host/backend.h"

static const char *kind_text(cuda_mem_kind kind)
{
    switch (kind) {
    case CUDA_MEM_RESERVED:
        return "expandable segments";
    case CUDA_MEM_POOL:
        return "the driver's pool";
    default:
        return "page-locked host memory";
    }
}

static int32_t memory(ndp_dev *dev, ndp_mem *mem, void *handle, uint64_t *offset_bytes)
{
    cuda_scope scope;
    CUipcMemHandle made;
    CUdeviceptr base = mem->base;
    size_t nbytes = 0;
    if (mem->kind != CUDA_MEM_DEVICE && mem->kind != CUDA_MEM_FOREIGN)
        return cuda_error(NDP_ERR_UNSUPPORTED,
                          "memory of %s has no handle for other processes; copy the array while "
                          "NDOCK_ALLOC_CONF has neither expandable_segments:True nor the driver's "
                          "pool",
                          kind_text(mem->kind));
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuMemGetAddressRange(&base, &nbytes, mem->base);
    if (r == CUDA_SUCCESS)
        r = cu.cuIpcGetMemHandle(&made, base);
    cuda_leave(&scope);
    memcpy(handle, &made, sizeof made);
    *offset_bytes = mem->base - base;
    return cuda_fail(r, "naming memory of cuda:%u for other processes", dev->index);
}

static int32_t open_memory(ndp_dev *dev, const void *handle, uint64_t *address)
{
    cuda_scope scope;
    CUipcMemHandle given;
    CUdeviceptr at = 0;
    memcpy(&given, handle, sizeof given);
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuIpcOpenMemHandle(&at, given, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    cuda_leave(&scope);
    *address = at;
    return cuda_fail(r, "opening memory of another process on cuda:%u", dev->index);
}

static void close_memory(ndp_dev *dev, uint64_t address)
{
    cuda_scope scope;
    if (cuda_enter(dev, &scope) != NDP_OK)
        return;
    cu.cuIpcCloseMemHandle((CUdeviceptr)address);
    cuda_leave(&scope);
}

static int32_t event(ndp_dev *dev, ndp_event *e, void *handle)
{
    cuda_scope scope;
    CUipcEventHandle made;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuIpcGetEventHandle(&made, (CUevent)(void *)e);
    cuda_leave(&scope);
    memcpy(handle, &made, sizeof made);
    return cuda_fail(r, "naming an event of cuda:%u for other processes", dev->index);
}

static int32_t open_event(ndp_dev *dev, const void *handle, ndp_event **out)
{
    cuda_scope scope;
    CUipcEventHandle given;
    CUevent e = NULL;
    *out = NULL;
    memcpy(&given, handle, sizeof given);
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuIpcOpenEventHandle(&e, given);
    cuda_leave(&scope);
    *out = (ndp_event *)(void *)e;
    return cuda_fail(r, "opening an event of another process on cuda:%u", dev->index);
}

_Static_assert(sizeof(CUipcMemHandle) == NDP_IPC_BYTES, "handles of memory have 64 bytes");
_Static_assert(sizeof(CUipcEventHandle) == NDP_IPC_BYTES, "handles of events have 64 bytes");
const ndp_ipc_1 cuda_ipc_group = {.size = sizeof(ndp_ipc_1),
                                  .memory = memory,
                                  .open = open_memory,
                                  .close = close_memory,
                                  .event = event,
                                  .event_open = open_event};
