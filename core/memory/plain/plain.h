/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the backends without a cache share: a block is a segment of its own, which goes back when
 * the streams that use it are done with it. */
#ifndef NDOCK_CORE_PLAIN_H
#define NDOCK_CORE_PLAIN_H
#include "core/memory/report/report.h"

typedef struct nd_plain nd_plain;
typedef struct nd_plain_block {
    nd_block base;
    nd_uses uses;
    uint64_t address, segment; /* of the segment; its bytes */
    struct nd_plain_block *prev, *next;
    char tag[ND_TRACE_TEXT];
} nd_plain_block;
/* What each of these backends does in its own way. */
typedef struct {
    size_t record; /* bytes of a block's record, which begins with an nd_plain_block */
    uint64_t zone; /* bytes before a block in its segment; behind it there are at least as many */
    const char *advice; /* for requests in a capture */
    /* Ends a freed block that no stream uses any more and that is in no list, and drops its
     * reference to the backend. Returns whether the device got memory. */
    bool (*finish)(nd_plain *p, nd_plain_block *b);
    /* Gives memory that is kept for later to the device; wait: all of it, whatever that takes.
     * Returns whether there was any. NULL: none is kept. */
    bool (*spare)(nd_plain *p, bool wait);
} nd_plain_way;
struct nd_plain {
    nd_backend base;
    nd_plain_way way;
    pthread_mutex_t lock; /* of what follows; never held while the device allocates or frees */
    nd_memory_stats stats;
    nd_plain_block *live, *pending; /* pending: freed, still used by a stream */
};

/* Larger blocks count as large, as in the caching allocator. */
#define ND_PLAIN_SMALL (UINT64_C(1) << 20)

/* ---- segment.c: memory of the device ---- */
/* Before a request: refuses it in a capture, and finishes pending blocks that are done. */
nd_status nd__plain_ready(nd_plain *p, nd_stream *stream);
/* A block with a segment of its own, not yet entered, by the whole ladder: pending blocks polled,
 * then waited for; free callbacks; the device's other backends emptied; what other threads are
 * about to give waited for; then ND_ERR_MEMORY. */
nd_status nd__plain_take(nd_plain *p, nd_stream *stream, uint64_t nbytes, nd_plain_block **out);
/* The error of a request that nobody could meet; what the backend has is added to s. */
nd_status nd__plain_out_of_memory(nd_plain *p, const nd_stream *stream, nd_shortage s);
/* Gives the segment back, where the device frees in stream order on stream. */
void nd__plain_give_segment(nd_plain *p, nd_plain_block *b, nd_stream *stream);
/* The same with the block's record and its reference to the backend. */
void nd__plain_give(nd_plain *p, nd_plain_block *b, nd_stream *stream);

/* ---- plain.c: the life of blocks ---- */
/* Sets up the record of a backend. */
void nd__plain_init(nd_plain *p, const nd_backend_class *type, const nd_plain_way *way,
                    nd_device *device, const nd_hooks *hooks);
/* Around everything that takes blocks out of the lists and gives them to the device: other threads'
 * requests wait for it rather than be refused. */
void nd__plain_begin(nd_plain *p);
void nd__plain_end(nd_plain *p, bool gave);
/* The block becomes a live one: lists, statistics, trace, tag. */
void nd__plain_enter(nd_plain *p, nd_plain_block *b, nd_stream *stream);
/* The block is freed, whatever still uses it: it is pending, or in no list. */
void nd__plain_drop(nd_plain *p, nd_plain_block *b, bool pending);
/* Counts and traces the end of a block that nothing uses any more. */
void nd__plain_completed(nd_plain *p, nd_plain_block *b);
/* Finishes the pending blocks that are done; wait: waits for them first. Returns whether the device
 * got memory. */
bool nd__plain_reclaim(nd_plain *p, bool wait);
/* Slots of the class, as they are; alloc is in segment.c. */
nd_status nd__plain_alloc(nd_backend *backend, nd_stream *stream, uint64_t nbytes, nd_block **out);
void nd__plain_free(nd_block *block);
nd_status nd__plain_record_stream(nd_block *block, nd_stream *stream);
nd_status nd__plain_record_use(nd_block *block, nd_stream *stream);
nd_status nd__plain_empty_cache(nd_backend *backend);
void nd__plain_stream_gone(nd_backend *backend, nd_stream *stream);
void nd__plain_stats(nd_backend *backend, nd_memory_stats *out);
void nd__plain_reset(nd_backend *backend, bool peak, bool accumulated);
void nd__plain_snapshot(nd_backend *backend, nd_text *segments);
void nd__plain_destroy(nd_backend *backend);
void nd__plain_fork(nd_backend *backend, nd_fork now);
/* Appends one block's segment to a snapshot; state: of the block, ND_BLOCK_. */
void nd__plain_snapshot_block(const nd_plain *p, const nd_plain_block *b, int32_t state,
                              nd_text *segments);

/* single.c: the same over hooks of an allocator of the program's, which it owns from then on. */
nd_status nd__pluggable_create(nd_device *device, const nd_hooks *hooks, nd_allocator *allocator,
                               nd_backend **out);
#endif
