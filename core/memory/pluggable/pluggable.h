/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Inside allocators as programs have them: those of the core by name, and the program's own. */
#ifndef NDOCK_CORE_PLUGGABLE_H
#define NDOCK_CORE_PLUGGABLE_H
#include "core/memory/memory.h"

struct nd_allocator {
    atomic_int refs; /* the program's references, and one of each backend and nd_hooks over it */
    int kind;        /* one of the core's own, or ND_KIND_PLUGGABLE */
    nd_allocator_table table; /* of ND_KIND_PLUGGABLE */
    void *ctx;
    pthread_mutex_t lock; /* held while it starts, so that init is called once */
    bool started;
};

/* hooks.c: hooks whose segments come from the allocator; everything else is the device's. They hold
 * the allocator, and are given back when the last segment is. */
nd_status nd__allocator_hooks(nd_allocator *allocator, nd_device *device, nd_hooks *out);
void nd__allocator_hooks_release(nd_hooks *hooks);
/* Tells the allocator that its memory is asked for on behalf of a pool, or no longer, if it wants
 * to know. */
nd_status nd__allocator_pool(nd_allocator *allocator, nd_device *device, uint64_t pool, bool begin);
/* Pass a question on to the allocator. False: it has no function for that. */
bool nd__allocator_record_stream(nd_block *block, nd_stream *stream);
bool nd__allocator_reserved(nd_backend *backend, uint64_t *reserved);
/* Takes or drops the lock of the hooks. */
void nd__allocator_fork(nd_backend *backend, nd_fork now);
#endif
