/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A libnvidia-ml.so.1 for machines as the environment describes them. */
#include <stdio.h>
#include <stdlib.h>

#pragma GCC visibility push(default)

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned *);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **);
int nvmlDeviceGetUUID(void *device, char *, unsigned length);
int nvmlDeviceGetMigMode(void *device, unsigned *now, unsigned *pending);

static int devices[64];

static int setting(const char *name)
{
    const char *text = getenv(name);
    return text ? atoi(text) : 0;
}

int nvmlInit_v2(void)
{
    return setting("STUB_NVML_INIT");
}

int nvmlShutdown(void)
{
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = (unsigned)setting("STUB_NVML_COUNT");
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    *device = &devices[index];
    return 0;
}

int nvmlDeviceGetUUID(void *device, char *text, unsigned length)
{
    snprintf(text, length, "GPU-%d9f7d1a4-0000-0000-0000-00000000000%d",
             (int)((int *)device - devices), (int)((int *)device - devices));
    return 0;
}

int nvmlDeviceGetMigMode(void *device, unsigned *now, unsigned *pending)
{
    (void)device;
    *now = *pending = (unsigned)setting("STUB_NVML_MIG");
    return 0;
}
