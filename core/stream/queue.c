/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Every use of a stream by the core: queueing work, waiting for it, moving bytes. */
#include <stdlib.h>
#include "core/stream/tape.h"
#include "core/base/env.h"

nd_status nd__not_usable(nd_device *d, const char *op)
{
    nd_status status = ND_OK;
    if (atomic_load_explicit(&d->lost, memory_order_acquire)) {
        status = nd__fail(ND_ERR_LOST, op, -1, "%s", d->lost_text);
        nd__error_native(d->lost_native);
    } else if (nd__forked() && !d->host_visible) {
        status = nd__fail(ND_ERR_FORKED, op, -1,
                          "%s cannot be used after fork; spawn a new process instead", d->name);
    } else {
        status = nd__refuse_inside(op);
    }
    if (status != ND_OK)
        nd__error_context(NULL, d->name, NULL);
    return status;
}

/* ---- notes of what was queued ---- */
static void note(nd_stream *s, const char *name, const ndp_view *like)
{
    nd_op_record *r = &s->ring[++s->seq % ND_RING];
    r->seq = s->seq;
    r->name = name;
    r->dtype = like ? like->dtype : 0;
    r->ndim = like ? like->ndim : -1;
    for (int d = 0; d < 4 && d < r->ndim; d++)
        r->shape[d] = like->shape[d];
    const nd_thread *t = nd__self;
    if (t && t->n_tags)
        memcpy(r->tag, t->tags[t->n_tags - 1], ND_TAG_SIZE);
    else
        r->tag[0] = 0;
}

void nd__progress(nd_stream *s, uint64_t seq)
{
    if (seq > s->good && !atomic_load(&s->kept)) /* that fault's suspects are still wanted */
        s->good = seq;
}

/* ---- launch blocking ---- */
static atomic_int launch_blocking = -1;

int32_t nd_launch_blocking(void)
{
    int now = atomic_load_explicit(&launch_blocking, memory_order_relaxed);
    if (now >= 0)
        return now;
    const char *cuda = nd__getenv("CUDA_LAUNCH_BLOCKING");
    now = nd__env(ND_ENV_LAUNCH_BLOCKING) ? nd__env_bool(ND_ENV_LAUNCH_BLOCKING)
                                          : cuda && strcmp(cuda, "0") != 0;
    atomic_store(&launch_blocking, now);
    return now;
}

void nd_launch_blocking_set(int32_t on)
{
    atomic_store(&launch_blocking, on != 0);
}

static nd_status wait_now(nd_stream *s, const char *op);

static nd_status wait_for_launch(nd_stream *s, const char *name)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    if (!nd__capture_id(s) && !nd__capture_forbids(s->device))
        return wait_now(s, name);
    if (!atomic_flag_test_and_set(&told))
        nd__log(ND_LOG_WARN, "NDOCK_LAUNCH_BLOCKING is ignored while a stream is being captured");
    return ND_OK;
}

/* ---- queueing ---- */
/* Work that no tape can hold would run now, though its stream is being captured. */
static nd_status refuse_recorded(nd_stream *s, const char *name)
{
    const nd_tape *t = nd__tape_of(s);
    return t && !t->native
               ? nd__refuse_capture(s, name, "do it before the capture begins or after it ends")
               : (nd_status)ND_OK;
}

nd_status nd__queue_begin(nd_stream *s, const char *name, const ndp_view *like)
{
    ND_RETURN_IF(nd__usable(s->device, name));
    if (nd__captures_now())
        ND_RETURN_IF(refuse_recorded(s, name));
    if (nd_launch_blocking() && !nd__capture_id(s) &&
        !nd__capture_forbids(s->device)) /* refused before there is anything to wait for */
        ND_RETURN_IF(nd__may_wait(ND_WAIT_LAUNCH_BLOCKING, s->device, name));
    pthread_mutex_lock(&s->lock);
    note(s, name, like);
    return ND_OK;
}

nd_status nd__queue_end(nd_stream *s, const char *name, nd_status status)
{
    status = nd__fault(s, name, status);
    pthread_mutex_unlock(&s->lock);
    return status == ND_OK && nd_launch_blocking() ? wait_for_launch(s, name) : status;
}

nd_status nd__queue_copy(nd_stream *s, const char *op, ndp_mem *dst, uint64_t dst_offset,
                         ndp_mem *src, uint64_t src_offset, uint64_t nbytes)
{
    nd_device *d = s->device;
    nd_tape *tape = nd__captures_now() ? nd__tape_of(s) : NULL;
    const uint64_t first = tape ? nd__tape_native_nodes(tape, s) : 0;
    if (tape && !tape->native)
        return nd__tape_copy(tape, s, op, first, dst, dst_offset, src, src_offset, nbytes);
    if (nd__hazards_now()) {
        ND_RETURN_IF(nd__hazard_bytes(s, src, src_offset, nbytes, false, op));
        ND_RETURN_IF(nd__hazard_bytes(s, dst, dst_offset, nbytes, true, op));
    }
    ND_RETURN_IF(nd__queue_begin(s, op, NULL));
    ND_RETURN_IF(nd__queue_end(
        s, op, d->p.copy(d->dev, s->handle, dst, dst_offset, src, src_offset, nbytes)));
    if (tape)
        ND_RETURN_IF(nd__tape_copy(tape, s, op, first, dst, dst_offset, src, src_offset, nbytes));
    return nd__follow(s, (ndp_mem *const[]){dst, src}, 2);
}

/* ---- waiting ---- */
/* What a kernel left in the status word becomes the thread's error. */
static void explain(const int64_t *word, const char *by)
{
    const nd_op_info *info = nd_op_get((nd_op)word[1]);
    const char *name = info ? info->name : by;
    const nd_status status = (nd_status)word[0];
    const long long at = (long long)word[2], value = (long long)word[3],
                    extent = (long long)word[4];
    if (status != ND_ERR_LINALG)
        nd__fail(status, name, -1,
                 "index %lld at position %lld is out of range: %lld to %lld are allowed (noticed "
                 "by %s)",
                 value, at, -extent, extent - 1, by);
    else if (value < 0)
        nd__fail(status, name, -1,
                 "matrix %lld of the batch: the iteration did not converge (noticed by %s)", at,
                 by);
    else if (word[1] == ND_OP_cholesky)
        nd__fail(status, name, -1,
                 "matrix %lld of the batch is not positive definite: pivot %lld of %lld is not "
                 "positive (noticed by %s)",
                 at, value, extent, by);
    else
        nd__fail(status, name, -1,
                 "matrix %lld of the batch is singular: pivot %lld of %lld is zero (noticed by %s)",
                 at, value, extent, by);
}

/* A bad index or matrix that an operation met on the device since the last look. Caller holds
 * s->lock and has waited. */
static nd_status check_status_word(nd_stream *s, const char *op)
{
    static const int64_t none[5];
    int64_t word[5];
    nd_device *d = s->device;
    if (!s->status_pending)
        return ND_OK;
    const nd_status_word *at = s->status;
    ND_RETURN_IF(nd__fault(
        s, op, d->p.read(d->dev, s->handle, at->mem, at->offset_bytes, word, sizeof word)));
    s->status_pending = false;
    if (word[0] == ND_OK)
        return ND_OK;
    ND_RETURN_IF(nd__fault(
        s, op, d->p.write(d->dev, s->handle, at->mem, at->offset_bytes, none, sizeof none)));
    explain(word, op ? op : "a later call");
    nd__error_context(NULL, d->name, d->slot->name);
    return (nd_status)word[0];
}

/* All that was queued is done: what did it leave to report? Caller holds s->lock. */
static nd_status settle_accounts(nd_stream *s, const char *op)
{
    s->waits = false;
    atomic_store_explicit(&s->lent, false, memory_order_relaxed);
    if (nd__hazards_now())
        nd__hazard_settled(s);
    ND_RETURN_IF(check_status_word(s, op));
    return nd__sources_kept(s, op);
}

nd_status nd__sources_kept(nd_stream *s, const char *op)
{
    int modified = atomic_exchange(&s->sources_modified, 0);
    return modified ? nd__fail(ND_ERR_ASYNC, op, -1,
                               "the pinned source of %d non-blocking %s written to before the copy "
                               "was done; wait for an event first",
                               modified, modified == 1 ? "copy was" : "copies was")
                    : (nd_status)ND_OK;
}

static uint64_t end_of(nd_stream *s)
{
    pthread_mutex_lock(&s->lock);
    uint64_t seq = s->seq;
    pthread_mutex_unlock(&s->lock);
    return seq;
}

/* What was queued up to seq is done, well or not, as status of the plug-in says. */
static nd_status waited(nd_stream *s, const char *op, uint64_t seq, nd_status status)
{
    pthread_mutex_lock(&s->lock);
    status = nd__fault(s, op, status);
    nd__progress(s, seq); /* or its fault is told */
    if (status == ND_OK)
        status = settle_accounts(s, op);
    pthread_mutex_unlock(&s->lock);
    return status;
}

#define AFTER "wait after the capture has ended"
/* Without the lock, so that others can queue work meanwhile. */
static nd_status wait_now(nd_stream *s, const char *op)
{
    nd_device *d = s->device;
    uint64_t seq = end_of(s);
    return waited(s, op, seq, d->p.sync(d->dev, s->handle));
}

nd_status nd__wait(nd_stream *s, int32_t reason, const char *op)
{
    ND_RETURN_IF(nd__usable(s->device, op));
    ND_RETURN_IF(nd__refuse_capture(s, op, AFTER));
    if (!s->device->async)
        return ND_OK;
    ND_RETURN_IF(nd__refuse_unsafe(s->device, op, AFTER));
    ND_RETURN_IF(nd__may_wait(reason, s->device, op));
    return wait_now(s, op);
}

/* The device's live streams, each with a reference and where it ended; *n of them. */
typedef struct {
    nd_stream *s;
    uint64_t seq;
} stream_end;

static stream_end *all_streams(nd_device *d, int *n)
{
    *n = 0;
    pthread_mutex_lock(&d->stream_lock);
    int count = 0;
    for (nd_stream *s = d->streams; s; s = s->next)
        count++;
    stream_end *all = malloc((size_t)count * sizeof *all + 1);
    for (nd_stream *s = d->streams; all && s; s = s->next) {
        int refs = atomic_load(&s->refs); /* one at zero is on its way out: leave it */
        while (refs && !atomic_compare_exchange_weak(&s->refs, &refs, refs + 1))
            ;
        if (refs)
            all[(*n)++].s = s;
    }
    pthread_mutex_unlock(&d->stream_lock);
    return all;
}

static void drop_streams(stream_end *all, int n)
{
    for (int i = 0; i < n; i++)
        if (all[i].s->immortal)
            atomic_fetch_sub(&all[i].s->refs, 1);
        else
            nd_stream_release(all[i].s);
    free(all);
}

/* Waits, and keeps what failed for whoever reports it. */
static nd_status wait_quietly(stream_end *at)
{
    nd_device *d = at->s->device;
    at->seq = end_of(at->s);
    return nd__fault_keep(at->s, d->p.sync(d->dev, at->s->handle));
}

nd_status nd__wait_device(nd_device *d, int32_t reason, const char *op)
{
    int n;
    nd_status status = ND_OK;
    ND_RETURN_IF(nd__usable(d, op));
    if (!d->async) {
        ND_RETURN_IF(nd__refuse_capture(nd__stream_current(d), op, AFTER));
        return d->p.sync(d->dev, NULL);
    }
    ND_RETURN_IF(nd__refuse_unsafe(d, op, AFTER));
    stream_end *all = all_streams(d, &n);
    if (!all)
        return nd__fail(ND_ERR_MEMORY, op, -1, "no memory for a list of streams");
    for (int i = 0; i < n; i++)
        ND_GOTO_IF(done, nd__refuse_capture(all[i].s, op, AFTER));
    ND_GOTO_IF(done, nd__may_wait(reason, d, op));
    for (int i = 0; i < n; i++)
        if ((status = wait_quietly(&all[i])) != ND_OK)
            ND_GOTO_IF(done, waited(all[i].s, op, all[i].seq, status));
    for (int i = 0; i < n; i++) /* one fault is returned, others by the next calls */
        ND_GOTO_IF(done, waited(all[i].s, op, all[i].seq, ND_OK));
    status = nd__wait_ends(d, op);
done:
    drop_streams(all, n);
    return status;
}

void nd__drain(nd_device *d, const char *op)
{
    int n;
    if (!d->async || nd__usable(d, op) != ND_OK)
        return;
    nd__note_wait(ND_WAIT_MEMORY, d, op);
    stream_end *all = all_streams(d, &n);
    for (int i = 0; all && i < n; i++) {
        nd_status status = nd__capture_id(all[i].s) ? ND_OK : wait_quietly(&all[i]);
        if (status != ND_OK) /* nothing to keep: later calls fail the same way */
            (void)waited(all[i].s, op, all[i].seq, status);
    }
    drop_streams(all, n);
    (void)nd__wait_ends(d, op);
}

void nd__drain_stream(nd_stream *s, const char *op)
{
    stream_end at = {.s = s};
    if (nd__usable(s->device, op) != ND_OK || nd__capture_id(s))
        return;
    nd__note_wait(ND_WAIT_MEMORY, s->device, op);
    nd_status status = wait_quietly(&at);
    if (status != ND_OK) /* as above */
        (void)waited(s, op, at.seq, status);
}

nd_status nd_stream_synchronize(nd_stream *stream)
{
    nd_stream *current = NULL;
    if (!stream)
        ND_RETURN_IF(nd_stream_current(NULL, &current));
    nd_status status =
        nd__wait(stream ? stream : current, ND_WAIT_SYNCHRONIZE, "stream_synchronize");
    nd_stream_release(current);
    return status;
}

nd_status nd_stream_query(nd_stream *s, int32_t *done)
{
    ND_OUT("stream_query", 1, done, 1);
    if (!s)
        return nd__fail(ND_ERR_ARGUMENT, "stream_query", 0, "the stream is NULL");
    nd_device *d = s->device;
    ND_RETURN_IF(nd__usable(d, "stream_query"));
    ND_RETURN_IF(nd__refuse_capture(s, "stream_query", "query after the capture has ended"));
    if (!d->async)
        return ND_OK;
    ND_RETURN_IF(nd__refuse_unsafe(d, "stream_query", "query after the capture has ended"));
    if (!d->has_stream) /* no way to ask */
        return nd__wait(s, ND_WAIT_SYNCHRONIZE, "stream_query");
    pthread_mutex_lock(&s->lock);
    nd_status status = nd__fault(s, "stream_query", d->stream.query(d->dev, s->handle, done));
    if (status == ND_OK && *done) {
        nd__progress(s, s->seq);
        if (nd__hazards_now())
            nd__hazard_settled(s);
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

nd_status nd_synchronize(nd_device *device)
{
    nd_status status;
    device = nd__or_current(device, &status);
    if (status != ND_OK)
        return status;
    return nd__wait_device(device, ND_WAIT_SYNCHRONIZE, "synchronize");
}

nd_status nd_device_query(nd_device *device, int32_t *done)
{
    static const char op[] = "device_query";
    nd_status status;
    int n;
    ND_OUT("device_query", 1, done, 1);
    nd_device *d = nd__or_current(device, &status);
    if (status != ND_OK || !d->async)
        return status;
    ND_RETURN_IF(nd__usable(d, op));
    ND_RETURN_IF(nd__refuse_unsafe(d, op, "query after the capture has ended"));
    stream_end *all = all_streams(d, &n);
    if (!all)
        return nd__fail(ND_ERR_MEMORY, op, -1, "no memory for a list of streams");
    for (int i = 0; i < n && status == ND_OK && *done; i++)
        status = nd_stream_query(all[i].s, done);
    if (status == ND_OK && *done)
        status = nd__query_ends(d, op, done);
    drop_streams(all, n);
    return status;
}

/* ---- bytes ---- */
#define PINNED_ADVICE "copy from pinned memory (nd_empty_pinned), or before the capture"

nd_status nd__read(nd_device *d, const char *op, int32_t reason, ndp_mem *mem, uint64_t offset,
                   void *dst, uint64_t nbytes)
{
    nd_stream *s = nd__stream(d);
    ND_RETURN_IF(nd__usable(d, op));
    if (!s) {
        ND_RETURN_IF(nd__refuse_capture(nd__stream_current(d), op, AFTER));
        nd_status status = d->p.read(d->dev, NULL, mem, offset, dst, nbytes);
        if (status != ND_OK)
            nd__error_context(op, d->name, d->slot->name);
        return status;
    }
    ND_RETURN_IF(nd__refuse_capture(s, op, PINNED_ADVICE));
    ND_RETURN_IF(nd__refuse_unsafe(d, op, PINNED_ADVICE));
    ND_RETURN_IF(nd__may_wait(reason, d, op));
    if (nd__hazards_now())
        ND_RETURN_IF(nd__hazard_read(s, mem, offset, nbytes, op));
    uint64_t seq = end_of(s);
    return waited(s, op, seq, d->p.read(d->dev, s->handle, mem, offset, dst, nbytes));
}

nd_status nd__write(nd_device *d, const char *op, int32_t reason, ndp_mem *mem, uint64_t offset,
                    const void *src, uint64_t nbytes)
{
    nd_stream *s = nd__stream(d);
    ND_RETURN_IF(nd__usable(d, op));
    if (!s) {
        ND_RETURN_IF(nd__refuse_capture(nd__stream_current(d), op, PINNED_ADVICE));
        nd_status status = d->p.write(d->dev, NULL, mem, offset, src, nbytes);
        if (status != ND_OK)
            nd__error_context(op, d->name, d->slot->name);
        return status;
    }
    const bool first = reason == ND_WAIT_FIRST_USE;
    ND_RETURN_IF(nd__refuse_capture(
        s, op, first ? "run it once on this stream before the capture" : PINNED_ADVICE));
    ND_RETURN_IF(nd__may_wait(reason, d, op));
    if (nd__hazards_now())
        ND_RETURN_IF(nd__hazard_bytes(s, mem, offset, nbytes, true, op));
    ND_RETURN_IF(nd__queue_begin(s, op, NULL));
    ND_RETURN_IF(nd__queue_end(s, op, d->p.write(d->dev, s->handle, mem, offset, src, nbytes)));
    return nd__follow(s, &mem, 1);
}

/* ---- host functions ---- */
typedef struct {
    void (*fn)(void *ctx);
    void *ctx;
    bool captured; /* the graph's, which may run it again */
} host_task;

static void run_host_task(void *arg)
{
    host_task *task = arg;
    nd_thread *t = nd__thread();
    bool before = t && t->in_host_function;
    if (t)
        t->in_host_function = true;
    task->fn(task->ctx);
    if (t)
        t->in_host_function = before;
    if (!task->captured)
        free(task);
}

/* Queued, the task frees itself, whatever else the call returns. */
static nd_status queue_host_task(nd_stream *s, const char *op, host_task *task)
{
    nd_device *d = s->device;
    nd_tape *tape = task->captured ? nd__tape_of(s) : NULL;
    if (tape)
        ND_RETURN_IF(nd__tape_host(tape, s, op, run_host_task, task));
    if (tape && !tape->native)
        return ND_OK;
    nd_status status = nd__queue_begin(s, op, NULL);
    if (status == ND_OK) {
        nd_status queued = d->stream.launch_host(d->dev, s->handle, run_host_task, task);
        status = nd__queue_end(s, op, queued);
        if (queued == ND_OK)
            return status;
    }
    if (!task->captured)
        free(task);
    return status;
}

nd_status nd_stream_launch_host(nd_stream *s, void (*fn)(void *ctx), void *ctx)
{
    static const char op[] = "stream_launch_host";
    if (!s || !fn)
        return nd__fail(ND_ERR_ARGUMENT, op, !s ? 0 : 1, "%s is NULL",
                        !s ? "the stream" : "the function");
    nd_device *d = s->device;
    host_task *task = malloc(sizeof *task);
    if (!task)
        return nd__fail(ND_ERR_MEMORY, op, -1, "no memory for a host function");
    *task = (host_task){fn, ctx, nd__capture_id(s) != 0};
    nd_status status = task->captured ? nd__capture_keep(s, op, free, task) : (nd_status)ND_OK;
    if (status == ND_OK && (task->captured || (d->async && d->has_stream && d->stream.launch_host)))
        return queue_host_task(s, op, task);
    if (status == ND_OK)
        status = nd__wait(s, ND_WAIT_STAGING, op);
    if (status == ND_OK)
        run_host_task(task);
    else
        free(task);
    return status;
}
