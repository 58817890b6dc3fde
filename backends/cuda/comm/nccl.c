/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * NCCL, opened when a communicator is first wanted: PyTorch's wheels bring it, as does the package
 * libnccl2. */
#include <limits.h>
#include <stdio.h>
#include "comm/comm.h"

enum { LEAST = 21800 }; /* 2.18: ncclCommSplit, and configurations as nccl_config has them */

nccl_functions cuda_nccl;

#define INSTALL                                                                           \
    "install NVIDIA's package libnccl2, or put the folder of libnccl.so.2 (in PyTorch's " \
    "wheels site-packages/nvidia/nccl/lib) into LD_LIBRARY_PATH"

static int version_of(const nccl_functions *f)
{
    int v = 0;
    return f->ncclGetVersion(&v) == NCCL_SUCCESS ? v : 0;
}

static int32_t version_text(const void *table, char *text, size_t n)
{
    const int v = version_of(table);
    snprintf(text, n, "%d.%d.%d", v / 10000, v % 10000 / 100, v % 100);
    return NDP_OK;
}

static int32_t open_library(void)
{
    static const char *const sonames[] = {"libnccl.so.2"};
    static const ndh_symbol symbols[] = {
#define NCCL_FN(name, required, parameters) {#name, offsetof(nccl_functions, name), required},
#include "comm/nccl.def"
    };
    static const ndh_library library = {
        .size = sizeof library,
        .n_sonames = sizeof sonames / sizeof *sonames,
        .n_symbols = sizeof symbols / sizeof *symbols,
        .name = "NCCL",
        .install = INSTALL,
        .sonames = sonames,
        .symbols = symbols,
        .version = version_text,
    };
    int32_t status = cuda_open_library(&library, &cuda_nccl);
    if (status != NDP_OK)
        return status;
    const int v = version_of(&cuda_nccl);
    return v >= LEAST ? NDP_OK
                      : cuda_error(NDP_ERR_UNSUPPORTED,
                                   "NCCL is version %d.%d.%d; communicators need 2.18 or later",
                                   v / 10000, v % 10000 / 100, v % 100);
}

int32_t cuda_nccl_open(void)
{
    static cuda_optional nccl =
        CUDA_OPTIONAL(open_library, NDP_LOG_INFO, NULL); /* who asks says it */
    const int32_t status = cuda_optional_open(&nccl);
    return status == NDP_OK
               ? NDP_OK
               : cuda_error(status, "NCCL (libnccl.so.2, 2.18 or later) cannot be used: " INSTALL);
}

nccl_config cuda_nccl_config(int blocking)
{
    return (nccl_config){.size = sizeof(nccl_config),
                         .magic = 0xcafebeef,
                         .version = LEAST,
                         .blocking = blocking,
                         .cga_cluster_size = INT_MIN, /* NCCL_CONFIG_UNDEF_INT: its own choice */
                         .min_ctas = INT_MIN,
                         .max_ctas = INT_MIN,
                         .split_share = 1};
}

const char *cuda_nccl_result(int r)
{
    static const char *const names[] = {
        "ncclSuccess",         "ncclUnhandledCudaError", "ncclSystemError", "ncclInternalError",
        "ncclInvalidArgument", "ncclInvalidUsage",       "ncclRemoteError", "ncclInProgress"};
    return r >= 0 && r < (int)(sizeof names / sizeof *names) ? names[r] : "an unknown result";
}
