/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Inside the caching allocator. The algorithm is that of PyTorch's native allocator: segments taken
 * from the device are cut into blocks; a request gets the smallest free block of its stream that
 * fits, cut to size; a freed block is joined with its free neighbours.
 *
 * Files, of which each calls only those before it:
 *
 *   gate.c        events to be waited for          stream_queue.c  streams, unused ones
 *   arena.c       which segments serve a request   block.c    cutting, joining, finding
 *   order.c       blocks that several streams use  magazine.c small blocks kept per thread
 *   segment.c     segments and their counting      expandable.c segments that grow page by page
 *   steal.c       free blocks of other streams     grow.c     more memory for a request
 *   release.c     giving unused memory back        ladder.c   what happens when nothing fits
 *   report.c  statistics, snapshots          caching.c  allocate and free
 *   pool.c        private pools as programs have them
 *
 * One spin lock guards everything but what is said to be atomic. Device calls that may block,
 * callbacks, and dropping streams happen without it. */
#ifndef NDOCK_CORE_MEMORY_CACHING_H
#define NDOCK_CORE_MEMORY_CACHING_H
#include "core/base/lock.h"
#include "core/memory/conf/settings.h"
#include "core/memory/report/report.h"
#include "core/memory/tree.h"

#define ND_MIN_BLOCK UINT64_C(512)
#define ND_SMALL_SIZE (UINT64_C(1) << 20)    /* requests up to here come from small segments ... */
#define ND_SMALL_SEGMENT (UINT64_C(2) << 20) /* ... of this size */
#define ND_ROUND_LARGE (UINT64_C(2) << 20)
#define ND_ORPHAN_ID UINT64_MAX /* stream id of segments whose stream is gone */

typedef struct nd_piece nd_piece;
typedef struct nd_segment nd_segment;
typedef struct nd_arena nd_arena;
typedef struct nd_caching nd_caching;
typedef struct nd_magazine nd_magazine;

/* ---- streams ---- */
/* An event that somebody has to wait for. A later one of the same stream covers it. */
typedef struct nd_gate {
    int32_t refs;
    ndp_event *event;
    uint64_t stream; /* id */
    uint64_t order;  /* counts up */
} nd_gate;
typedef struct nd_gates {
    nd_gate *gate;
    struct nd_gates *next;
} nd_gates;
typedef struct nd_stream_queue nd_stream_queue;
/* A stream recorded on a block: in the block's list while it is live, and in the stream's queue
 * once it is freed, until the event has passed. */
typedef struct nd_recorded {
    nd_stream_queue *queue; /* counted, while in the block's list */
    nd_gate *gate;          /* in the queue: counted ... */
    nd_piece *piece;        /* ... and the block */
    struct nd_recorded *next;
} nd_recorded;
/* A stream as the allocator knows it. Counted by segments, by live blocks away from their
 * segment's stream, by recorded uses and by itself while blocks wait in it. */
struct nd_stream_queue {
    nd_stream *stream; /* held; NULL: the device has no streams, or the queue of orphans */
    uint64_t id;
    int64_t refs;
    bool gone;     /* no work will follow; nothing may be recorded on it ... */
    bool lost;     /* ... and that could not be: nobody can tell when its work is done ... */
    nd_gate *last; /* ... else this is its end, NULL if its work was done by then */
    nd_recorded *head, **tail;
    nd_tree_node node; /* in the tree of queues, by id */
    nd_stream_queue *next_pending, *next_dead;
    bool pending; /* in the list of queues in which blocks wait */
};

/* ---- blocks and segments ---- */
enum {
    ND_PIECE_FREE,     /* in its bin's tree */
    ND_PIECE_LIVE,     /* somebody has it */
    ND_PIECE_PENDING,  /* freed, but a stream may still use it */
    ND_PIECE_UNMAPPED, /* addresses of an expandable segment without memory */
    ND_PIECE_BUSY      /* a device call about it is under way */
};
struct nd_piece {
    nd_block b;
    nd_tree_node node;
    nd_piece *prev, *next; /* neighbours in the segment */
    nd_segment *segment;
    nd_stream_queue *queue; /* LIVE, PENDING: the stream it was allocated on */
    nd_recorded *uses;      /* other streams recorded on it */
    nd_gates *gates;        /* what the next user has to wait for */
    nd_piece *chain;        /* in one list at a time */
    uint64_t born;          /* count of searches when it was freed, for its age */
    int32_t state;
    int32_t events; /* PENDING: its entries in stream queues */
    bool oversize;  /* LIVE: counted as such */
    bool unmapped;  /* BUSY: has no memory yet */
    bool deferred;  /* PENDING: in the list of those with more events to record */
};
/* Free blocks of one size kind. key: stream id, size, address; unmapped: stream id, address. */
typedef struct {
    nd_tree free, unmapped;
    nd_arena *arena;
    int32_t small; /* 1 or 0 */
    uint64_t searches;
    uint64_t donor; /* id of the stream that lent a block last; 0: none yet */
} nd_bin;
/* A private pool, or the pool of everybody else. Counted by its users; without users it is given
 * back as it becomes unused. */
struct nd_arena {
    nd_bin bin[2]; /* large, small */
    uint64_t id;   /* 0: of everybody */
    nd_hooks hooks;
    int32_t users;
    bool use_on_oom, no_split, captured, own_hooks;
    int64_t segments, reserved_bytes;
    nd_arena *next;
};
struct nd_segment {
    ndp_mem *mem;
    char *host;
    uint64_t address, nbytes;
    uint64_t page;   /* of an expandable segment; 0: a plain one */
    uint64_t mapped; /* bytes with memory behind them */
    nd_bin *bin;
    nd_stream_queue *queue; /* whose free blocks these are */
    nd_gate *last;          /* of the stream that went, while nobody else has the segment */
    bool oversize;
    nd_piece *first;
    nd_segment *prev, *next;
};
typedef struct nd_capture {
    uint64_t id;
    nd_pool *pool;   /* held */
    nd_arena *arena; /* the pool's */
    struct nd_capture *next;
} nd_capture;
/* A stretch of a thread's code whose requests a pool serves. */
typedef struct nd_pool_scope {
    nd_pool *pool; /* held */
    const nd_caching *caching;
    nd_arena *arena;
    struct nd_pool_scope *outer; /* of the same thread */
} nd_pool_scope;

struct nd_caching {
    nd_backend backend;
    nd_lock lock;
    bool host_visible;
    bool dying, ending; /* dying: only live blocks remain; ending: none do */
    int32_t freeing;    /* calls of free that give memory to the device after their block is gone */
    bool streams;       /* the device queues work */
    atomic_int capturing;
    bool per_thread; /* magazines are worth it: one order for all streams, memory at hand */
    atomic_bool magazines_closed;
    uint64_t number;                 /* tells backends apart for threads that remember one */
    uint64_t total, cap, max_cached; /* bytes; 0: unknown, none, none */
    int64_t reserved;                /* with what is just being asked for */
    uint64_t refused; /* bytes that the device had not; 0: unknown, as it got some since */
    uint32_t skipped; /* requests that went by it; now and then one asks all the same */
    nd_arena everybody, *arenas; /* private ones, used or not yet empty */
    nd_arena *dead_arenas;
    nd_capture *captures;
    nd_tree queues;
    nd_stream_queue *pending, *dead, *orphan;
    int64_t orphans;    /* segments of the orphan queue */
    nd_piece *deferred; /* freed blocks whose events could not be recorded yet */
    nd_piece *spare;    /* unused headers */
    void *slabs;
    nd_segment *segments;
    uint64_t gate_order;
    nd_magazine *magazines; /* under the registry's lock of magazine.c */
    nd_memory_stats stats;  /* of what is in the bins and of blocks taken from them */
    bool any_oversize;      /* there has been an oversize segment */
};

/* One allocation on its way. */
typedef struct {
    nd_stream *stream;
    uint64_t id; /* of the stream */
    uint64_t requested, size, segment_size;
    nd_arena *arena;
    nd_bin *bin;
    const nd_conf *conf;
    nd_piece *piece;  /* the result: LIVE */
    nd_status status; /* an error other than that nothing fits: give up at once */
    bool in_capture, capped;
} nd_request;

/* ---- gate.c ---- */
nd_status nd__gate_new(nd_caching *c, nd_stream_queue *queue,
                       nd_gate **out); /* NULL: already passed */
void nd__gate_put(nd_caching *c, nd_gate *g);
bool nd__gates_add(nd_caching *c, nd_gates **list, nd_gate *g); /* takes its own reference */
void nd__gates_join(nd_caching *c, nd_gates **into, nd_gates *from);
void nd__gates_drop(nd_caching *c, nd_gates **list);
/* The request's stream waits for everything in the list but itself. */
nd_status nd__gates_wait(nd_caching *c, const nd_gates *list, const nd_request *r);

/* ---- stream_queue.c ---- */
nd_stream_queue *nd__stream_queue_get(nd_caching *c,
                                      nd_stream *stream); /* with a reference; NULL: no memory */
nd_stream_queue *nd__stream_queue_new(nd_caching *c, nd_stream *stream, uint64_t id);
nd_stream_queue *nd__stream_queue_find(nd_caching *c, uint64_t id);
void nd__stream_queue_put(nd_caching *c, nd_stream_queue *queue);
/* Leaves the lock, then drops the streams and pools that nobody needs any more. */
void nd__caching_bury(nd_caching *c);
static inline void nd__caching_leave(nd_caching *c)
{
    if (c->dead || c->dead_arenas)
        nd__caching_bury(c);
    else
        nd__lock_drop(&c->lock);
}

/* ---- arena.c ---- */
extern atomic_int nd__pool_scopes; /* open in the process */
/* The calling thread's latest scope that is still open; NULL: none. */
nd_pool_scope *nd__pool_scope_innermost(void);
void nd__pool_scope_enter(nd_pool_scope *s);
void nd__pool_scope_leave(void); /* the innermost one ends */
/* The arena of the calling thread's innermost scope of this allocator; NULL: none. */
nd_arena *nd__pushed_arena(const nd_caching *c);
nd_status nd__route_apart(nd_caching *c, nd_request *r);
/* Without the lock: sets arena and bin. */
static inline nd_status nd__route(nd_caching *c, nd_request *r)
{
    if (atomic_load_explicit(&c->capturing, memory_order_acquire) ||
        atomic_load_explicit(&nd__pool_scopes, memory_order_relaxed))
        return nd__route_apart(c, r);
    r->arena = &c->everybody;
    r->bin = &r->arena->bin[r->size <= ND_SMALL_SIZE];
    return ND_OK;
}
void nd__arena_init(nd_arena *a, nd_caching *c);
void nd__arena_forget(nd_caching *c, nd_arena *a); /* if it is private, unused and empty */

/* ---- block.c ---- */
uint64_t nd__round_large(const nd_conf *conf, uint64_t nbytes);
/* To the size of a block; 0: too large. All sizes below 1 MiB have the first interval's
 * divisions. */
static inline uint64_t nd__round_size(const nd_conf *conf, uint64_t nbytes)
{
    if (nbytes < ND_SMALL_SIZE && conf->roundup_power2_divisions[0] <= 1)
        return nbytes <= ND_MIN_BLOCK ? ND_MIN_BLOCK
                                      : (nbytes + ND_MIN_BLOCK - 1) & ~(ND_MIN_BLOCK - 1);
    return nd__round_large(conf, nbytes);
}
uint64_t nd__round_divisions(uint64_t nbytes, uint32_t divisions);
nd_piece *nd__piece_new(nd_caching *c); /* NULL: no host memory */
void nd__piece_drop(nd_caching *c, nd_piece *p);
nd_piece *nd__first_fit(const nd_bin *bin, uint64_t stream, const nd_request *r);
/* A fitting free block of the stream, else of streams that are gone; made LIVE. */
bool nd__find(nd_caching *c, nd_request *r);
/* Cuts the request from a free block (in its tree) and makes it LIVE for the request's stream. May
 * fail, with nothing changed, where the stream has to wait first. */
bool nd__take(nd_caching *c, nd_request *r, nd_piece *p);
/* A block nobody uses any more: joins free neighbours. The whole free block. */
nd_piece *nd__give(nd_caching *c, nd_piece *p);
/* The second half of it: p, in no tree, becomes FREE or UNMAPPED and joins neighbours of that
 * state. */
nd_piece *nd__join(nd_caching *c, nd_piece *p, int32_t state);
/* A new header for the first nbytes of p, which keeps the rest; neither's tree is touched. */
nd_piece *nd__cut_front(nd_caching *c, nd_piece *p, uint64_t nbytes);
/* To and from the bin's tree, without statistics. */
void nd__shelve(nd_piece *p);
void nd__unshelve(nd_piece *p);
static inline bool nd__is_split(const nd_piece *p)
{
    return p->prev || p->next;
}
static inline nd_caching *nd__caching_of(const nd_piece *p)
{
    return (nd_caching *)p->b.backend;
}

/* ---- order.c ---- */
void nd__retire(nd_caching *c, nd_piece *p); /* a freed block with other users, or away from home */
void nd__process_events(nd_caching *c);
nd_status nd__synchronize_events(nd_caching *c); /* called without the lock */
nd_status nd__record_stream(nd_block *b, nd_stream *stream);
nd_status nd__record_use(nd_block *b, nd_stream *stream);

/* ---- segment.c ---- */
/* Without the lock: page 0: the whole is one free block; else none of it is mapped. NULL: no host
 * memory. */
nd_segment *nd__segment_new(nd_caching *c, nd_request *r, ndp_mem *mem, char *host, uint64_t nbytes,
                            uint64_t page);
void nd__segment_link(nd_caching *c, nd_segment *s);
void nd__segment_unlink(nd_caching *c, nd_segment *s); /* one block left, in no tree */
void nd__count_mapped(nd_caching *c, nd_segment *s, uint64_t nbytes);
void nd__count_unmapped(nd_caching *c, nd_segment *s, uint64_t nbytes);
void nd__put_back(nd_caching *c, nd_piece *p); /* with the lock: a BUSY block is free again */

/* ---- expandable.c; without the lock ---- */
bool nd__expand(nd_caching *c, nd_request *r);
/* Takes the whole pages out of a BUSY block in no tree; the rest becomes free again. Bytes. */
uint64_t nd__shrink(nd_caching *c, nd_piece *p);

/* ---- steal.c ---- */
void nd__stream_queue_gone(nd_caching *c, nd_stream *stream);
/* Free blocks of other streams of the arena, by waiting for them. */
bool nd__steal(nd_caching *c, nd_request *r, nd_arena *arena);

/* ---- grow.c ---- */
/* Without the lock: a new segment for the request, cut and LIVE; false: the device has no room, or
 * r->status. */
bool nd__grow(nd_caching *c, nd_request *r, bool retry);

/* ---- release.c; called without the lock ---- */
typedef struct {
    bool unused_pools;          /* private pools without users alone; else with the common one */
    nd_piece *only;             /* this one alone, already BUSY and in no tree */
    const nd_request *oversize; /* just enough oversize blocks for this request */
    uint64_t collect;           /* not 0: so many bytes of large blocks older than the mean */
    bool synchronize;           /* wait for the streams; else what they may use stays */
    bool force;                 /* even if waiting fails */
} nd_giving;
uint64_t nd__release(nd_caching *c, const nd_giving *which); /* bytes given back */

/* ---- ladder.c ---- */
nd_status nd__ladder(nd_caching *c, nd_request *r);

/* ---- magazine.c ---- */
#define ND_MAGAZINE_SIZE UINT64_C(16384)
nd_piece *nd__magazine_pop(nd_caching *c, const nd_conf *conf, uint64_t nbytes);
bool nd__magazine_push(nd_caching *c, nd_piece *p);
void nd__magazine_settle(nd_caching *c); /* before the calling thread's other business with c */
/* Back to the bins, with exact statistics; close: no more from now on. */
void nd__magazines_flush(nd_caching *c, bool close);

/* ---- report.c ---- */
void nd__caching_stats(nd_backend *backend, nd_memory_stats *out);
void nd__caching_snapshot(nd_backend *backend, nd_text *segments);
void nd__caching_reset(nd_backend *backend, bool peak, bool accumulated);
void nd__caching_fork(nd_backend *backend, nd_fork now); /* magazine.c */

#endif
