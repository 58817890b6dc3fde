/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Opening libcuda.so.1, and what its errors mean. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "host/backend.h"

#define OLDEST_DRIVER 12000
#define STRING_(x) #x
#define STRING(x) STRING_(x)

cuda_driver cu;
atomic_int cuda_busy_streams;
static int driver_version;
static int32_t driver_state = NDP_ERR_NOT_READY; /* under lock until it is anything else */
static char driver_why[256];
static pthread_mutex_t driver_lock = PTHREAD_MUTEX_INITIALIZER;

static const struct {
    const char *name;
    size_t offset;
    int optional;
} functions[] = {
#define CU_FN(name) {STRING(name), offsetof(cuda_driver, name), 0},
#define CU_OPTIONAL(name, type) {STRING(name), offsetof(cuda_driver, name), 1},
#include "host/driver.def"
};

/* The first function that the library lacks, or NULL. */
static const char *load_functions(void *library)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *address = dlsym(library, functions[i].name);
        if (!address && !functions[i].optional)
            return functions[i].name;
        *(void **)(void *)((char *)&cu + functions[i].offset) = address;
    }
    return NULL;
}

static int32_t open_driver(char *why, size_t n)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(why, n,
                 "no NVIDIA driver: %s; install one that serves CUDA %d.%d or later, or in a "
                 "container start it with the GPU's driver mounted",
                 dlerror(), OLDEST_DRIVER / 1000, OLDEST_DRIVER % 1000 / 10);
        return NDP_ERR_UNSUPPORTED;
    }
    __typeof__(cuDriverGetVersion) *version = NULL;
    *(void **)(void *)&version = dlsym(library, "cuDriverGetVersion");
    if (version)
        version(&driver_version);
    const char *missing = load_functions(library);
    if (driver_version < OLDEST_DRIVER || missing) {
        snprintf(
            why, n,
            "the NVIDIA driver is too old: it serves CUDA %d.%d, this plug-in needs %d.%d%s%s; "
            "install a newer driver",
            driver_version / 1000, driver_version % 1000 / 10, OLDEST_DRIVER / 1000,
            OLDEST_DRIVER % 1000 / 10, missing ? " and its function " : "", missing ? missing : "");
        return NDP_ERR_PLUGIN;
    }
    return NDP_OK;
}

int32_t cuda_driver_open(char *why, size_t n)
{
    pthread_mutex_lock(&driver_lock);
    if (driver_state == NDP_ERR_NOT_READY)
        driver_state = open_driver(driver_why, sizeof driver_why);
    if (driver_state != NDP_OK)
        snprintf(why, n, "%s", driver_why);
    pthread_mutex_unlock(&driver_lock);
    return driver_state;
}

int cuda_driver_version(void)
{
    return driver_version;
}

int cuda_sticky(CUresult r)
{
    return r == CUDA_ERROR_ILLEGAL_ADDRESS || r == CUDA_ERROR_LAUNCH_TIMEOUT ||
           r == CUDA_ERROR_ASSERT || (r >= 714 && r <= 719);
}

const char *cuda_error_name(CUresult r)
{
    const char *name = NULL;
    return cu.cuGetErrorName && cu.cuGetErrorName(r, &name) == CUDA_SUCCESS && name
               ? name
               : "unknown CUDA error";
}

static int32_t status_of(CUresult r)
{
    if (cuda_sticky(r))
        return NDP_ERR_LOST;
    if (r >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && r <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
        return NDP_ERR_CAPTURE;
    switch (r) {
    case CUDA_ERROR_OUT_OF_MEMORY:
        return NDP_ERR_MEMORY;
    case CUDA_ERROR_NOT_READY:
        return NDP_ERR_NOT_READY;
    case CUDA_ERROR_INVALID_DEVICE:
        return NDP_ERR_DEVICE;
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_HANDLE:
        return NDP_ERR_ARGUMENT;
    case CUDA_ERROR_NOT_SUPPORTED:
        return NDP_ERR_UNSUPPORTED;
    case CUDA_ERROR_ILLEGAL_STATE:
    case CUDA_ERROR_DEINITIALIZED:
        return NDP_ERR_STATE;
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: /* told by the call itself: a wrong launch is ours */
        return NDP_ERR_INTERNAL;
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
        return NDP_ERR_PLUGIN;
    default:
        return NDP_ERR_ASYNC;
    }
}

/* ---- what the driver tells beyond a code (CUDA 12.9 and later) ---- */
static _Thread_local char driver_words[256];
static int32_t words_wanted; /* set once, before the first device is open */

static void CUDA_CB hear(void *data, int level, char *message, size_t length)
{
    (void)data;
    (void)level;
    size_t n = length < sizeof driver_words - 1 ? length : sizeof driver_words - 1;
    memcpy(driver_words, message, n);
    driver_words[n] = 0;
    driver_words[strcspn(driver_words, "\n")] = 0;
}

static void listen(void)
{
    void *handle;
    words_wanted =
        cu.cuLogsRegisterCallback && cu.cuLogsRegisterCallback(hear, NULL, &handle) == CUDA_SUCCESS;
}

void cuda_log_forget(void)
{
    if (words_wanted)
        driver_words[0] = 0;
}

/* Kept when it succeeded; a failure may be cured by loading a kernel module. */
static atomic_int initialised;

CUresult cuda_driver_init(void)
{
    if (atomic_load_explicit(&initialised, memory_order_acquire))
        return CUDA_SUCCESS;
    pthread_mutex_lock(&driver_lock);
    CUresult r = atomic_load(&initialised) ? CUDA_SUCCESS : cu.cuInit(0);
    if (r == CUDA_SUCCESS && !atomic_load(&initialised)) {
        listen();
        atomic_store_explicit(&initialised, 1, memory_order_release);
    }
    pthread_mutex_unlock(&driver_lock);
    return r;
}

int cuda_driver_initialised(void)
{
    return atomic_load(&initialised);
}

/* The fault of a device that has no work of ours to blame. */
static const char *origin(CUresult r)
{
    return cuda_sticky(r) && atomic_load(&cuda_busy_streams) == 0
               ? "; pre-existing: nothing of ndock was queued since the device was last known to "
                 "be well, so another library in this process caused it"
               : "";
}

int32_t cuda_fail(CUresult r, const char *fmt, ...)
{
    char what[256];
    const char *text = NULL, *words = words_wanted ? driver_words : "";
    va_list ap;
    if (r == CUDA_SUCCESS)
        return NDP_OK;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    cu.cuGetErrorString(r, &text);
    int32_t status =
        cuda_host->error(cuda_host->ctx, status_of(r), (int64_t)r, "%s: %s (%s, %d)%s%s%s", what,
                         text ? text : "no text", cuda_error_name(r), (int)r,
                         words[0] ? "; driver: " : "", words, origin(r));
    cuda_log_forget();
    return status;
}
