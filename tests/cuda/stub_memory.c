/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Memory of the libcuda.so.1 that only pretends: addresses alone, or with STUB_CUDA_MEMORY=1 memory
 * of the host, whose copies are done when the call returns. STUB_HARM=n: the n-th copy within a
 * device or to a peer arrives with one bit changed. */
#include <cuda.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#pragma GCC visibility push(default)

/* What tests read: blocks of pinned memory by the driver, registered and unregistered ones, pages
 * that nobody had touched when they were registered; peers that were switched on and off, moves. */
int stub_pinned, stub_registered, stub_unregistered, stub_untouched;
int stub_peers_on, stub_peers_off, stub_moves;
extern int stub_lost;

static int is_there(void)
{
    return getenv("STUB_CUDA_MEMORY") != NULL;
}

static CUresult said(void)
{
    return getenv("STUB_CUDA_WORKS") ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

CUresult stub_fails(CUresult r);
/* stub_share.c */
int stub_shares(void);
void *stub_share_alloc(size_t nbytes);
int stub_share_free(void *at);

enum { ALIGN = 512 }; /* of a real device's memory, on which libraries rely */

static void *host_memory(size_t nbytes)
{
    return stub_shares() ? stub_share_alloc(nbytes)
                         : aligned_alloc(ALIGN, (nbytes + ALIGN - 1) / ALIGN * ALIGN);
}

CUresult CUDAAPI cuMemAlloc(CUdeviceptr *out, size_t nbytes)
{
    static CUdeviceptr next = (CUdeviceptr)1 << 40;
    if (stub_lost)
        return stub_fails(CUDA_ERROR_ILLEGAL_ADDRESS);
    *out = is_there() ? (CUdeviceptr)(uintptr_t)host_memory(nbytes) : next;
    next += (nbytes + ALIGN - 1) / ALIGN * ALIGN;
    return *out ? said() : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult CUDAAPI cuMemFree(CUdeviceptr at)
{
    if (is_there() && !stub_share_free((void *)(uintptr_t)at))
        free((void *)(uintptr_t)at);
    return said();
}

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr at, unsigned char byte, size_t n, CUstream s)
{
    (void)s;
    if (is_there())
        memset((void *)(uintptr_t)at, byte, n);
    return said();
}

/* ---- words that streams wait for ---- */
CUresult CUDAAPI cuStreamWriteValue32(CUstream s, CUdeviceptr at, cuuint32_t value, unsigned flags)
{
    (void)s;
    (void)flags;
    if (is_there())
        __atomic_store_n((cuuint32_t *)(uintptr_t)at, value, __ATOMIC_SEQ_CST);
    return said();
}

/* Streams of this driver are done when a call returns, so the caller waits: STUB_CUDA_WAITS=1, where
 * another thread writes the word. */
CUresult CUDAAPI cuStreamWaitValue32(CUstream s, CUdeviceptr at, cuuint32_t value, unsigned flags)
{
    const cuuint32_t *word = (const cuuint32_t *)(uintptr_t)at;
    (void)s;
    (void)flags;
    while (getenv("STUB_CUDA_WAITS") && (int)(__atomic_load_n(word, __ATOMIC_SEQ_CST) - value) < 0)
        usleep(20);
    return said();
}

/* ---- pinned ---- */
CUresult CUDAAPI cuMemHostAlloc(void **out, size_t nbytes, unsigned flags)
{
    (void)flags;
    stub_pinned++;
    *out = malloc(nbytes);
    return *out ? said() : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult CUDAAPI cuMemFreeHost(void *at)
{
    free(at);
    return said();
}

CUresult CUDAAPI cuMemHostRegister(void *at, size_t nbytes, unsigned flags)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), n = (nbytes + page - 1) / page;
    unsigned char *resident = malloc(n + 1);
    (void)flags;
    stub_registered++;
    if (resident && mincore(at, nbytes, resident) == 0)
        for (size_t i = 0; i < n; i++)
            stub_untouched += !(resident[i] & 1);
    else
        stub_untouched = -1;
    free(resident);
    return said();
}

CUresult CUDAAPI cuMemHostUnregister(void *at)
{
    (void)at;
    stub_unregistered++;
    return said();
}

CUresult CUDAAPI cuMemHostGetDevicePointer(CUdeviceptr *out, void *at, unsigned flags)
{
    (void)flags;
    *out = (CUdeviceptr)(uintptr_t)at;
    return said();
}

/* ---- copies ---- */
static CUresult copied(void *to, const void *from, size_t nbytes)
{
    if (is_there())
        memcpy(to, from, nbytes);
    return said();
}

CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t nbytes, CUstream s)
{
    (void)s;
    return copied((void *)(uintptr_t)to, from, nbytes);
}

CUresult CUDAAPI cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t nbytes, CUstream s)
{
    (void)s;
    return copied(to, (const void *)(uintptr_t)from, nbytes);
}

/* The last byte is the one that is harmed. */
CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t nbytes, CUstream s)
{
    const char *harm = getenv("STUB_HARM");
    (void)s;
    CUresult r = copied((void *)(uintptr_t)to, (const void *)(uintptr_t)from, nbytes);
    if (++stub_moves == (harm ? atoi(harm) : 0) && is_there() && nbytes)
        ((unsigned char *)(uintptr_t)to)[nbytes - 1] ^= 4;
    return r;
}

CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr to, CUcontext there, CUdeviceptr from,
                                   CUcontext here, size_t nbytes, CUstream s)
{
    (void)there;
    (void)here;
    (void)s;
    return copied((void *)(uintptr_t)to, (const void *)(uintptr_t)from, nbytes);
}

/* ---- peers ---- */
CUresult CUDAAPI cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    (void)device;
    (void)peer;
    *can = is_there();
    return said();
}

CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
    (void)peer;
    (void)flags;
    stub_peers_on++;
    return said();
}

CUresult CUDAAPI cuCtxDisablePeerAccess(CUcontext peer)
{
    (void)peer;
    stub_peers_off++;
    return said();
}
