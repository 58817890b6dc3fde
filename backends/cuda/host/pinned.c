/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Page-locked host memory: by the driver, or (cuda.pinned_use_host_register) ordinary pages that
 * several threads touch and the driver then locks, which is quicker for large blocks. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "host/backend.h"

/* ---- pages of our own ---- */
typedef struct {
    volatile char *at;
    size_t nbytes, page;
} stretch;

static void *touch(void *arg)
{
    const stretch *s = arg;
    for (size_t i = 0; i < s->nbytes; i += s->page)
        s->at[i] = 0;
    return NULL;
}

static void touch_all(char *at, size_t nbytes, int64_t n)
{
    pthread_t thread[CUDA_MOST_REGISTER_THREADS];
    stretch part[CUDA_MOST_REGISTER_THREADS];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t each = (nbytes / (size_t)n / page + 1) * page;
    int64_t used = 0, begun = 0;
    for (size_t from = 0; from < nbytes; from += each, used++)
        part[used] = (stretch){at + from, nbytes - from < each ? nbytes - from : each, page};
    while (begun < used - 1 && pthread_create(&thread[begun], NULL, touch, &part[begun]) == 0)
        begun++;
    for (int64_t i = begun; i < used; i++)
        touch(&part[i]);
    for (int64_t i = 0; i < begun; i++)
        pthread_join(thread[i], NULL);
}

static CUresult pin_pages(size_t nbytes, int64_t threads, void **host)
{
    void *at = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    touch_all(at, nbytes, threads);
    CUresult r = cu.cuMemHostRegister(at, nbytes, CU_MEMHOSTREGISTER_PORTABLE);
    if (r != CUDA_SUCCESS)
        munmap(at, nbytes);
    else
        *host = at;
    return r;
}

/* ---- either kind ---- */
static void release(void *host, size_t nbytes, int registered)
{
    if (!registered) {
        cu.cuMemFreeHost(host);
        return;
    }
    if (cu.cuMemHostUnregister(host) == CUDA_SUCCESS)
        munmap(host, nbytes);
}

static int32_t pin(uint64_t nbytes, const cuda_locking *set, ndp_mem **out, void **host)
{
    CUdeviceptr base = 0;
    CUresult r = set->use_register ? pin_pages(nbytes, set->threads, host)
                                   : cu.cuMemHostAlloc(host, nbytes, CU_MEMHOSTALLOC_PORTABLE);
    if (r != CUDA_SUCCESS) {
        *host = NULL;
        return cuda_fail(r, "pinning %llu bytes of host memory", (unsigned long long)nbytes);
    }
    r = cu.cuMemHostGetDevicePointer(&base, *host, 0);
    int32_t status = cuda_fail(r, "looking for the device's address of pinned memory");
    if (status == NDP_OK)
        status = cuda_mem_new(base, nbytes, CUDA_MEM_PINNED, out);
    if (status != NDP_OK) {
        release(*host, nbytes, set->use_register);
        *host = NULL;
        return status;
    }
    (*out)->host = *host;
    (*out)->extra = set->use_register ? *host : NULL;
    return NDP_OK;
}

int32_t cuda_pin(ndp_dev *dev, uint64_t nbytes, ndp_mem **out, void **host)
{
    cuda_scope scope;
    cuda_locking set;
    *out = NULL;
    *host = NULL;
    int32_t status = cuda_pinned_settings(&set);
    if (status == NDP_OK)
        status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUstreamCaptureMode mode = cuda_capture_relax();
    status = pin(nbytes, &set, out, host);
    cuda_capture_restore(mode);
    cuda_leave(&scope);
    return status;
}

void cuda_unpin(ndp_mem *m)
{
    release(m->host, (size_t)m->nbytes, m->extra != NULL);
}

/* ---- the program's own pages ---- */
static int32_t lend(void *host, uint64_t nbytes, ndp_mem **out)
{
    CUdeviceptr base = 0;
    CUresult r = cu.cuMemHostRegister(host, nbytes, CU_MEMHOSTREGISTER_PORTABLE);
    if (r == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
        return cuda_error(NDP_ERR_ARGUMENT, "some of the %llu bytes at %p are page-locked already",
                          (unsigned long long)nbytes, host);
    if (r != CUDA_SUCCESS)
        return cuda_fail(r, "page-locking the %llu bytes at %p", (unsigned long long)nbytes, host);
    r = cu.cuMemHostGetDevicePointer(&base, host, 0);
    int32_t status = cuda_fail(r, "looking for the device's address of pinned memory");
    if (status == NDP_OK)
        status = cuda_mem_new(base, nbytes, CUDA_MEM_LENT, out);
    if (status != NDP_OK)
        cu.cuMemHostUnregister(host);
    else
        (*out)->host = host;
    return status;
}

int32_t cuda_register_host(ndp_dev *dev, void *host, uint64_t nbytes, ndp_mem **out)
{
    cuda_scope scope;
    *out = NULL;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUstreamCaptureMode mode = cuda_capture_relax();
    status = lend(host, nbytes, out);
    cuda_capture_restore(mode);
    cuda_leave(&scope);
    return status;
}

/* Addresses that the driver does not know are the host's alone. */
int32_t cuda_is_pinned(ndp_dev *dev, const void *host, int32_t *yes)
{
    unsigned type = 0;
    CUresult r = cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                          (CUdeviceptr)(uintptr_t)host);
    *yes = r == CUDA_SUCCESS && type == CU_MEMORYTYPE_HOST;
    return r == CUDA_ERROR_INVALID_VALUE
               ? NDP_OK
               : cuda_fail(r, "asking cuda:%u about address %p", dev->index, host);
}
