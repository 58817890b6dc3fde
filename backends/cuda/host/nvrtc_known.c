/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Which NVRTC there is, without opening it: its version and architectures are part of the keys of
 * compiled kernels, and opening it takes longer than all else where a kernel comes from its file. So
 * they are kept in the kernel cache, beside the library's file as it was then. A note whose file has
 * changed is followed by the note that names it as its forerunner. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "host/nvrtc.h"

enum { MOST_NOTES = 8, TEXT = sizeof(cuda_nvrtc_known) + 2048 };

static cuda_nvrtc_known known;
static int is_known;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int same_file(const cuda_nvrtc_known *k)
{
    struct stat st;
    return k->path[0] && stat(k->path, &st) == 0 && (uint64_t)st.st_size == k->nbytes &&
           (uint64_t)st.st_ino == k->inode && (int64_t)st.st_mtim.tv_sec == k->seconds &&
           (int64_t)st.st_mtim.tv_nsec == k->nanoseconds;
}

/* Called by the kernel cache where it has no such note: the struct itself, since only this version of
 * the plug-in reads it. */
static int32_t make_note(void *fresh, ndh_compiled *out)
{
    cuda_nvrtc_known *k = fresh;
    int32_t status = cuda_nvrtc_describe(k);
    if (status != NDP_OK)
        return status;
    out->code = cuda_host->alloc(cuda_host->ctx, sizeof *k, 16);
    if (!out->code)
        return cuda_error(NDP_ERR_MEMORY, "no host memory for a note about NVRTC");
    memcpy(out->code, k, sizeof *k);
    out->nbytes = sizeof *k;
    return NDP_OK;
}

static int32_t read_note(const ndh_kernel_1 *cache, const char *source, cuda_nvrtc_known *out,
                         int *fresh)
{
    const char *folders = getenv("LD_LIBRARY_PATH");
    const ndh_kernel_key key = {.size = sizeof key,
                                .source = source,
                                .options = folders ? folders : "",
                                .arch = "",
                                .compiler = "",
                                .library = "ndock-cuda " PACKAGE_VERSION};
    cuda_nvrtc_known made = {.path = ""};
    ndh_code *kept = NULL;
    const void *code = NULL;
    uint64_t nbytes = 0;
    int32_t status =
        cache->get(cuda_host->ctx, &key, NDH_KERNEL_RETRY, make_note, &made, &kept, &code, &nbytes);
    if (status != NDP_OK)
        return status;
    *fresh = made.version[0] != 0;
    memset(out, 0, sizeof *out);
    if (nbytes == sizeof *out)
        memcpy(out, code, sizeof *out);
    cache->release(cuda_host->ctx, kept);
    return NDP_OK;
}

static int32_t find(const ndh_kernel_1 *cache, cuda_nvrtc_known *out)
{
    char source[TEXT] = "which NVRTC";
    for (int i = 0, fresh = 0; i < MOST_NOTES; i++) {
        int32_t status = read_note(cache, source, out, &fresh);
        if (status != NDP_OK || fresh || same_file(out))
            return status;
        snprintf(source, sizeof source, "which NVRTC after %s %llu %llu %lld.%lld", out->path,
                 (unsigned long long)out->nbytes, (unsigned long long)out->inode,
                 (long long)out->seconds, (long long)out->nanoseconds);
    }
    return cuda_nvrtc_describe(out);
}

int32_t cuda_nvrtc_find(cuda_nvrtc_known *out)
{
    const ndh_kernel_1 *cache = cuda_host->service(cuda_host->ctx, "ndh.kernel/1");
    int32_t status = NDP_OK;
    pthread_mutex_lock(&lock);
    if (!is_known)
        status = cache ? find(cache, &known) : cuda_nvrtc_describe(&known);
    is_known = status == NDP_OK;
    *out = known;
    pthread_mutex_unlock(&lock);
    return status;
}

void cuda_nvrtc_correct(const cuda_nvrtc_known *is)
{
    pthread_mutex_lock(&lock);
    known = *is;
    is_known = 1;
    pthread_mutex_unlock(&lock);
}
