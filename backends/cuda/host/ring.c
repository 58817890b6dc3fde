/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Rings of pinned chunks, one of small and one of large ones per device, made when first wanted.
 * The chunk that was used the longest ago is taken first, and waited for by its event. */
#include <stdlib.h>
#include "host/backend.h"

enum { SMALL_CHUNKS = 16, MOST_CHUNKS = 16 };

typedef struct cuda_ring {
    cuda_chunk chunk[MOST_CHUNKS], *head, *tail; /* free ones from head to tail */
    int n;
    char *memory;
} cuda_ring;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of every ring's list */
static pthread_cond_t given = PTHREAD_COND_INITIALIZER;

static void push(cuda_ring *r, cuda_chunk *c)
{
    c->next = NULL;
    if (r->head)
        r->tail->next = c;
    else
        r->head = c;
    r->tail = c;
}

static void destroy(cuda_ring *r)
{
    for (int i = 0; i < r->n; i++)
        cu.cuEventDestroy(r->chunk[i].done);
    if (r->memory)
        cu.cuMemFreeHost(r->memory);
    free(r);
}

static CUresult fill(cuda_ring *r, size_t chunk_nbytes, int n)
{
    CUresult status =
        cu.cuMemHostAlloc((void **)&r->memory, chunk_nbytes * (size_t)n, CU_MEMHOSTALLOC_PORTABLE);
    for (; status == CUDA_SUCCESS && r->n < n; r->n++) {
        cuda_chunk *c = &r->chunk[r->n];
        c->host = r->memory + chunk_nbytes * (size_t)r->n;
        status = cu.cuEventCreate(&c->done, CU_EVENT_DISABLE_TIMING);
        if (status != CUDA_SUCCESS)
            break;
        push(r, c);
    }
    return status;
}

static int32_t make(const ndp_dev *dev, cuda_ring_kind kind, cuda_ring **out)
{
    cuda_ring *r = calloc(1, sizeof *r);
    if (!r)
        return cuda_error(NDP_ERR_MEMORY, "no host memory for a ring of staging buffers");
    CUresult status = kind == CUDA_RING_SMALL ? fill(r, CUDA_SMALL_CHUNK, SMALL_CHUNKS)
                                              : fill(r, CUDA_LARGE_CHUNK, CUDA_LARGE_CHUNKS);
    if (status != CUDA_SUCCESS) {
        destroy(r);
        return cuda_fail(status, "pinning staging buffers for cuda:%u", dev->index);
    }
    *out = r;
    return NDP_OK;
}

/* The first free chunk; with wait, one that somebody gives back. */
static int32_t pop(ndp_dev *dev, cuda_ring_kind kind, int wait, cuda_chunk **out)
{
    int32_t status = NDP_OK;
    pthread_mutex_lock(&lock);
    if (!dev->rings[kind])
        status = make(dev, kind, &dev->rings[kind]);
    cuda_ring *r = dev->rings[kind];
    while (r && !r->head && wait)
        pthread_cond_wait(&given, &lock);
    *out = r ? r->head : NULL;
    if (*out)
        r->head = (*out)->next;
    pthread_mutex_unlock(&lock);
    return status;
}

static void put_first(ndp_dev *dev, cuda_ring_kind kind, cuda_chunk *c)
{
    pthread_mutex_lock(&lock);
    cuda_ring *r = dev->rings[kind];
    if (!r->head)
        r->tail = c;
    c->next = r->head;
    r->head = c;
    pthread_cond_broadcast(&given);
    pthread_mutex_unlock(&lock);
}

int32_t cuda_ring_take(ndp_dev *dev, cuda_ring_kind kind, int wait, cuda_chunk **out)
{
    int32_t status = pop(dev, kind, wait, out);
    cuda_chunk *c = *out;
    if (!c || !c->used)
        return status;
    CUresult r = wait ? cu.cuEventSynchronize(c->done) : cu.cuEventQuery(c->done);
    if (r == CUDA_SUCCESS) {
        c->used = 0;
        return NDP_OK;
    }
    put_first(dev, kind, c);
    *out = NULL;
    return r == CUDA_ERROR_NOT_READY
               ? NDP_OK
               : cuda_fail(r, "waiting for a staging buffer of cuda:%u", dev->index);
}

CUresult cuda_ring_mark(cuda_chunk *c, CUstream stream)
{
    CUresult r = cu.cuEventRecord(c->done, stream);
    c->used = r == CUDA_SUCCESS;
    return r;
}

CUresult cuda_ring_wait(cuda_chunk *c)
{
    CUresult r = cu.cuEventSynchronize(c->done);
    c->used = r != CUDA_SUCCESS;
    return r;
}

void cuda_ring_give(ndp_dev *dev, cuda_ring_kind kind, cuda_chunk *c)
{
    pthread_mutex_lock(&lock);
    push(dev->rings[kind], c);
    pthread_cond_broadcast(&given);
    pthread_mutex_unlock(&lock);
}

void cuda_rings_close(ndp_dev *dev)
{
    cuda_scope scope;
    int entered = cuda_enter(dev, &scope) == NDP_OK;
    for (int kind = 0; kind < 2; kind++) {
        cuda_ring *r = dev->rings[kind];
        for (int i = 0; r && entered && i < r->n; i++)
            if (r->chunk[i].used)
                cu.cuEventSynchronize(r->chunk[i].done);
        if (r && entered)
            destroy(r);
        dev->rings[kind] = NULL;
    }
    if (entered)
        cuda_leave(&scope);
}
