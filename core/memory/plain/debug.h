/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Inside the debug allocator: patterns in memory, and the mistakes found. */
#ifndef NDOCK_CORE_DEBUG_H
#define NDOCK_CORE_DEBUG_H
#include "core/memory/plain/plain.h"

#define ND_ZONE 512 /* bytes of red zone before a block, and at least as many after it */
enum { ND_FILL_ZONE = 0xFA, ND_FILL_FRESH = 0xCB, ND_FILL_FREED = 0xDB };

typedef struct nd_debug_block {
    nd_plain_block plain;
    int32_t state; /* LIVE, FREED, KEPT, GONE; under the backend's lock */
    bool reported; /* for what happened to it by now */
    struct nd_debug_block *same_hash;
} nd_debug_block;

/* debug_fill.c: bytes [from, from + n) of the block's segment, through the host address if there is
 * one. find: the first byte that is not the pattern, n if all are; *value is it. */
nd_status nd__debug_fill(const nd_plain *p, const nd_plain_block *b, uint64_t from, uint64_t n,
                         int pattern);
nd_status nd__debug_find(const nd_plain *p, const nd_plain_block *b, uint64_t from, uint64_t n,
                         int pattern, uint64_t *at, int *value);
#endif
