/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Inside streams, events and faults: how the core queues work on a device, remembers what it
 * queued, and waits. */
#ifndef NDOCK_CORE_STREAM_H
#define NDOCK_CORE_STREAM_H
#include "core/plugin/device.h"

#define ND_RING 64

/* One queued operation, for fault reports. */
typedef struct {
    uint64_t seq;
    const char *name; /* immortal */
    nd_dtype dtype;
    int32_t ndim;
    int64_t shape[4]; /* the leading extents */
    char tag[ND_TAG_SIZE];
} nd_op_record;

/* Where operations of a stream leave a bad index, since their callers are gone by then: i64[5] on
 * the device. */
typedef struct nd_status_word {
    ndp_mem *mem;
    uint64_t offset_bytes;
    void (*release)(struct nd_status_word *word);
} nd_status_word;

/* id is never used twice, unlike handles, so everything is keyed by it; 0 is "no stream". */
struct nd_stream {
    atomic_int refs;  /* users; with the last the handle is destroyed */
    atomic_int holds; /* one for all users, one for each block that remembers it; with the last the
                         struct is freed, and a foreign stream's owner told */
    int32_t priority;
    uint64_t id;
    nd_device *device;
    ndp_stream *handle; /* NULL: the device's default stream */
    bool foreign, immortal;
    atomic_bool lent;        /* others may queue work on it, which is not in seq */
    _Atomic uint64_t native; /* the name others have for it; 0: not asked yet, under stream_lock */
    void (*release)(void *ctx);
    void *ctx;
    nd_stream *next; /* of the device's live ones */
    /* What was queued. Under lock, which is held around every use of the handle but waits. */
    pthread_mutex_t lock;
    uint64_t seq, good;               /* of the latest op; of the latest known to have ended well */
    nd_op_record *ring;               /* ND_RING of them; NULL on devices that queue nothing */
    _Atomic(nd_status_word *) status; /* made with the first operation that wants it */
    atomic_int sources_modified;      /* copies whose pinned source was written to meanwhile */
    bool waits;                       /* for an event, perhaps: that is not in seq either */
    bool status_pending;              /* such an op was queued since status was last read */
    struct nd_clock *clock; /* hazard.c: what is behind the stream's end; under its lock */
    uint64_t clock_since;
    uint64_t capture;               /* of the capture that began here and has not ended; 0: none */
    _Atomic(struct nd_tape *) tape; /* of the capture that it is in (tape.h); counted there */
    atomic_int kept;                /* a fault for the next call to report: ND_ERR_ASYNC; 0: none */
    int64_t kept_native;
    char kept_text[200];
};
static inline uint64_t nd__stream_id(const nd_stream *s)
{
    return s ? s->id : 0;
}
void nd__stream_hold(nd_stream *s); /* NULL is fine */
void nd__stream_unhold(nd_stream *s);
nd_stream *nd__stream_retain_live(nd_stream *s);    /* held, maybe gone: then NULL */
nd_status nd__streams_open(nd_device *device);      /* the default stream of a new device */
void nd__thread_streams_release(nd_thread *thread); /* what the thread had, as it ends */
void nd__fork_stream_pools(nd_fork now);
void nd__fork_captures(nd_fork now);
/* The calling thread's stream for work on the device; NULL where the device queues nothing. */
nd_stream *nd__stream(nd_device *device);
nd_stream *nd__stream_current(const nd_device *device); /* the same on all devices; not retained */
/* The stretch of a call whose work goes to another stream than the current one. {0} is none. */
typedef struct {
    nd_device *device;
    nd_stream *before;
} nd_scope;
nd_status nd__scope_enter(const char *op, nd_device *device, nd_stream *stream, nd_scope *scope);
void nd__scope_leave(nd_scope *scope);

/* ---- queue.c, wait.c, fault.c: every use of a stream by the core, and its faults ---- */
/* Refuses a lost device, a forked child and a call from a host function. */
nd_status nd__not_usable(nd_device *device, const char *op); /* says why, if so */
static inline nd_status nd__usable(nd_device *d, const char *op)
{
    bool fine = !atomic_load_explicit(&d->lost, memory_order_acquire) &&
                !(nd__self && nd__self->in_host_function) && (d->host_visible || !nd__forked());
    return fine ? (nd_status)ND_OK : nd__not_usable(d, op);
}
/* Around queueing one operation on the thread's stream: lock, note; unlock, faults, and the wait
 * that launch blocking asks for. like: shape and dtype for the record, may be NULL. */
nd_status nd__queue_begin(nd_stream *s, const char *name, const ndp_view *like);
nd_status nd__queue_end(nd_stream *s, const char *name, nd_status status);
/* Whether the pinned sources of the copies that were done were left alone meanwhile. */
nd_status nd__sources_kept(nd_stream *s, const char *op);
/* Waits for what is queued on s, whatever forbids it; without the lock, so that others can queue work
 * meanwhile. */
nd_status nd__wait_now(nd_stream *s, const char *op);
/* Waits for everything queued on s so far; returns its fault or bad index. */
nd_status nd__wait(nd_stream *s, int32_t reason, const char *op);
nd_status nd__wait_device(nd_device *device, int32_t reason, const char *op);
/* The same where nobody can be told: counted, never refused; faults are kept for the next call. */
void nd__drain(nd_device *device, const char *op);
/* False: s is being captured, and was not waited for. */
bool nd__drain_stream(nd_stream *s, const char *op);
/* status came from the plug-in on behalf of s: a fault gets the window of suspects into its text,
 * and a lost device is remembered. Caller holds s->lock. Returns status. */
nd_status nd__fault(nd_stream *s, const char *op, nd_status status);
/* An asynchronous fault waits for the stream's next call; what is left of status is returned. A
 * lost device needs no keeping. */
nd_status nd__fault_keep(nd_stream *s, nd_status status);
/* The plug-in said so about an event (nd__mark's or any), to somebody who cannot report it: a fault
 * is kept for the event's stream, whose next call returns it. Returns what is left of status. Takes
 * no lock that is held around a call of the plug-in. */
nd_status nd__fault_later(nd_device *device, ndp_event *event, nd_status status);
/* Everything up to seq is known to have ended well. */
void nd__progress(nd_stream *s, uint64_t seq);
#define ND_PINNED_ADVICE "copy from pinned memory (nd_empty_pinned), or before the capture"
/* Bytes between host memory and the device, on the thread's stream; both wait (reason). */
nd_status nd__read(nd_device *device, const char *op, int32_t reason, ndp_mem *mem, uint64_t offset,
                   void *dst, uint64_t nbytes);
nd_status nd__write(nd_device *device, const char *op, int32_t reason, ndp_mem *mem,
                    uint64_t offset, const void *src, uint64_t nbytes);
/* Bytes between two blocks of the device (or its pinned memory), queued on s. */
nd_status nd__queue_copy(nd_stream *s, const char *op, ndp_mem *dst, uint64_t dst_offset,
                         ndp_mem *src, uint64_t src_offset, uint64_t nbytes);

/* ---- capture.c ---- */
uint64_t nd__capture_id(nd_stream *s); /* 0: not capturing */
/* What a stream that is being captured cannot do; what no stream of the device's plug-in can do
 * while a capture is underway that forbids it to this thread (global ones to every thread,
 * thread-local ones to their own); and waiting on s for an event recorded in that capture (0: in
 * none), which would break one. The driver is not asked: the capture stays valid. */
nd_status nd__refuse_capture(nd_stream *s, const char *op, const char *advice);
nd_status nd__refuse_unsafe(nd_device *device, const char *op, const char *advice);
nd_status nd__refuse_join(nd_stream *s, uint64_t recorded_in, const char *op);
bool nd__capture_forbids(const nd_device *device);
/* Capture begun and ended on a stream; the graph API's first half. */
typedef struct nd_captured nd_captured;
nd_status nd__capture_begin(nd_stream *s, int32_t mode);
/* The same, but its own streams may take memory from the device meanwhile. */
nd_status nd__capture_begin_growing(nd_stream *s, int32_t mode);
nd_status nd__capture_end(nd_stream *s, nd_captured **out);
void nd__capture_abandon(nd_stream *s); /* the stream goes: so does a capture that began on it */
ndp_graph *nd__captured_graph(const nd_captured *c);
/* The graph takes the place of the plug-in's, which is destroyed. */
void nd__captured_replace(nd_captured *c, ndp_graph *graph);
struct nd_tape *nd__captured_tape(const nd_captured *c);
void nd__captured_free(nd_captured *c);
/* s is being captured: release(ctx) is called when the graph is gone. */
nd_status nd__capture_keep(nd_stream *s, const char *op, void (*release)(void *ctx), void *ctx);
/* run(ctx) is called when a capture of the plug-in that is underway has ended; false: there is
 * none. */
bool nd__after_capture(const nd_device *device, void (*run)(void *ctx), void *ctx);

/* ---- event_pool.c ---- */
#define ND_EVENT_KINDS 8 /* of handles, by their flags */
/* Handles from the device's pool (flags ND_EVENT_*), which keeps what is given back. */
nd_status nd__event_take(nd_device *device, int32_t flags, ndp_event **out);
void nd__event_give(nd_device *device, int32_t flags, ndp_event *handle);
/* An event of another process, which the plug-in has opened and destroys with it; let_go(ctx) then. */
nd_status nd__event_wrap(const char *op, nd_device *device, ndp_event *handle,
                         void (*let_go)(void *ctx), void *ctx, nd_event **out);
nd_status nd__events_open(nd_device *device);
/* The stream that nd__mark last recorded the event on; 0: unknown. */
uint64_t nd__mark_stream(nd_device *device, ndp_event *event);
void nd__mark_remember(nd_device *device, ndp_event *event, uint64_t stream);

/* ---- stream_end.c: what is waited for in the place of streams that are gone ---- */
/* The stream, which nobody uses any more, leaves the list of live ones. While its work is not done,
 * its end takes its place: somebody may still wait for the device. */
void nd__stream_leave(nd_stream *s);
/* The host waits for them; the first fault. */
nd_status nd__wait_ends(nd_device *device, const char *op);
/* Whether they have all been reached; *done is 1 before. */
nd_status nd__query_ends(nd_device *device, const char *op, int32_t *done);
/* s waits for what is queued on the stream of that id, which may be gone; then for its end. */
nd_status nd__wait_stream_id(nd_stream *s, nd_device *of, uint64_t id);
/* The live stream of that id, retained; NULL: it is gone. */
nd_stream *nd__stream_by_id(nd_device *of, uint64_t id);
/* Whether there is no such stream any more, and what it had queued is done; never waits. */
bool nd__stream_id_gone(nd_device *of, uint64_t id);
/* Whether all work queued on it is known to be done; never waits. */
bool nd__stream_id_done(nd_device *of, uint64_t id);

/* ---- follow.c: imported memory whose producer's stream waits until our work on it is done ---- */
/* One such memory. In the table from add to remove, which the caller sees to. */
typedef struct nd_follow {
    struct nd_follow *next;
    ndp_mem *mem;
    nd_stream *producer; /* retained by the caller */
} nd_follow;
void nd__follow_add(nd_follow *f);
void nd__follow_remove(nd_follow *f);
void nd__fork_followed(nd_fork now);
/* Work on these blocks (NULLs are skipped), or on a call's operands, was queued on s: the producers
 * of those that are followed wait for it. */
extern atomic_int nd__followed; /* how many are in the table */
nd_status nd__follow_slow(nd_stream *s, ndp_mem *const *mem, int n);
nd_status nd__follow_call_slow(nd_stream *s, const ndp_call *call);
static inline nd_status nd__follow(nd_stream *s, ndp_mem *const *mem, int n)
{
    return atomic_load_explicit(&nd__followed, memory_order_relaxed) ? nd__follow_slow(s, mem, n)
                                                                     : (nd_status)ND_OK;
}
static inline nd_status nd__follow_call(nd_stream *s, const ndp_call *call)
{
    return atomic_load_explicit(&nd__followed, memory_order_relaxed) ? nd__follow_call_slow(s, call)
                                                                     : (nd_status)ND_OK;
}

/* ---- order.c ---- */
/* Records the plug-in's event on s, whose last operation is number *seq. */
nd_status nd__record_handle(nd_stream *s, ndp_event *event, const char *op, uint64_t *seq);
/* s waits for the event; recorded_in: the capture that it is of; 0: none. */
nd_status nd__wait_handle(nd_stream *s, ndp_event *event, uint64_t recorded_in, const char *op);
/* Plug-ins share no events, so between two of them the host waits. */
bool nd__share_events(const nd_device *a, const nd_device *b);
/* An event of the pool recorded at the end of s; NULL where everything is done already. */
nd_status nd__mark(nd_stream *s, ndp_event **out);
/* s waits for it; both are of one device. */
nd_status nd__wait_mark(nd_stream *s, ndp_event *event);

/* ---- event.c ---- */
struct nd_event {
    atomic_int refs;
    int32_t flags;
    nd_device *device;
    ndp_event *handle; /* NULL on devices that have none */
    pthread_mutex_t lock;
    bool recorded;
    nd_stream *stream;             /* of the latest record; held */
    uint64_t seq;                  /* what it covers on that stream */
    uint64_t capture;              /* in which it was recorded; 0: none */
    struct nd_tape *tape;          /* of that capture, counted; NULL: none */
    uint32_t *seen, n_seen;        /* the nodes that waiters come after */
    double when_ms;                /* of the record, where the device has no events */
    void (*let_go)(void *storage); /* with the event; NULL: nothing */
    void *let_go_ctx;
    nd_event *earlier; /* among the pending ones of a storage, which owns both */
};

/* ---- hazard.c: order of accesses, for hazard mode and the stream check ---- */
typedef struct nd_clock nd_clock;
extern atomic_int nd__hazards;
int nd__hazards_from_environment(void);
static inline int nd__hazards_now(void) /* 0: neither is on */
{
    int now = atomic_load_explicit(&nd__hazards, memory_order_relaxed);
    return now >= 0 ? now : nd__hazards_from_environment();
}
/* Before the call, or a move of bytes, is queued on s: waits as needed, or reports. */
nd_status nd__hazard_call(nd_stream *s, const ndp_call *call, const char *name);
nd_status nd__hazard_bytes(nd_stream *s, ndp_mem *mem, uint64_t offset, uint64_t nbytes, bool write,
                           const char *name);
/* The same for a read that the host waits for. */
nd_status nd__hazard_read(nd_stream *s, ndp_mem *mem, uint64_t offset, uint64_t nbytes,
                          const char *name);
/* Memory of others at this address: it may be a part of ours, under another name. */
void nd__hazard_foreign(nd_device *d, ndp_mem *mem, uint64_t address);
/* Orders that came about, whoever asked for them: s, or the host if NULL, waited for the event, or
 * has seen it done; the host has seen all of s done. */
void nd__hazard_record(nd_stream *s, const ndp_event *event);
void nd__hazard_wait(nd_stream *s, const ndp_event *event);
void nd__hazard_settled(nd_stream *s);
void nd__hazard_clock_free(nd_clock *c);
/* The block goes back to the device: its name may be another's next. What is kept of blocks stays
 * while both modes are off, so that this is called then as well. */
void nd__hazard_forget(ndp_mem *mem);
extern atomic_int nd__hazard_histories; /* blocks of which something is kept */
static inline void nd__hazard_gone(ndp_mem *mem)
{
    if (atomic_load_explicit(&nd__hazard_histories, memory_order_relaxed))
        nd__hazard_forget(mem);
}

#endif
