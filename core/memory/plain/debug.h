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

enum { ND_DEBUG_BUCKETS = 1024, ND_MOST_MISTAKES = 1000 };
typedef struct nd_debug {
    nd_plain plain;
    nd_debug_block *table[ND_DEBUG_BUCKETS]; /* every record, by its address; under plain.lock */
    nd_plain_block *kept, *kept_last, *gone, *gone_last; /* oldest first, by next */
    int64_t n_kept, n_gone, n_mistakes;
    nd_text mistakes;
} nd_debug;

/* ---- debug_check.c; all but fill under plain.lock ---- */
/* Writes the pattern to bytes [from, from + n) of the block's segment. */
nd_status nd__debug_fill(const nd_plain *p, const nd_plain_block *b, uint64_t from, uint64_t n,
                         int pattern);
/* Logs and remembers a mistake; b: the block; NULL: none that is known. */
void nd__debug_mistake(nd_debug *d, const nd_plain_block *b, const char *what);
/* Whether the red zones, or for a freed block all of it, are as they should be; a mistake if
 * not. */
void nd__debug_check_zones(nd_debug *d, nd_debug_block *r);
void nd__debug_check_freed(nd_debug *d, nd_debug_block *r);
#endif
