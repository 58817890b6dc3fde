/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The record of a storage. An allocator's block holds one for whoever has the block; what a
 * storage does is in core/array/storage.c. */
#ifndef NDOCK_CORE_STORAGE_H
#define NDOCK_CORE_STORAGE_H
#include "core/stream/tape.h"

typedef struct nd_sharing nd_sharing;
typedef struct nd_storage nd_storage;
struct nd_storage {
    atomic_int refs;
    nd_device *device;
    ndp_mem *mem;
    uint64_t base;           /* where the storage begins in mem, bytes */
    char *host;              /* address of the storage on a host-visible device, else NULL */
    uint64_t used;           /* asked for; what views may reach */
    struct nd_block *block;  /* NULL: foreign memory */
    struct nd_block *pinned; /* on the CPU: page-locked memory of pinned_for; else NULL */
    nd_device *pinned_for;
    _Atomic(nd_event *) pending; /* host memory that a device is still writing to: an event for
                                    each stream that does, the newest first; NULL: none */
    void (*release)(void *ctx);
    void *ctx;
    uint64_t captured_in;          /* id of the capture that it was allocated in; 0: none */
    _Atomic uint64_t kept_by;      /* id of the capture whose graph has kept it last; 0: none */
    _Atomic uint64_t user;         /* id of the stream that used it last; see array/sharing.c */
    _Atomic uint64_t ready;        /* id of the stream that brings imported contents; 0: none */
    _Atomic(nd_sharing *) sharing; /* other streams and strangers; NULL: none */
};

#endif
