/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Counting devices by the management library, libnvidia-ml.so.1, which needs no context and
 * survives a fork. It numbers devices by their place on the bus and the driver the fastest first,
 * so only their number and their UUIDs are used. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include "host/backend.h"

enum { UUID_SIZE = 96, NOT_SUPPORTED = 3 };

/* Its interface, as far as it is used. */
typedef struct nvml_device nvml_device;
static struct {
    int (*init)(void);
    int (*shutdown)(void);
    int (*count)(unsigned *);
    int (*handle)(unsigned index, nvml_device **);
    int (*uuid)(nvml_device *, char *, unsigned length);
    int (*mig_mode)(nvml_device *, unsigned *now, unsigned *pending); /* or NULL */
} nvml;

static const struct {
    const char *name;
    void *slot;
} functions[] = {
    {"nvmlInit_v2", &nvml.init},
    {"nvmlShutdown", &nvml.shutdown},
    {"nvmlDeviceGetCount_v2", &nvml.count},
    {"nvmlDeviceGetHandleByIndex_v2", &nvml.handle},
    {"nvmlDeviceGetUUID", &nvml.uuid},
    {"nvmlDeviceGetMigMode", &nvml.mig_mode},
};
enum { REQUIRED = 5 }; /* of them */

/* The machine's devices; negative: nobody knows. Probing runs under the loader's lock. */
static int32_t devices = -1;
static char uuids[CUDA_MAX_DEVICES][UUID_SIZE];

static int open_library(void)
{
    static void *library;
    if (!library)
        library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return 0;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *address = dlsym(library, functions[i].name);
        if (!address && i < REQUIRED)
            return 0;
        *(void **)functions[i].slot = address;
    }
    return 1;
}

/* Parts of a device count by rules that only the driver knows. */
static int is_whole(nvml_device *d)
{
    unsigned now = 0, pending;
    int r = nvml.mig_mode ? nvml.mig_mode(d, &now, &pending) : NOT_SUPPORTED;
    return r == NOT_SUPPORTED || (r == 0 && now == 0);
}

static int32_t count_devices(void)
{
    unsigned n = 0;
    nvml_device *d;
    if (nvml.count(&n) != 0 || n > CUDA_MAX_DEVICES)
        return -1;
    for (unsigned i = 0; i < n; i++)
        if (nvml.handle(i, &d) != 0 || nvml.uuid(d, uuids[i], UUID_SIZE) != 0 || !is_whole(d))
            return -1;
    return (int32_t)n;
}

static void look(void)
{
    if (devices >= 0 || !open_library() || nvml.init() != 0)
        return;
    devices = count_devices();
    nvml.shutdown();
}

int32_t cuda_nvml_count(void)
{
    const ndh_visible_1 *visible = cuda_host->service(cuda_host->ctx, "ndh.visible/1");
    const char *ids[CUDA_MAX_DEVICES];
    int32_t shown[CUDA_MAX_DEVICES], n = 0;
    look();
    if (devices < 0 || !visible)
        return -1;
    for (int32_t i = 0; i < devices; i++)
        ids[i] = uuids[i];
    int32_t status =
        visible->parse(cuda_host->ctx, getenv("CUDA_VISIBLE_DEVICES"), devices, ids, shown, &n);
    return status == NDP_OK && n != NDH_VISIBLE_UNKNOWN ? n : -1;
}
