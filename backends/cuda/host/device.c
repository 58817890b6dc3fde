/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Devices: how many there are, what they are, and their primary contexts. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "host/backend.h"

static ndp_dev devices[CUDA_MAX_DEVICES];
static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;

static atomic_int exiting;

/* Runs before the driver's own handler, which was installed earlier. */
static void at_exit(void)
{
    atomic_store(&exiting, 1);
}

static void no_device(char *why, size_t n)
{
    snprintf(why, n,
             "the NVIDIA driver sees no device: none is installed or passed through, or "
             "CUDA_VISIBLE_DEVICES hides all");
}

/* The management library is asked first, since the driver, once initialised, neither survives a
 * fork nor looks at CUDA_VISIBLE_DEVICES again. */
int32_t cuda_probe(uint32_t *count, char *why, size_t n)
{
    int found = 0;
    *count = 0;
    cuda_pinned_declare();
    int32_t status = cuda_driver_open(why, n);
    if (status != NDP_OK)
        return status;
    CUresult r = CUDA_SUCCESS;
    found = cuda_driver_initialised() ? -1 : cuda_nvml_count();
    if (found < 0) {
        r = cuda_driver_init();
        if (r == CUDA_SUCCESS)
            r = cu.cuDeviceGetCount(&found);
    }
    if (r == CUDA_ERROR_NO_DEVICE || (r == CUDA_SUCCESS && found == 0)) {
        no_device(why, n);
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
    if (out->size < NDP_END(ndp_device_info, unique_id))
        return cuda_error(NDP_ERR_PLUGIN, "ndp_device_info of %u bytes is too short", out->size);
    CUresult r = cuda_driver_init();
    if (r == CUDA_SUCCESS)
        r = cu.cuDeviceGet(&d, (int)index);
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

/* The architecture whose code a device of a capability runs: the highest of its generation that is no newer, or else what
 * the driver makes of the lowest one's PTX. CUDA_ARCH_LIST is "sm_80 sm_90" or such. */
static int compiled_for(int capability)
{
    int lowest = INT_MAX, best = 0;
    for (const char *at = CUDA_ARCH_LIST; (at = strchr(at, '_')); at++) {
        const int arch = atoi(at + 1), has_code = at[-1] == 'm';
        lowest = arch < lowest ? arch : lowest;
        if (has_code && arch / 10 == capability / 10 && arch <= capability && arch > best)
            best = arch;
    }
    return best ? best : lowest;
}

static CUresult retain(ndp_dev *d)
{
    int major = 0, minor = 0;
    CUresult r = cuda_driver_init();
    if (r == CUDA_SUCCESS)
        r = cu.cuDeviceGet(&d->ordinal, (int)d->index);
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
        r = cu.cuDeviceGetAttribute(
            &d->shared_most, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, d->ordinal);
    if (r == CUDA_SUCCESS)
        r = cu.cuDevicePrimaryCtxRetain(&d->context, d->ordinal);
    d->capability = major * 10 + minor;
    d->compiled = compiled_for(d->capability);
    return r;
}

static int32_t default_stream(CUstream *out)
{
    const char *text = "legacy";
    cuda_host->param(cuda_host->ctx, "DEFAULT_STREAM", NDP_PARAM_TEXT,
                     "default stream: legacy, or per_thread", &text);
    int per_thread = strcmp(text, "per_thread") == 0;
    *out = per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
    if (per_thread || strcmp(text, "legacy") == 0)
        return NDP_OK;
    return cuda_error(NDP_ERR_ARGUMENT,
                      "NDOCK_CUDA_DEFAULT_STREAM is \"%s\"; it can be legacy or per_thread", text);
}

/* A context that is well answers; retaining one that another library has broken succeeds. */
static CUresult ask_context(const ndp_dev *d)
{
    cuda_scope scope;
    size_t free_bytes, total;
    CUresult r = cu.cuCtxPushCurrent(d->context);
    scope.pushed = r == CUDA_SUCCESS;
    if (r != CUDA_SUCCESS)
        return r;
    r = cu.cuMemGetInfo(&free_bytes, &total);
    cuda_leave(&scope);
    return r;
}

/* Under the lock. */
static int32_t open_first(ndp_dev *d, uint32_t index)
{
    static int handler_installed;
    d->index = index;
    int32_t status = default_stream(&d->own.handle);
    if (status != NDP_OK)
        return status;
    CUresult r = retain(d);
    if (r == CUDA_SUCCESS && !handler_installed)
        handler_installed = atexit(at_exit) == 0;
    if (r == CUDA_SUCCESS && (r = ask_context(d)) != CUDA_SUCCESS)
        cu.cuDevicePrimaryCtxRelease(d->ordinal);
    if (r != CUDA_SUCCESS)
        d->context = NULL;
    return cuda_fail(r, "opening cuda:%u", index);
}

int32_t cuda_open(uint32_t index, ndp_dev **out)
{
    static int locks_made;
    *out = NULL;
    if (index >= CUDA_MAX_DEVICES)
        return cuda_error(NDP_ERR_DEVICE, "there are at most %d CUDA devices, not cuda:%u",
                          CUDA_MAX_DEVICES, index);
    ndp_dev *d = &devices[index];
    pthread_mutex_lock(&devices_lock);
    for (; locks_made < CUDA_MAX_DEVICES; locks_made++)
        pthread_mutex_init(&devices[locks_made].lock, NULL);
    int32_t status = d->opened ? NDP_OK : open_first(d, index);
    d->opened += status == NDP_OK;
    pthread_mutex_unlock(&devices_lock);
    *out = status == NDP_OK ? d : NULL;
    return status;
}

void cuda_close(ndp_dev *d, const cuda_closer *closers)
{
    pthread_mutex_lock(&devices_lock);
    if (d->opened > 0 && --d->opened == 0) {
        for (; *closers; closers++)
            (*closers)(d);
        if (!atomic_load(&exiting))
            cu.cuDevicePrimaryCtxRelease(d->ordinal);
        d->context = NULL;
        d->peers = 0;
    }
    pthread_mutex_unlock(&devices_lock);
}

ndp_dev *cuda_next_open(const ndp_dev *d)
{
    for (ndp_dev *next = d ? &devices[d->index + 1] : devices; next < devices + CUDA_MAX_DEVICES;
         next++)
        if (next->context)
            return next;
    return NULL;
}

int32_t cuda_enter(const ndp_dev *d, cuda_scope *scope)
{
    CUcontext now = NULL;
    scope->pushed = 0;
    if (atomic_load_explicit(&exiting, memory_order_relaxed))
        return cuda_error(NDP_ERR_STATE, "the process is exiting; cuda:%u is not used any more",
                          d->index);
    cuda_log_forget();
    CUresult r = cu.cuCtxGetCurrent(&now);
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

CUstreamCaptureMode cuda_capture_relax(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    cu.cuThreadExchangeStreamCaptureMode(&mode);
    return mode;
}

void cuda_capture_restore(CUstreamCaptureMode mode)
{
    cu.cuThreadExchangeStreamCaptureMode(&mode);
}
