/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Memory that processes share, of the libcuda.so.1 that only pretends: with STUB_CUDA_MEMORY=shared
 * blocks are files in shared memory, whose names are the handles. */
#include <cuda.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#pragma GCC visibility push(default)

int stub_shares(void);
void *stub_share_alloc(size_t nbytes);
int stub_share_free(void *at);

/* What tests read: memory of other processes that is open here. */
int stub_opened;

typedef struct block {
    char name[64], *at;
    size_t nbytes;
    int mine, refs;
    struct block *next;
} block;
static block *blocks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int stub_shares(void)
{
    const char *text = getenv("STUB_CUDA_MEMORY");
    return text && strcmp(text, "shared") == 0;
}

/* Under the lock. */
static block *map(const char *name, size_t nbytes, int mine)
{
    struct stat about;
    const int fd = shm_open(name, O_RDWR | (mine ? O_CREAT | O_EXCL : 0), 0600);
    if (fd < 0 || (mine && ftruncate(fd, (off_t)nbytes) != 0) || fstat(fd, &about) != 0)
        return NULL;
    block *b = calloc(1, sizeof *b);
    snprintf(b->name, sizeof b->name, "%s", name);
    b->nbytes = (size_t)about.st_size;
    b->at = mmap(NULL, b->nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    b->mine = mine;
    b->refs = 1;
    b->next = blocks;
    blocks = b;
    close(fd);
    return b;
}

static block **find(const char *at, const char *name)
{
    block **b = &blocks;
    while (*b &&
           (name ? strcmp((*b)->name, name) != 0 : at < (*b)->at || at >= (*b)->at + (*b)->nbytes))
        b = &(*b)->next;
    return b;
}

/* Under the lock. */
static void unmap(block **at)
{
    block *b = *at;
    *at = b->next;
    munmap(b->at, b->nbytes);
    if (b->mine)
        shm_unlink(b->name);
    free(b);
}

void *stub_share_alloc(size_t nbytes)
{
    static int made;
    char name[64];
    pthread_mutex_lock(&lock);
    snprintf(name, sizeof name, "/ndock-stub-%ld-%d", (long)getpid(), made++);
    block *b = map(name, nbytes, 1);
    pthread_mutex_unlock(&lock);
    return b ? b->at : NULL;
}

int stub_share_free(void *at)
{
    pthread_mutex_lock(&lock);
    block **b = find(at, NULL);
    const int found = *b != NULL;
    if (found)
        unmap(b);
    pthread_mutex_unlock(&lock);
    return found;
}

__attribute__((destructor)) static void end(void)
{
    while (blocks)
        unmap(&blocks);
}

CUresult CUDAAPI cuMemGetAddressRange(CUdeviceptr *base, size_t *nbytes, CUdeviceptr at)
{
    pthread_mutex_lock(&lock);
    const block *b = *find((const char *)(uintptr_t)at, NULL);
    if (b) {
        *base = (CUdeviceptr)(uintptr_t)b->at;
        *nbytes = b->nbytes;
    }
    pthread_mutex_unlock(&lock);
    return b ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuIpcGetMemHandle(CUipcMemHandle *out, CUdeviceptr at)
{
    pthread_mutex_lock(&lock);
    const block *b = *find((const char *)(uintptr_t)at, NULL);
    memset(out, 0, sizeof *out);
    if (b)
        memcpy(out, b->name, sizeof b->name);
    pthread_mutex_unlock(&lock);
    return b ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* As the real one: opened again it is the same address, counted. */
CUresult CUDAAPI cuIpcOpenMemHandle(CUdeviceptr *out, CUipcMemHandle handle, unsigned flags)
{
    char name[sizeof handle];
    memcpy(name, &handle, sizeof name);
    pthread_mutex_lock(&lock);
    block *b = *find(NULL, name);
    if (b)
        b->refs++;
    else
        b = map(name, 0, 0);
    stub_opened += b && flags == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;
    *out = b ? (CUdeviceptr)(uintptr_t)b->at : 0;
    pthread_mutex_unlock(&lock);
    return b ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuIpcCloseMemHandle(CUdeviceptr at)
{
    pthread_mutex_lock(&lock);
    block **b = find((const char *)(uintptr_t)at, NULL);
    const int found = *b != NULL;
    stub_opened -= found;
    if (found && --(*b)->refs == 0)
        unmap(b);
    pthread_mutex_unlock(&lock);
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* What tests read: events of other processes that were opened here. */
int stub_events_opened;

/* Work is done when a call returns: any event will do, but only under its name. */
CUresult CUDAAPI cuIpcGetEventHandle(CUipcEventHandle *out, CUevent e)
{
    (void)e;
    memset(out, 1, sizeof *out);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuIpcOpenEventHandle(CUevent *out, CUipcEventHandle handle)
{
    if (handle.reserved[0] != 1 || handle.reserved[63] != 1)
        return CUDA_ERROR_INVALID_VALUE;
    stub_events_opened++;
    *out = (CUevent)&blocks;
    return CUDA_SUCCESS;
}

/* Of other memory nothing is said. */
CUresult CUDAAPI cuPointerGetAttributes(unsigned n, CUpointer_attribute *which, void **values,
                                        CUdeviceptr at)
{
    pthread_mutex_lock(&lock);
    const block *b = *find((const char *)(uintptr_t)at, NULL);
    for (unsigned i = 0; i < n && b; i++) {
        if (which[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
            *(unsigned *)values[i] = CU_MEMORYTYPE_DEVICE;
        if (which[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
            *(int *)values[i] = 0;
        if (which[i] == CU_POINTER_ATTRIBUTE_DEVICE_POINTER)
            *(CUdeviceptr *)values[i] = at;
        if (which[i] == CU_POINTER_ATTRIBUTE_CONTEXT)
            cuCtxGetCurrent(values[i]);
        if (which[i] == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
            *(CUdeviceptr *)values[i] = (CUdeviceptr)(uintptr_t)b->at;
        if (which[i] == CU_POINTER_ATTRIBUTE_RANGE_SIZE)
            *(size_t *)values[i] = b->nbytes;
    }
    pthread_mutex_unlock(&lock);
    return getenv("STUB_CUDA_WORKS") ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}
