/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * PTX to machine code by the driver, so that the kernel cache can keep it: the driver's version is
 * part of its key. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "host/assemble.h"

enum { LOG_BYTES = 4096 };

typedef struct {
    const ndp_dev *dev;
    const char *name;
    int32_t (*ptx)(void *ctx, char **text);
    void *ctx;
} job;

/* A copy of what the assembler made, which is its own until it is ended. */
static int32_t copy_code(const void *code, size_t nbytes, ndh_compiled *out)
{
    out->code = cuda_host->alloc(cuda_host->ctx, nbytes, 16);
    if (!out->code)
        return cuda_error(NDP_ERR_MEMORY, "no host memory for a kernel's code");
    memcpy(out->code, code, nbytes);
    out->nbytes = nbytes;
    return NDP_OK;
}

static int32_t assemble(const job *j, const char *ptx, ndh_compiled *out)
{
    char log[LOG_BYTES] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)}, *code = NULL;
    CUlinkState state = NULL;
    size_t nbytes = 0;
    int32_t status = NDP_OK;
    CUresult r = cu.cuLinkCreate(2, options, values, &state);
    if (r == CUDA_SUCCESS)
        r = cu.cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)(uintptr_t)ptx, strlen(ptx) + 1,
                             j->name, 0, NULL, NULL);
    if (r == CUDA_SUCCESS)
        r = cu.cuLinkComplete(state, &code, &nbytes);
    if (r == CUDA_SUCCESS && nbytes > 0)
        status = copy_code(code, nbytes, out);
    else
        status = cuda_error(NDP_ERR_ARGUMENT, "the driver does not assemble %s: %s", j->name,
                            log[0] ? log : "it gave no log");
    if (state)
        cu.cuLinkDestroy(state);
    return status;
}

/* Called by the kernel cache. */
static int32_t compile(void *arg, ndh_compiled *out)
{
    const job *j = arg;
    cuda_scope scope;
    char *ptx = NULL;
    int32_t status = j->ptx(j->ctx, &ptx);
    if (status != NDP_OK)
        return status;
    cuda_dump_source(j->name, "ptx", ptx);
    status = cuda_enter(j->dev, &scope);
    if (status == NDP_OK) {
        CUstreamCaptureMode mode = cuda_capture_relax();
        status = assemble(j, ptx, out);
        cuda_capture_restore(mode);
        cuda_leave(&scope);
    }
    free(ptx);
    return status;
}

int32_t cuda_assemble(const ndp_dev *dev, const char *name, const char *key_text,
                      int32_t (*ptx)(void *ctx, char **text), void *ctx, cuda_nvrtc_code *out)
{
    const ndh_kernel_1 *cache = cuda_host->service(cuda_host->ctx, "ndh.kernel/1");
    job j = {.dev = dev, .name = name, .ptx = ptx, .ctx = ctx};
    char arch[32], compiler[32];
    if (!cache)
        return cuda_error(NDP_ERR_UNSUPPORTED, "this ndock keeps no compiled kernels");
    snprintf(arch, sizeof arch, "sm_%d", dev->capability);
    snprintf(compiler, sizeof compiler, "driver %d", cuda_driver_version());
    const ndh_kernel_key key = {.size = sizeof key,
                                .source = key_text,
                                .options = "assembled",
                                .arch = arch,
                                .compiler = compiler,
                                .library = "ndock-cuda " PACKAGE_VERSION};
    return cache->get(cuda_host->ctx, &key, 0, compile, &j, &out->kept, &out->code, &out->nbytes);
}
