/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Faults: what becomes of queued work that fails later than the call that caused it. */
#include <stdio.h>
#include <stdlib.h>
#include "core/stream/streams.h"

/* The suspects: what was queued since the last point known to be good. */
static int window(const nd_stream *s, nd_op_note *out)
{
    uint64_t first = s->seq > ND_RING ? s->seq - ND_RING + 1 : 1;
    int n = 0;
    for (uint64_t q = s->good + 1 > first ? s->good + 1 : first; q <= s->seq; q++, n++) {
        const nd_op_record *r = &s->ring[q % ND_RING];
        out[n] = (nd_op_note){.seq = r->seq, .dtype = r->dtype, .ndim = r->ndim};
        memcpy(out[n].shape, r->shape, sizeof r->shape);
        snprintf(out[n].name, sizeof out[n].name, "%s", r->name);
        memcpy(out[n].tag, r->tag, sizeof out[n].tag);
    }
    return n;
}

static void describe(nd_text *t, const nd_op_note *n)
{
    char shape[ND_SHAPE_TEXT];
    nd__text_add(t, " %llu %s", (unsigned long long)n->seq, n->name);
    if (n->ndim >= 0)
        nd__text_add(t, " %s%s %s",
                     nd__shape_text(n->ndim < 4 ? n->ndim : 4, n->shape, shape, sizeof shape),
                     n->ndim > 4 ? "..." : "", nd_dtype_name(n->dtype));
    if (n->tag[0])
        nd__text_add(t, " \"%s\"", n->tag);
}

/* The message: what the plug-in said, and the latest suspects, as many as fit. */
#define SUSPECTS_SHOWN 6
static char *fault_text(const nd_stream *s, const char *said, const nd_op_note *notes, int n)
{
    nd_text t = {0};
    nd__text_add(&t, "work queued on stream %llu of %s failed: %s", (unsigned long long)s->id,
                 s->device->name, said);
    if (n) {
        int from = n > SUSPECTS_SHOWN ? n - SUSPECTS_SHOWN : 0;
        nd__text_add(&t, "; one of these %d did it (nd_fault_window has all):", n);
        for (int i = from; i < n; i++) {
            describe(&t, &notes[i]);
            nd__text_add(&t, "%s", i + 1 < n ? "," : "");
        }
    }
    return t.data;
}

static bool is_lost(nd_status status, int64_t native)
{
    return status == ND_ERR_LOST ||
           (status == ND_ERR_ASYNC &&
            (native == 700 || native == 702 || native == 710 || (native >= 714 && native <= 719)));
}

/* First one to see it tells all later callers. */
static void lose(nd_device *d, const char *text, int64_t native)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!atomic_load(&d->lost)) {
        snprintf(d->lost_text, sizeof d->lost_text, "%s is lost until this process ends: %s",
                 d->name, text ? text : "");
        d->lost_native = native;
        atomic_store_explicit(&d->lost, ND_ERR_LOST, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
}

/* ---- faults that somebody saw who could not report them ---- */
static pthread_mutex_t keep_lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_fault(nd_status status)
{
    return status == ND_ERR_ASYNC || status == ND_ERR_LOST;
}

nd_status nd__fault_keep(nd_stream *s, nd_status status)
{
    const nd_error *e = nd_last_error();
    bool told = e->status == status;
    int64_t native = told ? e->native : 0;
    if (!is_fault(status) || is_lost(status, native))
        return status;
    pthread_mutex_lock(&keep_lock);
    if (!atomic_load(&s->kept)) { /* as plug-ins do: the first one counts */
        snprintf(s->kept_text, sizeof s->kept_text, "%s",
                 told ? e->message : nd_status_text(status));
        s->kept_native = native;
        atomic_store(&s->kept, status);
    }
    pthread_mutex_unlock(&keep_lock);
    return ND_OK;
}

static nd_status take_kept(nd_stream *s)
{
    pthread_mutex_lock(&keep_lock);
    nd_status status = atomic_exchange(&s->kept, ND_OK);
    if (status != ND_OK) {
        nd__fail(status, NULL, -1, "%s", s->kept_text);
        nd__error_native(s->kept_native);
    }
    pthread_mutex_unlock(&keep_lock);
    return status;
}

nd_status nd__fault_later(nd_device *d, ndp_event *event, nd_status status)
{
    if (!is_fault(status))
        return status;
    const nd_error *e = nd_last_error();
    if (is_lost(status, e->status == status ? e->native : 0)) {
        lose(d, e->message, e->native);
        return ND_ERR_LOST;
    }
    uint64_t id = nd__mark_stream(d, event);
    pthread_mutex_lock(&d->stream_lock);
    nd_stream *s = d->streams;
    while (s && s->id != id)
        s = s->next;
    status = nd__fault_keep(s ? s : d->stream0, status);
    pthread_mutex_unlock(&d->stream_lock);
    return status;
}

nd_status nd__fault(nd_stream *s, const char *op, nd_status status)
{
    nd_device *d = s->device;
    if (status == ND_OK && atomic_load_explicit(&s->kept, memory_order_relaxed))
        status = take_kept(s);
    if (status == ND_OK)
        return ND_OK;
    const nd_error *e = nd_last_error();
    int64_t native = e->status == status ? e->native : 0;
    if (is_fault(status)) {
        nd_thread *t = nd__thread();
        nd_op_note *notes = t ? t->suspects : NULL;
        if (t && !notes)
            notes = t->suspects = calloc(ND_RING, sizeof *notes);
        int n = notes && s->ring ? window(s, notes) : 0;
        char *text =
            fault_text(s, e->status == status ? e->message : nd_status_text(status), notes, n);
        if (t)
            t->n_suspects = n;
        status = is_lost(status, native) ? ND_ERR_LOST : ND_ERR_ASYNC;
        if (status == ND_ERR_LOST)
            lose(d, text, native);
        nd__fail(status, op, -1, "%s", text ? text : nd_status_text(status));
        nd__error_native(native);
        free(text);
    }
    nd__error_context(op, d->name, d->slot->name);
    return status;
}

nd_status nd_fault_window(nd_op_note *out, int32_t n, int32_t *count)
{
    const nd_thread *t = nd__self;
    if (n > 0)
        ND_NEED("fault_window", 0, out);
    ND_OUT("fault_window", 2, count, t ? t->n_suspects : 0);
    for (int32_t i = 0; i < n && i < *count; i++)
        out[i] = t->suspects[i];
    return ND_OK;
}

void nd__progress(nd_stream *s, uint64_t seq)
{
    if (seq > s->good && !atomic_load(&s->kept)) /* that fault's suspects are still wanted */
        s->good = seq;
}

/* ---- what cannot be used at all ---- */
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
