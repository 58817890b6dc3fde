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
int32_t cuda_nvrtc_compile(const ndp_dev *dev, const char *name, const char *source,
                           const char *options, cuda_nvrtc_code *out);
/* The same of a source that includes headers. The kernel cache does not look at them: the source must
 * change when they do. */
typedef struct {
    int n;
    const char *const *text, *const *name; /* of each, and what it is included as */
    /* Texts in their place that are enough for this source, sooner compiled; 0: there are none. They
     * are in *room until free(*room). The whole ones are compiled where these do not. */
    int (*shorten)(const char *source, const char **text, char **room);
    int simple; /* a source without loops: most of the optimiser's passes find nothing in it */
} cuda_nvrtc_headers;
int32_t cuda_nvrtc_compile_with(const ndp_dev *dev, const char *name, const char *source,
                                const char *options, const cuda_nvrtc_headers *headers,
                                cuda_nvrtc_code *out);
void cuda_nvrtc_release(cuda_nvrtc_code *code);
/* Into NDOCK_CUDA_DUMP_DIR, where that is set; kind: the file's last part. What cannot be written is
 * only logged. */
void cuda_dump_source(const char *name, const char *kind, const char *source);

/* What of NVRTC is part of kernels' keys, and its file as it is. */
typedef struct {
    char version[64];
    int32_t n_archs, arch[128];
    char path[1024];
    uint64_t nbytes, inode;
    int64_t seconds, nanoseconds; /* of its last change */
} cuda_nvrtc_known;
/* Opens it. */
int32_t cuda_nvrtc_describe(cuda_nvrtc_known *k);
/* nvrtc_known.c: the same, without opening it where the kernel cache remembers the file. */
int32_t cuda_nvrtc_find(cuda_nvrtc_known *out);
/* Another one was opened than was found. */
void cuda_nvrtc_correct(const cuda_nvrtc_known *is);

#endif
