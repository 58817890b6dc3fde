/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The reserve of a pool of page-locked memory: one slab, cut from its beginning. What was cut stays
 * a block of its size. */
#include <stdlib.h>
#include "core/memory/pinned/pinned.h"

nd_pinned_block *nd__pinned_cut(nd_pinned_pool *p, uint64_t n)
{
    if (!p->slab || n > p->slab_size - p->slab_used)
        return NULL;
    nd_pinned_block *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->in_slab = true;
    b->base.mem = p->slab;
    b->base.offset = p->slab_used;
    b->base.host = p->slab_host + p->slab_used;
    b->base.nbytes = n;
    p->slab_used += n;
    return b;
}

void nd__pinned_reserve(nd_pinned_pool *p)
{
    uint64_t size = nd__conf()->pinned_reserve;
    ndp_mem *mem = NULL;
    void *host = NULL;
    pthread_mutex_lock(&p->lock);
    bool first = size && !p->slab_tried;
    p->slab_tried |= first;
    pthread_mutex_unlock(&p->lock);
    if (!first)
        return;
    if (nd__page_lock(p, size, &mem, &host) != ND_OK) {
        nd__log(ND_LOG_WARN, "pinned_reserve: %s", nd_last_error()->message);
        return;
    }
    pthread_mutex_lock(&p->lock);
    p->slab = mem;
    p->slab_host = host;
    p->slab_size = size;
    p->slab_used = 0;
    pthread_mutex_unlock(&p->lock);
}

static bool slab_idle(nd_pinned_pool *p)
{
    uint64_t kept = 0;
    for (int k = 0; k < ND_PINNED_BINS; k++)
        for (const nd_pinned_block *b = p->bins[k]; b; b = b->next)
            kept += b->in_slab ? b->base.nbytes : 0;
    return p->slab && kept == p->slab_used;
}

void nd__pinned_drop_reserve(nd_pinned_pool *p)
{
    nd_pinned_block *drop = NULL, *next;
    ndp_mem *slab = NULL;
    uint64_t size = 0;
    pthread_mutex_lock(&p->lock);
    if (slab_idle(p)) {
        slab = p->slab;
        size = p->slab_size;
        p->slab = NULL;
        drop = nd__pinned_gather(p, true);
        p->slab_tried = false;
    }
    pthread_mutex_unlock(&p->lock);
    for (; drop; drop = next) {
        next = drop->next;
        free(drop);
    }
    if (slab)
        nd__page_unlock(p, slab, size);
}
