/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Page-locked host memory (C29, C31, P10): blocks by size class, which are kept for the next
 * request and used again when every copy recorded on them is done. */
#include <stdlib.h>
#include "core/memory/pinned/pinned.h"

/* Rounds up to a size class. Classes are eighths of a power of two, so that at most an eighth of a
 * request is added; requests above the threshold of the settings get whole 64 bytes. */
static uint64_t rounded(uint64_t nbytes)
{
    uint64_t exact = nd__conf()->pinned_exact_above, step = 64;
    if (nbytes > 8 * step && (!exact || nbytes <= exact))
        step = (uint64_t)1 << (63 - __builtin_clzll(nbytes) - 3);
    return (nbytes + step - 1) / step * step;
}

static void hand_out(nd_pinned_pool *p, nd_pinned_block *b, uint64_t nbytes)
{
    b->pool = p;
    b->base.requested = nbytes;
    nd__uses_start(&b->uses, NULL); /* the host has it: no stream is its home */
    nd__stat_in(&p->bytes, b->base.nbytes);
    nd__stat_in(&p->blocks, 1);
}

static nd_status fresh(nd_pinned_pool *p, uint64_t n, nd_pinned_block **out)
{
    void *host = NULL;
    nd_pinned_block *b = calloc(1, sizeof *b);
    if (!b)
        return nd__fail(ND_ERR_MEMORY, "pinned", -1, "no %zu bytes for a record", sizeof *b);
    nd_status status = nd__page_lock(p, n, &b->base.mem, &host);
    if (status != ND_OK) {
        free(b);
        return status;
    }
    b->base.host = host;
    b->base.nbytes = n;
    *out = b;
    return ND_OK;
}

static void drop_kept(nd_pinned_pool *p)
{
    nd__pinned_poll(p);
    nd_pinned_block *drop = nd__pinned_gather(p, false), *next;
    pthread_mutex_unlock(&p->lock);
    for (; drop; drop = next) {
        next = drop->next;
        nd__page_unlock(p, drop->base.mem, drop->base.nbytes);
        free(drop);
    }
}

nd_status nd__pinned_alloc(nd_device *device, uint64_t nbytes, nd_block **out)
{
    nd_pinned_pool *p;
    *out = NULL;
    if (!device->map.pin)
        return nd__fail(ND_ERR_UNSUPPORTED, "pinned", -1, "%s has no pinned memory", device->name);
    if (nbytes > UINT64_MAX / 4)
        return nd__fail(ND_ERR_MEMORY, "pinned", -1, "%llu bytes are more than any machine has",
                        (unsigned long long)nbytes);
    ND_RETURN_IF(nd__pinned_pool(device, &p));
    nd__pinned_reserve(p);
    uint64_t n = rounded(nbytes ? nbytes : 1);
    nd_status status = ND_OK;
    nd__pinned_poll(p);
    nd_pinned_block *b = nd__pinned_take_kept(p, n);
    b = b ? b : nd__pinned_cut(p, n);
    pthread_mutex_unlock(&p->lock);
    if (!b && (status = fresh(p, n, &b)) == ND_ERR_MEMORY) {
        drop_kept(p); /* blocks of other sizes may be in the way */
        status = fresh(p, n, &b);
    }
    if (status != ND_OK)
        return status;
    pthread_mutex_lock(&p->lock);
    hand_out(p, b, nbytes);
    pthread_mutex_unlock(&p->lock);
    *out = &b->base;
    return ND_OK;
}

void nd__pinned_free(nd_block *block)
{
    nd_pinned_block *b = (nd_pinned_block *)block;
    nd_pinned_pool *p = b->pool;
    if (b->registered) {
        nd__registered_leave(b);
        return;
    }
    pthread_mutex_lock(&p->lock);
    nd__stat_out(&p->bytes, b->base.nbytes);
    nd__stat_out(&p->blocks, 1);
    if (atomic_load(&p->device->captures) == 0 && nd__uses_done(&b->uses, &p->hooks)) {
        pthread_mutex_unlock(&p->lock);
        b->next = NULL;
        nd__pinned_settle(p, b);
    } else {
        b->next = p->pending;
        p->pending = b;
        nd__pinned_start_poller(p);
        pthread_cond_signal(&p->freed);
    }
    pthread_mutex_unlock(&p->lock);
}

nd_status nd__pinned_record(nd_block *block, nd_stream *stream)
{
    nd_pinned_block *b = (nd_pinned_block *)block;
    if (b->registered)
        return nd__registered_record(b, stream);
    pthread_mutex_lock(&b->pool->lock);
    nd_status status = nd__uses_record(&b->uses, &b->pool->hooks, stream);
    pthread_mutex_unlock(&b->pool->lock);
    return status;
}

nd_status nd_memory_empty_host_cache(nd_device *device)
{
    nd_pinned_pool *p;
    nd_status status;
    device = nd__or_current(device, &status);
    if (status != ND_OK)
        return status;
    ND_RETURN_IF(nd__pinned_pool(device, &p));
    ND_RETURN_IF(nd__refuse_unsafe(device, "memory_empty_host_cache", "end the capture first"));
    drop_kept(p);
    nd__pinned_drop_reserve(p);
    return ND_OK;
}

nd_status nd_memory_pinned_cap_set(nd_device *device, uint64_t nbytes)
{
    nd_pinned_pool *p;
    nd_status status;
    device = nd__or_current(device, &status);
    if (status != ND_OK)
        return status;
    ND_RETURN_IF(nd__pinned_pool(device, &p));
    atomic_store(&p->cap, nbytes);
    return ND_OK;
}

void nd__pinned_stats(nd_device *device, nd_memory_stats *out)
{
    nd_pinned_pool *p;
    if (nd__pinned_pool(device, &p) != ND_OK)
        return;
    pthread_mutex_lock(&p->lock);
    out->pinned_bytes = nd__stat_read(&p->bytes);
    out->pinned_blocks = nd__stat_read(&p->blocks);
    out->pinned_owned_bytes = nd__stat_read(&p->owned);
    out->num_host_alloc = p->num_alloc;
    out->num_host_free = p->num_free;
    out->host_alloc_us = p->alloc_us;
    out->host_free_us = p->free_us;
    pthread_mutex_unlock(&p->lock);
}

void nd__pinned_reset(nd_device *device, bool peak, bool accumulated)
{
    nd_pinned_pool *p;
    if (nd__pinned_pool(device, &p) != ND_OK)
        return;
    pthread_mutex_lock(&p->lock);
    nd_memory_stat *const all[] = {&p->bytes, &p->blocks, &p->owned};
    for (int i = 0; i < 3; i++)
        nd__stat_reset(all[i], peak, accumulated);
    if (accumulated)
        p->num_alloc = p->num_free = p->alloc_us = p->free_us = 0;
    pthread_mutex_unlock(&p->lock);
}
