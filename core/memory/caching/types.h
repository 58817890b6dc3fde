/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The records of the caching allocator. */
#ifndef NDOCK_CORE_MEMORY_CACHING_TYPES_H
#define NDOCK_CORE_MEMORY_CACHING_TYPES_H
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
typedef struct nd_stream_queue nd_stream_queue;

/* ---- streams ---- */
/* A gate is an event that somebody has to wait for, counted. A later gate of a stream covers the
 * earlier ones. */
typedef struct nd_gate {
    int32_t refs;
    ndp_event *event;
    uint64_t stream; /* id */
    uint64_t order;  /* later gates have higher numbers */
} nd_gate;
typedef struct nd_gates {
    nd_gate *gate;
    struct nd_gates *next;
} nd_gates;
/* A stream recorded on a block. The record is in the block's list while the block is live, and in
 * the stream's queue once the block is freed, until the gate has passed. */
typedef struct nd_recorded {
    nd_stream_queue *queue; /* counted while the record is in the block's list */
    nd_gate *gate;          /* in the queue: counted ... */
    nd_piece *piece;        /* ... and the block */
    struct nd_recorded *next;
} nd_recorded;
/* A stream as the allocator knows it, with a queue of freed blocks that wait for events of it.
 * Counted by segments, by live blocks that are away from their segment's stream, by streams
 * recorded on live blocks, and by itself while blocks wait. */
struct nd_stream_queue {
    nd_stream *stream; /* held; NULL: the device has no streams, or this is the queue of orphans */
    uint64_t id;
    int64_t refs;
    bool gone;     /* the stream gets no more work, and nothing may be recorded on it */
    bool lost;     /* gone, and nobody can tell when its work is done */
    nd_gate *last; /* gone, and the end of its work; NULL: its work was done by then */
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
/* A block as the allocator has it: a piece of a segment, live or not. */
struct nd_piece {
    nd_block b;
    nd_tree_node node;
    nd_piece *prev, *next; /* neighbours in the segment */
    nd_segment *segment;
    nd_stream_queue *queue; /* LIVE, PENDING: of the stream that it was allocated on */
    nd_recorded *uses;      /* other streams recorded on it */
    nd_gates *gates;        /* what its next user has to wait for */
    nd_piece *chain;        /* in one list at a time */
    uint64_t born;          /* the bin's count of searches when it was freed, which tells its age */
    uint32_t nodes;         /* FREE: how many nodes a capture had when it was freed there, else 0 */
    int32_t state;
    int32_t events; /* PENDING: its records in stream queues */
    bool oversize;  /* LIVE: counted as oversize */
    bool unmapped;  /* BUSY: has no memory yet */
    bool deferred;  /* PENDING: in the list of blocks with more events to record */
};
/* The free blocks of one size kind. Keys are (stream id, size, address), and (stream id, address)
 * of unmapped ones. */
typedef struct {
    nd_tree free, unmapped;
    nd_arena *arena;
    int32_t small; /* 1 or 0 */
    uint64_t searches;
    uint64_t donor; /* id of the stream that lent a block last; 0: none yet */
} nd_bin;
/* The segments of a private pool, or the common ones. Counted by its users; what becomes unused in
 * an arena without users goes back to the device. */
struct nd_arena {
    nd_bin bin[2]; /* large, small */
    uint64_t id;   /* 0: the common one */
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
    nd_stream_queue *queue; /* of the stream whose free blocks these are */
    nd_gate *last;          /* the end of the stream that went; NULL once another has the segment */
    bool oversize;
    nd_piece *first;
    nd_segment *prev, *next;
};

/* ---- pools ---- */
/* A capture under way and the pool that serves its streams. */
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
    uint64_t capture;            /* while the thread's stream is in that one; 0: always */
} nd_pool_scope;

/* ---- the allocator ---- */
struct nd_caching {
    nd_backend backend;
    nd_lock lock; /* of everything but what is atomic or said to be under another */
    bool host_visible;
    bool dying, ending; /* dying: only live blocks remain; ending: none do */
    int32_t freeing;    /* calls of free that give memory to the device after their block is gone */
    bool streams;       /* the device queues work */
    atomic_int capturing;
    bool per_thread; /* magazines are worth it: one order for all streams, memory at hand */
    atomic_bool magazines_closed;
    uint64_t number;                 /* tells allocators apart for threads that remember one */
    uint64_t total, cap, max_cached; /* bytes; 0: unknown, none, none */
    int64_t reserved;                /* bytes taken from the device or being asked for */
    uint64_t refused;         /* bytes that the device lacked; 0: unknown, as it got some since */
    uint32_t skipped;         /* requests that did not ask for that reason; now and then one does */
    nd_arena common, *arenas; /* arenas: private ones, used or not yet empty */
    nd_arena *dead_arenas;
    nd_capture *captures;
    nd_tree queues;
    nd_stream_queue *pending, *dead, *orphan;
    int64_t orphans;    /* segments of the orphan queue */
    nd_piece *deferred; /* freed blocks whose events could not be recorded yet */
    nd_piece *spare;    /* unused records of blocks ... */
    void *slabs;        /* ... and what they are cut from */
    nd_segment *segments;
    uint64_t gate_order;
    nd_magazine *magazines; /* under the registry's lock of magazine.c */
    nd_memory_stats stats;  /* of what is in the bins and of blocks taken from them */
    bool any_oversize;      /* there has been an oversize segment */
};

/* One allocation under way. */
typedef struct {
    nd_stream *stream;
    uint64_t id; /* of the stream */
    uint64_t requested, size, segment_size;
    nd_arena *arena;
    nd_bin *bin;
    const nd_conf *conf;
    nd_piece *piece;  /* the result, LIVE */
    nd_status status; /* an error other than that nothing fits, which ends it at once */
    bool in_capture, capped;
} nd_request;

#endif
