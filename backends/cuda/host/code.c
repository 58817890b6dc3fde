/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group "ndp.code/1": modules of programs, from CUDA C++, PTX or machine code, and launches of
 * their functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "host/nvrtc.h"

enum { MAX_ARGUMENTS = 256, LOG_BYTES = 4096 };

struct ndp_module {
    CUmodule handle;
    char *name;
    struct ndp_function *functions;
};
struct ndp_function {
    struct ndp_function *next;
    CUfunction handle;
    char *name;
    uint32_t n_arguments; /* UINT32_MAX: the driver cannot tell */
    size_t nbytes[MAX_ARGUMENTS];
    uint64_t shared_set; /* how much dynamic shared memory was allowed already; under the lock */
};
static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- loading ---- */
static int32_t load_failed(const ndp_dev *dev, const char *name, CUresult r, const char *log)
{
    const char *why = log[0] ? log : cuda_error_name(r);
    cuda_log_forget(); /* why has it, or else cuda_fail() below tells what happened */
    switch (r) {
    case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
        return cuda_host->error(cuda_host->ctx, NDP_ERR_UNSUPPORTED, (int64_t)r,
                                "%s is PTX, which the driver compiles by "
                                "libnvidia-ptxjitcompiler.so.1; install that",
                                name);
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_INVALID_SOURCE:
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND:
        return cuda_host->error(cuda_host->ctx, NDP_ERR_ARGUMENT, (int64_t)r,
                                "%s cannot be loaded on cuda:%u: %s", name, dev->index, why);
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
        return cuda_host->error(
            cuda_host->ctx, NDP_ERR_ARGUMENT, (int64_t)r,
            "%s is not for cuda:%u, which has compute capability %d.%d and a driver for CUDA "
            "%d.%d: %s",
            name, dev->index, dev->capability / 10, dev->capability % 10,
            cuda_driver_version() / 1000, cuda_driver_version() % 1000 / 10, why);
    default:
        return cuda_fail(r, "loading %s on cuda:%u: %s", name, dev->index, log);
    }
}

/* Whether [at, at + n) lies within nbytes. */
static int inside(uint64_t at, uint64_t n, uint64_t nbytes)
{
    return at <= nbytes && n <= nbytes - at;
}

static uint64_t number(const unsigned char *p, int n) /* little-endian */
{
    uint64_t v = 0;
    while (n-- > 0)
        v = v << 8 | p[n];
    return v;
}

/* The tables and sections of an ELF file of 64 bits, which cubins are. */
static int elf_is_whole(const unsigned char *p, uint64_t nbytes)
{
    enum {
        SEGMENTS_AT = 0x20,
        SECTIONS_AT = 0x28,
        SEGMENT_BYTES = 0x36,
        SEGMENT_COUNT = 0x38,
        SECTION_BYTES = 0x3a,
        SECTION_COUNT = 0x3c,
        NO_BITS = 8
    };
    if (nbytes < 64)
        return 0;
    uint64_t at = number(p + SECTIONS_AT, 8), size = number(p + SECTION_BYTES, 2),
             count = number(p + SECTION_COUNT, 2);
    if (size < 64 || !inside(at, size * count, nbytes) ||
        !inside(number(p + SEGMENTS_AT, 8),
                number(p + SEGMENT_BYTES, 2) * number(p + SEGMENT_COUNT, 2), nbytes))
        return 0;
    for (uint64_t i = 0; i < count; i++) {
        const unsigned char *section = p + at + i * size;
        if (number(section + 4, 4) != NO_BITS &&
            !inside(number(section + 24, 8), number(section + 32, 8), nbytes))
            return 0;
    }
    return 1;
}

/* The driver is not told how long an image is, so one that was cut off must not reach it. */
static int32_t check_binary(const ndp_module_source *s)
{
    static const unsigned char elf[] = {0x7f, 'E', 'L', 'F', 2}, fat[] = {0x50, 0xed, 0x55, 0xba};
    const unsigned char *p = s->code;
    int is_elf = s->nbytes >= sizeof elf && memcmp(p, elf, sizeof elf) == 0;
    int is_fat = s->nbytes >= 16 && memcmp(p, fat, sizeof fat) == 0;
    if (!is_elf && !is_fat)
        return cuda_error(NDP_ERR_ARGUMENT,
                          "%s is neither a cubin nor a fat binary: its first bytes are others",
                          s->name);
    if (is_elf ? elf_is_whole(p, s->nbytes) : inside(number(p + 6, 2), number(p + 8, 8), s->nbytes))
        return NDP_OK;
    return cuda_error(NDP_ERR_ARGUMENT, "%s is damaged: it reaches beyond its %llu bytes", s->name,
                      (unsigned long long)s->nbytes);
}

static int32_t load_image(const ndp_dev *dev, const char *name, const void *image, CUmodule *out)
{
    char log[LOG_BYTES] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
    cuda_scope scope;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuModuleLoadDataEx(out, image, 2, options, values);
    cuda_leave(&scope);
    log[sizeof log - 1] = 0;
    return r == CUDA_SUCCESS ? NDP_OK : load_failed(dev, name, r, log);
}

static int32_t load_source(const ndp_dev *dev, const ndp_module_source *s, CUmodule *out)
{
    cuda_nvrtc_code code = {NULL, 0, NULL};
    int32_t status = cuda_nvrtc_compile(dev, s->name, s->code, s->options, &code);
    if (status != NDP_OK)
        return status;
    status = load_image(dev, s->name, code.code, out);
    cuda_nvrtc_release(&code);
    return status;
}

static void free_module(ndp_module *m)
{
    for (ndp_function *f; (f = m->functions) != NULL; free(f)) {
        m->functions = f->next;
        free(f->name);
    }
    free(m->name);
    free(m);
}

static int32_t load(ndp_dev *dev, const ndp_module_source *s, ndp_module **out)
{
    *out = NULL;
    ndp_module *m = calloc(1, sizeof *m);
    if (m)
        m->name = strdup(s->name);
    if (!m || !m->name) {
        free(m);
        return cuda_error(NDP_ERR_MEMORY, "no host memory for the record of a module");
    }
    int32_t status = s->kind == NDP_CODE_BINARY ? check_binary(s) : NDP_OK;
    if (status == NDP_OK)
        status = s->kind == NDP_CODE_SOURCE ? load_source(dev, s, &m->handle)
                                            : load_image(dev, s->name, s->code, &m->handle);
    if (status == NDP_OK)
        *out = m;
    else
        free_module(m);
    return status;
}

static void unload(ndp_dev *dev, ndp_module *m)
{
    cuda_scope scope;
    if (cuda_enter(dev, &scope) == NDP_OK) {
        cu.cuModuleUnload(m->handle);
        cuda_leave(&scope);
    }
    free_module(m);
}

/* ---- functions ---- */
static CUresult device_limits(const ndp_dev *dev, ndp_code_limits *out)
{
    static const CUdevice_attribute which[8] = {
        CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,
        CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
        CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z,
        CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X,
        CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
        CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z,
        CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN};
    int value[8];
    for (int i = 0; i < 8; i++) {
        CUresult r = cu.cuDeviceGetAttribute(&value[i], which[i], dev->ordinal);
        if (r != CUDA_SUCCESS)
            return r;
    }
    for (int i = 0; i < 3; i++) {
        out->grid[i] = (uint32_t)value[i];
        out->block[i] = (uint32_t)value[i + 3];
    }
    out->block_threads = (uint32_t)value[6];
    out->shared_bytes = (uint64_t)value[7];
    out->n_arguments = UINT32_MAX;
    return CUDA_SUCCESS;
}

static int32_t limits(ndp_dev *dev, ndp_code_limits *out)
{
    if (out->size < NDP_END(ndp_code_limits, shared_bytes))
        return cuda_error(NDP_ERR_PLUGIN, "ndp_code_limits of %u bytes is too short", out->size);
    return cuda_fail(device_limits(dev, out), "asking cuda:%u for its limits", dev->index);
}

/* How many arguments the function has, and of how many bytes each. */
static void ask_arguments(ndp_function *f)
{
    size_t offset;
    f->n_arguments = UINT32_MAX;
    if (!cu.cuFuncGetParamInfo)
        return;
    for (uint32_t i = 0; i < MAX_ARGUMENTS; i++)
        if (cu.cuFuncGetParamInfo(f->handle, i, &offset, &f->nbytes[i]) != CUDA_SUCCESS) {
            f->n_arguments = i;
            cuda_log_forget(); /* "no such argument" is no failure */
            return;
        }
}

static CUresult function_limits(const ndp_dev *dev, const ndp_function *f, ndp_code_limits *out)
{
    int threads = 0, fixed = 0;
    CUresult r = device_limits(dev, out);
    if (r == CUDA_SUCCESS)
        r = cu.cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f->handle);
    if (r == CUDA_SUCCESS)
        r = cu.cuFuncGetAttribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f->handle);
    if (r != CUDA_SUCCESS)
        return r;
    if ((uint32_t)threads < out->block_threads)
        out->block_threads = (uint32_t)threads;
    out->shared_bytes -= (uint64_t)fixed < out->shared_bytes ? (uint64_t)fixed : out->shared_bytes;
    out->n_arguments = f->n_arguments;
    return CUDA_SUCCESS;
}

static int32_t look_up(ndp_dev *dev, const ndp_module *m, ndp_function *f, ndp_code_limits *out)
{
    cuda_scope scope;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuModuleGetFunction(&f->handle, m->handle, f->name);
    CUresult asked = CUDA_SUCCESS;
    if (r == CUDA_SUCCESS) {
        ask_arguments(f);
        asked = function_limits(dev, f, out);
    }
    cuda_leave(&scope);
    if (r == CUDA_ERROR_NOT_FOUND) {
        cuda_log_forget();
        return cuda_host->error(cuda_host->ctx, NDP_ERR_ARGUMENT, (int64_t)r,
                                "%s has no function \"%s\"; those of CUDA C++ need extern \"C\" to "
                                "keep their names",
                                m->name, f->name);
    }
    return cuda_fail(r == CUDA_SUCCESS ? asked : r, "looking for %s of %s", f->name, m->name);
}

static int32_t function(ndp_dev *dev, ndp_module *m, const char *name, ndp_function **out,
                        ndp_code_limits *most)
{
    *out = NULL;
    ndp_function *f = calloc(1, sizeof *f);
    if (f)
        f->name = strdup(name);
    int32_t status = f && f->name
                         ? look_up(dev, m, f, most)
                         : cuda_error(NDP_ERR_MEMORY, "no host memory for a function's record");
    if (status != NDP_OK) {
        if (f)
            free(f->name);
        free(f);
        return status;
    }
    pthread_mutex_lock(&dev->lock);
    f->next = m->functions;
    m->functions = f;
    pthread_mutex_unlock(&dev->lock);
    *out = f;
    return NDP_OK;
}

/* ---- launches ---- */
static int32_t collect(const ndp_function *f, const ndp_launch *l, CUdeviceptr *address,
                       void **pointer)
{
    if (l->n_arguments > MAX_ARGUMENTS)
        return cuda_error(NDP_ERR_ARGUMENT, "%s: %u arguments; at most %d are passed", f->name,
                          l->n_arguments, MAX_ARGUMENTS);
    for (uint32_t i = 0; i < l->n_arguments; i++) {
        const ndp_launch_argument *a = &l->argument[i];
        size_t n = a->value ? a->nbytes : sizeof *address;
        if (f->n_arguments != UINT32_MAX && f->nbytes[i] != n)
            return cuda_error(NDP_ERR_ARGUMENT,
                              "%s: argument %u has %zu bytes, the function takes %zu there",
                              f->name, i, n, f->nbytes[i]);
        address[i] = a->value ? 0 : (a->mem ? a->mem->base : 0) + a->offset_bytes;
        pointer[i] = a->value ? (void *)(uintptr_t)a->value : (void *)&address[i];
    }
    return NDP_OK;
}

/* More than 48 KiB are only had by asking for them, once. Inside cuda_enter(). */
static CUresult allow_shared(ndp_function *f, uint64_t nbytes)
{
    CUresult r = CUDA_SUCCESS;
    if (nbytes <= 48 << 10)
        return r;
    pthread_mutex_lock(&shared_lock);
    if (nbytes > f->shared_set)
        r = cu.cuFuncSetAttribute(f->handle, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                  (int)nbytes);
    if (r == CUDA_SUCCESS && nbytes > f->shared_set)
        f->shared_set = nbytes;
    pthread_mutex_unlock(&shared_lock);
    return r;
}

static int32_t launch(ndp_dev *dev, ndp_stream *s, ndp_function *f, const ndp_launch *l)
{
    CUdeviceptr address[MAX_ARGUMENTS];
    void *pointer[MAX_ARGUMENTS];
    cuda_scope scope;
    int32_t status = collect(f, l, address, pointer);
    if (status == NDP_OK)
        status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = allow_shared(f, l->shared_bytes);
    if (r == CUDA_SUCCESS)
        r = cu.cuLaunchKernel(f->handle, l->grid[0], l->grid[1], l->grid[2], l->block[0],
                              l->block[1], l->block[2], (unsigned)l->shared_bytes,
                              cuda_stream(dev, s), pointer, NULL);
    cuda_leave(&scope);
    if (r == CUDA_ERROR_INVALID_VALUE || r == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES) {
        cuda_log_forget();
        return cuda_host->error(cuda_host->ctx, NDP_ERR_ARGUMENT, (int64_t)r,
                                "%s cannot be launched on cuda:%u with %u x %u x %u blocks of %u x "
                                "%u x %u threads and %llu bytes of shared memory: %s",
                                f->name, dev->index, l->grid[0], l->grid[1], l->grid[2],
                                l->block[0], l->block[1], l->block[2],
                                (unsigned long long)l->shared_bytes, cuda_error_name(r));
    }
    return cuda_fail(r, "%s on cuda:%u", f->name, dev->index);
}

const ndp_code_1 cuda_code_group = {
    .size = sizeof(ndp_code_1),
    .kinds = 1u << NDP_CODE_SOURCE | 1u << NDP_CODE_PTX | 1u << NDP_CODE_BINARY,
    .limits = limits,
    .load = load,
    .unload = unload,
    .function = function,
    .launch = launch,
};
