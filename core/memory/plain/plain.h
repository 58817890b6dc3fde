/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the backends without a cache share: a block is a segment of its own, which goes back when
 * the streams that use it are done with it. */
#ifndef NDOCK_CORE_PLAIN_H
#define NDOCK_CORE_PLAIN_H
#include "core/memory/memory.h"

/* ---- plain.c ---- */
typedef struct nd_plain_block {
    nd_block base;
    nd_uses uses;
    uint64_t address, segment; /* of the segment; its bytes */
    struct nd_plain_block *prev, *next;
    char tag[ND_TRACE_TEXT];
} nd_plain_block;
typedef struct nd_plain {
    nd_backend base;
    pthread_mutex_t lock; /* of what follows; never held while the device allocates or frees */
    nd_memory_stats stats;
    nd_plain_block *live, *pending; /* pending: freed, still used by a stream */
} nd_plain;
void nd__plain_init(nd_plain *p, const nd_backend_class *type, nd_device *device,
                    const nd_hooks *hooks);
/* Around everything that takes blocks out of the lists and gives them to the device: other threads'
 * requests wait for it rather than be refused. */
void nd__plain_begin(nd_plain *p);
void nd__plain_end(nd_plain *p, bool gave);
/* A segment, by the whole ladder: pending blocks polled, then waited for; free callbacks; the
 * device's other backends emptied; what other threads are about to give waited for; then
 * ND_ERR_MEMORY. reclaim(p, wait) frees what the backend can. */
nd_status nd__plain_segment(nd_plain *p, nd_stream *stream, uint64_t nbytes,
                            bool (*reclaim)(nd_plain *, bool wait), ndp_mem **mem, char **host);
/* Gives the segment back, the block's own memory too, and drops the backend's reference. */
void nd__plain_give(nd_plain *p, nd_plain_block *b);
void nd__plain_give_segment(nd_plain *p, nd_plain_block *b); /* the segment alone */
/* As nd__plain_give, where the device frees in stream order. */
void nd__plain_give_on(nd_plain *p, nd_plain_block *b, nd_stream *stream);
/* The block, with mem, host and sizes set, becomes a live one: lists, statistics, trace, tag. */
void nd__plain_enter(nd_plain *p, nd_plain_block *b, nd_stream *stream);
/* It is freed. True: nothing uses it any more, and it is in no list; else it is pending. */
bool nd__plain_leave(nd_plain *p, nd_plain_block *b);
/* It is freed, whatever still uses it: pending, or in no list. */
void nd__plain_drop(nd_plain *p, nd_plain_block *b, bool pending);
/* Takes the pending blocks that are done (wait: waits for them first) off the list; linked by next.
 */
nd_plain_block *nd__plain_done(nd_plain *p, bool wait);
void nd__plain_completed(nd_plain *p, nd_plain_block *b); /* statistics and trace of its end */
nd_status nd__plain_refuse_capture(nd_plain *p, nd_stream *stream, const char *advice);
/* Slots of the class, as they are. */
nd_status nd__plain_record_stream(nd_block *block, nd_stream *stream);
nd_status nd__plain_record_use(nd_block *block, nd_stream *stream);
void nd__plain_stream_gone(nd_backend *backend, nd_stream *stream);
void nd__plain_stats(nd_backend *backend, nd_memory_stats *out);
void nd__plain_reset(nd_backend *backend, bool peak, bool accumulated);
void nd__plain_snapshot(nd_backend *backend, nd_text *segments);
void nd__plain_destroy(nd_backend *backend);
void nd__plain_fork(nd_backend *backend, nd_fork now);
void nd__plain_snapshot_block(const nd_plain *p, const nd_plain_block *b, int32_t state,
                              nd_text *segments);

/* single.c: the same over hooks of an allocator of the program's, which it owns from then on. */
nd_status nd__pluggable_create(nd_device *device, const nd_hooks *hooks, nd_allocator *allocator,
                               nd_backend **out);
#endif
