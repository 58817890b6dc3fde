/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The compiled kernels: fat binaries inside the plug-in, each loaded once per device when a kernel
 * of it is first wanted. */
#include <stdlib.h>
#include <string.h>
#include "host/backend.h"

/* The files that nvcc made, byte for byte; CUDA_FATBIN_DIR is where they lie at build time. */
#define CUDA_MODULE(folder, file, dtype)                                                          \
    __asm__(".section .rodata\n.balign 16\ncuda_fatbin_" #file "_" #dtype ":\n"                   \
            ".incbin \"" CUDA_FATBIN_DIR "/" #file "-" #dtype ".fatbin\"\n.byte 0\n.previous\n"); \
    extern const char cuda_fatbin_##file##_##dtype[] __attribute__((visibility("hidden")));
#include "host/modules.def"

static const struct {
    const char *file;
    int32_t dtype; /* 0: one file for all */
    const void *image;
} fatbins[CUDA_MODULES] = {
#define NDP_ANY 0
#define CUDA_MODULE(folder, file, dtype) {#file, NDP_##dtype, cuda_fatbin_##file##_##dtype},
#include "host/modules.def"
};

struct cuda_module {
    CUmodule module;
};

int cuda_module_of(const char *file, int32_t dtype)
{
    for (int i = 0; i < CUDA_MODULES; i++)
        if (fatbins[i].dtype == dtype && strcmp(fatbins[i].file, file) == 0)
            return i;
    return -1;
}

static int32_t load_failed(const ndp_dev *dev, CUresult r, const char *file)
{
    if (r == CUDA_ERROR_NO_BINARY_FOR_GPU || r == CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
        return cuda_host->error(
            cuda_host->ctx, NDP_ERR_PLUGIN, (int64_t)r,
            "the kernels were built for %s by CUDA %d.%d; cuda:%u has compute capability %d.%d and "
            "a driver for CUDA %d.%d (%s): build ndock with --with-cuda-arch=%d, or install a "
            "newer driver",
            CUDA_ARCH_LIST, CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10, dev->index,
            dev->capability / 10, dev->capability % 10, cuda_driver_version() / 1000,
            cuda_driver_version() % 1000 / 10, cuda_error_name(r), dev->capability);
    return cuda_fail(r, "loading the kernels of %s on cuda:%u", file, dev->index);
}

int32_t cuda_function(ndp_dev *dev, int module, const char *name, CUfunction *out)
{
    if (!dev->modules)
        dev->modules = calloc(CUDA_MODULES, sizeof *dev->modules);
    if (!dev->modules)
        return cuda_error(NDP_ERR_MEMORY, "no host memory for the list of modules");
    CUmodule *m = &dev->modules[module].module;
    CUresult r = *m ? CUDA_SUCCESS : cu.cuModuleLoadData(m, fatbins[module].image);
    if (r != CUDA_SUCCESS) {
        *m = NULL;
        return load_failed(dev, r, fatbins[module].file);
    }
    r = cu.cuModuleGetFunction(out, *m, name);
    return cuda_fail(r, "looking for the kernel %s of %s", name, fatbins[module].file);
}

void cuda_modules_unload(ndp_dev *dev)
{
    cuda_scope scope;
    if (dev->modules && cuda_enter(dev, &scope) == NDP_OK) {
        for (int i = 0; i < CUDA_MODULES; i++)
            if (dev->modules[i].module)
                cu.cuModuleUnload(dev->modules[i].module);
        cuda_leave(&scope);
    }
    if (dev->conditions && cuda_enter(dev, &scope) == NDP_OK) {
        cu.cuModuleUnload(dev->conditions);
        cuda_leave(&scope);
    }
    dev->conditions = NULL;
    free(dev->modules);
    dev->modules = NULL;
    atomic_fetch_add(&dev->epoch, 1);
}
