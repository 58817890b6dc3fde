/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The memory of devices: blocks, the allocator backends that make them, and what backends stand on.
 * Storage (core/array/storage.c) asks a device's nd_backend for blocks. A backend stands on
 * nd_hooks alone, so that it is tested without a device. */
#ifndef NDOCK_CORE_MEMORY_H
#define NDOCK_CORE_MEMORY_H
#include "core/memory/storage.h"

/* ---- hooks.c: what an allocator stands on ---- */
/* The primitives under an allocator, for one device or a test. A stream is NULL only where the
 * device has none. An event is a point on a stream; NULL is a point already passed. The slots from
 * capture_id on may be NULL, and record is NULL where the device has no events. Functions return a
 * status with its detail set. record, query, wait, idle and give_back never block, and are called
 * with an allocator's lock held; the others are called without. */
typedef struct {
    void *segment_ctx; /* the context of segment_alloc and segment_free */
    /* *host is the segment's address if the host may touch it, else NULL. */
    nd_status (*segment_alloc)(void *ctx, nd_stream *stream, uint64_t nbytes, ndp_mem **mem,
                               char **host);
    void (*segment_free)(void *ctx, nd_stream *stream, ndp_mem *mem, uint64_t nbytes);
    void *ctx; /* of all others */
    nd_status (*record)(void *ctx, nd_stream *stream, ndp_event **out);
    nd_status (*query)(void *ctx, ndp_event *event, int32_t *done);
    nd_status (*wait)(void *ctx, nd_stream *stream, ndp_event *event); /* the stream waits */
    nd_status (*synchronize)(void *ctx, ndp_event *event);             /* the host waits */
    void (*give_back)(void *ctx, ndp_event *event);
    /* The id of the capture that the stream is in; 0: none. */
    uint64_t (*capture_id)(void *ctx, nd_stream *stream);
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
/* Sets the hooks over a device's own plug-in. */
void nd__device_hooks(nd_device *device, nd_hooks *out);
/* Write and read device memory by bytes, and wait for the device where it is asynchronous. */
nd_status nd__mem_write(nd_device *device, ndp_mem *mem, uint64_t offset, const void *src,
                        uint64_t n);
nd_status nd__mem_read(nd_device *device, ndp_mem *mem, uint64_t offset, void *dst, uint64_t n);

/* ---- blocks ---- */
/* A piece of device memory that somebody has. Backends embed it at the start of their own
 * record. */
typedef struct nd_backend nd_backend;
typedef struct nd_block {
    nd_backend *backend; /* frees the block; counted as the backend likes */
    ndp_mem *mem;
    uint64_t offset; /* in mem, bytes */
    uint64_t nbytes; /* of the block, rounded */
    uint64_t requested;
    char *host;         /* the block's address, NULL where the host may not touch it */
    nd_storage storage; /* belongs to whoever has the block; backends leave it alone */
} nd_block;

/* ---- calls.c: requests that others may help ---- */
/* The threads that are inside the device for an allocator. The memory that they have set aside is
 * not found by others meanwhile. */
typedef struct {
    pthread_mutex_t lock, turn; /* turn: one thread at a time tries again */
    pthread_cond_t left;
    int32_t inside;
    uint64_t given; /* how many calls left memory behind for others */
} nd_calls;
/* Begin and end the record; calls_fork makes a child's new, in which nobody is inside. */
void nd__calls_init(nd_calls *c);
void nd__calls_destroy(nd_calls *c);
void nd__calls_fork(nd_calls *c, nd_fork now);
/* The calling thread enters the device, or leaves it again. gave: it left memory behind for others.
 * No other lock is taken, so that an allocator's may be held. */
void nd__calls_enter(nd_calls *c);
void nd__calls_leave(nd_calls *c, bool gave);
/* Makes a request for memory, and makes it again whenever others gave something meanwhile, until it
 * is answered: make then returns true, and false if memory lacks. Waits for the threads inside, but
 * not for ever. Called under no lock. */
void nd__request(nd_calls *c, bool (*make)(void *request, bool again), void *request);

/* ---- uses.c: the streams of a block ---- */
typedef struct nd_use {
    nd_stream *stream; /* held */
    ndp_event *event;  /* where the stream was; NULL: it has passed, or is not closed yet */
    bool closed;       /* later work on the stream does not count */
    struct nd_use *next;
} nd_use;
/* The caller serialises calls for one record. */
typedef struct {
    nd_use home; /* the first of all: the stream that the block was allocated on, or no stream */
    int others;  /* how many follow it */
} nd_uses;
/* Begins the record of a block that was allocated on home; NULL: on no stream. */
void nd__uses_start(nd_uses *u, nd_stream *home);
/* Work on the stream counts until the block is freed (stream), or work queued until now
 * (record). */
nd_status nd__uses_stream(nd_uses *u, nd_stream *stream);
nd_status nd__uses_record(nd_uses *u, const nd_hooks *hooks, nd_stream *stream);
/* Marks where the stream is now, as it is about to lose its handle. */
void nd__uses_stream_gone(nd_uses *u, const nd_hooks *hooks, nd_stream *stream);
/* Say of a freed block whether all streams are done with it; false as well while one of them is
 * captured. done never waits; wait first waits for those that are not captured. */
bool nd__uses_done(nd_uses *u, const nd_hooks *hooks);
bool nd__uses_wait(nd_uses *u, const nd_hooks *hooks);
/* Moves recorded uses that have passed to gone, which nd__uses_end then ends. Never waits. */
void nd__uses_prune(nd_uses *u, const nd_hooks *hooks, nd_uses *gone);
/* Forgets all streams. This may call the owner of a foreign stream, so no lock is held. */
void nd__uses_end(nd_uses *u, const nd_hooks *hooks);

/* ---- stat.c: statistics, in PyTorch's terms ---- */
/* In what a backend keeps, `current` and `freed` are the sums of what came in and of what went out,
 * so that taking and giving back change one of them each, and `allocated` is minus what had come in
 * at the latest reset. nd__stat_now and nd__stat_read make of them what they mean to programs. */
static inline int64_t nd__stat_now(const nd_memory_stat *kept)
{
    return kept->current - kept->freed;
}
static inline void nd__stat_in(nd_memory_stat *kept, uint64_t n)
{
    kept->current += (int64_t)n;
    int64_t now = nd__stat_now(kept);
    kept->peak = now > kept->peak ? now : kept->peak;
}
static inline void nd__stat_out(nd_memory_stat *kept, uint64_t n)
{
    kept->freed += (int64_t)n;
}
static inline void nd__stat3_in(nd_memory_stat3 *kept, bool small, uint64_t n)
{
    nd__stat_in(&kept->all, n);
    nd__stat_in(small ? &kept->small_pool : &kept->large_pool, n);
}
static inline void nd__stat3_out(nd_memory_stat3 *kept, bool small, uint64_t n)
{
    nd__stat_out(&kept->all, n);
    nd__stat_out(small ? &kept->small_pool : &kept->large_pool, n);
}
static inline nd_memory_stat nd__stat_read(const nd_memory_stat *kept)
{
    return (nd_memory_stat){.current = nd__stat_now(kept),
                            .peak = kept->peak,
                            .allocated = kept->current + kept->allocated,
                            .freed = kept->freed};
}
/* Makes the peak what is current, or begins the sums anew. */
void nd__stat_reset(nd_memory_stat *kept, bool peak, bool accumulated);
/* Read and reset a whole record. */
void nd__stats_read(const nd_memory_stats *kept, nd_memory_stats *out);
void nd__stats_reset(nd_memory_stats *kept, bool peak, bool accumulated);
/* Adds what one backend has, as read, to the sum of all. Peaks add up too, so that the sum's is an
 * upper bound. */
void nd__stats_sum(nd_memory_stats *sum, const nd_memory_stats *s);

/* ---- callback.c: functions of the program ---- */
/* Calls them without a lock. Returns whether one of them says that it freed something. */
bool nd__run_free_callbacks(nd_device *device, uint64_t nbytes);
void nd__run_oom_observers(nd_device *device, uint64_t nbytes);

/* ---- allocator backends ---- */
/* One way of making blocks for one device. Any thread may call any of its slots. */
struct nd_backend {
    const struct nd_backend_class *type;
    nd_device *device; /* NULL in tests of a backend alone */
    nd_hooks hooks;
    nd_calls calls;
    atomic_int refs; /* one of whoever uses it for new blocks, and of live blocks as it likes */
    nd_allocator *allocator; /* the program's own allocator that it stands on; NULL: none */
    nd_backend *next;        /* in the list of all */
};
typedef struct nd_backend_class {
    const char *name;
    nd_status (*alloc)(nd_backend *backend, nd_stream *stream, uint64_t nbytes, nd_block **out);
    void (*free)(nd_block *block); /* waits for nothing and never fails */
    /* The stream uses the block until it is freed, or has used it until now. */
    nd_status (*record_stream)(nd_block *block, nd_stream *stream);
    nd_status (*record_use)(nd_block *block, nd_stream *stream);
    nd_status (*empty_cache)(nd_backend *backend);
    /* The stream gets no more work; its handle still works. */
    void (*stream_gone)(nd_backend *backend, nd_stream *stream);
    void (*stats)(nd_backend *backend, nd_memory_stats *out);
    void (*reset)(nd_backend *backend, bool peak, bool accumulated);
    /* Appends to the JSON array of segments; report/report.h has the form. */
    void (*snapshot)(nd_backend *backend, nd_text *segments);
    /* Sets the most bytes that it may take from the device (0: no cap), and says how many the
     * device has (0: unknown). Both are NULL for a backend without caps. */
    void (*cap_set)(nd_backend *backend, uint64_t nbytes);
    uint64_t (*total)(const nd_backend *backend);
    void (*destroy)(nd_backend *backend); /* refs reached 0; blocks may still be live (caching) */
    void (*fork)(nd_backend *backend, nd_fork now); /* takes or drops its locks */
} nd_backend_class;

/* Kinds of backends, as the settings and programs name them, and allocators of a program's own. */
enum { ND_KIND_CACHING, ND_KIND_DEBUG, ND_KIND_NONE, ND_KIND_ASYNC, ND_KIND_PLUGGABLE };
extern const char *const nd__kind_names[]; /* NULL behind the last */

/* backend.c: the list of all backends. A registered backend stays until the process ends, so that a
 * thread may use what it has just read from device->backend while another puts a new one there. */
void nd__backend_register(nd_backend *backend); /* takes over a reference */
void nd__backend_release(nd_backend *backend);  /* drops a reference; the last one destroys */
nd_backend *nd__backends(void);                 /* the latest one; go on with ->next */

/* caching/caching.c makes the caching allocator. It outlives its last user while blocks are live.
 * It calls segment_free when nothing queued can touch the memory any more. */
nd_status nd__caching_create(nd_device *device, const nd_hooks *hooks, nd_backend **out);
bool nd__is_caching(const nd_backend *backend); /* whether it is one of these */
/* plain/single.c makes one in which every block is an allocation of the device, without
 * rounding. */
nd_status nd__single_create(nd_device *device, const nd_hooks *hooks, nd_backend **out);
/* plain/debug.c makes one with red zones, poison and quarantine. It works over any hooks: red zones
 * are written and read through the device, or directly where the host may touch the block. */
nd_status nd__debug_create(nd_device *device, const nd_hooks *hooks, nd_backend **out);
/* plain/ordered.c makes one over the plug-in's own stream-ordered pool, for devices that have
 * it. */
bool nd__ordered_serves(const nd_device *device);
nd_status nd__ordered_create(nd_device *device, const nd_hooks *hooks, nd_backend **out);

/* choose/choose.c makes and registers the device's first backend: by NDOCK_NO_CACHE, else by the
 * settings. */
nd_status nd__device_backend_start(nd_device *device, nd_backend **out);
/* The device's backend for new blocks: one load once there is one. */
static inline nd_status nd__device_backend(nd_device *device, nd_backend **out)
{
    *out = atomic_load_explicit(&device->backend, memory_order_acquire);
    return *out ? ND_OK : nd__device_backend_start(device, out);
}

/* ---- caching/pool.c: private pools ---- */
/* What nd_pool_create does, on a backend. */
nd_status nd__caching_pool(nd_backend *backend, const nd_pool_opts *opts, nd_pool **out);
/* Between begin and end, allocations on streams of the capture come from pool (NULL: a new one,
 * *out), and freed blocks that need events wait for the end. Each begin keeps the pool until
 * nd_pool_release(*out). */
nd_status nd__caching_capture_begin(nd_backend *backend, uint64_t id, nd_pool *pool, nd_pool **out);
nd_status nd__caching_capture_end(nd_backend *backend, uint64_t id);

/* ---- pinned/: page-locked host memory of a device ---- */
/* (*out)->host is the block's address. */
nd_status nd__pinned_alloc(nd_device *device, uint64_t nbytes, nd_block **out);
/* The block is used again when what was recorded on it is done. This never waits. */
void nd__pinned_free(nd_block *block);
/* A copy was queued on the stream, and the block is not used again before the copy is done. */
nd_status nd__pinned_record(nd_block *block, nd_stream *stream);
/* Makes a storage over foreign host memory pinned if it lies in registered memory. */
void nd__registered_adopt(nd_storage *s);
void nd__pinned_stats(nd_device *device, nd_memory_stats *out); /* fills its own fields */
void nd__pinned_reset(nd_device *device, bool peak, bool accumulated);

/* ---- what core/lib/ calls ---- */
/* device.c: gives cached blocks of the device back to it; true if there were any. */
bool nd__memory_trim(nd_device *device);
/* device.c: the stream gets no more work; its handle still works. */
void nd__memory_stream_gone(nd_stream *stream);
/* conf/conf_service.c: plug-ins add keys by the service, and all of a plug-in's keys are there once
 * it is loaded: what the environment says of others is an error. */
extern const ndh_conf_1 nd__conf_service;
void nd__conf_plugin_loaded(const char *plugin);
/* Take or drop the locks around a fork. */
void nd__fork_backends_start(nd_fork now);
void nd__fork_backends(nd_fork now);
void nd__fork_pinned(nd_fork now);
void nd__fork_registered(nd_fork now);
void nd__fork_callbacks(nd_fork now);
void nd__fork_conf(nd_fork now);
void nd__fork_trace(nd_fork now);

#endif
