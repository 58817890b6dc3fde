/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Waiting for streams and devices, with what they leave to report, and for bytes that come to the
 * host. */
#include <stdlib.h>
#include "core/stream/tape.h"

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
nd_status nd__wait_now(nd_stream *s, const char *op)
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
    return nd__wait_now(s, op);
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

/* A mark at the end of s, unless s is being captured: no capture begins between the look and the
 * record, since it would need the lock. */
static bool mark_end(nd_stream *s, ndp_event *mark, stream_end *at, nd_status *status)
{
    nd_device *d = s->device;
    pthread_mutex_lock(&s->lock);
    at->seq = s->seq;
    bool captured = nd__capture_id(s) != 0;
    if (!captured)
        *status = d->stream.event_record(d->dev, mark, s->handle);
    pthread_mutex_unlock(&s->lock);
    return !captured;
}

bool nd__drain_stream(nd_stream *s, const char *op)
{
    nd_device *d = s->device;
    ndp_event *mark = NULL;
    stream_end at = {.s = s};
    nd_status status = ND_OK;
    if (nd__usable(d, op) != ND_OK)
        return true;
    nd__note_wait(ND_WAIT_MEMORY, d, op);
    if (!d->has_graph || !d->has_stream || nd__event_take(d, 0, &mark) != ND_OK)
        status = wait_quietly(&at); /* streams of such devices are in no capture of theirs */
    else if (!mark_end(s, mark, &at, &status)) {
        nd__event_give(d, 0, mark);
        return false;
    } else if (status == ND_OK)
        status = d->stream.event_sync(d->dev, mark);
    if (mark) {
        status = nd__fault_keep(s, status);
        nd__event_give(d, 0, mark);
    }
    if (status != ND_OK) /* as above */
        (void)waited(s, op, at.seq, status);
    return true;
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
    ND_RETURN_IF(nd__refuse_capture(s, op, ND_PINNED_ADVICE));
    ND_RETURN_IF(nd__refuse_unsafe(d, op, ND_PINNED_ADVICE));
    ND_RETURN_IF(nd__may_wait(reason, d, op));
    if (nd__hazards_now())
        ND_RETURN_IF(nd__hazard_read(s, mem, offset, nbytes, op));
    uint64_t seq = end_of(s);
    return waited(s, op, seq, d->p.read(d->dev, s->handle, mem, offset, dst, nbytes));
}
