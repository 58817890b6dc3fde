/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the libcuda.so.1 that only pretends answers with STUB_CUDA_WORKS=1: a device of the
 * capability STUB_CUDA_CAPABILITY, whose memory is stub_memory.c's and whose kernels do nothing.
 * STUB_CUDA_WORDS is what it logs with each failure, STUB_MODULE_ERROR why no module is loaded. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(default)

static int works(void)
{
    return getenv("STUB_CUDA_WORKS") != NULL;
}

static CUresult said(void)
{
    return works() ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

/* Set by tests: from then on memory is asked for in vain, as after a fault of a kernel. */
int stub_lost;

static _Thread_local CUcontext now;
static char context, function;

/* Of CUDA 12.9 and later, so not with its prototype: <cuda.h> may lack it. */
typedef void(CUDA_CB *heard_fn)(void *data, int level, char *message, size_t length);
static heard_fn heard;
static void *heard_data;
CUresult stub_logs(heard_fn fn, void *data, void **handle) __asm__("cuLogsRegisterCallback");
CUresult stub_logs(heard_fn fn, void *data, void **handle)
{
    heard = fn;
    heard_data = data;
    *handle = &heard;
    return getenv("STUB_CUDA_WORDS") ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult stub_fails(CUresult r);
CUresult stub_fails(CUresult r)
{
    char *words = getenv("STUB_CUDA_WORDS");
    if (words && heard)
        heard(heard_data, 0, words, strlen(words));
    return r;
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
    *device = ordinal;
    return said();
}

CUresult CUDAAPI cuDeviceGetName(char *name, int n, CUdevice device)
{
    (void)device;
    strncpy(name, "stub", (size_t)n);
    return said();
}

CUresult CUDAAPI cuDeviceGetUuid(CUuuid *id, CUdevice device)
{
    memset(id, device, sizeof *id);
    return said();
}

CUresult CUDAAPI cuDeviceTotalMem(size_t *nbytes, CUdevice device)
{
    (void)device;
    *nbytes = (size_t)1 << 36;
    return said();
}

CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute name, CUdevice device)
{
    const char *text = getenv("STUB_CUDA_CAPABILITY"), *shared = getenv("STUB_CUDA_SHARED");
    const char *processors = getenv("STUB_CUDA_PROCESSORS");
    int capability = text ? atoi(text) : 90;
    (void)device;
    *value = name == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? capability / 10
             : name == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? capability % 10
             : name == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
                 ? (shared ? atoi(shared) : 227 << 10)
             : name == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT && processors ? atoi(processors)
                                                                              : 132;
    return said();
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device)
{
    (void)device;
    *out = (CUcontext)&context;
    return said();
}

int stub_streams_asked; /* how often the driver was to look into a stream */

CUresult CUDAAPI cuStreamGetCtx(CUstream stream, CUcontext *out)
{
    (void)stream;
    stub_streams_asked++;
    *out = (CUcontext)&context;
    return said();
}

CUresult CUDAAPI cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority)
{
    (void)flags;
    (void)priority;
    *out = (CUstream)&function;
    return said();
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *out)
{
    *out = now;
    return said();
}

CUresult CUDAAPI cuCtxPushCurrent(CUcontext c)
{
    now = c;
    return said();
}

CUresult CUDAAPI cuCtxPopCurrent(CUcontext *out)
{
    *out = now;
    now = NULL;
    return said();
}

CUresult CUDAAPI cuMemGetInfo(size_t *unused, size_t *total)
{
    *unused = *total = (size_t)1 << 36;
    return said();
}

int stub_modules;     /* how many were loaded */
char stub_image[300]; /* what the latest of a program was made of, where that is text */

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned n,
                                    CUjit_option *options, void **values)
{
    (void)n;
    (void)options;
    (void)values;
    strncpy(stub_image, image, sizeof stub_image - 1);
    *out = (CUmodule)&context;
    stub_modules++;
    return said();
}

CUresult CUDAAPI cuModuleLoadData(CUmodule *out, const void *image)
{
    const char *error = getenv("STUB_MODULE_ERROR");
    memcpy(stub_image, image, 16); /* enough to tell machine code from what the assembler made */
    stub_modules++;
    *out = (CUmodule)&context;
    return error ? stub_fails((CUresult)atoi(error)) : said();
}

/* ---- the assembler, which says what it was given and fails as STUB_LINK_ERROR has it ---- */
char stub_ptx[300];
static char assembled[320];

CUresult CUDAAPI cuLinkCreate(unsigned n, CUjit_option *options, void **values, CUlinkState *out)
{
    (void)n;
    (void)options;
    (void)values;
    *out = (CUlinkState)&context;
    return said();
}

CUresult CUDAAPI cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t nbytes,
                               const char *name, unsigned n, CUjit_option *options, void **values)
{
    const char *error = getenv("STUB_LINK_ERROR");
    (void)state;
    (void)nbytes;
    (void)name;
    (void)n;
    (void)options;
    (void)values;
    strncpy(stub_ptx, type == CU_JIT_INPUT_PTX ? data : "", sizeof stub_ptx - 1);
    return error ? stub_fails((CUresult)atoi(error)) : said();
}

CUresult CUDAAPI cuLinkComplete(CUlinkState state, void **code, size_t *nbytes)
{
    (void)state;
    *nbytes = (size_t)snprintf(assembled, sizeof assembled, "assembled %s", stub_ptx) + 1;
    *code = assembled;
    return said();
}

CUfunction stub_kernel(const char *name); /* stub_fft.c */
extern char stub_look;                    /* stub_graph.c */

CUresult CUDAAPI cuModuleGetFunction(CUfunction *out, CUmodule module, const char *name)
{
    (void)module;
    *out = stub_kernel(name);
    if (!*out)
        *out = (CUfunction)(strcmp(name, "look") == 0 ? &stub_look : &function);
    return said();
}

CUresult CUDAAPI cuEventCreate(CUevent *out, unsigned flags)
{
    (void)flags;
    *out = (CUevent)&function;
    return said();
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    (void)stream;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return said();
}
