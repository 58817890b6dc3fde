/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Devices: how many there are, what they are, and their primary contexts. */
#include <stdio.h>
#include <string.h>
#include "backend.h"

static ndp_dev devices[CUDA_MAX_DEVICES];
static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;

int32_t cuda_probe(uint32_t *count, char *why, size_t n)
{
    int found = 0;
    *count = 0;
    int32_t status = cuda_driver_open(why, n);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuInit(0);
    if (r == CUDA_SUCCESS)
        r = cu.cuDeviceGetCount(&found);
    if (r == CUDA_ERROR_NO_DEVICE || (r == CUDA_SUCCESS && found == 0)) {
        snprintf(why, n,
                 "the NVIDIA driver sees no device: none is installed or passed through, or "
                 "CUDA_VISIBLE_DEVICES hides all");
        return NDP_OK;
    }
    if (r != CUDA_SUCCESS) {
        snprintf(why, n, "the NVIDIA driver does not start: %s (%d)", cuda_error_name(r), (int)r);
        return NDP_ERR_PLUGIN;
    }
    *count = found < CUDA_MAX_DEVICES ? (uint32_t)found : CUDA_MAX_DEVICES;
    return NDP_OK;
}

static void write_uuid(char *out, size_t n, const CUuuid *id)
{
    const unsigned char *b = (const unsigned char *)id->bytes;
    snprintf(out, n, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
             b[14], b[15]);
}

int32_t cuda_info(uint32_t index, ndp_device_info *out)
{
    CUdevice d;
    CUuuid id;
    size_t total = 0;
    CUresult r = cu.cuDeviceGet(&d, (int)index);
    if (r == CUDA_SUCCESS)
        r = cu.cuDeviceGetName(out->name, sizeof out->name, d);
    if (r == CUDA_SUCCESS)
        r = cu.cuDeviceTotalMem(&total, d);
    if (r == CUDA_SUCCESS)
        r = cu.cuDeviceGetUuid(&id, d);
    if (r != CUDA_SUCCESS)
        return cuda_fail(r, "looking at cuda:%u", index);
    write_uuid(out->unique_id, sizeof out->unique_id, &id);
    out->flags = NDP_DEV_ASYNC;
    out->memory_bytes = total;
    out->align_bytes = 256;
    out->max_alloc_bytes = total;
    out->dtypes = ((uint64_t)1 << NDP_DTYPE_END) - 2;
    out->priority = 100;
    return NDP_OK;
}

static CUresult retain(ndp_dev *d)
{
    int major = 0, minor = 0;
    CUresult r = cu.cuDeviceGet(&d->ordinal, (int)d->index);
    if (r == CUDA_SUCCESS)
        r = cu.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                                    d->ordinal);
    if (r == CUDA_SUCCESS)
        r = cu.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                                    d->ordinal);
    if (r == CUDA_SUCCESS)
        r = cu.cuDeviceGetAttribute(&d->sm_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                                    d->ordinal);
    if (r == CUDA_SUCCESS)
        r = cu.cuDevicePrimaryCtxRetain(&d->context, d->ordinal);
    d->capability = major * 10 + minor;
    return r;
}

int32_t cuda_open(uint32_t index, ndp_dev **out)
{
    *out = NULL;
    if (index >= CUDA_MAX_DEVICES)
        return cuda_error(NDP_ERR_DEVICE, "there are at most %d CUDA devices, not cuda:%u",
                          CUDA_MAX_DEVICES, index);
    ndp_dev *d = &devices[index];
    pthread_mutex_lock(&devices_lock);
    CUresult r = CUDA_SUCCESS;
    if (!d->context) {
        d->index = index;
        d->default_stream = CU_STREAM_LEGACY;
        pthread_mutex_init(&d->lock, NULL);
        r = retain(d);
        if (r != CUDA_SUCCESS)
            d->context = NULL;
    }
    pthread_mutex_unlock(&devices_lock);
    if (r != CUDA_SUCCESS)
        return cuda_fail(r, "opening cuda:%u", index);
    *out = d;
    return NDP_OK;
}

void cuda_close(ndp_dev *d)
{
    pthread_mutex_lock(&devices_lock);
    cuda_modules_unload(d);
    cu.cuDevicePrimaryCtxRelease(d->ordinal);
    d->context = NULL;
    pthread_mutex_destroy(&d->lock);
    pthread_mutex_unlock(&devices_lock);
}

int32_t cuda_enter(const ndp_dev *d, cuda_scope *scope)
{
    CUcontext now = NULL;
    CUresult r = cu.cuCtxGetCurrent(&now);
    scope->pushed = 0;
    if (r == CUDA_SUCCESS && now != d->context) {
        r = cu.cuCtxPushCurrent(d->context);
        scope->pushed = r == CUDA_SUCCESS;
    }
    return r == CUDA_SUCCESS ? NDP_OK : cuda_fail(r, "entering the context of cuda:%u", d->index);
}

void cuda_leave(const cuda_scope *scope)
{
    CUcontext ours;
    if (scope->pushed)
        cu.cuCtxPopCurrent(&ours);
}
