/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A libcuda.so.1 that has every function and does nothing (stub_device.c has some that do a
 * little): what the plug-in says on machines whose driver is too old or sees no device. The
 * environment says which machine this is. */
#include <cuda.h>
#include <stdlib.h>

#pragma GCC visibility push(default)

#define STRING_(x) #x
#define STRING(x) STRING_(x)
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

/* Under the name that the macros of <cuda.h> make of it; every row stands on its own line. */
#define CU_FN(name)                                                                   \
    CUresult JOIN(stub_, __LINE__)(void) __asm__(STRING(name)) __attribute__((weak)); \
    CUresult JOIN(stub_, __LINE__)(void)                                              \
    {                                                                                 \
        return getenv("STUB_CUDA_WORKS") ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;         \
    }
#define CU_OPTIONAL(name, type)
#define cuInit stub_cuInit
#define cuDriverGetVersion stub_cuDriverGetVersion
#define cuDeviceGetCount stub_cuDeviceGetCount
#define cuGetErrorName stub_cuGetErrorName
#define cuGetErrorString stub_cuGetErrorString
#include "backends/cuda/host/driver.def"
#undef cuInit
#undef cuDriverGetVersion
#undef cuDeviceGetCount
#undef cuGetErrorName
#undef cuGetErrorString

int stub_inits; /* how often the driver was initialised */

static int setting(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

CUresult CUDAAPI cuInit(unsigned flags)
{
    (void)flags;
    stub_inits++;
    return (CUresult)setting("STUB_CUDA_INIT", 0);
}

CUresult CUDAAPI cuDriverGetVersion(int *version)
{
    *version = setting("STUB_CUDA_VERSION", 13000);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    *count = setting("STUB_CUDA_COUNT", 0);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetErrorName(CUresult r, const char **text)
{
    *text =
        r == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH ? "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" : "an error";
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetErrorString(CUresult r, const char **text)
{
    (void)r;
    *text = "no more is known";
    return CUDA_SUCCESS;
}
