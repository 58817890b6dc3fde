/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Stream-ordered allocation by the driver, from a pool of our own per device that keeps what is
 * freed until it is trimmed. */
#include <stdlib.h>
#include "host/backend.h"

static CUresult keep_all(CUmemoryPool pool)
{
    cuuint64_t threshold = UINT64_MAX; /* the default, 0, gives all back at every wait */
    return cu.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
}

static CUresult share(const ndp_dev *dev, CUmemoryPool pool)
{
    CUresult r = CUDA_SUCCESS;
    for (const ndp_dev *d = cuda_next_open(NULL); d && r == CUDA_SUCCESS; d = cuda_next_open(d)) {
        CUmemAccessDesc access = {
            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = (int)d->ordinal},
            .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
        if (d != dev && (atomic_load(&d->peers) >> dev->index & 1))
            r = cu.cuMemPoolSetAccess(pool, &access, 1);
    }
    return r;
}

static CUresult make(const ndp_dev *dev, CUmemoryPool *out)
{
    CUmemPoolProps p = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = (int)dev->ordinal}};
    CUresult r = cu.cuMemPoolCreate(out, &p);
    if (r != CUDA_SUCCESS)
        return r;
    r = keep_all(*out);
    if (r == CUDA_SUCCESS)
        r = share(dev, *out);
    if (r != CUDA_SUCCESS) {
        cu.cuMemPoolDestroy(*out);
        *out = NULL;
    }
    return r;
}

static int32_t pool_of(ndp_dev *dev, CUmemoryPool *out)
{
    CUresult r = CUDA_SUCCESS;
    pthread_mutex_lock(&dev->lock);
    if (!dev->pool)
        r = make(dev, &dev->pool);
    *out = dev->pool;
    pthread_mutex_unlock(&dev->lock);
    return cuda_fail(r, "making a memory pool of cuda:%u", dev->index);
}

/* What the pool keeps in pieces may fit when it has given them back. */
static CUresult take(CUmemoryPool pool, CUstream stream, uint64_t nbytes, CUdeviceptr *out)
{
    CUresult r = cu.cuMemAllocFromPoolAsync(out, nbytes, pool, stream);
    if (r != CUDA_ERROR_OUT_OF_MEMORY)
        return r;
    cu.cuMemPoolTrimTo(pool, 0);
    return cu.cuMemAllocFromPoolAsync(out, nbytes, pool, stream);
}

static int32_t pool_alloc(ndp_dev *dev, ndp_stream *s, uint64_t nbytes, ndp_mem **out)
{
    cuda_scope scope;
    CUmemoryPool pool;
    CUdeviceptr base = 0;
    *out = NULL;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    status = pool_of(dev, &pool);
    if (status == NDP_OK)
        status = cuda_fail(take(pool, cuda_stream(dev, s), nbytes, &base),
                           "allocating %llu bytes from the pool of cuda:%u",
                           (unsigned long long)nbytes, dev->index);
    if (status == NDP_OK && (status = cuda_mem_new(base, nbytes, CUDA_MEM_POOL, out)) != NDP_OK)
        cu.cuMemFreeAsync(base, cuda_stream(dev, s));
    cuda_leave(&scope);
    return status;
}

static void pool_free(ndp_dev *dev, ndp_stream *s, ndp_mem *m)
{
    cuda_scope scope;
    if (m && cuda_enter(dev, &scope) == NDP_OK) {
        cu.cuMemFreeAsync(m->base, cuda_stream(dev, s));
        cuda_leave(&scope);
    }
    free(m);
}

static int32_t pool_trim(ndp_dev *dev, uint64_t keep_bytes)
{
    cuda_scope scope;
    CUmemoryPool pool;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    status = pool_of(dev, &pool);
    if (status == NDP_OK)
        status = cuda_fail(cu.cuMemPoolTrimTo(pool, keep_bytes), "trimming the pool of cuda:%u",
                           dev->index);
    cuda_leave(&scope);
    return status;
}

static int32_t pool_usage(ndp_dev *dev, uint64_t *used_bytes, uint64_t *reserved_bytes)
{
    cuda_scope scope;
    CUmemoryPool pool;
    cuuint64_t used = 0, reserved = 0;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    status = pool_of(dev, &pool);
    if (status == NDP_OK) {
        CUresult r = cu.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used);
        if (r == CUDA_SUCCESS)
            r = cu.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved);
        status = cuda_fail(r, "asking for the usage of the pool of cuda:%u", dev->index);
    }
    cuda_leave(&scope);
    *used_bytes = used;
    *reserved_bytes = reserved;
    return status;
}

CUresult cuda_pool_share(ndp_dev *dev)
{
    pthread_mutex_lock(&dev->lock);
    CUresult r = dev->pool ? share(dev, dev->pool) : CUDA_SUCCESS;
    pthread_mutex_unlock(&dev->lock);
    return r;
}

void cuda_pool_close(ndp_dev *dev)
{
    cuda_scope scope;
    if (dev->pool && cuda_enter(dev, &scope) == NDP_OK) {
        cu.cuMemPoolDestroy(dev->pool);
        cuda_leave(&scope);
    }
    dev->pool = NULL;
}

const ndp_pool_1 cuda_pool_group = {.size = sizeof(ndp_pool_1),
                                    .alloc = pool_alloc,
                                    .free = pool_free,
                                    .trim = pool_trim,
                                    .usage = pool_usage};
