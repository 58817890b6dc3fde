/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Inside the caching allocator. The algorithm is that of PyTorch's native allocator: segments taken
 * from the device are cut into blocks; a request gets the smallest free block of its stream that
 * fits, cut to size; a freed block is joined with its free neighbours.
 *
 * One spin lock guards an allocator. Device calls that may block, callbacks, and dropping streams
 * happen without it. Functions here are called with the lock, but where it says otherwise.
 *
 * The files follow in an order in which each calls only those before it. */
#ifndef NDOCK_CORE_MEMORY_CACHING_H
#define NDOCK_CORE_MEMORY_CACHING_H
#include "core/memory/caching/types.h"

/* ---- gate.c: events to be waited for ---- */
/* A gate at the end of the stream's work so far, with a reference; NULL: the work is done. */
nd_status nd__gate_new(nd_caching *c, nd_stream_queue *queue, nd_gate **out);
/* Drops a reference. */
void nd__gate_put(nd_caching *c, nd_gate *g);
/* Adds a gate to a list, which takes a reference of its own. False: there is no host memory. */
bool nd__gates_add(nd_caching *c, nd_gates **list, nd_gate *g);
/* Moves all gates of a list into another. */
void nd__gates_join(nd_caching *c, nd_gates **into, nd_gates *from);
/* Empties a list. */
void nd__gates_drop(nd_caching *c, nd_gates **list);
/* Makes the request's stream wait for all gates in the list but those of its own. */
nd_status nd__gates_wait(nd_caching *c, const nd_gates *list, const nd_request *r);

/* ---- stream_queue.c: streams, and the end of those that nobody needs ---- */
/* The stream's queue, with a reference; NULL: there is no host memory. */
nd_stream_queue *nd__stream_queue_get(nd_caching *c, nd_stream *stream);
/* A queue that was not there, with a reference; NULL: there is no host memory. */
nd_stream_queue *nd__stream_queue_new(nd_caching *c, nd_stream *stream, uint64_t id);
nd_stream_queue *nd__stream_queue_find(nd_caching *c, uint64_t id); /* NULL: there is none */
/* Drops a reference. */
void nd__stream_queue_put(nd_caching *c, nd_stream_queue *queue);
/* Leaves the lock, then drops the streams and pools that nobody needs any more. */
void nd__caching_bury(nd_caching *c);
/* Leaves the lock. */
static inline void nd__caching_leave(nd_caching *c)
{
    if (c->dead || c->dead_arenas)
        nd__caching_bury(c);
    else
        nd__lock_drop(&c->lock);
}

/* ---- arena.c: which segments serve a request ---- */
extern atomic_int nd__pool_scopes; /* how many are open in the process */
/* The calling thread's latest scope that is still open; NULL: none. Without the lock, as the next
 * three. */
nd_pool_scope *nd__pool_scope_innermost(void);
void nd__pool_scope_enter(nd_pool_scope *s); /* s is the innermost one from now on */
void nd__pool_scope_leave(void);             /* ends the innermost one */
/* Takes the thread's scope of that capture out of the list; NULL: it has none. */
nd_pool_scope *nd__pool_scope_of(const nd_caching *c, uint64_t capture);
/* The arena of the calling thread's innermost scope of this allocator; NULL: none. */
nd_arena *nd__pushed_arena(const nd_caching *c);
/* Sets the request's arena and bin where there are captures or scopes. Without the lock. */
nd_status nd__route_apart(nd_caching *c, nd_request *r);
/* Sets the request's arena and bin. Without the lock. */
static inline nd_status nd__route(nd_caching *c, nd_request *r)
{
    if (atomic_load_explicit(&c->capturing, memory_order_acquire) ||
        atomic_load_explicit(&nd__pool_scopes, memory_order_relaxed))
        return nd__route_apart(c, r);
    r->arena = &c->common;
    r->bin = &r->arena->bin[r->size <= ND_SMALL_SIZE];
    return ND_OK;
}
/* Sets up a zeroed arena with one user. */
void nd__arena_init(nd_arena *a, nd_caching *c);
/* Lets a private arena go if it is unused and empty. */
void nd__arena_forget(nd_caching *c, nd_arena *a);

/* ---- block.c: sizes, finding, cutting, joining ---- */
/* Rounding needs no lock. round_large is round_size without its fast path. */
uint64_t nd__round_large(const nd_conf *conf, uint64_t nbytes);
/* Rounds a request to the size of a block; 0: it is too large. All sizes below 1 MiB have the first
 * interval's divisions. */
static inline uint64_t nd__round_size(const nd_conf *conf, uint64_t nbytes)
{
    if (nbytes < ND_SMALL_SIZE && conf->roundup_power2_divisions[0] <= 1)
        return nbytes <= ND_MIN_BLOCK ? ND_MIN_BLOCK
                                      : (nbytes + ND_MIN_BLOCK - 1) & ~(ND_MIN_BLOCK - 1);
    return nd__round_large(conf, nbytes);
}
/* Rounds up to the next of so many equal steps between two powers of two. */
uint64_t nd__round_divisions(uint64_t nbytes, uint32_t divisions);
/* A record for a block; NULL: there is no host memory. */
nd_piece *nd__piece_new(nd_caching *c);
void nd__piece_drop(nd_caching *c, nd_piece *p); /* keeps the record for a new one */
/* The smallest free block of the stream that may serve the request; NULL: none. */
nd_piece *nd__first_fit(const nd_bin *bin, uint64_t stream, const nd_request *r);
/* Makes a fitting free block of the stream LIVE, else one of a stream that is gone. */
bool nd__find(nd_caching *c, nd_request *r);
/* Cuts the request from a free block (in its tree) and makes it LIVE for the request's stream. May
 * fail, with nothing changed, where the stream has to wait first. */
bool nd__take(nd_caching *c, nd_request *r, nd_piece *p);
/* Ends a block that nobody uses any more and joins it with free neighbours. The whole free
 * block. */
nd_piece *nd__give(nd_caching *c, nd_piece *p);
/* The statistics of a block that is in use no more; and of one that is the request's result now. */
void nd__count_freed(nd_caching *c, const nd_piece *p);
void nd__set_live(nd_caching *c, nd_request *r, nd_piece *p);
/* Makes p, which is in no tree, FREE or UNMAPPED and joins it with neighbours of that state. */
nd_piece *nd__join(nd_caching *c, nd_piece *p, int32_t state);
/* A new record for the first nbytes of p, which keeps the rest; no tree is touched. NULL: there is
 * no host memory. */
nd_piece *nd__cut_front(nd_caching *c, nd_piece *p, uint64_t nbytes);
/* Puts a block into its bin's tree, or takes it out, without statistics. */
void nd__shelve(nd_piece *p);
void nd__unshelve(nd_piece *p);
/* The block of a node of such a tree; NULL of NULL. */
static inline nd_piece *nd__piece_of(nd_tree_node *n)
{
    return n ? (nd_piece *)((char *)n - offsetof(nd_piece, node)) : NULL;
}
static inline bool nd__is_split(const nd_piece *p)
{
    return p->prev || p->next;
}
static inline nd_caching *nd__caching_of(const nd_piece *p)
{
    return (nd_caching *)p->b.backend;
}

/* ---- order.c: blocks that several streams use ---- */
/* Ends a freed block that other streams used, or that was away from its segment's stream. */
void nd__retire(nd_caching *c, nd_piece *p);
/* Frees the blocks whose events have passed. Never waits. */
void nd__process_events(nd_caching *c);
/* Waits for all events of freed blocks. Without the lock. */
nd_status nd__synchronize_events(nd_caching *c);
/* Slots of the class. */
nd_status nd__record_stream(nd_block *b, nd_stream *stream);
nd_status nd__record_use(nd_block *b, nd_stream *stream);

/* ---- magazine.c: small blocks kept per thread; without the lock ---- */
#define ND_MAGAZINE_SIZE UINT64_C(16384)
/* A block of the calling thread's magazine; NULL: none fits. */
nd_piece *nd__magazine_pop(nd_caching *c, const nd_conf *conf, uint64_t nbytes);
/* Keeps a freed block. False: it is not kept. */
bool nd__magazine_push(nd_caching *c, nd_piece *p);
/* Makes the statistics exact before the calling thread does anything else with the allocator. */
void nd__magazine_settle(nd_caching *c);
/* Gives the blocks of all magazines back to the bins; close: nothing is kept from now on. */
void nd__magazines_flush(nd_caching *c, bool close);
void nd__caching_fork(nd_backend *backend, nd_fork now); /* slot of the class */

/* ---- segment.c: their records, lists and counts ---- */
/* A record; page 0: the whole is one free block; else none of it is mapped. NULL: there is no host
 * memory. Without the lock. */
nd_segment *nd__segment_new(nd_caching *c, nd_request *r, ndp_mem *mem, char *host, uint64_t nbytes,
                            uint64_t page);
/* Adds a new segment to the lists and its block to a tree. */
void nd__segment_link(nd_caching *c, nd_segment *s);
/* Ends a segment of which one block is left, in no tree. */
void nd__segment_unlink(nd_caching *c, nd_segment *s);
/* Count bytes that the device gave, or got back. */
void nd__count_mapped(nd_caching *c, nd_segment *s, uint64_t nbytes);
void nd__count_unmapped(nd_caching *c, nd_segment *s, uint64_t nbytes);
/* Makes a BUSY block free again. */
void nd__put_back(nd_caching *c, nd_piece *p);

/* ---- expandable.c: segments that grow page by page; without the lock ---- */
/* Maps memory for the request and makes it LIVE there. False: the device has no room, or an error
 * is in r->status. */
bool nd__expand(nd_caching *c, nd_request *r);
/* Unmaps the whole pages of a BUSY block in no tree, and makes the rest free again. The bytes. */
uint64_t nd__shrink(nd_caching *c, nd_piece *p);

/* ---- steal.c: free blocks of other streams ---- */
/* The stream gets no more work: its free blocks may serve others. Without the lock. */
void nd__stream_queue_gone(nd_caching *c, nd_stream *stream);
/* Takes a free block of another stream of the arena, whose work the request's stream waits for. */
bool nd__steal(nd_caching *c, nd_request *r, nd_arena *arena);

/* ---- reuse.c: blocks that a capture frees ---- */
/* Takes one that other streams of the capture used, if the request's stream comes after them
 * already. */
bool nd__reuse_in_capture(nd_caching *c, nd_request *r);

/* ---- grow.c: more memory for a request; without the lock ---- */
/* Makes the request LIVE in memory that the device gives. False: the device has no room, or an
 * error is in r->status. retry: it is not asked for the first time. */
bool nd__grow(nd_caching *c, nd_request *r, bool retry);

/* ---- release.c: giving unused memory back; without the lock ---- */
/* What to give back: all unused segments and pages of the common arena and of pools that nobody
 * has, but for what the first four fields say. */
typedef struct {
    bool unused_pools;          /* only what is in pools that nobody has */
    nd_piece *only;             /* only this block, which is BUSY and in no tree */
    const nd_request *oversize; /* only as many oversize blocks as this request needs */
    uint64_t collect;           /* only so many bytes of large blocks older than the mean; 0: no */
    bool synchronize;           /* wait for the streams; else what they may use stays */
    bool force;                 /* even if waiting fails */
} nd_giving;
/* Returns the bytes that were given back. */
uint64_t nd__release(nd_caching *c, const nd_giving *which);

/* ---- ladder.c: what happens when nothing fits; without the lock ---- */
nd_status nd__ladder(nd_caching *c, nd_request *r);

/* ---- report.c: statistics and snapshots; slots of the class ---- */
void nd__caching_stats(nd_backend *backend, nd_memory_stats *out);
void nd__caching_reset(nd_backend *backend, bool peak, bool accumulated);
void nd__caching_snapshot(nd_backend *backend, nd_text *segments);

#endif
