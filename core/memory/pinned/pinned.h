/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Inside page-locked memory: pools of blocks, one a device, and memory of the program's own that is
 * registered. */
#ifndef NDOCK_CORE_PINNED_H
#define NDOCK_CORE_PINNED_H
#include "core/memory/conf/settings.h"

#define ND_PINNED_BINS 64 /* a bin for each power of two below the size */

struct nd_registered;
typedef struct nd_pinned_pool nd_pinned_pool;
typedef struct nd_pinned_block {
    nd_block base; /* backend is NULL; mem is the slab's if in_slab */
    nd_pinned_pool *pool;
    nd_uses uses;
    bool in_slab;
    struct nd_registered
        *registered; /* of an array over the program's memory; NULL: a block of the pool */
    struct nd_pinned_block *next;
} nd_pinned_block;

struct nd_pinned_pool {
    nd_device *device;
    nd_hooks hooks;
    _Atomic uint64_t cap; /* 0: the settings', else the default */
    pthread_mutex_t lock; /* of what follows; never held while the device pins or frees */
    pthread_cond_t freed;
    nd_pinned_block *bins[ND_PINNED_BINS], *pending;
    ndp_mem *slab;
    char *slab_host;
    uint64_t slab_size, slab_used;
    bool slab_tried, polled;
    nd_memory_stat bytes, blocks, owned;
    int64_t num_alloc, num_free, alloc_us, free_us;
    struct nd_pinned_pool *next;
};

/* ---- pool.c ---- */
nd_status nd__pinned_pool(nd_device *device, nd_pinned_pool **out); /* the device's */
/* Take memory of the device, within the cap, and give it back. Under no lock. */
nd_status nd__page_lock(nd_pinned_pool *p, uint64_t nbytes, ndp_mem **mem, void **host);
void nd__page_unlock(nd_pinned_pool *p, ndp_mem *mem, uint64_t nbytes);
/* Takes the pool's lock, once the blocks that are done are among those kept. */
void nd__pinned_poll(nd_pinned_pool *p);
/* Keeps blocks that are in no list, linked by next, for later requests; leaves the lock taken. */
void nd__pinned_settle(nd_pinned_pool *p, nd_pinned_block *done);
/* Under the lock: the smallest kept block for n bytes; NULL: none. */
nd_pinned_block *nd__pinned_take_kept(nd_pinned_pool *p, uint64_t n);
/* Under the lock: takes all kept blocks of the slab, or all others; linked by next. */
nd_pinned_block *nd__pinned_gather(nd_pinned_pool *p, bool in_slab);
/* Under the lock: starts a thread that looks after the pending blocks, if the settings want
 * that. */
void nd__pinned_start_poller(nd_pinned_pool *p);

/* ---- reserve.c ---- */
/* Takes the reserve, once. A device that cannot give it all at once gives none. */
void nd__pinned_reserve(nd_pinned_pool *p);
/* Under the lock: a new block of the slab; NULL: there is no room. */
nd_pinned_block *nd__pinned_cut(nd_pinned_pool *p, uint64_t n);
/* Gives the slab back if no block of it is in use or pending. */
void nd__pinned_drop_reserve(nd_pinned_pool *p);

/* ---- registered.c ---- */
void nd__registered_leave(nd_pinned_block *b); /* the array's end */
nd_status nd__registered_record(nd_pinned_block *b, nd_stream *stream);
#endif
