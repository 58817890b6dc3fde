/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * NVRTC, the compiler of CUDA C++ at run time: opened when it is first needed. */
#ifndef NDOCK_CUDA_NVRTC_H
#define NDOCK_CUDA_NVRTC_H
#include "host/backend.h"

/* Code of one compile, in use until cuda_nvrtc_release(). */
typedef struct {
    const void *code;
    uint64_t nbytes;
    ndh_code *kept; /* by the core's kernel cache */
} cuda_nvrtc_code;

/* Compiles a program for the device: machine code for exactly it (sm_90), or PTX where this NVRTC
 * does not know it yet. From the kernel cache where that has it. options are separated by blanks.
 * NDP_ERR_ARGUMENT has the compiler's log; NDP_ERR_UNSUPPORTED: there is no NVRTC. */
int32_t cuda_nvrtc_compile(const ndp_dev *, const char *name, const char *source,
                           const char *options, cuda_nvrtc_code *out);
/* The same of a source that includes headers. The kernel cache does not look at them: the source must
 * change when they do. */
typedef struct {
    int n;
    const char *const *text, *const *name; /* of each, and what it is included as */
    /* Texts in their place that are enough for this source, sooner compiled; 0: there are none. They
     * are in *room until free(*room). The whole ones are compiled where these do not. */
    int (*shorten)(const char *source, const char **text, char **room);
} cuda_nvrtc_headers;
int32_t cuda_nvrtc_compile_with(const ndp_dev *, const char *name, const char *source,
                                const char *options, const cuda_nvrtc_headers *,
                                cuda_nvrtc_code *out);
void cuda_nvrtc_release(cuda_nvrtc_code *);

#endif
