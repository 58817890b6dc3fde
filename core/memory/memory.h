/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Inside the memory of devices: blocks, who makes them, and what they are made with. Storage
 * (core/array/storage.c) asks a device's nd_backend for blocks; the caching allocator is one
 * backend, and stands on nd_hooks alone, so that it is tested without a device. */
#ifndef NDOCK_CORE_MEMORY_H
#define NDOCK_CORE_MEMORY_H
#include "core/memory/storage.h"

/* The primitives under an allocator, for one device (hooks.c) or a test. stream is NULL only where
 * a device has none. An event is a point on a stream: NULL is a point already passed. Slots from
 * idle on may be NULL. Functions return a status with its detail set; none is called with a lock
 * held but record, query, wait, idle and give_back, which never block. */
typedef struct {
    void *segment_ctx; /* ctx of the first two */
    void *ctx;
    nd_status (*segment_alloc)(
        void *ctx, nd_stream *stream, uint64_t nbytes, ndp_mem **mem,
        char **host); /* host: its address if the host may touch it, else NULL */
    void (*segment_free)(void *ctx, nd_stream *stream, ndp_mem *mem, uint64_t nbytes);
    nd_status (*record)(void *ctx, nd_stream *stream, ndp_event **out);
    nd_status (*query)(void *ctx, ndp_event *event, int32_t *done);
    nd_status (*wait)(void *ctx, nd_stream *stream, ndp_event *event); /* the stream waits */
    nd_status (*synchronize)(void *ctx, ndp_event *event);             /* the host waits */
    void (*give_back)(void *ctx, ndp_event *event);
    uint64_t (*capture_id)(void *ctx,
                           nd_stream *stream); /* of the capture the stream is in; 0: none */
    /* Whether everything queued on the stream is done; false if that cannot be asked now. */
    bool (*idle)(void *ctx, nd_stream *stream);
    nd_status (*usage)(void *ctx, uint64_t *free_bytes, uint64_t *total_bytes);
    nd_status (*granularity)(void *ctx, uint64_t *nbytes);
    nd_status (*reserve)(void *ctx, uint64_t nbytes, ndp_mem **out);
    nd_status (*commit)(void *ctx, ndp_mem *mem, uint64_t offset, uint64_t nbytes);
    nd_status (*set_access)(void *ctx, ndp_mem *mem, uint64_t offset, uint64_t nbytes);
    nd_status (*decommit)(void *ctx, ndp_mem *mem, uint64_t offset, uint64_t nbytes);
    void (*release)(void *ctx, ndp_mem *mem, uint64_t nbytes); /* reserved addresses */
} nd_hooks;

/* A piece of device memory that somebody has. Backends embed it at the start of their own. */
typedef struct nd_backend nd_backend;
typedef struct nd_block {
    nd_backend *backend; /* who frees it; counted by the backend itself */
    ndp_mem *mem;
    uint64_t offset; /* in mem, bytes */
    uint64_t nbytes; /* of the block, rounded */
    uint64_t requested;
    char *host;         /* address of the block, NULL where the host may not touch it */
    nd_storage storage; /* of whoever has the block; backends leave it alone */
} nd_block;

/* calls.c: the threads that are inside the device for an allocator, with memory set aside that
 * others do not find meanwhile. */
typedef struct {
    pthread_mutex_t lock, turn; /* turn: to try again, one thread at a time */
    pthread_cond_t left;
    int32_t inside;
    uint64_t given; /* calls that left memory behind for others */
} nd_calls;
void nd__calls_init(nd_calls *c);
void nd__calls_destroy(nd_calls *c);
void nd__calls_enter(nd_calls *c); /* takes no other lock: under an allocator's as well */
void nd__calls_leave(nd_calls *c, bool gave);
void nd__calls_fork(nd_calls *c, nd_fork now);
/* Makes a request for memory, and again, whenever others gave something meanwhile, until it is
 * answered: make returns true then, and false if memory lacks. Waits for those inside, not for
 * ever. Under no lock. */
void nd__request(nd_calls *c, bool (*make)(void *request, bool again), void *request);

/* uses.c: the streams of a block. The caller serialises calls for one record. */
typedef struct nd_use {
    nd_stream *stream; /* held */
    ndp_event *event;  /* where the stream was; NULL: it has passed, or is not closed yet */
    bool closed;       /* later work on the stream does not count */
    struct nd_use *next;
} nd_use;
typedef struct {
    nd_use home; /* of the stream that the block was allocated on, if any, and first of all */
    int others;  /* behind it */
} nd_uses;
void nd__uses_start(nd_uses *u, nd_stream *home);
/* The stream's work counts until the block is freed, or until now. */
nd_status nd__uses_stream(nd_uses *u, nd_stream *stream);
nd_status nd__uses_record(nd_uses *u, const nd_hooks *hooks, nd_stream *stream);
/* The stream is about to lose its handle: marks where it is now. */
void nd__uses_stream_gone(nd_uses *u, const nd_hooks *hooks, nd_stream *stream);
/* The block is freed: whether all streams are done with it. While one of them is captured that is
 * not known. done never waits; wait waits for them first, but not for one that is captured. */
bool nd__uses_done(nd_uses *u, const nd_hooks *hooks);
bool nd__uses_wait(nd_uses *u, const nd_hooks *hooks);
/* Moves those recorded that have passed to gone, for nd__uses_end; never waits. */
void nd__uses_prune(nd_uses *u, const nd_hooks *hooks, nd_uses *gone);
/* May call the owner of a foreign stream: under no lock. */
void nd__uses_end(nd_uses *u, const nd_hooks *hooks);

/* An allocator backend: one way of making blocks for one device. Any thread may call any of it. */
struct nd_backend {
    const struct nd_backend_class *type;
    nd_device *device; /* NULL in tests of a backend alone */
    nd_hooks hooks;
    nd_calls calls;
    atomic_int refs; /* one of whoever uses it for new blocks; live blocks as the backend likes */
    nd_allocator *allocator; /* whose it is; NULL: the device's own */
    nd_backend *next;        /* of all registered ones; see nd__backends */
};
typedef struct nd_backend_class {
    const char *name;
    nd_status (*alloc)(nd_backend *backend, nd_stream *stream, uint64_t nbytes,
                       nd_block **out); /* nbytes > 0 */
    void (*free)(nd_block *block);      /* waits for nothing, never fails */
    nd_status (*record_stream)(nd_block *block, nd_stream *stream);
    nd_status (*record_use)(nd_block *block, nd_stream *stream);
    nd_status (*empty_cache)(nd_backend *backend);
    void (*stream_gone)(nd_backend *backend,
                        nd_stream *stream); /* it gets no more work; its handle still works */
    void (*stats)(nd_backend *backend, nd_memory_stats *stats);
    void (*reset)(nd_backend *backend, bool peak, bool accumulated);
    /* Appends to the JSON array of segments; see report/snapshot.c for the form. */
    void (*snapshot)(nd_backend *backend, nd_text *segments);
    void (*destroy)(nd_backend *backend); /* refs reached 0; blocks may still be live (caching) */
    void (*fork)(nd_backend *backend,
                 nd_fork now); /* its locks; not of one that others still make */
} nd_backend_class;

/* caching/caching.c: the caching allocator. It outlives its last user while blocks are live.
 * segment_free is called when nothing queued can touch the memory any more. */
nd_status nd__caching_create(nd_device *device, const nd_hooks *hooks, nd_backend **out);
bool nd__is_caching(const nd_backend *backend);
/* For backends that nd__is_caching: the cap in bytes (0: none); the device's memory (0: unknown).
 * */
void nd__caching_cap(nd_backend *backend, uint64_t nbytes);
uint64_t nd__caching_total(const nd_backend *backend);

/* caching/pool.c: private pools. */
nd_status nd__caching_pool(nd_backend *backend, const nd_pool_opts *opts, nd_pool **out);
/* From begin on, allocations on streams of the capture come from pool (NULL: a new one, *out);
 * freed blocks that need events wait for the end. Each begin keeps the pool until
 * nd_pool_release(*out). */
nd_status nd__caching_capture_begin(nd_backend *backend, uint64_t id, nd_pool *pool, nd_pool **out);
nd_status nd__caching_capture_end(nd_backend *backend, uint64_t id);
/* plain/single.c: every block an allocation of its own; no rounding. */
nd_status nd__single_create(nd_device *device, const nd_hooks *hooks, nd_backend **out);
/* plain/ordered.c: blocks of the plug-in's own stream-ordered pool, for devices that it serves. */
bool nd__ordered_serves(const nd_device *device);
nd_status nd__ordered_create(nd_device *device, const nd_hooks *hooks, nd_backend **out);
bool nd__is_ordered(const nd_backend *backend);
void nd__ordered_cap(nd_backend *backend, uint64_t nbytes); /* 0: none */
/* plain/debug.c: red zones, poison, quarantine. Keeps what it needs over any hooks: red zones are
 * written and read through fill and read of the device, or directly where host is given. */
nd_status nd__debug_create(nd_device *device, const nd_hooks *hooks, nd_backend **out);

/* Kinds of backends, as the settings and programs name them; beside them a program's own. */
enum { ND_KIND_CACHING, ND_KIND_DEBUG, ND_KIND_NONE, ND_KIND_ASYNC, ND_KIND_PLUGGABLE };
extern const char *const nd__kind_names[]; /* NULL behind the last */

/* backend.c: the list of all backends. A registered backend stays until the process ends, so that a
 * thread may use what it has just read from device->backend while another puts a new one there. */
void nd__backend_release(nd_backend *backend);  /* drops a reference; the last one destroys */
void nd__backend_register(nd_backend *backend); /* takes over a reference */
nd_backend *nd__backends(void);                 /* the latest one; go on with ->next */
/* choose/: registers the device's first backend: NDOCK_NO_CACHE, then backend of the settings. */
nd_status nd__device_backend_start(nd_device *device, nd_backend **out);
/* The device's backend for new blocks. One load once there is one. */
static inline nd_status nd__device_backend(nd_device *device, nd_backend **out)
{
    *out = atomic_load_explicit(&device->backend, memory_order_acquire);
    return *out ? ND_OK : nd__device_backend_start(device, out);
}

/* hooks.c: the hooks over a device's own plug-in, and its memory by bytes. The latter wait for the
 * device where it is asynchronous. */
void nd__device_hooks(nd_device *device, nd_hooks *out);
nd_status nd__mem_write(nd_device *device, ndp_mem *mem, uint64_t offset, const void *src,
                        uint64_t n);
nd_status nd__mem_read(nd_device *device, ndp_mem *mem, uint64_t offset, void *dst, uint64_t n);

/* stat.c: statistics, in PyTorch's terms. Of what backends keep, allocated is counted from the
 * other three when it is read, so that taking and giving back change two numbers each: it holds
 * minus what was current at the latest reset. */
static inline void nd__stat_in(nd_memory_stat *s, uint64_t n)
{
    s->current += (int64_t)n;
    s->peak = s->current > s->peak ? s->current : s->peak;
}
static inline void nd__stat_out(nd_memory_stat *s, uint64_t n)
{
    s->current -= (int64_t)n;
    s->freed += (int64_t)n;
}
static inline nd_memory_stat nd__stat_read(const nd_memory_stat *kept)
{
    nd_memory_stat s = *kept;
    s.allocated += s.current + s.freed;
    return s;
}
void nd__stat_reset(nd_memory_stat *kept, bool peak, bool accumulated);
static inline void nd__stat3_in(nd_memory_stat3 *s, bool small, uint64_t n)
{
    nd__stat_in(&s->all, n);
    nd__stat_in(small ? &s->small_pool : &s->large_pool, n);
}
static inline void nd__stat3_out(nd_memory_stat3 *s, bool small, uint64_t n)
{
    nd__stat_out(&s->all, n);
    nd__stat_out(small ? &s->small_pool : &s->large_pool, n);
}
/* The same for a whole record. */
void nd__stats_read(const nd_memory_stats *kept, nd_memory_stats *out);
void nd__stats_reset(nd_memory_stats *s, bool peak, bool accumulated);
/* Adds what one backend has to the sum of all; peaks add up too, so the sum's is an upper bound. */
void nd__stats_sum(nd_memory_stats *sum, const nd_memory_stats *s);

/* callback.c: functions of the program. No lock is held. True: one of them says that it freed
 * something. */
bool nd__run_free_callbacks(nd_device *device, uint64_t nbytes);
void nd__run_oom_observers(nd_device *device, uint64_t nbytes);

/* report/shortage.c: what a backend had when a request found nothing. Bytes. */
typedef struct {
    uint64_t requested, rounded; /* rounded 0: too large for any device */
    uint64_t allocated, reserved, pools, cap;
    uint64_t total; /* of the device, for one that does not say itself; 0: unknown */
    bool capped;    /* the cap refused it, not the device */
} nd_shortage;
/* ND_ERR_MEMORY, after the trace and the program's observers have been told. Under no lock. */
nd_status nd__out_of_memory(const nd_backend *backend, const nd_stream *stream, nd_shortage s);

/* report/trace.c: the ring of the last events of all devices. Cheap when off (one relaxed load). */
enum {
    ND_TRACE_ALLOC,
    ND_TRACE_FREE_REQUESTED,
    ND_TRACE_FREE_COMPLETED,
    ND_TRACE_SEGMENT_ALLOC,
    ND_TRACE_SEGMENT_FREE,
    ND_TRACE_SEGMENT_MAP,
    ND_TRACE_SEGMENT_UNMAP,
    ND_TRACE_OOM,
    ND_TRACE_SNAPSHOT,
    ND_TRACE_USER
};
extern atomic_bool nd__trace_on;
#define ND_TRACE_TEXT 64
typedef struct {
    int64_t time_us; /* since 1970; goes on evenly when the clock is set */
    uint64_t address, nbytes, stream;
    int32_t action;
    char tag[ND_TRACE_TEXT], text[ND_TRACE_TEXT]; /* cut where longer */
} nd_trace_entry;
/* address: segment base plus offset, see nd__mem_address; for ND_TRACE_OOM the bytes that the
 * device has free. text: NULL but for a user's notes. The thread's tag is added. Any thread; may be
 * called with an allocator's lock held: it calls nothing but malloc. */
void nd__trace_add(int32_t action, nd_device *device, uint64_t address, uint64_t nbytes,
                   const nd_stream *stream, const char *text);
#define nd__trace(...)                                                                      \
    (atomic_load_explicit(&nd__trace_on, memory_order_relaxed) ? nd__trace_add(__VA_ARGS__) \
                                                               : (void)0)
const char *nd__trace_action(int32_t action); /* "alloc" ...; static */
/* A copy of the device's events, oldest first; malloc'ed, NULL if there are none. */
nd_trace_entry *nd__trace_copy(nd_device *device, int64_t *n);
int64_t nd__trace_time_us(void);
/* A number that tells blocks apart in traces and snapshots: the device address where there is one,
 * else made up of the handle. */
uint64_t nd__mem_address(nd_device *device, ndp_mem *mem, const char *host);

/* report/snapshot.c: the form of segments in snapshots. A backend's snapshot function appends each
 * of its segments by begin, a block call for each piece (they tile the segment, in order), and
 * end. */
enum { ND_BLOCK_ALLOCATED, ND_BLOCK_PENDING_FREE, ND_BLOCK_INACTIVE };
typedef struct {
    const nd_device *device;
    uint64_t address, total, allocated, active, requested; /* bytes; active has pending ones */
    uint64_t stream, pool;                                 /* ids; pool 0: none */
    bool large, expandable;
} nd_snapshot_segment;
void nd__snapshot_segment_begin(nd_text *t, const nd_snapshot_segment *segment);
void nd__snapshot_block(nd_text *t, uint64_t address, uint64_t nbytes, uint64_t requested,
                        int32_t state, const char *tag); /* tag: NULL or "" if not known */
void nd__snapshot_segment_end(nd_text *t);
/* Starts what NDOCK_MEMORY_SNAPSHOT asks for, once; called before a device's first block. */
void nd__snapshot_from_environment(void);

/* pinned/pinned.c: page-locked host memory of a device. block->host is its address. */
nd_status nd__pinned_alloc(nd_device *device, uint64_t nbytes, nd_block **out);
void nd__pinned_free(nd_block *block); /* used again when what was recorded is done; never waits */
/* A copy was queued on stream: the block is not used again before that is done. */
nd_status nd__pinned_record(nd_block *block, nd_stream *stream);
/* pinned/registered.c: s, over foreign host memory, is pinned if it lies in registered memory. */
void nd__registered_adopt(nd_storage *s);
void nd__pinned_stats(nd_device *device, nd_memory_stats *out); /* fills its own fields */
void nd__pinned_reset(nd_device *device, bool peak, bool accumulated);

/* conf/conf.c: NDOCK_ALLOC_CONF. One record for the process; read through nd__conf(). */
typedef struct {
    uint64_t max_split_size;                  /* max_split_size_mb; UINT64_MAX: no limit */
    uint64_t max_non_split_rounding;          /* max_non_split_rounding_mb, 20 MiB */
    uint64_t large_segment_size;              /* large_segment_size_mb, 20 MiB */
    uint32_t roundup_power2_divisions[64];    /* by the request's power of two; 0, 1: none */
    double garbage_collection_threshold;      /* 0: off */
    double per_process_memory_fraction;       /* 0: no cap */
    double expandable_segments_reserve;       /* of the device's memory, 9/8; above 64: bytes */
    int32_t expandable_segments, throw_early; /* throw_on_device_alloc_oom */
    int32_t steal;             /* cross_stream: never 0, before_oom 1, before_grow 2 */
    int32_t backend;           /* ND_KIND_ */
    int32_t thread_cache;      /* small blocks of host-visible devices per thread */
    int64_t max_cached;        /* max_cached_mb: bytes; 0: no limit; -1: by the device */
    int64_t quarantine_blocks; /* debug: freed blocks kept poisoned, 256 */
    uint64_t pinned_reserve, pinned_exact_above, pinned_cap; /* bytes; 0: none */
    int32_t pinned_background; /* a thread polls the events of freed pinned blocks */
} nd_conf;
extern _Atomic(const nd_conf *) nd__conf_now; /* NULL until it is first looked at */
const nd_conf *nd__conf_first(void);
static inline const nd_conf *nd__conf(void)
{
    const nd_conf *conf = atomic_load_explicit(&nd__conf_now, memory_order_acquire);
    return conf ? conf : nd__conf_first();
}
nd_status nd__conf_check(
    void); /* the error in NDOCK_ALLOC_CONF, which is then ignored as a whole */
/* conf/conf_service.c: the keys that plug-ins add; what the environment says of others is an error.
 * */
extern const ndh_conf_1 nd__conf_service;
void nd__conf_plugin_loaded(const char *plugin);

/* ---- device.c ---- */
/* Gives cached blocks of the device back to it; true if there were any. */
bool nd__memory_trim(nd_device *device);
/* The stream gets no more work; its handle still works. */
void nd__memory_stream_gone(nd_stream *stream);

void nd__fork_backends_start(nd_fork now);
void nd__fork_backends(nd_fork now);
void nd__fork_pinned(nd_fork now);
void nd__fork_registered(nd_fork now);
void nd__fork_callbacks(nd_fork now);
void nd__fork_conf(nd_fork now);
void nd__fork_trace(nd_fork now);

#endif
