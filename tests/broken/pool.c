/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The pool: blocks at once, freed in the order of a stream. */
#include "device.h"

static void count(ndp_dev *dev, uint64_t more, uint64_t less)
{
    pthread_mutex_lock(&lock);
    dev->used += more - (broken(break_pool) ? 0 : less);
    pthread_mutex_unlock(&lock);
}

static ndp_mem *spare; /* by break_pool_order: the next to be allocated, by whatever stream */

static int32_t pool_alloc(ndp_dev *dev, ndp_stream *s, uint64_t nbytes, ndp_mem **out)
{
    (void)s;
    *out = spare && spare->nbytes == nbytes ? spare : NULL;
    int32_t status = *out ? NDP_OK : mem_alloc(dev, nbytes, out);
    spare = NULL;
    if (status == NDP_OK)
        count(dev, (*out)->nbytes, 0);
    return status;
}

static void pool_free(ndp_dev *dev, ndp_stream *s, ndp_mem *mem)
{
    count(dev, 0, mem->nbytes);
    if (broken(break_pool_order)) {
        spare = mem;
        return;
    }
    if (submit(dev, s, &(job){.kind = JOB_FREE, .mem = mem}, false) != NDP_OK) {
        (void)stream_sync(dev, s);
        mem_free(dev, mem);
    }
}

static int32_t trim(ndp_dev *dev, uint64_t keep_bytes)
{
    (void)dev;
    (void)keep_bytes;
    return NDP_OK; /* nothing is kept */
}

static int32_t usage(ndp_dev *dev, uint64_t *used_bytes, uint64_t *reserved_bytes)
{
    pthread_mutex_lock(&lock);
    *used_bytes = *reserved_bytes = dev->used;
    pthread_mutex_unlock(&lock);
    return NDP_OK;
}

const ndp_pool_1 pool_group = {.size = sizeof(ndp_pool_1),
                               .alloc = pool_alloc,
                               .free = pool_free,
                               .trim = broken_table(break_groups_null) ? NULL : trim,
                               .usage = usage};
