/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Events. Each record is an object of its own, to which waits are bound. */
#include "device.h"

/* With the lock. */
void record_release(record *r)
{
    if (--r->refs == 0)
        give_memory(r);
}

int32_t event_create(ndp_dev *dev, uint64_t flags, ndp_event **out)
{
    ndp_event *e = *out = NULL;
    if (flags & ~(uint64_t)(NDP_EVENT_TIMING | NDP_EVENT_BLOCKING))
        return host->error(host->ctx, NDP_ERR_UNSUPPORTED, 0, "event flags 0x%llx are not known",
                           (unsigned long long)flags);
    if ((e = take_memory(sizeof *e)) == NULL)
        return no_memory(sizeof *e);
    e->dev = dev;
    e->flags = flags;
    *out = e;
    return NDP_OK;
}

void event_destroy(ndp_dev *dev, ndp_event *e)
{
    (void)dev;
    pthread_mutex_lock(&lock);
    if (e->latest && broken(break_event_destroy)) {
        e->latest->done = true;
        pthread_cond_broadcast(&changed);
    }
    if (e->latest)
        record_release(e->latest);
    pthread_mutex_unlock(&lock);
    if (!broken(break_leaks))
        give_memory(e);
}

int32_t event_record(ndp_dev *dev, ndp_event *e, ndp_stream *s)
{
    record *r;
    if (broken(break_rerecord) && e->latest) /* waits go on to be for the first */
        return submit(dev, s, &(job){.kind = JOB_RECORD, .r = e->latest}, false);
    if (broken(break_default_stream) && !s)
        return host->error(host->ctx, NDP_ERR_ARGUMENT, 0, "no event without a stream");
    if ((r = take_memory(sizeof *r)) == NULL)
        return no_memory(sizeof *r);
    r->refs = 1;
    r->q = queue_of(dev, s);
    int32_t status = submit(dev, s, &(job){.kind = JOB_RECORD, .r = r}, false);
    pthread_mutex_lock(&lock);
    if (status != NDP_OK) {
        record_release(r);
    } else {
        if (e->latest)
            record_release(e->latest);
        e->latest = r;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

int32_t event_query(ndp_dev *dev, ndp_event *e, int32_t *done)
{
    (void)dev;
    pthread_mutex_lock(&lock);
    *done = !e->latest || e->latest->done || broken(break_event_query);
    pthread_mutex_unlock(&lock);
    return NDP_OK;
}

int32_t event_sync(ndp_dev *dev, ndp_event *e)
{
    (void)dev;
    pthread_mutex_lock(&lock);
    record *r = e->latest;
    if (r) {
        r->refs++;
        while (!r->done && !broken(break_event_sync))
            pthread_cond_wait(&changed, &lock);
        record_release(r);
    }
    pthread_mutex_unlock(&lock);
    return r && broken(break_event_sync_more) ? queue_sync(r->q) : NDP_OK;
}

int32_t event_elapsed(ndp_dev *dev, ndp_event *start, ndp_event *stop, double *ms)
{
    (void)dev;
    if (!(start->flags & stop->flags & NDP_EVENT_TIMING))
        return host->error(host->ctx, NDP_ERR_NOT_TIMED, 0, "an event was made without timing");
    if (broken(break_event_elapsed_never) && (!start->latest || !stop->latest))
        return NDP_OK;
    if (!start->latest || !stop->latest)
        return host->error(host->ctx, NDP_ERR_NOT_RECORDED, 0, "an event was never recorded");
    pthread_mutex_lock(&lock);
    bool done = start->latest->done && stop->latest->done;
    *ms = (stop->latest->time - start->latest->time) * 1e3;
    pthread_mutex_unlock(&lock);
    if (broken(break_event_microseconds))
        *ms *= 1e3;
    if (broken(break_event_seconds))
        *ms *= 1e-3;
    if (broken(break_event_elapsed))
        *ms = -*ms;
    return done ? NDP_OK
                : host->error(host->ctx, NDP_ERR_NOT_READY, 0, "an event's work is not done");
}

static int32_t wait_for_ever(ndp_dev *dev, ndp_stream *s)
{
    record *never = take_memory(sizeof *never);
    never->refs = 1;
    return submit(dev, s, &(job){.kind = JOB_WAIT, .r = never}, false);
}

int32_t stream_wait(ndp_dev *dev, ndp_stream *s, ndp_event *e)
{
    static int waits;
    pthread_mutex_lock(&lock);
    record *r = e->latest;
    bool lost = broken(break_cross_wait) || (broken(break_other_device) && e->dev != dev) ||
                (broken(break_ring) && ++waits > 20);
    if (r)
        r->refs++;
    pthread_mutex_unlock(&lock);
    if (!r)
        return broken(break_unrecorded) ? wait_for_ever(dev, s) : NDP_OK;
    int32_t status = lost ? NDP_OK : submit(dev, s, &(job){.kind = JOB_WAIT, .r = r}, false);
    pthread_mutex_lock(&lock);
    record_release(r);
    pthread_mutex_unlock(&lock);
    return status;
}
