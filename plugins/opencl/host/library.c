/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Opening libOpenCL, the loader of vendors' drivers, and what OpenCL's errors mean. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include "host/opencl.h"

#define INSTALL                                                                             \
    "install OpenCL's loader (Debian and Ubuntu: ocl-icd-libopencl1) and a driver of your " \
    "device's vendor, or pocl-opencl-icd to compute on the processor"

ocl_library cl;
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static int opened;

#define STRING_(x) #x
#define STRING(x) STRING_(x)
static const ndh_symbol symbols[] = {
#define CL_FN(name) {STRING(name), offsetof(ocl_library, name), 1},
#include "host/library.def"
};
enum { SYMBOLS = sizeof symbols / sizeof *symbols };
static const char *const sonames[] = {"libOpenCL.so.1", "libOpenCL.so"};
enum { SONAMES = sizeof sonames / sizeof *sonames };

static int32_t fill_table(void *library, const char *soname, char *why, size_t n)
{
    for (size_t i = 0; i < SYMBOLS; i++) {
        void *address = dlsym(library, symbols[i].name);
        if (!address) {
            snprintf(why, n, "%s lacks %s, so it is older than OpenCL 1.2; %s", soname,
                     symbols[i].name, INSTALL);
            return NDP_ERR_UNSUPPORTED;
        }
        *(void **)(void *)((char *)&cl + symbols[i].offset) = address;
    }
    return NDP_OK;
}

/* For hosts without the service. */
static int32_t open_directly(char *why, size_t n)
{
    for (size_t i = 0; i < SONAMES; i++) {
        void *library = dlopen(sonames[i], RTLD_NOW | RTLD_LOCAL);
        if (library)
            return fill_table(library, sonames[i], why, n);
    }
    snprintf(why, n, "there is no %s; %s", sonames[0], INSTALL);
    return NDP_ERR_UNSUPPORTED;
}

const ndh_library_1 *ocl_library_service(void)
{
    const ndh_library_1 *s = NULL;
    if (ocl_host->size >= NDP_END(ndp_host, service) && ocl_host->service)
        s = ocl_host->service(ocl_host->ctx, "ndh.library/1");
    return s && s->size >= NDP_END(ndh_library_1, open) ? s : NULL;
}

static int32_t open_library(char *why, size_t n)
{
    static const ndh_library library = {
        .size = sizeof library,
        .n_sonames = SONAMES,
        .n_symbols = SYMBOLS,
        .name = "OpenCL",
        .install = INSTALL,
        .sonames = sonames,
        .symbols = symbols,
    };
    const ndh_library_1 *service = ocl_library_service();
    if (!service)
        return open_directly(why, n);
    int32_t status = service->open(ocl_host->ctx, &library, &cl);
    if (status != NDP_OK)
        snprintf(why, n, "there is no OpenCL 1.2: %s or one of its functions is missing; %s",
                 sonames[0], INSTALL);
    return status;
}

int32_t ocl_library_open(char *why, size_t n)
{
    pthread_mutex_lock(&open_lock);
    int32_t status = opened ? NDP_OK : open_library(why, n);
    opened = status == NDP_OK;
    pthread_mutex_unlock(&open_lock);
    return status;
}

const char *ocl_error_name(cl_int r)
{
    static const struct {
        cl_int code;
        const char *name;
    } names[] = {
#define NAME(code) {CL_##code, "CL_" #code}
        NAME(DEVICE_NOT_FOUND),
        NAME(DEVICE_NOT_AVAILABLE),
        NAME(COMPILER_NOT_AVAILABLE),
        NAME(MEM_OBJECT_ALLOCATION_FAILURE),
        NAME(OUT_OF_RESOURCES),
        NAME(OUT_OF_HOST_MEMORY),
        NAME(PROFILING_INFO_NOT_AVAILABLE),
        NAME(MEM_COPY_OVERLAP),
        NAME(BUILD_PROGRAM_FAILURE),
        NAME(MAP_FAILURE),
        NAME(EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
        NAME(INVALID_VALUE),
        NAME(INVALID_PLATFORM),
        NAME(INVALID_DEVICE),
        NAME(INVALID_CONTEXT),
        NAME(INVALID_QUEUE_PROPERTIES),
        NAME(INVALID_COMMAND_QUEUE),
        NAME(INVALID_MEM_OBJECT),
        NAME(INVALID_BINARY),
        NAME(INVALID_BUILD_OPTIONS),
        NAME(INVALID_PROGRAM),
        NAME(INVALID_PROGRAM_EXECUTABLE),
        NAME(INVALID_KERNEL_NAME),
        NAME(INVALID_KERNEL),
        NAME(INVALID_ARG_INDEX),
        NAME(INVALID_ARG_VALUE),
        NAME(INVALID_ARG_SIZE),
        NAME(INVALID_KERNEL_ARGS),
        NAME(INVALID_WORK_DIMENSION),
        NAME(INVALID_WORK_GROUP_SIZE),
        NAME(INVALID_WORK_ITEM_SIZE),
        NAME(INVALID_GLOBAL_OFFSET),
        NAME(INVALID_EVENT_WAIT_LIST),
        NAME(INVALID_EVENT),
        NAME(INVALID_OPERATION),
        NAME(INVALID_BUFFER_SIZE),
        NAME(INVALID_GLOBAL_WORK_SIZE),
#undef NAME
        {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].code == r)
            return names[i].name;
    return "an OpenCL error without a name";
}

static int32_t status_of(cl_int r)
{
    switch (r) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_RESOURCES:
    case CL_OUT_OF_HOST_MEMORY:
    case CL_INVALID_BUFFER_SIZE:
        return NDP_ERR_MEMORY;
    case CL_DEVICE_NOT_AVAILABLE:
        return NDP_ERR_LOST;
    case CL_COMPILER_NOT_AVAILABLE:
        return NDP_ERR_UNSUPPORTED;
    case CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST:
        return NDP_ERR_ASYNC;
    case CL_INVALID_VALUE:
    case CL_MEM_COPY_OVERLAP:
        return NDP_ERR_ARGUMENT;
    default:
        return NDP_ERR_PLUGIN;
    }
}

int32_t ocl_fail(cl_int r, const char *fmt, ...)
{
    char what[256];
    va_list ap;
    if (r == CL_SUCCESS)
        return NDP_OK;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return ocl_host->error(ocl_host->ctx, status_of(r), r, "%s: %s (%d)", what, ocl_error_name(r),
                           (int)r);
}
