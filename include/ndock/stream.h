/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Streams and events: the order of work on devices that queue it; tags and the sync watch, which
 * say what was queued and what waited.
 *
 * Work on one stream runs in the order of the calls. Work on two streams is ordered by events
 * alone. Every function below works on every device: where a plug-in has no streams, all work is
 * done when its call returns, streams are labels and events are recorded at once. Any thread may
 * call anything here; two threads that use one stream are serialised. */
#ifndef NDOCK_STREAM_H
#define NDOCK_STREAM_H
#include <ndock/base.h>

ND_BEGIN_DECLS

typedef struct nd_event nd_event; /* counted */

/* ---- streams ---- */
typedef struct {
    uint32_t size;
    int32_t priority; /* lower is more urgent; clamped to the device's range */
} nd_stream_opts;
/* A stream of its own, equal to no other live one. device NULL: current. */
ND_API ND_MUST_USE nd_status nd_stream_create(nd_device *device, const nd_stream_opts *opts,
                                              nd_stream **out);
/* The stream in slot (0 to ND_STREAM_POOL_SLOTS - 1) of the device's pool of that priority: the
 * same for everyone who asks. */
#define ND_STREAM_POOL_SLOTS 32
ND_API ND_MUST_USE nd_status nd_stream_pool_get(nd_device *device, int32_t priority, int32_t slot,
                                                nd_stream **out);
/* A stream of another library (for CUDA a CUstream; 1 is the legacy default stream, 2 the
 * per-thread one, 0 is refused as ambiguous). release(ctx), if any, is called once, when the last
 * use of it is done: the owner must keep the stream until then. */
ND_API ND_MUST_USE nd_status nd_stream_wrap(nd_device *device, uint64_t handle,
                                            void (*release)(void *ctx), void *ctx, nd_stream **out);
/* The stream on which work runs when nobody says otherwise. */
ND_API ND_MUST_USE nd_status nd_stream_default(nd_device *device, nd_stream **out);
ND_API nd_stream *nd_stream_retain(nd_stream *stream);
/* NULL is fine. Returns at once: queued work still runs. */
ND_API void nd_stream_release(nd_stream *stream);

ND_API nd_device *nd_stream_device(const nd_stream *stream);
/* Never used twice in a process, unlike handles. */
ND_API uint64_t nd_stream_id(const nd_stream *stream);
ND_API int32_t nd_stream_priority(const nd_stream *stream);
/* The plug-in's handle (for CUDA a CUstream); 0 on devices that have none. */
ND_API ND_MUST_USE nd_status nd_stream_native(const nd_stream *stream, uint64_t *out);
ND_API ND_MUST_USE nd_status nd_stream_priority_range(nd_device *device, int32_t *lowest,
                                                      int32_t *highest);

/* The calling thread's current stream of the device (NULL: current device): where operations on its
 * arrays are queued. A new thread starts on the default stream. */
ND_API ND_MUST_USE nd_status nd_stream_current(nd_device *device, nd_stream **out);
ND_API ND_MUST_USE nd_status nd_stream_set_current(nd_stream *stream);
/* Guards. push makes the stream (and its device) or the device current, pop brings back what was:
 * only the latest push may be popped, by naming it. NULL pushes what is current already. */
ND_API ND_MUST_USE nd_status nd_stream_push(nd_stream *stream);
ND_API ND_MUST_USE nd_status nd_stream_pop(nd_stream *stream);
ND_API ND_MUST_USE nd_status nd_device_push(nd_device *device);
ND_API ND_MUST_USE nd_status nd_device_pop(nd_device *device);

/* Whether all work queued so far is done. Never waits; a pending fault is returned. */
ND_API ND_MUST_USE nd_status nd_stream_query(nd_stream *stream, int32_t *done);
/* The same for every stream of the device (NULL: current), those included that were released; not
 * for foreign ones that nobody wrapped. */
ND_API ND_MUST_USE nd_status nd_device_query(nd_device *device, int32_t *done);
/* Whether reading the array would find all work done: on its device's current stream; in host
 * memory that a device still writes to, the copy. */
ND_API ND_MUST_USE nd_status nd_array_query(const nd_array *a, int32_t *done);
/* Waits for it; returns the pending fault, if there is one. NULL: the current stream. */
ND_API ND_MUST_USE nd_status nd_stream_synchronize(nd_stream *stream);
/* Later work on stream waits for the event, or for all work queued on other so far and no more. The
 * host never waits, unless the two are of different plug-ins, which share no events. */
ND_API ND_MUST_USE nd_status nd_stream_wait_event(nd_stream *stream, nd_event *event);
ND_API ND_MUST_USE nd_status nd_stream_wait_stream(nd_stream *stream, nd_stream *other);
/* fn(ctx) runs in stream order, on another thread or on one that waits. It may not call ndock:
 * whatever uses a device, stream, event or array there is ND_ERR_STATE. */
ND_API ND_MUST_USE nd_status nd_stream_launch_host(nd_stream *stream, void (*fn)(void *ctx),
                                                   void *ctx);

/* ---- events ---- */
enum { ND_EVENT_TIMING = 1, ND_EVENT_BLOCKING = 2, ND_EVENT_INTERPROCESS = 4 };
typedef struct {
    uint32_t size;
    int32_t flags; /* ND_EVENT_*: measure time; waiting sleeps; shared with other processes */
} nd_event_opts;
ND_API ND_MUST_USE nd_status nd_event_create(nd_device *device, const nd_event_opts *opts,
                                             nd_event **out);
ND_API nd_event *nd_event_retain(nd_event *event);
ND_API nd_device *nd_event_device(const nd_event *event);
ND_API void nd_event_release(nd_event *event);
/* Marks the present end of the stream (NULL: the current one of the event's device), replacing an
 * earlier record; waits already issued keep the record they were issued on. ND_ERR_DEVICE for a
 * stream of another device. */
ND_API ND_MUST_USE nd_status nd_event_record(nd_event *event, nd_stream *stream);
/* done is 1 for an event that was never recorded. */
ND_API ND_MUST_USE nd_status nd_event_query(nd_event *event, int32_t *done);
ND_API ND_MUST_USE nd_status nd_event_synchronize(nd_event *event);
/* Milliseconds between two records. ND_ERR_NOT_TIMED, _NOT_RECORDED or _NOT_READY. */
ND_API ND_MUST_USE nd_status nd_event_elapsed(nd_event *start, nd_event *stop, double *ms);

/* ---- lifetime of memory across streams ---- */
/* The array's memory is also used on stream: once freed, it is not used again before the work
 * queued on stream at that time is done. No effect on the stream it was allocated on.
 * ND_ERR_ARGUMENT for foreign memory. */
ND_API ND_MUST_USE nd_status nd_record_stream(const nd_array *a, nd_stream *stream);
/* The same for the work queued on stream until now, exactly: whoever uses the memory next waits for
 * it on the device, without the host asking. */
ND_API ND_MUST_USE nd_status nd_record_use(const nd_array *a, nd_stream *stream);

/* Hazard mode (process-wide, off by default): arrays remember who wrote and read them last, and
 * operations on other streams wait for that by themselves. Costs nothing while one stream is
 * used. */
ND_API void nd_hazard_mode_set(int32_t on);
ND_API int32_t nd_hazard_mode(void);

/* The stream check (NDOCK_STREAM_CHECK=1, or set here): every access to device memory is compared
 * with earlier ones on other streams; two that nothing orders are a race, logged as an error and
 * kept for the report, which names both operations and their tags, one race a line. The report
 * empties it; *out is malloc'ed: free() it. Slow; works on every device. Imported memory is
 * compared with the array that it is a part of if the check was on when it was imported. */
ND_API void nd_stream_check_set(int32_t on);
ND_API ND_MUST_USE nd_status nd_stream_check_report(char **out, int64_t *count);

/* The backward rule of a tape: a node's backward runs on its forward stream (nd_stream_push); at
 * entry each used stream waits for the caller's current one, at exit the other way round. */
ND_API ND_MUST_USE nd_status nd_backward_enter(nd_stream *const *used, int32_t n);
ND_API ND_MUST_USE nd_status nd_backward_exit(nd_stream *const *used, int32_t n);

/* ---- what waits, and who ---- */
/* Everything that may block the host does it for one of these reasons. */
enum {
    ND_WAIT_ITEM = 0,         /* nd_item, nd_to_host, printing: values are wanted */
    ND_WAIT_COPY = 1,         /* a blocking copy to or from the host */
    ND_WAIT_PAGEABLE = 2,     /* a copy asked as non-blocking, but the host memory is not pinned */
    ND_WAIT_SYNCHRONIZE = 3,  /* nd_synchronize, nd_stream_synchronize */
    ND_WAIT_EVENT = 4,        /* nd_event_synchronize, waiting for a pending host array */
    ND_WAIT_SHAPE = 5,        /* the result's shape depends on the data: one count is read */
    ND_WAIT_MEMORY = 6,       /* out of memory: everything is waited for before the last try */
    ND_WAIT_STAGING = 7,      /* the device lacks the operation: the CPU computes it */
    ND_WAIT_FIRST_USE = 8,    /* a device is opened */
    ND_WAIT_DEVICE_ALLOC = 9, /* memory is taken from the device, or given back */
    ND_WAIT_MODULE_LOAD = 10, /* code is loaded or compiled */
    ND_WAIT_LAUNCH_BLOCKING = 11, /* NDOCK_LAUNCH_BLOCKING */
    ND_WAIT_DATA = 12,            /* nd_data hands out an address */
    ND_WAIT_RANKS = 13,           /* other ranks of a communicator */
    ND_WAIT_REASONS = 14
};
/* "item", "copy" ...; static; "?" for an unknown reason. */
ND_API const char *nd_wait_name(int32_t reason);
/* The calling thread's sync watch: OFF; COUNT; WARN logs each; ERROR refuses it before it waits
 * (ND_ERR_STATE, nothing is lost). Where the device itself may wait in the middle of a call that
 * cannot be taken back it is counted and logged as by WARN, never refused: DEVICE_ALLOC,
 * MODULE_LOAD, and the MEMORY waits of a release, of a stream's end and of an evicted plan. */
enum { ND_SYNC_OFF = 0, ND_SYNC_COUNT = 1, ND_SYNC_WARN = 2, ND_SYNC_ERROR = 3 };
ND_API ND_MUST_USE nd_status nd_sync_watch_set(int32_t mode);
ND_API int32_t nd_sync_watch(void);
/* Waits of this thread by reason since the last reset, in any mode but OFF. */
ND_API void nd_sync_watch_counts(uint64_t counts[ND_WAIT_REASONS]);
ND_API void nd_sync_watch_reset(void);
/* A mode for a stretch of code: push another mode, pop to the one before. */
ND_API ND_MUST_USE nd_status nd_sync_watch_push(int32_t mode);
ND_API ND_MUST_USE nd_status nd_sync_watch_pop(void);

/* NDOCK_LAUNCH_BLOCKING=1 (or CUDA_LAUNCH_BLOCKING=1), settable: every operation waits for its end,
 * so that a fault is reported by the call that caused it. */
ND_API void nd_launch_blocking_set(int32_t on);
ND_API int32_t nd_launch_blocking(void);

/* What queued work failed: ND_ERR_ASYNC, or ND_ERR_LOST where the device cannot go on, comes once
 * from the first call that sees it (waiting or not), after which the stream may be used again; one
 * that a release or the allocator sees is kept for the stream's next call. A lost device returns
 * the same error to every later call without being asked; frees are silent, other devices go on.
 * The suspects of this thread's latest such error are the operations queued since the last point
 * known to be good, at most the latest 64, oldest first: *count of them; out, of n, receives up to
 * n. */
typedef struct {
    uint64_t seq;   /* number on its stream, from 1 */
    char name[32];  /* of the operation */
    char tag[64];   /* nd_tag_push's label, "" if none */
    nd_dtype dtype; /* and shape of its first result; ndim -1 where there is none */
    int32_t ndim;
    int64_t shape[4]; /* the leading extents */
} nd_op_note;
ND_API ND_MUST_USE nd_status nd_fault_window(nd_op_note *out, int32_t n, int32_t *count);

/* Labels, nested, of the calling thread's operations in fault reports and memory traces. The text
 * is copied (to 63 bytes). pop without push is ND_ERR_STATE. */
ND_API ND_MUST_USE nd_status nd_tag_push(const char *text);
ND_API ND_MUST_USE nd_status nd_tag_pop(void);

ND_END_DECLS
#endif
