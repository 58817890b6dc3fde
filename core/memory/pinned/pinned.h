/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Inside the pinned allocator. */
#ifndef NDOCK_CORE_PINNED_H
#define NDOCK_CORE_PINNED_H
#include "core/memory/memory.h"

#define ND_PINNED_BINS 64 /* by the power of two below the size */

typedef struct nd_pinned_block {
    nd_block base; /* backend NULL; mem is the slab's where in_slab */
    struct nd_pinned_pool *pool;
    nd_uses uses;
    bool in_slab;
    struct nd_registered
        *registered; /* an array over the program's memory; NULL: a block of ours */
    struct nd_pinned_block *next;
} nd_pinned_block;

/* ---- registered.c ---- */
void nd__registered_leave(nd_pinned_block *b); /* the array is gone */
nd_status nd__registered_record(nd_pinned_block *b, nd_stream *stream);

typedef struct nd_pinned_pool {
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
} nd_pinned_pool;
#endif
