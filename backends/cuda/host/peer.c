/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Two devices: copies between them, and kernels of one that use the memory of the other. The latter
 * is switched on for an ordered pair only after bytes have been seen to arrive unharmed, since on
 * some machines (IOMMU, no NVLink) the driver promises what the bus does not keep. */
#include <stdlib.h>
#include <string.h>
#include "host/backend.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* one pair is tested at a time */
static uint64_t unsound[CUDA_MAX_DEVICES]; /* bit j of i: i did not reach j unharmed */

static int32_t copy(ndp_dev *from, ndp_stream *s, ndp_mem *src, uint64_t src_offset, ndp_dev *to,
                    ndp_mem *dst, uint64_t dst_offset, uint64_t nbytes)
{
    cuda_scope scope;
    if (nbytes == 0)
        return NDP_OK;
    int32_t status = cuda_enter(from, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuMemcpyPeerAsync(dst->base + dst_offset, to->context, src->base + src_offset,
                                      from->context, nbytes, cuda_stream(from, s));
    cuda_leave(&scope);
    return cuda_fail(r, "copying %llu bytes from cuda:%u to cuda:%u", (unsigned long long)nbytes,
                     from->index, to->index);
}

static int32_t can_access(ndp_dev *dev, ndp_dev *peer, int32_t *yes)
{
    int can = 0;
    CUresult r =
        dev == peer ? CUDA_SUCCESS : cu.cuDeviceCanAccessPeer(&can, dev->ordinal, peer->ordinal);
    *yes = dev == peer || (can && !(unsound[dev->index] >> peer->index & 1));
    return cuda_fail(r, "asking whether cuda:%u reaches cuda:%u", dev->index, peer->index);
}

/* ---- the self-test ---- */
enum { SMALL_TEST = 64 << 10, LARGE_TEST = 64 << 20 };

/* What has to arrive: every word tells its place. */
static uint64_t word(uint64_t i)
{
    return (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static int is_unharmed(const uint64_t *p, size_t nbytes)
{
    for (size_t i = 0; i < nbytes / sizeof *p; i++)
        if (p[i] != word(i))
            return 0;
    return 1;
}

/* By dev itself, through its own way to the peer's memory. */
static int32_t move(ndp_dev *dev, CUdeviceptr dst, CUdeviceptr src, size_t nbytes)
{
    cuda_scope scope;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuMemcpyAsync(dst, src, nbytes, cuda_stream(dev, NULL));
    if (r == CUDA_SUCCESS)
        r = cu.cuStreamSynchronize(dev->own.handle);
    cuda_leave(&scope);
    return cuda_fail(r, "testing peer access of cuda:%u", dev->index);
}

static int32_t test_bytes(ndp_dev *dev, ndp_mem *mine, ndp_dev *peer, ndp_mem *theirs,
                          uint64_t *host, size_t nbytes, int *good)
{
    for (size_t i = 0; i < nbytes / sizeof *host; i++)
        host[i] = word(i);
    int32_t status = cuda_write(dev, NULL, mine, 0, host, nbytes);
    if (status == NDP_OK)
        status = move(dev, theirs->base, mine->base, nbytes);
    memset(host, 0, nbytes);
    if (status == NDP_OK)
        status = cuda_read(peer, NULL, theirs, 0, host, nbytes);
    *good = status == NDP_OK && is_unharmed(host, nbytes);
    memset(host, 0, nbytes);
    if (*good)
        status = cuda_write(dev, NULL, mine, 0, host, nbytes);
    if (*good && status == NDP_OK)
        status = move(dev, mine->base, theirs->base, nbytes);
    if (*good && status == NDP_OK)
        status = cuda_read(dev, NULL, mine, 0, host, nbytes);
    *good = *good && status == NDP_OK && is_unharmed(host, nbytes);
    return status;
}

static int32_t self_test(ndp_dev *dev, ndp_dev *peer, int *good)
{
    ndp_mem *mine = NULL, *theirs = NULL;
    uint64_t *host = malloc(LARGE_TEST);
    *good = 0;
    int32_t status =
        host ? NDP_OK : cuda_error(NDP_ERR_MEMORY, "no %d bytes to test peer access", LARGE_TEST);
    if (status == NDP_OK)
        status = cuda_alloc(dev, LARGE_TEST, &mine);
    if (status == NDP_OK)
        status = cuda_alloc(peer, LARGE_TEST, &theirs);
    if (status == NDP_OK)
        status = test_bytes(dev, mine, peer, theirs, host, SMALL_TEST, good);
    if (status == NDP_OK && *good)
        status = test_bytes(dev, mine, peer, theirs, host, LARGE_TEST, good);
    cuda_free(dev, mine);
    cuda_free(peer, theirs);
    free(host);
    return status;
}

/* ---- switching it on ---- */
/* On: it may be on already, by somebody else. */
static int32_t set_context_access(ndp_dev *dev, const ndp_dev *peer, int on)
{
    cuda_scope scope;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r =
        on ? cu.cuCtxEnablePeerAccess(peer->context, 0) : cu.cuCtxDisablePeerAccess(peer->context);
    if (on && r == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
        r = CUDA_SUCCESS;
    cuda_leave(&scope);
    return cuda_fail(r, "switching the access of cuda:%u to cuda:%u %s", dev->index, peer->index,
                     on ? "on" : "off");
}

static int32_t unsound_pair(ndp_dev *dev, const ndp_dev *peer)
{
    unsound[dev->index] |= (uint64_t)1 << peer->index;
    (void)set_context_access(dev, peer, 0);
    return cuda_error(NDP_ERR_UNSUPPORTED,
                      "the access of cuda:%u to the memory of cuda:%u stays off: a self-test read "
                      "back other bytes than were written; look at the machine's IOMMU and ACS "
                      "settings. Copies between the two are not affected",
                      dev->index, peer->index);
}

/* Memory of pools and of reserved addresses is no part of a context's peer access. */
static int32_t share_rest(ndp_dev *dev, ndp_dev *peer)
{
    cuda_scope scope;
    atomic_fetch_or(&dev->peers, (uint64_t)1 << peer->index);
    int32_t status = cuda_enter(peer, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cuda_pool_share(peer);
    if (r == CUDA_SUCCESS)
        r = cuda_ranges_share(peer);
    if (r != CUDA_SUCCESS)
        atomic_fetch_and(&dev->peers, ~((uint64_t)1 << peer->index));
    cuda_leave(&scope);
    return cuda_fail(r, "giving cuda:%u access to the memory of cuda:%u", dev->index, peer->index);
}

static int32_t enable_pair(ndp_dev *dev, ndp_dev *peer)
{
    int32_t can = 0;
    int good = 0;
    if (atomic_load(&dev->peers) >> peer->index & 1)
        return NDP_OK;
    if (unsound[dev->index] >> peer->index & 1)
        return unsound_pair(dev, peer);
    int32_t status = can_access(dev, peer, &can);
    if (status != NDP_OK)
        return status;
    if (!can)
        return cuda_error(NDP_ERR_UNSUPPORTED,
                          "cuda:%u cannot use the memory of cuda:%u directly; copies work",
                          dev->index, peer->index);
    status = set_context_access(dev, peer, 1);
    if (status == NDP_OK)
        status = self_test(dev, peer, &good);
    if (status != NDP_OK)
        return status;
    return good ? share_rest(dev, peer) : unsound_pair(dev, peer);
}

static int32_t enable(ndp_dev *dev, ndp_dev *peer)
{
    if (dev == peer)
        return NDP_OK;
    pthread_mutex_lock(&lock);
    int32_t status = enable_pair(dev, peer);
    pthread_mutex_unlock(&lock);
    return status;
}

const ndp_peer_1 cuda_peer_group = {
    .size = sizeof(ndp_peer_1), .copy = copy, .can_access = can_access, .enable = enable};
