/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Device memory: the caching allocator's statistics, settings, pools, snapshots and replacement.
 *
 * Every device of every plug-in shares one allocator, which keeps freed memory for the next
 * allocation. Sizes are bytes. Any thread may call anything here. device NULL: the current one. */
#ifndef NDOCK_MEMORY_H
#define NDOCK_MEMORY_H
#include <ndock/base.h>

ND_BEGIN_DECLS

/* ---- statistics, in PyTorch's terms ---- */
typedef struct {
    int64_t current, peak, allocated, freed; /* now, highest since reset, sums since reset */
} nd_memory_stat;
typedef struct {
    nd_memory_stat all, small_pool, large_pool;
} nd_memory_stat3;
typedef struct {
    uint32_t size; /* set by the caller: only so many bytes are written */
    uint32_t zero;
    nd_memory_stat3 allocation, allocated_bytes, requested_bytes; /* live blocks */
    nd_memory_stat3 segment, reserved_bytes;                      /* taken from the device */
    nd_memory_stat3 active, active_bytes; /* live, or freed but still used by a stream */
    nd_memory_stat3 inactive_split, inactive_split_bytes; /* free pieces of split segments */
    nd_memory_stat oversize_allocations, oversize_segments;
    nd_memory_stat workspace_bytes; /* of stream workspaces; part of allocated_bytes */
    int64_t num_alloc_retries, num_ooms, num_sync_all_streams, num_device_alloc, num_device_free;
    int64_t num_cap_rejections; /* refused by the cap without asking the device */
    int64_t max_split_size, garbage_collections;
    nd_memory_stat pinned_bytes, pinned_blocks; /* page-locked host memory of this device, in use */
    nd_memory_stat pinned_owned_bytes;          /* the same with what is kept for later */
    int64_t num_host_alloc, num_host_free;      /* calls of the device for pinned memory ... */
    int64_t host_alloc_us, host_free_us;        /* ... and how long they took, microseconds */
} nd_memory_stats;
ND_API ND_MUST_USE nd_status nd_memory_stats_get(nd_device *device, nd_memory_stats *out);
ND_API ND_MUST_USE nd_status nd_memory_reset_peak(nd_device *device);
ND_API ND_MUST_USE nd_status nd_memory_reset_accumulated(nd_device *device);
/* Free and total bytes as the device itself reports them; 0, 0 where it does not. */
ND_API ND_MUST_USE nd_status nd_memory_usage(nd_device *device, uint64_t *free_bytes,
                                             uint64_t *total_bytes);

/* Give every unused segment and mapped page back to the device. Waits for nothing; what a stream
 * may still use stays. ND_ERR_CAPTURE during a capture on the device. */
ND_API ND_MUST_USE nd_status nd_memory_empty_cache(nd_device *device);
/* The same for pinned host memory. */
ND_API ND_MUST_USE nd_status nd_memory_empty_host_cache(nd_device *device);

/* ---- settings ---- */
/* At most so many bytes are taken from the device; 0: no cap. ND_ERR_MEMORY follows without asking
 * the device. */
ND_API ND_MUST_USE nd_status nd_memory_cap_set(nd_device *device, uint64_t nbytes);
/* As a fraction of the device's memory, 0 to 1. */
ND_API ND_MUST_USE nd_status nd_memory_cap_set_fraction(nd_device *device, double fraction);
/* "key:value,key:[a,b]" as in NDOCK_ALLOC_CONF, for all devices; blanks are ignored. Keys not named
 * keep their value. ND_ERR_ARGUMENT lists the valid keys. Nothing changes on failure.
 *
 *   max_split_size_mb            blocks from this size on are never split (none)
 *   max_non_split_rounding_mb    such a block may exceed its request by less than this (20)
 *   large_segment_size_mb        segments for requests above 1 MiB and below half of it (20)
 *   roundup_power2_divisions     round requests up to so many steps between powers of two: n, or
 *                                [MiB:n,...,>:n] by the request's size (0)
 *   garbage_collection_threshold of the cap or the device's memory, above which segments unused for
 *                                longer than the mean go back before more is taken (0: off)
 *   per_process_memory_fraction  the cap of allocators made later (0: none)
 *   expandable_segments          one range of addresses a stream, filled page by page (false)
 *   expandable_segments_reserve  its size: times the device's memory, or bytes above 64 (1.125)
 *   throw_on_device_alloc_oom    fail at once when the device refuses (false)
 *   cross_stream                 take free memory of other streams: never, before_oom, before_grow
 *   backend                      caching, debug, none, async; PyTorch's native and cudaMallocAsync
 *                                mean caching and async
 *   thread_cache                 small blocks of host memory are kept per thread (true)
 *   max_cached_mb                unused memory kept; 0: all; auto: a quarter of host memory, all of
 *                                other devices'. For allocators made later
 *   quarantine_blocks            debug: freed blocks kept poisoned (256)
 *   pinned_reserve_mb, pinned_exact_above_mb, pinned_cap_mb, pinned_background: of pinned memory
 *   pinned_use_background_threads, pinned_reserve_segment_size_mb: PyTorch's names of
 *                                pinned_background and pinned_reserve_mb
 *   pinned_use_cuda_host_register, pinned_num_register_threads: PyTorch's names of
 *                                cuda.pinned_use_host_register (true or false) and of
 *                                cuda.pinned_num_register_threads (1, 2, 4 ... 128), which they
 *                                become once that plug-in is there
 *   release_lock_on_cudamalloc   PyTorch's: true or false, and chooses nothing here
 *   PLUGIN.key                   what a plug-in adds ("ndh.conf/1" in plugin.h); here it has to be
 *                                loaded, while the environment's value waits for it
 *   sim.memory_mb                how much of a simulated device's memory may be used (all)
 */
ND_API ND_MUST_USE nd_status nd_memory_conf_set(const char *text);
/* The effective settings in the same form; malloc'ed: free() it. */
ND_API ND_MUST_USE nd_status nd_memory_conf_get(char **out);

/* fn(ctx, device, requested bytes) before a request fails; may free arrays, then the allocator
 * tries again if it returns nonzero (free callback), or only looks on (observer). No lock is held.
 * A request that fn makes itself is refused without calling any of them again. One that is removed
 * may still be running on another thread. */
typedef int32_t (*nd_memory_callback)(void *ctx, nd_device *device, uint64_t nbytes);
ND_API ND_MUST_USE nd_status nd_memory_free_callback_add(nd_memory_callback fn, void *ctx);
ND_API ND_MUST_USE nd_status nd_memory_free_callback_remove(nd_memory_callback fn, void *ctx);
ND_API ND_MUST_USE nd_status nd_memory_oom_observer_add(nd_memory_callback fn, void *ctx);
ND_API ND_MUST_USE nd_status nd_memory_oom_observer_remove(nd_memory_callback fn, void *ctx);

/* ---- allocators ---- */
typedef struct nd_allocator nd_allocator; /* counted */
/* Where segments, or single blocks when it is used directly, come from. size first, append-only;
 * slots after free may be NULL. stream is the plug-in's native handle. */
typedef struct {
    uint32_t size, zero;
    void *(*alloc)(void *ctx, int64_t nbytes, int32_t device, void *stream);
    void (*free)(void *ctx, void *ptr, int64_t nbytes, int32_t device, void *stream);
    int32_t (*init)(void *ctx, int32_t device_count);
    void (*record_stream)(void *ctx, void *ptr, void *stream);
    int32_t (*stats)(void *ctx, int32_t device, uint64_t *allocated, uint64_t *reserved);
    int32_t (*begin_pool)(void *ctx, int32_t device, uint64_t pool);
    int32_t (*end_pool)(void *ctx, int32_t device, uint64_t pool);
} nd_allocator_table;
ND_API ND_MUST_USE nd_status nd_allocator_create(const nd_allocator_table *table, void *ctx,
                                                 nd_allocator **out);
/* From a .so by symbol names: void *alloc(ssize_t, int device, stream) and void free(void *,
 * ssize_t, int device, stream), the pair that PyTorch's pluggable allocator takes; or, when
 * free_symbol is NULL, a const nd_allocator_table named alloc_symbol. The .so is never unloaded. */
ND_API ND_MUST_USE nd_status nd_allocator_load(const char *path, const char *alloc_symbol,
                                               const char *free_symbol, nd_allocator **out);
/* "caching" (the default), "none" (every array is an allocation of its own: NDOCK_NO_CACHE=1),
 * "debug" (red zones, poison, quarantine, leak report: NDOCK_ALLOC_CONF=backend:debug), or "async"
 * (the device's own pool, in stream order; ND_ERR_UNSUPPORTED where it has none, while
 * backend:async there goes on caching). */
ND_API ND_MUST_USE nd_status nd_allocator_named(const char *name, nd_allocator **out);
ND_API nd_allocator *nd_allocator_retain(nd_allocator *allocator);
ND_API void nd_allocator_release(nd_allocator *allocator);
/* New arrays of the device come from it from now on; existing ones go back to whoever made them. At
 * any time, but ND_ERR_CAPTURE during a capture. */
ND_API ND_MUST_USE nd_status nd_allocator_set(nd_device *device, nd_allocator *allocator);
/* Debug allocator: text of every block still live and every mistake found so far (double free,
 * foreign free, writing past the end or after free), with tags; malloc'ed. *count of them. */
ND_API ND_MUST_USE nd_status nd_memory_debug_report(nd_device *device, char **out, int64_t *count);

/* ---- pools ---- */
typedef struct nd_pool nd_pool; /* counted */
typedef struct {
    uint32_t size;
    int32_t use_on_oom;     /* others may take from it before an allocation fails */
    int32_t no_split;       /* blocks are never split */
    nd_allocator *upstream; /* where its segments come from; NULL: the device */
} nd_pool_opts;
ND_API ND_MUST_USE nd_status nd_pool_create(nd_device *device, const nd_pool_opts *opts,
                                            nd_pool **out);
ND_API nd_pool *nd_pool_retain(nd_pool *pool);
/* The memory goes back when the pool and the last array in it are gone. */
ND_API void nd_pool_release(nd_pool *pool);
/* Allocations of the calling thread on the pool's device come from it, until pop. */
ND_API ND_MUST_USE nd_status nd_pool_push(nd_pool *pool);
ND_API ND_MUST_USE nd_status nd_pool_pop(nd_pool *pool);
ND_API uint64_t nd_pool_id(const nd_pool *pool);
/* Holders: creation, and scopes that are open. */
ND_API int32_t nd_pool_use_count(const nd_pool *pool);
ND_API int64_t nd_pool_segments(const nd_pool *pool);
ND_API int64_t nd_pool_reserved_bytes(const nd_pool *pool);

/* ---- looking inside ---- */
/* Keep the last n events of every device (0: none): allocations, frees, segments, with tags. */
ND_API ND_MUST_USE nd_status nd_memory_trace_set(int64_t n);
/* Put a line of one's own into the trace. */
ND_API ND_MUST_USE nd_status nd_memory_trace_note(nd_device *device, const char *text);
/* Segments, blocks, trace and settings of all devices (device NULL) or one, as a file written whole
 * or not at all: JSON, or the pickle that PyTorch's memory viewer opens. `ndock mem snapshot` draws
 * it. NDOCK_MEMORY_SNAPSHOT=FILE traces from the start and writes it when the process ends. */
enum { ND_SNAPSHOT_JSON = 0, ND_SNAPSHOT_PICKLE = 1 };
ND_API ND_MUST_USE nd_status nd_memory_snapshot_save(nd_device *device, const char *path,
                                                     int32_t format);
/* The JSON as text; malloc'ed. */
ND_API ND_MUST_USE nd_status nd_memory_snapshot_text(nd_device *device, char **out);

/* ---- pinned host memory and copies ---- */
/* A CPU array in page-locked memory of the device (NULL: current), so that copies between the two
 * need not wait. Ordinary memory on devices that have none. */
ND_API ND_MUST_USE nd_status nd_empty_pinned(nd_device *device, nd_dtype dtype, int32_t ndim,
                                             const int64_t *shape, nd_array **out);
ND_API int32_t nd_is_pinned(const nd_array *a);
/* Page-lock memory of one's own for the device while it is copied much: arrays made over it
 * meanwhile (nd_wrap on the CPU) are pinned, the memory stays one's own. No two overlap.
 * ND_ERR_UNSUPPORTED where the device locks no pages of others. Unregister with the same address,
 * before the memory is freed: it waits for the copies that use it, and is ND_ERR_STATE while arrays
 * over it are alive. */
ND_API ND_MUST_USE nd_status nd_host_register(nd_device *device, void *host, uint64_t nbytes);
ND_API ND_MUST_USE nd_status nd_host_unregister(nd_device *device, void *host);
/* Whether the address lies in memory that is page-locked for the device, by whomever. */
ND_API ND_MUST_USE nd_status nd_host_is_pinned(nd_device *device, const void *host, int32_t *yes);
/* At most so many bytes are page-locked; 0: half of the machine's memory, or the memlock limit. */
ND_API ND_MUST_USE nd_status nd_memory_pinned_cap_set(nd_device *device, uint64_t nbytes);
typedef struct {
    uint32_t size;
    int32_t non_blocking; /* to or from pinned memory of the device: return at once. A host result
                             is "pending": every access through ndock waits for it. Other host
                             memory, and views of pinned memory with gaps as a destination, are
                             copied while the caller waits (ND_WAIT_PAGEABLE) */
    nd_stream *stream;    /* of the source's device, from the host of the destination's; NULL:
                             current */
} nd_copy_opts;
/* Copy src, broadcast and converted, into dst, between any two devices. Between devices the
 * destination's current stream waits for the copy, and the copy for it. Conversion and packing
 * happen on the device where the copy is non-blocking. */
ND_API ND_MUST_USE nd_status nd_copy_to(const nd_array *src, const nd_array *dst,
                                        const nd_copy_opts *opts);

ND_END_DECLS
#endif
